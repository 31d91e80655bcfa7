//! What went to and fro in a run: every question with its answer, every call with what came of it.
//!
//! Main type: [`Recording`], a fold over events. It is what a run needs to be done again without a model,
//! a network or a tool. What was interrupted and then done again stands in it once. Knows no file.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::event::{Event, Fact, Failure, Outcome, Started, Usage};
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

impl Exchange {
    /// Whether nothing is known of what came of it.
    fn is_open(&self) -> bool {
        matches!(self, Self::Ask { came: Came::Nothing, .. } | Self::Call { came: Came::Nothing, .. })
    }

    fn fail(&mut self, failure: Failure) {
        match self {
            Self::Ask { came, .. } => *came = Came::Failure(failure),
            Self::Call { came, .. } => *came = Came::Failure(failure),
        }
    }
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
                let no_plan = self.exchanges.keys().all(Option::is_none);
                if matches!(self.outcome.take(), Some(Outcome::Failed { step: None, .. })) && no_plan {
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
                let before = of_step.pop_if(|last| {
                    let again = matches!(last, Exchange::Ask { request: before, .. } if before == request);
                    again && last.is_open()
                });
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
            Fact::StepFailed { step, failure } => {
                if let Some(exchange) = self.last(Some(step)).filter(|it| it.is_open()) {
                    exchange.fail(failure.clone());
                }
            }
            Fact::AttemptInterrupted { step, .. } => {
                let of_step = self.exchanges.get_mut(&Some(step.clone()));
                // It is done again, and stands there once.
                of_step.and_then(|all| all.pop_if(|last| last.is_open()));
            }
            // What runs again takes the place of what was.
            Fact::StepsReset { steps, .. } => {
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
