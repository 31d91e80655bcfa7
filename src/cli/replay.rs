//! Runs done again from a recording: no model, no network, no tool.
//!
//! Main types: [`Replaying`], what takes the place of model and tools; `wf replay` takes it from a record,
//! `wf run --replay` and `wf test` from a cassette. Every request and call is compared with the recorded one.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::args::ReplayArgs;
use super::ground::{catalog, environment, recorded_workflow, surroundings};
use super::model::settings;
use super::session::Session;
use super::store::{begun, store};
use super::{Exit, Streams, Trouble};
use crate::event::{Event, Failure, Place, RecordError, Started, Usage};
use crate::executor::{Setup, Stop};
use crate::id::{ModelName, RunId, StepId};
use crate::journal::{Discard, Journal};
use crate::llm::{Model, ModelError, ModelErrorKind, RecordedAsk, Replay, Reply};
use crate::run::{Came, Exchange, Recording};
use crate::source::Source;
use crate::tool::{RecordedCall, RecordedCalls, ToolFault};
use crate::workflow::Workflow;

/// A model and tools that are a recording.
pub struct Replaying {
    pub model: Arc<Replay>,
    pub calls: RecordedCalls,
}

impl Replaying {
    /// What takes the place of the model of that name and of every tool.
    pub fn new(model: ModelName, exchanges: impl IntoIterator<Item = (Option<StepId>, Exchange)>) -> Self {
        let (mut asks, mut calls) = (Vec::new(), Vec::new());
        for (step, exchange) in exchanges {
            match (exchange, step) {
                (Exchange::Ask { request, new, came }, step) => {
                    asks.push((step, RecordedAsk { request, new, answer: answered(came) }));
                }
                (Exchange::Call { tool, args, came }, Some(step)) => {
                    calls.push((step, RecordedCall { tool, args, came: returned(came) }));
                }
                (Exchange::Call { .. }, None) => {}
            }
        }
        Self { model: Arc::new(Replay::new(model, asks)), calls: RecordedCalls::new(calls) }
    }

    /// A run to be done again, with the recorded inputs and goal.
    pub fn setup(
        &self,
        source: Source,
        place: Place,
        workflow: Workflow,
        inputs: Map<String, Value>,
        task: Option<String>,
        streams: &Streams,
    ) -> Result<Setup, Trouble> {
        let env = environment(&workflow, streams);
        let tools = catalog(&workflow, surroundings(&place, &inputs, &env, streams))?;
        Ok(Setup {
            run: RunId::generate(),
            source,
            place,
            settings: settings(self.model.name().clone(), workflow.model.as_ref()),
            workflow,
            inputs,
            task,
            model: self.model.clone(),
            catalog: self.calls.catalog(&tools),
            jobs: 4,
            stop: Stop::default(),
            resume: None,
            instant: true,
        })
    }

    /// What was recorded and did not happen, if anything.
    pub fn left_over(&self) -> Option<String> {
        let asks = self.model.unasked().into_iter().map(|(step, count)| match step {
            Some(step) => (step.to_string(), format!("step {step} asks the model {count} times less")),
            None => (String::new(), format!("the plan asks the model {count} times less")),
        });
        let calls = self.calls.unmade().into_iter();
        let calls =
            calls.map(|(step, count)| (step.to_string(), format!("step {step} makes {count} calls less")));
        let mut left = asks.chain(calls).collect::<Vec<_>>();
        left.sort();
        let left = left.into_iter().map(|(_, what)| what).collect::<Vec<_>>();
        (!left.is_empty()).then(|| format!("the run does less than was recorded: {}", left.join(", ")))
    }
}

fn answered(came: Came<(Value, Usage)>) -> Result<Reply, ModelError> {
    let refused = |message: &str| ModelError::new(ModelErrorKind::FormatRefused, message);
    match came {
        Came::Result((answer, usage)) => Reply::from_record(&answer, usage).ok_or_else(|| {
            ModelError::new(ModelErrorKind::Unable, "the recorded answer is of no form this wf knows")
        }),
        Came::Failure(failure) => Err(ModelError {
            kind: if failure.transient { ModelErrorKind::Transient } else { ModelErrorKind::Refused },
            retry_after: failure.retry_after_ms.map(std::time::Duration::from_millis),
            message: failure.message,
        }),
        // A question that is followed by another without an answer was refused in its form; the model tells
        // from the one after it whether that was the format.
        Came::Nothing => Err(refused("the response format was refused when this was recorded")),
    }
}

fn returned(came: Came<Value>) -> Result<Value, ToolFault> {
    let fault = |failure: Failure| match failure.transient {
        true => ToolFault::transient(failure.message),
        false => ToolFault::permanent(failure.message),
    };
    match came {
        Came::Result(value) => Ok(value),
        Came::Failure(failure) => Err(fault(failure)),
        Came::Nothing => Err(ToolFault::permanent("the recording ends before this call returned")),
    }
}

/// A journal that keeps a recording too.
pub struct Recorder {
    pub inner: Box<dyn Journal>,
    pub recording: Arc<Mutex<Recording>>,
}

impl Journal for Recorder {
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError> {
        self.inner.append(events)?;
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().for_each(|event| recording.take(event));
        Ok(())
    }
}

/// `wf replay`: does a recorded run again and compares.
pub fn replay(args: &ReplayArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    streams.quiet = args.voice.quiet;
    let store = store(streams)?;
    let run = store.find(&args.run)?;
    let mut recording = Recording::default();
    for event in store.read(&run)? {
        recording.take(&event?);
    }
    let Recording { started, exchanges, .. } = recording;
    let started = begun(started, &store, &run)?;
    let exchanges =
        exchanges.into_iter().flat_map(|(step, all)| all.into_iter().map(move |one| (step.clone(), one)));
    let replaying = Replaying::new(started.model.clone(), exchanges);
    let workflow = recorded_workflow(&started, streams)?;
    let Started { text, place, inputs, task, .. } = *started;
    let source = Source::new(place.file.as_deref().unwrap_or("<record>"), text.as_str());
    let setup = replaying.setup(source, place, workflow, inputs, task, streams)?;
    let (show, voice) = (&args.show, args.voice);
    let session = Session { setup, journal: Box::new(Discard), recorded: false, show, voice, yes: true };
    match (session.carry_out(streams)?, replaying.left_over()) {
        (Exit::Success, Some(left)) => Err(Trouble::Said(Exit::Failed, left)),
        (Exit::Success, None) => {
            streams.remark(&format!("run {run} was done again: every request and call was the recorded one"));
            Ok(Exit::Success)
        }
        (exit, _) => Ok(exit),
    }
}
