//! A model that answers from a recording, and only what was asked then.
//!
//! Main type: [`Replay`]. A request that differs from the recorded one is an error that shows the first
//! difference. Nothing is sent. Knows no file and no step but by its id.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Model, ModelError, ModelErrorKind, Reply, Request};
use crate::id::{ModelName, StepId};

/// A question as it was recorded.
#[derive(Clone, Debug)]
pub struct RecordedAsk {
    /// Hash of the whole request.
    pub request: String,
    /// The messages that were new in it.
    pub new: Vec<Value>,
    pub answer: Result<Reply, ModelError>,
}

/// Answers each question of a step with its next recorded answer.
pub struct Replay {
    name: ModelName,
    left: Mutex<HashMap<Option<StepId>, VecDeque<RecordedAsk>>>,
}

impl Replay {
    /// The answers of the model of that name; without a step they are about the plan.
    pub fn new(name: ModelName, asks: impl IntoIterator<Item = (Option<StepId>, RecordedAsk)>) -> Self {
        let mut left: HashMap<_, VecDeque<_>> = HashMap::new();
        for (step, ask) in asks {
            left.entry(step).or_default().push_back(ask);
        }
        Self { name, left: Mutex::new(left) }
    }

    /// For which steps there are recorded questions that were not asked, and how many.
    pub fn unasked(&self) -> Vec<(Option<StepId>, usize)> {
        let left = self.left();
        let open = left.iter().filter(|(_, asks)| !asks.is_empty());
        open.map(|(step, asks)| (step.clone(), asks.len())).collect()
    }

    fn left(&self) -> MutexGuard<'_, HashMap<Option<StepId>, VecDeque<RecordedAsk>>> {
        // A panic elsewhere cannot leave a queue half changed.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for Replay {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        let who = match &request.step {
            Some(step) => format!("step {step}"),
            None => "the plan".to_owned(),
        };
        let unable = |message: String| Err(ModelError::new(ModelErrorKind::Unable, message));
        let mut left = self.left();
        let asks = left.get_mut(&request.step);
        let Some((next, asks)) = asks.and_then(|asks| Some((asks.pop_front()?, asks))) else {
            return unable(format!("{who} asks the model for what was not recorded: record the run again"));
        };
        if next.request == request.digest() {
            return next.answer.map_err(|error| match asks.front() {
                Some(after) if error.kind == ModelErrorKind::FormatRefused => refused(&next.request, after),
                _ => error,
            });
        }
        unable(format!(
            "{who} asks the model for something else than was recorded: {}",
            difference(&next, request)
        ))
    }
}

/// What a provider refused, as far as the question after it tells: without the tools, it was them.
fn refused(request: &str, after: &RecordedAsk) -> ModelError {
    let tools = |request: &str| request.split('.').nth(1).map(str::to_owned);
    let (kind, what) = match tools(request) == tools(&after.request) {
        true => (ModelErrorKind::FormatRefused, "the response format was"),
        false => (ModelErrorKind::ToolsRefused, "the tools were"),
    };
    ModelError::new(kind, format!("{what} refused when this was recorded"))
}

/// What differs first: in the new messages, or in what goes with them.
fn difference(recorded: &RecordedAsk, request: &Request) -> String {
    let messages: Vec<Value> = request.messages.iter().map(|message| json!(message)).collect();
    let tail = &messages[messages.len().saturating_sub(recorded.new.len())..];
    if tail != recorded.new {
        return format!("\n{}", compare(&readable(&recorded.new), &readable(tail)));
    }
    let now = request.digest();
    let parts = Request::PARTS.iter().zip(recorded.request.split('.').zip(now.split('.')));
    let differs = parts.filter(|(_, (then, now))| then != now).map(|(part, _)| *part).collect::<Vec<_>>();
    format!("{} changed", differs.join(" and "))
}

/// Messages as text: who says what.
fn readable(messages: &[Value]) -> String {
    let one = |message: &Value| {
        let role = message["role"].as_str().unwrap_or_default();
        let text = message["text"].as_str().unwrap_or_default();
        match message.get("calls").filter(|calls| calls.as_array().is_some_and(|it| !it.is_empty())) {
            Some(calls) => format!("{role}: {text} {calls}\n"),
            None => format!("{role}: {text}\n"),
        }
    };
    messages.iter().map(one).collect()
}

/// Lines that went (`-`) and came (`+`), with a little of what is around them.
fn compare(then: &str, now: &str) -> String {
    let diff = similar::TextDiff::from_lines(then, now);
    let text = diff.unified_diff().context_radius(1).header("recorded", "now").to_string();
    text.trim_end().to_owned()
}
