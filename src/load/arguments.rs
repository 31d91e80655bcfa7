//! Whether given arguments fit a tool's schema, as far as they are known before a run.
//!
//! Main type: [`Keys`], the names a schema knows. A template or a reference has no value yet: what a
//! check says about it, or what depends on it, is not reported.

use std::collections::HashSet;

use serde_json::Value;

use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::document::node::{Kind, Node};
use crate::spec::{MismatchKind, Schema};
use crate::template::Template;

/// The argument names of a schema.
#[derive(Debug)]
pub(super) struct Keys {
    names: Vec<String>,
    set: HashSet<String>,
    /// Whether the schema refuses an argument that is not among the names.
    closed: bool,
    /// Whether the schema says nothing of other arguments: one that looks like a name is misspelt.
    silent: bool,
    /// Whether what one argument must be depends on another.
    conditional: bool,
}

impl Keys {
    pub fn of(schema: &Value) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let open =
            ["patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas", "$dynamicRef"]
                .iter()
                .any(|key| schema.get(key).is_some());
        let additional = schema.get("additionalProperties");
        let names: Vec<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        Self {
            set: names.iter().cloned().collect(),
            names,
            closed: additional == Some(&Value::Bool(false)) && !open,
            silent: additional.is_none() && properties.is_some() && !open,
            conditional: is_conditional(schema),
        }
    }

    /// The names, if nothing is said of others: a definition that reads another one will find nothing.
    pub fn declared(&self) -> Option<impl Iterator<Item = &str>> {
        (self.closed || self.silent).then(|| self.names.iter().map(String::as_str))
    }

    fn has(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// Whether an argument of that name is a mistake, among the given ones.
    fn refuses(&self, name: &str, args: &Node) -> bool {
        if self.has(name) {
            return false;
        }
        let left = self.names.iter().map(String::as_str).filter(|known| args.get(known).is_none());
        self.closed || (self.silent && nearest(name, left).is_some())
    }
}

/// What does not fit. `holes` are the JSON Pointers of values that are not known yet.
pub(super) fn check_arguments(
    schema: &Schema,
    keys: &Keys,
    args: &Node,
    holes: &[String],
    trail: &Trail<'_>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for entry in args.as_map().unwrap_or_default() {
        if keys.refuses(&entry.key, args) {
            found.push(unknown(keys, &entry.key, entry.key_span, trail.key(&entry.key).to_string()));
        }
    }
    if keys.conditional && !holes.is_empty() {
        return found;
    }
    for mismatch in schema.check(&args.to_json()) {
        let node = args.pointer(&mismatch.pointer).unwrap_or(args);
        match (mismatch.kind, mismatch.key.as_deref()) {
            (MismatchKind::MissingKey, Some(key)) => {
                let message = format!("the argument `{key}` is missing");
                let path = trail.pointer(&mismatch.pointer);
                let help = format!(
                    "add `{key}: …` here: a value, or `{{step_result: ID}}` for what an earlier step gives"
                );
                found.push(Diagnostic::new(Code::MissingArgument, node.span, message).path(path).help(help));
            }
            (MismatchKind::UnknownKey, Some(key)) => {
                // At the top this was said above.
                if !(keys.closed && mismatch.pointer.is_empty()) {
                    let span = node.entry(key).map_or(node.span, |entry| entry.key_span);
                    let path = format!("{}.{key}", trail.pointer(&mismatch.pointer));
                    let message = format!("there is no argument `{key}`");
                    found.push(Diagnostic::new(Code::UnknownArgument, span, message).path(path));
                }
            }
            _ => {
                let at = &mismatch.pointer;
                if !holes.iter().any(|hole| leads_into(hole, at) || leads_into(at, hole)) {
                    let path = trail.pointer(at);
                    let message = match at.rsplit_once('/') {
                        Some((_, name)) => {
                            format!("the argument `{name}` does not fit: {}", mismatch.message)
                        }
                        None => format!("the arguments do not fit: {}", mismatch.message),
                    };
                    found.push(Diagnostic::new(Code::ArgumentType, node.span, message).path(path));
                }
            }
        }
    }
    found
}

fn unknown(keys: &Keys, key: &str, span: crate::source::Span, path: String) -> Diagnostic {
    let found =
        Diagnostic::new(Code::UnknownArgument, span, format!("there is no argument `{key}`")).path(path);
    let known = keys.names.join(", ");
    match nearest(key, keys.names.iter().map(String::as_str)) {
        Some(near) => {
            found.help(format!("did you mean `{near}`? known arguments: {known}")).suggest(span, near)
        }
        None if keys.names.is_empty() => found.help("this tool takes no arguments"),
        None => found.help(format!("known arguments: {known}")),
    }
}

/// Whether the value at `inner` is the one at `outer`, or inside it.
fn leads_into(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_conditional(schema: &Value) -> bool {
    match schema {
        Value::Object(keys) => keys.iter().any(|(key, value)| {
            matches!(key.as_str(), "if" | "not" | "dependentSchemas" | "contains") || is_conditional(value)
        }),
        Value::Array(items) => items.iter().any(is_conditional),
        _ => false,
    }
}

/// The pointers of all strings in a tree that are templates: their values are not known yet.
pub(super) fn templates(node: &Node) -> Vec<String> {
    fn walk(node: &Node, pointer: &mut String, found: &mut Vec<String>) {
        let mut down = |part: &str, node: &Node, pointer: &mut String| {
            let length = pointer.len();
            pointer.push('/');
            pointer.push_str(&part.replace('~', "~0").replace('/', "~1"));
            walk(node, pointer, found);
            pointer.truncate(length);
        };
        match &node.kind {
            Kind::List(items) => {
                items.iter().enumerate().for_each(|(at, item)| down(&at.to_string(), item, pointer));
            }
            Kind::Map(entries) => entries.iter().for_each(|entry| down(&entry.key, &entry.value, pointer)),
            _ => {
                let literal = |text| Template::parse(text).is_ok_and(|text| text.is_literal());
                if node.as_str().is_some_and(|text| !literal(text)) {
                    found.push(pointer.clone());
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(node, &mut String::new(), &mut found);
    found
}
