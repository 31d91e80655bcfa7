//! A run as its record tells it: what it started with, its plan, and how it stands.
//!
//! Main type: [`Record`], fed with events in order. Knows no store, and does not check whether what the
//! run started with still fits together.

use serde_json::Value;

use super::state::{Impossible, RunState};
use crate::event::{Event, Fact, Started};

/// What is known of a run from its events alone.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub started: Option<Box<Started>>,
    /// The plan in its JSON form, once there is one.
    pub plan: Option<Value>,
    pub state: RunState,
}

impl Record {
    /// Takes in the next event.
    ///
    /// # Errors
    /// If it cannot follow those before it.
    pub fn take(&mut self, event: &Event) -> Result<(), Impossible> {
        self.state.apply(event)?;
        match &event.fact {
            Fact::RunStarted(started) => self.started = Some(started.clone()),
            Fact::PlanReady { plan, .. } => self.plan = Some(plan.clone()),
            _ => {}
        }
        Ok(())
    }
}
