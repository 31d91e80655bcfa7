//! The top of a document: its keys, its declared inputs, its model and its bounds.
//!
//! Steps and tools have files of their own.

use std::sync::Arc;

use super::Lowering;
use super::fields::Fields;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::keys::{FILE, LIMITS, MODEL, REPLAN};
use crate::document::node::{Entry, Kind, Node};
use crate::document::path::Path;
use crate::document::types::{
    Document, Field, Gaps, InputDoc, LimitsDoc, ModelDoc, ReplanDoc, ReplanWhen, Spanned, StepDoc,
};

impl Lowering {
    pub(super) fn document(&mut self, root: &Arc<Node>) -> Document {
        let mut document =
            Document { span: root.span, steps_key: "workflow_sequence", ..Document::default() };
        if root.as_map().is_none() {
            if !root.is_reported() {
                let help = match (root.as_str().and_then(|text| text.split_once(':')), root.as_list()) {
                    (Some((key, value)), _) => {
                        format!("a key needs a space behind its colon: `{key}: {}`", value.trim())
                    }
                    (None, Some(_)) => "put the list under `workflow_sequence:`".to_owned(),
                    (None, None) => "write keys with values, such as `task: what is to be done`".to_owned(),
                };
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::NotAMapping,
                        root.span,
                        format!("a workflow file is a mapping of keys, and this is {}", root.describe()),
                    )
                    .help(help),
                );
            }
            document.steps = Field::Reported;
            document.gaps = Gaps { inputs: true, env: true, tools: true };
            return document;
        }
        let Some(fields) = self.fields(root, &Path::Root, &FILE, |key| key.starts_with("x-")) else {
            return document;
        };
        document.name = self.field(&fields, "name", Self::line);
        document.description = self.field(&fields, "description", Self::text);
        document.task = self.field(&fields, "task", Self::text);
        document.system = self.field(&fields, "system", Self::text);
        document.model = self.field(&fields, "model", Self::model);
        let inputs = self.field(&fields, "inputs", Self::inputs);
        let env = self.field(&fields, "env", Self::env);
        let tools = self.field(&fields, "tools", Self::tools);
        document.gaps =
            Gaps { inputs: inputs.is_reported(), env: env.is_reported(), tools: tools.is_reported() };
        document.inputs = take(inputs);
        document.env = take(env);
        document.tools = take(tools);
        if let Field::Present { value, .. } =
            self.field(&fields, "limits", |this, node, path| this.limits(node, path))
        {
            document.limits = value.value;
        }
        document.replan = self.field(&fields, "replan", Self::replan);
        document.steps = self.steps_of_file(&fields, &mut document.steps_key);
        document
    }

    fn steps_of_file(&mut self, fields: &Fields<'_>, key: &mut &'static str) -> Field<Vec<StepDoc>> {
        if let (Some(first), Some(second)) = (fields.entry("workflow_sequence"), fields.entry("steps")) {
            let (first, second) = match first.key_span <= second.key_span {
                true => (first, second),
                false => (second, first),
            };
            self.diagnostics.push(
                Diagnostic::new(
                    Code::ConflictingKeys,
                    second.key_span,
                    "`workflow_sequence` and `steps` both hold the steps, and a file has one of them",
                )
                .path(&*second.key)
                .help("keep `workflow_sequence`, or `steps` where the file is a plan")
                .related(first.key_span, "the other one is here"),
            );
        }
        let sequence =
            self.field(fields, "workflow_sequence", |this, node, path| this.steps(node, path, false));
        let plan = self.field(fields, "steps", |this, node, path| this.steps(node, path, true));
        match (sequence, plan) {
            (Field::Missing, plan @ (Field::Present { .. } | Field::Reported)) => {
                *key = "steps";
                plan
            }
            (Field::Missing, Field::Missing) => Field::Missing,
            (sequence, Field::Missing) => sequence,
            _ => Field::Reported,
        }
    }

    fn model(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<ModelDoc> {
        if node.as_str().is_some() {
            let name = self.line(node, path)?;
            let name = Spanned { value: name, span: node.span };
            return Some(ModelDoc {
                name: Field::Present { key: node.span, value: name },
                ..ModelDoc::default()
            });
        }
        if node.as_map().is_none() {
            let help = "write `model: openai/gpt-5-mini`".to_owned();
            self.wrong_type(node, path, "a model is a name or a mapping", Some(help));
            return None;
        }
        let fields = self.fields(node, path, &MODEL, |_| false)?;
        let mut model = ModelDoc {
            name: self.field(&fields, "name", Self::line),
            base_url: self.field(&fields, "base_url", Self::line),
            temperature: self.field(&fields, "temperature", |this, node, path| this.number(node, path, 0.0)),
            max_tokens: self.count(&fields, "max_tokens"),
            seed: self.field(&fields, "seed", |this, node, path| this.integer(node, path, i64::MIN)),
            timeout: self.field(&fields, "timeout", Self::time_limit),
        };
        self.require(&fields, "name", &mut model.name, "write provider and model: `name: openai/gpt-5-mini`");
        Some(model)
    }

    fn replan(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<ReplanDoc> {
        if node.as_map().is_none() {
            let when = Self::replan_when(self, node, path)?;
            let when = Field::Present { key: node.span, value: Spanned { value: when, span: node.span } };
            return Some(ReplanDoc { when, limit: Field::Missing });
        }
        let fields = self.fields(node, path, &REPLAN, |_| false)?;
        let mut replan = ReplanDoc {
            when: self.field(&fields, "when", Self::replan_when),
            limit: self.field(&fields, "limit", Self::few),
        };
        self.require(&fields, "when", &mut replan.when, "say when: `when: on_failure`");
        Some(replan)
    }

    fn replan_when(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<ReplanWhen> {
        let words = [("on_failure", ReplanWhen::OnFailure), ("after_each", ReplanWhen::AfterEach)];
        self.word(node, path, "word for when a plan is revised", &words)
    }

    fn limits(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<LimitsDoc> {
        let fields = self.fields(node, path, &LIMITS, |_| false)?;
        Some(LimitsDoc {
            timeout: self.field(&fields, "timeout", Self::time_limit),
            max_tokens: self.count(&fields, "max_tokens"),
            max_steps: self.count(&fields, "max_steps"),
            max_result_chars: self.count(&fields, "max_result_chars"),
            max_output_bytes: self.count(&fields, "max_output_bytes"),
        })
    }

    /// An integer of one or more.
    fn count(&mut self, fields: &Fields<'_>, key: &'static str) -> Field<u64> {
        self.field(fields, key, |this, node, path| this.integer(node, path, 1).map(i64::unsigned_abs))
    }

    fn env(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Vec<Spanned<String>>> {
        if node.as_map().is_some() {
            let help =
                "write only the names: `env: [SHOP_TOKEN]`; the values come from the environment".to_owned();
            self.wrong_type(node, path, "a list of names of environment variables belongs here", Some(help));
            return None;
        }
        let names = self.texts(node, path)?;
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
        };
        let before = self.diagnostics.len();
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_name(&name.value)) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::InvalidValue,
                    name.span,
                    format!("`{}` is no name of an environment variable", name.value),
                )
                .path(Path::Index(path, index).to_string())
                .help("names are letters, digits and `_`; write the name alone, without `$` and without a value"),
            );
        }
        (self.diagnostics.len() == before).then_some(names)
    }

    fn inputs(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Vec<InputDoc>> {
        let Some(entries) = node.as_map() else {
            let help = "write each input with its JSON Schema: `week: {type: string}`".to_owned();
            self.wrong_type(node, path, "a mapping of names to inputs belongs here", Some(help));
            return None;
        };
        Some(entries.iter().map(|entry| self.input(entry, &Path::Key(path, &entry.key))).collect())
    }

    fn input(&mut self, entry: &Entry, path: &Path<'_>) -> InputDoc {
        let mut input = InputDoc {
            name: Spanned { value: entry.key.to_string(), span: entry.key_span },
            schema: Field::Missing,
            default: Field::Missing,
            description: Field::Missing,
        };
        let node = &entry.value;
        let Some(keywords) = node.as_map() else {
            if !node.is_null() {
                let help = format!("write `{}: {{type: string}}`, with `default:` for a value", entry.key);
                self.wrong_type(node, path, "an input is a mapping of JSON Schema keywords", Some(help));
                input.schema = Field::Reported;
                input.default = Field::Reported;
                input.description = Field::Reported;
            }
            return input;
        };
        let mut schema = Vec::with_capacity(keywords.len());
        for keyword in keywords {
            match &*keyword.key {
                "default" if keyword.value.has_reported() => input.default = Field::Reported,
                // Null is a value here: an input may have it by default.
                "default" => input.default = present(keyword, keyword.value.clone()),
                "description" => {
                    let text = self.text(&keyword.value, &Path::Key(path, "description"));
                    input.description = text.map_or(Field::Reported, |text| present(keyword, text));
                }
                _ => schema.push(keyword.clone()),
            }
        }
        if !schema.is_empty() {
            let node = Arc::new(Node { span: node.span, kind: Kind::Map(schema) });
            let whole = !node.has_reported();
            input.schema = if whole { present(entry, node) } else { Field::Reported };
        }
        input
    }
}

fn present<T>(entry: &Entry, value: T) -> Field<T> {
    Field::Present { key: entry.key_span, value: Spanned { value, span: entry.value.span } }
}

fn take<T>(field: Field<Vec<T>>) -> Vec<T> {
    match field {
        Field::Present { value, .. } => value.value,
        Field::Missing | Field::Reported => Vec::new(),
    }
}
