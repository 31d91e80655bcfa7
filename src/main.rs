//! The program `wf`: hands arguments and streams to the library and ends with the code it gives.
//!
//! The only place where the process ends. Knows nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(wf::cli::main(std::env::args_os(), wf::cli::Streams::system()))
}
