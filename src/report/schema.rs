//! The JSON Schema of what `--format json` prints about mistakes.
//!
//! Main function: [`diagnostics`]. Written by hand beside the structures of `diagnostics.rs`; a test holds
//! the two together over every file of mistakes there is.

use serde_json::{Value, json};

use crate::diagnostic::Code;

/// The version of the JSON output. It grows when something is taken away or changes its meaning; new keys
/// may come without.
pub const VERSION: u32 = 1;

/// The schema, as `schemas/diagnostics.schema.json` holds it.
pub fn diagnostics() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `wf validate --format json` prints",
        "type": "object",
        "required": ["version", "result", "diagnostics", "counts"],
        "properties": {
            "version": {"const": VERSION, "description": "The version of this format."},
            "result": {
                "enum": ["valid", "invalid"],
                "description": "`invalid` goes with exit code 3: there are errors, or warnings that are denied."
            },
            "diagnostics": {
                "type": "array",
                "description": "File after file, in the order of their places.",
                "items": {"$ref": "#/$defs/diagnostic"}
            },
            "counts": {
                "type": "object",
                "required": ["files", "errors", "warnings"],
                "properties": {
                    "files": {"$ref": "#/$defs/count"},
                    "errors": {"$ref": "#/$defs/count"},
                    "warnings": {"$ref": "#/$defs/count"}
                },
                "additionalProperties": false
            }
        },
        "additionalProperties": false,
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "diagnostic": {
                "type": "object",
                "required": ["code", "severity", "message", "help", "file", "range", "path", "related", "suggestion"],
                "properties": {
                    "code": {"enum": Code::ALL, "description": "`wf explain CODE` tells more."},
                    "severity": {"enum": ["error", "warning"]},
                    "message": {"type": "string", "minLength": 1, "description": "What was found and why it is wrong."},
                    "help": {"type": ["string", "null"], "description": "What to do about it."},
                    "file": {"type": "string"},
                    "range": {"$ref": "#/$defs/range"},
                    "path": {
                        "type": "string",
                        "description": "The place in the document, as `workflow_sequence[0].args`; empty for the document itself."
                    },
                    "related": {"type": "array", "items": {"$ref": "#/$defs/related"}},
                    "suggestion": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/suggestion"}]}
                },
                "additionalProperties": false
            },
            "related": {
                "type": "object",
                "description": "Another place that has to do with it.",
                "required": ["message", "file", "range"],
                "properties": {
                    "message": {"type": "string"},
                    "file": {"type": "string"},
                    "range": {"$ref": "#/$defs/range"}
                },
                "additionalProperties": false
            },
            "suggestion": {
                "type": "object",
                "description": "A mechanical mend: put `replacement` where `range` is.",
                "required": ["range", "replacement"],
                "properties": {
                    "range": {"$ref": "#/$defs/range"},
                    "replacement": {"type": "string"}
                },
                "additionalProperties": false
            },
            "range": {
                "type": "object",
                "required": ["start", "end"],
                "properties": {
                    "start": {"$ref": "#/$defs/position"},
                    "end": {"$ref": "#/$defs/position", "description": "The place behind the last character."}
                },
                "additionalProperties": false
            },
            "position": {
                "type": "object",
                "required": ["line", "column", "byte"],
                "properties": {
                    "line": {"type": "integer", "minimum": 1},
                    "column": {"type": "integer", "minimum": 1, "description": "In Unicode scalar values."},
                    "byte": {"type": "integer", "minimum": 0, "description": "Offset from the start of the text."}
                },
                "additionalProperties": false
            }
        }
    })
}
