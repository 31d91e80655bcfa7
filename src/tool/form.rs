//! A JSON value with templates in its strings, parsed once and filled in for each call.
//!
//! Main type: [`Form`]. Keys are literal; a string that is one expression becomes the typed value.
//! What a template may read was checked when the file was loaded.

use serde_json::{Map, Value};

use crate::template::{Template, TemplateError};

/// A value to fill in.
pub(super) enum Form {
    /// Nothing to fill in anywhere inside.
    Ready(Value),
    Template(Template),
    List(Vec<Form>),
    Object(Vec<(String, Form)>),
}

impl Form {
    /// Parses every string inside.
    pub(super) fn parse(value: &Value) -> Result<Self, TemplateError> {
        Ok(match value {
            Value::String(text) => {
                let template = Template::parse(text)?;
                // `{% raw %}` makes a text that reads nothing and still is not its own rendering.
                if template.is_literal() { Self::Ready(value.clone()) } else { Self::Template(template) }
            }
            Value::Array(items) => {
                let forms = items.iter().map(Self::parse).collect::<Result<Vec<_>, _>>()?;
                if forms.iter().all(Self::is_ready) { Self::Ready(value.clone()) } else { Self::List(forms) }
            }
            Value::Object(entries) => {
                let forms = entries
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), Self::parse(value)?)))
                    .collect::<Result<Vec<_>, _>>()?;
                if forms.iter().all(|(_, form)| form.is_ready()) {
                    Self::Ready(value.clone())
                } else {
                    Self::Object(forms)
                }
            }
            other => Self::Ready(other.clone()),
        })
    }

    /// Parses one string.
    pub(super) fn text(text: &str) -> Result<Self, TemplateError> {
        Self::parse(&Value::String(text.to_owned()))
    }

    /// Whether there is nothing to fill in.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// The value with everything filled in from `scope`.
    pub(super) fn fill(&self, scope: &Value) -> Result<Value, TemplateError> {
        Ok(match self {
            Self::Ready(value) => value.clone(),
            Self::Template(template) => template.render(scope)?,
            Self::List(items) => {
                Value::Array(items.iter().map(|item| item.fill(scope)).collect::<Result<_, _>>()?)
            }
            Self::Object(entries) => {
                let mut object = Map::new();
                for (key, form) in entries {
                    object.insert(key.clone(), form.fill(scope)?);
                }
                Value::Object(object)
            }
        })
    }

    /// The value as text: a string as it is, anything else as JSON.
    pub(super) fn fill_text(&self, scope: &Value) -> Result<String, TemplateError> {
        self.fill(scope).map(into_text)
    }
}

/// A value as text: a string as it is, anything else as JSON.
pub(super) fn into_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
