//! What a step's arguments are made of: values, templates and references to other steps.
//!
//! Turns the tree under `args` into [`Arg`]s, checks the form of references, and notes every step that
//! is named. Does not know which steps exist, nor what the tool wants.

use indexmap::IndexMap;
use serde_json::Value;

use super::templates::{Readable, Texts};
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::document::node::{Kind, Node, ScalarValue};
use crate::id::StepId;
use crate::source::Span;
use crate::template::{Read, Template};
use crate::workflow::{Arg, Dependency, Origin, Reference};

/// A place where a step names another.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub id: StepId,
    pub span: Span,
    pub path: String,
    pub why: Dependency,
    /// Whether it is named by a scalar of its own, not inside a template.
    pub scalar: bool,
}

/// The steps templates read, as far as they are named by literals.
pub(super) fn steps_read(
    reads: &[Read],
    place: impl Fn(&Read) -> Span,
    trail: &Trail<'_>,
    named: &mut Vec<Named>,
) {
    for read in reads.iter().filter(|read| read.root == "steps") {
        if let Some(id) = read.path.first() {
            let id = StepId::string(id.as_str());
            named.push(Named {
                id,
                span: place(read),
                path: trail.to_string(),
                why: Dependency::Data,
                scalar: false,
            });
        }
    }
}

/// Reads `args`.
pub(super) struct Arguments<'a, 'b> {
    pub texts: &'b mut Texts<'a>,
    pub named: &'b mut Vec<Named>,
    pub origin: Origin,
}

impl Arguments<'_, '_> {
    /// The arguments of a step by name.
    pub fn read(&mut self, args: &Node, trail: &Trail<'_>) -> IndexMap<String, Arg> {
        let entries = args.as_map().unwrap_or_default();
        entries
            .iter()
            .map(|entry| (entry.key.to_string(), self.arg(&entry.value, &trail.key(&entry.key))))
            .collect()
    }

    fn arg(&mut self, node: &Node, trail: &Trail<'_>) -> Arg {
        match &node.kind {
            Kind::Reported => unknown(),
            Kind::Scalar(scalar) => match scalar.value {
                ScalarValue::String => self.text(&scalar.text, node.span, trail),
                _ => Arg::Value(scalar.to_json()),
            },
            Kind::List(items) => {
                let args = items.iter().enumerate().map(|(at, item)| self.arg(item, &trail.index(at)));
                let args: Vec<Arg> = args.collect();
                if args.iter().all(|arg| matches!(arg, Arg::Value(_))) {
                    return Arg::Value(Value::Array(args.into_iter().filter_map(value).collect()));
                }
                Arg::List(args)
            }
            Kind::Map(_) if node.get("step_result").is_some() => self.reference(node, trail),
            Kind::Map(entries) => {
                let args: IndexMap<String, Arg> = entries
                    .iter()
                    .map(|entry| (entry.key.to_string(), self.arg(&entry.value, &trail.key(&entry.key))))
                    .collect();
                if args.values().all(|arg| matches!(arg, Arg::Value(_))) {
                    let pairs = args.into_iter().filter_map(|(key, arg)| Some((key, value(arg)?)));
                    return Arg::Value(Value::Object(pairs.collect()));
                }
                Arg::Object(args)
            }
        }
    }

    fn text(&mut self, text: &str, span: Span, trail: &Trail<'_>) -> Arg {
        let literal = || Arg::Value(Value::String(text.to_owned()));
        if self.origin == Origin::Model {
            return literal();
        }
        let Some(template) = self.texts.template(text, span, trail, Readable::STEP) else { return unknown() };
        if template.is_literal() {
            return literal();
        }
        self.note(&template, span, trail);
        Arg::Template(template)
    }

    fn note(&mut self, template: &Template, span: Span, trail: &Trail<'_>) {
        let places = self.texts.places(template.text(), span);
        steps_read(template.reads(), |read| places.of(&read.range), trail, self.named);
    }

    fn reference(&mut self, node: &Node, trail: &Trail<'_>) -> Arg {
        let mut step = None;
        let mut pointer = None;
        for entry in node.as_map().unwrap_or_default() {
            let (value, trail) = (&entry.value, trail.key(&entry.key));
            let mut refuse = |code: Code, span: Span, message: String, help: Option<String>| {
                let mut found = Diagnostic::new(code, span, message).path(trail.to_string());
                found.help = help;
                self.texts.found.push(found);
            };
            match (&*entry.key, &value.kind) {
                (_, Kind::Reported) => {}
                ("step_result", _) => match step_id(value) {
                    Some(id) => {
                        let path = trail.to_string();
                        self.named.push(Named {
                            id: id.clone(),
                            span: value.span,
                            path,
                            why: Dependency::Data,
                            scalar: true,
                        });
                        step = Some(id);
                    }
                    None => {
                        let message = format!("the id of a step is expected, found {}", value.describe());
                        refuse(Code::WrongType, value.span, message, None);
                    }
                },
                ("pointer", _) => match value.as_str() {
                    Some(text) if is_pointer(text) => pointer = Some(text.to_owned()),
                    Some(text) => {
                        let message = format!("`{text}` is no JSON Pointer");
                        let help = "it starts with `/`, and names keys and positions: `/0/category` \
                                    (`~` is written `~0`, `/` inside a key `~1`)";
                        refuse(Code::InvalidPointer, value.span, message, Some(help.to_owned()));
                    }
                    None => {
                        let message = format!("`pointer` must be a string, found {}", value.describe());
                        refuse(Code::WrongType, value.span, message, None);
                    }
                },
                (key, _) => {
                    let message =
                        format!("a reference has no key `{key}` (only `step_result` and `pointer`)");
                    let help = nearest(key, ["pointer"]).map(|near| format!("did you mean `{near}`?"));
                    refuse(Code::UnknownKey, entry.key_span, message, help);
                }
            }
        }
        match step {
            Some(step) => Arg::Reference(Reference { step, pointer }),
            None => unknown(),
        }
    }
}

/// The id a node gives: an integer or a string.
fn step_id(node: &Node) -> Option<StepId> {
    let scalar = node.as_scalar()?;
    match &scalar.value {
        ScalarValue::String if !scalar.text.is_empty() => Some(StepId::string(scalar.text.clone())),
        ScalarValue::Number(number) => number.as_i64().map(StepId::integer),
        _ => None,
    }
}

/// What stands for a part that was reported: nothing is known of its value, so nothing is said of it.
fn unknown() -> Arg {
    Arg::Reference(Reference { step: StepId::string(""), pointer: None })
}

fn is_pointer(text: &str) -> bool {
    let escapes =
        text.match_indices('~').all(|(at, _)| matches!(text.as_bytes().get(at + 1), Some(b'0' | b'1')));
    escapes && (text.is_empty() || text.starts_with('/'))
}

fn value(arg: Arg) -> Option<Value> {
    match arg {
        Arg::Value(value) => Some(value),
        _ => None,
    }
}
