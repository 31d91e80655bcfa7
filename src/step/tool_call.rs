//! A `tool_call` step: arguments given, or asked of the model and checked, then one call.
//!
//! A tool never runs with arguments that do not fit its schema, and never with `{}` in the place of
//! unreadable ones. Knows no tool by name.

use serde_json::{Map, Value};

use super::ask::{Dialogue, REPAIRS};
use super::strict::Strict;
use super::{Attempt, Question, Trouble, model_failure};
use crate::event::{Fact, Failure, FailureKind, Progress};
use crate::llm::{Choice, Finish, Reply, ResponseFormat};
use crate::spec::{Mismatch, ToolSpec};
use crate::tool::{CallContext, Entry, ToolFault, ToolFaultKind};

impl Attempt<'_> {
    /// Calls a tool, once. Its result is noted.
    pub(super) async fn call(&self, entry: &Entry, args: Map<String, Value>) -> Result<(), Trouble> {
        let spec = entry.tool.spec();
        let args = Value::Object(args);
        let mismatches = entry.arguments.check(&args);
        let Value::Object(args) = args else { unreachable!("bug: an object stays one") };
        if !mismatches.is_empty() {
            let message = format!("the arguments do not fit the tool `{}`: {}", spec.name, list(&mismatches));
            return Err(Failure::new(FailureKind::Input, message).into());
        }
        // What would be ended at once is not begun.
        if self.means.stop.is_cancelled() {
            return Err(Trouble::Stopped);
        }
        let called =
            Fact::ToolCalled { step: self.step.clone(), tool: spec.name.clone(), args: args.clone() };
        self.sink.record(called).await?;
        let progress = |text: String| {
            self.sink.progress(Progress::ToolOutput { step: self.step.clone(), text });
        };
        // A retry and an interrupted call that is made again are the same work; a step that a person
        // asks to be done once more is not.
        let key = match self.round {
            0 => format!("{}:{}", self.means.run, self.step),
            round => format!("{}:{}:{round}", self.means.run, self.step),
        };
        let context = CallContext {
            run: &self.means.run,
            step: self.step,
            attempt: self.attempt,
            key: &key,
            stop: &self.means.stop,
            timeout: self.left(),
            max_output_bytes: self.means.max_output_bytes,
            progress: &progress,
        };
        let result = entry.tool.call(&args, &context).await.map_err(|fault| self.trouble(spec, &fault))?;
        self.sink.note(Fact::ToolReturned { step: self.step.clone(), tool: spec.name.clone(), result });
        Ok(())
    }

    /// What a fault of a tool is for the step: a failure, unless the call was ended with the run.
    fn trouble(&self, spec: &ToolSpec, fault: &ToolFault) -> Trouble {
        let failure = match fault.kind {
            ToolFaultKind::Stopped => return Trouble::Stopped,
            ToolFaultKind::Permanent => return Failure::new(FailureKind::Tool, fault.to_string()).into(),
            ToolFaultKind::Transient => {
                return Failure::transient(FailureKind::Tool, fault.to_string(), fault.retry_after).into();
            }
            // The tool was told only what was left of the step's time.
            ToolFaultKind::Timeout if self.left().is_some_and(|left| left.is_zero()) => {
                self.out_of_time(&format!("the tool `{}` did not finish", spec.name))
            }
            ToolFaultKind::Timeout => Failure::new(FailureKind::Timeout, fault.to_string()),
        };
        // Nobody knows how far a call came whose time was over: one that must not be repeated is not.
        Failure { transient: spec.effect != crate::spec::Effect::Once, ..failure }.into()
    }

    /// Asks the model for a tool's arguments until they fit, within bounds.
    pub(super) async fn ask_arguments(
        &self,
        entry: &Entry,
        question: Question,
    ) -> Result<Map<String, Value>, Trouble> {
        let spec = entry.tool.spec();
        let mut dialogue = Dialogue::new(self, question);
        let mut format = None;
        let mut repairs = 0;
        loop {
            let reply = dialogue.ask(Choice::Tool(spec.name.clone()), format.clone()).await?;
            if reply.finish == Finish::Refused {
                let said = if reply.text.is_empty() { String::new() } else { format!(": {}", reply.text) };
                return Err(model_failure(format!("the model declined to answer{said}")).into());
            }
            let complaint = match arguments(&reply, spec) {
                Ok(args) => match entry.arguments.check(&args) {
                    mismatches if mismatches.is_empty() => match args {
                        Value::Object(args) => return Ok(args),
                        _ => unreachable!("bug: only an object is read as arguments"),
                    },
                    mismatches => list(&mismatches),
                },
                // A server that ignores the choice and answers in text: some of them do enforce a
                // response format. This is asked once and is no repair.
                Err(_) if reply.calls.is_empty() && format.is_none() => {
                    let name = "arguments".to_owned();
                    format = Some(ResponseFormat { name, schema: spec.parameters.clone() });
                    continue;
                }
                Err(complaint) => complaint,
            };
            if repairs == REPAIRS {
                let message = format!(
                    "the model gave no arguments that fit the tool `{}` in {} tries; the last time: {complaint}",
                    spec.name,
                    repairs + 1
                );
                return Err(model_failure(message).into());
            }
            repairs += 1;
            let complaint = format!(
                "That cannot be used: {complaint}.\nCall the tool `{}` again with a JSON object that fits this schema:\n{}",
                spec.name, spec.parameters
            );
            dialogue.send_back(reply, &complaint);
        }
    }
}

/// The arguments in a reply: those of the one call of the tool, or the text read as if it were them.
fn arguments(reply: &Reply, spec: &ToolSpec) -> Result<Value, String> {
    if let Some(other) = reply.calls.iter().find(|call| call.name != spec.name) {
        return Err(format!("`{}` was called, where only `{}` may be", other.name, spec.name));
    }
    let cut = if reply.finish == Finish::Length { " (the answer was cut at the token limit)" } else { "" };
    let mut read = None;
    for call in &reply.calls {
        let args = object(&call.arguments).map_err(|error| format!("the arguments are {error}{cut}"))?;
        match &read {
            Some(first) if *first != args => {
                return Err(format!("`{}` was called several times with different arguments", spec.name));
            }
            _ => read = Some(args),
        }
    }
    match read {
        Some(args) => Ok(args),
        None if reply.text.trim().is_empty() => Err(format!("the answer is empty{cut}")),
        None => object(unfenced(&reply.text)).map_err(|error| format!("the answer is {error}{cut}")),
    }
}

fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text.trim()) {
        Ok(Strict(value @ Value::Object(_))) => Ok(value),
        Ok(_) => Err("JSON, but not an object".to_owned()),
        Err(error) => Err(format!("not valid JSON: {error}")),
    }
}

/// The text inside a code fence, if all of it stands in one.
pub(super) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|inside| inside.split_once('\n')) {
        Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body,
        _ => text,
    }
}

/// All that does not fit, in one line.
pub(super) fn list(mismatches: &[Mismatch]) -> String {
    let one = |mismatch: &Mismatch| match mismatch.pointer.as_str() {
        "" => mismatch.message.clone(),
        pointer => format!("at {pointer}: {}", mismatch.message),
    };
    mismatches.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_taken_off_only_if_all_of_the_text_is_in_it() {
        assert_eq!(unfenced("```json\n{\"a\": 1}\n```").trim(), "{\"a\": 1}");
        assert_eq!(unfenced("```\n{}\n```").trim(), "{}");
        assert_eq!(unfenced("see ```\n{}\n```"), "see ```\n{}\n```");
    }
}
