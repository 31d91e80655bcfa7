//! The JSON in a model's reply: found between prose, fences and think blocks, and read as strict JSON
//! plus a few honest repairs, each of which is named.
//!
//! Main type: [`Reading`]. A repair never changes or invents a value: what would need that is a
//! [`SyntaxError`]. Gives the same tree as a file does, with places in the reply. Knows no key of the
//! format: whether a value is a plan is for `load` to say.

mod json;
mod quoted;
mod scan;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::node::Node;
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};
use json::Reader;
use quoted::{Places, Quoted};

/// Longest reply that is read, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// Deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;

/// What a reply holds.
#[derive(Debug, Default)]
pub struct Reading {
    /// Every object and list that stands by itself, in the order of the reply.
    pub candidates: Vec<Candidate>,
    /// The attempt that got furthest before it failed.
    pub failure: Option<SyntaxError>,
    /// An object, a list or a think block that the reply breaks off in.
    pub cut: Option<SyntaxError>,
}

/// A value that was read.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub node: Arc<Node>,
    /// What was left out or mended to read it.
    pub repairs: BTreeSet<Repair>,
    /// Keys that stand twice in one object: errors.
    pub duplicates: Vec<Diagnostic>,
}

/// Why a text is no JSON, even with repairs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// Where, in the source.
    pub span: Span,
    /// What was found and what was expected.
    pub message: String,
    /// Whether the text just ended too early.
    pub ended: bool,
}

/// A repair that keeps every value as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    ByteOrderMark,
    ThinkBlock,
    Fence,
    Prose,
    TrailingComma,
    Comment,
    SingleQuotes,
    SmartQuotes,
    BareKey,
    PythonLiteral,
    RawLineBreak,
    Embedded,
}

impl Repair {
    /// What was done, in a short phrase.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "removed the byte order mark",
            Self::ThinkBlock => "removed a think block",
            Self::Fence => "removed a code fence",
            Self::Prose => "removed the text around the plan",
            Self::TrailingComma => "removed a trailing comma",
            Self::Comment => "removed comments",
            Self::SingleQuotes => "read single quotes as double quotes",
            Self::SmartQuotes => "read typographic quotes as plain ones",
            Self::BareKey => "put quotes around keys",
            Self::PythonLiteral => "read True, False and None as true, false and null",
            Self::RawLineBreak => "kept raw line breaks and tabs inside strings",
            Self::Embedded => "read JSON that was encoded as a string",
        }
    }
}

/// Finds and reads the JSON in a reply.
pub fn read(source: &Source) -> Reading {
    if source.text().len() > MAX_BYTES {
        let message = format!("the reply is longer than {} MiB", MAX_BYTES >> 20);
        let failure = SyntaxError { span: Span::at(0), message, ended: false };
        return Reading { failure: Some(failure), ..Reading::default() };
    }
    scan::scan(source.text(), &Places::Same)
}

/// Finds and reads the JSON in a string that itself stands in the reply.
pub fn read_embedded(source: &Source, node: &Node) -> Reading {
    let Some(text) = node.as_str() else { return Reading::default() };
    let mut reading = scan::scan(text, &places(source, node, text));
    for candidate in &mut reading.candidates {
        candidate.repairs.insert(Repair::Embedded);
    }
    reading
}

/// Reads a string of the reply that is JSON as a whole, such as arguments given as text.
pub fn read_whole(source: &Source, node: &Node) -> Result<Candidate, SyntaxError> {
    let text = node.as_str().unwrap_or_default();
    let places = places(source, node, text);
    let mut reader = Reader::new(text, &places, 0);
    let node = reader.value()?;
    reader.end()?;
    let mut candidate = reader.into_candidate(node);
    candidate.repairs.insert(Repair::Embedded);
    Ok(candidate)
}

/// Where the text of a string stands. A string inside a string inside the reply has one place only.
fn places(source: &Source, node: &Node, text: &str) -> Places {
    match Quoted::read(source.text(), node.span.start) {
        Ok(quoted) if quoted.text == text && quoted.end == node.span.end => {
            Places::Map { breaks: quoted.breaks, end: quoted.end }
        }
        _ => Places::Fixed(node.span),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, proptest};
    use serde_json::json;

    use super::*;
    use crate::document::node::Kind;

    fn source(text: &str) -> Source {
        Source::new("<reply>", text)
    }

    #[test]
    fn values_that_stand_by_themselves_are_found_and_read() {
        let table = [
            ("", vec![]),
            ("{}", vec![json!({})]),
            ("\u{feff}[1, -2.50, 3e2]", vec![json!([1, -2.5, 300.0])]),
            ("see {x} and {1,2} or [y]: {\"a\": 1} done", vec![json!({"a": 1})]),
            ("```json\n{\"a\": 1}\n```", vec![json!({"a": 1})]),
            ("```\n{\"a\": \"```json\\n{}\\n```\"}", vec![json!({"a": "```json\n{}\n```"})]),
            ("{\"a\": \"<think>{\\\"b\\\": 1}</think>\"}", vec![json!({"a": "<think>{\"b\": 1}</think>"})]),
            ("<think>{\"a\": 1}</think>{\"a\": 2}", vec![json!({"a": 2})]),
            ("<Reasoning>{\"a\": 1}</Reasoning>{\"a\": 2}", vec![json!({"a": 2})]),
            ("[THINK]{\"a\": 1}[/THINK]{\"a\": 2}", vec![json!({"a": 2})]),
            ("first {\"a\": 1}, no</think>{\"a\": 2}", vec![json!({"a": 2})]),
            ("<think>so: {\"a\": 1}\n```", vec![json!({"a": 1})]),
            ("<think>{\"a\": 1} or rather", vec![]),
            ("<think>{\"a\": 1} {\"a\": 2}", vec![]),
            ("{\"a\": 1}{\"a\": 1}", vec![json!({"a": 1}), json!({"a": 1})]),
            ("\"{\\\"a\\\": [1]}\"", vec![json!({"a": [1]})]),
            ("he said \"{\" and {\"a\": 1}", vec![json!({"a": 1})]),
            (
                "{a: 1, $b-c: 'it\\'s', \"d\": 'a \"b\"',}",
                vec![json!({"a": 1, "$b-c": "it's", "d": "a \"b\""})],
            ),
            (
                "{“a”: “say \"x\"”, ‘b’: True, 'c': None,}",
                vec![json!({"a": "say \"x\"", "b": true, "c": null})],
            ),
            ("{/* x */ \"a\": 1, // y\n # z\n}", vec![json!({"a": 1})]),
            ("{\"a\": \"x\ny\\u00e9\\ud83d\\ude00\"}", vec![json!({"a": "x\nyé😀"})]),
            // What would change or invent a value, and what stands inside it, is no value.
            ("{\"a\": [{\"b\": 1}], \"c\": 2+3}", vec![]),
            ("{\"a\": {\"b\": 1}, \"c\": NaN}", vec![]),
            ("[{\"b\": 1}, {\"b\": 2", vec![]),
            ("{\"a\": 01}", vec![]),
            ("{\"a\": .5}", vec![]),
            ("{\"a\": 5.}", vec![]),
            ("{\"a\": +5}", vec![]),
            ("{\"a\": 0x1F}", vec![]),
            ("{\"a\": 1_000}", vec![]),
            ("{\"a\": 1e999}", vec![]),
            ("{\"a\": -Infinity}", vec![]),
            ("{\"a\": yes}", vec![]),
            ("{\"a\": 1 \"b\": 2}", vec![]),
            ("{\"a\": 1,, \"b\": 2}", vec![]),
            ("{\"a\": \"\\x41\"}", vec![]),
            ("{\"a\": \"\\ud83d\"}", vec![]),
            ("{\"a\": \"\u{0}\"}", vec![]),
            ("a: 1\nb: 2", vec![]),
        ];
        for (text, expected) in table {
            let found: Vec<_> = read(&source(text)).candidates.iter().map(|c| c.node.to_json()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn each_repair_is_named_and_none_is_invented() {
        let table: [(&str, &[Repair]); 14] = [
            ("{\"a\": [1, true, null, \"x\"]}", &[]),
            (" \n{}\t\n", &[]),
            ("\u{feff}{}", &[Repair::ByteOrderMark]),
            ("<think>x</think>{}", &[Repair::ThinkBlock]),
            ("```json\n{}\n```", &[Repair::Fence]),
            ("Here:\n{}", &[Repair::Prose]),
            ("{\"a\": [1,],}", &[Repair::TrailingComma]),
            ("{} // done", &[Repair::Prose]),
            ("{ // done\n}", &[Repair::Comment]),
            ("{'a': 1}", &[Repair::SingleQuotes]),
            ("{“a”: 1}", &[Repair::SmartQuotes]),
            ("{a: 1}", &[Repair::BareKey]),
            ("{\"a\": None}", &[Repair::PythonLiteral]),
            ("{\"a\": \"x\ty\"}", &[Repair::RawLineBreak]),
        ];
        for (text, expected) in table {
            let reading = read(&source(text));
            let repairs: Vec<_> = reading.candidates[0].repairs.iter().copied().collect();
            assert_eq!(repairs, expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let table = [
            (
                "{\"a\": 2+3}",
                7,
                "expected `,` or `}`, found `+`; a value must be written out, an expression is not evaluated",
                false,
            ),
            ("{\"a\": NaN}", 6, "`NaN` is no value in JSON", false),
            ("{\"a\": add}", 6, "expected a value, found `add`; a string needs quotes", false),
            ("{\"a\": 007}", 6, "`007` is not a number as JSON writes one", false),
            ("{\"a\" 1}", 5, "expected `:` after the key `a`, found `1`", false),
            ("{\"a\": [1, ", 10, "expected a value, but the text ends", true),
            ("{\"a\": \"b", 8, "the text ends inside a string", true),
            ("```\n{\"a\": 1\n```\n", 12, "expected `,` or `}`, found the end of the code fence", true),
        ];
        for (text, at, message, ended) in table {
            let failure = read(&source(text)).failure.unwrap();
            assert_eq!(
                (failure.span.start, failure.message.as_str(), failure.ended),
                (at, message, ended),
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_keep_their_text_and_duplicate_keys_their_places() {
        let reading = read(&source("{\"a\": 1.0, \"b\": 12345678901234567890123, \"a\": 2}"));
        let candidate = &reading.candidates[0];
        let text = |key| candidate.node.get(key).unwrap().as_scalar().unwrap().text.to_string();
        assert_eq!((text("a"), text("b")), ("1.0".to_owned(), "12345678901234567890123".to_owned()));
        assert_eq!(candidate.duplicates.len(), 1);
        assert_eq!(
            (candidate.duplicates[0].span, candidate.duplicates[0].related[0].span),
            (Span::new(41, 44), Span::new(1, 4))
        );
    }

    #[test]
    fn json_in_a_string_has_places_in_the_reply() {
        let source = source("{\"args\": \"{\\\"é\\\": \\n 12}\"}");
        let reading = read(&source);
        let node = reading.candidates[0].node.get("args").unwrap();
        let inner = read_whole(&source, node).unwrap();
        assert_eq!(source.slice(inner.node.get("é").unwrap().span), "12");
        assert_eq!(inner.node.to_json(), json!({"é": 12}));
        let deeper = read_embedded(&source, node);
        assert_eq!(deeper.candidates[0].node.to_json(), json!({"é": 12}));
    }

    #[test]
    fn hostile_nesting_and_repetition_are_bounded() {
        for text in [
            "[",
            "{\"a\":",
            "<think>",
            "\"{\\",
            "```",
            "{/*",
            "{'a':1 x\n```\n",
            "[[1,",
            "{“",
            "\"",
            "{a:\"b\" \"",
            "</think>{",
        ] {
            let reading = read(&source(&text.repeat(100_000)));
            assert!(reading.candidates.is_empty(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        assert_eq!(read(&source(&deep)).candidates.len(), 1);
        let deeper = format!("{}{}", "[".repeat(66), "]".repeat(66));
        assert!(read(&source(&deeper)).failure.unwrap().message.contains("nested deeper"));
        assert!(read(&source(&" ".repeat(MAX_BYTES + 1))).failure.unwrap().message.contains("4 MiB"));
    }

    fn inside(node: &Node, text: &str) {
        assert!(node.span.start <= node.span.end && node.span.end <= text.len());
        assert!(text.is_char_boundary(node.span.start) && text.is_char_boundary(node.span.end));
        match &node.kind {
            Kind::List(items) => items.iter().for_each(|item| inside(item, text)),
            Kind::Map(entries) => entries.iter().for_each(|entry| inside(&entry.value, text)),
            Kind::Scalar(_) | Kind::Reported => {}
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_without_panic_and_with_places_inside(
            text in "([\\[\\]{}:,\"'“”‘`<>/*#\\\\ \n\u{feff}0-9.eE+-]|\\\\u|d83d|true|None|think>|steps|```json|é|😀|\\PC){0,60}"
        ) {
            let source = source(&text);
            let reading = read(&source);
            for candidate in &reading.candidates {
                inside(&candidate.node, &text);
                if let Some(items) = candidate.node.as_list() {
                    for item in items.iter().filter(|item| item.as_str().is_some()) {
                        for candidate in read_embedded(&source, item).candidates {
                            assert!(candidate.node.span.end <= text.len());
                        }
                        _ = read_whole(&source, item);
                    }
                }
            }
            for error in reading.failure.iter().chain(&reading.cut) {
                assert!(error.span.start <= error.span.end && error.span.end <= text.len());
            }
        }

        #[test]
        fn strict_json_is_read_as_serde_json_reads_it(value in json_value()) {
            for text in [value.to_string(), format!("{value:#}")] {
                let reading = read(&source(&text));
                assert_eq!(reading.candidates.len(), 1, "{text}");
                assert_eq!(reading.candidates[0].node.to_json(), value);
                assert!(reading.candidates[0].repairs.is_empty(), "{text}");
            }
        }
    }

    fn json_value() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
        use proptest::prelude::{Just, Strategy, any, prop_oneof};
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(serde_json::Value::from),
            "\\PC{0,12}|[\"\\\\`<>{}\n\t]{0,6}".prop_map(serde_json::Value::from),
        ];
        let tree = leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                proptest::collection::btree_map("\\PC{0,6}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        });
        proptest::collection::vec(tree, 0..3).prop_map(serde_json::Value::from)
    }
}
