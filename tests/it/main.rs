//! Tests of the program as a whole, over files: one binary, one module a subject.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod validate;
