//! What steps can call: the built-in tools and those a file declares.
//!
//! Main types: [`Tool`] and [`Catalog`]. A tool is called with arguments that fit its schema; it knows
//! no plan, and what it returns is a value or a fault with a plain message.

mod builtin;
mod catalog;
mod command;
mod declared;
mod exchange;
mod form;
mod http;
mod mask;
mod math;
mod output;
#[cfg(test)]
mod probe;
mod process;
mod replay;
mod rows;
mod sql;
#[cfg(target_os = "linux")]
mod supervisor;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use catalog::{BuildError, Catalog, Entry};
pub use declared::Surroundings;
pub use math::math_specs;
pub use replay::{RecordedCall, RecordedCalls};
pub use sql::scripts;
#[cfg(target_os = "linux")]
pub use supervisor::{SUPERVISE, supervise};

use crate::id::{RunId, StepId};
use crate::spec::ToolSpec;

/// Something a step can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;

    /// Calls it. Dropping the future ends what the call started.
    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault>;
}

/// What every built-in tool is, math first.
pub fn builtin_specs() -> Vec<ToolSpec> {
    math_specs()
}

/// Who calls, and within what bounds.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    pub run: &'a RunId,
    pub step: &'a StepId,
    pub attempt: u32,
    /// The same for every attempt at the same work: by it the other side can tell a repeat.
    pub key: &'a str,
    /// Cancelled when the run is to end: what the call started is then asked to end, given 10 s, and
    /// ended. A call that keeps nothing alive may be dropped instead.
    pub stop: &'a CancellationToken,
    /// Longest time of this call.
    pub timeout: Option<Duration>,
    /// Most output to keep, in bytes.
    pub max_output_bytes: usize,
    /// Where output is shown as it comes.
    pub progress: &'a (dyn Fn(String) + Send + Sync),
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFault {
    pub kind: ToolFaultKind,
    /// What happened, for a person and for a model.
    pub message: String,
    pub retry_after: Option<Duration>,
}

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFaultKind {
    /// It will fail again with the same arguments: division by zero, no such program.
    Permanent,
    /// It may pass: a status that says so, a locked database, a program that failed.
    Transient,
    /// The time was over; whatever it started was ended.
    Timeout,
    /// The run is to end, and so the call was; nobody knows how far it came.
    Stopped,
}

impl ToolFault {
    /// A fault that trying again does not mend.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { kind: ToolFaultKind::Permanent, message: message.into(), retry_after: None }
    }

    /// A fault that may pass.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { kind: ToolFaultKind::Transient, message: message.into(), retry_after: None }
    }

    /// The time `allowed` was over; `what` names what took too long: "`sleep`", "the query".
    pub fn timeout(what: &str, allowed: Duration) -> Self {
        let message = format!("{what} did not finish within {allowed:?} and was ended");
        Self { kind: ToolFaultKind::Timeout, message, retry_after: None }
    }

    /// The run is to end; `what` names what was ended with it.
    pub fn stopped(what: &str) -> Self {
        let message = format!("{what} was ended because the run was stopped");
        Self { kind: ToolFaultKind::Stopped, message, retry_after: None }
    }
}
