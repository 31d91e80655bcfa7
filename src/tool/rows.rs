//! The rows of a query as JSON: a list of objects, within a bound.
//!
//! Main type: [`Rows`]. Integers, reals and text stay what they are; a column declared BOOLEAN gives
//! true and false, one declared JSON its value, and bytes become `{"base64": …}`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};
use serde_json::{Map, Number, Value, json};

/// What an entry costs besides its text, in bytes, when output is measured.
const ENTRY: usize = 8;

/// The rows that fit.
pub(super) struct Rows {
    columns: Vec<Column>,
    rows: Vec<Value>,
    /// How many bytes may still come.
    room: usize,
    limit: usize,
    cut: bool,
}

struct Column {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Boolean,
    Json,
}

impl Rows {
    /// No rows yet, of what the statement gives; at most about `limit` bytes.
    pub(super) fn new(statement: &Statement<'_>, limit: usize) -> Self {
        let mut columns: Vec<Column> = Vec::new();
        for column in statement.columns() {
            let kind = match column.decl_type().map(str::to_ascii_uppercase).as_deref() {
                Some("BOOLEAN" | "BOOL") => Kind::Boolean,
                Some("JSON") => Kind::Json,
                _ => Kind::Plain,
            };
            let mut name = column.name().to_owned();
            let mut copy = 1;
            while columns.iter().any(|other| other.name == name) {
                copy += 1;
                name = format!("{}_{copy}", column.name());
            }
            columns.push(Column { name, kind });
        }
        Self { columns, rows: Vec::new(), room: limit, limit, cut: false }
    }

    /// Takes in a row; false if there was no room for it.
    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<bool, rusqlite::Error> {
        let mut size = 0;
        for (at, column) in self.columns.iter().enumerate() {
            // Measured before it is copied: a single cell may be larger than everything allowed.
            size += ENTRY + column.name.len();
            size += match row.get_ref(at)? {
                ValueRef::Text(bytes) => bytes.len(),
                ValueRef::Blob(bytes) => bytes.len() / 3 * 4,
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => ENTRY,
            };
        }
        if size > self.room {
            self.cut = true;
            return Ok(false);
        }
        self.room -= size;
        let mut object = Map::with_capacity(self.columns.len());
        for (at, column) in self.columns.iter().enumerate() {
            object.insert(column.name.clone(), json_value(row.get_ref(at)?, column.kind));
        }
        self.rows.push(Value::Object(object));
        Ok(true)
    }

    /// The list. Where rows were left out, its last item is a text that says so.
    pub(super) fn into_value(mut self) -> Value {
        if self.cut {
            let (kept, limit) = (self.rows.len(), self.limit);
            let mark = format!("… [more rows left out after {kept}: the result is over {limit} bytes] …");
            self.rows.push(mark.into());
        }
        Value::Array(self.rows)
    }
}

fn json_value(value: ValueRef<'_>, kind: Kind) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(flag @ (0 | 1)) if kind == Kind::Boolean => Value::Bool(flag == 1),
        ValueRef::Integer(integer) => integer.into(),
        // JSON has no infinity, and SQLite has no other number it could not hold.
        ValueRef::Real(real) => match Number::from_f64(real) {
            Some(number) => Value::Number(number),
            None => Value::String(real.to_string()),
        },
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            match kind {
                Kind::Json => serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned().into()),
                Kind::Plain | Kind::Boolean => Value::String(text.into_owned()),
            }
        }
        ValueRef::Blob(bytes) => json!({"base64": STANDARD.encode(bytes)}),
    }
}
