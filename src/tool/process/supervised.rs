//! A program held by a supervisor: a process of its own that outlives this one just long enough to end
//! everything the program started.
//!
//! Main type: [`Supervised`], this side of the link. What happens on the other side is in `supervisor`.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use async_trait::async_trait;
use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::order::Order;
use super::{Fault, Hold, PATIENCE, Sign};
use crate::tool::supervisor::SUPERVISE;
use crate::tool::supervisor::descendants::Descendants;
use crate::tool::supervisor::protocol::{Link, Report, Wish};

/// A running program and its supervisor. When it is dropped, the supervisor ends everything.
pub(super) struct Supervised {
    supervisor: Child,
    link: Link,
    program: Option<Pid>,
    ended: bool,
    /// Whether everything was told to end.
    over: bool,
}

impl Supervised {
    /// Starts a supervisor and tells it what to start.
    pub(super) fn start(order: Order, supervisor: &Path) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(supervisor);
        command.arg0("wf").arg(SUPERVISE).process_group(0);
        // The program can read its parent's environment: there is nothing in it but what finds libraries.
        command.env_clear().envs(std::env::var_os("LD_LIBRARY_PATH").map(|path| ("LD_LIBRARY_PATH", path)));
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
        let supervisor = command.spawn()?;
        // What was handed over would keep the link open on this side.
        drop(command);
        let mut link = Link::new(ours)?;
        link.send(&Wish::Start(order));
        Ok(Self { supervisor, link, program: None, ended: false, over: false })
    }

    /// Somebody killed the supervisor: what still hangs together is ended from here.
    fn end_what_is_left(&mut self) {
        // Nobody else leads this group, so the number is still that of the program.
        if let Some(program) = self.program.take()
            && rustix::process::getpgid(Some(program)) == Ok(program)
        {
            Descendants::of(program).end_with_root();
        }
    }
}

#[async_trait]
impl Hold for Supervised {
    async fn started(&mut self) -> Result<(), Fault> {
        match self.link.next().await.map_err(Fault::Unsupervised)? {
            Some(Report::Started(id)) => {
                self.program = Pid::from_raw(id);
                Ok(())
            }
            Some(Report::NotStarted(number)) => Err(Fault::NotStarted(io::Error::from_raw_os_error(number))),
            Some(Report::Ended(_)) | None => {
                Err(Fault::Unsupervised(io::Error::other("it ended before it had started anything")))
            }
        }
    }

    fn outputs(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.supervisor.stdout.take(), self.supervisor.stderr.take())
    }

    fn feed(&mut self, input: Vec<u8>) {
        self.link.send(&Wish::Input(input));
        self.link.send(&Wish::InputEnd);
    }

    async fn next(&mut self) -> io::Result<Sign> {
        loop {
            match self.link.next().await {
                Ok(Some(Report::Ended(status))) => {
                    self.ended = true;
                    return Ok(Sign::Ended(ExitStatus::from_raw(status)));
                }
                Ok(Some(_)) => {}
                // A supervisor with nothing left to hold ends.
                Ok(None) | Err(_) if self.ended => return Ok(Sign::Empty),
                Ok(None) | Err(_) => {
                    self.end_what_is_left();
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its supervisor is gone"));
                }
            }
        }
    }

    fn ask_to_end(&mut self) {
        self.link.send(&Wish::AskToEnd);
    }

    fn end(&mut self) {
        self.over = true;
        self.link.close();
    }

    fn is_over(&self) -> bool {
        self.over
    }

    async fn gone(&mut self) {
        self.end();
        let all = async {
            while let Ok(Some(_)) = self.link.next::<Report>().await {}
            // Whoever started a process has to collect it.
            let _ = self.supervisor.wait().await;
        };
        // The supervisor stays with what is not gone by then.
        let _ = tokio::time::timeout(PATIENCE, all).await;
    }
}
