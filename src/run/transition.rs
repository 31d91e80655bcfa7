//! The table of what may happen to a step: one function, and anything else is a bug.
//!
//! Main type: [`Status`]. Knows no run and no graph.

use serde::{Deserialize, Serialize};

use crate::event::Fact;

/// Where a step stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not yet started.
    #[default]
    Pending,
    /// An attempt is under way.
    InProgress,
    /// It has a result.
    Done,
    /// The last attempt failed; another may follow.
    Failed,
    /// It will not run.
    Cancelled,
}

impl Status {
    /// Every status, in the order a step goes through them.
    pub const ALL: [Self; 5] = [Self::Pending, Self::InProgress, Self::Done, Self::Failed, Self::Cancelled];

    /// The name in records and plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status after a fact about the step; `None` if the fact cannot happen to a step that stands
    /// here. Facts that say nothing about a status leave it, but only while an attempt is under way.
    pub fn after(self, fact: &Fact) -> Option<Self> {
        use Status::{Cancelled, Done, Failed, InProgress, Pending};
        match (self, fact) {
            (Pending | Failed, Fact::StepStarted { .. }) => Some(InProgress),
            (InProgress, Fact::StepSucceeded { .. }) => Some(Done),
            (InProgress, Fact::StepFailed { .. }) => Some(Failed),
            (Failed, Fact::RetryScheduled { .. }) => Some(Failed),
            (Pending | InProgress | Failed, Fact::StepCancelled { .. }) => Some(Cancelled),
            (Done | Failed | Cancelled, Fact::StepsReset { .. }) => Some(Pending),
            (
                InProgress,
                Fact::AttemptInterrupted { .. }
                | Fact::ModelAsked { .. }
                | Fact::ModelAnswered { .. }
                | Fact::ToolCalled { .. }
                | Fact::ToolReturned { .. },
            ) => Some(InProgress),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CancelReason, Failure, FailureKind, ResetReason};
    use crate::id::StepId;

    #[test]
    fn the_table_is_the_designs() {
        use Status::{Cancelled, Done, Failed, InProgress, Pending};
        let step = StepId::integer(1);
        let facts = [
            Fact::StepStarted { step: step.clone(), attempt: 1 },
            Fact::StepSucceeded { step: step.clone(), result: None },
            Fact::StepFailed { step: step.clone(), failure: Failure::new(FailureKind::Tool, "no") },
            Fact::StepCancelled { step: step.clone(), reason: CancelReason::Stopped },
            Fact::AttemptInterrupted { step: step.clone(), attempt: 1 },
            Fact::StepsReset { steps: vec![step], reason: ResetReason::Again },
        ];
        let table = [
            (Pending, [Some(InProgress), None, None, Some(Cancelled), None, None]),
            (InProgress, [None, Some(Done), Some(Failed), Some(Cancelled), Some(InProgress), None]),
            (Done, [None, None, None, None, None, Some(Pending)]),
            (Failed, [Some(InProgress), None, None, Some(Cancelled), None, Some(Pending)]),
            (Cancelled, [None, None, None, None, None, Some(Pending)]),
        ];
        for (from, row) in table {
            for (fact, to) in facts.iter().zip(row) {
                assert_eq!(from.after(fact), to, "{from:?} after {fact:?}");
            }
        }
    }
}
