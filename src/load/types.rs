//! What is known of results before a run, and whether references use them as what they are.
//!
//! Main type: [`Types`]. A result is known where its tool says what it returns or the step has an
//! `output_schema`; nothing is guessed. Knows schemas, not how a value comes about.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::Value;

use super::graph::{Node as GraphNode, Order};
use super::names::Names;
use super::steps::Parts;
use super::tools::Tools;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::document::StepDoc;
use crate::document::node::Node;
use crate::id::StepId;
use crate::source::Span;
use crate::spec::{Found, Kinds, Nowhere, find};
use crate::template::Template;
use crate::workflow::{Arg, Input, Reference};

/// The types of everything references can read.
pub(super) struct Types<'c, 'd> {
    pub nodes: &'c [GraphNode<'d>],
    pub parts: &'c [Parts],
    pub order: &'c Order<'d, 'c>,
    pub tools: &'c Tools<'d>,
    pub inputs: &'c IndexMap<String, Input>,
}

/// A result whose schema is known, and where that is declared.
#[derive(Clone, Copy)]
struct Known<'c> {
    schema: &'c Value,
    declared: Option<Span>,
}

/// One step on its way through.
struct Place<'c, 's> {
    /// The schema of the tool's arguments.
    parameters: Option<&'c Value>,
    /// The steps it may name: the others were reported.
    named: HashSet<usize>,
    /// Where in the arguments it is.
    parts: Vec<String>,
    found: &'s mut Vec<Diagnostic>,
}

impl<'c> Types<'c, '_> {
    /// Checks the references in the arguments of all steps.
    pub fn check(&self, key: &str, found: &mut Vec<Diagnostic>) {
        let root = Trail::root(key);
        for (at, (node, parts)) in self.nodes.iter().zip(self.parts).enumerate() {
            let (Some(args), Some(written)) = (&parts.args, node.step.args.get()) else { continue };
            if args.values().all(|arg| matches!(arg, Arg::Value(_))) {
                continue;
            }
            let tool = node.step.tool.get().and_then(|name| self.tools.get(name));
            let mut place = Place {
                parameters: tool.and_then(|tool| tool.parameters.as_ref()),
                named: self.order.waits(at).iter().map(|(other, _)| *other).collect(),
                parts: Vec::new(),
                found,
            };
            let trail = root.index(at);
            self.object(args, written, &trail.key("args"), &mut place);
        }
    }

    fn object(
        &self,
        args: &IndexMap<String, Arg>,
        node: &Node,
        trail: &Trail<'_>,
        place: &mut Place<'c, '_>,
    ) {
        // Both come from the same entries in the same order.
        for ((key, arg), entry) in args.iter().zip(node.as_map().unwrap_or_default()) {
            place.parts.push(key.clone());
            self.arg(arg, &entry.value, &trail.key(key), place);
            place.parts.pop();
        }
    }

    fn arg(&self, arg: &Arg, node: &Node, trail: &Trail<'_>, place: &mut Place<'c, '_>) {
        match arg {
            Arg::Value(_) => {}
            Arg::Object(args) => self.object(args, node, trail, place),
            Arg::List(args) => {
                for (at, (arg, node)) in args.iter().zip(node.as_list().unwrap_or_default()).enumerate() {
                    place.parts.push(at.to_string());
                    self.arg(arg, node, &trail.index(at), place);
                    place.parts.pop();
                }
            }
            Arg::Reference(reference) => self.reference(reference, node, trail, place),
            Arg::Template(template) => self.template(template, node, trail, place),
        }
    }

    fn reference(&self, reference: &Reference, node: &Node, trail: &Trail<'_>, place: &mut Place<'c, '_>) {
        let pointer = node.get("pointer");
        let keys = 1 + usize::from(pointer.is_some());
        // A part of it was reported.
        if node.as_map().map_or(0, <[_]>::len) != keys || pointer.is_some() != reference.pointer.is_some() {
            return;
        }
        let Some(known) = self.result(&reference.step, place) else { return };
        let text = reference.pointer.as_deref().unwrap_or_default();
        let parts: Vec<String> = text.split('/').skip(1).map(unescape).collect();
        match (find(known.schema, &parts), pointer) {
            (Found::Kinds(kinds), _) => {
                let what = match text {
                    "" => format!("the result of step `{}`", reference.step),
                    _ => format!("`{text}` of the result of step `{}`", reference.step),
                };
                self.fits(kinds, &what, known.declared, node, trail, place);
            }
            (Found::Nowhere(nowhere), Some(written)) => {
                let trail = trail.key("pointer");
                place.found.push(astray(&reference.step, &parts, &nowhere, known, written, &trail));
            }
            (Found::Nowhere(_), None) => {}
        }
    }

    /// A template that is one name alone keeps the type of what it reads.
    fn template(&self, template: &Template, node: &Node, trail: &Trail<'_>, place: &mut Place<'c, '_>) {
        let Some(read) = template.only_read() else { return };
        let (schema, rest, declared) = match (read.root.as_str(), read.path.as_slice()) {
            ("inputs", [name, rest @ ..]) => {
                let Some(input) = self.inputs.get(name) else { return };
                (&input.schema, rest, None)
            }
            ("steps", [id, result, rest @ ..]) if result == "result" => {
                let Some(known) = self.result(&StepId::string(id.as_str()), place) else { return };
                (known.schema, rest, known.declared)
            }
            _ => return,
        };
        if let Found::Kinds(kinds) = find(schema, rest) {
            let what = match read.root.as_str() {
                "inputs" if rest.is_empty() => format!("the input `{}`", read.path[0]),
                "steps" if rest.is_empty() => format!("the result of step `{}`", read.path[0]),
                _ => format!("`{}`", &template.text()[read.range.clone()]),
            };
            self.fits(kinds, &what, declared, node, trail, place);
        }
    }

    fn fits(
        &self,
        kinds: Kinds,
        what: &str,
        declared: Option<Span>,
        node: &Node,
        trail: &Trail<'_>,
        place: &mut Place<'c, '_>,
    ) {
        let Some(Found::Kinds(wanted)) = place.parameters.map(|schema| find(schema, &place.parts)) else {
            return;
        };
        if !kinds.excludes(wanted) {
            return;
        }
        let name = place.parts.last().map(String::as_str).unwrap_or_default();
        let message = format!("the argument `{name}` does not fit: {what} is {kinds}, expected {wanted}");
        let mut one = Diagnostic::new(Code::ArgumentType, node.span, message).path(trail.to_string());
        if let Some(declared) = declared {
            one = one.related(declared, "what the result is");
        }
        place.found.push(one);
    }

    /// The schema of a step's result, if it is known and the step may be named.
    fn result(&self, id: &StepId, place: &Place<'c, '_>) -> Option<Known<'c>> {
        let at = self.order.position(id).filter(|at| place.named.contains(at))?;
        let step: &StepDoc = self.nodes[at].step;
        if let Some(schema) = &self.parts[at].output_schema {
            return Some(Known { schema, declared: step.output_schema.spanned().map(|schema| schema.span) });
        }
        let tool = self.tools.get(step.tool.get()?)?;
        Some(Known { schema: tool.returns.as_ref()?, declared: tool.returns_at })
    }
}

/// A pointer into a known result that leads nowhere.
fn astray(
    step: &StepId,
    parts: &[String],
    nowhere: &Nowhere,
    known: Known<'_>,
    written: &Node,
    trail: &Trail<'_>,
) -> Diagnostic {
    let at = match nowhere.depth {
        0 => "it".to_owned(),
        depth => format!("`{}`", join(&parts[..depth])),
    };
    let text = written.as_str().unwrap_or_default();
    let message = format!("`{text}` leads nowhere in the result of step `{step}`: at {at}, {}", nowhere.why)
        .replace(": at it, ", ": ");
    let mut one = Diagnostic::new(Code::InvalidPointer, written.span, message).path(trail.to_string());
    let wrong = parts.get(nowhere.depth).map(String::as_str).unwrap_or_default();
    let fields = || nowhere.fields.iter().map(String::as_str);
    let names = Names::of(fields());
    one.help = names.advice(wrong, "fields").map(|help| match nearest(wrong, fields()) {
        Some(_) => help,
        None => format!("{help}; a schema with `additionalProperties: true` allows others"),
    });
    if let Some(meant) = names.meant(wrong) {
        let mut mended = parts.to_vec();
        mended[nowhere.depth] = meant.to_owned();
        let mended = Value::from(join(&mended)).to_string();
        one = one.suggest(written.span, mended);
    }
    match known.declared {
        Some(declared) => one.related(declared, "what the result is"),
        None => one,
    }
}

fn join(parts: &[String]) -> String {
    parts.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect()
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
