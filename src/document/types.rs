//! A workflow file as it was written: typed where it could be, with every place kept.
//!
//! Main type: [`Document`]. Shapes are right here (a list is a list, a duration a duration), meaning
//! is not: names may point nowhere. What failed is `Field::Reported` and gives no second error.

use std::sync::Arc;
use std::time::Duration;

use super::node::Node;
use crate::id::StepId;
use crate::source::Span;
use crate::spec::{Effect, Output};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// A key that may be there.
#[derive(Clone, Debug, Default)]
pub enum Field<T> {
    /// The key is not there, or its value is null.
    #[default]
    Missing,
    /// A diagnostic was given for it; nothing more is said about it.
    Reported,
    Present {
        key: Span,
        value: Spanned<T>,
    },
}

impl<T> Field<T> {
    /// The value, if it is there and right.
    pub fn get(&self) -> Option<&T> {
        self.spanned().map(|spanned| &spanned.value)
    }

    /// The value with its place, if it is there and right.
    pub fn spanned(&self) -> Option<&Spanned<T>> {
        match self {
            Self::Present { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The place of the key, if it is there and right.
    pub fn key(&self) -> Option<Span> {
        match self {
            Self::Present { key, .. } => Some(*key),
            _ => None,
        }
    }

    /// Whether the key is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// Whether it was wrong and a diagnostic says so.
    pub fn is_reported(&self) -> bool {
        matches!(self, Self::Reported)
    }
}

/// A file, or a plan in JSON.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub span: Span,
    pub name: Field<String>,
    pub description: Field<String>,
    pub task: Field<String>,
    pub system: Field<String>,
    pub model: Field<ModelDoc>,
    pub inputs: Vec<InputDoc>,
    pub env: Vec<Spanned<String>>,
    pub tools: Vec<ToolDoc>,
    pub limits: LimitsDoc,
    pub replan: Field<ReplanDoc>,
    /// Which of the lists above are not whole, because something under their key was reported.
    pub gaps: Gaps,
    /// `workflow_sequence` or `steps`; missing where the model is to plan.
    pub steps: Field<Vec<StepDoc>>,
    /// Which of the two keys the steps stand under.
    pub steps_key: &'static str,
}

/// Declarations that could not all be read: a name that is not found may stand among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    pub inputs: bool,
    pub env: bool,
    pub tools: bool,
}

/// `model: openai/x` (only `name`), or the mapping.
#[derive(Clone, Debug, Default)]
pub struct ModelDoc {
    pub name: Field<String>,
    pub base_url: Field<String>,
    pub temperature: Field<f64>,
    pub max_tokens: Field<u64>,
    pub seed: Field<i64>,
    pub timeout: Field<Duration>,
}

/// One declared input.
#[derive(Clone, Debug)]
pub struct InputDoc {
    pub name: Spanned<String>,
    /// The JSON Schema keywords, without `default` and `description`; whether they are a valid schema
    /// is not checked here.
    pub schema: Field<Arc<Node>>,
    pub default: Field<Arc<Node>>,
    pub description: Field<String>,
}

/// One declared tool.
#[derive(Clone, Debug)]
pub struct ToolDoc {
    pub name: Spanned<String>,
    pub span: Span,
    pub description: Field<String>,
    /// A mapping; whether it is a valid JSON Schema is not checked here.
    pub parameters: Field<Arc<Node>>,
    /// A mapping; whether it is a valid JSON Schema is not checked here.
    pub returns: Field<Arc<Node>>,
    pub effect: Field<Effect>,
    pub output: Field<Output>,
    pub timeout: Field<Duration>,
    /// Reported where none or several are there.
    pub kind: Field<ToolKindDoc>,
}

/// How a declared tool is carried out.
#[derive(Clone, Debug)]
pub enum ToolKindDoc {
    Sql { database: Field<String>, init: Field<String>, query: Field<String> },
    Command { argv: Vec<Spanned<String>> },
    Http(HttpDoc),
    Builtin { name: Spanned<String>, with: Field<Arc<Node>> },
}

/// An HTTP request as declared. A value that is not a string was made into its JSON text.
#[derive(Clone, Debug, Default)]
pub struct HttpDoc {
    pub method: Field<String>,
    pub url: Field<String>,
    pub headers: Vec<(Spanned<String>, Spanned<String>)>,
    pub query: Vec<(Spanned<String>, Spanned<String>)>,
    pub json: Field<Arc<Node>>,
    pub body: Field<String>,
}

/// `limits`.
#[derive(Clone, Debug, Default)]
pub struct LimitsDoc {
    pub timeout: Field<Duration>,
    pub max_tokens: Field<u64>,
    pub max_steps: Field<u64>,
    pub max_result_chars: Field<u64>,
    pub max_output_bytes: Field<u64>,
}

impl LimitsDoc {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        let numbers = [&self.max_tokens, &self.max_steps, &self.max_result_chars, &self.max_output_bytes];
        self.timeout.is_missing() && numbers.iter().all(|number| number.is_missing())
    }
}

/// `replan: on_failure` (only `when`), or the mapping.
#[derive(Clone, Debug, Default)]
pub struct ReplanDoc {
    pub when: Field<ReplanWhen>,
    pub limit: Field<u32>,
}

/// When the model may revise the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplanWhen {
    OnFailure,
    AfterEach,
}

/// What kind of step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepType {
    ToolCall,
    Reasoning,
    Aggregate,
}

impl StepType {
    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::Reasoning => "reasoning",
            Self::Aggregate => "aggregate",
        }
    }
}

/// One step.
#[derive(Clone, Debug)]
pub struct StepDoc {
    pub span: Span,
    pub id: Field<StepId>,
    /// `Present` with the default where `steps:` leaves it out.
    pub kind: Field<StepType>,
    pub description: Field<String>,
    pub depends_on: Field<Vec<Spanned<StepId>>>,
    pub when: Field<String>,
    pub expect: Field<String>,
    pub retry: Field<RetryDoc>,
    pub timeout: Field<Duration>,
    pub tool: Field<String>,
    /// A mapping.
    pub args: Field<Arc<Node>>,
    pub inputs: Field<Vec<Spanned<StepId>>>,
    /// A mapping; whether it is a valid JSON Schema is not checked here.
    pub output_schema: Field<Arc<Node>>,
}

/// `retry` of a step.
#[derive(Clone, Debug, Default)]
pub struct RetryDoc {
    pub max_attempts: Field<u32>,
    pub delay: Field<Duration>,
    pub max_delay: Field<Duration>,
}
