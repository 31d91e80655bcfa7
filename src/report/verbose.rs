//! What is said besides when everything is to be said: questions, answers, calls, output, results.
//!
//! Main functions: [`detail`], which takes the place of what an event has to say, and [`output`]. Knows no
//! stream. Of a tool that prints more than anybody can read only some lines come here.

use serde_json::Value;

use super::escape::escape_lines;
use super::look::Look;
use super::value::brief;
use crate::event::{Event, Fact, Progress};
use crate::id::StepId;

/// More of a value is not said; `wf show RUN --step ID` has all of it.
const LONGEST_VALUE: usize = 16 << 10;

/// What an event has to say with all that belongs to it; `told` is what it says otherwise.
pub(super) fn detail(event: &Event, told: Vec<String>, look: Look) -> Vec<String> {
    let mut lines = Vec::new();
    let about = |step: Option<&StepId>| step.map_or("The plan".to_owned(), |step| format!("Step {step}"));
    match &event.fact {
        Fact::ModelAsked { new, .. } => {
            lines.extend(told);
            new.iter().for_each(|message| said(message, look, &mut lines));
        }
        Fact::ModelAnswered { step, answer, usage } => {
            let about = look.shown(&about(step.as_ref())).into_owned();
            lines.push(format!("   {about}: answered ({} tokens in, {} out)", usage.input, usage.output));
            said(answer, look, &mut lines);
        }
        Fact::ToolCalled { step, tool, args } => {
            let call = format!("Step {step} calls {tool} {}", value(&Value::Object(args.clone())));
            lines.push(format!("   {}", look.shown(&call)));
        }
        Fact::ToolReturned { step, tool, result } => {
            let text = format!("Step {step}: {tool} returned {}", value(result));
            lines.push(format!("   {}", look.shown(&text)));
        }
        _ => lines.extend(told),
    }
    lines
}

/// The lines of a tool's output.
pub(super) fn output(progress: &Progress, look: Look) -> Vec<String> {
    // A model's text is said as a whole, when it is there.
    let Progress::ToolOutput { step, text } = progress else { return Vec::new() };
    let step = look.shown(step.as_str());
    text.lines().map(|line| format!("   Step {step} | {}", look.shown(line.trim_end_matches('\r')))).collect()
}

fn value(value: &Value) -> String {
    let (text, whole) = brief(value, LONGEST_VALUE);
    if whole { text } else { text + "…" }
}

/// A message or an answer, as the record has it: who says it, its text, and the calls in it.
fn said(message: &Value, look: Look, lines: &mut Vec<String>) {
    let field = |name: &str| message.get(name).and_then(Value::as_str);
    let who = field("role").unwrap_or("answer");
    let text = field("text").unwrap_or_default();
    if !text.is_empty() {
        let text = escape_lines(text);
        let text = text.trim_end().lines().map(|line| look.shown(&line.replace('\t', "    ")).into_owned());
        let text = text.collect::<Vec<_>>().join("\n       ");
        lines.push(format!("     {}: {text}", look.shown(who)));
    }
    for call in message.get("calls").and_then(Value::as_array).into_iter().flatten() {
        let part = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = format!("{who}: calls {} {}", part("name"), part("arguments"));
        lines.push(format!("     {}", look.shown(&text)));
    }
}
