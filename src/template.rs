//! Templates in strings: parsed once, what they read known before they are rendered.
//!
//! Main type: [`Template`] (minijinja, strict undefined, bounded fuel, no loader). Knows no step and no
//! file: what a template may read, and where, is for the checks to say. A text without `{{`, `{%` or
//! `{#` never reaches the engine.

mod engine;
mod percent;
mod reads;

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

pub use percent::percent_encode;

/// A string that may hold `{{ … }}`, parsed.
#[derive(Clone, Debug)]
pub struct Template {
    text: Arc<str>,
    reads: Arc<[Read]>,
    shape: Shape,
}

/// What there is to do to render a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Nothing.
    Literal,
    /// The text is exactly one `{{ expression }}`: its value is the value.
    Expression,
    Text,
}

/// One name a template reads: `inputs.week`, `steps["1"].result`, `env.TOKEN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The first name: `inputs`.
    pub root: String,
    /// The literal names or indexes after it, as far as they are literal: `["week"]`, `["1", "result"]`.
    pub path: Vec<String>,
    /// Whether something not literal follows the path: `steps[name]`, `inputs[1:]`.
    pub dynamic: bool,
    /// Where, in bytes of the template's text.
    pub range: Range<usize>,
}

/// Why a text is no template, or why one could not be rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    pub message: String,
    /// Where in the template's text, in bytes, if it can be told.
    pub range: Option<Range<usize>>,
    /// The names there are instead of the one at `range`, where that is a filter or a test.
    pub known: &'static [&'static str],
    /// Further filters and tests in the same text that do not exist.
    pub more: Vec<TemplateError>,
    /// What a text reads that is wrong only in its filters and tests.
    pub reads: Vec<Read>,
}

impl Template {
    /// Parses a text that may hold templates.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if !has_markers(text) {
            return Ok(Self::literal(text));
        }
        let (reads, expression) = engine::read_template(text)?;
        let shape = if expression { Shape::Expression } else { Shape::Text };
        Ok(Self { text: text.into(), reads: reads.into(), shape })
    }

    /// A text in which nothing is a template: what a model wrote.
    pub fn literal(text: &str) -> Self {
        Self { text: text.into(), reads: Arc::new([]), shape: Shape::Literal }
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every name it reads from outside (names it sets itself do not count), in order.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// Whether rendering gives the text itself: there is nothing to evaluate.
    pub fn is_literal(&self) -> bool {
        self.shape == Shape::Literal
    }

    /// The one name it reads, if its value is just that: `{{ inputs.week }}`.
    pub fn only_read(&self) -> Option<&Read> {
        let [read] = &*self.reads else { return None };
        if self.shape != Shape::Expression || read.dynamic {
            return None;
        }
        let inside = self.text.strip_prefix("{{")?.strip_suffix("}}")?;
        let inside = inside.strip_prefix('-').unwrap_or(inside);
        let inside = inside.strip_suffix('-').unwrap_or(inside);
        (inside.trim() == &self.text[read.range.clone()]).then_some(read)
    }

    /// The value: typed if the text is exactly one `{{ expression }}`, else a string.
    ///
    /// `scope` is an object of the roots (`inputs`, `steps`, …). Values put into text are printed as
    /// JSON, strings as they are. A name that is not there is an error.
    pub fn render(&self, scope: &Value) -> Result<Value, TemplateError> {
        match self.shape {
            Shape::Literal => Ok(Value::String(self.text.to_string())),
            Shape::Expression => engine::evaluate_template(&self.text, &self.reads, scope),
            Shape::Text => engine::render(&self.text, &self.reads, scope).map(Value::String),
        }
    }

    /// The same, as text.
    pub fn render_text(&self, scope: &Value) -> Result<String, TemplateError> {
        match self.shape {
            Shape::Literal => Ok(self.text.to_string()),
            Shape::Expression | Shape::Text => engine::render(&self.text, &self.reads, scope),
        }
    }

    /// The same, as a url: every value that is put in is percent-encoded as one component.
    pub fn render_url(&self, scope: &Value) -> Result<String, TemplateError> {
        match self.shape {
            Shape::Literal => Ok(self.text.to_string()),
            Shape::Expression | Shape::Text => engine::render_url(&self.text, &self.reads, scope),
        }
    }

    /// The text with everything that would be read as a template escaped, so that parsing and
    /// rendering gives `text` again.
    pub fn escape(text: &str) -> String {
        if !has_markers(text) {
            return text.to_owned();
        }
        let mut escaped = String::with_capacity(text.len() + 16);
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            escaped.push_str(&rest[..at]);
            let marker = rest.get(at..at + 2).filter(|marker| is_marker(marker.as_bytes()));
            match marker {
                Some(marker) => {
                    escaped.push_str("{{ \"");
                    escaped.push_str(marker);
                    escaped.push_str("\" }}");
                    rest = &rest[at + 2..];
                }
                None => {
                    escaped.push('{');
                    rest = &rest[at + 1..];
                }
            }
        }
        escaped.push_str(rest);
        escaped
    }
}

/// An expression that is true or false: what stands in `when`, without braces.
#[derive(Clone, Debug)]
pub struct Condition {
    text: Arc<str>,
    reads: Arc<[Read]>,
}

impl Condition {
    /// Parses an expression: `inputs.week != ''`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.trim().is_empty() {
            return Err(TemplateError {
                message: "the condition is empty".to_owned(),
                range: None,
                ..Default::default()
            });
        }
        if let Some(at) = text.find("{{").filter(|at| text[..*at].trim().is_empty()) {
            let message = "a condition is an expression without braces: `inputs.week != ''`".to_owned();
            return Err(TemplateError { message, range: Some(at..at + 2), ..Default::default() });
        }
        Ok(Self { text: text.into(), reads: engine::read_expression(text)?.into() })
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every name it reads.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// Whether it holds. What is not a boolean counts as in Python: empty, zero and null do not hold.
    pub fn holds(&self, scope: &Value) -> Result<bool, TemplateError> {
        engine::holds(&self.text, &self.reads, scope)
    }
}

fn has_markers(text: &str) -> bool {
    text.as_bytes().windows(2).any(is_marker)
}

fn is_marker(pair: &[u8]) -> bool {
    matches!(pair, b"{{" | b"{%" | b"{#")
}

#[cfg(test)]
mod tests;
