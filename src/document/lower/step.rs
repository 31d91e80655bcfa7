//! Steps: the list of them, what each type needs, and what it has no use for.
//!
//! From the tree to the fields of a step; does not know which other steps and tools there are.

use std::sync::Arc;

use super::Lowering;
use super::fields::Fields;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::keys::{PLAN_ONLY, RETRY, STEP, STEP_TYPE_WORDS, STEP_TYPES};
use crate::document::node::Node;
use crate::document::path::Path;
use crate::document::types::{Field, RetryDoc, Spanned, StepDoc, StepType};
use crate::source::Span;

impl Lowering {
    /// The steps of a file, or of a plan.
    pub(super) fn steps(&mut self, node: &Arc<Node>, path: &Path<'_>, plan: bool) -> Option<Vec<StepDoc>> {
        let Some(items) = node.as_list() else {
            let help = node.as_map().map(|entries| {
                let name = entries.first().map_or("1", |entry| &*entry.key);
                format!("write each step as an item: `- id: {name}`, with its other keys below `id`")
            });
            self.wrong_type(node, path, "a list of steps belongs here", help);
            return None;
        };
        if items.is_empty() {
            let key = if plan { "steps" } else { "workflow_sequence" };
            let help = format!("write a step, or take `{key}` away and the model plans the task");
            self.invalid(Code::EmptySequence, node, path, "there are no steps in the list".to_owned(), help);
            return None;
        }
        let steps = items.iter().enumerate();
        Some(steps.map(|(index, item)| self.step(item, &Path::Index(path, index), plan)).collect())
    }

    fn step(&mut self, node: &Arc<Node>, path: &Path<'_>, plan: bool) -> StepDoc {
        let Some(fields) = self.fields(node, path, &STEP, |key| plan && PLAN_ONLY.contains(&key)) else {
            return unreadable(node.span);
        };
        let mut id = self.field(&fields, "id", Self::id);
        self.require(&fields, "id", &mut id, "give it a number or a name that no other step has: `id: 1`");
        let kind = self.kind(&fields, plan);
        let mut step = StepDoc {
            span: node.span,
            id,
            kind,
            description: self.field(&fields, "description", Self::text),
            depends_on: self.field(&fields, "depends_on", Self::ids),
            when: self.field(&fields, "when", Self::text),
            expect: self.field(&fields, "expect", Self::text),
            retry: self.field(&fields, "retry", Self::retry),
            timeout: self.field(&fields, "timeout", Self::time_limit),
            tool: self.field(&fields, "tool", Self::line),
            args: self.field(&fields, "args", Self::object),
            inputs: self.field(&fields, "inputs", Self::step_inputs),
            output_schema: self.field(&fields, "output_schema", Self::whole_object),
        };
        if let Some(kind) = step.kind.get().copied() {
            self.keys_of_type(&fields, &mut step, kind);
            self.needs_of_type(&fields, &mut step, kind);
        }
        step
    }

    fn kind(&mut self, fields: &Fields<'_>, plan: bool) -> Field<StepType> {
        let mut kind = self.field(fields, "type", |this, node, path| {
            if node.as_str() == Some("agent") {
                let help = format!("known: {}", STEP_TYPE_WORDS.join(", "));
                this.invalid(
                    Code::InvalidValue,
                    node,
                    path,
                    "this version has no steps of type `agent` yet".to_owned(),
                    help,
                );
                return None;
            }
            let words: Vec<(&str, StepType)> = STEP_TYPES.iter().map(|kind| (kind.as_str(), *kind)).collect();
            this.word(node, path, "type of step", &words)
        });
        if plan && kind.is_missing() {
            let value = Spanned { value: StepType::ToolCall, span: fields.start() };
            return Field::Present { key: fields.start(), value };
        }
        let guess = match (fields.entry("tool"), fields.entry("inputs")) {
            (Some(_), _) => "`type: tool_call`, as it names a tool".to_owned(),
            (None, Some(_)) => "`type: aggregate`, as it has inputs".to_owned(),
            (None, None) => format!("one of {}", STEP_TYPE_WORDS.join(", ")),
        };
        self.require(fields, "type", &mut kind, &format!("add {guess}"));
        kind
    }

    /// Reports keys that steps of this type do not have.
    fn keys_of_type(&mut self, fields: &Fields<'_>, step: &mut StepDoc, kind: StepType) {
        for entry in fields.entries {
            let Some(key) = STEP.key(&entry.key) else { continue };
            // A plan in JSON may name every key, with null for those that do not apply.
            if key.types.is_empty() || key.types.contains(&kind) || entry.value.is_null() {
                continue;
            }
            let types: Vec<String> = key.types.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
            let help = match (key.name, kind) {
                ("inputs", StepType::ToolCall) => {
                    "give a tool its arguments with `args`, and name steps to wait for with `depends_on`"
                }
                ("inputs", _) => "name the steps to wait for with `depends_on`",
                ("tool" | "args", _) => "take it away, or make the step a `tool_call`",
                _ => "take it away, or change the type of the step",
            };
            self.diagnostics.push(
                Diagnostic::new(
                    Code::KeyNotForType,
                    entry.key_span,
                    format!(
                        "a step of type `{}` has no `{}`: it belongs to {}",
                        kind.as_str(),
                        key.name,
                        types.join(" and ")
                    ),
                )
                .path(Path::Key(fields.path, key.name).to_string())
                .help(help),
            );
            match key.name {
                "tool" => step.tool = Field::Reported,
                "args" => step.args = Field::Reported,
                "inputs" => step.inputs = Field::Reported,
                _ => step.output_schema = Field::Reported,
            }
        }
    }

    /// Reports keys that steps of this type must have.
    fn needs_of_type(&mut self, fields: &Fields<'_>, step: &mut StepDoc, kind: StepType) {
        let why = match kind {
            StepType::ToolCall => {
                self.require(fields, "tool", &mut step.tool, "name the tool to call: `tool: fetch_sales`");
                if !step.args.is_missing() {
                    return;
                }
                "say what the call is for, so that the model can choose the arguments, or give them with `args`"
            }
            StepType::Reasoning => "say what the model is to think about",
            StepType::Aggregate => {
                self.require(
                    fields,
                    "inputs",
                    &mut step.inputs,
                    "name the steps whose results are put together: `inputs: [1, 2]`",
                );
                "say what is to be made of the results"
            }
        };
        self.require(fields, "description", &mut step.description, why);
    }

    fn step_inputs(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Vec<Spanned<crate::id::StepId>>> {
        let ids = self.ids(node, path)?;
        if ids.is_empty() {
            let help = "name the steps whose results are put together: `[1, 2]`".to_owned();
            self.invalid(Code::InvalidValue, node, path, "there are no inputs in the list".to_owned(), help);
            return None;
        }
        Some(ids)
    }

    fn retry(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<RetryDoc> {
        if node.as_map().is_none() {
            let help = "write `retry: {max_attempts: 3}`".to_owned();
            self.wrong_type(node, path, "`retry` is a mapping of keys", Some(help));
            return None;
        }
        let fields = self.fields(node, path, &RETRY, |_| false)?;
        Some(RetryDoc {
            max_attempts: self.field(&fields, "max_attempts", Self::few),
            delay: self.field(&fields, "delay", Self::duration),
            max_delay: self.field(&fields, "max_delay", Self::duration),
        })
    }

    /// An integer of one or more that the program counts in 32 bits: more is a slip.
    pub(super) fn few(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<u32> {
        let value = self.integer(node, path, 1)?;
        u32::try_from(value).ok().or_else(|| {
            let help = format!("write at most {}", u32::MAX);
            self.invalid(Code::InvalidValue, node, path, format!("{value} is too large"), help);
            None
        })
    }
}

/// A step of which nothing could be read.
fn unreadable(span: Span) -> StepDoc {
    StepDoc {
        span,
        id: Field::Reported,
        kind: Field::Reported,
        description: Field::Reported,
        depends_on: Field::Reported,
        when: Field::Reported,
        expect: Field::Reported,
        retry: Field::Reported,
        timeout: Field::Reported,
        tool: Field::Reported,
        args: Field::Reported,
        inputs: Field::Reported,
        output_schema: Field::Reported,
    }
}
