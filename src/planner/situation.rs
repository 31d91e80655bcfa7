//! What a model is told when it is asked how a plan goes on.
//!
//! Main type: [`Situation`]: goal, steps with what came of them, and the step after which it is asked. Pure
//! functions to text; knows no model and no reply.

use serde_json::Value;

use crate::event::Failure;
use crate::llm::Message;
use crate::run::Status;
use crate::run::{StepState, View, excerpt};
use crate::spec::ToolSpec;

/// Longest part of one result or failure that is shown, in characters: the model decides about a plan, it
/// does not work with the results.
const SHOWN_CHARS: usize = 4_000;

/// A plan under way, and the step after which the model is asked about it.
pub struct Situation<'a> {
    pub view: View<'a>,
    /// The position of the step: it has failed for good, or is done.
    pub about: usize,
    /// The tools a new step may call.
    pub tools: Vec<ToolSpec>,
    /// What a person was asked about this, and said.
    pub said: Vec<(String, String)>,
}

impl Situation<'_> {
    /// The step after which the model is asked.
    pub fn step(&self) -> &StepState {
        &self.view.state.steps[self.about]
    }

    /// Whether that step has failed.
    pub fn has_failed(&self) -> bool {
        self.step().status == Status::Failed
    }

    /// Whether a step may still be changed: it has not begun, or it has failed.
    pub(super) fn is_open(&self, step: &StepState) -> bool {
        matches!(step.status, Status::Pending | Status::Failed)
    }

    /// The conversation that asks.
    ///
    /// # Errors
    /// If the goal or the system prompt cannot be rendered.
    pub(super) fn messages(&self) -> Result<Vec<Message>, Failure> {
        let mut messages = Vec::new();
        messages.extend(self.view.system()?.map(|text| Message::System { text }));
        messages.push(Message::User { text: self.question()? });
        for (question, answer) in &self.said {
            let asked = serde_json::json!({"decision": "ask", "question": question});
            messages.push(Message::Assistant { text: asked.to_string(), calls: Vec::new() });
            let text = format!("The person answers: {answer}\n\nNow decide, in the same form.");
            messages.push(Message::User { text });
        }
        Ok(messages)
    }

    fn question(&self) -> Result<String, Failure> {
        let task = self.view.goal()?.map(|task| format!("Task: {task}\n\n")).unwrap_or_default();
        let steps = (0..self.view.plan.steps.len()).map(|at| self.line(at)).collect::<Vec<_>>().join("\n");
        let tools: Vec<String> = self.tools.iter().map(tool).collect();
        Ok(format!(
            "A plan is being carried out, and you decide how it goes on. Nothing runs meanwhile.\n\n{task}\
             Steps:\n{steps}\n\n{what}\n\nTools that new steps may call:\n{tools}\n\n{form}",
            what = self.what_happened()?,
            tools = tools.join("\n"),
            form = self.form(),
        ))
    }

    fn line(&self, at: usize) -> String {
        let (step, state) = (&self.view.plan.steps[at], &self.view.state.steps[at]);
        let title = self.view.description(at).unwrap_or_else(|_| step.title());
        let tool = step.tool().map(|tool| format!(" {tool}")).unwrap_or_default();
        let args =
            state.args.as_ref().map(|args| format!(" {}", Value::Object(args.clone()))).unwrap_or_default();
        let mut line = format!(
            "- step {} [{}] {}{tool}{}: {title}",
            step.id,
            state.status.as_str(),
            step.kind(),
            short(args)
        );
        match (&state.result, &state.failure, &state.cancelled) {
            (Some(result), ..) if state.status == Status::Done => {
                line.push_str(&format!("\n  result: {}", shown(result)))
            }
            (_, Some(failure), _) if state.status == Status::Failed => {
                line.push_str(&format!("\n  failure: {}", short(failure.message.clone())));
            }
            (.., Some(reason)) => line.push_str(&format!("\n  cancelled: {reason}")),
            _ => {}
        }
        line
    }

    fn what_happened(&self) -> Result<String, Failure> {
        let (step, id) = (self.step(), &self.step().id);
        if let (Status::Failed, Some(failure)) = (step.status, &step.failure) {
            let tries = if step.tries() == 1 { "once".to_owned() } else { format!("{} times", step.tries()) };
            let failure = short(failure.message.clone());
            return Ok(format!("Step {id} was tried {tries} and has failed: {failure}"));
        }
        let result = step.result.as_deref().cloned().unwrap_or_default();
        Ok(match (self.view.expectation(self.about, &result)?, &self.view.plan.steps[self.about].expect) {
            (Some(false), Some(expect)) => format!(
                "Step {id} is done, but its result is not what was expected of it: `{}` is not true.",
                expect.text()
            ),
            _ => format!("Step {id} is done. Is the rest of the plan still right, given its result?"),
        })
    }

    fn form(&self) -> String {
        let id = &self.step().id;
        let (goes_on, retry) = match self.has_failed() {
            true => (
                format!("step {id} is given up, and so is what reads its result; the others run as planned"),
                format!(
                    "- \"retry\": step {id} is tried once more; \"args\" (an object), if given, are its arguments from now on.\n"
                ),
            ),
            false => ("the plan stays as it is".to_owned(), String::new()),
        };
        format!(
            "Answer with one JSON object and nothing else: {{\"decision\": \"…\", \"reason\": \"why, in a \
             sentence\"}}, with one of these decisions:\n\
             - \"continue\": {goes_on}.\n{retry}\
             - \"replace\": \"steps\" (a list) run in the place of every step that is pending or failed. Each is \
             {{\"id\", \"description\", \"tool\", \"args\"}} with an id that no step above has; a result of a step that \
             is done, or of an earlier new one, is written {{\"step_result\": ID}}. Values are JSON values, not \
             expressions.\n\
             - \"reorder\": \"order\" (a list of ids) says which of the pending or failed steps run first.\n\
             - \"cancel\": \"steps\" (a list of ids) will not run.\n\
             - \"ask\": \"question\" is put to the person who started this; only for what nobody else can know."
        )
    }
}

fn tool(tool: &ToolSpec) -> String {
    format!("- {}: {}\n  arguments: {}", tool.name, tool.description.trim(), tool.parameters)
}

fn shown(value: &Value) -> String {
    short(match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

fn short(text: String) -> String {
    excerpt(text, SHOWN_CHARS)
}
