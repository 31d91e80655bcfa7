//! The list of steps, as lines: what is planned, what runs, what came of it.
//!
//! Main type: [`StepList`]. Fed with events, it keeps one row a step, so that drawing costs no more
//! than what is seen. A pure function of rows, time and look; knows no terminal and no clock.

use super::heard::Heard;
use super::look::{Look, Paint};
use super::totals::{Counts, Totals};
use super::value::brief;
use super::window::{Line, window};
use crate::event::{Event, Fact, Progress};
use crate::run::{RunState, Status, StepState};

/// More of a result than this is never shown on a line, however wide.
const LONGEST_RESULT: usize = 1024;

/// The steps of a run as they stand.
#[derive(Clone, Debug, Default)]
pub struct StepList {
    rows: Vec<Row>,
    totals: Totals,
    /// When the totals were true; while a run goes on its time does too.
    as_of: u64,
    ended: bool,
    planning: bool,
    /// The text of a plan while it comes.
    heard: Heard,
}

/// One step.
#[derive(Clone, Debug)]
struct Row {
    /// `Step 1: description`.
    label: String,
    status: Status,
    /// The result, why it failed or was cancelled; while it runs, its last line of output.
    outcome: String,
    attempt: u32,
    started_at: Option<u64>,
    /// The text of a model while it comes.
    heard: Heard,
}

impl StepList {
    /// Takes in what an event changed.
    pub fn event(&mut self, event: &Event, state: &RunState) {
        self.as_of = event.at;
        self.totals.milliseconds = state.active_at(event.at);
        self.totals.model_calls = state.model_calls;
        self.totals.input = state.usage.input;
        self.totals.output = state.usage.output;
        match &event.fact {
            // The state may be that after later events of the same turn: a plan's steps all begin here.
            Fact::PlanReady { .. } => {
                let pending =
                    |step| Row { status: Status::Pending, outcome: String::new(), ..Row::new(step) };
                self.begin(state.steps.iter().map(pending).collect());
            }
            // What happened before is known from the state alone.
            Fact::RunResumed { .. } | Fact::StepsReset { .. } | Fact::PlanRevised { .. } => {
                self.begin(state.steps.iter().map(Row::new).collect());
            }
            Fact::ModelAsked { step: None, .. } => {
                self.planning = true;
                self.heard.clear();
            }
            Fact::RunFinished { .. } => {
                self.planning = false;
                self.ended = true;
            }
            fact => {
                let position = fact.step().and_then(|step| state.position(step));
                if let Some((row, step)) =
                    position.and_then(|at| Some((self.rows.get_mut(at)?, state.steps.get(at)?)))
                {
                    let before = row.status;
                    row.take(fact, event.at, step);
                    self.totals.counts.moved(before, row.status);
                }
            }
        }
    }

    fn begin(&mut self, rows: Vec<Row>) {
        self.planning = false;
        self.heard.clear();
        self.ended = false;
        self.totals.counts = Counts::of(rows.iter().map(|row| row.status));
        self.rows = rows;
    }

    /// Takes in something passing: the last line of a running step's output is shown beside it, and the
    /// text of the only one that asks a model below the list.
    pub fn progress(&mut self, progress: &Progress, position: impl Fn(&crate::id::StepId) -> Option<usize>) {
        let (step, text) = match progress {
            Progress::ToolOutput { step, text } => (step, text),
            Progress::ModelText { step: Some(step), text } => (step, text),
            Progress::ModelText { step: None, text } => return self.heard.take(text),
            Progress::Stopping { .. } => return,
        };
        let row = position(step).and_then(|at| self.rows.get_mut(at));
        let Some(row) = row.filter(|row| row.status == Status::InProgress) else { return };
        if matches!(progress, Progress::ModelText { .. }) {
            row.heard.take(text);
            row.outcome = row.heard.last_line().chars().take(LONGEST_RESULT).collect();
        } else if let Some(line) = text.rsplit(['\n', '\r']).find(|line| !line.trim().is_empty()) {
            // Programs go back to the start of a line to write it anew, and colour what they write.
            row.outcome = console::strip_ansi_codes(line).chars().take(LONGEST_RESULT).collect();
        }
    }

    /// The text that comes, if it is one alone.
    fn heard(&self) -> Option<&Heard> {
        if self.planning && self.rows.is_empty() {
            return Some(&self.heard);
        }
        let mut texts = self.rows.iter().filter(|row| row.is_heard());
        texts.next().filter(|_| texts.next().is_none()).map(|row| &row.heard)
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no steps yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What fits on a screen: the steps around those that run, what is left out in a line each, and the
    /// totals. `now` is in milliseconds since the Unix epoch.
    pub fn screen(&self, now: u64, look: Look) -> Vec<String> {
        let mut totals = self.totals(now).wrapped(look);
        totals.truncate(look.height.saturating_sub(2).max(1));
        // A text has up to a third of the screen; one line is left for the cursor below the list.
        let heard = self.heard().map(|heard| heard.lines(look, look.height / 3)).unwrap_or_default();
        let room = look.height.saturating_sub(totals.len() + 1 + heard.len()).max(1);
        // What is below the list is not said beside the step as well.
        let line = |row: &Row| {
            let outcome = if !heard.is_empty() && row.is_heard() { "" } else { &row.outcome };
            row.line(outcome, now, look)
        };
        let mut lines = self.lines(look, room, line);
        if self.planning && self.rows.is_empty() {
            lines.push(look.cut(&format!("{} planning", look.mark(Status::InProgress)), look.width));
        }
        lines.extend(heard);
        lines.extend(totals);
        lines
    }

    /// At most so many lines of steps: those that run, and what is near them.
    pub fn window(&self, now: u64, look: Look, room: usize) -> Vec<String> {
        self.lines(look, room, |row| row.line(&row.outcome, now, look))
    }

    /// Every step, a line each.
    pub fn steps(&self, now: u64, look: Look) -> Vec<String> {
        self.rows.iter().map(|row| row.line(&row.outcome, now, look)).collect()
    }

    /// One step's line.
    pub fn line(&self, position: usize, now: u64, look: Look) -> Option<String> {
        let row = self.rows.get(position)?;
        Some(row.line(&row.outcome, now, look))
    }

    /// What the run has come to.
    pub fn totals(&self, now: u64) -> Totals {
        let since = if self.ended { 0 } else { now.saturating_sub(self.as_of) };
        Totals { milliseconds: self.totals.milliseconds + since, ..self.totals }
    }

    fn lines(&self, look: Look, room: usize, line: impl Fn(&Row) -> String) -> Vec<String> {
        let line = |shown: Line| match shown {
            Line::Step(at) => line(&self.rows[at]),
            Line::Gap(gap) => Counts::of(self.rows[gap].iter().map(|row| row.status)).line(look),
        };
        window(self.rows.len(), |at| self.rows[at].status, room).into_iter().map(line).collect()
    }
}

impl Row {
    fn new(step: &StepState) -> Self {
        let outcome = match step.status {
            Status::Done => Self::shown(step),
            Status::Failed => step.failure.as_ref().map(ToString::to_string).unwrap_or_default(),
            Status::Cancelled => step.cancelled.as_ref().map(ToString::to_string).unwrap_or_default(),
            Status::Pending | Status::InProgress => String::new(),
        };
        Self {
            label: format!("Step {}: {}", step.id, first_line(&step.title)),
            status: step.status,
            outcome,
            attempt: step.attempt,
            started_at: step.started_at,
            heard: Heard::default(),
        }
    }

    /// Whether its text comes just now.
    fn is_heard(&self) -> bool {
        self.status == Status::InProgress && !self.heard.last_line().is_empty()
    }

    /// The result of a step, as far as a line can hold it.
    fn shown(step: &StepState) -> String {
        let brief = step.result.as_deref().map(|result| brief(result, LONGEST_RESULT));
        brief.map(|(text, whole)| if whole { text } else { text + "…" }).unwrap_or_default()
    }

    /// The status comes from the fact, not from the state: events are stored several at a time, and the
    /// state is that after the last of them.
    fn take(&mut self, fact: &Fact, at: u64, step: &StepState) {
        match fact {
            Fact::StepStarted { attempt, .. } => {
                self.status = Status::InProgress;
                self.attempt = *attempt;
                self.started_at = Some(at);
                self.outcome.clear();
                self.heard.clear();
            }
            // What was heard before was no answer, or is one already.
            Fact::ModelAsked { .. } => {
                self.heard.clear();
                self.outcome.clear();
            }
            Fact::StepSucceeded { .. } => {
                self.status = Status::Done;
                self.outcome = Self::shown(step);
                self.heard = Heard::default();
            }
            Fact::StepFailed { failure, .. } => {
                self.status = Status::Failed;
                self.heard = Heard::default();
                self.outcome.clone_from(&failure.message);
            }
            Fact::RetryScheduled { attempt, delay_ms, .. } => {
                let delay = duration(*delay_ms);
                self.outcome = format!("{}; attempt {attempt} in {delay}", self.outcome);
            }
            Fact::StepCancelled { reason, .. } => {
                self.status = Status::Cancelled;
                self.outcome = reason.to_string();
            }
            _ => {}
        }
    }

    fn line(&self, outcome: &str, now: u64, look: Look) -> String {
        let mark = look.mark(self.status);
        let room = look.width.saturating_sub(console::measure_text_width(mark) + 1);
        let label = look.shown(&self.label);
        let note = self.note(now);
        let outcome = look.shown(outcome);
        let rest = match (self.status, outcome.is_empty()) {
            (Status::InProgress, true) | (_, true) => String::new(),
            (Status::InProgress, false) => outcome.into_owned(),
            (_, false) => format!("{} {outcome}", look.arrow()),
        };
        let rest = [note, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        if rest.is_empty() {
            return format!("{mark} {}", self.painted(&look.cut(&label, room), look));
        }
        // The description gives way to the result, but keeps half of the line.
        let wanted = console::measure_text_width(&rest) + 2;
        let label = look.cut(&label, room.saturating_sub(wanted).max(room / 2));
        let left = room.saturating_sub(console::measure_text_width(&label) + 2);
        let rest = look.cut(&rest, left);
        let rest = match self.status {
            Status::Failed => look.paint(Paint::Error, &rest),
            Status::InProgress | Status::Cancelled => look.paint(Paint::Faint, &rest),
            Status::Pending | Status::Done => rest,
        };
        format!("{mark} {}  {rest}", self.painted(&label, look))
    }

    fn painted(&self, label: &str, look: Look) -> String {
        match self.status {
            Status::InProgress => look.paint(Paint::Strong, label),
            Status::Cancelled => look.paint(Paint::Faint, label),
            Status::Pending | Status::Done | Status::Failed => label.to_owned(),
        }
    }

    /// For how long it has been running, and the attempt if it is not the first.
    fn note(&self, now: u64) -> String {
        if self.status != Status::InProgress {
            return String::new();
        }
        let running = now.saturating_sub(self.started_at.unwrap_or(now));
        let mut parts = Vec::new();
        if self.attempt > 1 {
            parts.push(format!("attempt {}", self.attempt));
        }
        if running >= 1000 {
            parts.push(duration(running / 1000 * 1000));
        }
        if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) }
    }
}

/// A duration for people: `40 ms`, `0.3 s`, `12 s`, `3 min 05 s`, `2 h 05 min`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 if milliseconds < 100 => format!("{milliseconds} ms"),
        0..10 if milliseconds.is_multiple_of(1000) => format!("{seconds} s"),
        0..10 => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// `1 step`, `2 steps`.
pub fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

#[cfg(test)]
#[path = "list_tests.rs"]
pub(super) mod tests;

#[cfg(test)]
#[path = "screens_tests.rs"]
mod screens;
