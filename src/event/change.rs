//! What becomes of a plan that is revised while it runs, as it is stored.
//!
//! Main type: [`Change`]. Complete in itself: with it the plan can be revised again from the record,
//! whatever has happened to its steps since. Knows no plan.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::StepId;

/// What becomes of a plan that is revised. Steps that have ended stay as they are, and so do their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Change {
    /// The plan stays; a step that failed is cancelled.
    Continue,
    /// The step that failed gets one attempt more.
    Retry {
        /// Arguments in the place of those it had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Map<String, Value>>,
    },
    /// New steps, in plan form, stand in for every step that has not ended.
    Replace { steps: Vec<Value> },
    /// The steps that have not ended, in the order in which they now run.
    Reorder { order: Vec<StepId> },
    /// These steps will not run.
    Cancel { steps: Vec<StepId> },
}

impl Change {
    /// The name of the decision.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Retry { .. } => "retry",
            Self::Replace { .. } => "replace",
            Self::Reorder { .. } => "reorder",
            Self::Cancel { .. } => "cancel",
        }
    }
}
