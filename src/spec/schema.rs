//! JSON Schema: compiled once, and what does not fit said in plain words.
//!
//! Main types: [`Schema`] and [`Mismatch`]. Everything is local: a `$ref` that leads out of the schema
//! is an error. Knows no tool and no document.

use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

/// Longest value shown in a message, in characters.
const SHOWN: usize = 60;

/// A JSON Schema, compiled once and ready to check values.
#[derive(Clone, Debug)]
pub struct Schema {
    validator: Arc<Validator>,
}

/// A value that does not fit a schema, or a schema that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Mismatch {
    pub kind: MismatchKind,
    /// JSON Pointer (RFC 6901) to the value at fault; for a missing or unknown key, to its object.
    pub pointer: String,
    /// The key that is missing or unknown.
    pub key: Option<String>,
    /// What is wrong, in a sentence without a full stop; names what was found and what was expected.
    pub message: String,
}

/// In what way a value does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MismatchKind {
    MissingKey,
    UnknownKey,
    Value,
}

impl Schema {
    /// Compiles a schema. A remote `$ref` is an error: nothing is fetched. The pointer of the mismatch
    /// leads to what is wrong in the schema.
    pub fn parse(schema: &Value) -> Result<Self, Mismatch> {
        let built = jsonschema::options().offline().build(schema);
        let validator = built.map_err(|error| schema_fault(schema, &error))?;
        Ok(Self { validator: Arc::new(validator) })
    }

    /// Everything about a value that does not fit, in the order the schema finds it.
    pub fn check(&self, value: &Value) -> Vec<Mismatch> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for error in self.validator.iter_errors(value) {
            describe(&error, &mut found);
        }
        found
    }

    /// Whether a value fits.
    pub fn fits(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }
}

impl Mismatch {
    fn value(error: &ValidationError<'_>, message: String) -> Self {
        Self {
            kind: MismatchKind::Value,
            pointer: error.instance_path().as_str().to_owned(),
            key: None,
            message,
        }
    }

    fn key(error: &ValidationError<'_>, kind: MismatchKind, key: &str, message: String) -> Self {
        Self { kind, pointer: error.instance_path().as_str().to_owned(), key: Some(key.to_owned()), message }
    }
}

fn schema_fault(schema: &Value, error: &ValidationError<'_>) -> Mismatch {
    let pointer = error.instance_path().as_str();
    let at = schema.pointer(pointer);
    let message = match (error.kind(), at) {
        (ValidationErrorKind::Referencing(fault), _) => {
            let fault = fault.to_string();
            format!("a `$ref` cannot be followed, and nothing is fetched: {}", cut(&fault))
        }
        (_, Some(Value::String(name))) if pointer.ends_with("/type") => {
            format!(
                "`{}` is no type of JSON Schema (expected one of `string`, `number`, `integer`, `boolean`, \
                 `array`, `object`, `null`)",
                cut(name)
            )
        }
        (ValidationErrorKind::Format { format }, Some(value)) if format == "regex" => {
            format!("{} is no regular expression", show(value))
        }
        _ => {
            let mut found = Vec::new();
            describe(error, &mut found);
            let found = found.into_iter().next().map_or_else(|| cut(&error.to_string()), |one| one.message);
            format!("not a JSON Schema: {found}")
        }
    };
    Mismatch::value(error, message)
}

/// Puts one error of the validator into words; an error about several keys becomes one each.
fn describe(error: &ValidationError<'_>, found: &mut Vec<Mismatch>) {
    use ValidationErrorKind as Kind;
    let instance = error.instance().as_ref();
    let shown = show(instance);
    let message = match error.kind() {
        Kind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            let message = format!("`{key}` is missing");
            return found.push(Mismatch::key(error, MismatchKind::MissingKey, key, message));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            for key in unexpected {
                let message = format!("`{}` is not known here", cut(key));
                found.push(Mismatch::key(error, MismatchKind::UnknownKey, key, message));
            }
            return;
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            // With one way left after the wrong types are put aside, that way's errors say more than
            // "none of the alternatives".
            let mut near = context.iter().filter(|errors| !errors.iter().any(|one| wrong_type(error, one)));
            if let (Some(errors), None) = (near.next(), near.next()) {
                errors.iter().for_each(|one| describe(one, found));
                return;
            }
            let mut types: Vec<&str> = Vec::new();
            for errors in context {
                for one in errors {
                    if let Kind::Type { kind } = one.kind()
                        && wrong_type(error, one)
                    {
                        types.extend(kind_names(kind));
                    }
                }
            }
            types.dedup();
            if types.len() == context.len() && !types.is_empty() {
                wrong(instance, &types)
            } else {
                format!("{shown} fits none of the alternatives")
            }
        }
        Kind::Type { kind } => {
            let expected = kind_names(kind).collect::<Vec<_>>();
            wrong(instance, &expected)
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let listed = options.iter().take(20).map(show).collect::<Vec<_>>();
            let more = if options.len() > listed.len() { ", …" } else { "" };
            format!("{shown} is not one of {}{more}", listed.join(", "))
        }
        Kind::Constant { expected_value } => format!("{shown} is not {}", show(expected_value)),
        Kind::Pattern { pattern } => format!("{shown} does not match the pattern `{}`", cut(pattern)),
        Kind::Format { format } => format!("{shown} is not of the format `{format}`"),
        Kind::Minimum { limit } => format!("{shown} is less than {limit}"),
        Kind::Maximum { limit } => format!("{shown} is more than {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("{shown} is not more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("{shown} is not less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("{shown} is not a multiple of {multiple_of}"),
        Kind::MinLength { limit } => {
            format!("{shown} is shorter than {limit} {}", plural(*limit, "character"))
        }
        Kind::MaxLength { limit } => {
            format!("{shown} is longer than {limit} {}", plural(*limit, "character"))
        }
        Kind::MinItems { limit } => format!("the list has fewer than {limit} {}", plural(*limit, "item")),
        Kind::MaxItems { limit } => format!("the list has more than {limit} {}", plural(*limit, "item")),
        Kind::AdditionalItems { limit } => {
            format!("the list has more than {limit} {}", plural(*limit as u64, "item"))
        }
        Kind::UniqueItems => "the list has an item twice".to_owned(),
        Kind::Contains => "the list lacks an item it must contain".to_owned(),
        Kind::MinProperties { limit } => {
            format!("the object has fewer than {limit} {}", plural(*limit, "key"))
        }
        Kind::MaxProperties { limit } => {
            format!("the object has more than {limit} {}", plural(*limit, "key"))
        }
        Kind::PropertyNames { error } => {
            let mut inner = Vec::new();
            describe(error, &mut inner);
            let why = inner.into_iter().next().map(|one| one.message).unwrap_or_default();
            format!("a key does not fit: {why}")
        }
        Kind::OneOfMultipleValid { .. } => format!("{shown} fits more than one of the alternatives"),
        Kind::Not { .. } | Kind::FalseSchema => format!("{shown} is not allowed here"),
        _ => cut(&error.masked().to_string()),
    };
    found.push(Mismatch::value(error, message));
}

/// Whether one alternative failed because the value itself has another type.
fn wrong_type(whole: &ValidationError<'_>, one: &ValidationError<'_>) -> bool {
    matches!(one.kind(), ValidationErrorKind::Type { .. })
        && one.instance_path().as_str() == whole.instance_path().as_str()
}

fn kind_names(kind: &TypeKind) -> Box<dyn Iterator<Item = &'static str>> {
    match kind {
        TypeKind::Single(one) => Box::new(std::iter::once(type_name(*one))),
        TypeKind::Multiple(set) => Box::new(set.iter().map(type_name).collect::<Vec<_>>().into_iter()),
    }
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// That a value has another type than the expected ones.
fn wrong(value: &Value, expected: &[&str]) -> String {
    let expected = join(expected, "or");
    match value {
        Value::Null | Value::Array(_) | Value::Object(_) => {
            format!("found {}, expected {expected}", type_of(value))
        }
        _ => format!("{} is {}, expected {expected}", show(value), type_of(value)),
    }
}

/// A value for a message: short ones as JSON, long ones cut, large ones only named.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", cut(text)),
        Value::Array(items) if items.is_empty() => "`[]`".to_owned(),
        Value::Object(keys) if keys.is_empty() => "`{}`".to_owned(),
        Value::Array(_) => "the list".to_owned(),
        Value::Object(_) => "the object".to_owned(),
        other => format!("`{other}`"),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

fn join(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [head @ .., tail] => format!("{} {last} {tail}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, value: Value) -> Vec<(MismatchKind, String, String)> {
        let found = Schema::parse(&schema).unwrap().check(&value);
        found.into_iter().map(|one| (one.kind, one.pointer, one.message)).collect()
    }

    #[test]
    fn mismatches_say_what_was_found_and_what_was_expected() {
        use MismatchKind::{MissingKey, UnknownKey, Value as Wrong};
        let schema = json!({"type": "object", "required": ["week"], "additionalProperties": false, "properties": {
            "week": {"type": "string", "pattern": "^W"}, "top": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["a", 2]}, "list": {"type": "array", "items": {"type": ["string", "null"]}, "maxItems": 2},
            "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "deep": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["x"]}]}}});
        for (value, kind, pointer, message) in [
            (json!({}), MissingKey, "", "`week` is missing"),
            (json!({"week": "W1", "wek": 1}), UnknownKey, "", "`wek` is not known here"),
            (json!({"week": 1}), Wrong, "/week", "`1` is an integer, expected a string"),
            (json!({"week": "x"}), Wrong, "/week", "`x` does not match the pattern `^W`"),
            (json!({"week": "W", "top": "many"}), Wrong, "/top", "`many` is a string, expected an integer"),
            (json!({"week": "W", "top": 1.5}), Wrong, "/top", "`1.5` is a number, expected an integer"),
            (json!({"week": "W", "top": 0}), Wrong, "/top", "`0` is less than 1"),
            (json!({"week": "W", "mode": "b"}), Wrong, "/mode", "`b` is not one of `a`, `2`"),
            (
                json!({"week": "W", "list": [{}]}),
                Wrong,
                "/list/0",
                "found an object, expected null or a string",
            ),
            (
                json!({"week": "W", "list": [null, null, null]}),
                Wrong,
                "/list",
                "the list has more than 2 items",
            ),
            (
                json!({"week": "W", "any": [1]}),
                Wrong,
                "/any",
                "found a list, expected a string or an integer",
            ),
            (json!({"week": "W", "deep": {}}), MissingKey, "/deep", "`x` is missing"),
            (json!([1]), Wrong, "", "found a list, expected an object"),
        ] {
            assert_eq!(
                check(schema.clone(), value.clone()),
                [(kind, pointer.to_owned(), message.to_owned())],
                "{value}"
            );
        }
    }

    #[test]
    fn a_huge_value_is_never_shown_whole() {
        let found = check(json!({"type": "integer"}), json!("x".repeat(100_000)));
        assert!(found[0].2.len() < 200, "{}", found[0].2.len());
        let found = check(json!({"enum": (0..1000).collect::<Vec<_>>()}), json!(vec![1; 10_000]));
        assert!(found[0].2.len() < 300, "{}", found[0].2);
    }

    #[test]
    fn a_schema_that_is_none_says_where() {
        for (schema, pointer, part) in [
            (json!({"type": "objekt"}), "/type", "`objekt` is no type of JSON Schema"),
            (json!({"properties": {"a": {"type": "strin"}}}), "/properties/a/type", "`strin` is no type"),
            (json!({"required": "a"}), "/required", "is a string, expected a list"),
            (json!({"pattern": "("}), "/pattern", "regular expression"),
            (json!({"$ref": "https://example.com/x.json"}), "", "nothing is fetched"),
            (json!({"$ref": "#/nowhere"}), "", "`$ref` cannot be followed"),
            (json!({"minLength": -1}), "/minLength", "less than 0"),
        ] {
            let fault = Schema::parse(&schema).unwrap_err();
            assert!(fault.message.contains(part), "{schema}: {}", fault.message);
            assert_eq!(fault.pointer, pointer, "{schema}");
        }
    }
}
