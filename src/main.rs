//! The program `wf`: hands arguments and streams to the library and ends with the code it gives.
//!
//! The only place where the process ends. Knows nothing else.

use std::process::ExitCode;

// A tree of small values is most of what checking and running make: an allocator made for them takes a
// third off the time of both.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(wf::cli::main(std::env::args_os(), wf::cli::Streams::system()))
}
