//! JSON text read so that nothing in it is lost: a key that stands twice in one object is a mistake.
//!
//! Main type: [`Strict`], a value. The usual reader keeps the last of two equal keys, which would call
//! a tool with half of what a model wrote. Knows no schema.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value in which no object names a key twice.
pub(super) struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Whole).map(Self)
    }
}

struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that JSON does not have"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} stands twice in one object")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_a_double_key_is_read_as_usual() {
        let text = r#"{"a": [1, -2, 1.5, 18446744073709551615, "ä", null, true, {"b": {}}], "b": 1}"#;
        let strict: Strict = serde_json::from_str(text).unwrap();
        assert_eq!(strict.0, serde_json::from_str::<Value>(text).unwrap());
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#] {
            let error = serde_json::from_str::<Strict>(text).err().unwrap();
            assert!(error.to_string().contains("\"a\" stands twice"), "{error}");
        }
    }
}
