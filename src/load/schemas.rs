//! JSON Schemas that a file declares: whether they are any, and what was meant where they are not.
//!
//! Main function: [`read_schema`]. Knows no tool and no step.

use serde_json::Value;

use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic, only_nearest};
use crate::document::Field;
use crate::document::node::Node;
use crate::spec::Schema;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// The type of JSON Schema that was meant: a misspelt one, or the name it has elsewhere.
fn meant_type(written: &str) -> Option<&'static str> {
    match written.to_lowercase().as_str() {
        "str" | "text" | "date" | "datetime" | "uri" => Some("string"),
        "int" | "long" => Some("integer"),
        "float" | "double" | "decimal" => Some("number"),
        "bool" => Some("boolean"),
        "list" | "tuple" => Some("array"),
        "dict" | "map" | "mapping" | "hash" => Some("object"),
        "none" | "nil" => Some("null"),
        other => only_nearest(other, TYPES).and_then(|near| TYPES.into_iter().find(|it| *it == near)),
    }
}

/// A schema in the tree; `None` if it is none, which is reported at its place.
pub(super) fn read_schema(
    field: &Field<std::sync::Arc<Node>>,
    trail: &Trail<'_>,
    found: &mut Vec<Diagnostic>,
) -> Option<Value> {
    let node = field.get()?;
    let schema = node.to_json();
    match Schema::parse(&schema) {
        Ok(_) => Some(schema),
        Err(fault) => {
            let span = node.pointer(&fault.pointer).map_or(node.span, |at| at.span);
            let path = trail.pointer(&fault.pointer);
            let mut one = Diagnostic::new(Code::InvalidSchema, span, fault.message).path(path);
            let written = node.pointer(&fault.pointer).and_then(|at| at.as_scalar());
            let meant =
                written.filter(|_| fault.pointer.ends_with("/type")).and_then(|it| meant_type(&it.text));
            one.help = Some(match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "what a JSON Schema may hold: https://json-schema.org/understanding-json-schema"
                    .to_owned(),
            });
            // What is called so elsewhere is advice; only a slip of the pen is mended.
            if let Some(near) =
                written.filter(|_| meant.is_some()).and_then(|it| only_nearest(&it.text, TYPES))
            {
                one = one.suggest(span, near);
            }
            found.push(one);
            None
        }
    }
}
