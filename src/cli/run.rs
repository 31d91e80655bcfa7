//! `wf run`: checks a file, runs it, and puts the result on stdout.
//!
//! Main function: [`run`]. Gathers what the executor needs and says how it ended; the executor decides
//! everything in between.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tokio::signal::unix::{self, SignalKind};

use super::args::RunArgs;
use super::dry_run::dry_run;
use super::model::choose;
use super::open::{Opened, asked, open, read_file, read_stdin, show};
use super::outcome::{exit, print_json, print_result};
use super::plan::{exit_of, refused};
use super::review::Person;
use super::{Exit, Streams, Trouble};
use crate::event::{Event, Place, Progress};
use crate::executor::{ExecuteError, Setup, Signal, Stop, execute};
use crate::id::RunId;
use crate::journal::Memory;
use crate::llm::ModelErrorKind;
use crate::load::bind_inputs;
use crate::planner::PlanError;
use crate::report::diagnostics::Checked;
use crate::report::{EventLines, Live, Plain};
use crate::run::{Observer, RunState};
use crate::source::Source;
use crate::tool::{Catalog, Surroundings};
use crate::workflow::Workflow;

pub fn run(args: &RunArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let Opened { source, base, workflow } = match &args.file {
        Some(file) => open(file, asked(args.model.model.as_deref(), streams), streams)?,
        None => Opened {
            source: Source::new("<task>", ""),
            base: PathBuf::from("."),
            workflow: Workflow { name: "task".to_owned(), ..Workflow::default() },
        },
    };
    if workflow.plan.is_none() && workflow.task.is_none() && args.task.is_none() {
        let message = format!("`{}` has neither steps nor a `task`; give one: --task TEXT", source.name());
        return Err(Trouble::usage(message));
    }
    let inputs = bind(&workflow, &args.inputs, args.input_json.as_deref(), streams)?;
    let env = environment(&workflow, streams);
    let chosen = choose(args.model.model.as_deref(), workflow.model.as_ref(), &inputs, &env, streams)?;
    let catalog = catalog(&workflow, &base, &inputs, &env, streams)?;
    if args.dry_run {
        let tools = catalog.specs().cloned().collect::<Vec<_>>();
        let written = workflow.task.as_ref().map(|task| task.render_text(&json!({"inputs": inputs})));
        let task = match (&args.task, written) {
            (Some(task), _) => Some(task.clone()),
            (None, Some(Ok(task))) => Some(task),
            (None, Some(Err(error))) => return Err(Trouble::Said(Exit::Invalid, format!("`task`: {error}"))),
            (None, None) => None,
        };
        dry_run(&workflow, task.as_deref(), &tools, &chosen.settings.name, streams)?;
        return Ok(Exit::Success);
    }
    let stop = Stop::default();
    let (mut observer, pause) = observer(args, streams);
    let mut person = Person::new(streams, &catalog, args.yes, pause);
    let setup = Setup {
        run: RunId::generate(),
        place: place(&source, &base),
        source,
        workflow,
        inputs,
        task: args.task.clone(),
        model: chosen.model,
        settings: chosen.settings,
        catalog,
        jobs: args.jobs,
        stop: stop.clone(),
        resume: None,
    };
    let ended = block_on(async {
        let mut journal = Memory::default();
        tokio::select! {
            ended = execute(setup, &mut journal, observer.as_mut(), &mut person) => Ok(ended),
            signal = watch(stop) => Err(signal),
        }
    })?;
    // The list stays as it is from here on; what follows is written below it.
    drop(observer);
    let state = match ended {
        Ok(Ok(state)) => state,
        Ok(Err(error)) => return not_run(error, streams),
        // Whoever asks twice does not want to wait for tools to end in good order.
        Err(signal) => return Ok(exit_of(signal)),
    };
    finish(args, &state, streams)
}

/// Where a run has its ground, so that it can go on from anywhere.
fn place(source: &Source, base: &Path) -> Place {
    let whole =
        |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    let file = Path::new(source.name());
    Place {
        file: file.is_file().then(|| whole(file)),
        base: whole(base),
        workspace: whole(Path::new(".")),
        scripts: BTreeMap::new(),
    }
}

fn finish(args: &RunArgs, state: &RunState, streams: &mut Streams) -> Result<Exit, Trouble> {
    let printed = match (args.events, args.json) {
        (true, _) => Ok(()),
        (false, true) => print_json(state, streams),
        (false, false) => print_result(state, streams),
    };
    let exit = exit(state);
    match printed {
        // Nobody wants the result; how the run ended is still true.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(exit),
    }
}

fn not_run(error: ExecuteError, streams: &mut Streams) -> Result<Exit, Trouble> {
    Err(match error {
        ExecuteError::Plan(PlanError::Model(error)) if error.kind != ModelErrorKind::Unable => {
            Trouble::unable(error.to_string())
        }
        ExecuteError::Plan(error) => refused(error, streams),
        ExecuteError::Interrupted(signal) => return Ok(exit_of(signal)),
        // The reporter has said so.
        ExecuteError::OutOfTime(_) => return Ok(Exit::Stopped),
        ExecuteError::Undecided(_) => Trouble::Said(Exit::Stopped, error.to_string()),
        ExecuteError::NoTask => Trouble::usage(error.to_string()),
        ExecuteError::Task(failure) => Trouble::Said(Exit::Invalid, failure.to_string()),
        ExecuteError::Declined => Trouble::Said(Exit::Stopped, error.to_string()),
        ExecuteError::Unanswerable => {
            let advice = "run it on a terminal, or allow it with --yes";
            Trouble::usage(format!("{error}; {advice}"))
        }
        ExecuteError::Record(error) => Trouble::unable(error.to_string()),
    })
}

/// Whoever shows the run: JSON lines on stdout, the live list on a terminal, lines otherwise.
fn observer(args: &RunArgs, streams: &Streams) -> (Box<dyn Observer>, Option<crate::report::live::Pause>) {
    let look = streams.look_err();
    let shown: (Box<dyn Observer>, _) = if streams.terminals.stderr && !is_dumb(streams) {
        let live = Live::new(Box::new(streams.stderr.clone()), look, streams.size);
        let pause = live.pause();
        (Box::new(live), Some(pause))
    } else {
        (Box::new(Plain::new(streams.stderr.clone(), look)), None)
    };
    // On one terminal the lines would be drawn over.
    let lines = EventLines::new(streams.stdout.clone());
    match (args.events, streams.terminals.stdout) {
        (false, _) => shown,
        (true, true) => (Box::new(lines), None),
        (true, false) => (Box::new(Both(Box::new(lines), shown.0)), shown.1),
    }
}

fn is_dumb(streams: &Streams) -> bool {
    (streams.variable)("TERM").is_none_or(|term| term == "dumb" || term.is_empty())
}

/// Two observers of one run.
struct Both(Box<dyn Observer>, Box<dyn Observer>);

impl Observer for Both {
    fn event(&mut self, event: &Event, state: &RunState) {
        self.0.event(event, state);
        self.1.event(event, state);
    }

    fn progress(&mut self, progress: &Progress) {
        self.0.progress(progress);
        self.1.progress(progress);
    }
}

/// The inputs of a run, or what is wrong with them, shown.
pub(super) fn bind(
    workflow: &Workflow,
    pairs: &[(String, String)],
    file: Option<&str>,
    streams: &mut Streams,
) -> Result<Map<String, Value>, Trouble> {
    let file = match file {
        None => None,
        Some("-") => Some(read_stdin(streams)),
        Some(path) => Some(read_file(Path::new(path))),
    };
    let file = match file.transpose() {
        Ok(file) => file,
        Err(checked) => {
            show(&checked, streams);
            return Err(Trouble::Shown(Exit::Invalid));
        }
    };
    let bound = bind_inputs(&workflow.inputs, pairs, file.as_ref());
    if bound.mistakes.is_empty() {
        return Ok(bound.values);
    }
    for (source, diagnostics) in bound.mistakes {
        show(&Checked { source, diagnostics }, streams);
    }
    Err(Trouble::Shown(Exit::Invalid))
}

/// The environment variables a file declares and that are set.
pub(super) fn environment(workflow: &Workflow, streams: &Streams) -> Value {
    let set = workflow.env.iter().filter_map(|name| Some((name.clone(), (streams.variable)(name)?.into())));
    Value::Object(set.collect())
}

fn catalog(
    workflow: &Workflow,
    base: &Path,
    inputs: &Map<String, Value>,
    env: &Value,
    streams: &Streams,
) -> Result<Catalog, Trouble> {
    let env = env.as_object().into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let surroundings = Surroundings {
        base: base.to_owned(),
        workspace: PathBuf::from("."),
        env: env.collect::<BTreeMap<_, _>>(),
        inputs: inputs.clone(),
        supervisor: streams.supervisor.clone(),
    };
    Catalog::build(&workflow.tools, surroundings)
        .map_err(|error| Trouble::Said(Exit::Invalid, error.to_string()))
}

/// Drives a future to its end on this thread.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::unable(format!("cannot start: {error}")))?;
    let done = runtime.block_on(future);
    // A question nobody answered still waits for a line on stdin; nothing else does.
    runtime.shutdown_background();
    Ok(done)
}

/// Hands the first signal on, so that the run ends in good order; a second one is the future's value.
async fn watch(stop: Stop) -> Signal {
    let mut signals = Signals::new();
    stop.request(signals.next().await);
    signals.next().await
}

/// The signals that ask this process to end.
struct Signals(Option<(unix::Signal, unix::Signal)>);

impl Signals {
    /// From now on they are waited for, and end nothing by themselves.
    fn new() -> Self {
        let both = (unix::signal(SignalKind::interrupt()), unix::signal(SignalKind::terminate()));
        // Without a handler the system ends the process, which is what was asked for.
        Self(if let (Ok(interrupt), Ok(terminate)) = both { Some((interrupt, terminate)) } else { None })
    }

    async fn next(&mut self) -> Signal {
        let Some((interrupt, terminate)) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => Signal::Interrupt,
            _ = terminate.recv() => Signal::Terminate,
        }
    }
}

/// The future's value, or the signal that came first.
pub(super) async fn until_signal<T>(future: impl Future<Output = T>) -> Result<T, Signal> {
    let mut signals = Signals::new();
    tokio::select! {
        value = future => Ok(value),
        signal = signals.next() => Err(signal),
    }
}
