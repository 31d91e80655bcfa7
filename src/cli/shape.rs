//! A plan as people read it before it runs: the list, and under each step what it would do.
//!
//! Main function: [`listing`]. Knows how a call reads; knows no run.

use serde_json::Value;

use crate::report::Look;
use crate::report::look::Paint;
use crate::report::value::brief;
use crate::run::Status;
use crate::workflow::{Action, Arg, Plan, Step};

/// More of one argument is never shown on a line.
const LONGEST_VALUE: usize = 400;

/// The steps of a plan, a line each, and below each what it does; `note` adds a remark to a step.
pub fn listing(plan: &Plan, look: Look, note: impl Fn(&Step) -> Option<String>) -> Vec<String> {
    let mut lines = Vec::new();
    for step in &plan.steps {
        let title = step.title();
        let title = title.trim().lines().next().unwrap_or_default();
        let label = look.shown(&format!("Step {}: {title}", step.id)).into_owned();
        lines.push(format!("{} {label}", look.mark(Status::Pending)));
        let mut does = look.shown(&call(step)).into_owned();
        if let Some(note) = note(step) {
            does = format!("{does}  ({note})");
        }
        lines.push(look.paint(Paint::Faint, &format!("     {does}")));
    }
    lines
}

/// What a step does, in a line: `add(a: 2, b: step 1)`, `reasoning`, `aggregate of steps 1, 2`.
pub fn call(step: &Step) -> String {
    match &step.action {
        Action::ToolCall { tool, args: Some(args) } => {
            let args = args.iter().map(|(name, arg)| format!("{name}: {}", argument(arg)));
            format!("{tool}({})", args.collect::<Vec<_>>().join(", "))
        }
        Action::ToolCall { tool, args: None } => tool.to_string(),
        Action::Reasoning { .. } => "reasoning".to_owned(),
        Action::Aggregate { inputs, .. } => {
            let word = if inputs.len() == 1 { "step" } else { "steps" };
            let ids = inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!("aggregate of {word} {ids}")
        }
    }
}

fn argument(arg: &Arg) -> String {
    match arg {
        Arg::Value(value) => literal(value),
        Arg::Template(template) => literal(&Value::String(template.text().to_owned())),
        Arg::Reference(reference) => match reference.pointer.as_deref() {
            Some(pointer) if !pointer.is_empty() => format!("step {} {pointer}", reference.step),
            _ => format!("step {}", reference.step),
        },
        Arg::List(items) => {
            let items = items.iter().map(argument).collect::<Vec<_>>().join(", ");
            format!("[{items}]")
        }
        Arg::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", argument(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn literal(value: &Value) -> String {
    let (text, whole) = brief(value, LONGEST_VALUE);
    if whole { text } else { format!("{text}…") }
}
