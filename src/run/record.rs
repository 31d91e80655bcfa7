//! A run as its record tells it: what it started with, its plan, and how it stands.
//!
//! Main type: [`Record`], fed with events in order. Knows no store, and does not check whether what the
//! run started with still fits together.

use serde_json::Value;

use super::state::{Impossible, RunState};
use crate::event::{Change, Event, Fact, Started};
use crate::id::StepId;

/// What is known of a run from its events alone.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub started: Option<Box<Started>>,
    /// The plan in its JSON form, once there is one, as it was before it was revised.
    pub plan: Option<Value>,
    /// How it was revised, in order, each time after which step.
    pub changes: Vec<(StepId, Change)>,
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
            Fact::PlanRevised { step, change, .. } => self.changes.push((step.clone(), change.clone())),
            _ => {}
        }
        Ok(())
    }
}
