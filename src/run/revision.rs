//! What a revision of the plan means for the state of a run.
//!
//! A part of the fold of [`RunState`]: which steps are new, where they stand now, which get one attempt more
//! and which are to be cancelled. Knows neither the plan nor why it was revised.

use super::state::{RunState, StepState, Talk};
use super::transition::Status;
use crate::event::Change;
use crate::id::StepId;

impl RunState {
    pub(super) fn revise(&mut self, about: &StepId, change: &Change) {
        self.planning = Talk::default();
        self.revisions += u32::from(*change != Change::Continue);
        if let Some(at) = self.position(about) {
            self.steps[at].reviewed = true;
        }
        for step in &mut self.steps {
            let (failed, is_about) = (step.status == Status::Failed, step.id == *about);
            let (granted, revoked) = match change {
                Change::Continue => (false, failed && is_about),
                Change::Retry { .. } => (failed && is_about, false),
                Change::Reorder { order } => {
                    let named = order.contains(&step.id);
                    (failed && named, failed && is_about && !named)
                }
                Change::Cancel { steps } => (false, steps.contains(&step.id) || (failed && is_about)),
                Change::Replace { .. } => (false, failed || step.status == Status::Pending),
            };
            (step.granted, step.revoked) = (step.granted || granted, step.revoked || revoked);
        }
        match change {
            Change::Replace { steps } => self.steps.extend(steps.iter().filter_map(StepState::planned)),
            Change::Reorder { order } => {
                let place = |step: &StepState| order.iter().position(|id| *id == step.id);
                self.steps.sort_by_key(place);
            }
            Change::Continue | Change::Retry { .. } | Change::Cancel { .. } => {}
        }
        self.number();
    }
}
