//! The program in its other part: holding one command, so that nothing the command starts survives.
//!
//! Main function: [`supervise`]. A process of its own starts the command and becomes the parent of all
//! below it that loses its own. Once the command is to end, or the other end of the link is gone – also
//! by `kill -9` – it ends everything and then itself. Does not know what the command is for.

pub(super) mod descendants;
pub(super) mod protocol;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, wait};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};

use descendants::Descendants;
use protocol::{Link, Report, Wish};

/// The one argument that makes the program a supervisor.
pub const SUPERVISE: &str = "__supervise";

/// What it is called in lists of processes: whoever kills all that is called `wf` is not to take away
/// what cleans up after it.
const NAME: &str = "tool-supervisor";

/// How long killed processes may show no sign of an end before they are looked for again.
const SILENCE: Duration = Duration::from_millis(20);

/// How often it is looked whether what was asked to end is still at it.
const LOOK: Duration = Duration::from_millis(20);

/// The system's number for what cannot be started without its having said why: EINVAL.
const INVALID: i32 = 22;

/// Holds one command, as told on stdin, which must be a socket. Gives the exit code of the process.
pub fn supervise() -> u8 {
    let held = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(async { hold(link()?).await }));
    u8::from(held.is_err())
}

/// The link, which came as stdin.
fn link() -> io::Result<Link> {
    let socket = UnixStream::from(stdin().try_clone_to_owned()?);
    // Anything but a socket was not meant for this.
    socket.local_addr()?;
    dup2_stdin(nothing()?)?;
    Link::new(socket)
}

fn nothing() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null")
}

async fn hold(mut link: Link) -> io::Result<()> {
    // Before there is a child, so that no end is missed.
    let (mut children, mut asked) = (Children::new()?, Asked::new()?);
    // A name is a convenience.
    let _ = std::fs::write("/proc/self/comm", NAME);
    set_child_subreaper(Some(getpid()))?;
    let Some(Wish::Start(order)) = link.next().await? else { return Ok(()) };
    let mut command = order.command();
    // It writes straight into what this process was given for its own output.
    let stdin = match command.stdout(Stdio::inherit()).stderr(Stdio::inherit()).spawn() {
        Err(error) => {
            link.send(&Report::NotStarted(error.raw_os_error().unwrap_or(INVALID)));
            link.flush().await;
            return Ok(());
        }
        Ok(mut child) => {
            let program = Pid::from_child(&child);
            children.program = Some(program);
            link.send(&Report::Started(program.as_raw_pid()));
            child.stdin.take()
        }
    };
    let below = Descendants::of(getpid());
    // Whatever goes wrong from here on, what was started is ended.
    let watched = watch(stdin, &below, &mut children, &mut asked, &mut link).await;
    children.end(&below, &mut link).await;
    link.flush().await;
    watched
}

/// Feeds the program and passes on what it is asked, until everything is to end or has ended.
async fn watch(
    stdin: Option<std::process::ChildStdin>,
    below: &Descendants,
    children: &mut Children,
    asked: &mut Asked,
    link: &mut Link,
) -> io::Result<()> {
    // Held open here, the output would never come to its end.
    dup2_stdout(nothing()?)?;
    dup2_stderr(nothing()?)?;
    let mut feed = Feed::new(stdin)?;
    // Whether all were asked to end.
    let mut polite = false;
    loop {
        let waits = polite && children.program.is_none();
        tokio::select! {
            wish = link.next() => match wish {
                Ok(Some(Wish::Input(bytes))) => feed.push(&bytes),
                Ok(Some(Wish::InputEnd)) => feed.end(),
                Ok(Some(Wish::AskToEnd)) => {
                    below.ask_to_end();
                    polite = true;
                }
                // It was closed, or whoever held it is gone or talks nonsense: all the same.
                Ok(Some(Wish::Start(_)) | None) | Err(_) => return Ok(()),
            },
            _ = children.changed.recv() => if !children.collect(link) {
                return Ok(());
            },
            () = asked.next() => {
                below.ask_to_end();
                polite = true;
            }
            () = feed.give(), if feed.is_waiting() => {}
            // Without the program, what ignores that it was asked is not waited for.
            () = sleep(LOOK), if waits => if !below.may_end() {
                return Ok(());
            },
        }
    }
}

/// The children of this process: the program, and what lost its parent.
struct Children {
    changed: Signal,
    /// The program, until it was collected.
    program: Option<Pid>,
}

impl Children {
    fn new() -> io::Result<Self> {
        Ok(Self { changed: signal(SignalKind::child())?, program: None })
    }

    /// Collects those that ended, and reports the program's end. Tells whether any are left.
    fn collect(&mut self, link: &mut Link) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if self.program == Some(pid) => {
                    self.program = None;
                    link.send(&Report::Ended(status.as_raw()));
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Ends all of them and everything below, and waits until it is gone.
    ///
    /// Whoever loses its parent becomes a child of this process, so when there is no child left there is
    /// nothing left.
    async fn end(&mut self, below: &Descendants, link: &mut Link) {
        while self.collect(link) {
            if below.end() == 0 {
                // What is left is out of reach: it runs as somebody else.
                return;
            }
            while timeout(SILENCE, self.changed.recv()).await.is_ok() {
                if !self.collect(link) {
                    return;
                }
            }
        }
    }
}

/// The signals by which a process is asked to end; they are passed on.
struct Asked([Signal; 3]);

impl Asked {
    fn new() -> io::Result<Self> {
        let all = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = all.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// What the program reads. It is kept here until the program has read it, so that the link is always
/// listened to.
struct Feed {
    /// `None` once it is closed, by either side.
    stdin: Option<ChildStdin>,
    waiting: Vec<u8>,
    /// How much of it was given.
    given: usize,
    ended: bool,
}

impl Feed {
    fn new(stdin: Option<std::process::ChildStdin>) -> io::Result<Self> {
        let stdin = stdin.map(ChildStdin::from_std).transpose()?;
        Ok(Self { stdin, waiting: Vec::new(), given: 0, ended: false })
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.stdin.is_some() {
            self.waiting.extend_from_slice(bytes);
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.close_if_done();
    }

    fn is_waiting(&self) -> bool {
        self.stdin.is_some() && self.given < self.waiting.len()
    }

    /// Gives what can be given at once. May be dropped and called again.
    async fn give(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(&self.waiting[self.given..]).await {
            Ok(written) if written > 0 => self.given += written,
            // A program need not read what it is given.
            _ => self.stdin = None,
        }
        self.close_if_done();
    }

    fn close_if_done(&mut self) {
        if self.stdin.is_none() || self.given == self.waiting.len() {
            (self.waiting, self.given) = (Vec::new(), 0);
            if self.ended {
                self.stdin = None;
            }
        }
    }
}
