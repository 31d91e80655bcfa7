//! A plan is revised while it runs: the model decides, a person agrees where that is needed, and what
//! follows is recorded.
//!
//! Main type: [`Revising`]. Nothing runs meanwhile. How the model is asked and what its decision means for
//! the plan is the planner's.

use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::outbox::Outbox;
use super::recorder::Recorder;
use super::{Proposal, Review, Reviewer, Setup, over};
use crate::event::{Change, Fact, Failure, FailureKind, Outcome, RecordError, Usage};
use crate::llm::ModelErrorKind;
use crate::planner::{Asking, Decided, Planned, ReviseError, Revision, Situation, revise};
use crate::run::View;
use crate::run::retry::Policy;
use crate::source::Source;
use crate::spec::Effect;
use crate::workflow::{Action, Plan, StepGraph};

/// How a run goes on after the model was asked.
pub(super) enum Went {
    /// By this plan.
    On(Plan),
    /// As if the plan could not be revised at all, for this reason.
    Unrevised(String),
    /// Not at all, for now.
    End(Outcome),
}

/// What is needed to have a plan revised.
pub(super) struct Revising<'a> {
    pub(super) setup: &'a Setup,
    pub(super) plan: &'a Plan,
    pub(super) deadline: Option<(Instant, Duration)>,
}

impl Revising<'_> {
    /// Asks about the plan after the step at a position, and records what was decided.
    ///
    /// # Errors
    /// If an event could not be stored.
    pub(super) async fn decide(
        &self,
        about: usize,
        outbox: &Outbox,
        recorder: &mut Recorder<'_>,
        reviewer: &mut dyn Reviewer,
    ) -> Result<Went, RecordError> {
        let state = recorder.state().clone();
        let setup = self.setup;
        let known = state.planning.answered.clone();
        let situation = Situation {
            view: View {
                workflow: &setup.workflow,
                plan: self.plan,
                task: setup.task.as_deref(),
                state: &state,
            },
            about,
            tools: setup.catalog.specs().cloned().collect(),
            said: Vec::new(),
        };
        let retry = if setup.instant { Policy::PROVIDER.instant() } else { Policy::PROVIDER };
        let asking = Asking { settings: &setup.settings, retry, known: &known };
        let revision = {
            let mut asked = pin!(revise(setup.model.as_ref(), asking, &situation, outbox));
            loop {
                recorder.commit(outbox)?;
                tokio::select! {
                    biased;
                    signal = setup.stop.requested() => {
                        return Ok(Went::End(Outcome::Interrupted { signal: signal.as_str().to_owned() }));
                    }
                    revision = &mut asked => break revision,
                    allowed = over(self.deadline) => {
                        let allowed = u64::try_from(allowed.as_millis()).unwrap_or(u64::MAX);
                        recorder.push(Fact::BudgetReached { limit: "timeout".to_owned(), allowed });
                        let reason = format!("limits.timeout of {allowed} ms is reached");
                        return Ok(Went::End(Outcome::Stopped { reason }));
                    }
                    () = outbox.filled() => {}
                }
            }
        };
        recorder.commit(outbox)?;
        let id = situation.step().id.clone();
        match revision {
            Ok(Revision::Ask { question }) => Ok(Went::End(Outcome::Stopped {
                reason: format!("after step {id} the model asks: {question}"),
            })),
            Ok(Revision::Decided(decided)) => {
                let Decided { change, reason, repairs, plan, source } = *decided;
                if let Some(outcome) = self.refused(&situation, &change, &plan, source, reviewer).await {
                    return Ok(Went::End(outcome));
                }
                recorder.push(Fact::PlanRevised { step: id, reason, change, repairs });
                recorder.commit(outbox)?;
                Ok(Went::On(plan))
            }
            Err(ReviseError::Record(error)) => Err(error),
            // The failure of the step stands, and its consequences are those of any failure.
            Err(error) if situation.has_failed() => Ok(Went::Unrevised(error.to_string())),
            Err(error) => {
                let kind = match &error {
                    ReviseError::Model(error) if error.kind != ModelErrorKind::Unable => {
                        FailureKind::Provider
                    }
                    ReviseError::Goal(failure) => failure.kind,
                    _ => FailureKind::Model,
                };
                let message =
                    format!("nobody could say after step {id} whether the plan is still right: {error}");
                Ok(Went::End(Outcome::Failed { step: None, failure: Failure::new(kind, message) }))
            }
        }
    }

    /// Puts a change to a person that adds calls which do not merely read; how the run ends without a yes.
    async fn refused(
        &self,
        situation: &Situation<'_>,
        change: &Change,
        plan: &Plan,
        source: Source,
        reviewer: &mut dyn Reviewer,
    ) -> Option<Outcome> {
        let new: Vec<_> = match change {
            Change::Replace { .. } => plan.steps[self.plan.steps.len()..].to_vec(),
            Change::Retry { args: Some(_) } => plan.step(&situation.step().id).cloned().into_iter().collect(),
            _ => return None,
        };
        let acts = new.iter().any(|step| match &step.action {
            Action::ToolCall { tool, .. } => {
                self.setup.catalog.get(tool).is_none_or(|entry| entry.tool.spec().effect != Effect::Read)
            }
            _ => false,
        });
        let graph = StepGraph::new(new.iter().map(|step| &step.id));
        let planned = Planned {
            plan: Plan { steps: new, graph, origin: crate::workflow::Origin::Model },
            source,
            repairs: Vec::new(),
            warnings: Vec::new(),
            asks: 1,
            usage: Usage::default(),
        };
        let proposal = Proposal { workflow: &self.setup.workflow, planned: &planned, acts };
        let review = tokio::select! {
            biased;
            signal = self.setup.stop.requested() => {
                return Some(Outcome::Interrupted { signal: signal.as_str().to_owned() });
            }
            review = reviewer.review(proposal) => review,
        };
        let reason = match review {
            Review::Go => return None,
            Review::Declined => "the revision of the plan was declined".to_owned(),
            Review::Unanswerable => {
                "the revision of the plan calls tools that change things, and there is nobody \
                 to ask; go on on a terminal, or allow it with --yes"
                    .to_owned()
            }
        };
        Some(Outcome::Stopped { reason })
    }
}
