//! What is to be started: a program, its arguments, its environment and its folder.
//!
//! Main type: [`Order`]. It can be sent to another process. Does not know who starts it.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// A program to start. It holds secrets, so it cannot be printed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::tool) struct Order {
    /// A path, or a name to look up in the `PATH` of `env`.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// All of the environment it gets; of two values of one name the later counts.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs; empty: in the folder of whoever starts it.
    pub folder: OsString,
}

impl Order {
    /// The program with pipes for all it reads and writes, as the leader of a process group.
    pub(in crate::tool) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        if !self.folder.is_empty() {
            command.current_dir(&self.folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}
