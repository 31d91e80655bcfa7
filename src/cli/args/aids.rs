//! The arguments of the commands that help people and run nothing.
//!
//! One type a command. Plain data with its help, as in the file above; knows no command's work.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A code, as `unknown-tool`. Without one, all codes are listed.
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    /// Print the pages of all codes, as one document in Markdown.
    #[arg(long, conflicts_with = "code")]
    pub all: bool,
}

#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Which schema to print.
    #[arg(value_enum, default_value_t = SchemaName::Workflow)]
    pub name: SchemaName,
    /// Write all schemas into this folder instead.
    #[arg(short, long, value_name = "DIR", conflicts_with = "check")]
    pub output: Option<PathBuf>,
    /// Check that the schemas in this folder are current (exit code 1 if not).
    #[arg(long, value_name = "DIR")]
    pub check: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    Workflow,
    Plan,
    /// What `wf validate --format json` prints.
    Diagnostics,
}

#[derive(Args, Debug)]
pub struct GraphArgs {
    /// A workflow, or a plan in JSON; `-` reads stdin.
    #[arg(value_name = "FILE", conflicts_with = "run")]
    pub file: Option<String>,
    /// Draw this run instead, from its record, with how its steps stand: its id, the beginning of it, or
    /// `last`.
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// The language of the drawing.
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub format: GraphFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// For Markdown pages.
    Mermaid,
    /// For Graphviz: `wf graph FILE --format dot | dot -Tsvg`.
    Dot,
    /// For this terminal.
    Ascii,
}

#[derive(Args, Debug)]
pub struct ToolsArgs {
    /// A workflow file whose tools are listed too; `-` reads stdin.
    #[arg(value_name = "FILE")]
    pub file: Option<String>,
    /// Print a JSON list, with the JSON Schemas of arguments and results.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct InitArgs {
    /// The workflow to write; a file that is there is never touched.
    #[arg(value_name = "PATH", default_value = "workflows/first.yaml")]
    pub path: PathBuf,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Ask the chosen model for one token too: costs next to nothing, and shows that key, name and network
    /// are right.
    #[arg(long)]
    pub online: bool,
    /// The model that --online asks. Default: WF_MODEL, else offline.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell that is to complete commands and options.
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write the pages of all commands into this folder, instead of that of `wf` to stdout.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
