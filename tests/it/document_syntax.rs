//! What the reading says of broken texts, where it says so, and that no text breaks it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use serde_json::json;
use wf::diagnostic::{Code, Diagnostic};
use wf::document;
use wf::source::Source;

fn tree(text: &str) -> (Option<serde_json::Value>, Vec<Diagnostic>) {
    let (node, diagnostics) = document::tree(&Source::new("t", text));
    (node.map(|node| node.to_json()), diagnostics)
}

fn ok(text: &str) -> serde_json::Value {
    let (value, diagnostics) = tree(text);
    assert!(diagnostics.is_empty(), "{text:?}: {diagnostics:#?}");
    value.unwrap()
}

/// The codes with the text they are placed at.
fn found(text: &str) -> Vec<(&'static str, String)> {
    let source = Source::new("t", text);
    let (_, diagnostics) = document::tree(&source);
    diagnostics.iter().map(|one| (one.code.as_str(), source.slice(one.span).to_owned())).collect()
}

fn only(text: &str) -> (&'static str, usize, usize, String) {
    let source = Source::new("t", text);
    let (_, diagnostics) = document::tree(&source);
    let [one] = &diagnostics[..] else { panic!("{text:?}: {diagnostics:#?}") };
    let place = source.position(one.span.start);
    (one.code.as_str(), place.line, place.column, one.help.clone().unwrap_or_default())
}

#[test]
fn spans_are_exact_behind_every_kind_of_character_and_line_end() {
    let text = "\u{feff}ä: \"ö🎉\"\r\nb:\t'x'\r\nlist:\r\n  - 日本\r\n  - {k: v}\r\ntext: |\r\n  eins\r\n  zwei\r\nend: e\r\n";
    let source = Source::new("t", text);
    let (node, diagnostics) = document::tree(&source);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    let root = node.unwrap();
    let at = |pointer: &str| source.slice(root.pointer(pointer).unwrap().span);
    assert_eq!(at("/ä"), "\"ö🎉\"");
    assert_eq!(at("/b"), "'x'");
    assert_eq!(at("/list/0"), "日本");
    assert_eq!(at("/list/1"), "{k: v}");
    assert_eq!(at("/list"), "- 日本\r\n  - {k: v}");
    assert_eq!(at("/text"), "eins\r\n  zwei");
    assert_eq!(at("/end"), "e");
    let keys: Vec<&str> = root.as_map().unwrap().iter().map(|entry| source.slice(entry.key_span)).collect();
    assert_eq!(keys, ["ä", "b", "list", "text", "end"]);
    assert_eq!(source.slice(root.span), text.trim_start_matches('\u{feff}').trim_end());
    assert_eq!(root.get("text").unwrap().to_json(), json!("eins\nzwei\n"));
}

#[test]
fn anchors_and_merges_give_the_values_they_name() {
    let text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {y: 0, <<: [*a, *b]}\nd: *a\ne: {<<: *b}\n'f': {'<<': 1}\n";
    assert_eq!(
        ok(text),
        json!({"a": {"x": 1, "y": 2}, "b": {"y": 3, "z": 4}, "c": {"y": 0, "x": 1, "z": 4}, "d": {"x": 1, "y": 2},
            "e": {"y": 3, "z": 4}, "f": {"<<": 1}})
    );
    assert_eq!(found("a: {<<: 1}\n"), [("wrong-type", "1".to_owned())]);
    assert_eq!(found("a: &a {}\nb: {<<: *a, <<: *a}\n"), [("duplicate-key", "<<".to_owned())]);
    assert_eq!(found("a: *b\nc: *c\n"), [("yaml-syntax", "*b".to_owned()), ("yaml-syntax", "*c".to_owned())]);
    assert_eq!(found("a: &a [*a]\n"), [("yaml-syntax", "*a".to_owned())]);
}

#[test]
fn json_is_read_by_the_same_reader() {
    assert_eq!(
        ok("{\n\t\"a\": [\n\t\t1,\n\t\ttrue, null\n\t],\n\t\"b\\/\\u00e4\": {\"c\":\"\\ud83c\\udf89\"}\n}\n"),
        json!({"a": [1, true, null], "b/ä": {"c": "🎉"}})
    );
    assert_eq!(found("{\"a\": 1, \"a\": 2}"), [("duplicate-key", "\"a\"".to_owned())]);
}

#[test]
fn each_mistake_of_the_text_has_its_code_and_place() {
    let expect = |text: &str, codes: &[(&str, &str)]| {
        let expected: Vec<_> = codes.iter().map(|(code, at)| (*code, (*at).to_owned())).collect();
        assert_eq!(found(text), expected, "{text:?}");
    };
    expect("", &[("empty-file", "")]);
    expect("# only\n\n# comments\n", &[("empty-file", "")]);
    expect("---\n", &[("empty-file", "")]);
    expect("~\n", &[]);
    expect("a: 1\n---\nb: 1\n", &[("multiple-documents", "---")]);
    expect("a: 1\nb: 2\na: 3\na: 4\n", &[("duplicate-key", "a"), ("duplicate-key", "a")]);
    expect("a: !x 1\nb: !!set {c}\nd: !!str 1\ne: ! 2\n", &[("custom-tag", "!x"), ("custom-tag", "!!set")]);
    expect("a: !!map [1]\n", &[("custom-tag", "!!map")]);
    expect(
        "p: {1: x, true: y, null: z, 1.5: w}\n",
        &[
            ("non-string-key", "1"),
            ("non-string-key", "true"),
            ("non-string-key", "null"),
            ("non-string-key", "1.5"),
        ],
    );
    expect("? [a, b]\n: c\n", &[("non-string-key", "[a, b]")]);
    expect(
        "a: .inf\nb: 99999999999999999999\n",
        &[("invalid-value", ".inf"), ("invalid-value", "99999999999999999999")],
    );
    expect(
        "a: x\u{0}y\nb: \u{1b}[0m\nc: \u{202e}z\nc: 2\n",
        &[
            ("control-character", "\0"),
            ("control-character", "\u{1b}"),
            ("control-character", "\u{202e}"),
            ("duplicate-key", "c"),
        ],
    );
    expect(
        "a: {{ inputs.x }}\nb: [{{ y }}]\n",
        &[("yaml-syntax", "{{ inputs.x }}"), ("yaml-syntax", "{{ y }}")],
    );
}

#[test]
fn broken_syntax_is_placed_and_told_in_words_that_help() {
    for (text, line, column, help) in [
        ("name:weekly\ntask: x\n", 1, 5, "write `name: weekly`"),
        ("task: x\nname:weekly\nmodel: y\n", 2, 5, "write `name: weekly`"),
        ("s:\n  - id:1\n    type: x\n", 2, 7, "write `- id: 1`"),
        ("d: Compile: a summary\n", 1, 11, "quote the whole value"),
        ("a: {{ x }} and more\n", 1, 4, "double quotes"),
        ("a: *bold* text\n", 1, 4, "quote the text"),
        ("a: \"x\nb: 1\n", 1, 4, "close it"),
        ("a: [1, 2\n", 1, 4, "close it with `]`"),
        ("a: [1}\n", 1, 4, "close it with `]`"),
        ("ä: @x\n", 1, 4, "quote"),
        ("a: 'it's'\n", 1, 8, "twice"),
        ("a: - b\n", 1, 4, "line of its own"),
        ("a:\n  b: 1\n   c: 2\n", 3, 4, "same column"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "same column"),
        ("- a\nb: 1\n", 2, 1, "list"),
    ] {
        let (code, found_line, found_column, found_help) = only(text);
        assert_eq!((code, found_line, found_column), ("yaml-syntax", line, column), "{text:?}: {found_help}");
        assert!(found_help.contains(help), "{text:?}: {found_help}");
    }
}

#[test]
fn tabs_that_indent_are_named_where_they_stand() {
    for (text, line, column) in [
        ("a:\n\t- 1\n", 2, 1),
        ("a:\n  b: 1\n\tc: 2\n", 3, 1),
        ("a: 1\n\tb: 2\n", 2, 1),
        ("a:\n  \tb: 2\n  c: 3\n", 2, 3),
    ] {
        let (code, found_line, found_column, _) = only(text);
        assert_eq!((code, found_line, found_column), ("tab-indent", line, column), "{text:?}");
    }
}

#[test]
fn bombs_are_refused_at_once() {
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let names = vec![format!("*a{}", level - 1); 10].join(", ");
        aliases.push_str(&format!("a{level}: &a{level} [{names}]\n"));
    }
    let mut chain = String::from("a0: &a0 [x]\n");
    for level in 1..5000 {
        chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    let block: String = (0..2000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let nested = (0..63).fold("x".to_owned(), |inner, _| format!("[{inner}]"));
    assert!(tree(&format!("a: {nested}\n")).1.is_empty());
    let start = Instant::now();
    for (text, code) in [
        ("[".repeat(100_000), Code::TooDeep),
        ("{a: ".repeat(100_000), Code::TooDeep),
        ("- ".repeat(100_000), Code::TooDeep),
        (block, Code::TooDeep),
        (format!("a: [{nested}]\n"), Code::TooDeep),
        (chain, Code::TooDeep),
        (aliases, Code::AliasLimit),
        ("x".repeat(document::MAX_BYTES + 1), Code::FileTooLarge),
        ("? ".repeat(100_000), Code::TooDeep),
        ("&a ".repeat(100_000), Code::YamlSyntax),
        ("]".repeat(100_000), Code::YamlSyntax),
        ("\"".repeat(99_999), Code::YamlSyntax),
        (format!("a: [{}", "x, ".repeat(50_000)), Code::YamlSyntax),
    ] {
        let (_, diagnostics) = tree(&text);
        let codes: Vec<Code> = diagnostics.iter().map(|one| one.code).collect();
        assert_eq!(codes, [code], "{}", &text[..20]);
    }
    let (_, found) = tree(&format!("a: \"{}\"\nb: 1\nb: 2\n", "x".repeat(2_000_000)));
    let codes: Vec<Code> = found.iter().map(|one| one.code).collect();
    assert_eq!(codes, [Code::FileTooLarge, Code::DuplicateKey]);
    for many in [": \n".repeat(50_000), "a: 1\n".repeat(50_000), "a: *b\n".repeat(50_000)] {
        assert_eq!(tree(&many).1.len(), 10_000);
    }
    let unknown: String = (0..20_000).fold(String::new(), |text, key| text + &format!("k{key}: 1\n"));
    assert_eq!(document::read(&Source::new("t", unknown)).1.len(), 100);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

fn holds(text: &str) -> Result<(), proptest::test_runner::TestCaseError> {
    let source = Source::new("t", text);
    let (_, diagnostics) = document::read(&source);
    for one in &diagnostics {
        let spans = [Some(one.span), one.suggestion.as_ref().map(|mend| mend.span)];
        for span in spans.into_iter().flatten().chain(one.related.iter().map(|related| related.span)) {
            prop_assert!(text.get(span.start..span.end).is_some(), "{text:?}: {one:?}");
        }
        prop_assert!(!one.message.is_empty() && !one.message.ends_with('.'), "{one:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_breaks_the_reading(text in any::<String>()) {
        holds(&text)?;
    }

    #[test]
    fn no_text_of_the_marks_of_yaml_breaks_the_reading(
        text in r#"([\n\t \-:{}\[\],#&*!|>'"%@a0ä🎉~?<\\]|id|: |- |\n  |<<: |\{\{|steps:|args:|type: |\r\n|\u{85}|\u{2028}|\u{feff}){0,40}"#
    ) {
        holds(&text)?;
    }

    #[test]
    fn a_file_with_something_in_the_wrong_place_breaks_nothing(cut in 0usize..600, insert in r#"[\n\t :\-{}\[\]"'&*a0ä]{0,4}"#) {
        let file = include_str!("../data/cases/validate/ok-depends-on-and-refs.yaml");
        let cut = file.floor_char_boundary(cut.min(file.len()));
        holds(&format!("{}{insert}{}", &file[..cut], &file[cut..]))?;
        holds(&format!("{}{insert}", &file[..cut]))?;
    }
}
