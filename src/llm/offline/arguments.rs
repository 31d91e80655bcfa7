//! Values for the arguments of a tool, taken from what has their name.
//!
//! Main function: [`fill`]. A value must fit the schema; nothing is converted or made up. The one rule
//! beyond names: a list named after the key of tables gets the keys that stand out in them. Knows no
//! prompt.

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::super::NamedResult;
use super::table::tables;

/// Why arguments could not be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfilled {
    /// A required argument has no source.
    Missing(String),
    /// There are values of the required argument's name, and none fits its schema.
    Unfit(String),
    /// Everything has a value, and together they do not fit; what does not.
    Whole(String),
}

/// Values for the properties of a schema, in its order. One that is not required and has no source is
/// left out.
pub(super) fn fill(
    schema: &Value,
    inputs: &Map<String, Value>,
    results: &[NamedResult],
) -> Result<Map<String, Value>, Unfilled> {
    let Ok(validator) = jsonschema::validator_for(schema) else {
        return Err(Unfilled::Whole("the schema cannot be used".to_owned()));
    };
    let mut filled = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let offered = sources(name, property, inputs, results);
        let any = !offered.is_empty();
        match offered.into_iter().find(|value| fits(&validator, name, value)) {
            Some(value) => {
                filled.insert(name.clone(), value);
            }
            None if !requires(schema, name) => {}
            None if any => return Err(Unfilled::Unfit(name.clone())),
            None => return Err(Unfilled::Missing(name.clone())),
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(name) = required.filter_map(Value::as_str).find(|name| !filled.contains_key(*name)) {
        return Err(Unfilled::Missing(name.to_owned()));
    }
    let whole = Value::Object(filled.clone());
    match validator.iter_errors(&whole).next() {
        Some(error) => Err(Unfilled::Whole(error.to_string())),
        None => Ok(filled),
    }
}

fn requires(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// Whether a value fits its own property, whatever else is missing.
fn fits(validator: &Validator, name: &str, value: &Value) -> bool {
    let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    validator.iter_errors(&alone).all(|error| {
        let at = error.instance_path().as_str();
        at != pointer && !at.starts_with(&format!("{pointer}/"))
    })
}

/// What a property could be, the best first.
fn sources(name: &str, property: &Value, inputs: &Map<String, Value>, results: &[NamedResult]) -> Vec<Value> {
    let mut found: Vec<Value> = property.get("const").cloned().into_iter().collect();
    if let Some([only]) = property.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
        found.push(only.clone());
    }
    found.extend(inputs.get(name).cloned());
    if property.get("type").is_some_and(|kind| kind == "array") {
        found.extend(keys(name, results));
    }
    for result in results.iter().rev() {
        match &result.value {
            Value::Object(map) => found.extend(map.get(name).cloned()),
            Value::Array(rows) => found.extend(column(name, rows)),
            _ => {}
        }
        let is_named =
            result.step.as_str() == name || result.tool.as_ref().is_some_and(|tool| tool.as_str() == name);
        if is_named {
            found.push(result.value.clone());
        }
    }
    found.extend(property.get("default").cloned());
    found
}

/// A column of rows: its value where all rows have the same, and its different values as a list.
fn column(name: &str, rows: &[Value]) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for value in rows.iter().filter_map(|row| row.get(name)) {
        if seen.insert(value.to_string()) {
            values.push(value.clone());
        }
    }
    match values.as_slice() {
        [] => values,
        [only] => vec![only.clone(), Value::Array(values)],
        _ => vec![Value::Array(values)],
    }
}

/// The keys of the newest table whose key has this name, in singular or plural: those that stand out
/// where several results speak of them, else all.
fn keys(name: &str, results: &[NamedResult]) -> Option<Value> {
    let all: Vec<&NamedResult> = results.iter().collect();
    let (tables, _) = tables(&all);
    let table =
        tables.iter().rev().find(|table| table.key.as_deref().is_some_and(|key| same_word(name, key)))?;
    let standing_out = if table.sources > 1 { table.standing_out() } else { Vec::new() };
    let keys =
        if standing_out.is_empty() { table.rows.keys().map(String::as_str).collect() } else { standing_out };
    Some(keys.into_iter().map(Value::from).collect())
}

/// Whether two names are one word, in singular or plural.
fn same_word(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let plural_of = |many: &str, one: &str| {
        many.strip_suffix("ies").is_some_and(|stem| one.strip_suffix('y') == Some(stem))
            || many.strip_suffix("es") == Some(one)
            || many.strip_suffix('s') == Some(one)
    };
    a == b || plural_of(&a, &b) || plural_of(&b, &a)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{Unfilled, fill, same_word};
    use crate::llm::NamedResult;

    fn result(step: i64, tool: &str, value: Value) -> NamedResult {
        NamedResult { step: step.into(), title: String::new(), tool: Some(tool.into()), value }
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[track_caller]
    fn check(properties: Value, required: &[&str], want: Result<Value, Unfilled>) {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let inputs = object(json!({"week": "2026-W48", "count": "three"}));
        let results = [
            result(1, "lookup", json!({"id": 7, "city": "Bonn"})),
            result(2, "older", json!([{"shop": "x", "n": 1}, {"shop": "y", "n": 2}])),
            result(3, "newer", json!([{"shop": "x", "area": 5}, {"shop": "z", "area": 5}])),
            result(4, "total", json!(12.5)),
        ];
        let got = fill(&schema, &inputs, &results).map(Value::Object);
        assert_eq!(got, want, "{properties}");
    }

    #[test]
    fn values_come_from_what_has_the_name() {
        check(json!({"a": {"const": 1}, "b": {"enum": ["x"]}}), &["a", "b"], Ok(json!({"a": 1, "b": "x"})));
        check(json!({"week": {"type": "string"}}), &["week"], Ok(json!({"week": "2026-W48"})));
        check(json!({"city": {"type": "string"}}), &["city"], Ok(json!({"city": "Bonn"})));
        check(json!({"area": {"type": "integer"}}), &["area"], Ok(json!({"area": 5})));
        check(json!({"n": {"type": "array"}}), &["n"], Ok(json!({"n": [1, 2]})));
        check(json!({"total": {"type": "number"}}), &["total"], Ok(json!({"total": 12.5})));
        check(json!({"4": {}}), &["4"], Ok(json!({"4": 12.5})));
        check(json!({"limit": {"default": 10}}), &["limit"], Ok(json!({"limit": 10})));
        check(json!({"limit": {"type": "integer"}}), &[], Ok(json!({})));
        check(json!({}), &[], Ok(json!({})));
    }

    #[test]
    fn values_fit_or_there_are_none() {
        check(json!({"nothing": {}}), &["nothing"], Err(Unfilled::Missing("nothing".into())));
        check(json!({}), &["undeclared"], Err(Unfilled::Missing("undeclared".into())));
        check(json!({"count": {"type": "integer"}}), &["count"], Err(Unfilled::Unfit("count".into())));
        check(json!({"count": {"type": "integer"}}), &[], Ok(json!({})));
        check(
            json!({"week": {"type": "string", "pattern": "^x"}}),
            &["week"],
            Err(Unfilled::Unfit("week".into())),
        );
        check(json!({"n": {"type": "integer"}}), &["n"], Err(Unfilled::Unfit("n".into())));
        check(json!({"count": {"type": "integer", "default": 3}}), &["count"], Ok(json!({"count": 3})));
    }

    #[test]
    fn references_inside_the_schema_are_followed() {
        let schema = json!({
            "type": "object",
            "properties": {"week": {"$ref": "#/$defs/week"}},
            "required": ["week"],
            "$defs": {"week": {"type": "integer"}},
        });
        let inputs = object(json!({"week": "2026-W48"}));
        assert_eq!(fill(&schema, &inputs, &[]), Err(Unfilled::Unfit("week".into())));
    }

    #[test]
    fn a_list_named_after_a_shared_key_gets_what_stands_out() {
        let schema = json!({
            "type": "object",
            "properties": {"categories": {"type": "array", "items": {"type": "string"}}},
            "required": ["categories"],
        });
        let sales = |last: i64| {
            json!([
                {"category": "Electronics", "sales": 142}, {"category": "Home", "sales": 96},
                {"category": "Apparel", "sales": last},
            ])
        };
        let returns = json!([
            {"category": "Apparel", "rate": "18%"}, {"category": "Electronics", "rate": "3%"},
            {"category": "Home", "rate": "4%"},
        ]);
        let results = [result(1, "sales", sales(38)), result(2, "returns", returns)];
        let got = fill(&schema, &Map::new(), &results).unwrap();
        assert_eq!(Value::Object(got), json!({"categories": ["Apparel"]}));
        let got = fill(&schema, &Map::new(), &results[..1]).unwrap();
        assert_eq!(Value::Object(got), json!({"categories": ["Electronics", "Home", "Apparel"]}));
        let inputs = object(json!({"categories": ["Home"]}));
        assert_eq!(Value::Object(fill(&schema, &inputs, &results).unwrap()), json!({"categories": ["Home"]}));
    }

    #[test]
    fn singular_and_plural_are_one_word() {
        for (a, b, want) in [
            ("categories", "category", true),
            ("Category", "categories", true),
            ("boxes", "box", true),
            ("shops", "shop", true),
            ("shop", "shop", true),
            ("class", "category", false),
        ] {
            assert_eq!(same_word(a, b), want, "{a} {b}");
        }
    }
}
