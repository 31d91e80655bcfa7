//! What a JSON Schema says of the parts of a value before there is one: where a pointer can lead, and
//! of which types a part can be.
//!
//! Main functions: [`find`] and [`Kinds::of`]. Both err on the side of "unknown": what they refuse can
//! never be. Knows no step and no tool.

use std::fmt;

use serde_json::{Map, Value};

/// Most schemas one question visits; behind that everything is unknown. References may go in circles,
/// and alternatives multiply.
const MOST: u32 = 1000;

/// Keywords that may allow a key which is not among the `properties`.
const OPENING: [&str; 8] = [
    "patternProperties",
    "propertyNames",
    "if",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
];

/// The types a value can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u8);

/// What a pointer finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A value of one of these types; all of them where nothing is known.
    Kinds(Kinds),
    /// Nothing: no value of the schema has such a part.
    Nowhere(Nowhere),
}

/// Why a pointer leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nowhere {
    /// How many parts of the pointer lead somewhere.
    pub depth: usize,
    /// What is there, and why the next part is not in it: "a number has no parts".
    pub why: String,
    /// The fields there are instead.
    pub fields: Vec<String>,
    /// Whether the schema says so itself; else it only declares other fields.
    certain: bool,
}

/// What the parts of a pointer, unescaped, lead to in a value that fits the schema.
pub fn find(schema: &Value, parts: &[String]) -> Found {
    let mut search = Search { root: schema, parts, left: MOST };
    search.find(schema, 0)
}

impl Kinds {
    const NULL: Self = Self(1);
    const BOOLEAN: Self = Self(2);
    const INTEGER: Self = Self(4);
    /// A number that is no integer.
    const FRACTION: Self = Self(8);
    const NUMBER: Self = Self(4 | 8);
    const STRING: Self = Self(16);
    const ARRAY: Self = Self(32);
    const OBJECT: Self = Self(64);
    /// Nothing is known.
    pub const ALL: Self = Self(127);

    /// The types of the values that fit a schema.
    pub fn of(schema: &Value) -> Self {
        match find(schema, &[]) {
            Found::Kinds(kinds) => kinds,
            Found::Nowhere(_) => Self::ALL,
        }
    }

    /// Whether no value can be of both.
    pub fn excludes(self, other: Self) -> bool {
        self.and(other).0 == 0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, other: Self) -> bool {
        !self.excludes(other)
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
                Self::FRACTION
            }
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    /// What `type`, `enum` and `const` of one schema leave.
    fn written(schema: &Map<String, Value>) -> Self {
        let any = |values: &[Value], kind: fn(&Value) -> Self| {
            values.iter().fold(Self(0), |kinds, value| kinds.or(kind(value)))
        };
        let by_type = match schema.get("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => any(names, |name| name.as_str().map_or(Self::ALL, Self::named)),
            _ => Self::ALL,
        };
        let by_value = match (schema.get("const"), schema.get("enum")) {
            (Some(value), _) => Self::of_value(value),
            (None, Some(Value::Array(values))) => any(values, Self::of_value),
            _ => Self::ALL,
        };
        by_type.and(by_value)
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Vec::new();
        for (kind, name) in [
            (Self::STRING, "a string"),
            (Self::NUMBER, "a number"),
            (Self::INTEGER, "an integer"),
            (Self::FRACTION, "a number"),
            (Self::BOOLEAN, "a boolean"),
            (Self::ARRAY, "a list"),
            (Self::OBJECT, "an object"),
            (Self::NULL, "null"),
        ] {
            let whole = self.and(kind) == kind;
            let part_of_number = kind != Self::NUMBER && kind.and(Self::NUMBER) == kind;
            if whole && !(part_of_number && self.and(Self::NUMBER) == Self::NUMBER) {
                names.push(name);
            }
        }
        match names.split_last() {
            None => f.write_str("nothing"),
            Some((last, [])) => f.write_str(last),
            Some((last, rest)) => write!(f, "{} or {last}", rest.join(", ")),
        }
    }
}

struct Search<'s> {
    root: &'s Value,
    parts: &'s [String],
    left: u32,
}

impl<'s> Search<'s> {
    fn find(&mut self, schema: &'s Value, depth: usize) -> Found {
        let Value::Object(keys) = schema else { return Found::Kinds(Kinds::ALL) };
        if self.left == 0 {
            return Found::Kinds(Kinds::ALL);
        }
        self.left -= 1;
        let mut found = vec![match self.parts.get(depth) {
            None => Found::Kinds(Kinds::written(keys)),
            Some(part) => self.step(keys, part, depth),
        }];
        if let Some(reference) = keys.get("$ref").and_then(Value::as_str) {
            found.push(match self.target(reference) {
                Some(target) => self.find(target, depth),
                None => Found::Kinds(Kinds::ALL),
            });
        }
        for all in keys.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            found.push(self.find(all, depth));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(ways) = keys.get(key).and_then(Value::as_array).filter(|ways| !ways.is_empty()) {
                let ways = ways.iter().map(|way| self.find(way, depth)).collect();
                found.push(either(ways));
            }
        }
        both(found)
    }

    /// A reference within the schema.
    fn target(&self, reference: &str) -> Option<&'s Value> {
        let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'))?;
        self.root.pointer(pointer)
    }

    /// One part further, by what a schema says itself.
    fn step(&mut self, keys: &'s Map<String, Value>, part: &str, depth: usize) -> Found {
        let kinds = Kinds::written(keys);
        let mut ways = Vec::new();
        if kinds.has(Kinds::OBJECT) {
            ways.push(self.field(keys, part, depth));
        }
        if kinds.has(Kinds::ARRAY) {
            ways.push(self.item(keys, part, depth));
        }
        if ways.is_empty() {
            return nowhere(depth, format!("{kinds} has no parts"), Vec::new(), true);
        }
        either(ways)
    }

    fn field(&mut self, keys: &'s Map<String, Value>, part: &str, depth: usize) -> Found {
        let properties = keys.get("properties").and_then(Value::as_object);
        if let Some(schema) = properties.and_then(|properties| properties.get(part)) {
            return self.find(schema, depth + 1);
        }
        let fields = || properties.into_iter().flat_map(|fields| fields.keys().cloned()).collect();
        let why = || format!("there is no field `{part}`");
        match keys.get("additionalProperties") {
            _ if OPENING.iter().any(|key| keys.contains_key(*key)) => Found::Kinds(Kinds::ALL),
            Some(Value::Bool(false)) => nowhere(depth, why(), fields(), true),
            Some(schema) => self.find(schema, depth + 1),
            None if properties.is_some_and(|fields| !fields.is_empty()) => {
                nowhere(depth, why(), fields(), false)
            }
            None => Found::Kinds(Kinds::ALL),
        }
    }

    fn item(&mut self, keys: &'s Map<String, Value>, part: &str, depth: usize) -> Found {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits || (part.len() > 1 && part.starts_with('0')) {
            let why = format!("a list has positions (`/0`), and no `{part}`");
            return nowhere(depth, why, Vec::new(), true);
        }
        let index = part.parse::<usize>().unwrap_or(usize::MAX);
        let short = |most: u64| {
            let items = if most == 1 { "item" } else { "items" };
            nowhere(depth, format!("the list has at most {most} {items}"), Vec::new(), true)
        };
        if let Some(most) = keys.get("maxItems").and_then(Value::as_u64).filter(|most| index as u64 >= *most)
        {
            return short(most);
        }
        let items = keys.get("items");
        let listed = keys.get("prefixItems").or(items).and_then(Value::as_array);
        if let Some(schema) = listed.and_then(|listed| listed.get(index)) {
            return self.find(schema, depth + 1);
        }
        let rest = if items.is_some_and(Value::is_array) { keys.get("additionalItems") } else { items };
        match rest {
            Some(Value::Bool(false)) => short(listed.map_or(0, |listed| listed.len() as u64)),
            Some(schema) => self.find(schema, depth + 1),
            None => Found::Kinds(Kinds::ALL),
        }
    }
}

fn nowhere(depth: usize, why: String, fields: Vec<String>, certain: bool) -> Found {
    Found::Nowhere(Nowhere { depth, why, fields, certain })
}

/// What holds if one of several schemas holds.
fn either(ways: Vec<Found>) -> Found {
    let mut kinds = None;
    let mut best: Option<Nowhere> = None;
    for way in ways {
        match way {
            Found::Kinds(more) => kinds = Some(kinds.map_or(more, |kinds: Kinds| kinds.or(more))),
            Found::Nowhere(other) => best = Some(merge(best, other, false)),
        }
    }
    match (kinds, best) {
        (None, Some(nowhere)) => Found::Nowhere(nowhere),
        (kinds, _) => Found::Kinds(kinds.unwrap_or(Kinds::ALL)),
    }
}

/// What holds if several schemas hold at once.
fn both(all: Vec<Found>) -> Found {
    let mut kinds = None;
    let mut best: Option<Nowhere> = None;
    for one in all {
        match one {
            Found::Kinds(more) => kinds = Some(kinds.map_or(more, |kinds: Kinds| kinds.and(more))),
            Found::Nowhere(other) => best = Some(merge(best, other, true)),
        }
    }
    match (kinds, best) {
        // Another schema may allow what this one only does not name.
        (Some(kinds), Some(nowhere)) if !nowhere.certain => Found::Kinds(kinds),
        (_, Some(nowhere)) => Found::Nowhere(nowhere),
        (kinds, None) => Found::Kinds(kinds.unwrap_or(Kinds::ALL)),
    }
}

/// The reason that says more: the one that leads further, with the fields of all at its place.
fn merge(best: Option<Nowhere>, other: Nowhere, any_certain: bool) -> Nowhere {
    let Some(best) = best else { return other };
    let certain = if any_certain { best.certain || other.certain } else { best.certain && other.certain };
    let further = (other.depth, !other.fields.is_empty()) > (best.depth, !best.fields.is_empty());
    let (mut kept, left) = if further { (other, best) } else { (best, other) };
    if kept.depth == left.depth {
        let more: Vec<String> = left.fields.into_iter().filter(|name| !kept.fields.contains(name)).collect();
        kept.fields.extend(more);
    }
    kept.certain = certain;
    kept
}

#[cfg(test)]
mod tests {
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
        let open =
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "number"}});
        let tuple = json!({"prefixItems": [{"type": "string"}], "items": false, "type": "array"});
        let old_tuple =
            json!({"items": [{"type": "string"}], "additionalItems": {"type": "null"}, "type": "array"});
        let either =
            json!({"anyOf": [row, {"type": "object", "properties": {"other": {"type": "boolean"}}}]});
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
}
