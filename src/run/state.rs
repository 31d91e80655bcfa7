//! The state of a run: a fold over its events, and nothing else.
//!
//! Main type: [`RunState`]. Given the same events it is the same, live or read from a record. Knows no
//! clock, no file and no model.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::transition::Status;
use crate::event::{Answered, CancelReason, Event, Fact, Failure, Outcome, ResetReason, Usage};
use crate::id::{ModelName, RunId, StepId, ToolName};

/// Everything that is known about a run.
#[derive(Clone, Debug, Default)]
pub struct RunState {
    pub run: Option<RunId>,
    /// The workflow's name.
    pub workflow: String,
    pub model: Option<ModelName>,
    pub inputs: Map<String, Value>,
    /// In file order; empty until the plan is ready.
    pub steps: Vec<StepState>,
    /// Repairs that were made to the model's plan.
    pub repairs: Vec<String>,
    pub usage: Usage,
    pub model_calls: u64,
    /// Attempts started, of all steps together.
    pub attempts: u64,
    /// How often the plan was changed.
    pub revisions: u32,
    /// The limit that was reached, if one was.
    pub budget: Option<String>,
    /// Limits that were raised when the run was resumed, by name.
    pub raised: BTreeMap<String, u64>,
    /// What the model answered to the calls that plan, until there is a plan.
    pub planning: Talk,
    pub outcome: Option<Outcome>,
    /// When the run started, in milliseconds since the Unix epoch.
    pub started_at: u64,
    /// When the last event was recorded.
    pub last_at: u64,
    /// The number of the last event.
    pub last_seq: u64,
    /// How long it was being run before it was last resumed, in milliseconds.
    active_before: u64,
    /// When it was started or last resumed.
    active_since: u64,
    positions: HashMap<StepId, usize>,
}

/// Questions of one attempt that have an answer: known, they need not be asked again.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    /// The question that has no answer yet.
    open: Option<String>,
    pub answered: Vec<Answered>,
}

/// Everything that is known about one step.
#[derive(Clone, Debug)]
pub struct StepState {
    pub id: StepId,
    /// `tool_call`, `reasoning`, `aggregate`.
    pub kind: String,
    /// What it is for, as the plan says.
    pub title: String,
    pub tool: Option<ToolName>,
    pub status: Status,
    /// The number of the current or last attempt; 0 before the first.
    pub attempt: u32,
    /// How many attempts there were before the step was last reset: they count for no retry.
    pub spent: u32,
    /// How often a person asked for it to be done once more.
    pub round: u32,
    /// What the model answered in the attempt under way.
    pub talk: Talk,
    /// Whether its tool was called in the attempt under way and what came of it is not known.
    pub in_flight: bool,
    /// Whether its tool returned in the attempt under way.
    pub returned: bool,
    /// Whether the model has been asked about the plan after its result.
    pub reviewed: bool,
    /// Whether a revision grants it one attempt more.
    pub granted: bool,
    /// Whether a revision has no place for it: it is to be cancelled.
    pub revoked: bool,
    /// When the current or last attempt started.
    pub started_at: Option<u64>,
    /// When it ended.
    pub ended_at: Option<u64>,
    /// Arguments of the last call of its tool.
    pub args: Option<Map<String, Value>>,
    pub result: Option<Arc<Value>>,
    pub failure: Option<Failure>,
    pub cancelled: Option<CancelReason>,
    /// The delay before the next attempt, in milliseconds, if one is scheduled.
    pub retry_in: Option<u64>,
    pub usage: Usage,
}

/// An event that cannot follow the ones before it: the record is damaged, or there is a bug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} cannot follow: {reason}")]
pub struct Impossible {
    pub seq: u64,
    pub reason: String,
}

impl RunState {
    /// The state after some events.
    ///
    /// # Errors
    /// If an event cannot follow those before it.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, Impossible> {
        let mut state = Self::default();
        for event in events {
            state.apply(event)?;
        }
        Ok(state)
    }

    /// The position of a step in file order.
    pub fn position(&self, id: &StepId) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// The step of that id.
    pub fn step(&self, id: &StepId) -> Option<&StepState> {
        self.position(id).map(|at| &self.steps[at])
    }

    /// The result of the run: that of the last step in file order that is done.
    pub fn result(&self) -> Option<&Value> {
        self.steps
            .iter()
            .rev()
            .find(|step| step.status == Status::Done)
            .and_then(|step| step.result.as_deref())
    }

    /// For how long it has been run at a moment, in milliseconds: the time between being stopped and
    /// being resumed does not count.
    pub fn active_at(&self, now: u64) -> u64 {
        self.active_before + now.saturating_sub(self.active_since)
    }

    /// How many steps stand where.
    pub fn count(&self, status: Status) -> usize {
        self.steps.iter().filter(|step| step.status == status).count()
    }

    /// Takes one event in.
    ///
    /// # Errors
    /// If it cannot follow those before it; the state is then as it was.
    pub fn apply(&mut self, event: &Event) -> Result<(), Impossible> {
        let impossible = |reason: String| Impossible { seq: event.seq, reason };
        if event.seq != self.last_seq + 1 {
            return Err(impossible(format!("the event before it has number {}", self.last_seq)));
        }
        if let Some(id) = event.fact.step() {
            let at = self.position(id).ok_or_else(|| impossible(format!("there is no step {id}")))?;
            let step = &mut self.steps[at];
            let status = step.status.after(&event.fact).ok_or_else(|| {
                let name = event.fact.name();
                impossible(format!("{name} cannot happen to step {id}, which is {}", step.status.as_str()))
            })?;
            step.take(status, event);
        }
        if let Fact::StepsReset { steps, .. } = &event.fact {
            let ended = |id: &StepId| {
                let at = self.position(id).ok_or_else(|| impossible(format!("there is no step {id}")))?;
                let status = self.steps[at].status;
                let status = status.after(&event.fact).ok_or_else(|| {
                    impossible(format!("step {id} cannot be reset, it is {}", status.as_str()))
                })?;
                Ok((at, status))
            };
            for (at, status) in steps.iter().map(ended).collect::<Result<Vec<_>, _>>()? {
                self.steps[at].take(status, event);
            }
        }
        self.take(event);
        self.last_seq = event.seq;
        self.last_at = event.at;
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        match &event.fact {
            Fact::RunStarted(started) => {
                self.run = Some(started.run.clone());
                self.workflow.clone_from(&started.workflow);
                self.inputs.clone_from(&started.inputs);
                self.model = Some(started.model.clone());
                self.started_at = event.at;
                self.active_since = event.at;
            }
            Fact::PlanReady { plan, repairs } => {
                self.planning = Talk::default();
                self.repairs.clone_from(repairs);
                self.steps = plan
                    .get("steps")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(StepState::planned)
                    .collect();
                self.number();
            }
            Fact::PlanRevised { step, change, .. } => self.revise(step, change),
            Fact::RunResumed { raised } => {
                self.outcome = None;
                self.budget = None;
                self.raised.extend(raised.iter().map(|(name, to)| (name.clone(), *to)));
                self.active_before = self.active_at(self.last_at);
                self.active_since = event.at;
            }
            Fact::StepStarted { .. } => self.attempts += 1,
            Fact::ModelAsked { step, request, .. } => {
                self.model_calls += 1;
                if step.is_none() {
                    self.planning.ask(request);
                }
            }
            Fact::ModelAnswered { step, answer, usage } => {
                self.usage.add(*usage);
                if step.is_none() {
                    self.planning.answer(answer, *usage);
                }
            }
            Fact::BudgetReached { limit, .. } => self.budget = Some(limit.clone()),
            Fact::RunFinished { outcome } => {
                // What led to no plan need not lead there again.
                if matches!(outcome, Outcome::Failed { step: None, .. }) {
                    self.planning = Talk::default();
                }
                self.outcome = Some(outcome.clone());
            }
            Fact::AttemptInterrupted { .. }
            | Fact::StepsReset { .. }
            | Fact::ToolCalled { .. }
            | Fact::ToolReturned { .. }
            | Fact::StepSucceeded { .. }
            | Fact::StepFailed { .. }
            | Fact::RetryScheduled { .. }
            | Fact::StepCancelled { .. } => {}
        }
    }

    /// Finds the steps by their ids again.
    pub(super) fn number(&mut self) {
        self.positions = self.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
    }
}

impl Talk {
    fn ask(&mut self, request: &str) {
        self.open = Some(request.to_owned());
    }

    fn answer(&mut self, answer: &Value, usage: Usage) {
        if let Some(request) = self.open.take() {
            self.answered.push(Answered { request, answer: answer.clone(), usage });
        }
    }
}

impl StepState {
    /// A step of a plan in its JSON form.
    pub(super) fn planned(step: &Value) -> Option<Self> {
        let text = |key: &str| step.get(key).and_then(Value::as_str).map(str::to_owned);
        let tool = text("tool").map(|name| ToolName::new(name.as_str()));
        let kind = text("type").unwrap_or_else(|| "tool_call".to_owned());
        let title = text("description").filter(|title| !title.is_empty());
        Some(Self {
            id: serde_json::from_value(step.get("id")?.clone()).ok()?,
            title: title.unwrap_or_else(|| match &tool {
                Some(tool) => format!("Call {tool}"),
                None => kind.clone(),
            }),
            kind,
            tool,
            status: Status::default(),
            attempt: 0,
            spent: 0,
            round: 0,
            talk: Talk::default(),
            in_flight: false,
            returned: false,
            reviewed: false,
            granted: false,
            revoked: false,
            started_at: None,
            ended_at: None,
            args: None,
            result: None,
            failure: None,
            cancelled: None,
            retry_in: None,
            usage: Usage::default(),
        })
    }

    /// How many attempts there were since the step was last reset, the current one included.
    pub fn tries(&self) -> u32 {
        self.attempt - self.spent
    }

    /// The only place a status is assigned.
    fn take(&mut self, status: Status, event: &Event) {
        self.status = status;
        // Only an attempt under way has questions and calls of its own.
        if status != Status::InProgress || matches!(event.fact, Fact::StepStarted { .. }) {
            self.talk = Talk::default();
            (self.in_flight, self.returned) = (false, false);
        }
        match &event.fact {
            Fact::StepStarted { attempt, .. } => {
                self.attempt = *attempt;
                self.started_at = Some(event.at);
                self.ended_at = None;
                self.failure = None;
                self.retry_in = None;
                self.granted = false;
            }
            Fact::ModelAsked { request, .. } => self.talk.ask(request),
            Fact::ModelAnswered { answer, usage, .. } => {
                self.usage.add(*usage);
                self.talk.answer(answer, *usage);
            }
            Fact::ToolCalled { args, .. } => {
                self.args = Some(args.clone());
                self.in_flight = true;
            }
            Fact::ToolReturned { result, .. } => {
                self.result = Some(Arc::new(result.clone()));
                (self.in_flight, self.returned) = (false, true);
            }
            Fact::StepSucceeded { result, .. } => {
                if let Some(result) = result {
                    self.result = Some(Arc::new(result.clone()));
                }
                self.ended_at = Some(event.at);
            }
            Fact::StepFailed { failure, .. } => {
                self.failure = Some(failure.clone());
                self.result = None;
                self.ended_at = Some(event.at);
            }
            Fact::RetryScheduled { delay_ms, .. } => self.retry_in = Some(*delay_ms),
            Fact::StepCancelled { reason, .. } => {
                self.cancelled = Some(reason.clone());
                self.result = None;
                self.ended_at = Some(event.at);
            }
            Fact::StepsReset { reason, .. } => {
                self.spent = self.attempt;
                self.round += u32::from(*reason == ResetReason::Again);
                (self.reviewed, self.granted) = (false, false);
                self.started_at = None;
                self.ended_at = None;
                self.args = None;
                self.result = None;
                self.failure = None;
                self.cancelled = None;
                self.retry_in = None;
            }
            _ => {}
        }
    }
}
