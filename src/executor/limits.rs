//! What a run may use up: as the file says, or as a person raised it since.
//!
//! Main type: [`Limits`]. Counted over retries and over every part of a run that was resumed; the time
//! between the parts does not count. Knows no step.

use std::time::Duration;

use tokio::time::Instant;

use crate::run::RunState;
use crate::workflow;

/// Most steps a plan may start that nobody has written by hand.
const MODEL_STEPS: u64 = 200;

/// The limits of the part of a run that is under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// When it must be over, and the time that is allowed in all.
    pub deadline: Option<(Instant, Duration)>,
    /// Tokens of all model calls together.
    pub max_tokens: Option<u64>,
    /// Attempts of all steps together.
    pub max_steps: Option<u64>,
}

impl Limits {
    /// Those of a file, with what was raised and was used up already.
    pub(super) fn new(file: &workflow::Limits, state: &RunState) -> Self {
        let raised = |name: &str| state.raised.get(name).copied();
        let allowed = raised("timeout").map(Duration::from_millis).or(file.timeout);
        let used = Duration::from_millis(state.active_at(state.last_at));
        Self {
            deadline: allowed.map(|allowed| (Instant::now() + allowed.saturating_sub(used), allowed)),
            max_tokens: raised("max_tokens").or(file.max_tokens),
            max_steps: raised("max_steps").or(file.max_steps),
        }
    }

    /// The same for a plan that a model wrote.
    pub(super) fn of_a_model(self) -> Self {
        Self { max_steps: self.max_steps.or(Some(MODEL_STEPS)), ..self }
    }
}
