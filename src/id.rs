//! The names things go by: steps, runs, tools and models.
//!
//! Knows how a name is written, compared and stored; knows nothing of what is named.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id of a step: an integer or a string, kept as it was written.
///
/// `1` and `"1"` are the same id; the form only decides how the id is written out again.
#[derive(Clone, Debug)]
pub struct StepId {
    text: Arc<str>,
    integer: bool,
}

impl StepId {
    /// An id that was written as an integer.
    pub fn integer(value: i64) -> Self {
        Self { text: value.to_string().into(), integer: true }
    }

    /// An id that was written as a string.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), integer: false }
    }

    /// The id as text, without quotes.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The id as JSON: a number if it was written as one.
    pub fn to_json(&self) -> serde_json::Value {
        match self.text.parse::<i64>() {
            Ok(number) if self.integer => number.into(),
            _ => self.as_str().into(),
        }
    }
}

impl PartialEq for StepId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for StepId {}

impl Hash for StepId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for StepId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StepId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<i64> for StepId {
    fn from(value: i64) -> Self {
        Self::integer(value)
    }
}

impl From<&str> for StepId {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StepId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self::string(text)),
            serde_json::Value::Number(number) if number.is_i64() => {
                Ok(Self::integer(number.as_i64().unwrap_or_default()))
            }
            other => Err(serde::de::Error::custom(format!("not a step id: {other}"))),
        }
    }
}

/// The id of a run: a ULID in lower case, so that ids sort by the time a run began.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// A new id, unlike any other.
    pub fn generate() -> Self {
        Self(ulid::Ulid::generate().to_string().to_lowercase())
    }

    /// The id with this text; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let id = ulid::Ulid::from_string(text).ok()?.to_string().to_lowercase();
        Some(Self(id)).filter(|id| id.0 == text)
    }

    /// When it was generated: milliseconds since the Unix epoch.
    pub fn began_at(&self) -> u64 {
        ulid::Ulid::from_string(&self.0).map(|id| id.timestamp_ms()).unwrap_or_default()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a tool, as a step or a declaration writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// A name from its text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ToolName {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// The name of a model: `provider/model`, or a provider that has only one (`offline`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelName(String);

impl ModelName {
    /// A name from its text; whether its provider exists is not checked here.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The provider: what stands before the first `/`, or the whole name.
    pub fn provider(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(provider, _)| provider)
    }

    /// The name the provider knows the model by: what stands after the first `/`.
    pub fn model(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, model)| model)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
