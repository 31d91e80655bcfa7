//! `wf run`: checks a file and sets a new run of it up.
//!
//! Main function: [`run`]. Gathers what the executor needs; how the run is carried out and how it ends
//! is the session's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::args::RunArgs;
use super::dry_run::dry_run;
use super::model::{Wish, choose};
use super::open::{Opened, asked, open, read_file, read_stdin, show};
use super::session::Session;
use super::store;
use super::{Exit, Streams, Trouble};
use crate::event::Place;
use crate::executor::{Setup, Stop};
use crate::id::RunId;
use crate::journal::{Discard, Journal};
use crate::load::bind_inputs;
use crate::report::diagnostics::Checked;
use crate::source::Source;
use crate::tool::{self, Catalog, Surroundings};
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
    let chosen =
        choose(Wish::Flag(args.model.model.as_deref()), workflow.model.as_ref(), &inputs, &env, streams)?;
    let place = place(&source, &base);
    let around = surroundings(&place, &inputs, &env);
    let scripts = tool::scripts(&workflow.tools, &around);
    let place = Place { scripts: scripts.clone(), ..place };
    let catalog = catalog(&workflow, Surroundings { scripts, ..around })?;
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
    let run = RunId::generate();
    let journal: Box<dyn Journal> = match args.ephemeral {
        true => Box::new(Discard),
        false => Box::new(store::create(&run, streams)?),
    };
    let setup = Setup {
        run,
        place,
        source,
        workflow,
        inputs,
        task: args.task.clone(),
        model: chosen.model,
        settings: chosen.settings,
        catalog,
        jobs: args.jobs,
        stop: Stop::default(),
        resume: None,
    };
    Session { setup, journal, recorded: !args.ephemeral, show: &args.show, yes: args.yes }.carry_out(streams)
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

/// What the tools of a run work in.
pub(super) fn surroundings(place: &Place, inputs: &Map<String, Value>, env: &Value) -> Surroundings {
    let env = env.as_object().into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Surroundings {
        base: PathBuf::from(&place.base),
        workspace: PathBuf::from(&place.workspace),
        env: env.collect::<BTreeMap<_, _>>(),
        inputs: inputs.clone(),
        scripts: place.scripts.clone(),
    }
}

/// The tools of a run.
pub(super) fn catalog(workflow: &Workflow, surroundings: Surroundings) -> Result<Catalog, Trouble> {
    Catalog::build(&workflow.tools, surroundings)
        .map_err(|error| Trouble::Said(Exit::Invalid, error.to_string()))
}
