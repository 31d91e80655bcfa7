//! A program held by its process group: where there is no supervisor.
//!
//! Main type: [`Group`]. What stays in the group ends with it; what leaves the group, or is left when
//! this process is killed, is out of reach.

use std::io;

use async_trait::async_trait;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::order::Order;
use super::{Fault, Hold, PATIENCE, Sign};

/// A running program and its process group.
pub(super) struct Group {
    child: Child,
    /// The id of the group, which is that of the program; `None` once the group was ended.
    id: Option<u32>,
    stdin: Option<ChildStdin>,
    input: Vec<u8>,
    /// How much of the input was given.
    given: usize,
    ended: bool,
}

impl Group {
    pub(super) fn start(order: &Order) -> io::Result<Self> {
        let child = Command::from(order.command()).kill_on_drop(true).spawn()?;
        let id = child.id();
        Ok(Self { child, id, stdin: None, input: Vec::new(), given: 0, ended: false })
    }
}

#[async_trait]
impl Hold for Group {
    async fn started(&mut self) -> Result<(), Fault> {
        // The system tells at once.
        Ok(())
    }

    fn outputs(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    fn feed(&mut self, input: Vec<u8>) {
        (self.stdin, self.input) = (self.child.stdin.take(), input);
    }

    async fn next(&mut self) -> io::Result<Sign> {
        if self.ended {
            return Ok(Sign::Empty);
        }
        while let Some(stdin) = &mut self.stdin {
            let rest = &self.input[self.given..];
            if rest.is_empty() {
                break;
            }
            let status = tokio::select! {
                written = stdin.write(rest) => match written {
                    Ok(written) if written > 0 => {
                        self.given += written;
                        continue;
                    }
                    // A program need not read what it is given: a closed pipe is not a fault.
                    _ => break,
                },
                status = self.child.wait() => status?,
            };
            self.ended = true;
            return Ok(Sign::Ended(status));
        }
        self.stdin = None;
        let status = self.child.wait().await?;
        self.ended = true;
        Ok(Sign::Ended(status))
    }

    fn ask_to_end(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.id.and_then(pid) {
            // It may be gone already: that is what was asked for.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    fn end(&mut self) {
        let group = self.id.take();
        #[cfg(unix)]
        if let Some(group) = group.and_then(pid) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        if group.is_some() {
            let _ = self.child.start_kill();
        }
    }

    fn is_over(&self) -> bool {
        self.id.is_none()
    }

    async fn gone(&mut self) {
        self.end();
        // What left the group cannot be waited for.
        let _ = tokio::time::timeout(PATIENCE, self.child.wait()).await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(unix)]
fn pid(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
}
