//! The tests of `wf` at its borders: files in and text out, the process, the HTTP wire.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod cli;
mod crash;
mod diagnostics;
mod document;
mod document_recovery;
mod document_shape;
mod document_syntax;
mod engine;
mod journal;
mod load;
mod offline;
mod planner;
mod real;
mod replan;
mod replies;
#[cfg(target_os = "linux")]
mod supervisor;
mod validate;
