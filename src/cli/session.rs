//! A run carried out by this process: shown while it goes, its result printed, its end an exit code.
//!
//! Main type: [`Session`], new or resumed. The executor decides everything in between; signals are handed on
//! to it. Does not know how the run was set up.

use std::io;

use super::args::{ShowArgs, VoiceArgs};
use super::outcome::{exit, print_json, print_result};
use super::plan::{exit_of, refused};
use super::review::Person;
use super::signals::{block_on, watch};
use super::{Exit, Streams, Trouble};
use crate::event::{Event, Progress};
use crate::executor::{ExecuteError, Setup, execute};
use crate::id::{RunId, StepId, ToolName};
use crate::journal::Journal;
use crate::llm::ModelErrorKind;
use crate::planner::PlanError;
use crate::report::live::Pause;
use crate::report::{EventLines, Live, Plain, Totals, Voice};
use crate::run::{Observer, RunState};

/// A run and how it is shown.
pub struct Session<'a> {
    pub setup: Setup,
    pub journal: Box<dyn Journal>,
    /// Whether there is a record that the run can go on from.
    pub recorded: bool,
    pub show: &'a ShowArgs,
    pub voice: VoiceArgs,
    /// Whether a model's plan may run without a question.
    pub yes: bool,
}

impl Session<'_> {
    /// Carries the run out and prints its result.
    pub fn carry_out(self, streams: &mut Streams) -> Result<Exit, Trouble> {
        let Self { setup, mut journal, recorded, show, voice, yes } = self;
        let run = setup.run.clone();
        let stop = setup.stop.clone();
        let (mut observer, pause) = observer(show, voice, streams);
        let mut person = Person::new(streams, &setup.catalog, yes, pause);
        let ended = block_on(async {
            tokio::select! {
                ended = execute(setup, journal.as_mut(), observer.as_mut(), &mut person) => Ok(ended),
                signal = watch(stop) => Err(signal),
            }
        })?;
        // The list stays as it is from here on; what follows is written below it.
        drop(observer);
        // Nothing is written any more: the record is closed before anybody is told to go on with it.
        drop(journal);
        let mut totals = None;
        let ended = match ended {
            Ok(Ok(state)) => {
                totals = Some(Totals::of(&state));
                finish(show, &state, streams)
            }
            Ok(Err(ExecuteError::Undecided(steps))) => {
                return Err(undecided(&run, &steps));
            }
            Ok(Err(error)) => not_run(error, recorded, streams),
            // Whoever asks twice does not want to wait for tools to end in good order.
            Err(signal) => Ok(exit_of(signal)),
        };
        let code = match &ended {
            Ok(exit) | Err(Trouble::Said(exit, _) | Trouble::Shown(exit)) => Some(*exit),
            Err(Trouble::Closed) => None,
        };
        let record = match code.filter(|_| recorded) {
            Some(Exit::Success) => Some(format!("record: wf show {run}")),
            Some(Exit::Usage) | None => None,
            Some(_) => Some(format!("to go on: wf resume {run}")),
        };
        match (totals, record) {
            (Some(totals), record) => streams.remark(&totals.line(record.as_deref(), streams.look_err())),
            (None, Some(record)) => streams.remark(&record),
            (None, None) => {}
        }
        ended
    }
}

fn finish(show: &ShowArgs, state: &RunState, streams: &mut Streams) -> Result<Exit, Trouble> {
    let printed = match (show.events, show.json) {
        (true, _) => Ok(()),
        (false, true) => print_json(state, streams),
        (false, false) => print_result(state, streams),
    };
    let exit = exit(state);
    match printed {
        // Nobody wants the result; how the run ended is still true.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(exit),
    }
}

fn not_run(error: ExecuteError, recorded: bool, streams: &mut Streams) -> Result<Exit, Trouble> {
    Err(match error {
        ExecuteError::Plan(PlanError::Model(error)) if error.kind != ModelErrorKind::Unable => {
            Trouble::unable(error.to_string())
        }
        ExecuteError::Plan(error) => refused(error, streams),
        ExecuteError::Interrupted(signal) => return Ok(exit_of(signal)),
        // The reporter has said so.
        ExecuteError::OutOfTime(_) => return Ok(Exit::Stopped),
        ExecuteError::NoTask => Trouble::usage(error.to_string()),
        ExecuteError::Task(_) | ExecuteError::Revision(_) => Trouble::Said(Exit::Invalid, error.to_string()),
        ExecuteError::Declined | ExecuteError::Undecided(_) => {
            Trouble::Said(Exit::Stopped, error.to_string())
        }
        ExecuteError::Unanswerable if recorded => {
            Trouble::Said(Exit::Stopped, format!("{error}; go on on a terminal, or allow it with --yes"))
        }
        ExecuteError::Unanswerable => {
            Trouble::usage(format!("{error}; run it on a terminal, or allow it with --yes"))
        }
        ExecuteError::Record(error) => Trouble::unable(error.to_string()),
    })
}

/// What a person has to say before the run goes on, with the words to say it.
fn undecided(run: &RunId, steps: &[(StepId, ToolName)]) -> Trouble {
    let mut lines = Vec::new();
    for (step, tool) in steps {
        lines.push(format!(
            "step {step} was calling `{tool}` when the run was interrupted; nobody knows whether it was \
             carried out, and it must not be repeated unasked. Find out, then say one of"
        ));
        lines.push(format!("  wf resume {run} --done {step}=JSON   it was carried out, with this result"));
        lines.push(format!("  wf resume {run} --rerun {step}       call it again"));
        lines.push(format!("  wf resume {run} --fail {step}        it was not, and the step has failed"));
    }
    Trouble::Said(Exit::Stopped, lines.join("\n"))
}

/// Whoever shows the run: JSON lines on stdout, the live list on a terminal, lines otherwise.
fn observer(show: &ShowArgs, voice: VoiceArgs, streams: &Streams) -> (Box<dyn Observer>, Option<Pause>) {
    let look = streams.look_err();
    let plain = |voice| -> Box<dyn Observer> { Box::new(Plain::new(streams.stderr.clone(), look, voice)) };
    let shown: (Box<dyn Observer>, _) = match (voice.quiet, voice.verbose) {
        (true, _) => (plain(Voice::Errors), None),
        // Between so many lines a list redrawn in place would be in the way.
        (false, true) => (plain(Voice::Everything), None),
        (false, false) if streams.terminals.stderr && can_redraw(streams) => {
            let live = Live::new(Box::new(streams.stderr.clone()), look, streams.size);
            let pause = live.pause();
            (Box::new(live), Some(pause))
        }
        (false, false) => (plain(Voice::Events), None),
    };
    // On one terminal the lines would be drawn over.
    let lines = EventLines::new(streams.stdout.clone());
    match (show.events, streams.terminals.stdout) {
        (false, _) => shown,
        (true, true) => (Box::new(lines), None),
        (true, false) => (Box::new(Both(Box::new(lines), shown.0)), shown.1),
    }
}

/// Whether a list can be redrawn in place: not on a dumb terminal, and not where a terminal is only the
/// log of a build (`CI`, set by every service that builds).
fn can_redraw(streams: &Streams) -> bool {
    let set = |name: &str| (streams.variable)(name).filter(|value| !value.is_empty());
    set("TERM").is_some_and(|term| term != "dumb") && set("CI").is_none_or(|value| value == "false")
}

/// Two observers of one run.
struct Both(Box<dyn Observer>, Box<dyn Observer>);

impl Observer for Both {
    fn event(&mut self, event: &Event, state: &RunState) {
        self.0.event(event, state);
        self.1.event(event, state);
    }

    fn progress(&mut self, progress: &Progress) {
        self.0.progress(progress);
        self.1.progress(progress);
    }
}
