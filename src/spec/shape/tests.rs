//! Where pointers lead, and which types exclude each other.
//!
//! Tables of schemas; whatever is not certain must come out as unknown.

use serde_json::json;

use super::*;

fn leads(schema: &Value, pointer: &str) -> String {
    let parts: Vec<String> = pointer.split('/').skip(1).map(str::to_owned).collect();
    match find(schema, &parts) {
        Found::Kinds(Kinds::ALL) => "unknown".to_owned(),
        Found::Kinds(kinds) => kinds.to_string(),
        Found::Nowhere(nowhere) => {
            format!("{}: {} [{}]", nowhere.depth, nowhere.why, nowhere.fields.join(" "))
        }
    }
}

#[test]
fn pointers_are_followed_as_far_as_the_schema_says() {
    let row = json!({"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": ["integer", "null"]}}});
    let list = json!({"type": "array", "items": row, "maxItems": 3});
    let open = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "number"}});
    let tuple = json!({"prefixItems": [{"type": "string"}], "items": false, "type": "array"});
    let old_tuple =
        json!({"items": [{"type": "string"}], "additionalItems": {"type": "null"}, "type": "array"});
    let either = json!({"anyOf": [row, {"type": "object", "properties": {"other": {"type": "boolean"}}}]});
    let reference = json!({"$defs": {"row": row}, "type": "array", "items": {"$ref": "#/$defs/row"}});
    let loops =
        json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
    let parts = json!({"properties": {"a": {"type": "string"}}, "allOf": [{"properties": {"b": {"type": "number"}}}]});
    for (schema, pointer, expected) in [
        (&row, "/id", "a string"),
        (&row, "/n", "an integer or null"),
        (&row, "", "an object"),
        (&row, "/x", "0: there is no field `x` [id n]"),
        (&row, "/id/0", "1: a string has no parts []"),
        (&list, "/0/n", "an integer or null"),
        (&list, "/3", "0: the list has at most 3 items []"),
        (&list, "/first", "0: a list has positions (`/0`), and no `first` []"),
        (&list, "/-", "0: a list has positions (`/0`), and no `-` []"),
        (&list, "/01", "0: a list has positions (`/0`), and no `01` []"),
        (&list, "/0/x", "1: there is no field `x` [id n]"),
        (&open, "/a", "unknown"),
        (&open, "/z", "a number"),
        (&tuple, "/0", "a string"),
        (&tuple, "/1", "0: the list has at most 1 item []"),
        (&old_tuple, "/1", "null"),
        (&either, "/n", "an integer or null"),
        (&either, "/other", "a boolean"),
        (&either, "/z", "0: there is no field `z` [id n other]"),
        (&reference, "/5/id", "a string"),
        (&reference, "/5/di", "1: there is no field `di` [id n]"),
        (&loops, "/next/next/next", "an object"),
        (&loops, "/next/prev", "1: there is no field `prev` [next]"),
        (&parts, "/a", "a string"),
        (&parts, "/b", "a number"),
        (&parts, "/c", "0: there is no field `c` [a b]"),
    ] {
        assert_eq!(leads(schema, pointer), expected, "{schema} {pointer}");
    }
    for schema in [
        json!(true),
        json!({}),
        json!({"type": "object"}),
        json!({"type": "array"}),
        json!({"$ref": "other.json"}),
        json!({"properties": {"a": {}}, "additionalProperties": true}),
        json!({"properties": {"a": {}}, "patternProperties": {"^b": {}}}),
        json!({"properties": {"a": {}}, "if": {}, "then": {}}),
        json!({"anyOf": [{"properties": {"a": {}}}, {}]}),
    ] {
        assert_eq!(leads(&schema, "/0"), "unknown", "{schema}");
    }
    let circle = json!({"$ref": "#"});
    assert_eq!(leads(&circle, "/0/1"), "unknown");
}

#[test]
fn types_exclude_each_other_only_where_no_value_is_of_both() {
    let number = json!({"type": "number"});
    for (a, b, excluded) in [
        (&number, json!({"type": "integer"}), false),
        (&number, json!({"type": "string"}), true),
        (&number, json!({"type": ["string", "number"]}), false),
        (&number, json!({"enum": ["a", "b"]}), true),
        (&number, json!({"enum": ["a", 1]}), false),
        (&number, json!({"const": null}), true),
        (&number, json!({"anyOf": [{"type": "string"}, {"type": "boolean"}]}), true),
        (&number, json!({"allOf": [{"type": "string"}]}), true),
        (&number, json!({}), false),
        (&json!({"const": 1.5}), json!({"type": "integer"}), true),
        (&json!({"const": 2.0}), json!({"type": "integer"}), false),
    ] {
        assert_eq!(Kinds::of(a).excludes(Kinds::of(&b)), excluded, "{a} {b}");
    }
}
