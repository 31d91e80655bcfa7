//! Declared inputs and the values given for them.
//!
//! Main function: [`bind_inputs`]. Checks defaults when a file is loaded, and what the command line
//! gives when a run begins. Knows nothing of steps.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::names::did_you_mean;
use super::schemas::read_schema;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic, sort};
use crate::document::{Document, InputDoc};
use crate::source::{Source, Span};
use crate::spec::{Mismatch, Schema};
use crate::workflow::Input;

/// The values of a run's inputs, and what is wrong with what was given, under the text it stands in.
#[derive(Debug)]
pub struct Bound {
    /// Every input that has a value, given or by default, in the order of their declaration.
    pub values: Map<String, Value>,
    /// One entry for each text with mistakes.
    pub mistakes: Vec<(Source, Vec<Diagnostic>)>,
}

/// Binds values to declared inputs: `pairs` are names and values as text (`-i k=v`), `file` a JSON
/// object; pairs win. A text is the value itself where the schema accepts a string, else it is read as
/// JSON. Inputs that are not given have their default; one without is `missing-input`.
pub fn bind_inputs(
    inputs: &IndexMap<String, Input>,
    pairs: &[(String, String)],
    file: Option<&Source>,
) -> Bound {
    let mut given = Map::new();
    let mut mistakes = Vec::new();
    if let Some(file) = file {
        let found = read_file(inputs, file, &mut given);
        if !found.is_empty() {
            mistakes.push((file.clone(), found));
        }
    }
    let mut text = String::new();
    let mut found = Vec::new();
    for (name, value) in pairs {
        let start = text.len();
        text.push_str(&format!("{name}={value}\n"));
        let name_span = Span::new(start, start + name.len());
        let value_span = Span::new(name_span.end + 1, text.len() - 1);
        let Some(input) = inputs.get(name) else {
            found.push(unknown(inputs, name, name_span));
            continue;
        };
        let Ok(schema) = Schema::parse(&input.schema) else { continue };
        let as_text = Value::String(value.clone());
        let value = match serde_json::from_str::<Value>(value) {
            Ok(json) if !schema.fits(&as_text) => json,
            _ => as_text,
        };
        found.extend(check(&schema, &value, name, value_span));
        given.insert(name.clone(), value);
    }
    let mut values = Map::new();
    let refused = !mistakes.is_empty();
    for (name, input) in inputs {
        if let Some(value) = given.remove(name).or_else(|| input.default.clone()) {
            values.insert(name.clone(), value);
        } else if !refused {
            let message = match &input.description {
                Some(description) => format!("the input `{name}` has no value: {description}"),
                None => format!("the input `{name}` has no value"),
            };
            let missing = Diagnostic::new(Code::MissingInput, Span::at(text.len()), message);
            found.push(missing.path(name.as_str()).help(format!("give it: `-i {name}=…`")));
        }
    }
    if !found.is_empty() {
        sort(&mut found);
        mistakes.push((Source::new("<inputs>", text), found));
    }
    Bound { values, mistakes }
}

/// Checks the declarations, and gives those that are right.
pub(super) fn check_inputs(document: &Document, found: &mut Vec<Diagnostic>) -> IndexMap<String, Input> {
    let mut inputs = IndexMap::new();
    for input in &document.inputs {
        if let Some(checked) = check_input(input, found) {
            inputs.insert(input.name.value.clone(), checked);
        }
    }
    inputs
}

fn check_input(input: &InputDoc, found: &mut Vec<Diagnostic>) -> Option<Input> {
    let root = Trail::root("inputs");
    let trail = root.key(&input.name.value);
    let schema = match &input.schema {
        field if field.is_missing() => Value::Object(Map::new()),
        field => read_schema(field, &trail, found)?,
    };
    let compiled = Schema::parse(&schema).ok()?;
    let default = input.default.get();
    if let Some(node) = default {
        for Mismatch { pointer, message, .. } in compiled.check(&node.to_json()) {
            let span = node.pointer(&pointer).map_or(node.span, |at| at.span);
            let trail = trail.key("default");
            let message = format!("the default does not fit: {message}");
            found.push(Diagnostic::new(Code::InputType, span, message).path(trail.pointer(&pointer)));
        }
    }
    Some(Input {
        schema,
        default: default.map(|node| node.to_json()),
        description: input.description.get().cloned(),
    })
}

fn read_file(
    inputs: &IndexMap<String, Input>,
    file: &Source,
    given: &mut Map<String, Value>,
) -> Vec<Diagnostic> {
    let whole = Span::new(0, file.text().len());
    let object = match serde_json::from_str::<Value>(file.text()) {
        Ok(Value::Object(object)) => object,
        Ok(_) => {
            return vec![Diagnostic::new(Code::WrongType, whole, "the inputs must be a JSON object")];
        }
        Err(error) => {
            let start = file.line_start(error.line()).unwrap_or(0) + error.column().saturating_sub(1);
            return vec![Diagnostic::new(
                Code::InvalidValue,
                Span::at(start),
                format!("the inputs are no JSON: {error}"),
            )];
        }
    };
    let mut found = Vec::new();
    for (name, value) in object {
        let quoted = Value::from(name.as_str()).to_string();
        let span = file.text().find(&quoted).map_or(whole, |at| Span::new(at, at + quoted.len()));
        let Some(input) = inputs.get(&name) else {
            found.push(unknown(inputs, &name, span));
            continue;
        };
        if let Ok(schema) = Schema::parse(&input.schema) {
            found.extend(check(&schema, &value, &name, span));
        }
        given.insert(name, value);
    }
    found
}

fn check(schema: &Schema, value: &Value, name: &str, span: Span) -> Vec<Diagnostic> {
    let found = schema.check(value).into_iter().map(|mismatch| {
        let message = format!("the input `{name}` does not fit: {}", mismatch.message);
        Diagnostic::new(Code::InputType, span, message).path(Trail::root(name).pointer(&mismatch.pointer))
    });
    found.collect()
}

fn unknown(inputs: &IndexMap<String, Input>, name: &str, span: Span) -> Diagnostic {
    let known: Vec<&str> = inputs.keys().map(String::as_str).collect();
    let mut found =
        Diagnostic::new(Code::UnknownInput, span, format!("there is no input named `{name}`")).path(name);
    found.help =
        did_you_mean(name, &known, "inputs").or_else(|| Some("the workflow declares no inputs".to_owned()));
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inputs() -> IndexMap<String, Input> {
        let input = |schema: Value, default: Option<Value>| Input { schema, default, description: None };
        IndexMap::from([
            ("week".to_owned(), input(json!({"type": "string"}), Some(json!("W1")))),
            ("top".to_owned(), input(json!({"type": "integer", "minimum": 1}), None)),
        ])
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn codes(bound: &Bound) -> Vec<(usize, Code)> {
        let all =
            bound.mistakes.iter().flat_map(|(source, found)| found.iter().map(move |one| (source, one)));
        all.map(|(source, one)| (source.position(one.span.start).line, one.code)).collect()
    }

    #[test]
    fn texts_are_json_only_where_no_string_may_be() {
        let bound = bind_inputs(&inputs(), &pairs(&[("week", "42"), ("top", "3")]), None);
        assert_eq!(Value::Object(bound.values.clone()), json!({"week": "42", "top": 3}));
        assert_eq!(codes(&bound), []);
    }

    #[test]
    fn pairs_win_over_the_file_and_defaults_fill_up() {
        let file = Source::new("f.json", r#"{"top": 1}"#);
        let bound = bind_inputs(&inputs(), &pairs(&[("top", "2")]), Some(&file));
        assert_eq!(Value::Object(bound.values), json!({"week": "W1", "top": 2}));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let bound = bind_inputs(&inputs(), &pairs(&[("weak", "x"), ("top", "zero")]), None);
        assert_eq!(codes(&bound), [(1, Code::UnknownInput), (2, Code::InputType)]);
        assert_eq!(
            bound.mistakes[0].1[0].help.as_deref(),
            Some("did you mean `week`? known inputs: top, week")
        );
        assert_eq!(codes(&bind_inputs(&inputs(), &[], None)), [(1, Code::MissingInput)]);
        let file = Source::new("f.json", "{\"top\": 0,\n \"x\": 1}");
        assert_eq!(
            codes(&bind_inputs(&inputs(), &[], Some(&file))),
            [(1, Code::InputType), (2, Code::UnknownInput)]
        );
        let file = Source::new("f.json", "{\n\"top\" 0}");
        assert_eq!(codes(&bind_inputs(&inputs(), &[], Some(&file))), [(2, Code::InvalidValue)]);
    }
}
