//! JSON Schemas in the form that Anthropic keeps answers to.
//!
//! Main function: [`kept`]. What fits the form may still have a value that the schema does not allow,
//! as a number too large: that is found where the answer is checked. But a form that allows less than
//! what is asked for would be a wrong question, and there is none then.

use serde_json::{Map, Value, json};

/// Keywords that limit values or only tell about them: the form has no place for them.
const LEFT_OUT: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "default",
    "deprecated",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "uniqueItems",
];

/// Formats of strings that the form knows.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// The schema in that form: every object closed. Nothing if the schema wants what the form cannot say,
/// as an object with any keys, or a schema that holds itself.
pub(super) fn kept(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    let mut form = Map::new();
    for (keyword, value) in schema {
        match keyword.as_str() {
            "type" => match value {
                Value::Array(types) => {
                    let simple = |kind: &Value| !matches!(kind.as_str(), None | Some("object" | "array"));
                    if !types.iter().all(simple) || schema.contains_key("enum") {
                        return None;
                    }
                    form.insert("anyOf".to_owned(), types.iter().map(|kind| json!({"type": kind})).collect());
                }
                kind => {
                    form.insert("type".to_owned(), kind.clone());
                }
            },
            "title" | "description" | "enum" | "const" | "required" => {
                form.insert(keyword.clone(), value.clone());
            }
            "format" if value.as_str().is_some_and(|name| FORMATS.contains(&name)) => {
                form.insert("format".to_owned(), value.clone());
            }
            "minItems" if value.as_u64().is_some_and(|least| least <= 1) => {
                form.insert("minItems".to_owned(), value.clone());
            }
            "items" => {
                form.insert("items".to_owned(), kept(value)?);
            }
            "properties" => {
                let properties = value.as_object()?.iter();
                let properties: Option<Map<String, Value>> =
                    properties.map(|(name, schema)| Some((name.clone(), kept(schema)?))).collect();
                form.insert("properties".to_owned(), properties?.into());
            }
            "additionalProperties" if *value == json!(false) => {}
            "anyOf" | "oneOf" if !schema.contains_key("type") => {
                let choices: Option<Vec<Value>> = value.as_array()?.iter().map(kept).collect();
                form.insert("anyOf".to_owned(), choices?.into());
            }
            other if LEFT_OUT.contains(&other) => {}
            _ => return None,
        }
    }
    match form.get("type").and_then(Value::as_str) {
        Some("object") => {
            let properties = form.entry("properties").or_insert_with(|| json!({})).as_object()?;
            // To close an object without keys would leave nothing to say.
            if properties.is_empty() && schema.get("additionalProperties") != Some(&json!(false)) {
                return None;
            }
            let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            if !required.all(|name| name.as_str().is_some_and(|name| properties.contains_key(name))) {
                return None;
            }
            form.insert("additionalProperties".to_owned(), false.into());
        }
        Some("array") if !form.contains_key("items") => return None,
        Some(_) => {}
        None if ["anyOf", "enum", "const"].iter().any(|keyword| form.contains_key(*keyword)) => {}
        None => return None,
    }
    Some(form.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_form_can_say() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "total": {"type": "integer", "minimum": 0, "description": "Sum"},
                "day": {"type": "string", "format": "date"},
                "code": {"type": "string", "format": "idn-email", "pattern": "^x"},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 3},
                "id": {"type": ["integer", "string"]},
                "part": {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"x": {"const": 1}}}]},
            },
            "required": ["total"],
        });
        let form = json!({
            "type": "object",
            "properties": {
                "total": {"type": "integer", "description": "Sum"},
                "day": {"type": "string", "format": "date"},
                "code": {"type": "string"},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1},
                "id": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "part": {"anyOf": [{"type": "null"}, {
                    "type": "object",
                    "properties": {"x": {"const": 1}},
                    "additionalProperties": false,
                }]},
            },
            "required": ["total"],
            "additionalProperties": false,
        });
        assert_eq!(kept(&schema), Some(form));
        let nothing = json!({"type": "object", "additionalProperties": false});
        assert_eq!(
            kept(&nothing),
            Some(json!({"type": "object", "properties": {}, "additionalProperties": false}))
        );
    }

    #[test]
    fn what_it_cannot() {
        for schema in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"a": {"type": "object"}}}),
            json!({"type": "object", "properties": {"a": {}}}),
            json!({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": true}),
            json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"]}),
            json!({"type": "array"}),
            json!({"type": "array", "items": {"$ref": "#"}}),
            json!({"type": ["object", "null"], "properties": {"a": {"type": "null"}}}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"not": {"type": "null"}}),
        ] {
            assert_eq!(kept(&schema), None, "{schema}");
        }
    }
}
