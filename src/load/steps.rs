//! One step at a time: its templates, its tool, its arguments, and the steps it names.
//!
//! Main type: [`Parts`], what the checks of a step leave for the workflow. Knows nothing of the order
//! of steps.

use indexmap::IndexMap;
use serde_json::Value;

use super::arguments::check_arguments;
use super::graph::Node;
use super::names::written;
use super::references::{Arguments, Named, steps_read};
use super::schemas::read_schema;
use super::templates::{Readable, Texts};
use super::tools::Tools;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::{Field, Spanned, StepDoc, StepType};
use crate::id::StepId;
use crate::spec::Effect;
use crate::template::{Condition, Template};
use crate::workflow::{Arg, Dependency, Origin};

/// What the checks of a step leave.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub description: Option<Template>,
    pub when: Option<Condition>,
    pub expect: Option<Condition>,
    pub args: Option<IndexMap<String, Arg>>,
    pub output_schema: Option<Value>,
}

/// The checks of steps.
pub(super) struct Steps<'a, 't> {
    pub texts: &'t mut Texts<'a>,
    pub tools: &'t Tools<'a>,
    pub origin: Origin,
    pub repairs: &'t mut Vec<String>,
}

impl Steps<'_, '_> {
    /// Checks one step.
    pub fn check<'d>(&mut self, step: &'d StepDoc, trail: &Trail<'_>) -> (Parts, Node<'d>) {
        let mut named = Vec::new();
        list(step.depends_on.get(), &trail.key("depends_on"), Dependency::Order, &mut named);
        list(step.inputs.get(), &trail.key("inputs"), Dependency::Data, &mut named);
        let mut parts = Parts::default();
        if self.origin == Origin::Model {
            parts.description = step.description.get().map(|text| Template::literal(text));
            self.drop_keys(step);
        } else {
            self.texts_of(step, trail, &mut parts, &mut named);
        }
        if let Some(args) = step.args.get() {
            let mut reader = Arguments { texts: self.texts, named: &mut named, origin: self.origin };
            parts.args = Some(reader.read(args, &trail.key("args")));
        }
        let overlaps = self.tool(step, trail, &parts);
        (parts, Node { step, named, overlaps })
    }

    fn texts_of(&mut self, step: &StepDoc, trail: &Trail<'_>, parts: &mut Parts, named: &mut Vec<Named>) {
        if let Some(id) = step.id.spanned() {
            let text = Spanned { value: id.value.as_str().to_owned(), span: id.span };
            self.texts.plain(&text, &trail.key("id"), "the id of a step is no template", "write it out");
        }
        if let Some(text) = step.description.spanned() {
            let trail = trail.key("description");
            parts.description = self.texts.template(&text.value, text.span, &trail, Readable::STEP);
            if let Some(template) = &parts.description {
                let places = self.texts.places(&text.value, text.span);
                steps_read(template.reads(), |read| places.of(&read.range), &trail, named);
            }
        }
        parts.when = self.condition(&step.when, &trail.key("when"), Readable::STEP, named);
        parts.expect = self.condition(&step.expect, &trail.key("expect"), Readable::EXPECT, named);
        if !step.output_schema.is_missing() {
            let trail = trail.key("output_schema");
            parts.output_schema = read_schema(&step.output_schema, &trail, &mut self.texts.found);
        }
    }

    fn condition(
        &mut self,
        field: &Field<String>,
        trail: &Trail<'_>,
        may: Readable<'_>,
        named: &mut Vec<Named>,
    ) -> Option<Condition> {
        let text = field.spanned()?;
        let condition = self.texts.condition(&text.value, text.span, trail, may)?;
        let places = self.texts.places(&text.value, text.span);
        steps_read(condition.reads(), |read| places.of(&read.range), trail, named);
        Some(condition)
    }

    /// What a model may not say about a step.
    fn drop_keys(&mut self, step: &StepDoc) {
        let keys = [
            ("when", step.when.is_missing()),
            ("expect", step.expect.is_missing()),
            ("retry", step.retry.is_missing()),
            ("timeout", step.timeout.is_missing()),
            ("output_schema", step.output_schema.is_missing()),
        ];
        for (key, _) in keys.into_iter().filter(|(_, missing)| !missing) {
            let id = step.id.get().map_or("?", StepId::as_str);
            self.repairs.push(format!("dropped `{key}` of step {id}"));
        }
    }

    /// Checks the tool and the arguments; whether the step may overlap with others that only read.
    fn tool(&mut self, step: &StepDoc, trail: &Trail<'_>, parts: &Parts) -> bool {
        if step.kind.get() != Some(&StepType::ToolCall) {
            return false;
        }
        let Some(name) = step.tool.spanned() else { return false };
        let Some(tool) = self.tools.get(&name.value) else {
            if self.tools.incomplete {
                return false;
            }
            let why = "which tool a step calls cannot come from a template";
            if self.origin == Origin::Person
                && self.texts.plain(
                    name,
                    &trail.key("tool"),
                    why,
                    "write the name of one tool; `when` decides whether a step runs",
                )
            {
                return false;
            }
            let message = format!("no tool named `{}`", name.value);
            let mut one =
                Diagnostic::new(Code::UnknownTool, name.span, message).path(trail.key("tool").to_string());
            one.help = self.tools.advice(&name.value);
            if let Some(meant) = self.tools.meant(&name.value) {
                one = one.suggest(name.span, written(meant));
            }
            self.texts.found.push(one);
            return false;
        };
        if let (Some(node), Some(args)) = (step.args.get(), &parts.args)
            && let Some((schema, keys)) = tool.arguments()
        {
            let holes = holes(args);
            let found = check_arguments(schema, keys, node, &holes, &trail.key("args"));
            self.texts.found.extend(found);
        }
        // A step that leaves its arguments to the model, and does not say what it needs, needs what was
        // before it.
        let told = parts.args.is_some() || tool.takes_none || !step.depends_on.is_missing();
        tool.effect == Some(Effect::Read) && told
    }
}

fn list(ids: Option<&Vec<Spanned<StepId>>>, trail: &Trail<'_>, why: Dependency, named: &mut Vec<Named>) {
    for (at, id) in ids.into_iter().flatten().enumerate() {
        let path = trail.index(at).to_string();
        named.push(Named { id: id.value.clone(), span: id.span, path, why, scalar: true });
    }
}

/// The JSON Pointers of arguments that have no value yet.
fn holes(args: &IndexMap<String, Arg>) -> Vec<String> {
    fn walk(arg: &Arg, pointer: &mut String, found: &mut Vec<String>) {
        let length = pointer.len();
        match arg {
            Arg::Value(_) => {}
            Arg::Template(_) | Arg::Reference(_) => found.push(pointer.clone()),
            Arg::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{at}"));
                    walk(item, pointer, found);
                    pointer.truncate(length);
                }
            }
            Arg::Object(entries) => object(entries, pointer, found),
        }
    }
    fn object(entries: &IndexMap<String, Arg>, pointer: &mut String, found: &mut Vec<String>) {
        let length = pointer.len();
        for (key, arg) in entries {
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            walk(arg, pointer, found);
            pointer.truncate(length);
        }
    }
    let mut found = Vec::new();
    object(args, &mut String::new(), &mut found);
    found
}
