//! The events of a run as JSON lines: exactly what the record holds.
//!
//! Main type: [`EventLines`]. Knows nothing of what an event means.

use std::io::Write;

use crate::event::{Event, Progress};
use crate::run::{Observer, RunState};

/// Writes each event as one line of JSON.
pub struct EventLines<W> {
    out: W,
}

impl<W: Write + Send> EventLines<W> {
    /// Writes to `out`, and flushes after each line so that a reader sees it at once.
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write + Send> Observer for EventLines<W> {
    fn event(&mut self, event: &Event, _: &RunState) {
        // A reader that went away ends nothing: the run goes on, and its record is kept.
        let _ = serde_json::to_writer(&mut self.out, event)
            .map_err(std::io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .and_then(|()| self.out.flush());
    }

    fn progress(&mut self, _: &Progress) {}
}
