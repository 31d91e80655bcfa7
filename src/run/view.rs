//! What a step sees: the conversation before it and its resolved arguments.
//!
//! Main type: [`View`]. A pure function of the plan, the inputs and the results: never of timing, so a
//! run that is resumed or replayed asks the same. Knows no wire format.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::state::{RunState, StepState};
use super::transition::Status;
use crate::event::{Failure, FailureKind};
use crate::id::{StepId, ToolName};
use crate::template::{Read, Template};
use crate::workflow::{Action, Arg, Plan, Reference, Step, Workflow};

/// One turn of the conversation a step sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// The system prompt.
    System(String),
    /// The goal.
    Task(String),
    /// What a step was told to do.
    Instruction(String),
    /// A tool step's call and its result.
    /// `id` is fixed by the step's place in the plan, so that the same run asks the same.
    Call { id: String, tool: ToolName, args: Map<String, Value>, result: String },
    /// A model step's text.
    Text(String),
}

/// A result of an earlier step, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub step: StepId,
    pub title: String,
    pub tool: Option<ToolName>,
    pub value: Arc<Value>,
}

/// What a step sees of a run.
#[derive(Clone, Debug)]
pub struct View<'a> {
    pub workflow: &'a Workflow,
    pub plan: &'a Plan,
    /// The goal, where the command line gives another than the file.
    pub task: Option<&'a str>,
    pub state: &'a RunState,
}

impl View<'_> {
    /// Whether the step at a position is to run, by its `when`.
    ///
    /// # Errors
    /// If the condition cannot be evaluated with the results there are.
    pub fn condition(&self, position: usize) -> Result<bool, Failure> {
        match &self.plan.steps[position].when {
            None => Ok(true),
            Some(condition) => {
                condition.holds(&self.scope(condition.reads())).map_err(|error| in_field("when", &error))
            }
        }
    }

    /// Whether a result is what the step at a position expects; `None` where it says nothing of it.
    ///
    /// # Errors
    /// If the expectation cannot be evaluated with the results there are.
    pub fn expectation(&self, position: usize, result: &Value) -> Result<Option<bool>, Failure> {
        let Some(expect) = &self.plan.steps[position].expect else { return Ok(None) };
        let mut scope = self.scope(expect.reads());
        scope["result"] = result.clone();
        expect.holds(&scope).map(Some).map_err(|error| in_field("expect", &error))
    }

    /// The arguments given for the step at a position, with references and templates filled in.
    ///
    /// # Errors
    /// If one cannot be resolved with the results there are.
    pub fn args(&self, position: usize) -> Result<Option<Map<String, Value>>, Failure> {
        let Action::ToolCall { args: Some(args), .. } = &self.plan.steps[position].action else {
            return Ok(None);
        };
        let mut resolved = Map::new();
        for (name, arg) in args {
            resolved.insert(
                name.clone(),
                self.arg(arg).map_err(|error| in_field(&format!("args.{name}"), &error))?,
            );
        }
        Ok(Some(resolved))
    }

    /// The goal with its templates filled in.
    ///
    /// # Errors
    /// If it cannot be rendered.
    pub fn goal(&self) -> Result<Option<String>, Failure> {
        match (self.task, &self.workflow.task) {
            (Some(task), _) => Ok(Some(task.to_owned())),
            (None, Some(task)) => self.text("task", task).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The system prompt with its templates filled in.
    ///
    /// # Errors
    /// If it cannot be rendered.
    pub fn system(&self) -> Result<Option<String>, Failure> {
        self.workflow.system.as_ref().map(|system| self.text("system", system)).transpose()
    }

    /// What the step at a position is for, with its templates filled in.
    ///
    /// # Errors
    /// If it cannot be rendered.
    pub fn description(&self, position: usize) -> Result<String, Failure> {
        let step = &self.plan.steps[position];
        match &step.description {
            Some(description) => self.text("description", description),
            None => Ok(step.title()),
        }
    }

    /// The results the step at a position can see, in file order: those of its transitive
    /// dependencies that are done.
    pub fn results(&self, position: usize) -> Vec<Seen> {
        let ancestors = self.plan.graph.ancestors(position);
        ancestors.into_iter().filter_map(|at| self.seen(at)).collect()
    }

    /// The conversation of the step at a position, its own instruction last.
    ///
    /// # Errors
    /// If a template in it cannot be rendered.
    pub fn conversation(&self, position: usize) -> Result<Vec<Turn>, Failure> {
        let mut turns = Vec::new();
        turns.extend(self.system()?.map(Turn::System));
        turns.extend(self.goal()?.map(Turn::Task));
        for at in self.plan.graph.ancestors(position) {
            let Some(seen) = self.seen(at) else { continue };
            turns.push(Turn::Instruction(self.instruction(at)?));
            turns.push(match seen.tool {
                Some(tool) => Turn::Call {
                    args: self.state.steps[at].args.clone().unwrap_or_default(),
                    result: self.shown(&seen.value),
                    id: format!("call_{}", at + 1),
                    tool,
                },
                None => Turn::Text(self.shown(&seen.value)),
            });
        }
        turns.push(Turn::Instruction(self.instruction(position)?));
        Ok(turns)
    }

    /// What a step is told to do. The same when it is asked and when a later step looks back.
    fn instruction(&self, position: usize) -> Result<String, Failure> {
        let step = &self.plan.steps[position];
        let mut text = format!("Step {}: {}", step.id, self.description(position)?);
        match &step.action {
            Action::ToolCall { tool, args: None } => {
                text.push_str(&format!(
                    "\n\nCall the tool `{tool}` now. Take its arguments from the conversation so far; do not invent values."
                ));
            }
            Action::ToolCall { tool, args: Some(_) } => {
                text.push_str(&format!("\n\nThe tool `{tool}` is called with given arguments."));
            }
            Action::Reasoning { output_schema } => push_shape(&mut text, output_schema.as_ref()),
            Action::Aggregate { inputs, output_schema } => {
                text.push_str("\n\nCombine these results:");
                for id in inputs {
                    if let Some(seen) = self.plan.position(id).and_then(|at| self.seen(at)) {
                        text.push_str(&format!(
                            "\n\n## Step {id}: {}\n\n{}",
                            seen.title,
                            self.shown(&seen.value)
                        ));
                    }
                }
                push_shape(&mut text, output_schema.as_ref());
            }
        }
        Ok(text)
    }

    fn seen(&self, position: usize) -> Option<Seen> {
        let (step, state) = (&self.plan.steps[position], &self.state.steps[position]);
        let value = done(state)?.clone();
        let title = self.description(position).unwrap_or_else(|_| step.title());
        Some(Seen { step: step.id.clone(), title, tool: step.tool().cloned(), value })
    }

    /// A result as a model is shown it: strings as they are, other values as JSON, a long one cut.
    fn shown(&self, value: &Value) -> String {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        excerpt(text, self.workflow.limits.max_result_chars)
    }

    fn text(&self, field: &str, template: &Template) -> Result<String, Failure> {
        if template.is_literal() {
            return Ok(template.text().to_owned());
        }
        template.render_text(&self.scope(template.reads())).map_err(|error| in_field(field, &error))
    }

    /// The names a template may read, with the results of just the steps it names.
    fn scope(&self, reads: &[Read]) -> Value {
        let mut steps = Map::new();
        for read in reads.iter().filter(|read| read.root == "steps") {
            let step = read.path.first().and_then(|id| self.state.step(&StepId::string(id.as_str())));
            if let Some((step, result)) = step.and_then(|step| Some((step, done(step)?))) {
                steps.insert(step.id.to_string(), json!({"result": **result}));
            }
        }
        json!({"inputs": self.state.inputs, "steps": steps})
    }

    fn arg(&self, arg: &Arg) -> Result<Value, String> {
        match arg {
            Arg::Value(value) => Ok(value.clone()),
            Arg::Template(template) => {
                template.render(&self.scope(template.reads())).map_err(|error| error.to_string())
            }
            Arg::Reference(reference) => self.reference(reference),
            Arg::List(items) => {
                items.iter().map(|item| self.arg(item)).collect::<Result<_, _>>().map(Value::Array)
            }
            Arg::Object(entries) => entries
                .iter()
                .map(|(name, arg)| Ok((name.clone(), self.arg(arg)?)))
                .collect::<Result<_, _>>()
                .map(Value::Object),
        }
    }

    fn reference(&self, reference: &Reference) -> Result<Value, String> {
        let result = self.state.step(&reference.step).and_then(done);
        let result = result.ok_or_else(|| format!("step {} has no result", reference.step))?;
        match &reference.pointer {
            None => Ok((**result).clone()),
            Some(pointer) => result.pointer(pointer).cloned().ok_or_else(|| {
                format!(
                    "the result of step {} has nothing at {pointer:?}; {}",
                    reference.step,
                    nearest_there(result, pointer)
                )
            }),
        }
    }
}

fn done(step: &StepState) -> Option<&Arc<Value>> {
    step.result.as_ref().filter(|_| step.status == Status::Done)
}

fn in_field(field: &str, error: &impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Input, format!("{field} cannot be resolved: {error}"))
}

fn push_shape(text: &mut String, schema: Option<&Value>) {
    if let Some(schema) = schema {
        text.push_str(&format!("\n\nAnswer with JSON alone that fits this JSON Schema:\n{schema}"));
    }
}

/// How far a pointer leads, and what is there.
fn nearest_there(value: &Value, pointer: &str) -> String {
    let mut there = value;
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let next = format!("{path}/{part}");
        match value.pointer(&next) {
            Some(found) => (there, path) = (found, next),
            None => break,
        }
    }
    let place = if path.is_empty() { "it".to_owned() } else { format!("{path:?}") };
    match there {
        Value::Object(entries) => {
            let keys: Vec<&str> = entries.keys().take(20).map(String::as_str).collect();
            format!("{place} has the keys {}", keys.join(", "))
        }
        Value::Array(items) => format!("{place} is a list of {}", items.len()),
        _ => format!("{place} is neither an object nor a list"),
    }
}

/// Keeps the first and last part of a text that is longer than allowed, with a mark between them.
pub fn excerpt(text: String, allowed: usize) -> String {
    let length = if text.len() <= allowed { return text } else { text.chars().count() };
    if length <= allowed {
        return text;
    }
    let tail = allowed / 3;
    let head = allowed - tail;
    let cut = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    format!(
        "{}\n… [{} characters left out] …\n{}",
        &text[..cut(head)],
        length - allowed,
        &text[cut(length - tail)..]
    )
}

/// The tools the steps of a plan name, each once, in file order.
pub fn tools_named(steps: &[Step]) -> Vec<ToolName> {
    let mut names = indexmap::IndexSet::new();
    names.extend(steps.iter().filter_map(Step::tool).cloned());
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_keeps_head_and_tail_and_says_what_is_missing() {
        assert_eq!(excerpt("äöü".into(), 3), "äöü");
        assert_eq!(excerpt("äöüßabc".into(), 3), "äö\n… [4 characters left out] …\nc");
        assert_eq!(excerpt("abc".into(), 0), "\n… [3 characters left out] …\n");
    }

    #[test]
    fn a_pointer_that_leads_nowhere_says_how_far_it_led() {
        let value = json!({"rows": [{"name": "a", "sum": 1}]});
        assert_eq!(nearest_there(&value, "/row"), "it has the keys rows");
        assert_eq!(nearest_there(&value, "/rows/3"), "\"/rows\" is a list of 1");
        assert_eq!(nearest_there(&value, "/rows/0/sums"), "\"/rows/0\" has the keys name, sum");
        assert_eq!(nearest_there(&value, "/rows/0/sum/x"), "\"/rows/0/sum\" is neither an object nor a list");
    }
}
