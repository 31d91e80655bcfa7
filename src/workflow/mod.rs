//! What can run: a workflow that passed every check, immutable.
//!
//! Main type: [`Workflow`]. Nothing here is checked again; only `load` makes one. Knows nothing of
//! files, models and runs.

pub mod form;
mod graph;
mod step;

use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use graph::{Dependency, GraphNode, StepGraph};
pub use step::{Action, Arg, Reference, Retry, Step};

use crate::id::{ModelName, StepId};
use crate::spec::ToolSpec;
use crate::template::Template;

/// A checked workflow. The default has neither steps nor a task.
#[derive(Clone, Debug, Default)]
pub struct Workflow {
    /// The file's `name`, else its stem.
    pub name: String,
    pub description: Option<String>,
    /// The goal; the first user message.
    pub task: Option<Template>,
    pub system: Option<Template>,
    pub model: Option<ModelSettings>,
    pub inputs: IndexMap<String, Input>,
    /// Environment variables the tools may read.
    pub env: Vec<String>,
    /// The tools the file declares.
    pub tools: Vec<ToolSpec>,
    pub limits: Limits,
    /// Missing where the plan stays as it is.
    pub replan: Option<Replan>,
    /// Missing where the model is to plan the task.
    pub plan: Option<Plan>,
}

/// Which model to ask, and how. Name and `base_url` may be templates over inputs and env.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    pub name: Template,
    pub base_url: Option<Template>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    pub seed: Option<i64>,
    pub timeout: Option<Duration>,
}

/// A model's name and settings with nothing left to render.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedModel {
    pub name: ModelName,
    pub base_url: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    pub seed: Option<i64>,
    pub timeout: Option<Duration>,
}

impl ResolvedModel {
    /// A model with its own settings.
    pub fn new(name: ModelName) -> Self {
        Self { name, base_url: None, temperature: None, max_tokens: None, seed: None, timeout: None }
    }
}

/// A declared input.
#[derive(Clone, Debug)]
pub struct Input {
    /// JSON Schema of the value.
    pub schema: Value,
    pub default: Option<Value>,
    pub description: Option<String>,
}

/// What a run may use up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time of the whole run.
    pub timeout: Option<Duration>,
    /// Most tokens, in and out, of all model calls together.
    pub max_tokens: Option<u64>,
    /// Most steps started; attempts count.
    pub max_steps: Option<u64>,
    /// Longest result shown to a model, in characters.
    pub max_result_chars: usize,
    /// Most of a tool's output that is captured, in bytes.
    pub max_output_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: None,
            max_tokens: None,
            max_steps: None,
            max_result_chars: 50_000,
            max_output_bytes: 4 << 20,
        }
    }
}

/// When the model may revise the plan while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replan {
    /// Also after each step whose result is not known to be as expected; otherwise only when a step has
    /// failed for good.
    pub after_each: bool,
    /// How often the plan may be changed in a run.
    pub limit: u32,
}

impl Replan {
    /// The limit where the file names none.
    pub const LIMIT: u32 = 3;
}

/// Who wrote the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person, in a file.
    #[default]
    Person,
    /// A model, in a reply.
    Model,
}

/// The steps of a workflow and the order between them.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub graph: StepGraph,
    pub origin: Origin,
}

impl Plan {
    /// The position of a step in the file.
    pub fn position(&self, id: &StepId) -> Option<usize> {
        self.graph.position(id)
    }

    /// The step of that id.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.position(id).map(|at| &self.steps[at])
    }
}
