//! What went to and fro in a run: every question with its answer, every call with what came of it.
//!
//! Main type: [`Recording`], a fold over events. It is what a run needs to be done again without a model,
//! a network or a tool. What was interrupted and then done again stands in it once. Knows no file.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::event::{Event, Fact, Failure, Outcome, ResetReason, Started, Usage};
use crate::id::{StepId, ToolName};

/// One question or call.
#[derive(Clone, Debug, PartialEq)]
pub enum Exchange {
    /// A question to a model.
    Ask {
        /// Hash of the whole request.
        request: String,
        /// The messages that were new in it.
        new: Vec<Value>,
        came: Came<(Value, Usage)>,
    },
    /// A call of a tool.
    Call { tool: ToolName, args: Map<String, Value>, came: Came<Value> },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Came<T> {
    Result(T),
    Failure(Failure),
    /// Nothing that is known: a format that was refused, or the record ends here.
    Nothing,
}

/// The exchanges of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    pub started: Option<Box<Started>>,
    /// By step, in the order of the plan; those without a step are about the plan itself.
    pub exchanges: IndexMap<Option<StepId>, Vec<Exchange>>,
    pub outcome: Option<Outcome>,
}

impl Recording {
    /// Takes in the next event.
    pub fn take(&mut self, event: &Event) {
        match &event.fact {
            Fact::RunStarted(started) => self.started = Some(started.clone()),
            Fact::RunResumed { .. } => {
                // A plan that came to nothing is made anew.
                if matches!(self.outcome.take(), Some(Outcome::Failed { step: None, .. })) {
                    self.exchanges.shift_remove(&None);
                }
            }
            // In the order of the plan, whatever ran first.
            Fact::PlanReady { plan, .. } => {
                let steps = plan.get("steps").and_then(Value::as_array).into_iter().flatten();
                for id in steps.filter_map(|step| serde_json::from_value(step.get("id")?.clone()).ok()) {
                    self.exchanges.entry(Some(id)).or_default();
                }
            }
            Fact::ModelAsked { step, request, new, .. } => {
                let of_step = self.exchanges.entry(step.clone()).or_default();
                // The same question once more: the provider was not there, and nobody waits for that again.
                let again = |it: &Exchange| matches!(it, Exchange::Ask { request: before, came: Came::Nothing, .. } if before == request);
                let before = if of_step.last().is_some_and(again) { of_step.pop() } else { None };
                // Then nothing in it was new.
                let new = match before {
                    Some(Exchange::Ask { new, .. }) => new,
                    _ => new.clone(),
                };
                of_step.push(Exchange::Ask { request: request.clone(), new, came: Came::Nothing });
            }
            Fact::ModelAnswered { step, answer, usage } => {
                if let Some(Exchange::Ask { came, .. }) = self.last(step.as_ref()) {
                    *came = Came::Result((answer.clone(), *usage));
                }
            }
            Fact::ToolCalled { step, tool, args } => {
                let call = Exchange::Call { tool: tool.clone(), args: args.clone(), came: Came::Nothing };
                self.exchanges.entry(Some(step.clone())).or_default().push(call);
            }
            Fact::ToolReturned { step, result, .. } | Fact::StepSucceeded { step, result: Some(result) } => {
                if let Some(Exchange::Call { came: came @ Came::Nothing, .. }) = self.last(Some(step)) {
                    *came = Came::Result(result.clone());
                }
            }
            Fact::StepFailed { step, failure } => match self.last(Some(step)) {
                Some(Exchange::Ask { came: came @ Came::Nothing, .. }) => {
                    *came = Came::Failure(failure.clone())
                }
                Some(Exchange::Call { came: came @ Came::Nothing, .. }) => {
                    *came = Came::Failure(failure.clone())
                }
                _ => {}
            },
            Fact::AttemptInterrupted { step, .. } => {
                let open = |it: &mut Exchange| {
                    matches!(
                        it,
                        Exchange::Ask { came: Came::Nothing, .. }
                            | Exchange::Call { came: Came::Nothing, .. }
                    )
                };
                if self.last(Some(step)).is_some_and(open)
                    && let Some(of_step) = self.exchanges.get_mut(&Some(step.clone()))
                {
                    of_step.pop();
                }
            }
            // What runs again takes the place of what was.
            Fact::StepsReset { steps, reason: ResetReason::Failed | ResetReason::Again } => {
                for step in steps {
                    self.exchanges.entry(Some(step.clone())).or_default().clear();
                }
            }
            Fact::RunFinished { outcome } => self.outcome = Some(outcome.clone()),
            _ => {}
        }
    }

    fn last(&mut self, step: Option<&StepId>) -> Option<&mut Exchange> {
        self.exchanges.get_mut(&step.cloned())?.last_mut()
    }
}
