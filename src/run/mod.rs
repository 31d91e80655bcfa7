//! What is true of a run: its state as a fold of events, which steps are ready, what a step sees.
//!
//! Everything here is pure. Knows no journal, no model and no tool.

mod frontier;
mod record;
mod recording;
pub mod retry;
mod revision;
mod state;
mod transition;
mod view;

pub use frontier::{Blocked, End, Frontier};
pub use record::Record;
pub use recording::{Came, Exchange, Recording};
pub use state::{Impossible, RunState, StepState, Talk};
pub use transition::Status;
pub use view::{Seen, Turn, View, excerpt, tools_named};

use crate::event::{Event, Progress};

/// Someone who watches a run: called after an event is stored, with the state it led to.
pub trait Observer: Send {
    /// An event was stored.
    fn event(&mut self, event: &Event, state: &RunState);

    /// Something passing is to be shown.
    fn progress(&mut self, progress: &Progress);
}

/// Watches nothing: only how the run ends counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Observer for Unwatched {
    fn event(&mut self, _: &Event, _: &RunState) {}

    fn progress(&mut self, _: &Progress) {}
}
