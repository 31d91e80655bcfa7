//! Going on with a run: what its record says is taken up, and what was under way is begun again.
//!
//! Main type: [`Resume`]. What is done stays done, what was answered is not asked again, and a call that
//! must not be repeated is not repeated. Knows no store.

use std::collections::BTreeMap;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use super::engine::Turning;
use crate::event::{CancelReason, Change, Fact, Failure, FailureKind, Outcome, ResetReason, now};
use crate::id::{StepId, ToolName};
use crate::run::{End, RunState, Status};
use crate::spec::Effect;
use crate::tool::Catalog;
use crate::workflow::Plan;

/// How a run goes on.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// The state its record leads to.
    pub state: RunState,
    /// The plan, where a model wrote it.
    pub plan: Option<Plan>,
    /// How the plan was revised, in order, each time after which step.
    pub changes: Vec<(StepId, Change)>,
    /// Limits that are higher from now on, by name; `timeout` in milliseconds.
    pub raised: BTreeMap<String, u64>,
    /// What a person says about calls that were under way.
    pub decisions: IndexMap<StepId, Decision>,
    /// The step to run again from, with everything that depends on it.
    pub from: Option<StepId>,
}

/// What is to become of a call of which nobody knows how it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It is made again.
    Rerun,
    /// It came to this.
    Done(Value),
    /// It failed.
    Fail,
}

impl Resume {
    /// The calls under way that must not be repeated and about which a person has said nothing.
    pub(super) fn undecided(&self, catalog: &Catalog) -> Vec<(StepId, ToolName)> {
        in_flight(&self.state, catalog).filter(|(step, _)| !self.decisions.contains_key(step)).collect()
    }

    /// The steps that a decision may be about, with their tools.
    pub fn undecidable(state: &RunState, catalog: &Catalog) -> Vec<(StepId, ToolName)> {
        in_flight(state, catalog).collect()
    }
}

fn in_flight(state: &RunState, catalog: &Catalog) -> impl Iterator<Item = (StepId, ToolName)> {
    let once =
        |tool: &ToolName| catalog.get(tool).is_none_or(|entry| entry.tool.spec().effect == Effect::Once);
    let under_way = state.steps.iter().filter(|step| step.status == Status::InProgress && step.in_flight);
    under_way.filter_map(move |step| Some((step.id.clone(), step.tool.clone().filter(once)?)))
}

impl Turning<'_, '_, '_> {
    /// Takes up where the record ends. Nothing is started yet.
    pub(super) fn take_up(&mut self, resume: &Resume) {
        self.reset(resume);
        for position in 0..self.engine.plan.steps.len() {
            if let Some(decision) = resume.decisions.get(&self.engine.plan.steps[position].id) {
                self.decide(position, decision);
            }
        }
        self.stand();
    }

    /// Ends for the frontier what has ended, and waits on for what is under way.
    pub(super) fn stand(&mut self) {
        let revoked =
            self.ids(|_, step| step.revoked && matches!(step.status, Status::Pending | Status::Failed));
        for step in revoked {
            self.recorder.push(Fact::StepCancelled { step, reason: CancelReason::Revised });
        }
        let steps = &self.recorder.state().steps;
        let stands = steps.iter().map(|step| match (step.status, &step.cancelled) {
            (Status::Done, _) => Some(End::Done),
            (Status::Cancelled, Some(reason)) if reason.is_benign() => Some(End::Skipped),
            (Status::Cancelled, _) => Some(End::Failed),
            (Status::Pending | Status::InProgress | Status::Failed, _) => None,
        });
        for (position, end) in stands.collect::<Vec<_>>().into_iter().enumerate() {
            if let Some(end) = end {
                self.frontier.end(position, end);
            }
        }
        for position in 0..self.engine.plan.steps.len() {
            self.go_on(position);
        }
        // What was under way is ready still: what it waits for has ended.
        let steps = &self.recorder.state().steps;
        let open = |position: usize| match steps[position].status {
            Status::Pending | Status::InProgress => true,
            Status::Failed => steps[position].granted,
            Status::Done | Status::Cancelled => false,
        };
        self.frontier.retain(open);
    }

    /// What is to run again, whatever came of it.
    fn reset(&mut self, resume: &Resume) {
        if matches!(resume.state.outcome, Some(Outcome::Failed { step: Some(_), .. })) {
            let failed = self.ids(|_, step| {
                let after_failure = step.cancelled.as_ref().is_some_and(|reason| !reason.is_benign());
                step.status == Status::Failed || (step.status == Status::Cancelled && after_failure)
            });
            self.push_reset(failed, ResetReason::Failed);
        }
        if let Some(from) = resume.from.as_ref().and_then(|id| self.engine.plan.position(id)) {
            let graph = &self.engine.plan.graph;
            let downstream = graph.descendants(from);
            let again = self.ids(|position, step| {
                let ended = match (step.status, &step.cancelled) {
                    // What a revision left no place for does not come back.
                    (Status::Cancelled, Some(CancelReason::Revised)) => false,
                    (status, _) => matches!(status, Status::Done | Status::Failed | Status::Cancelled),
                };
                ended && (position == from || downstream.binary_search(&position).is_ok())
            });
            self.push_reset(again, ResetReason::Again);
        }
    }

    fn ids(&self, which: impl Fn(usize, &crate::run::StepState) -> bool) -> Vec<StepId> {
        let steps = self.recorder.state().steps.iter().enumerate();
        steps.filter(|(position, step)| which(*position, step)).map(|(_, step)| step.id.clone()).collect()
    }

    fn push_reset(&mut self, steps: Vec<StepId>, reason: ResetReason) {
        if !steps.is_empty() {
            self.recorder.push(Fact::StepsReset { steps, reason });
        }
    }

    fn decide(&mut self, position: usize, decision: &Decision) {
        let step = self.engine.plan.steps[position].id.clone();
        match decision {
            Decision::Rerun => {}
            Decision::Done(value) => {
                self.recorder.push(Fact::StepSucceeded { step, result: Some(value.clone()) });
            }
            Decision::Fail => {
                let failure = Failure::new(FailureKind::Tool, "a person says that the call failed");
                self.recorder.push(Fact::StepFailed { step, failure });
            }
        }
    }

    /// Ends what had come to an end, and waits on for what was to be tried again.
    fn go_on(&mut self, position: usize) {
        let state = &self.recorder.state().steps[position];
        match state.status {
            Status::InProgress if state.returned => {
                self.succeed(position, None);
            }
            Status::Done if !state.reviewed => self.review(position),
            Status::Failed if state.granted => {}
            Status::Failed => match (state.retry_in, state.failure.clone()) {
                (Some(delay), _) => {
                    let waited = now().saturating_sub(state.ended_at.unwrap_or_default());
                    self.wait_for(position, Duration::from_millis(delay.saturating_sub(waited)));
                }
                (None, Some(failure)) => self.retry(position, &failure),
                (None, None) => self.frontier.end(position, End::Failed),
            },
            Status::Pending | Status::InProgress | Status::Done | Status::Cancelled => {}
        }
    }
}
