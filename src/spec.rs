//! What a tool is: name, description, argument schema, effect, and how it is carried out.
//!
//! Main type: [`ToolSpec`], plain data that is stored in a run's record. Checks arguments by JSON
//! Schema ([`Schema`]); knows nothing of steps and calls nothing.

mod schema;
mod shape;

use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use schema::{Mismatch, MismatchKind, Schema};
pub use shape::{Found, Kinds, Nowhere, find};

use crate::id::ToolName;

/// What calling a tool again would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changes.
    Read,
    /// The same end state as calling once.
    Idempotent,
    /// It must not be repeated.
    Once,
}

/// How a tool's output becomes a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Text that is a valid JSON value becomes that value, other text stays text.
    #[default]
    Auto,
    /// The output must be JSON.
    Json,
    /// The output is text, whatever it looks like.
    Text,
}

/// A tool something can call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: ToolName,
    pub description: String,
    /// JSON Schema of the arguments: an object schema.
    pub parameters: Value,
    /// JSON Schema of the result, where it is known.
    pub returns: Option<Value>,
    pub effect: Effect,
    pub output: Output,
    /// Longest time of one call.
    pub timeout: Option<Duration>,
    pub kind: ToolKind,
}

/// How a tool is carried out. Strings are as the file wrote them: templates are not yet rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// A tool of the program itself, with some arguments fixed.
    Builtin { name: ToolName, with: Map<String, Value> },
    /// A query against an SQLite database: a file, or one made in memory by the script `init`.
    Sql { database: Option<String>, init: Option<String>, query: String },
    /// A program with its arguments; never a shell line.
    Command { argv: Vec<String> },
    /// An HTTP request.
    Http {
        method: String,
        url: String,
        headers: IndexMap<String, String>,
        query: IndexMap<String, String>,
        json: Option<Value>,
        body: Option<String>,
    },
}

impl ToolKind {
    /// The key that declares it in a file.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Builtin { .. } => "builtin",
            Self::Sql { .. } => "sql",
            Self::Command { .. } => "command",
            Self::Http { .. } => "http",
        }
    }
}

impl ToolSpec {
    /// Whether a call needs no arguments because the tool takes none.
    pub fn takes_none(&self) -> bool {
        self.parameters.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty)
            && self.parameters.get("additionalProperties") == Some(&Value::Bool(false))
    }

    /// The schema of a tool that takes no arguments.
    pub fn no_parameters() -> Value {
        serde_json::json!({"type": "object", "properties": {}, "additionalProperties": false})
    }
}
