//! How a run ended, on stdout and as an exit code.
//!
//! Main functions: [`print_result`], [`print_json`] and [`exit`]. Knows the state of a run; does not
//! know how it came about.

use std::io;

use serde_json::{Map, Value, json};

use super::{Exit, Streams};
use crate::event::{FailureKind, Outcome};
use crate::report::escape::escape_lines;
use crate::run::{RunState, StepState};

/// The exit code of a run.
pub fn exit(state: &RunState) -> Exit {
    match &state.outcome {
        Some(Outcome::Succeeded { .. }) => Exit::Success,
        Some(Outcome::Failed { failure, .. }) if failure.kind == FailureKind::Provider => Exit::Unable,
        Some(Outcome::Stopped { .. }) => Exit::Stopped,
        Some(Outcome::Interrupted { signal }) if signal == "SIGINT" => Exit::Interrupted,
        Some(Outcome::Interrupted { .. }) => Exit::Terminated,
        Some(Outcome::Failed { .. }) | None => Exit::Failed,
    }
}

/// The result of a run that succeeded: a string as it is, any other value as JSON; one line end.
pub fn print_result(state: &RunState, streams: &mut Streams) -> io::Result<()> {
    let Some(Outcome::Succeeded { result }) = &state.outcome else { return Ok(()) };
    let text = match result {
        // A terminal would act on what a tool or a model wrote; a pipe gets it untouched.
        Value::String(text) if streams.terminals.stdout => escape_lines(text).into_owned(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) => result.to_string(),
        Value::Array(_) | Value::Object(_) => format!("{result:#}"),
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    streams.stdout.text(&format!("{text}{end}"))
}

/// Everything about a run as one JSON object.
pub fn print_json(state: &RunState, streams: &mut Streams) -> io::Result<()> {
    let (outcome, failure) = match &state.outcome {
        Some(Outcome::Succeeded { .. }) => ("succeeded", None),
        Some(Outcome::Failed { failure, .. }) => ("failed", Some(json!(failure))),
        Some(Outcome::Stopped { reason }) => ("stopped", Some(json!({"message": reason}))),
        Some(Outcome::Interrupted { signal }) => ("interrupted", Some(json!({"message": signal}))),
        None => ("unfinished", None),
    };
    let result = match &state.outcome {
        Some(Outcome::Succeeded { result }) => result.clone(),
        _ => Value::Null,
    };
    let value = json!({
        "run": state.run,
        "workflow": state.workflow,
        "outcome": outcome,
        "result": result,
        "failure": failure,
        "steps": state.steps.iter().map(step_json).collect::<Vec<_>>(),
        "repairs": state.repairs,
        "model": state.model,
        "model_calls": state.model_calls,
        "usage": state.usage,
        "seconds": seconds(Some(state.started_at), Some(state.last_at)),
    });
    streams.stdout.line(&format!("{value:#}"))
}

/// Everything about a step as a JSON object.
pub fn step_json(step: &StepState) -> Value {
    let mut map = Map::new();
    map.insert("id".to_owned(), step.id.to_json());
    map.insert("type".to_owned(), json!(step.kind));
    map.insert("title".to_owned(), json!(step.title));
    map.insert("tool".to_owned(), json!(step.tool));
    map.insert("status".to_owned(), json!(step.status));
    map.insert("attempts".to_owned(), json!(step.attempt));
    map.insert("result".to_owned(), step.result.as_deref().cloned().unwrap_or_default());
    map.insert("failure".to_owned(), json!(step.failure));
    map.insert("cancelled".to_owned(), json!(step.cancelled.as_ref().map(ToString::to_string)));
    map.insert("seconds".to_owned(), seconds(step.started_at, step.ended_at));
    Value::Object(map)
}

fn seconds(start: Option<u64>, end: Option<u64>) -> Value {
    match (start, end) {
        #[expect(clippy::cast_precision_loss, reason = "a run lasts less than 2^53 milliseconds")]
        (Some(start), Some(end)) => json!(end.saturating_sub(start) as f64 / 1000.0),
        _ => Value::Null,
    }
}
