//! Where a run's events are kept.
//!
//! Main type: [`Journal`]. Knows order and durability; does not know what an event means.

mod file;
mod store;
mod values;

pub use file::{Events, SqliteJournal};
pub use store::{Store, StoreError};

use crate::event::{Event, RecordError};

/// The version of the SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// A place events are stored in, in order.
pub trait Journal: Send {
    /// Stores the events as one commit: all of them or none, safe when this returns.
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError>;
}

/// Keeps nothing: a run without a record, whose state is what its fold holds.
#[derive(Debug, Default)]
pub struct Discard;

impl Journal for Discard {
    fn append(&mut self, _: &[Event]) -> Result<(), RecordError> {
        Ok(())
    }
}

/// Keeps events as long as the process lives.
#[derive(Debug, Default)]
pub struct Memory {
    events: Vec<Event>,
    commits: usize,
}

impl Memory {
    /// What was stored.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// In how many commits.
    pub fn commits(&self) -> usize {
        self.commits
    }
}

impl Journal for Memory {
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError> {
        self.events.extend_from_slice(events);
        self.commits += 1;
        Ok(())
    }
}
