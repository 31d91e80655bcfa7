//! What comes of a result: whether it is what the step expects, whether the plan is to be looked at, and
//! how the run ends.
//!
//! A part of the loop. A deterministic plan whose results are as expected costs no question. How a plan is
//! revised is not known here.

use serde_json::Value;

use super::engine::{Halt, Turning};
use crate::event::{Fact, Failure, FailureKind, Outcome};
use crate::run::{End, Status};
use crate::spec::Schema;
use crate::workflow::Action;

impl Turning<'_, '_, '_> {
    /// Ends a step with its result; `None`: what its tool returned, as recorded.
    pub(super) fn succeed(&mut self, position: usize, result: Option<Value>) {
        let engine = self.engine;
        let state = self.recorder.state();
        let value = result.as_ref().or(state.steps[position].result.as_deref()).cloned().unwrap_or_default();
        let expected = engine.view(state).expectation(position, &value);
        let after_each = engine.workflow.replan.is_some_and(|replan| replan.after_each);
        let expect = engine.plan.steps[position].expect.as_ref();
        match (expected, expect) {
            (Err(failure), _) => return self.fail(position, failure),
            (Ok(Some(false)), Some(expect)) if !(after_each && self.may_revise()) => {
                let message = format!("the result is not as expected: `{}` is not true", expect.text());
                return self.fail(position, Failure::new(FailureKind::Unexpected, message));
            }
            _ => {}
        }
        let step = engine.plan.steps[position].id.clone();
        self.recorder.push(Fact::StepSucceeded { step, result });
        self.frontier.end(position, End::Done);
        self.review(position);
    }

    /// Has the plan looked at after a step that is done, unless its result is known to be as expected.
    pub(super) fn review(&mut self, position: usize) {
        let after_each = self.engine.workflow.replan.is_some_and(|replan| replan.after_each);
        if after_each && !self.frontier.is_done() && self.may_revise() && !self.is_as_expected(position) {
            self.revise_after(position);
        }
    }

    /// Whether the result of a step fits its schema and what is expected of it; not, where nothing is.
    fn is_as_expected(&self, position: usize) -> bool {
        let (engine, state) = (self.engine, self.recorder.state());
        let Some(result) = state.steps[position].result.as_deref() else { return false };
        let schema = match &engine.plan.steps[position].action {
            Action::ToolCall { tool, .. } => {
                engine.means.catalog.get(tool).and_then(|entry| entry.tool.spec().returns.as_ref())
            }
            Action::Reasoning { output_schema } | Action::Aggregate { output_schema, .. } => {
                output_schema.as_ref()
            }
        };
        let fits =
            schema.map(|schema| Schema::parse(schema).is_ok_and(|schema| schema.check(result).is_empty()));
        let expected = engine.view(state).expectation(position, result).unwrap_or(Some(false));
        match (fits, expected) {
            (None, None) => false,
            (fits, expected) => fits != Some(false) && expected != Some(false),
        }
    }

    pub(super) fn may_revise(&self) -> bool {
        let limit = self.engine.workflow.replan.map_or(0, |replan| replan.limit);
        self.engine.unrevised.is_none() && self.recorder.state().revisions < limit
    }

    /// Starts nothing more until the plan was revised. Of several steps the first in the file is the reason.
    pub(super) fn revise_after(&mut self, position: usize) {
        match &mut self.halt {
            None => self.halt = Some(Halt::Revise { position }),
            Some(Halt::Revise { position: other }) => *other = position.min(*other),
            // The run ends for another reason: the plan is looked at when it goes on.
            Some(Halt::Signal { .. } | Halt::Budget { .. }) => {}
        }
    }

    /// A failure, and why the plan was not revised after it, where that was tried.
    fn unmended(&self, failure: Failure) -> Failure {
        match self.engine.unrevised {
            None => failure,
            Some(why) => {
                Failure { message: format!("{failure}; and the plan was not revised: {why}"), ..failure }
            }
        }
    }

    /// How the run ends, as it stands.
    pub(super) fn outcome(&self) -> Outcome {
        let state = self.recorder.state();
        match &self.halt {
            Some(Halt::Signal { signal, .. }) => Outcome::Interrupted { signal: signal.as_str().to_owned() },
            Some(Halt::Budget { limit, allowed }) => {
                let unit = if *limit == "timeout" { " ms" } else { "" };
                Outcome::Stopped { reason: format!("limits.{limit} of {allowed}{unit} is reached") }
            }
            Some(Halt::Revise { .. }) | None => {
                match state.steps.iter().find(|step| step.status == Status::Failed) {
                    Some(step) => Outcome::Failed {
                        step: Some(step.id.clone()),
                        failure: self.unmended(
                            step.failure
                                .clone()
                                .unwrap_or_else(|| panic!("bug: step {} failed without a failure", step.id)),
                        ),
                    },
                    None => Outcome::Succeeded { result: state.result().cloned().unwrap_or_default() },
                }
            }
        }
    }
}
