//! The events of a run as JSON lines: exactly what the record holds, and between them the text of
//! models while it comes.
//!
//! Main type: [`EventLines`]. A line of the record has `seq` and `type`; one of something passing has
//! `progress` in their place, so that neither is taken for the other. Knows nothing of what they mean.

use std::io::Write;

use serde::Serialize;
use serde_json::json;

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

    fn line(&mut self, value: &impl Serialize) {
        // A reader that went away ends nothing: the run goes on, and its record is kept.
        let _ = serde_json::to_writer(&mut self.out, value)
            .map_err(std::io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .and_then(|()| self.out.flush());
    }
}

impl<W: Write + Send> Observer for EventLines<W> {
    fn event(&mut self, event: &Event, _: &RunState) {
        self.line(event);
    }

    fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::ModelText { step, text } => {
                self.line(&json!({"progress": "model_text", "step": step, "text": text}));
            }
            // Told to people, on the other stream.
            Progress::ToolOutput { .. } | Progress::Stopping { .. } => {}
        }
    }
}
