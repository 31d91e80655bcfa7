//! What steps can call: the built-in tools and those a file declares.
//!
//! Main types: [`Tool`] and [`Catalog`]. A tool is called with arguments that fit its schema; it knows
//! no plan, and what it returns is a value or a fault with a plain message.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::id::{RunId, StepId, ToolName};
use crate::spec::{Schema, ToolSpec};

/// Something a step can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;

    /// Calls it. Dropping the future ends what the call started.
    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault>;
}

/// Who calls, and within what bounds.
pub struct CallContext<'a> {
    pub run: &'a RunId,
    pub step: &'a StepId,
    pub attempt: u32,
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
}

/// The tools of one run, by name, each with its argument schema compiled.
#[derive(Clone, Default)]
pub struct Catalog {
    tools: IndexMap<ToolName, Entry>,
}

/// A tool with its compiled argument schema.
#[derive(Clone)]
pub struct Entry {
    pub tool: Arc<dyn Tool>,
    pub arguments: Schema,
}

impl Catalog {
    /// The tool of that name.
    pub fn get(&self, name: &ToolName) -> Option<&Entry> {
        self.tools.get(name)
    }

    /// What the tools are, in order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| entry.tool.spec())
    }

    /// Adds a tool.
    ///
    /// # Panics
    /// If its argument schema is no schema: `load` has checked it.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        let arguments = match Schema::parse(&tool.spec().parameters) {
            Ok(schema) => schema,
            Err(mismatch) => panic!("bug: unchecked schema of {}: {mismatch}", tool.spec().name),
        };
        self.tools.insert(tool.spec().name.clone(), Entry { tool, arguments });
    }
}
