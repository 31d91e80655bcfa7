//! Strict JSON plus repairs that keep every value: one value, read to a tree with places.
//!
//! Main type: [`Reader`]. Nesting is bounded, numbers are kept as written. Knows nothing of what
//! stands around the value.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Number;

use super::quoted::{Marks, Places, Quoted};
use super::{Candidate, MAX_DEPTH, Repair, SyntaxError};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::node::{Entry, Kind, Node, Scalar, ScalarValue, Style};
use crate::source::Span;

/// Reads one value from a text.
pub(super) struct Reader<'a> {
    text: &'a str,
    places: &'a Places,
    pub(super) at: usize,
    /// Whether a key with its colon, or an item of a list, was read: prose in braces gets no further.
    pub(super) begun: bool,
    repairs: BTreeSet<Repair>,
    duplicates: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// A reader that starts at an offset.
    pub(super) fn new(text: &'a str, places: &'a Places, at: usize) -> Self {
        Self { text, places, at, begun: false, repairs: BTreeSet::new(), duplicates: Vec::new() }
    }

    /// Reads the value at the current place, and what separates it from the place.
    pub(super) fn value(&mut self) -> Result<Arc<Node>, SyntaxError> {
        self.nested(0)
    }

    /// Makes sure that nothing but space and comments is left.
    pub(super) fn end(&mut self) -> Result<(), SyntaxError> {
        self.space()?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end")),
        }
    }

    /// The value that was read, with what was mended to read it.
    pub(super) fn into_candidate(self, node: Arc<Node>) -> Candidate {
        Candidate { node, repairs: self.repairs, duplicates: self.duplicates }
    }

    fn nested(&mut self, depth: usize) -> Result<Arc<Node>, SyntaxError> {
        self.space()?;
        let start = self.at;
        if depth > MAX_DEPTH {
            return Err(self.error(start, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let kind = match self.peek() {
            Some('{') => self.object(depth)?,
            Some('[') => self.list(depth)?,
            Some('-' | '0'..='9') => self.number()?,
            Some(c) if Marks::opened_by(c).is_some() => string(self.quoted()?),
            Some(c) if c.is_alphabetic() || c == '_' => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Arc::new(Node { span: self.places.span(start, self.at), kind }))
    }

    fn object(&mut self, depth: usize) -> Result<Kind, SyntaxError> {
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: HashMap<Arc<str>, Span> = HashMap::new();
        loop {
            self.space()?;
            if self.eat('}') {
                return Ok(Kind::Map(entries));
            }
            let start = self.at;
            let key: Arc<str> = self.key()?.into();
            let key_span = self.places.span(start, self.at);
            self.space()?;
            if !self.eat(':') {
                return Err(self.unexpected(&format!("`:` after the key `{}`", shorten(&key))));
            }
            self.begun = true;
            let value = self.nested(depth + 1)?;
            match seen.get(&key) {
                Some(first) => self.duplicates.push(
                    Diagnostic::new(
                        Code::DuplicateKey,
                        key_span,
                        format!("the key `{}` stands twice in one object", shorten(&key)),
                    )
                    .help("keep one of the two")
                    .related(*first, "the first one"),
                ),
                None => {
                    seen.insert(key.clone(), key_span);
                    entries.push(Entry { key, key_span, value });
                }
            }
            self.separator('}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Kind, SyntaxError> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space()?;
            if self.eat(']') {
                return Ok(Kind::List(items));
            }
            items.push(self.nested(depth + 1)?);
            self.begun = true;
            self.separator(']')?;
        }
    }

    /// Reads a comma, or makes sure that the end follows.
    fn separator(&mut self, close: char) -> Result<(), SyntaxError> {
        self.space()?;
        if self.eat(',') {
            self.space()?;
            if self.peek() == Some(close) {
                self.repairs.insert(Repair::TrailingComma);
            }
            return Ok(());
        }
        match self.peek() {
            Some(c) if c == close => Ok(()),
            Some('+' | '-' | '*' | '/' | '^' | '%' | '×' | '÷') => {
                let mut error = self.unexpected(&format!("`,` or `{close}`"));
                error.message.push_str("; a value must be written out, an expression is not evaluated");
                Err(error)
            }
            _ => Err(self.unexpected(&format!("`,` or `{close}`"))),
        }
    }

    fn key(&mut self) -> Result<String, SyntaxError> {
        match self.peek() {
            Some(c) if Marks::opened_by(c).is_some() => Ok(self.quoted()?.text),
            Some(c) if c.is_ascii_alphabetic() || c == '_' || c == '$' => {
                let rest = &self.text[self.at..];
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-')));
                let key = &rest[..end.unwrap_or(rest.len())];
                self.at += key.len();
                self.repairs.insert(Repair::BareKey);
                Ok(key.to_owned())
            }
            _ => Err(self.unexpected("a key or `}`")),
        }
    }

    fn quoted(&mut self) -> Result<Quoted, SyntaxError> {
        let quoted = Quoted::read(self.text, self.at).map_err(|error| SyntaxError {
            span: self.char_span(error.at),
            message: error.message,
            ended: error.ended,
        })?;
        match quoted.marks {
            Marks::Double => {}
            Marks::Single => _ = self.repairs.insert(Repair::SingleQuotes),
            Marks::Smart => _ = self.repairs.insert(Repair::SmartQuotes),
        }
        if quoted.raw {
            self.repairs.insert(Repair::RawLineBreak);
        }
        self.at = quoted.end;
        Ok(quoted)
    }

    fn number(&mut self) -> Result<Kind, SyntaxError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut at = start + usize::from(bytes[start] == b'-');
        let mut ends = vec![(at, digits(at))];
        at = digits(at);
        let leading_zero = bytes[ends[0].0..at].len() > 1 && bytes[ends[0].0] == b'0';
        if bytes.get(at) == Some(&b'.') {
            ends.push((at + 1, digits(at + 1)));
            at = digits(at + 1);
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let from = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            ends.push((from, digits(from)));
            at = digits(from);
        }
        let empty = ends.iter().any(|(from, to)| from == to);
        if empty && at == self.text.len() {
            return Err(self.ended("a number"));
        }
        let next = self.text[at..].chars().next();
        if empty || leading_zero || next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
            let rest = &self.text[start..];
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | ':'));
            let found = shorten(&rest[..end.unwrap_or(rest.len())]);
            return Err(self.error(start, format!("`{found}` is not a number as JSON writes one")));
        }
        let text = &self.text[start..at];
        let number: Number = serde_json::from_str(text)
            .map_err(|_| self.error(start, format!("the number `{}` is out of range", shorten(text))))?;
        self.at = at;
        Ok(scalar(text, Style::Plain, ScalarValue::Number(number)))
    }

    fn word(&mut self) -> Result<Kind, SyntaxError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let word = &rest[..end];
        let (text, value) = match word {
            "true" | "True" => ("true", ScalarValue::Bool(true)),
            "false" | "False" => ("false", ScalarValue::Bool(false)),
            "null" | "None" => ("null", ScalarValue::Null),
            _ if end == rest.len() => return Err(self.ended("a value")),
            "NaN" | "Infinity" | "undefined" | "nan" | "inf" => {
                return Err(self.error(self.at, format!("`{word}` is no value in JSON")));
            }
            _ => {
                let message = format!("expected a value, found `{}`; a string needs quotes", shorten(word));
                return Err(self.error(self.at, message));
            }
        };
        if word != text {
            self.repairs.insert(Repair::PythonLiteral);
        }
        self.at += end;
        Ok(scalar(text, Style::Plain, value))
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest =
                self.text[self.at..].trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at = self.text.len() - rest.len();
            let length = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find(['\n', '\r']).unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => end + 2,
                    None => return Err(self.ended("a comment")),
                }
            } else {
                return Ok(());
            };
            self.repairs.insert(Repair::Comment);
            self.at += length;
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn error(&self, at: usize, message: String) -> SyntaxError {
        SyntaxError { span: self.char_span(at), message, ended: false }
    }

    fn ended(&self, inside: &str) -> SyntaxError {
        let message = format!("the text ends inside {inside}");
        SyntaxError { span: self.char_span(self.text.len()), message, ended: true }
    }

    fn unexpected(&self, expected: &str) -> SyntaxError {
        let rest = &self.text[self.at..];
        match rest.chars().next() {
            // A closing fence is where the JSON ends, whatever follows.
            Some(_) if rest.starts_with("```") => {
                let message = format!("expected {expected}, found the end of the code fence");
                SyntaxError { span: self.char_span(self.at), message, ended: true }
            }
            Some(c) => self.error(self.at, format!("expected {expected}, found `{}`", c.escape_debug())),
            None => {
                let message = format!("expected {expected}, but the text ends");
                SyntaxError { span: self.char_span(self.at), message, ended: true }
            }
        }
    }

    fn char_span(&self, at: usize) -> Span {
        let length = self.text[at..].chars().next().map_or(0, char::len_utf8);
        self.places.span(at, at + length)
    }
}

fn string(quoted: Quoted) -> Kind {
    scalar(&quoted.text, Style::DoubleQuoted, ScalarValue::String)
}

fn scalar(text: &str, style: Style, value: ScalarValue) -> Kind {
    Kind::Scalar(Scalar { text: text.into(), style, value })
}

/// The start of a text, for a message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
