//! What a command talks through: standard streams, whether they are terminals, the environment.
//!
//! Main type: [`Streams`]. The only place that looks at the process's own streams and variables.

use std::fmt;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::report::Look;
use crate::report::look::Paint;

/// A stream that is written to; clones share it.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Box<dyn Write + Send>>>);

impl Output {
    /// Shares a stream.
    pub fn new(stream: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(stream))))
    }

    /// Writes a text and sends it off.
    ///
    /// # Errors
    /// As the stream says.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.write_all(text.as_bytes())?;
        self.flush()
    }

    /// Writes a text and a line end.
    ///
    /// # Errors
    /// As the stream says.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.text(&format!("{text}\n"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// Which of the streams are terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminals {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

/// From a variable's name to its value.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment a command runs in.
pub struct Streams {
    pub stdin: Box<dyn Read + Send>,
    pub stdout: Output,
    pub stderr: Output,
    pub terminals: Terminals,
    /// Rows and columns of the terminal.
    pub size: fn() -> Option<(u16, u16)>,
    /// The value of an environment variable that is set and text.
    pub variable: Lookup,
    /// The program to start again as the supervisor of a command; none: there are no supervisors.
    pub supervisor: Option<PathBuf>,
    /// Whether nothing but errors is said on stderr.
    pub quiet: bool,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("terminals", &self.terminals).finish_non_exhaustive()
    }
}

impl Streams {
    /// Those of this process.
    pub fn system() -> Self {
        Self {
            stdin: Box::new(io::stdin()),
            stdout: Output::new(io::stdout()),
            stderr: Output::new(io::stderr()),
            terminals: Terminals {
                stdin: io::stdin().is_terminal(),
                stdout: io::stdout().is_terminal(),
                stderr: io::stderr().is_terminal(),
            },
            size: || {
                console::Term::stderr().size_checked().or_else(|| console::Term::stdout().size_checked())
            },
            variable: Arc::new(|name| std::env::var(name).ok()),
            supervisor: this_program(),
            quiet: false,
        }
    }

    /// How things are shown on stdout.
    pub fn look_out(&self) -> Look {
        self.look(self.terminals.stdout)
    }

    /// How things are shown on stderr.
    pub fn look_err(&self) -> Look {
        self.look(self.terminals.stderr)
    }

    fn look(&self, terminal: bool) -> Look {
        let size = if terminal { (self.size)() } else { None };
        Look::decide(terminal, size, |name| (self.variable)(name))
    }

    /// Whether a person can be asked: the question is read on stderr and answered on stdin.
    pub fn can_ask(&self) -> bool {
        self.terminals.stdin && self.terminals.stderr
    }

    /// Says on stderr what is wrong.
    pub fn complain(&mut self, message: &str) {
        let look = self.look_err();
        let head = look.paint(Paint::Error, "error");
        self.tell(&format!("{head}: {}", crate::report::escape::escape_lines(message)));
    }

    /// Says something on stderr, unless only errors are to be said.
    pub fn remark(&mut self, line: &str) {
        if !self.quiet {
            self.tell(line);
        }
    }

    /// Says something on stderr that belongs to an error.
    pub fn tell(&mut self, line: &str) {
        // A closed stderr is no reason to stop: what counts is on stdout and in the exit code.
        let _ = self.stderr.line(line);
    }
}

/// This very program, also when its file was replaced or removed since. Only Linux has what a
/// supervisor needs.
fn this_program() -> Option<PathBuf> {
    Some(PathBuf::from("/proc/self/exe")).filter(|path| cfg!(target_os = "linux") && path.exists())
}
