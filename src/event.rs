//! Facts about a run, as they are stored, and what the hands report them through.
//!
//! Main types: [`Event`] (stored, numbered) and [`Progress`] (never stored). A format of the record:
//! fields are only ever added, and `FORMAT` is raised when an old reader would misread a new record.

mod change;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use change::Change;

use crate::id::{ModelName, RunId, StepId, ToolName};

/// Version of the record's format.
pub const FORMAT: u32 = 1;

/// One stored fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the run, from 1, without gaps. Order comes from here, never from clocks.
    pub seq: u64,
    /// When it was recorded: milliseconds since the Unix epoch.
    pub at: u64,
    #[serde(flatten)]
    pub fact: Fact,
}

/// The time as events hold it: milliseconds since the Unix epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    RunStarted(Box<Started>),
    RunResumed {
        /// Limits that were raised, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        raised: BTreeMap<String, u64>,
    },
    PlanReady {
        /// The plan in its JSON form.
        plan: Value,
        /// Repairs that were made to a model's reply.
        repairs: Vec<String>,
    },
    StepStarted {
        step: StepId,
        attempt: u32,
    },
    AttemptInterrupted {
        step: StepId,
        attempt: u32,
    },
    ModelAsked {
        /// Missing for a call that plans.
        step: Option<StepId>,
        model: ModelName,
        /// Hash of the whole request.
        request: String,
        /// The messages that are not in the step's conversation already: its own instruction, or a
        /// repair turn.
        new: Vec<Value>,
    },
    ModelAnswered {
        step: Option<StepId>,
        answer: Value,
        usage: Usage,
    },
    ToolCalled {
        step: StepId,
        tool: ToolName,
        args: Map<String, Value>,
    },
    ToolReturned {
        step: StepId,
        tool: ToolName,
        result: Value,
    },
    StepSucceeded {
        step: StepId,
        /// Missing where the result is that of the step's last `tool_returned`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
    },
    StepFailed {
        step: StepId,
        failure: Failure,
    },
    RetryScheduled {
        step: StepId,
        attempt: u32,
        delay_ms: u64,
    },
    StepCancelled {
        step: StepId,
        reason: CancelReason,
    },
    /// Steps that run again, whatever came of them.
    StepsReset {
        steps: Vec<StepId>,
        reason: ResetReason,
    },
    /// The model was asked about the plan while it ran, and decided.
    PlanRevised {
        /// The step after which it was asked.
        step: StepId,
        /// Why, in the model's words.
        reason: String,
        #[serde(flatten)]
        change: Change,
        /// Repairs that were made to the model's reply.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<String>,
    },
    BudgetReached {
        limit: String,
        allowed: u64,
    },
    RunFinished {
        outcome: Outcome,
    },
}

impl Fact {
    /// The step it is about, if it is about one.
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::StepStarted { step, .. }
            | Self::AttemptInterrupted { step, .. }
            | Self::ToolCalled { step, .. }
            | Self::ToolReturned { step, .. }
            | Self::StepSucceeded { step, .. }
            | Self::StepFailed { step, .. }
            | Self::RetryScheduled { step, .. }
            | Self::StepCancelled { step, .. } => Some(step),
            Self::ModelAsked { step, .. } | Self::ModelAnswered { step, .. } => step.as_ref(),
            Self::RunStarted(_)
            | Self::RunResumed { .. }
            | Self::PlanReady { .. }
            | Self::StepsReset { .. }
            | Self::PlanRevised { .. }
            | Self::BudgetReached { .. }
            | Self::RunFinished { .. } => None,
        }
    }

    /// Its name in records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RunResumed { .. } => "run_resumed",
            Self::PlanReady { .. } => "plan_ready",
            Self::StepStarted { .. } => "step_started",
            Self::AttemptInterrupted { .. } => "attempt_interrupted",
            Self::ModelAsked { .. } => "model_asked",
            Self::ModelAnswered { .. } => "model_answered",
            Self::ToolCalled { .. } => "tool_called",
            Self::ToolReturned { .. } => "tool_returned",
            Self::StepSucceeded { .. } => "step_succeeded",
            Self::StepFailed { .. } => "step_failed",
            Self::RetryScheduled { .. } => "retry_scheduled",
            Self::StepCancelled { .. } => "step_cancelled",
            Self::StepsReset { .. } => "steps_reset",
            Self::PlanRevised { .. } => "plan_revised",
            Self::BudgetReached { .. } => "budget_reached",
            Self::RunFinished { .. } => "run_finished",
        }
    }
}

/// What a run starts with: all that is needed to go on with it elsewhere, or to do it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub format: u32,
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The text of the workflow file, so that the record needs no file.
    pub text: String,
    #[serde(flatten)]
    pub place: Place,
    pub tools: Value,
    pub inputs: Map<String, Value>,
    /// A goal that took the place of the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub model: ModelName,
}

/// Where a run has its ground: kept, so that it can go on from anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The workflow file, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The folder that paths in tool definitions are relative to.
    pub base: String,
    /// The folder commands run in.
    pub workspace: String,
    /// The texts that tools load besides, by their paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scripts: BTreeMap<String, String>,
}

/// Why a step was cancelled. Only the first three let a run succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Its `when` is false.
    ConditionFalse,
    /// It reads the result of a step that was cancelled because a condition is false.
    InputCancelled(StepId),
    /// The plan was revised, and has no place for it any more.
    Revised,
    /// It depends on a step that failed, or that was cancelled after a failure.
    DependencyFailed(StepId),
    /// The run was stopped.
    Stopped,
}

impl CancelReason {
    /// Whether a run in which this happened may still succeed.
    pub fn is_benign(&self) -> bool {
        matches!(self, Self::ConditionFalse | Self::InputCancelled(_) | Self::Revised)
    }
}

impl std::fmt::Display for CancelReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ConditionFalse => f.write_str("condition is false"),
            Self::InputCancelled(step) => write!(f, "step {step}, whose result it reads, was cancelled"),
            Self::Revised => f.write_str("the plan was revised"),
            Self::DependencyFailed(step) => write!(f, "step {step} failed"),
            Self::Stopped => f.write_str("the run was stopped"),
        }
    }
}

/// Why steps run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetReason {
    /// They failed, or were cancelled after a failure, and the run goes on.
    Failed,
    /// A person asked to run again from a step: what it did before is done once more.
    Again,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Outcome {
    /// Every step is done or was cancelled by a condition. The result is that of the last step done.
    Succeeded { result: Value },
    /// At least one step failed.
    Failed {
        /// The first in file order that failed; missing where the plan did.
        step: Option<StepId>,
        failure: Failure,
    },
    /// Stopped short, to go on later: a budget is used up.
    Stopped { reason: String },
    /// A signal ended it.
    Interrupted { signal: String },
}

/// Why a step or a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    /// What happened, for a person: one sentence or more, the first one enough by itself.
    pub message: String,
    /// Whether trying again later may help.
    pub transient: bool,
    /// How long the other side asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// A failure that trying again will not mend.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), transient: false, retry_after_ms: None }
    }

    /// A failure that may pass.
    pub fn transient(kind: FailureKind, message: impl Into<String>, retry_after: Option<Duration>) -> Self {
        let retry_after_ms = retry_after.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        Self { kind, message: message.into(), transient: true, retry_after_ms }
    }
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A tool said no, or could not be started.
    Tool,
    /// The time allowed for an attempt, or for the run, was over.
    Timeout,
    /// The model answered, but not with what was needed, however often it was told.
    Model,
    /// The provider could not be reached, refused, or is out of quota.
    Provider,
    /// A template or a reference could not be resolved with the results there are.
    Input,
    /// The result is not what the step expects.
    Unexpected,
}

/// Tokens of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    /// Of the input, how many came from the provider's prompt cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
}

impl Usage {
    /// Adds the tokens of another call.
    pub fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
    }
}

/// A question to a model that has an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// Hash of the whole request.
    pub request: String,
    pub answer: Value,
    pub usage: Usage,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// What is shown while it happens and never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A piece of a tool's output.
    ToolOutput { step: StepId, text: String },
    /// A piece of a model's text.
    ModelText { step: Option<StepId>, text: String },
    /// A signal came: what is under way was asked to end and is waited for.
    Stopping { signal: &'static str },
}

/// What the hands report through: the fact is stored before the call returns.
#[async_trait]
pub trait Sink: Send + Sync {
    /// Stores a fact before something is done: when this returns it is safe. An error means it was
    /// not stored, and nothing further may be done.
    async fn record(&self, fact: Fact) -> Result<(), RecordError>;

    /// Stores a fact about something that was done: with the next commit, which comes before anything
    /// else is done.
    fn note(&self, fact: Fact);

    /// Shows something that is not stored.
    fn progress(&self, progress: Progress);
}

/// A fact that could not be stored: the run must stop.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot write the run's record: {0}")]
pub struct RecordError(pub String);
