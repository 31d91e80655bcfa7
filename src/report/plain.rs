//! A run as lines of text, one an event: for logs, pipes and continuous integration.
//!
//! Main type: [`Plain`]. What a line says is decided by [`StepList`]; what a run comes to is said by
//! whoever carried it out. Knows no terminal.

use std::io::Write;

use super::list::{StepList, duration};
use super::look::{Look, Paint};
use super::value::brief;
use super::verbose::{detail, output};
use crate::event::{Change, Event, Fact, Outcome, Progress};
use crate::run::{Observer, RunState, Status};

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Only why a run did not succeed.
    Errors,
    /// A line for each event worth one.
    Events,
    /// Also what models are asked and answer, and what tools are given, print and return.
    Everything,
}

/// Writes lines about a run.
pub struct Plain<W> {
    out: W,
    look: Look,
    list: StepList,
    voice: Voice,
}

impl<W: Write + Send> Plain<W> {
    /// Writes to `out`. Lines are as long as they need to be: only results are cut.
    pub fn new(out: W, look: Look, voice: Voice) -> Self {
        let look = Look { width: look.width.max(200), ..look };
        Self { out, look, list: StepList::default(), voice }
    }

    fn write(&mut self, lines: &[String]) {
        // Nobody reads any more: the run goes on, its result is on another stream.
        let _ =
            lines.iter().try_for_each(|line| writeln!(self.out, "{line}")).and_then(|()| self.out.flush());
    }
}

impl<W: Write + Send> Observer for Plain<W> {
    fn event(&mut self, event: &Event, state: &RunState) {
        let lines = match (self.voice, &event.fact) {
            (Voice::Errors, Fact::RunFinished { outcome }) => ending(outcome, state, self.look),
            (Voice::Errors, _) => Vec::new(),
            (Voice::Events, _) => {
                self.list.event(event, state);
                lines(event, state, &self.list, self.look)
            }
            (Voice::Everything, _) => {
                self.list.event(event, state);
                let told = lines(event, state, &self.list, self.look);
                detail(event, told, self.look)
            }
        };
        if !lines.is_empty() {
            self.write(&lines);
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let mut lines = Vec::new();
        if self.voice == Voice::Everything {
            lines = output(progress, self.look);
        }
        if self.voice != Voice::Errors {
            lines.extend(passing(progress));
        }
        if !lines.is_empty() {
            self.write(&lines);
        }
    }
}

/// What passes by and is worth a line: that the run is to end, and may take a while to.
pub fn passing(progress: &Progress) -> Option<String> {
    match progress {
        Progress::Stopping { signal } => Some(format!(
            "{signal}: what is under way is asked to end and has 10 s; a second signal waits for nothing"
        )),
        Progress::ToolOutput { .. } | Progress::ModelText { .. } => None,
    }
}

/// What an event has to say, after the state and the list have taken it in.
pub fn lines(event: &Event, state: &RunState, list: &StepList, look: Look) -> Vec<String> {
    let step_line = || {
        let position = event.fact.step().and_then(|step| state.position(step));
        position.and_then(|at| list.line(at, event.at, look)).into_iter().collect::<Vec<_>>()
    };
    match &event.fact {
        Fact::RunStarted(started) => {
            let line = format!("run {}: {}", started.run, look.shown(&started.workflow));
            vec![look.paint(Paint::Faint, &line)]
        }
        Fact::RunResumed { raised } => {
            let run = state.run.as_ref().map(ToString::to_string).unwrap_or_default();
            let raised = raised.iter().map(|(limit, to)| format!("; {} is now {to}", look.shown(limit)));
            let line = format!("run {run} goes on{}", raised.collect::<String>());
            let mut lines = vec![look.paint(Paint::Faint, &line)];
            lines.extend(list.steps(event.at, look));
            lines
        }
        Fact::StepsReset { steps, .. } => {
            let ids = steps.iter().map(|step| look.shown(step.as_str()).into_owned());
            vec![format!("   runs again: {}", ids.collect::<Vec<_>>().join(", "))]
        }
        Fact::PlanReady { repairs, .. } => {
            let repaired = repairs.iter().map(|repair| format!("repaired the reply: {}", look.shown(repair)));
            let mut lines = repaired.collect::<Vec<_>>();
            lines.extend(list.steps(event.at, look));
            lines
        }
        Fact::ModelAsked { step: None, model, .. } => {
            let what = if state.steps.is_empty() { "for a plan" } else { "how the plan goes on" };
            vec![format!("asking {} {what}", look.shown(model.as_str()))]
        }
        Fact::PlanRevised { step, reason, change, repairs } => {
            let repaired = repairs.iter().map(|repair| format!("repaired the reply: {}", look.shown(repair)));
            let mut lines = repaired.collect::<Vec<_>>();
            let what = format!("the plan after step {}: {}", look.shown(step.as_str()), change.name());
            lines.push(format!("{what} ({})", look.shown(reason)));
            if matches!(change, Change::Replace { .. } | Change::Reorder { .. }) {
                lines.extend(list.steps(event.at, look));
            }
            lines
        }
        Fact::StepStarted { .. }
        | Fact::StepSucceeded { .. }
        | Fact::StepCancelled { .. }
        | Fact::StepFailed { .. } => step_line(),
        Fact::ModelAsked { step: Some(step), model, .. } => {
            vec![format!("   Step {} asks {}", look.shown(step.as_str()), look.shown(model.as_str()))]
        }
        Fact::ToolCalled { step, tool, args } => {
            let (args, whole) = brief(&serde_json::Value::Object(args.clone()), 160);
            let end = if whole { "" } else { look.ellipsis() };
            let call = format!("{} {args}", tool.as_str());
            vec![format!("   Step {} calls {}{end}", look.shown(step.as_str()), look.shown(&call))]
        }
        Fact::RetryScheduled { step, attempt, delay_ms } => {
            let delay = duration(*delay_ms);
            vec![format!(
                "   Step {} is tried again in {delay}, attempt {attempt}",
                look.shown(step.as_str())
            )]
        }
        Fact::AttemptInterrupted { step, attempt } => {
            vec![format!("   Step {}: attempt {attempt} was interrupted", look.shown(step.as_str()))]
        }
        Fact::BudgetReached { limit, allowed } => {
            vec![format!("limit reached: {} of {allowed}", look.shown(limit))]
        }
        Fact::RunFinished { outcome } => ending(outcome, state, look),
        Fact::ModelAnswered { .. } | Fact::ToolReturned { .. } => Vec::new(),
    }
}

/// How a run that did not succeed ended: which step, why, and what was cancelled for it.
pub fn ending(outcome: &Outcome, state: &RunState, look: Look) -> Vec<String> {
    match outcome {
        Outcome::Succeeded { .. } => Vec::new(),
        // There was no plan: the command says why, with the diagnostics.
        Outcome::Failed { step: None, .. } => Vec::new(),
        Outcome::Failed { failure, .. } => {
            let failed = state.steps.iter().filter(|step| step.status == Status::Failed);
            let mut lines = failed
                .map(|step| {
                    let why =
                        step.failure.as_ref().map_or(failure.message.as_str(), |it| it.message.as_str());
                    let attempts = if step.attempt > 1 {
                        format!(" after {} attempts", step.attempt)
                    } else {
                        String::new()
                    };
                    let what = format!("step {} failed{attempts}", look.shown(step.id.as_str()));
                    format!("{}: {}", look.paint(Paint::Error, &what), look.shown(why))
                })
                .collect::<Vec<_>>();
            lines.extend(cancelled(state, look));
            lines
        }
        Outcome::Stopped { reason } => {
            let mut lines = vec![format!("the run was stopped: {}", look.shown(reason))];
            lines.extend(cancelled(state, look));
            lines
        }
        Outcome::Interrupted { signal } => vec![format!("the run was interrupted by {}", look.shown(signal))],
    }
}

fn cancelled(state: &RunState, look: Look) -> Option<String> {
    let steps = state.steps.iter().filter(|step| {
        step.status == Status::Cancelled && step.cancelled.as_ref().is_none_or(|reason| !reason.is_benign())
    });
    let ids = steps.map(|step| look.shown(step.id.as_str()).into_owned()).collect::<Vec<_>>();
    let named = ids.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
    match ids.len() {
        0 => None,
        1 => Some(format!("cancelled because of it: step {named}")),
        count if count > 20 => {
            Some(format!("cancelled because of it: steps {named} and {} more", count - 20))
        }
        _ => Some(format!("cancelled because of it: steps {named}")),
    }
}
