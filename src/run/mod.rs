//! What is true of a run: its state as a fold of events, which steps are ready, what a step sees.
//!
//! Everything here is pure. Knows no journal, no model and no tool.

pub mod retry;
mod state;
mod transition;

pub use state::{Impossible, RunState, StepState};
pub use transition::Status;

use crate::event::{Event, Progress};

/// Someone who watches a run: called after an event is stored, with the state it led to.
pub trait Observer: Send {
    /// An event was stored.
    fn event(&mut self, event: &Event, state: &RunState);

    /// Something passing is to be shown.
    fn progress(&mut self, progress: &Progress);
}
