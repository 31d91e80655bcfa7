//! The tree a text gives: every value with its place, nothing checked but the syntax.
//!
//! Main type: [`Node`]. The same tree comes from YAML and from a model's JSON, so both go the same
//! way from here. Knows no key and no rule of the workflow format.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

use crate::source::Span;

/// A value with its place. Aliases share the node they name.
#[derive(Clone, Debug)]
pub struct Node {
    pub span: Span,
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Kind {
    Scalar(Scalar),
    List(Vec<Arc<Node>>),
    Map(Vec<Entry>),
    /// A part that could not be read; a diagnostic says why, and nothing more is said about it.
    Reported,
}

/// One key of a mapping with its value, in the order written. Keys are unique: a duplicate was
/// reported and the first one kept.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Arc<str>,
    pub key_span: Span,
    pub value: Arc<Node>,
}

/// A single value: how it was written, and what it is by YAML 1.2's core schema.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// The text: for a quoted or block scalar, its content.
    pub text: Arc<str>,
    pub style: Style,
    pub value: ScalarValue,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// `|` or `>`.
    Block,
}

/// What a scalar is.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarValue {
    Null,
    Bool(bool),
    Number(Number),
    String,
}

impl Node {
    /// The value as JSON; a part that was reported is null.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar(scalar) => scalar.to_json(),
            Kind::List(items) => Value::Array(items.iter().map(|item| item.to_json()).collect()),
            Kind::Map(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            Kind::Reported => Value::Null,
        }
    }

    /// The value under a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Arc<Node>> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key, if this is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.as_map()?.iter().find(|entry| &*entry.key == key)
    }

    /// The entries, if this is a mapping.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Arc<Node>]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The scalar, if this is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().filter(|scalar| scalar.value == ScalarValue::String).map(|scalar| &*scalar.text)
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.value == ScalarValue::Null)
    }

    /// Whether this could not be read and a diagnostic says so.
    pub fn is_reported(&self) -> bool {
        matches!(self.kind, Kind::Reported)
    }

    /// Whether this is a scalar written in one line, so that something can be put in its place.
    pub fn is_inline(&self) -> bool {
        self.as_scalar()
            .is_some_and(|scalar| scalar.style != Style::Block && !scalar.text.contains(['\n', '\r']))
    }

    /// Whether this or something in it could not be read.
    pub fn has_reported(&self) -> bool {
        match &self.kind {
            Kind::Reported => true,
            Kind::Scalar(_) => false,
            Kind::List(items) => items.iter().any(|item| item.has_reported()),
            Kind::Map(entries) => entries.iter().any(|entry| entry.value.has_reported()),
        }
    }

    /// The node a JSON Pointer (RFC 6901) leads to.
    pub fn pointer(&self, pointer: &str) -> Option<&Node> {
        let mut node = self;
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            node = match &node.kind {
                Kind::List(items) => items.get(part.parse::<usize>().ok()?)?,
                Kind::Map(_) => node.get(&part)?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// What it is, in words of the format: "a string", "a list", "null".
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
            Kind::Reported => "unreadable",
            Kind::Scalar(scalar) => match &scalar.value {
                ScalarValue::Null => "null",
                ScalarValue::Bool(_) => "a boolean",
                ScalarValue::Number(number) if number.is_f64() => "a number",
                ScalarValue::Number(_) => "an integer",
                ScalarValue::String => "a string",
            },
        }
    }
}

impl Scalar {
    /// The value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.value {
            ScalarValue::Null => Value::Null,
            ScalarValue::Bool(value) => Value::Bool(*value),
            ScalarValue::Number(number) => Value::Number(number.clone()),
            ScalarValue::String => Value::String(self.text.to_string()),
        }
    }
}
