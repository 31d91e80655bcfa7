//! What a model is told when it is asked for a plan, and when its plan has mistakes.
//!
//! Pure functions from the goal and from diagnostics to text. Knows no model and no reply format but
//! the one it describes.

use serde_json::{Value, json};

use super::Goal;
use crate::diagnostic::Diagnostic;
use crate::llm::Message;
use crate::source::Source;

/// The conversation that asks for a plan.
pub(super) fn first(goal: &Goal) -> Vec<Message> {
    let mut messages = Vec::new();
    messages.extend(goal.system.clone().map(|text| Message::System { text }));
    messages.push(Message::User { text: request(goal) });
    messages
}

fn request(goal: &Goal) -> String {
    let tools: Vec<String> = goal
        .tools
        .iter()
        .map(|tool| format!("- {}: {}\n  arguments: {}", tool.name, tool.description.trim(), tool.parameters))
        .collect();
    format!(
        "Write a plan for the task below. Nothing is carried out yet: the plan is checked first, then \
         run step by step without you.\n\n\
         Tools:\n{tools}\n\n\
         Rules:\n\
         - Every step calls one of these tools, by its exact name, with arguments that fit its schema.\n\
         - Put the steps in the order in which they must run, and number them from 1.\n\
         - A value that an earlier step will produce is never written down: put {{\"step_result\": ID}} \
         in its place, with the id of that step. For a part of a result add \"pointer\", a JSON Pointer.\n\
         - A step of type \"reasoning\" (only a description) has you think about earlier results; one of \
         type \"aggregate\" (a description and \"inputs\", a list of ids) combines them into text. Use \
         them only where no tool does the work.\n\
         - Values are JSON values: no expressions, no placeholders, no comments.\n\n\
         Answer with one JSON object and nothing else, in this form:\n{example}\n\n\
         Task: {task}",
        tools = tools.join("\n"),
        example = example(goal),
        task = goal.task,
    )
}

/// A plan in the right form, with a tool the model may really call.
fn example(goal: &Goal) -> Value {
    let tool = goal.tools.first().map_or("TOOL", |tool| tool.name.as_str());
    json!({"steps": [
        {"id": 1, "description": "What this step does", "tool": tool, "args": {"NAME": "VALUE"}},
        {"id": 2, "description": "What this step does", "tool": tool, "args": {"NAME": {"step_result": 1}}},
    ]})
}

/// Every mistake of a plan in one message: the place, what is wrong, what to do.
pub(super) fn complaint(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let mistakes: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| {
            let place = match diagnostic.path.as_str() {
                "" => format!("line {}", source.position(diagnostic.span.start).line),
                path => path.to_owned(),
            };
            let help = diagnostic.help.as_ref().map(|help| format!(". {help}")).unwrap_or_default();
            format!("- {place}: {} ({}){help}", diagnostic.message, diagnostic.code)
        })
        .collect();
    format!(
        "That plan cannot be used as it is:\n{}\n\nAnswer with the whole plan again, mended: one JSON \
         object with \"steps\", and nothing else.",
        mistakes.join("\n")
    )
}
