//! The tests of `wf` at its borders: files in and text out, the process, the HTTP wire.

mod document;
mod engine;
mod load;
mod offline;
