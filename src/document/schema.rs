//! JSON Schemas of the workflow file and of a plan, for editors and for models.
//!
//! Main functions: [`workflow`] and [`plan`]. Both are made from the tables of keys that also drive the
//! reading, so they cannot drift from it. They tell shapes only. A key whose value is null counts as
//! missing.

use serde_json::{Map, Value, json};

use super::duration;
use super::keys::{
    FILE, Key, MODEL, MODEL_STEP_KEYS, PLAN_ONLY, STEP, STEP_TYPE_WORDS, Shape, TOOL, TOOL_KINDS, Table,
};
use super::types::StepType;

/// The schema of a workflow file.
pub fn workflow() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!("A workflow file of wf"));
    if let Value::Object(mut file) = whole(&FILE) {
        schema.append(&mut file);
    }
    schema.insert("patternProperties".into(), json!({"^x-": {"description": "Anything; not read."}}));
    schema.insert(
        "$defs".into(),
        json!({
            "id": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 1, "maxLength": 200}]},
            "duration": {"type": "string", "pattern": duration::PATTERN},
            "tool": tool(),
            "step": step(false),
            "plan_step": step(true),
        }),
    );
    Value::Object(schema)
}

/// The schema of the plan a model is asked for: flat, and not strict, so that every provider takes it.
pub fn plan() -> Value {
    let keys = MODEL_STEP_KEYS.iter().filter_map(|name| STEP.key(name));
    let properties: Map<String, Value> = keys.map(|key| (key.name.to_owned(), in_plan(key))).collect();
    json!({
        "type": "object",
        "description": "A plan: steps that reach the goal, in order.",
        "properties": {
            "steps": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": properties,
                    "required": ["id", "description"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["steps"],
        "additionalProperties": false,
    })
}

/// A key as a model is told of it: nothing is a template there, and references inside the plan's
/// schema would need definitions that some providers do not follow.
fn in_plan(key: &Key) -> Value {
    let id = json!({"type": ["integer", "string"]});
    let (mut schema, about) = match key.name {
        "id" => (id, "A number that no other step has, from 1."),
        "type" => (
            json!({"type": "string", "enum": STEP_TYPE_WORDS}),
            "`tool_call` calls a tool (the default), `reasoning` thinks about earlier results, `aggregate` combines those in `inputs`.",
        ),
        "description" => (json!({"type": "string"}), "What the step does, in one sentence."),
        "tool" => (json!({"type": "string"}), "For a tool_call: the name of the tool."),
        "args" => (
            json!({"type": "object", "additionalProperties": true}),
            "For a tool_call: its arguments. Where the result of an earlier step is needed write {\"step_result\": ID}, with \"pointer\" (a JSON Pointer) for a part of it.",
        ),
        "inputs" => {
            (json!({"type": "array", "items": id}), "For an aggregate: the ids of the steps to combine.")
        }
        _ => (
            json!({"type": "array", "items": id}),
            "The ids of steps that must be done before, where no argument says so.",
        ),
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), json!(about));
    }
    schema
}

/// The schema of a mapping with these keys of a table.
fn object<'a>(table: &Table, keys: impl Iterator<Item = &'a Key>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in keys {
        properties.insert(key.name.to_owned(), described(key));
        if key.required {
            required.push(key.name);
        }
    }
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("description".into(), json!(sentence(table.what)));
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema.insert("additionalProperties".into(), json!(false));
    schema
}

fn sentence(what: &str) -> String {
    let mut letters = what.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn described(key: &Key) -> Value {
    let mut schema = shape(key.shape);
    if !key.required {
        schema = or_null(schema);
    }
    schema.insert("description".into(), json!(key.about));
    Value::Object(schema)
}

/// The schema that takes null as well.
fn or_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
    let whole = schema.contains_key("anyOf");
    match schema.get("type").cloned() {
        Some(Value::Array(types)) if types.contains(&json!("null")) => schema,
        Some(Value::String(one)) if !whole => {
            schema.insert("type".into(), json!([one, "null"]));
            schema
        }
        None if schema.is_empty() => schema,
        _ => match json!({"anyOf": [schema, {"type": "null"}]}) {
            Value::Object(schema) => schema,
            other => panic!("bug: a schema that is no object: {other}"),
        },
    }
}

/// The schema of a mapping that has these keys, with values.
fn has_all(keys: &[&str]) -> Value {
    let value = |key: &&str| ((*key).to_owned(), json!({"not": {"type": "null"}}));
    let values: Map<String, Value> = keys.iter().map(value).collect();
    json!({"type": "object", "required": keys, "properties": values})
}

fn shape(shape: Shape) -> Map<String, Value> {
    let schema = match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Word(words) => json!({"type": "string", "enum": words}),
        Shape::Duration => json!({"$ref": "#/$defs/duration"}),
        Shape::Integer(i64::MIN) => json!({"type": "integer"}),
        Shape::Integer(least) => json!({"type": "integer", "minimum": least}),
        Shape::Number(least) => json!({"type": "number", "minimum": least}),
        Shape::Id => json!({"$ref": "#/$defs/id"}),
        Shape::Ids => json!({"type": "array", "items": {"$ref": "#/$defs/id"}}),
        Shape::SomeIds => json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/id"}}),
        Shape::EnvNames => {
            json!({"type": "array", "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}})
        }
        Shape::Command => json!({"type": "array", "minItems": 1, "items": {"type": "string"}}),
        Shape::TextMap => {
            json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
        }
        Shape::Object | Shape::Schema => json!({"type": "object"}),
        Shape::Any => json!({}),
        Shape::Table(table) => whole(table),
        Shape::Tools => json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/tool"}}),
        Shape::Model => {
            json!({"anyOf": [{"type": "string"}, whole(&MODEL)]})
        }
        Shape::WordOr(table) => {
            let word = table.keys.first().map(|key| Value::Object(self::shape(key.shape)));
            json!({"anyOf": [word, whole(table)]})
        }
        Shape::Inputs => json!({
            "type": "object",
            "additionalProperties": {
                "type": ["object", "null"],
                "description": "JSON Schema keywords, with `default` and `description`.",
                "properties": {
                    "default": {"description": "The value where none is given."},
                    "description": {"type": "string", "description": "What it is for."},
                },
            },
        }),
        Shape::Steps { plan } => {
            let step = if plan { "#/$defs/plan_step" } else { "#/$defs/step" };
            json!({"type": ["array", "null"], "minItems": 1, "items": {"$ref": step}})
        }
    };
    match schema {
        Value::Object(schema) => schema,
        other => panic!("bug: a schema that is no object: {other}"),
    }
}

/// The schema of a mapping with all keys of a table, and with what the keys alone do not say.
fn whole(table: &'static Table) -> Value {
    let mut schema = object(table, table.keys.iter());
    if !table.any_of.is_empty() {
        let any: Vec<Value> = table.any_of.iter().map(|key| has_all(&[key])).collect();
        schema.insert("anyOf".into(), json!(any));
    }
    if !table.not_both.is_empty() {
        schema.insert("not".into(), has_all(table.not_both));
    }
    Value::Object(schema)
}

fn tool() -> Value {
    let mut schema = object(&TOOL, TOOL.keys.iter());
    let kinds: Vec<Value> = TOOL_KINDS.iter().map(|kind| has_all(&[kind])).collect();
    schema.insert("oneOf".into(), json!(kinds));
    schema.insert("dependentRequired".into(), json!({"with": ["builtin"]}));
    Value::Object(schema)
}

/// One alternative for each type, told apart by `type`, so that an editor offers just its keys.
fn step(plan: bool) -> Value {
    let kinds = [StepType::ToolCall, StepType::Reasoning, StepType::Aggregate];
    json!({"oneOf": kinds.map(|kind| step_of(kind, plan))})
}

fn step_of(kind: StepType, plan: bool) -> Value {
    let keys = STEP.keys.iter().filter(|key| has(kind, key));
    let mut schema = object(&STEP, keys);
    schema.insert("title".into(), json!(kind.as_str()));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        if let Some(Value::Object(of_type)) = properties.get_mut("type") {
            of_type.remove("enum");
            of_type.insert("const".into(), json!(kind.as_str()));
        }
        if plan {
            for name in PLAN_ONLY {
                properties.insert((*name).to_owned(), json!({"description": "Of an earlier run; not read."}));
            }
            // A plan may name every key of a step, with null for those that its type does not have.
            for key in STEP.keys.iter().filter(|key| !has(kind, key)) {
                properties.insert(key.name.to_owned(), json!({"type": "null"}));
            }
        }
    }
    let mut required: Vec<&str> = vec!["id"];
    if !(plan && kind == StepType::ToolCall) {
        required.push("type");
    }
    match kind {
        StepType::ToolCall => required.push("tool"),
        StepType::Reasoning => required.push("description"),
        StepType::Aggregate => required.extend(["inputs", "description"]),
    }
    schema.insert("required".into(), json!(required));
    schema.insert("allOf".into(), json!([has_all(&required)]));
    if kind == StepType::ToolCall {
        schema.insert("anyOf".into(), json!([has_all(&["description"]), has_all(&["args"])]));
    }
    Value::Object(schema)
}

fn has(kind: StepType, key: &Key) -> bool {
    key.types.is_empty() || key.types.contains(&kind)
}
