//! Events as rows: a big value is stored once, and every place that has it holds its hash.
//!
//! Main functions: [`shrink`] and [`restore`]. A model's text that becomes a step's result, or a result
//! that is another step's argument, costs its size once. Knows JSON and no database.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Values whose JSON is longer are stored apart, in bytes.
const BIG: usize = 256;

/// The key of an object that stands for a value stored apart.
const REFERENCE: &str = "$value";

/// The hash a value is found by.
pub(super) type Hash = [u8; 32];

/// A value that is stored apart.
pub(super) struct Apart {
    pub hash: Hash,
    pub body: String,
}

/// Into how many levels of a field of an event is looked for values; of all others the whole field is one.
fn levels(field: &str) -> usize {
    match field {
        "args" | "answer" | "outcome" | "inputs" | "scripts" => 1,
        // Messages, and their texts.
        "new" => 2,
        _ => 0,
    }
}

/// The event without its big values, and these.
pub(super) fn shrink(event: &mut Value) -> Vec<Apart> {
    let mut apart = Vec::new();
    for (name, value) in event.as_object_mut().into_iter().flatten() {
        take_apart(value, levels(name), &mut apart);
    }
    apart
}

fn take_apart(value: &mut Value, levels: usize, apart: &mut Vec<Apart>) {
    // What could be taken for a reference is always stored apart, so that a reference is never data.
    let confusing = value.get(REFERENCE).is_some();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::Object(fields) if levels > 0 && !confusing => {
            fields.values_mut().for_each(|it| take_apart(it, levels - 1, apart));
        }
        Value::Array(items) if levels > 0 => {
            items.iter_mut().for_each(|it| take_apart(it, levels - 1, apart));
        }
        Value::String(_) | Value::Array(_) | Value::Object(_) => {
            let body = value.to_string();
            if body.len() > BIG || confusing {
                let hash = hash(&body);
                *value = json!({ REFERENCE: hex(&hash) });
                apart.push(Apart { hash, body });
            }
        }
    }
}

/// Puts the big values of an event back.
///
/// # Errors
/// As `find` says.
pub(super) fn restore<E>(
    event: &mut Value,
    find: &mut impl FnMut(&Hash) -> Result<Value, E>,
) -> Result<(), E> {
    let mut fields = event.as_object_mut().into_iter().flatten();
    fields.try_for_each(|(name, value)| put_back(value, levels(name), find))
}

fn put_back<E>(
    value: &mut Value,
    levels: usize,
    find: &mut impl FnMut(&Hash) -> Result<Value, E>,
) -> Result<(), E> {
    if let Some(hash) = value.get(REFERENCE).and_then(|hash| unhex(hash.as_str()?)) {
        *value = find(&hash)?;
        return Ok(());
    }
    match value {
        Value::Object(fields) if levels > 0 => {
            fields.values_mut().try_for_each(|it| put_back(it, levels - 1, find))
        }
        Value::Array(items) if levels > 0 => {
            items.iter_mut().try_for_each(|it| put_back(it, levels - 1, find))
        }
        _ => Ok(()),
    }
}

/// The hash of a value's JSON text.
pub(super) fn hash(body: &str) -> Hash {
    Sha256::digest(body.as_bytes()).into()
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != 2 * hash.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[a-z]{0,300}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let key = prop_oneof![Just("$value".to_owned()), Just("text".to_owned()), "[a-z]{1,3}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_taken_apart_is_put_back(args in any_value(), new in any_value(), result in any_value()) {
            let event = json!({"seq": 1, "args": args, "new": new, "result": result});
            let mut small = event.clone();
            let apart: HashMap<Hash, String> =
                shrink(&mut small).into_iter().map(|it| (it.hash, it.body)).collect();
            // Through text, as it is stored.
            let mut back: Value = serde_json::from_str(&small.to_string()).unwrap();
            restore(&mut back, &mut |hash| serde_json::from_str::<Value>(&apart[hash])).unwrap();
            prop_assert_eq!(back, event);
        }
    }

    #[test]
    fn a_result_costs_its_size_once_wherever_it_goes() {
        let big = json!("x".repeat(1000));
        let mut returned = json!({"type": "tool_returned", "result": big});
        let mut called = json!({"type": "tool_called", "args": {"rows": big, "limit": 3}});
        let first = shrink(&mut returned);
        let second = shrink(&mut called);
        assert_eq!(first[0].hash, second[0].hash);
        assert_eq!(called["args"]["limit"], 3);
        assert!(returned.to_string().len() + called.to_string().len() < 300);
    }
}
