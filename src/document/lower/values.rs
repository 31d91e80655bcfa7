//! Reading single values: texts, words, numbers, durations, ids and lists of them.
//!
//! Each function gives `None` after it reported what is wrong, so that a field becomes `Reported`.
//! Knows no key.

use std::sync::Arc;
use std::time::Duration;

use super::Lowering;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::document::duration::{self, Fault};
use crate::document::node::{Kind, Node, Scalar, ScalarValue, Style};
use crate::document::path::Path;
use crate::document::types::Spanned;
use crate::id::StepId;

/// Longest id, in characters.
const MAX_ID: usize = 200;

impl Lowering {
    /// A string.
    pub(super) fn text(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<String> {
        if let Some(text) = node.as_str() {
            self.ambiguous_text(node, path);
            return Some(text.to_owned());
        }
        match node.as_scalar() {
            Some(scalar) if !node.is_null() => self.quote_it(node, scalar, path),
            _ => self.wrong_type(node, path, "a string belongs here", None),
        }
        None
    }

    /// A string that has to stand in one line: a name, an address.
    pub(super) fn line(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<String> {
        if self.ends_a_line(node, path) {
            return None;
        }
        self.text(node, path)
    }

    /// Reports a text behind `|` or `>`, which keep the line end, where there may be none.
    fn ends_a_line(&mut self, node: &Node, path: &Path<'_>) -> bool {
        let block = |scalar: &&Scalar| scalar.style == Style::Block && scalar.text.ends_with('\n');
        let Some(scalar) = node.as_scalar().filter(block) else { return false };
        let text = scalar.text.trim_end();
        let help = match text.contains('\n') {
            true => "write it in one line, right behind the colon".to_owned(),
            false => format!("write it right behind the colon: `{text}`"),
        };
        let message = "`|` and `>` keep the line end behind the text, and this has to be one line".to_owned();
        self.invalid(Code::InvalidValue, node, path, message, help);
        true
    }

    fn quote_it(&mut self, node: &Node, scalar: &Scalar, path: &Path<'_>) {
        let quoted = serde_json::Value::from(&*scalar.text).to_string();
        let mut diagnostic = Diagnostic::new(
            Code::WrongType,
            node.span,
            format!("a string belongs here, and `{}` is {}", scalar.text, node.describe()),
        )
        .path(path.to_string())
        .help(format!("quote it: `{quoted}`"));
        if scalar.style == Style::Plain {
            diagnostic = diagnostic.suggest(node.span, quoted);
        }
        self.diagnostics.push(diagnostic);
    }

    /// One of some words.
    pub(super) fn word<T>(
        &mut self,
        node: &Arc<Node>,
        path: &Path<'_>,
        what: &str,
        words: &[(&'static str, T)],
    ) -> Option<T>
    where
        T: Copy,
    {
        let text = self.line(node, path)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let near = nearest(&text, known.iter().copied());
        let mut help = format!("known: {}", known.join(", "));
        if let Some(near) = near {
            help = format!("did you mean `{near}`? {help}");
        }
        let mut diagnostic = Diagnostic::new(Code::InvalidValue, node.span, format!("`{text}` is no {what}"))
            .path(path.to_string())
            .help(help);
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(node.span, near);
        }
        self.diagnostics.push(diagnostic);
        None
    }

    /// A duration.
    pub(super) fn duration(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Duration> {
        let text = match node.as_scalar().map(|scalar| (&scalar.value, &scalar.text)) {
            Some((ScalarValue::String | ScalarValue::Number(_), text)) => text.trim(),
            _ => {
                self.wrong_type(
                    node,
                    path,
                    "a duration belongs here",
                    Some("write a number and a unit: `30s`".to_owned()),
                );
                return None;
            }
        };
        let fault = match duration::parse(text) {
            Ok(duration) => return Some(duration),
            Err(fault) => fault,
        };
        let joined: String = text.split_whitespace().collect();
        let (message, mend) = match fault {
            Fault::NoUnit => (format!("`{text}` has no unit"), Some(format!("{text}s"))),
            Fault::TooLong => (format!("`{text}` is longer than a year"), None),
            Fault::Shape => (
                format!("`{text}` is no duration"),
                Some(joined).filter(|joined| duration::parse(joined).is_ok()),
            ),
        };
        let help = match (&mend, fault) {
            (Some(mend), _) => format!("write `{mend}`; units are ms, s, m and h"),
            (None, Fault::TooLong) => "write at most `8760h`".to_owned(),
            (None, _) => "write a number and a unit right behind it: `500ms`, `2s`, `5m`, `1h`".to_owned(),
        };
        let mut diagnostic =
            Diagnostic::new(Code::InvalidDuration, node.span, message).path(path.to_string()).help(help);
        if let Some(mend) = mend {
            diagnostic = diagnostic.suggest(node.span, mend);
        }
        self.diagnostics.push(diagnostic);
        None
    }

    /// A duration longer than zero.
    pub(super) fn time_limit(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Duration> {
        let duration = self.duration(node, path)?;
        if duration.is_zero() {
            let help = "take the key away where there should be no limit".to_owned();
            self.invalid(
                Code::InvalidValue,
                node,
                path,
                "a limit of no time at all ends everything".to_owned(),
                help,
            );
            return None;
        }
        Some(duration)
    }

    /// The id of a step: an integer, or a string with something in it.
    pub(super) fn id(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<StepId> {
        let report = |this: &mut Self, message: String, help: &str| {
            this.invalid(Code::InvalidId, node, path, message, help.to_owned());
            None
        };
        let Some(scalar) = node.as_scalar() else {
            if node.is_reported() {
                return None;
            }
            return report(
                self,
                format!("an id is an integer or a string, and this is {}", node.describe()),
                "write `1` or `fetch`",
            );
        };
        let text = &*scalar.text;
        match &scalar.value {
            ScalarValue::Number(number) if !number.is_f64() => match number.as_i64() {
                Some(value) => {
                    if scalar.style == Style::Plain && value.to_string() != text {
                        self.diagnostics.push(
                            Diagnostic::new(
                                Code::AmbiguousScalar,
                                node.span,
                                format!("`{text}` is the integer {value}"),
                            )
                            .path(path.to_string())
                            .help(format!(
                                "quote it if the text is meant: `\"{text}\"`; else write `{value}`"
                            ))
                            .suggest(node.span, format!("\"{text}\"")),
                        );
                    }
                    self.inexact(node, value, path);
                    Some(StepId::integer(value))
                }
                None => report(
                    self,
                    format!("`{text}` is too large for an id"),
                    "quote it, or choose a smaller number",
                ),
            },
            ScalarValue::String if text.trim().is_empty() => {
                report(self, "an id cannot be empty".to_owned(), "write a number or a name: `1`, `fetch`")
            }
            ScalarValue::String if self.ends_a_line(node, path) => None,
            ScalarValue::String if text.chars().any(char::is_control) => report(
                self,
                "an id cannot hold line ends, tabs or control characters".to_owned(),
                "write a short name on one line",
            ),
            ScalarValue::String if text.chars().count() > MAX_ID => report(
                self,
                format!("an id has at most {MAX_ID} characters"),
                "say the rest in `description`",
            ),
            ScalarValue::String => {
                self.ambiguous_text(node, path);
                Some(StepId::string(text))
            }
            _ => {
                report(
                    self,
                    format!("an id is an integer or a string, and `{text}` is {}", node.describe()),
                    "quote it if the text is meant",
                );
                let quotable = scalar.style == Style::Plain && !text.is_empty();
                if let Some(last) = self.diagnostics.last_mut().filter(|_| quotable) {
                    *last = last.clone().suggest(node.span, format!("\"{text}\""));
                }
                None
            }
        }
    }

    /// A list of ids; an item that failed is left out.
    pub(super) fn ids(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Vec<Spanned<StepId>>> {
        self.list(node, path, "a list of step ids belongs here", Self::id)
    }

    /// A list of strings; an item that failed is left out.
    pub(super) fn texts(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Vec<Spanned<String>>> {
        self.list(node, path, "a list of strings belongs here", Self::text)
    }

    /// A list, whole: `None` where it is none, or where an item failed.
    fn list<T>(
        &mut self,
        node: &Arc<Node>,
        path: &Path<'_>,
        expected: &str,
        read: impl Fn(&mut Self, &Arc<Node>, &Path<'_>) -> Option<T>,
    ) -> Option<Vec<Spanned<T>>> {
        let Some(items) = node.as_list() else {
            let scalar = node.as_scalar().filter(|_| !node.is_null() && node.is_inline());
            let mend = scalar.and_then(|scalar| match scalar.style {
                Style::Plain => Some((format!("write `[{}]`", scalar.text), format!("[{}]", scalar.text))),
                _ if is_list(&scalar.text) => {
                    Some(("take the quotes away".to_owned(), scalar.text.to_string()))
                }
                _ => None,
            });
            let (help, mend) = mend.unzip();
            self.wrong_type(node, path, expected, help);
            if let (Some(last), Some(mend)) = (self.diagnostics.last_mut(), mend) {
                *last = last.clone().suggest(node.span, mend);
            }
            return None;
        };
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if let Some(value) = read(self, item, &Path::Index(path, index)) {
                values.push(Spanned { value, span: item.span });
            }
        }
        (values.len() == items.len()).then_some(values)
    }

    /// A mapping with any keys.
    pub(super) fn object(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Arc<Node>> {
        match &node.kind {
            Kind::Map(_) => Some(node.clone()),
            _ => {
                self.wrong_type(node, path, "a mapping belongs here", None);
                None
            }
        }
    }

    /// A mapping that is of no use unless it is whole: a JSON Schema, fixed arguments.
    pub(super) fn whole_object(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Arc<Node>> {
        self.object(node, path).filter(|node| !node.has_reported())
    }

    /// Names with strings; a number or boolean becomes its JSON text.
    pub(super) fn text_map(
        &mut self,
        node: &Arc<Node>,
        path: &Path<'_>,
    ) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
        let Some(entries) = node.as_map() else {
            self.wrong_type(node, path, "a mapping of names to strings belongs here", None);
            return None;
        };
        let mut pairs = Vec::with_capacity(entries.len());
        for entry in entries {
            let value = match &entry.value.kind {
                Kind::Scalar(Scalar { value: ScalarValue::String, text, .. }) => text.to_string(),
                Kind::Scalar(scalar) if scalar.value != ScalarValue::Null => scalar.to_json().to_string(),
                _ => {
                    self.wrong_type(
                        &entry.value,
                        &Path::Key(path, &entry.key),
                        "a string belongs here",
                        None,
                    );
                    continue;
                }
            };
            let name = Spanned { value: entry.key.to_string(), span: entry.key_span };
            pairs.push((name, Spanned { value, span: entry.value.span }));
        }
        (pairs.len() == entries.len()).then_some(pairs)
    }
}

/// Whether a text is a list of plain words and numbers in brackets.
fn is_list(text: &str) -> bool {
    let inner = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| {
        inner
            .chars()
            .all(|character| character.is_alphanumeric() || matches!(character, ' ' | ',' | '_' | '-'))
    })
}
