//! Reading one mapping by its table: which keys are known, which are missing, what stands under them.
//!
//! Main type: [`Fields`]. A misspelt key stands in for the one it was meant to be: that one is then
//! neither missing nor wrong a second time. Knows no particular key.

use std::sync::Arc;

use super::Lowering;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::document::keys::Table;
use crate::document::node::{Entry, Node, Style};
use crate::document::path::Path;
use crate::document::types::{Field, Spanned};
use crate::source::Span;

/// How many unknown keys of one mapping are reported one by one.
const MAX_UNKNOWN: usize = 100;

/// A mapping that is being read.
pub(super) struct Fields<'a> {
    pub node: &'a Arc<Node>,
    pub entries: &'a [Entry],
    pub path: &'a Path<'a>,
    pub table: &'static Table,
    /// Keys that something misspelt was meant to be.
    meant: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The entry of a key, if it is there with a value.
    pub fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| &*entry.key == key && !entry.value.is_null())
    }

    /// Whether a misspelt key was meant to be this one.
    pub fn is_meant(&self, key: &str) -> bool {
        self.meant.contains(&key)
    }

    /// An empty place at the start of the mapping.
    pub fn start(&self) -> Span {
        Span::at(self.node.span.start)
    }
}

impl Lowering {
    /// Opens a mapping and reports its unknown keys; `extra` are known besides those of the table.
    pub(super) fn fields<'a>(
        &mut self,
        node: &'a Arc<Node>,
        path: &'a Path<'a>,
        table: &'static Table,
        extra: impl Fn(&str) -> bool,
    ) -> Option<Fields<'a>> {
        let Some(entries) = node.as_map() else {
            self.wrong_type(node, path, &format!("{} is a mapping of keys", table.what), None);
            return None;
        };
        // A key with an empty place stands in what could not be read, and may belong elsewhere.
        let unknown = |entry: &&Entry| {
            table.key(&entry.key).is_none() && !extra(&entry.key) && entry.key_span.end > entry.key_span.start
        };
        let mut absent: Vec<&'static str> = table.keys.iter().map(|key| key.name).collect();
        absent.retain(|name| !entries.iter().any(|entry| &*entry.key == *name));
        let mut meant = Vec::new();
        for entry in entries.iter().filter(unknown).take(MAX_UNKNOWN) {
            meant.extend(self.unknown_key(entry, &absent, path, table));
        }
        let left = entries.iter().filter(unknown).skip(MAX_UNKNOWN).count();
        if let (Some(last), true) = (self.diagnostics.last_mut(), left > 0) {
            last.message.push_str(&format!(", nor {left} more that follow"));
        }
        Some(Fields { node, entries, path, table, meant })
    }

    fn unknown_key(
        &mut self,
        entry: &Entry,
        absent: &[&'static str],
        path: &Path<'_>,
        table: &'static Table,
    ) -> Option<&'static str> {
        let diagnostic = Diagnostic::new(
            Code::UnknownKey,
            entry.key_span,
            format!("{} has no key `{}`", table.what, entry.key),
        )
        .path(Path::Key(path, &entry.key).to_string());
        if table.later.contains(&&*entry.key) {
            self.diagnostics.push(diagnostic.help("this version does not have that key yet"));
            return None;
        }
        let near = nearest(&entry.key, absent.iter().copied());
        let known: Vec<&str> = table.keys.iter().map(|key| key.name).collect();
        let known = format!("known keys: {}", known.join(", "));
        self.diagnostics.push(match near {
            Some(near) => {
                // In JSON, and wherever a key is quoted, the quotes are part of its place.
                let quoted = entry.key_span.end - entry.key_span.start == entry.key.len() + 2;
                let replacement = if quoted { format!("\"{near}\"") } else { near.to_owned() };
                diagnostic
                    .help(format!("did you mean `{near}`? {known}"))
                    .suggest(entry.key_span, replacement)
            }
            None => diagnostic.help(known),
        });
        absent.iter().copied().find(|name| Some(*name) == near)
    }

    /// Reads the value of a key. `read` gives `None` where it reported something.
    pub(super) fn field<'a, T>(
        &mut self,
        fields: &Fields<'a>,
        key: &'static str,
        read: impl FnOnce(&mut Self, &'a Arc<Node>, &Path<'_>) -> Option<T>,
    ) -> Field<T> {
        debug_assert!(
            fields.table.key(key).is_some(),
            "bug: `{key}` is not in the table of {}",
            fields.table.what
        );
        let Some(entry) = fields.entry(key) else {
            return if fields.is_meant(key) { Field::Reported } else { Field::Missing };
        };
        if entry.value.is_reported() {
            return Field::Reported;
        }
        match read(self, &entry.value, &Path::Key(fields.path, key)) {
            Some(value) => {
                Field::Present { key: entry.key_span, value: Spanned { value, span: entry.value.span } }
            }
            None => Field::Reported,
        }
    }

    /// Reports a key that has to be there and is not.
    pub(super) fn require<T>(&mut self, fields: &Fields<'_>, key: &str, field: &mut Field<T>, why: &str) {
        if field.is_missing() {
            let found = if fields.entries.iter().any(|entry| &*entry.key == key) {
                format!("`{key}` has no value, and {} needs one", fields.table.what)
            } else {
                format!("{} needs the key `{key}`", fields.table.what)
            };
            self.diagnostics.push(
                Diagnostic::new(Code::MissingKey, fields.start(), found)
                    .path(fields.path.to_string())
                    .help(why),
            );
            *field = Field::Reported;
        }
    }

    /// Reports a value that is not what its key holds: "expected …, found …".
    pub(super) fn wrong_type(&mut self, node: &Node, path: &Path<'_>, expected: &str, help: Option<String>) {
        if node.is_reported() {
            return;
        }
        let mut diagnostic = Diagnostic::new(
            Code::WrongType,
            node.span,
            format!("{expected}, and this is {}", node.describe()),
        )
        .path(path.to_string());
        let glued = node.as_str().filter(|text| {
            text.split_once(':').is_some_and(|(key, value)| {
                !value.starts_with([' ', '/'])
                    && !key.is_empty()
                    && key.chars().all(|c| c.is_alphanumeric() || c == '_')
            })
        });
        if let Some(text) = glued
            && node.as_scalar().is_some_and(|scalar| scalar.style == Style::Plain)
            && help.is_none()
        {
            let colon = node.span.start + text.find(':').unwrap_or(0);
            diagnostic = diagnostic.suggest(Span::new(colon, colon + 1), ": ");
        }
        diagnostic.help = match (help, glued) {
            (None, Some(text)) => {
                Some(format!("a key needs a space behind its colon: `{}`", text.replacen(':', ": ", 1)))
            }
            (help, _) => help,
        };
        self.diagnostics.push(diagnostic);
    }

    /// Reports a value of the right type that means nothing here.
    pub(super) fn invalid(
        &mut self,
        code: Code,
        node: &Node,
        path: &Path<'_>,
        message: String,
        help: String,
    ) {
        self.diagnostics.push(Diagnostic::new(code, node.span, message).path(path.to_string()).help(help));
    }
}
