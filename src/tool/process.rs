//! A program with everything it starts: fed, listened to, and ended as a whole.
//!
//! Main function: [`run`]. Nothing that it can reach outlives the call, whether the program ends, runs
//! out of time, is stopped, or the call is dropped: with a supervisor that is everything the program
//! started, without one it is its process group. Does not know what the program is for.

mod group;
mod order;
#[cfg(target_os = "linux")]
mod supervised;

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::output::Capture;
use group::Group;
pub(super) use order::Order;
#[cfg(target_os = "linux")]
use supervised::Supervised;

/// How long the end of what was killed is waited for. It is gone within milliseconds, unless the system
/// holds it, as a disk that hangs does.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after its end what it printed is still read, where others hold the pipes.
const LINGER: Duration = Duration::from_millis(250);

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// Within what a program runs.
pub(super) struct Bounds<'a> {
    /// When it is asked to end.
    pub deadline: Option<Instant>,
    /// Time between asking (TERM) and ending (KILL), when its time is over.
    pub grace: Duration,
    /// Asks it to end, too.
    pub stop: &'a CancellationToken,
    /// Time between asking and ending, when it is stopped.
    pub stop_grace: Duration,
    /// Most bytes kept of its output.
    pub max_output: usize,
    /// Most bytes kept of the end of its error output.
    pub max_errors: usize,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself; also one that was stopped and used the time it was given to end with success.
    Itself(ExitStatus),
    /// Its time was over.
    OutOfTime,
    /// It was stopped.
    Stopped,
}

/// What came of a program.
pub(super) struct Finished {
    pub ending: Ending,
    pub output: Capture,
    pub errors: Capture,
}

/// Why nothing came of a program.
pub(super) enum Fault {
    /// It cannot be started.
    NotStarted(io::Error),
    /// Its supervisor cannot be started.
    Unsupervised(io::Error),
    /// It was started, and nobody knows any more what it does.
    Lost(io::Error),
}

/// Which of its two outputs a chunk comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Errors,
}

/// What is waited for next.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    /// It was asked to end.
    Asked,
    /// It has ended, or everything was killed: only what the pipes still hold is waited for.
    Over,
}

/// Starts a program, gives it `input`, reads what it prints and waits for its end; then ends what is left
/// of what it started.
///
/// `listen` is given every chunk of output and of error output as it comes.
pub(super) async fn run(
    order: Order,
    supervisor: Option<&Path>,
    input: Vec<u8>,
    bounds: &Bounds<'_>,
    mut listen: impl FnMut(Stream, &[u8]),
) -> Result<Finished, Fault> {
    let (mut output, mut errors) = (Capture::new(bounds.max_output), Capture::tail(bounds.max_errors));
    let mut held = hold(order, supervisor)?;
    let ended = tokio::select! {
        biased;
        started = held.started() => {
            started?;
            None
        }
        () = until(bounds.deadline) => Some(Ending::OutOfTime),
        () = bounds.stop.cancelled() => Some(Ending::Stopped),
    };
    if let Some(ending) = ended {
        held.gone().await;
        return Ok(Finished { ending, output, errors });
    }
    held.feed(input);
    let (mut stdout, mut stderr) = held.outputs();
    let (mut out_chunk, mut err_chunk) = (vec![0; CHUNK], vec![0; CHUNK]);
    // Why it was asked to end, how it did, and whether all it started has ended too.
    let (mut reason, mut status, mut empty) = (None, None, false);
    let (mut phase, mut alarm) = (Phase::Running, bounds.deadline);
    loop {
        if stdout.is_none()
            && stderr.is_none()
            && (empty || phase == Phase::Over)
            && let Some(ending) = ending(reason, status, held.is_over())
        {
            held.gone().await;
            return Ok(Finished { ending, output, errors });
        }
        tokio::select! {
            read = read(&mut stdout, &mut out_chunk), if stdout.is_some() => match read {
                0 => stdout = None,
                read => {
                    output.push(&out_chunk[..read]);
                    listen(Stream::Output, &out_chunk[..read]);
                }
            },
            read = read(&mut stderr, &mut err_chunk), if stderr.is_some() => match read {
                0 => stderr = None,
                read => {
                    errors.push(&err_chunk[..read]);
                    listen(Stream::Errors, &err_chunk[..read]);
                }
            },
            sign = held.next(), if status.is_none() || phase == Phase::Asked && !empty => {
                match sign.map_err(Fault::Lost)? {
                    Sign::Ended(ended) => status = Some(ended),
                    Sign::Empty => empty = true,
                }
                // What it started may still be printing; it is ended when the pipes close, or soon. What
                // was asked to end has the time it was given.
                if phase != Phase::Asked {
                    (phase, alarm) = (Phase::Over, Some(Instant::now() + LINGER));
                }
            }
            () = bounds.stop.cancelled(), if phase == Phase::Running => {
                held.ask_to_end();
                reason = Some(Ending::Stopped);
                (phase, alarm) = (Phase::Asked, Some(Instant::now() + bounds.stop_grace));
            }
            () = until(alarm) => match phase {
                Phase::Running => {
                    held.ask_to_end();
                    reason = Some(Ending::OutOfTime);
                    (phase, alarm) = (Phase::Asked, Some(Instant::now() + bounds.grace));
                }
                // Who holds the pipes now cannot be reached, so nobody waits for it.
                Phase::Over if held.is_over() => (stdout, stderr, alarm) = (None, None, None),
                Phase::Asked | Phase::Over => {
                    held.end();
                    (phase, alarm) = (Phase::Over, Some(Instant::now() + LINGER));
                }
            },
        }
    }
}

/// What is seen of a program.
enum Sign {
    /// It has ended.
    Ended(ExitStatus),
    /// After that: all that it started has ended too, or cannot be watched.
    Empty,
}

/// A running program, and how it is held. Dropped, it is ended.
#[async_trait]
trait Hold: Send {
    /// Waits until the program runs.
    async fn started(&mut self) -> Result<(), Fault>;

    fn outputs(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>);

    /// What the program reads, all of it; given while its end is waited for.
    fn feed(&mut self, input: Vec<u8>);

    /// Waits for the next sign; meanwhile the program is given its input. May be dropped and called again.
    async fn next(&mut self) -> io::Result<Sign>;

    /// Asks it, and what it started, to end.
    fn ask_to_end(&mut self);

    /// Kills what is left.
    fn end(&mut self);

    /// Whether it was killed.
    fn is_over(&self) -> bool;

    /// Kills what is left, and waits until it is gone as far as that can be known.
    async fn gone(&mut self);
}

fn hold(order: Order, supervisor: Option<&Path>) -> Result<Box<dyn Hold>, Fault> {
    match supervisor {
        #[cfg(target_os = "linux")]
        Some(supervisor) => {
            let held = Supervised::start(order, supervisor).map_err(Fault::Unsupervised)?;
            Ok(Box::new(held))
        }
        _ => Ok(Box::new(Group::start(&order).map_err(Fault::NotStarted)?)),
    }
}

/// How it ended, once that is known: why it was asked to, the status it ended with, and whether it was
/// killed. What was killed and is still there has no status, and nobody waits for one.
fn ending(reason: Option<Ending>, status: Option<ExitStatus>, killed: bool) -> Option<Ending> {
    match (reason, status) {
        (None, status) => status.map(Ending::Itself),
        (Some(Ending::Stopped), Some(status)) if status.success() => Some(Ending::Itself(status)),
        (Some(reason), Some(_)) => Some(reason),
        (Some(reason), None) => killed.then_some(reason),
    }
}

/// Waits until a moment; for ever, if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Reads what is there; 0 at the end, and where reading fails.
async fn read(from: &mut Option<impl AsyncRead + Unpin>, into: &mut [u8]) -> usize {
    match from {
        Some(from) => from.read(into).await.unwrap_or(0),
        None => 0,
    }
}
