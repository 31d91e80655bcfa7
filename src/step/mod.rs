//! Doing one step: what is needed for it is gathered first, then it is carried out on its own.
//!
//! Main type: [`Work`]. Knows no graph, no journal and no retries: what it does is reported through a
//! [`Sink`] before and after, and what comes of it is a result or a failure.

mod ask;
mod strict;
mod text;
mod tool_call;

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::event::{Failure, FailureKind, RecordError, Sink};
use crate::id::{RunId, StepId, ToolName};
use crate::llm::{Call, Facts, Message, Model, NamedResult, Remembered};
use crate::run::{Seen, Turn, View};
use crate::spec::{Schema, ToolSpec};
use crate::tool::{Catalog, Entry};
use crate::workflow::{Action, ResolvedModel};

/// What every step of a run works with.
#[derive(Clone)]
pub struct Means {
    pub run: RunId,
    pub model: Arc<dyn Model>,
    pub settings: ResolvedModel,
    pub catalog: Catalog,
    /// The tools every request shows, in file order.
    pub tools: Arc<[ToolSpec]>,
    /// Most of a tool's output that is kept, in bytes.
    pub max_output_bytes: usize,
    /// Cancelled when the run is to end.
    pub stop: CancellationToken,
}

/// One attempt of one step, ready to be carried out.
pub struct Work {
    step: StepId,
    attempt: u32,
    /// How often a person asked for the step to be done once more.
    round: u32,
    deadline: Option<(Instant, std::time::Duration)>,
    task: Task,
}

enum Task {
    /// Call a tool with these arguments.
    Call { entry: Entry, args: Map<String, Value> },
    /// Ask the model for a tool's arguments, then call it.
    AskCall { entry: Entry, question: Question },
    /// Ask the model for text, or for JSON that fits a schema.
    Text { question: Question, schema: Option<(Value, Schema)> },
}

/// What a model is asked, before it is told what form the answer must have.
struct Question {
    messages: Vec<Message>,
    facts: Facts,
    /// Answers that the record has of an earlier, interrupted part of this attempt, in order.
    known: Remembered,
}

/// Why a step has no result.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The step failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// What it did could not be recorded: the run must stop.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The run is to end, and the attempt was ended with it: nothing came of it, not even a failure.
    #[error("the run is to end")]
    Stopped,
}

/// Whether a step needs the model: a tool call without arguments for a tool that takes some, and any
/// step that is answered in text.
pub fn asks_model(action: &Action, takes_none: impl FnOnce(&ToolName) -> bool) -> bool {
    match action {
        Action::ToolCall { args: Some(_), .. } => false,
        Action::ToolCall { tool, args: None } => !takes_none(tool),
        Action::Reasoning { .. } | Action::Aggregate { .. } => true,
    }
}

impl Work {
    /// Gathers what the step at a position needs.
    ///
    /// # Errors
    /// If a reference or template cannot be resolved with the results there are.
    pub fn prepare(view: &View<'_>, position: usize, attempt: u32, means: &Means) -> Result<Self, Failure> {
        let step = &view.plan.steps[position];
        let entry = |tool: &ToolName| match means.catalog.get(tool) {
            Some(entry) => entry.clone(),
            None => panic!("bug: tool {tool} of a checked plan is not in the catalog"),
        };
        let task = match &step.action {
            Action::ToolCall { tool, args: Some(_) } => {
                Task::Call { entry: entry(tool), args: view.args(position)?.unwrap_or_default() }
            }
            Action::ToolCall { tool, args: None } => {
                let entry = entry(tool);
                if entry.tool.spec().takes_none() {
                    Task::Call { entry, args: Map::new() }
                } else {
                    let facts = Facts::Arguments {
                        tool: entry.tool.spec().clone(),
                        inputs: view.state.inputs.clone(),
                        results: named(view.results(position)),
                    };
                    Task::AskCall { entry, question: Question::new(view, position, facts)? }
                }
            }
            Action::Reasoning { output_schema } => Task::text(view, position, None, output_schema.as_ref())?,
            Action::Aggregate { inputs, output_schema } => {
                Task::text(view, position, Some(inputs.clone()), output_schema.as_ref())?
            }
        };
        let deadline = step.timeout.map(|timeout| (Instant::now() + timeout, timeout));
        let round = view.state.steps[position].round;
        Ok(Self { step: step.id.clone(), attempt, round, deadline, task })
    }

    /// Carries it out. `Ok(None)` means that the result is what the tool returned, as noted.
    ///
    /// # Errors
    /// If the step failed, or if something it did could not be recorded.
    pub async fn perform(self, means: &Means, sink: &dyn Sink) -> Result<Option<Value>, Trouble> {
        let Self { step, attempt, round, deadline, task } = self;
        let at = Attempt { step: &step, attempt, round, deadline, means, sink };
        match task {
            Task::Call { entry, args } => at.call(&entry, args).await.map(|()| None),
            Task::AskCall { entry, question } => {
                let args = at.ask_arguments(&entry, question).await?;
                at.call(&entry, args).await.map(|()| None)
            }
            Task::Text { question, schema } => at.ask_text(question, schema.as_ref()).await.map(Some),
        }
    }
}

/// One attempt under way.
struct Attempt<'a> {
    step: &'a StepId,
    attempt: u32,
    round: u32,
    /// When it must be over, and the time that was allowed.
    deadline: Option<(Instant, std::time::Duration)>,
    means: &'a Means,
    sink: &'a dyn Sink,
}

impl Attempt<'_> {
    /// The time left, if it is limited.
    fn left(&self) -> Option<std::time::Duration> {
        self.deadline.map(|(deadline, _)| deadline.saturating_duration_since(Instant::now()))
    }
}

impl Task {
    fn text(
        view: &View<'_>,
        position: usize,
        of: Option<Vec<StepId>>,
        output_schema: Option<&Value>,
    ) -> Result<Self, Failure> {
        let facts = Facts::Text {
            task: view.goal()?,
            description: view.description(position)?,
            results: named(view.results(position)),
            of,
        };
        let schema = match output_schema {
            None => None,
            Some(schema) => match Schema::parse(schema) {
                Ok(compiled) => Some((schema.clone(), compiled)),
                Err(error) => panic!("bug: output_schema was not checked: {error}"),
            },
        };
        Ok(Self::Text { question: Question::new(view, position, facts)?, schema })
    }
}

impl Question {
    fn new(view: &View<'_>, position: usize, facts: Facts) -> Result<Self, Failure> {
        let messages = view.conversation(position)?.into_iter().flat_map(messages).collect();
        let known = Remembered::new(&view.state.steps[position].talk.answered);
        Ok(Self { messages, facts, known })
    }
}

/// A turn as messages.
fn messages(turn: Turn) -> Vec<Message> {
    match turn {
        Turn::System(text) => vec![Message::System { text }],
        Turn::Task(text) | Turn::Instruction(text) => vec![Message::User { text }],
        Turn::Text(text) => vec![Message::Assistant { text, calls: Vec::new() }],
        Turn::Call { id, tool, args, result } => {
            let arguments = Value::Object(args).to_string();
            let call = Call { id: id.clone(), name: tool.clone(), arguments };
            vec![
                Message::Assistant { text: String::new(), calls: vec![call] },
                Message::Tool { call: id, name: tool, text: result },
            ]
        }
    }
}

fn named(seen: Vec<Seen>) -> Vec<NamedResult> {
    seen.into_iter()
        .map(|Seen { step, title, tool, value }| NamedResult { step, title, tool, value: (*value).clone() })
        .collect()
}

/// The model answered, but not with what was needed.
fn model_failure(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Model, message)
}
