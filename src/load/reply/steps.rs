//! One step as a model wrote it, put into the shape of the format.
//!
//! Main type: [`Normal`]. Other names for the same thing are read as it, nothing is added: what is
//! missing or wrong is left for the checks to report. Does not know the order of steps.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Number, Value};

use crate::diagnostic::Diagnostic;
use crate::document::node::{Entry, Kind, Node, Scalar, ScalarValue, Style};
use crate::document::reply::{Repair, read_whole};
use crate::load::Scope;
use crate::source::Source;
use crate::spec::ToolSpec;

/// The keys a model's step may have.
const KEYS: [&str; 7] = ["id", "type", "tool", "args", "inputs", "description", "depends_on"];

/// Keys of the article's form that say how far a step is: nothing to a plan.
const STATE: [&str; 2] = ["status", "result"];

const TOOL: [&str; 6] = ["tool_name", "function_name", "function", "action", "tool_call", "name"];
const ARGS: [&str; 7] = ["arguments", "parameters", "input", "params", "tool_input", "tool_args", "inputs"];
const ID: [&str; 3] = ["step_id", "step_number", "step"];
const DEPENDS_ON: [&str; 3] = ["dependencies", "dependsOn", "depends"];

/// Puts the steps of one plan into shape.
pub(super) struct Normal<'a> {
    source: &'a Source,
    tools: HashMap<&'a str, &'a ToolSpec>,
    /// The ids there are, as written, by their text.
    ids: HashMap<String, Arc<Node>>,
    /// The same by their bare form (`1` for `step_1`); `None` where two have the same.
    bare: HashMap<String, Option<Arc<Node>>>,
    pub(super) repairs: Vec<String>,
    pub(super) errors: Vec<Diagnostic>,
}

impl<'a> Normal<'a> {
    /// For the steps of a list.
    pub(super) fn new(source: &'a Source, scope: &'a Scope, steps: &Node) -> Self {
        let tools = scope.tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let mut this = Self {
            source,
            tools,
            ids: HashMap::new(),
            bare: HashMap::new(),
            repairs: Vec::new(),
            errors: Vec::new(),
        };
        for step in steps.as_list().unwrap_or_default() {
            let Some(entry) = id_entry(step) else { continue };
            let id = whole(&entry.value).unwrap_or_else(|| entry.value.clone());
            if let Some(text) = id.as_scalar().map(|scalar| scalar.text.to_string()) {
                let bare = this.bare.entry(bare(&text)).or_insert_with(|| Some(id.clone()));
                if bare.as_ref().is_some_and(|other| !Arc::ptr_eq(other, &id)) {
                    *bare = None;
                }
                this.ids.entry(text).or_insert(id);
            }
        }
        this
    }

    /// A step in the shape of the format.
    pub(super) fn step(&mut self, step: &Arc<Node>) -> Arc<Node> {
        let Some(entries) = step.as_map() else { return step.clone() };
        let id = id_entry(step);
        let label = id.and_then(|id| id.value.as_scalar()).map_or("?".into(), |id| id.text.clone());
        let calls =
            !matches!(step.get("type").and_then(|kind| kind.as_str()), Some("reasoning" | "aggregate"));

        let mut made: Vec<Entry> = Vec::new();
        let mut used: Vec<&str> = KEYS.into_iter().chain(STATE).collect();
        if let Some(entry) = id {
            let value = match whole(&entry.value) {
                Some(id) => {
                    self.say(format!("read the id {} as {}", text(&entry.value), text(&id)));
                    id
                }
                None => entry.value.clone(),
            };
            used.push(&entry.key);
            made.push(self.renamed(entry, "id", value));
        }
        if let Some(entry) = step.entry("type") {
            made.push(Entry { value: self.kind(step, &entry.value), ..entry.clone() });
        }
        let mut inner = None;
        if let Some(entry) = present(step, "tool").or_else(|| self.tool_alias(step).filter(|_| calls)) {
            used.push(&entry.key);
            // `{"function": {"name": …, "arguments": …}}`: one level more of the same two things.
            inner = entry.value.as_map().is_some().then(|| entry.value.clone());
            let name = inner.as_ref().and_then(|inner| present(inner, "name").or(present(inner, "tool")));
            let value = name.map_or(&entry.value, |name| &name.value).clone();
            if name.is_some() {
                self.say(format!("took the tool's name out of `{}`", entry.key));
                made.push(Entry { key: "tool".into(), key_span: entry.key_span, value });
            } else {
                made.push(self.renamed(entry, "tool", value));
            }
        }
        let tool = made.iter().find(|entry| &*entry.key == "tool").and_then(|entry| entry.value.as_str());
        let schema = tool.and_then(|tool| self.tools.get(tool)).map(|tool| &tool.parameters);
        let args = present(step, "args")
            .or_else(|| alias(step, &ARGS[..ARGS.len() - 1]).filter(|_| calls))
            // A call has no `inputs`; given as an object they are its arguments.
            .or_else(|| step.entry("inputs").filter(|entry| calls && entry.value.as_map().is_some()))
            .or_else(|| inner.as_ref().and_then(|inner| present(inner, "args").or(alias(inner, &ARGS))));
        if let Some(entry) = args {
            used.push(&entry.key);
            let value = self.args(&entry.value, schema, &label);
            made.push(self.renamed(entry, "args", value));
        }
        for key in ["inputs", "depends_on"] {
            let aliases: &[&str] = if key == "depends_on" { &DEPENDS_ON } else { &[] };
            let taken = args.is_some_and(|args| &*args.key == key);
            let entry = present(step, key).or_else(|| alias(step, aliases)).filter(|_| !taken);
            if let Some(entry) = entry {
                used.push(&entry.key);
                let value = self.names(&entry.value);
                made.push(self.renamed(entry, key, value));
            }
        }
        made.extend(step.entry("description").cloned());
        for entry in entries.iter().filter(|entry| !used.contains(&&*entry.key)) {
            self.say(format!("dropped `{}` of step {label}", entry.key));
        }
        Arc::new(Node { span: step.span, kind: Kind::Map(made) })
    }

    fn say(&mut self, repair: String) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    fn renamed(&mut self, entry: &Entry, key: &str, value: Arc<Node>) -> Entry {
        if &*entry.key != key {
            self.say(format!("read `{}` as `{key}`", entry.key));
        }
        Entry { key: key.into(), key_span: entry.key_span, value }
    }

    /// `type: function`, as providers call a tool call.
    fn kind(&mut self, step: &Node, value: &Arc<Node>) -> Arc<Node> {
        let known =
            matches!(value.as_str(), Some("function" | "tool" | "tool-call" | "toolcall" | "function_call"));
        if !known || (step.get("tool").is_none() && alias(step, &TOOL).is_none()) {
            return value.clone();
        }
        self.say(format!("read the type `{}` as `tool_call`", text(value)));
        string("tool_call", value)
    }

    /// The key that names the tool: one whose value is the name of a tool, else the first there is.
    fn tool_alias<'s>(&self, step: &'s Node) -> Option<&'s Entry> {
        let names = |entry: &&Entry| {
            let inner = entry.value.get("name").unwrap_or(&entry.value);
            inner.as_str().is_some_and(|name| self.tools.contains_key(name))
        };
        let there = || TOOL.iter().filter_map(|key| present(step, key));
        there().find(names).or_else(|| there().next())
    }

    fn args(&mut self, value: &Arc<Node>, schema: Option<&Value>, label: &str) -> Arc<Node> {
        let mut value = value.clone();
        if value.as_str().is_some()
            && let Ok(inner) = read_whole(self.source, &value)
            && inner.node.as_map().is_some()
        {
            self.say("read arguments that were given as a JSON string".to_owned());
            let more = inner.repairs.iter().filter(|repair| **repair != Repair::Embedded);
            more.for_each(|repair| self.say(repair.as_str().to_owned()));
            self.errors.extend(inner.duplicates);
            value = inner.node;
        }
        self.argument(&value, schema, label)
    }

    /// A value inside the arguments: references name ids as they are written, a number is a number.
    fn argument(&mut self, value: &Arc<Node>, schema: Option<&Value>, label: &str) -> Arc<Node> {
        let kind = match &value.kind {
            Kind::Map(entries) if value.get("step_result").is_some() => {
                let entries = entries.iter().map(|entry| match &*entry.key {
                    "step_result" => Entry { value: self.name(&entry.value), ..entry.clone() },
                    _ => entry.clone(),
                });
                Kind::Map(entries.collect())
            }
            Kind::Map(entries) => {
                let properties = schema.and_then(|schema| schema.get("properties"));
                let entries = entries.iter().map(|entry| {
                    let schema = properties.and_then(|properties| properties.get(&*entry.key));
                    Entry { value: self.argument(&entry.value, schema, label), ..entry.clone() }
                });
                Kind::Map(entries.collect())
            }
            Kind::List(items) => {
                let schema = schema.and_then(|schema| schema.get("items"));
                Kind::List(items.iter().map(|item| self.argument(item, schema, label)).collect())
            }
            Kind::Scalar(scalar) if scalar.value == ScalarValue::String && wants_number(schema) => {
                let text = scalar.text.trim();
                let Ok(number) = serde_json::from_str::<Number>(text) else { return value.clone() };
                self.say(format!("read the text \"{}\" in step {label} as a number", scalar.text));
                let value = ScalarValue::Number(number);
                Kind::Scalar(Scalar { text: text.into(), style: Style::Plain, value })
            }
            _ => return value.clone(),
        };
        Arc::new(Node { span: value.span, kind })
    }

    /// The names of steps in a list.
    fn names(&mut self, value: &Arc<Node>) -> Arc<Node> {
        let Some(items) = value.as_list() else { return value.clone() };
        let items = items.iter().map(|item| match item.get("step_result") {
            Some(id) if item.as_map().is_some_and(|entries| entries.len() == 1) => {
                self.say(format!("read a reference to step {} as its id", text(id)));
                self.name(id)
            }
            _ => self.name(item),
        });
        Arc::new(Node { span: value.span, kind: Kind::List(items.collect()) })
    }

    /// The name of a step, as the step itself writes its id.
    fn name(&mut self, value: &Arc<Node>) -> Arc<Node> {
        let Some(scalar) = value.as_scalar() else { return value.clone() };
        let number = whole(value);
        let written = number.as_ref().map_or_else(|| scalar.text.to_string(), |number| text(number));
        let found = self.ids.get(&written).or_else(|| self.bare.get(&bare(&written))?.as_ref());
        let Some(id) = found.and_then(|id| id.as_scalar().cloned()) else { return value.clone() };
        if id.text == scalar.text && id.value == scalar.value {
            return value.clone();
        }
        self.say(format!("read the reference `{}` as {}", scalar.text, id.text));
        Arc::new(Node { span: value.span, kind: Kind::Scalar(id) })
    }
}

/// The entry of a key whose value is not null.
fn present<'s>(node: &'s Node, key: &str) -> Option<&'s Entry> {
    node.entry(key).filter(|entry| !entry.value.is_null())
}

fn alias<'s>(node: &'s Node, names: &[&str]) -> Option<&'s Entry> {
    names.iter().find_map(|name| present(node, name))
}

fn id_entry(step: &Node) -> Option<&Entry> {
    let is_number = |entry: &&Entry| entry.value.describe() != "a string" || &*entry.key == "step_id";
    step.entry("id").or_else(|| alias(step, &ID).filter(is_number))
}

/// The integer of a number that was written with a zero fraction.
fn whole(node: &Node) -> Option<Arc<Node>> {
    let scalar = node.as_scalar().filter(|scalar| matches!(scalar.value, ScalarValue::Number(_)))?;
    let (whole, fraction) = scalar.text.split_once('.')?;
    let integer = whole.parse::<i64>().ok().filter(|_| fraction.bytes().all(|digit| digit == b'0'))?;
    let value = ScalarValue::Number(integer.into());
    let scalar = Scalar { text: integer.to_string().into(), style: Style::Plain, value };
    Some(Arc::new(Node { span: node.span, kind: Kind::Scalar(scalar) }))
}

/// An id without the word models put before it: `1` for `step_1` and `Step 1`.
fn bare(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    let rest = lower.trim_start_matches(['#', '$']);
    let rest = rest.strip_prefix("step").map_or(rest, |rest| rest.trim_start_matches(['_', '-', ' ', '#']));
    if rest.is_empty() { lower } else { rest.to_owned() }
}

fn wants_number(schema: Option<&Value>) -> bool {
    let number = |kind: &Value| matches!(kind.as_str(), Some("number" | "integer"));
    match schema.and_then(|schema| schema.get("type")) {
        Some(Value::Array(kinds)) => kinds.iter().any(number) && kinds.iter().all(|kind| kind != "string"),
        Some(kind) => number(kind),
        None => false,
    }
}

fn text(node: &Node) -> String {
    node.as_scalar().map(|scalar| scalar.text.to_string()).unwrap_or_default()
}

fn string(text: &str, at: &Node) -> Arc<Node> {
    let scalar = Scalar { text: text.into(), style: Style::DoubleQuoted, value: ScalarValue::String };
    Arc::new(Node { span: at.span, kind: Kind::Scalar(scalar) })
}
