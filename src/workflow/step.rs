//! One step of a plan, ready to run.
//!
//! Main type: [`Step`]. Every id in it names a step of the same plan, every tool exists.

use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use crate::id::{StepId, ToolName};
use crate::template::{Condition, Template};

/// One unit of work.
#[derive(Clone, Debug)]
pub struct Step {
    pub id: StepId,
    pub description: Option<Template>,
    /// The ids `depends_on` names; `None` where the step simply follows those above it.
    pub depends_on: Option<Vec<StepId>>,
    pub when: Option<Condition>,
    /// What must be true of its result.
    pub expect: Option<Condition>,
    pub retry: Retry,
    /// Longest time of one attempt.
    pub timeout: Option<Duration>,
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Calls a tool; without `args` the model is asked for them.
    ToolCall { tool: ToolName, args: Option<IndexMap<String, Arg>> },
    /// The model's text, or JSON that fits the schema, is the result.
    Reasoning { output_schema: Option<Value> },
    /// The same over the named results.
    Aggregate { inputs: Vec<StepId>, output_schema: Option<Value> },
}

/// A given argument.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A value with nothing to fill in anywhere inside.
    Value(Value),
    Template(Template),
    Reference(Reference),
    List(Vec<Arg>),
    Object(IndexMap<String, Arg>),
}

/// The value another step will have produced, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub step: StepId,
    /// JSON Pointer (RFC 6901) into the result.
    pub pointer: Option<String>,
}

/// How often and when a failed attempt is tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// As the file says; `None`: by the tool's effect.
    pub max_attempts: Option<u32>,
    /// The first delay; it doubles. Default 1 s.
    pub delay: Option<Duration>,
    /// The longest delay. Default 30 s.
    pub max_delay: Option<Duration>,
}

impl Step {
    /// The short name of what it does, as files write it.
    pub fn kind(&self) -> &'static str {
        match &self.action {
            Action::ToolCall { .. } => "tool_call",
            Action::Reasoning { .. } => "reasoning",
            Action::Aggregate { .. } => "aggregate",
        }
    }

    /// The tool it calls, if it calls one.
    pub fn tool(&self) -> Option<&ToolName> {
        match &self.action {
            Action::ToolCall { tool, .. } => Some(tool),
            Action::Reasoning { .. } | Action::Aggregate { .. } => None,
        }
    }

    /// The description as written, or what the step does in a few words.
    pub fn title(&self) -> String {
        match (&self.description, self.tool()) {
            (Some(description), _) => description.text().to_owned(),
            (None, Some(tool)) => format!("Call {tool}"),
            (None, None) => self.kind().to_owned(),
        }
    }
}
