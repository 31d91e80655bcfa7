//! Where in what a reply holds the list of steps is: under which names, how deep, how encoded.
//!
//! Main type: [`Search`]. Does not look into a step further than to see that it may be one.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::document::node::{Kind, Node};
use crate::document::reply::{Candidate, read_embedded};
use crate::source::{Source, Span};

/// Names models give a plan or its steps. The first two are the format's own.
const NAMES: [&str; 24] = [
    "steps",
    "workflow_sequence",
    "plan",
    "tasks",
    "actions",
    "workflow",
    "sequence",
    "task_list",
    "action_plan",
    "execution_plan",
    "plan_steps",
    "action_sequence",
    "subtasks",
    "todo",
    "todos",
    "tool_calls",
    "calls",
    "output",
    "result",
    "response",
    "answer",
    "data",
    "json",
    "final_answer",
];

/// How deep in objects with such names a list of steps may stand.
const MAX_LEVEL: usize = 4;

/// A list of steps.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) steps: Arc<Node>,
    /// The key it stands under; its own start where there is none.
    pub(super) key: Span,
    /// The object it stands in.
    pub(super) span: Span,
    pub(super) repairs: Vec<String>,
    pub(super) errors: Vec<Diagnostic>,
}

/// Finds the lists of steps in what was read.
#[derive(Debug)]
pub(super) struct Search<'a> {
    source: &'a Source,
    pub(super) found: Vec<Found>,
    /// What stands where a list of steps was expected.
    pub(super) hint: Option<(Span, String)>,
}

/// What led to the place that is looked at.
#[derive(Clone, Default)]
struct Way {
    repairs: Vec<String>,
    errors: Vec<Diagnostic>,
}

impl<'a> Search<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self { source, found: Vec::new(), hint: None }
    }

    /// Looks for lists of steps in one value of the reply.
    pub(super) fn look_into(&mut self, candidate: &Candidate) {
        self.value(&candidate.node, 0, &way(&Way::default(), candidate));
    }

    fn value(&mut self, node: &Arc<Node>, level: usize, way: &Way) {
        match &node.kind {
            Kind::List(items) if items.iter().any(|item| is_step(item)) => {
                let mut way = way.clone();
                way.repairs.push("took a bare list as the steps".to_owned());
                self.push(node, Span::at(node.span.start), node.span, way);
            }
            Kind::List(items) if level < MAX_LEVEL => {
                for item in items.iter().filter(|item| item.as_map().is_some()) {
                    self.value(item, level + 1, way);
                }
            }
            Kind::Map(_) => self.object(node, level, way),
            _ => {}
        }
    }

    fn object(&mut self, node: &Arc<Node>, level: usize, way: &Way) {
        let entries = node.as_map().unwrap_or_default();
        for entry in entries {
            let key = &*entry.key;
            let named = NAMES.contains(&key.to_lowercase().as_str());
            // A plan under an unknown name is still the only thing it can be where it stands alone.
            let alone = entries.len() == 1 && entry.value.as_scalar().is_none();
            if !(named || alone) || level >= MAX_LEVEL {
                continue;
            }
            let mut way = way.clone();
            let rest = entries.iter().filter(|other| other.key != entry.key);
            way.repairs.extend(rest.map(|other| format!("dropped `{}` beside the steps", other.key)));
            let canonical = matches!(key, "steps" | "workflow_sequence");
            if !canonical {
                way.repairs.push(format!("took the steps from `{}`", short(key)));
            }
            match &entry.value.kind {
                Kind::List(items) if canonical || items.iter().any(|item| is_step(item)) => {
                    self.push(&entry.value, entry.key_span, node.span, way);
                }
                Kind::List(items) if items.is_empty() && matches!(key, "plan" | "tasks" | "actions") => {
                    self.push(&entry.value, entry.key_span, node.span, way);
                }
                Kind::List(_) | Kind::Map(_) => self.value(&entry.value, level + 1, &way),
                Kind::Scalar(_) if entry.value.as_str().is_some() => {
                    let before = self.found.len();
                    for candidate in read_embedded(self.source, &entry.value).candidates {
                        let way = self::way(&way, &candidate);
                        if let Kind::List(items) = &candidate.node.kind
                            && items.iter().any(|item| is_step(item))
                        {
                            self.push(&candidate.node, entry.key_span, node.span, way);
                        } else {
                            self.value(&candidate.node, level + 1, &way);
                        }
                    }
                    if self.found.len() == before {
                        self.expected(&entry.value, key);
                    }
                }
                Kind::Scalar(_) | Kind::Reported => self.expected(&entry.value, key),
            }
        }
    }

    fn expected(&mut self, node: &Node, key: &str) {
        let hint = format!("`{}` is {}, not a list of steps", short(key), node.describe());
        self.hint.get_or_insert((node.span, hint));
    }

    fn push(&mut self, steps: &Arc<Node>, key: Span, span: Span, way: Way) {
        let Way { repairs, errors } = way;
        self.found.push(Found { steps: steps.clone(), key, span, repairs, errors });
    }
}

fn way(way: &Way, candidate: &Candidate) -> Way {
    let mut way = way.clone();
    way.repairs.extend(candidate.repairs.iter().map(|repair| repair.as_str().to_owned()));
    way.errors.extend(candidate.duplicates.iter().cloned());
    way
}

/// Whether a value may be a step: an object that says which, or what to call.
fn is_step(node: &Node) -> bool {
    let keys = ["tool", "action", "function", "name", "type", "args", "arguments", "id", "description"];
    let holds_steps = ["steps", "workflow_sequence"].iter().any(|key| node.get(key).is_some());
    node.as_map().is_some() && !holds_steps && keys.iter().any(|key| node.get(key).is_some())
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
