//! What a run comes to: steps done, time, model calls, tokens.
//!
//! Main type: [`Totals`]. The same words while the run goes and at its end; knows no step by itself.

use super::list::{duration, plural};
use super::look::{Look, Paint};
use crate::run::{RunState, Status};

/// How many steps stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([usize; 5]);

impl Counts {
    pub(super) fn of(statuses: impl IntoIterator<Item = Status>) -> Self {
        let mut counts = Self::default();
        for status in statuses {
            counts.0[index(status)] += 1;
        }
        counts
    }

    pub(super) fn get(self, status: Status) -> usize {
        self.0[index(status)]
    }

    /// A step stands elsewhere now.
    pub(super) fn moved(&mut self, from: Status, to: Status) {
        self.0[index(from)] -= 1;
        self.0[index(to)] += 1;
    }

    pub(super) fn total(self) -> usize {
        self.0.iter().sum()
    }

    /// A line for steps that are not shown: `… 38 steps done`, `… 40 steps: 38 done, 2 failed`.
    pub(super) fn line(self, look: Look) -> String {
        let words = ["pending", "in progress", "done", "failed", "cancelled"];
        let parts = self.0.iter().zip(words).filter(|(count, _)| **count > 0).collect::<Vec<_>>();
        let steps = plural(self.total() as u64, "step");
        let line = match &parts[..] {
            [(_, word)] => format!("{steps} {word}"),
            _ => {
                let parts = parts.iter().map(|(count, word)| format!("{count} {word}"));
                format!("{steps}: {}", parts.collect::<Vec<_>>().join(", "))
            }
        };
        look.paint(Paint::Faint, &look.cut(&format!("{} {line}", look.ellipsis()), look.width))
    }
}

/// What a run has come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub(super) counts: Counts,
    pub(super) milliseconds: u64,
    pub(super) model_calls: u64,
    pub(super) input: u64,
    pub(super) output: u64,
}

impl Totals {
    /// Those of a run that has ended or stands still.
    pub fn of(state: &RunState) -> Self {
        Self {
            counts: Counts::of(state.steps.iter().map(|step| step.status)),
            milliseconds: state.active_at(state.last_at),
            model_calls: state.model_calls,
            input: state.usage.input,
            output: state.usage.output,
        }
    }

    /// On one line, however long, with what else there is to say: how a run ends.
    pub fn line(&self, more: Option<&str>, look: Look) -> String {
        let more = more.map(|more| format!("; {more}")).unwrap_or_default();
        look.paint(Paint::Faint, &format!("{}{more}", self.parts().join(", ")))
    }

    /// On as many lines as it needs at a width.
    pub(super) fn wrapped(&self, look: Look) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for part in self.parts() {
            match lines.last_mut() {
                // A comma follows all but the last, so there has to be room for it too.
                Some(line) if line.len() + part.len() + 3 <= look.width => {
                    line.push_str(", ");
                    line.push_str(&part);
                }
                Some(line) => {
                    line.push(',');
                    lines.push(part);
                }
                None => lines.push(part),
            }
        }
        lines.iter().map(|line| look.paint(Paint::Faint, &look.cut(line, look.width))).collect()
    }

    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.counts.total() > 0 {
            parts.push(format!("{} of {} steps done", self.counts.get(Status::Done), self.counts.total()));
        }
        for (status, word) in [(Status::Failed, "failed"), (Status::Cancelled, "cancelled")] {
            if self.counts.get(status) > 0 {
                parts.push(format!("{} {word}", self.counts.get(status)));
            }
        }
        parts.push(duration(self.milliseconds));
        parts.push(plural(self.model_calls, "model call"));
        let tokens = self.input + self.output;
        if tokens > 0 {
            parts.push(format!("{tokens} tokens ({} in, {} out)", self.input, self.output));
        }
        parts
    }
}

fn index(status: Status) -> usize {
    match status {
        Status::Pending => 0,
        Status::InProgress => 1,
        Status::Done => 2,
        Status::Failed => 3,
        Status::Cancelled => 4,
    }
}
