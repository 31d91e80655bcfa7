//! The arguments of each command, as clap reads them.
//!
//! Main type: [`Arguments`]. Plain data with its help; knows no command's work.

mod aids;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use aids::{
    CompletionsArgs, DoctorArgs, ExplainArgs, GraphArgs, GraphFormat, InitArgs, ManArgs, SchemaArgs,
    SchemaName, ToolsArgs,
};

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 the run failed, 2 wrong usage, 3 invalid workflow, plan or input,
4 stopped and can go on later, 5 could not run, 130 interrupted, 143 terminated.";

/// Plan-and-execute workflows for LLM agents, driven by YAML.
///
/// A file gives the plan, or a model writes it; every step is visible while it runs. The result is on
/// stdout, everything else on stderr.
#[derive(Debug, Parser)]
#[command(name = "wf", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a workflow, or plan a task and run the plan.
    Run(RunArgs),
    /// Go on with a run that was stopped, interrupted or has failed.
    Resume(ResumeArgs),
    /// Show a run from its record, as it was shown while it ran.
    Show(ShowRunArgs),
    /// Do a recorded run again, from its record alone, and compare every request and call.
    Replay(ReplayArgs),
    /// Do every cassette again that lies beside a workflow.
    Test(TestArgs),
    /// List the runs there are, the newest first, or remove their records.
    Runs(RunsArgs),
    /// Print the plan a model makes of a task, and run nothing.
    Plan(PlanArgs),
    /// Check workflow files: every mistake, with its place.
    Validate(ValidateArgs),
    /// Say what a diagnostic's code means and how to mend it.
    Explain(ExplainArgs),
    /// Print the JSON Schema of the workflow file, of a plan, or of validate's output.
    Schema(SchemaArgs),
    /// Draw which step waits for which, in a file or in a run.
    Graph(GraphArgs),
    /// List the tools there are, with their arguments.
    Tools(ToolsArgs),
    /// Write a first workflow that runs as it is, with comments.
    Init(InitArgs),
    /// Say what is set up here and works: keys, servers, records, terminal, programs.
    ///
    /// A line each: `ok`; `missing` for what nobody set up and nothing needs; `problem` for what is set up,
    /// or named by a workflow in `workflows/`, and does not work. Exit code 5 if there is a problem.
    Doctor(DoctorArgs),
    /// Print a script with which a shell completes commands and options.
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them.
    Man(ManArgs),
}

#[derive(Args, Debug)]
pub struct RunArgs {
    /// A workflow, or a plan in JSON; `-` reads stdin. Looked up as given, then in `workflows/`, with or
    /// without `.yaml`. Without FILE, --task is planned with the built-in tools.
    #[arg(value_name = "FILE", required_unless_present = "task")]
    pub file: Option<String>,
    /// The value of an input, read as the input's type says. May be given several times.
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
    /// A JSON file with an object of inputs; `-` reads stdin. --input wins.
    #[arg(long, value_name = "FILE")]
    pub input_json: Option<String>,
    /// The goal, in place of the file's `task`.
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    #[command(flatten)]
    pub model: ModelArgs,
    /// How many steps may run at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = jobs)]
    pub jobs: usize,
    /// Show the checked plan and which steps would ask the model; run nothing.
    #[arg(long, conflicts_with_all = ["json", "events"])]
    pub dry_run: bool,
    #[command(flatten)]
    pub show: ShowArgs,
    #[command(flatten)]
    pub voice: VoiceArgs,
    /// Run a model's plan without a question, also if it calls tools that change something.
    #[arg(long)]
    pub yes: bool,
    /// Keep no record of the run: it cannot be shown, resumed or replayed.
    #[arg(long)]
    pub ephemeral: bool,
    /// Write what went to and fro to this file, a cassette: with --replay and `wf test` the run is done again
    /// from it. It is named NAME.cassette.yaml beside NAME.yaml, so that `wf test` finds it.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Do the run again from a cassette: no network, no key, no tool is run. A request or call that differs from
    /// the recorded one ends the run (exit code 1). Inputs are the recorded ones unless some are given.
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub replay: Option<PathBuf>,
}

/// What of a run is printed on stdout.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// Print one JSON object about the run on stdout, instead of the result.
    #[arg(long, conflicts_with = "events")]
    pub json: bool,
    /// Print the events of the run as JSON lines on stdout, instead of the result.
    #[arg(long)]
    pub events: bool,
}

/// How much of a run is said on stderr.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct VoiceArgs {
    /// Say nothing on stderr but errors.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say on stderr, line by line, also what models are asked and answer, what tools are given, print and
    /// return.
    #[arg(short, long)]
    pub verbose: bool,
}

#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The run: its id, the beginning of it, or `last`.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// Call the tool of this step again, though nobody knows whether it was carried out when the run was
    /// interrupted. May be given several times, as may --done and --fail.
    #[arg(long, value_name = "STEP")]
    pub rerun: Vec<String>,
    /// The call of this step was carried out, and this is its result: JSON, or text that is no JSON.
    #[arg(long, value_name = "STEP=JSON", value_parser = pair)]
    pub done: Vec<(String, String)>,
    /// The call of this step was not carried out, and the step has failed.
    #[arg(long, value_name = "STEP")]
    pub fail: Vec<String>,
    /// Run again from this step: it and every step that depends on it, also those that are done.
    #[arg(long, value_name = "STEP")]
    pub from: Option<String>,
    /// Raise a limit, from now on: max_tokens=N, max_steps=N or timeout=DURATION, counted over the whole
    /// run. May be given several times.
    #[arg(long, value_name = "LIMIT=N", value_parser = pair)]
    pub raise: Vec<(String, String)>,
    /// Another model for what is still to be asked. Default: the one the run was started with.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How many steps may run at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = jobs)]
    pub jobs: usize,
    #[command(flatten)]
    pub show: ShowArgs,
    #[command(flatten)]
    pub voice: VoiceArgs,
    /// Run a model's plan without a question, also if it calls tools that change something.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// The run: its id, the beginning of it, or `last`.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    #[command(flatten)]
    pub show: ShowArgs,
    #[command(flatten)]
    pub voice: VoiceArgs,
}

#[derive(Args, Debug)]
pub struct TestArgs {
    /// Folders, workflows, or cassettes.
    #[arg(value_name = "PATH", default_value = "workflows")]
    pub paths: Vec<String>,
}

#[derive(Args, Debug)]
pub struct ShowRunArgs {
    /// The run: its id, the beginning of it, or `last`.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// Everything about one step: what it was given, what came of it, attempts, tokens, time.
    #[arg(long, value_name = "STEP")]
    pub step: Option<String>,
    #[command(flatten)]
    pub show: ShowArgs,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// Only runs of the workflow of this name.
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// Only runs that stand like this.
    #[arg(long, value_name = "STATE", value_parser = ["running", "succeeded", "failed", "stopped", "interrupted", "cut-off", "damaged"])]
    pub state: Option<String>,
    /// At most so many.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Print a JSON list.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Remove records of runs that have ended. One that is being run is never removed.
    Prune(PruneArgs),
}

#[derive(Args, Debug)]
pub struct PruneArgs {
    /// Only runs that began so long ago: 30d, 12h, 90m.
    #[arg(long, value_name = "TIME")]
    pub older_than: Option<String>,
    /// Keep the newest so many, whatever their age.
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Remove also those that could still go on: stopped, interrupted, cut off.
    #[arg(long)]
    pub unfinished: bool,
    /// Say which, and remove nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
pub struct ModelArgs {
    /// The model: `offline`, or PROVIDER/NAME, as openai/gpt-5-mini. Default: WF_MODEL, else the file's
    /// `model`, else offline, which has rules and no language model.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
}

#[derive(Args, Debug)]
pub struct PlanArgs {
    /// The goal. Default: the `task` of --file.
    #[arg(value_name = "TASK", required_unless_present = "file")]
    pub task: Option<String>,
    /// A workflow file whose tools (and task) are planned with. Default: the built-in tools.
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// The value of an input of --file. May be given several times.
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
    /// A list to read, the plan in JSON, or a workflow file that runs.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
    /// Write to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Refuse a reply that needed repairs (exit code 3).
    #[arg(long)]
    pub strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    Text,
    Json,
    Yaml,
}

#[derive(Args, Debug)]
pub struct ValidateArgs {
    /// Files, folders (all .yaml and .yml files in them), patterns with `*`, `?` and `**`, or `-` for
    /// stdin.
    #[arg(value_name = "PATH", default_value = "workflows")]
    pub paths: Vec<String>,
    /// For people, or for programs.
    #[arg(long, value_enum, default_value_t = DiagnosticFormat::Text)]
    pub format: DiagnosticFormat,
    /// Carry out every mend that is mechanical, in the files; what is on stdin goes mended to stdout.
    #[arg(long)]
    pub fix: bool,
    /// What the text on stdin is called in the output.
    #[arg(long, value_name = "NAME")]
    pub stdin_filename: Option<String>,
    /// Make warnings count as errors for the exit code.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub deny: Option<Deny>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiagnosticFormat {
    /// For people: the place in its line, and what to do.
    Text,
    /// For people and editors: one line each.
    Short,
    /// For programs: see `wf schema diagnostics`.
    Json,
    /// For code scanning: SARIF 2.1.0.
    Sarif,
    /// For GitHub Actions: workflow commands.
    Github,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    Warnings,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least one step must be allowed to run".to_owned()),
        Ok(count) if count <= 1024 => Ok(count),
        Ok(_) => Err("at most 1024".to_owned()),
        Err(_) => Err("expected a number of steps".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_fit_together() {
        Arguments::command().debug_assert();
    }
}
