//! The loop: ready, start, outcome, record.
//!
//! Main type: [`Engine`]. One turn takes in what ended, starts what became ready, stores all of it as
//! one commit, and only then lets anything act. Decides on retries and budgets; does no step itself.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use tokio::time::Instant;

use super::limits::Limits;
use super::outbox::Outbox;
use super::recorder::Recorder;
use super::resume::Resume;
use super::stop::{Signal, Stop};
use crate::event::{CancelReason, Fact, Failure, FailureKind, Progress, RecordError, Sink};
use crate::run::retry::Policy;
use crate::run::{Blocked, End, Frontier, RunState, Status, View};
use crate::spec::Effect;
use crate::step::{Means, Trouble, Work};
use crate::workflow::{Action, Plan, Workflow};

/// How long what is under way may take to end in good order: a little more than the tools take.
const PATIENCE: Duration = Duration::from_secs(11);

/// What happened while the loop waited.
enum Ended {
    /// An attempt is over.
    Attempt { position: usize, result: Result<Option<Value>, Trouble> },
    /// The delay before a step's next attempt is over.
    Due { position: usize },
}

/// Why no further step is started.
pub(super) enum Halt {
    /// The plan is to be revised after the step at this position.
    Revise {
        position: usize,
    },
    Budget {
        limit: &'static str,
        allowed: u64,
    },
    /// What is under way is waited for until then.
    Signal {
        signal: Signal,
        until: Instant,
    },
}

/// One run of a plan.
pub(super) struct Engine<'a> {
    pub(super) workflow: &'a Workflow,
    pub(super) plan: &'a Plan,
    pub(super) task: Option<&'a str>,
    pub(super) means: &'a Means,
    pub(super) jobs: usize,
    pub(super) stop: &'a Stop,
    pub(super) limits: Limits,
    /// How the run goes on, where it is not a new one.
    pub(super) resume: Option<&'a Resume>,
    /// Whether delays before a next attempt are left out.
    pub(super) instant: bool,
    /// Whether the plan was revised in this part of the run: it is taken up where it stands.
    pub(super) revised: bool,
    /// Why the plan cannot be revised any more, where that was tried.
    pub(super) unrevised: Option<&'a str>,
}

/// The moving parts of a run.
pub(super) struct Turning<'a, 'b, 'r> {
    pub(super) engine: &'a Engine<'a>,
    outbox: &'a Outbox,
    pub(super) recorder: &'b mut Recorder<'r>,
    pub(super) frontier: Frontier<'a>,
    running: FuturesUnordered<Pin<Box<dyn Future<Output = Ended> + 'a>>>,
    /// Attempts under way.
    active: usize,
    pub(super) halt: Option<Halt>,
}

impl<'a> Engine<'a> {
    /// Runs the plan to its end and records the outcome, or to where it is to be revised: after the step
    /// at the position that is returned.
    ///
    /// # Errors
    /// If an event could not be stored; nothing further was done then.
    pub(super) async fn run(
        &'a self,
        outbox: &'a Outbox,
        recorder: &mut Recorder<'_>,
    ) -> Result<Option<usize>, RecordError> {
        let mut turning = Turning {
            engine: self,
            outbox,
            recorder,
            frontier: Frontier::new(&self.plan.graph),
            running: FuturesUnordered::new(),
            active: 0,
            halt: None,
        };
        match self.resume {
            Some(resume) => turning.take_up(resume),
            None if self.revised => turning.stand(),
            None => {}
        }
        while turning.turn().await? {}
        if let Some(Halt::Revise { position }) = turning.halt {
            turning.halt = None;
            turning.check_limits();
            if turning.halt.is_none() {
                return Ok(Some(position));
            }
        }
        let outcome = turning.outcome();
        // What is under way is ended before the record says that the run is over.
        drop(turning.running);
        recorder.push(Fact::RunFinished { outcome });
        recorder.commit(outbox)?;
        Ok(None)
    }

    pub(super) fn view<'v>(&'v self, state: &'v RunState) -> View<'v> {
        View { workflow: self.workflow, plan: self.plan, task: self.task, state }
    }

    /// How often and when a step is tried again after this failure.
    fn policy(&self, position: usize, failure: &Failure) -> Policy {
        let step = &self.plan.steps[position];
        let by_kind = match (failure.kind, &step.action) {
            (FailureKind::Provider, _) | (_, Action::Reasoning { .. } | Action::Aggregate { .. }) => {
                Policy::PROVIDER.max_attempts
            }
            (_, Action::ToolCall { tool, .. }) => match self.means.catalog.get(tool) {
                Some(entry) if entry.tool.spec().effect == Effect::Once => 1,
                _ => 3,
            },
        };
        let policy = Policy {
            max_attempts: step.retry.max_attempts.unwrap_or(by_kind),
            delay: step.retry.delay.unwrap_or(Policy::PROVIDER.delay),
            max_delay: step.retry.max_delay.unwrap_or(Policy::PROVIDER.max_delay),
            ..Policy::PROVIDER
        };
        if self.instant { policy.instant() } else { policy }
    }
}

impl<'a> Turning<'a, '_, '_> {
    /// One turn. Tells whether there is more to do.
    async fn turn(&mut self) -> Result<bool, RecordError> {
        loop {
            self.check_limits();
            self.cancel_stuck();
            self.start_ready();
            match self.poll_running() {
                Some(ended) => self.take(ended)?,
                None => break,
            }
        }
        let waited = self.recorder.commit(self.outbox)?;
        if self.is_over() {
            return Ok(false);
        }
        // Signals and the clock are only seen by the runtime when the loop lets go of it.
        tokio::task::yield_now().await;
        if !waited {
            self.wait().await?;
        }
        Ok(true)
    }

    /// The next thing that ended, without waiting for one.
    fn poll_running(&mut self) -> Option<Ended> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match self.running.poll_next_unpin(&mut context) {
            Poll::Ready(ended) => ended,
            Poll::Pending => None,
        }
    }

    /// Waits until something ends, is reported, or is to stop.
    async fn wait(&mut self) -> Result<(), RecordError> {
        let (interrupted, moment) = match self.halt {
            None | Some(Halt::Revise { .. }) => {
                (false, self.engine.limits.deadline.map(|(deadline, _)| deadline))
            }
            Some(Halt::Signal { until, .. }) => (true, Some(until)),
            Some(Halt::Budget { .. }) => (false, None),
        };
        let ended = tokio::select! {
            biased;
            signal = self.engine.stop.requested(), if !interrupted => {
                self.interrupt(signal);
                None
            }
            () = until(moment) => None,
            Some(ended) = self.running.next() => Some(ended),
            () = self.outbox.filled() => None,
        };
        ended.map_or(Ok(()), |ended| self.take(ended))
    }

    fn is_over(&self) -> bool {
        match self.halt {
            None => self.frontier.is_done(),
            Some(Halt::Budget { limit: "timeout", .. }) => true,
            Some(Halt::Signal { until, .. }) => self.active == 0 || Instant::now() >= until,
            // What is under way is let end: its result is paid for.
            Some(Halt::Budget { .. } | Halt::Revise { .. }) => self.active == 0,
        }
    }

    fn check_limits(&mut self) {
        if !matches!(self.halt, None | Some(Halt::Revise { .. })) {
            return;
        }
        let limits = &self.engine.limits;
        let state = self.recorder.state();
        let tokens = state.usage.input + state.usage.output;
        if let Some(signal) = self.engine.stop.is_requested() {
            self.interrupt(signal);
        } else if let Some((deadline, allowed)) = limits.deadline
            && Instant::now() >= deadline
        {
            self.reach("timeout", u64::try_from(allowed.as_millis()).unwrap_or(u64::MAX));
        } else if let Some(allowed) = limits.max_tokens
            && tokens >= allowed
            && !self.frontier.is_done()
        {
            self.reach("max_tokens", allowed);
        }
    }

    fn reach(&mut self, limit: &'static str, allowed: u64) {
        self.recorder.push(Fact::BudgetReached { limit: limit.to_owned(), allowed });
        self.halt = Some(Halt::Budget { limit, allowed });
    }

    /// Nothing more is started, and what is under way is asked to end.
    fn interrupt(&mut self, signal: Signal) {
        self.engine.means.stop.cancel();
        if self.active > 0 {
            self.outbox.progress(Progress::Stopping { signal: signal.as_str() });
        }
        self.halt = Some(Halt::Signal { signal, until: Instant::now() + PATIENCE });
    }

    fn cancel_stuck(&mut self) {
        loop {
            let mut stuck = self.frontier.take_stuck();
            if stuck.is_empty() {
                return;
            }
            stuck.sort_unstable_by_key(|(position, _)| *position);
            for (position, blocked) in stuck {
                let id = |at: usize| self.engine.plan.steps[at].id.clone();
                let (reason, end) = match blocked {
                    Blocked::ReadsSkipped(at) => (CancelReason::InputCancelled(id(at)), End::Skipped),
                    Blocked::AfterFailed(at) => (CancelReason::DependencyFailed(self.cause(at)), End::Failed),
                };
                self.recorder.push(Fact::StepCancelled { step: id(position), reason });
                self.frontier.end(position, end);
            }
        }
    }

    /// The step that failed, where one was cancelled because of it.
    fn cause(&self, position: usize) -> crate::id::StepId {
        match &self.recorder.state().steps[position].cancelled {
            Some(CancelReason::DependencyFailed(step)) => step.clone(),
            _ => self.engine.plan.steps[position].id.clone(),
        }
    }

    fn start_ready(&mut self) {
        while self.halt.is_none() && self.active < self.engine.jobs {
            let Some(position) = self.frontier.next_ready() else { return };
            match self.engine.limits.max_steps {
                Some(allowed)
                    if self.recorder.state().attempts >= allowed && !self.is_under_way(position) =>
                {
                    self.reach("max_steps", allowed);
                }
                _ => self.start(position),
            }
        }
    }

    fn start(&mut self, position: usize) {
        let (engine, outbox) = (self.engine, self.outbox);
        let step = &engine.plan.steps[position].id;
        let state = &self.recorder.state().steps[position];
        let resumes = state.status == Status::InProgress;
        let attempt = if resumes { state.attempt } else { state.attempt + 1 };
        let condition = match state.tries() {
            0 => engine.view(self.recorder.state()).condition(position),
            _ => Ok(true),
        };
        if let Ok(false) = condition {
            let reason = CancelReason::ConditionFalse;
            self.recorder.push(Fact::StepCancelled { step: step.clone(), reason });
            self.frontier.end(position, End::Skipped);
            return;
        }
        // An attempt that was interrupted is taken up again and counts once.
        self.recorder.push(match resumes {
            true => Fact::AttemptInterrupted { step: step.clone(), attempt },
            false => Fact::StepStarted { step: step.clone(), attempt },
        });
        let view = engine.view(self.recorder.state());
        match condition.and_then(|_| Work::prepare(&view, position, attempt, engine.means)) {
            Err(failure) => self.fail(position, failure),
            Ok(work) => {
                self.active += 1;
                self.running.push(Box::pin(async move {
                    Ended::Attempt { position, result: work.perform(engine.means, outbox).await }
                }));
            }
        }
    }

    fn take(&mut self, ended: Ended) -> Result<(), RecordError> {
        self.recorder.absorb(self.outbox);
        match ended {
            Ended::Due { position } => self.frontier.make_ready(position),
            Ended::Attempt { position, result } => {
                self.active -= 1;
                match result {
                    Ok(result) => self.succeed(position, result),
                    Err(Trouble::Failed(failure)) => self.fail(position, failure),
                    Err(Trouble::Record(error)) => return Err(error),
                    // It stays under way in the record: the run can go on with it.
                    Err(Trouble::Stopped) => {}
                }
            }
        }
        Ok(())
    }

    pub(super) fn fail(&mut self, position: usize, failure: Failure) {
        let step = self.engine.plan.steps[position].id.clone();
        self.recorder.push(Fact::StepFailed { step, failure: failure.clone() });
        self.retry(position, &failure);
    }

    /// Schedules the next attempt of a step that failed, or ends it.
    pub(super) fn retry(&mut self, position: usize, failure: &Failure) {
        let state = &self.recorder.state().steps[position];
        let (attempt, tries) = (state.attempt, state.tries());
        let delay = failure.transient.then(|| {
            let asked = failure.retry_after_ms.map(Duration::from_millis);
            self.engine.policy(position, failure).delay(tries, asked, fastrand::f64())
        });
        let delay = delay.flatten().filter(|delay| {
            self.engine.limits.deadline.is_none_or(|(deadline, _)| Instant::now() + *delay < deadline)
        });
        match delay {
            None if self.may_revise() => self.revise_after(position),
            None => self.frontier.end(position, End::Failed),
            Some(delay) => {
                let step = self.engine.plan.steps[position].id.clone();
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                self.recorder.push(Fact::RetryScheduled { step, attempt: attempt + 1, delay_ms });
                self.wait_for(position, delay);
            }
        }
    }

    /// Makes a step ready after a delay.
    pub(super) fn wait_for(&mut self, position: usize, delay: Duration) {
        self.running.push(Box::pin(async move {
            tokio::time::sleep(delay).await;
            Ended::Due { position }
        }));
    }

    fn is_under_way(&self, position: usize) -> bool {
        self.recorder.state().steps[position].status == Status::InProgress
    }
}

/// Waits until a moment; for ever, if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
