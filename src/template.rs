//! Templates in strings: parsed once, what they read known before they are rendered.
//!
//! Main type: [`Template`] (minijinja, strict undefined, bounded fuel). Knows no step and no file:
//! what a template may read, and where, is for the checks to say.

use std::ops::Range;

use serde_json::Value;

/// A string that may hold `{{ … }}`, parsed.
#[derive(Clone, Debug)]
pub struct Template {
    text: std::sync::Arc<str>,
    reads: Vec<Read>,
}

/// One name a template reads: `inputs.week`, `steps["1"].result`, `env.TOKEN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The first name: `inputs`.
    pub root: String,
    /// The literal names or indexes after it, as far as they are literal: `["week"]`, `["1", "result"]`.
    pub path: Vec<String>,
    /// Where, in bytes of the template's text.
    pub range: Range<usize>,
}

/// Why a text is no template, or why one could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    pub message: String,
    /// Where in the template's text, in bytes, if it can be told.
    pub range: Option<Range<usize>>,
}

impl Template {
    /// Parses a text that may hold templates.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let _ = text;
        unimplemented!()
    }

    /// A text in which nothing is a template: what a model wrote.
    pub fn literal(text: &str) -> Self {
        Self { text: text.into(), reads: Vec::new() }
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
        unimplemented!()
    }

    /// The value: typed if the text is exactly one `{{ expression }}`, else a string.
    ///
    /// `scope` is an object of the roots (`inputs`, `steps`, …). Values put into text are printed as
    /// JSON, strings as they are. A name that is not there is an error.
    pub fn render(&self, scope: &Value) -> Result<Value, TemplateError> {
        let _ = scope;
        unimplemented!()
    }

    /// The same, as text.
    pub fn render_text(&self, scope: &Value) -> Result<String, TemplateError> {
        let _ = scope;
        unimplemented!()
    }

    /// The text with everything that would be read as a template escaped, so that parsing and
    /// rendering gives `text` again.
    pub fn escape(text: &str) -> String {
        let _ = text;
        unimplemented!()
    }
}

/// An expression that is true or false: what stands in `when`, without braces.
#[derive(Clone, Debug)]
pub struct Condition {
    text: std::sync::Arc<str>,
    reads: Vec<Read>,
}

impl Condition {
    /// Parses an expression: `inputs.week != ''`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let _ = text;
        unimplemented!()
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every name it reads.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// Whether it holds.
    pub fn holds(&self, scope: &Value) -> Result<bool, TemplateError> {
        let _ = scope;
        unimplemented!()
    }
}
