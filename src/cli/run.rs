//! `wf run`: checks a file and sets a new run of it up.
//!
//! Main function: [`run`]. Gathers what the executor needs; how the run is carried out and how it ends
//! is the session's.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use super::args::RunArgs;
use super::cassette::{read_cassette, write_cassette};
use super::dry_run::dry_run;
use super::ground::{bind, bind_values, catalog, environment, ground, surroundings};
use super::model::{Chosen, Wish, choose, settings};
use super::open::{FileModel, Opened, asked, open};
use super::replay::{Recorder, Replaying};
use super::session::Session;
use super::store;
use super::{Exit, Streams, Trouble};
use crate::event::Place;
use crate::executor::{Setup, Stop};
use crate::id::{ModelName, RunId};
use crate::journal::{Discard, Journal};
use crate::llm::Model as _;
use crate::run::Recording;
use crate::source::Source;
use crate::tool::{self, Surroundings};
use crate::workflow::Workflow;

pub fn run(args: &RunArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    streams.quiet = args.voice.quiet;
    let Opened { source, base, workflow } = match &args.file {
        Some(file) => {
            let asked = match args.replay {
                Some(_) => FileModel::Unasked,
                None => asked(args.model.model.as_deref(), streams),
            };
            open(file, asked, streams)?
        }
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
    let cassette = args.replay.as_deref().map(|path| read_cassette(path, streams)).transpose()?;
    let recorded = cassette.as_ref().filter(|_| args.inputs.is_empty() && args.input_json.is_none());
    let inputs = match recorded {
        Some(cassette) => bind_values(&workflow, &cassette.inputs, streams)?,
        None => bind(&workflow, &args.inputs, args.input_json.as_deref(), streams)?,
    };
    let env = environment(&workflow, streams);
    let replaying = cassette
        .as_ref()
        .map(|cassette| Replaying::new(ModelName::new(cassette.model.as_str()), cassette.exchanges()));
    let chosen = match &replaying {
        Some(replaying) => Chosen {
            settings: settings(replaying.model.name().clone(), workflow.model.as_ref()),
            model: replaying.model.clone(),
        },
        None => {
            let wish = Wish::Flag(args.model.model.as_deref());
            choose(wish, workflow.model.as_ref(), &inputs, &env, streams)?
        }
    };
    let place = ground(&source, &base);
    let around = surroundings(&place, &inputs, &env, streams);
    let scripts = tool::scripts(&workflow.tools, &around);
    let place = Place { scripts: scripts.clone(), ..place };
    let catalog = catalog(&workflow, Surroundings { scripts, ..around })?;
    let catalog = match &replaying {
        Some(replaying) => replaying.calls.catalog(&catalog),
        None => catalog,
    };
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
    let mut journal: Box<dyn Journal> = match args.ephemeral {
        true => Box::new(Discard),
        false => Box::new(store::create(&run, streams)?),
    };
    let recording = Arc::<Mutex<Recording>>::default();
    if args.record.is_some() {
        journal = Box::new(Recorder { inner: journal, recording: Arc::clone(&recording) });
    }
    let setup = Setup {
        run,
        place,
        source,
        workflow,
        inputs,
        task: args.task.clone().or_else(|| cassette.and_then(|cassette| cassette.task)),
        model: chosen.model,
        settings: chosen.settings,
        catalog,
        jobs: args.jobs,
        stop: Stop::default(),
        resume: None,
        instant: replaying.is_some(),
    };
    let yes = args.yes || replaying.is_some();
    let (show, voice) = (&args.show, args.voice);
    let session = Session { setup, journal, recorded: !args.ephemeral, show, voice, yes };
    let ended = session.carry_out(streams);
    if let Some(path) = &args.record {
        write_cassette(path, &recording.lock().unwrap_or_else(PoisonError::into_inner), streams)?;
    }
    match (ended, replaying.and_then(|replaying| replaying.left_over())) {
        (Ok(Exit::Success), Some(left)) => Err(Trouble::Said(Exit::Failed, left)),
        (ended, _) => ended,
    }
}
