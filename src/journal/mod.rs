//! Where a run's events are kept.
//!
//! Main type: [`Journal`]. Knows order and durability; does not know what an event means.

use crate::event::{Event, RecordError};

/// A place events are stored in, in order.
pub trait Journal: Send {
    /// Stores the events as one commit: all of them or none, safe when this returns.
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError>;
}

/// Keeps nothing: a run with no record, whose state is what its fold holds.
#[derive(Debug, Default)]
pub struct Memory {
    events: Vec<Event>,
}

impl Memory {
    /// What was stored.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Journal for Memory {
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError> {
        self.events.extend_from_slice(events);
        Ok(())
    }
}
