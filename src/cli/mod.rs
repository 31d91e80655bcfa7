//! The command line: one file a command, streams and exit codes in one place.
//!
//! Main function: [`main`], a thin shell that ends no process and reads no global state but through
//! [`Streams`], so that it can be run from a test. Knows every other part; nothing knows it.

mod args;
mod cassette;
mod doctor;
mod dry_run;
mod explain;
mod graph;
mod ground;
mod init;
mod manual;
mod model;
mod open;
mod outcome;
mod output_file;
pub mod pages;
mod plan;
mod rehearse;
mod replay;
mod resume;
mod review;
mod run;
mod runs;
mod schema;
mod session;
mod shape;
mod show;
mod signals;
mod store;
mod streams;
mod tools;
mod validate;

use std::ffi::OsString;

use clap::Parser;
use clap::error::ErrorKind;

pub use streams::{Output, Streams, Terminals};

use self::args::{Arguments, Command};
use self::open::Refused;

/// How a command ended. A code means the same in every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// The run failed.
    Failed,
    /// Wrong usage, or a question that nobody is there to answer.
    Usage,
    /// A workflow, a plan or an input has mistakes.
    Invalid,
    /// Stopped short, and can go on later.
    Stopped,
    /// It could not be run: provider, record, file system.
    Unable,
    /// SIGINT.
    Interrupted,
    /// SIGTERM, or SIGHUP.
    Terminated,
}

impl Exit {
    /// The code the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::Stopped => 4,
            Self::Unable => 5,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

/// Why a command gave up, and with which code.
#[derive(Debug)]
enum Trouble {
    /// Said in a sentence.
    Said(Exit, String),
    /// Said already, as diagnostics.
    Shown(Exit),
    /// Nobody reads what it writes any more.
    Closed,
}

impl Trouble {
    fn usage(message: impl Into<String>) -> Self {
        Self::Said(Exit::Usage, message.into())
    }

    fn unable(message: impl Into<String>) -> Self {
        Self::Said(Exit::Unable, message.into())
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::unable(format!("cannot write the output: {error}")),
        }
    }
}

impl From<Refused> for Trouble {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Shown => Self::Shown(Exit::Invalid),
            Refused::Output(error) => error.into(),
        }
    }
}

/// Runs one command: `args` begin with the program's name. Gives the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>, mut streams: Streams) -> u8 {
    let args = args.into_iter().collect::<Vec<_>>();
    // Not a command: how the program starts itself to hold one of its tools' commands.
    #[cfg(target_os = "linux")]
    if streams.supervisor.is_some() && matches!(&args[..], [_, only] if only == crate::tool::SUPERVISE) {
        return crate::tool::supervise();
    }
    let arguments = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error, &mut streams).code(),
    };
    let done = match arguments.command {
        Command::Run(args) => run::run(&args, &mut streams),
        Command::Resume(args) => resume::resume(&args, &mut streams),
        Command::Show(args) => show::show_run(&args, &mut streams),
        Command::Replay(args) => replay::replay(&args, &mut streams),
        Command::Test(args) => rehearse::rehearse(&args, &mut streams),
        Command::Runs(args) => runs::runs(&args, &mut streams),
        Command::Plan(args) => plan::plan(&args, &mut streams),
        Command::Validate(args) => validate::validate(&args, &mut streams),
        Command::Explain(args) => explain::explain(&args, &mut streams),
        Command::Schema(args) => schema::schema(&args, &mut streams),
        Command::Graph(args) => graph::graph(&args, &mut streams),
        Command::Tools(args) => tools::tools(&args, &mut streams),
        Command::Init(args) => init::init(&args, &mut streams),
        Command::Doctor(args) => doctor::doctor(&args, &mut streams),
        Command::Completions(args) => manual::completions(&args, &mut streams),
        Command::Man(args) => manual::man(&args, &mut streams),
    };
    match done {
        Ok(exit) | Err(Trouble::Shown(exit)) => exit.code(),
        Err(Trouble::Said(exit, message)) => {
            streams.complain(&message);
            exit.code()
        }
        // As other programs that a closed pipe ends, and without a word.
        Err(Trouble::Closed) => Exit::Success.code(),
    }
}

fn usage(error: &clap::Error, streams: &mut Streams) -> Exit {
    let help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let (look, out) = match help {
        true => (streams.look_out(), &mut streams.stdout),
        false => (streams.look_err(), &mut streams.stderr),
    };
    let text = error.render();
    let text = if look.colour { text.ansi().to_string() } else { text.to_string() };
    // There is nobody left to tell.
    let _ = out.text(&text);
    if help { Exit::Success } else { Exit::Usage }
}
