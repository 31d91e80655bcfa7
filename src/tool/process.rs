//! A child process with everything it starts: fed, listened to, and ended as one group.
//!
//! Main type: [`Process`]. Nothing of its group outlives it, whether it ends, runs out of time or is
//! dropped. Does not know what the program is for.

use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};

use super::output::Capture;

/// How long after its end what it printed is still read, where grandchildren hold the pipes.
const LINGER: Duration = Duration::from_millis(250);

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// Within what a program runs.
pub(super) struct Bounds {
    /// Longest time until it is asked to end.
    pub timeout: Option<Duration>,
    /// Time between asking (TERM) and ending (KILL).
    pub grace: Duration,
    /// Most bytes kept of its output.
    pub max_output: usize,
    /// Most bytes kept of the end of its error output.
    pub max_errors: usize,
}

/// What came of a program.
pub(super) struct Finished {
    pub status: ExitStatus,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
    pub output: Capture,
    pub errors: Capture,
}

/// Which of its two outputs a chunk comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Errors,
}

/// A running program and its process group.
pub(super) struct Process {
    child: Child,
    /// The id of the group, which is that of the program; `None` once the group was ended.
    group: Option<u32>,
}

/// What is waited for next.
enum Phase {
    Running,
    /// It was asked to end.
    Asked,
    /// It has ended, or its group was killed: only what the pipes still hold is waited for.
    Over,
}

impl Process {
    /// Starts a program as the leader of a new process group.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let group = child.id();
        Ok(Self { child, group })
    }

    /// Gives it `input`, reads what it prints and waits for its end; then ends what is left of its group.
    ///
    /// `listen` is given every chunk of output and of error output as it comes.
    pub(super) async fn run(
        mut self,
        input: Vec<u8>,
        bounds: &Bounds,
        mut listen: impl FnMut(Stream, &[u8]),
    ) -> io::Result<Finished> {
        let stdin = self.child.stdin.take();
        let (mut stdout, mut stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let mut feed = pin!(async move {
            if let Some(mut stdin) = stdin {
                // A program need not read what it is given: a closed pipe is not a fault.
                let _ = stdin.write_all(&input).await;
                let _ = stdin.shutdown().await;
            }
        });
        let (mut out_chunk, mut err_chunk) = (vec![0; CHUNK], vec![0; CHUNK]);
        let (mut output, mut errors) = (Capture::new(bounds.max_output), Capture::tail(bounds.max_errors));
        let (mut fed, mut status, mut timed_out) = (false, None, false);
        let (mut phase, mut alarm) = (Phase::Running, bounds.timeout.map(|timeout| Instant::now() + timeout));
        loop {
            if let Some(status) = status
                && stdout.is_none()
                && stderr.is_none()
            {
                self.end();
                return Ok(Finished { status, timed_out, output, errors });
            }
            let alarm_at = alarm.unwrap_or_else(Instant::now);
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
                () = &mut feed, if !fed => fed = true,
                ended = self.child.wait(), if status.is_none() => {
                    status = Some(ended?);
                    fed = true;
                    alarm = Some(Instant::now() + LINGER);
                    // What it started may still be printing; it is ended when the pipes close, or soon.
                    phase = Phase::Over;
                }
                () = sleep_until(alarm_at), if alarm.is_some() => match phase {
                    Phase::Running => {
                        timed_out = true;
                        self.ask_to_end();
                        phase = Phase::Asked;
                        alarm = Some(Instant::now() + bounds.grace);
                    }
                    Phase::Asked => {
                        self.end();
                        phase = Phase::Over;
                        alarm = Some(Instant::now() + LINGER);
                    }
                    // Who holds the pipes now has left the group, so nobody waits for it.
                    Phase::Over if self.group.is_none() => {
                        (stdout, stderr, alarm) = (None, None, None);
                    }
                    Phase::Over => {
                        self.end();
                        alarm = Some(Instant::now() + LINGER);
                    }
                },
            }
        }
    }

    fn ask_to_end(&self) {
        #[cfg(unix)]
        if let Some(group) = self.group.and_then(pid) {
            // It may be gone already: that is what was asked for.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    fn end(&mut self) {
        let group = self.group.take();
        #[cfg(unix)]
        if let Some(group) = group.and_then(pid) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        if group.is_some() {
            let _ = self.child.start_kill();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(unix)]
fn pid(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
}

/// Reads what is there; 0 at the end, and where reading fails.
async fn read(from: &mut Option<impl AsyncRead + Unpin>, into: &mut [u8]) -> usize {
    match from {
        Some(from) => from.read(into).await.unwrap_or(0),
        None => 0,
    }
}
