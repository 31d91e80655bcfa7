//! One mistake does not hide another: what the reading still says behind broken syntax.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use wf::diagnostic::Code;
use wf::document;
use wf::load::{Scope, load};
use wf::source::Source;
use wf::workflow::Origin;

/// `LINE code`, one a line, of everything that loading the text gives.
fn found(text: &str) -> Vec<String> {
    let source = Source::new("t", text);
    let loaded = load(&source, &Scope::default(), Origin::Person);
    let errors = loaded.diagnostics.iter().filter(|one| one.is_error());
    errors.map(|one| format!("{} {}", source.position(one.span.start).line, one.code)).collect()
}

#[test]
fn mistakes_in_several_places_are_each_told_once_and_the_rest_is_checked() {
    let text = "\
name: many
tsak: x
limits:
\ttimeout: 5m
\tmax_steps: none
tools:
  first: {command: [a, b}
  second:
    command: wc -w
workflow_sequence:
  - id:1
    type: reasoning
    description: Compile: a summary
  - id: 2
    type: reasoning
    description: \"not closed
  - id: 3
    type: reasonin
    description: Think
  - id: 4
    type: aggregate
    inputs: [1, 2
    description: Sum up
  - id: 5
    type: aggregate
    inputs: [1, 9]
    descripton: Sum up
  - id: 6
    type: reasoning
    description: {{ inputs.x }}
  - id: 7
   type: reasoning
    description: Think
  - id: 8
    type: reasoning
    description: Think
    depends_on: [2, 4, 6, 7]
    timeout: 5
";
    assert_eq!(
        found(text),
        [
            "2 unknown-key",
            "4 tab-indent",
            "5 wrong-type",
            "7 yaml-syntax",
            "9 wrong-type",
            "11 yaml-syntax",
            "13 yaml-syntax",
            "16 yaml-syntax",
            "18 invalid-value",
            "22 yaml-syntax",
            "27 unknown-key",
            "30 yaml-syntax",
            "32 yaml-syntax",
            "38 invalid-duration",
        ]
    );
}

#[test]
fn what_is_taken_out_is_reported_and_nothing_follows_from_it() {
    for (text, line) in [
        // An anchor is taken out, and the alias stays.
        ("x-a: &a {b: c: d}\ntask: x\nmodel: *a\n", 1),
        (
            "task: x\ntools:\n  a: {command: [b}\nworkflow_sequence:\n  - {id: 1, type: tool_call, tool: a, args: {}}\n",
            3,
        ),
        ("task: x\ntools:\n  a: b: c\n", 3),
        (
            "workflow_sequence:\n  - {id: 1, type: reasoning, description: d\n  - {id: 2, type: reasoning, description: d, depends_on: [1]}\n",
            2,
        ),
        ("workflow_sequence:\n  - id: 1\n    type: reasoning\n      description: x\n", 4),
        ("task: x\nenv: [A, B\nmodel: {name: openai/x, base_url: 'https://{{ env.B }}/'}\n", 2),
    ] {
        let found = found(text);
        assert_eq!(found.len(), 1, "{text}{found:?}");
        assert!(found[0].starts_with(&format!("{line} ")), "{text}{found:?}");
    }
}

#[test]
fn json_that_is_broken_says_so_once() {
    let text = "{\n\t\"steps\": [\n\t\t{\"id\": 1 \"tool\": \"a\"},\n\t\t{\"id\": 2}\n\t]\n}\n";
    assert_eq!(found(text), ["3 yaml-syntax"]);
}

/// A file of steps that takes every reading apart: nested, in brackets, in blocks, at the same column.
const STEPS: [&str; 5] = [
    "  - id: 1\n    type: reasoning\n    description: Think\n    timeout: 5s\n",
    "  - id: two\n    type: reasoning\n    description: |\n      Think: twice\n      and again\n    output_schema:\n      type: object\n      properties:\n        a: {type: string}\n",
    "  - id: 3\n    type: aggregate\n    inputs: [1, two]\n    description: 'Sum up'\n    retry:\n      max_attempts: 2\n      delay: 1s\n",
    "  - {id: 4, type: reasoning, description: Think}\n",
    "  - id: 5\n    type: aggregate\n    inputs:\n    - 3\n    - 4\n    description: \"Sum up\"\n    depends_on: [1, two, 3, 4]\n",
];

/// How many ways there are to break a line.
const WAYS: usize = 19;

fn broken(line: &str, how: usize) -> String {
    let column = line.len() - line.trim_start().len();
    let (indent, text) = line.split_at(column);
    let text = text.trim_end();
    let glued = text.replacen(": ", ":", 1);
    match how {
        0 => format!("\t{}{text}\n", &indent[2..]),
        18 => format!("{}{text}\n", indent.replace("    ", "\t")),
        1 => format!("{indent}{glued}\n"),
        2 => format!("{line_text}: x: y\n", line_text = line.trim_end()),
        3 => format!("{indent}{}\n", text.replacen(": ", ": \"", 1)),
        4 => format!("{indent}{}\n", text.replacen(": ", ": [", 1)),
        5 => format!("{indent}{}\n", text.replacen(": ", ": {{ a }} ", 1)),
        6 => format!("{indent}{}\n", text.replacen(": ", ": @", 1)),
        7 => format!("{indent}{}\n", text.replacen(": ", ": *", 1)),
        8 => format!("{indent}{}\n", text.replacen(": ", " ", 1)),
        9 => format!("  {indent}{text}\n"),
        10 => format!(" {indent}{text}\n"),
        11 => format!("{}{text}\n", &indent[1..]),
        12 => format!("{indent}{}\n", text.replacen(": ", ": - ", 1)),
        13 => format!("{indent}{}\n", text.replacen(": ", ": 'a' ", 1)),
        14 => format!("{indent}{text}\n{indent}zzz\n"),
        15 => format!("{indent}{}\n", text.replacen(": ", ": ]", 1)),
        16 => format!("{indent}{}\n", text.replacen(": ", ": !x ", 1)),
        _ => format!("{indent}{}\n", text.replacen(": ", ": {", 1)),
    }
}

/// What is wrong with the reading of the file in which one line of one step is broken, if anything is.
fn reaches_further(step: usize, line: usize, how: usize) -> Option<String> {
    let mut text = "task: x\nworkflow_sequence:\n".to_owned();
    let mut range = (0, 0);
    for (at, whole) in STEPS.iter().enumerate() {
        let first = text.lines().count() + 1;
        for (number, one) in whole.split_inclusive('\n').enumerate() {
            text.push_str(&if (at, number) == (step, line) { broken(one, how) } else { one.to_owned() });
        }
        if at == step {
            range = (first, text.lines().count());
        }
    }
    let source = Source::new("t", &*text);
    let loaded = load(&source, &Scope::default(), Origin::Person);
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|one| one.is_error()).collect();
    let line_of = |at: usize| source.position(at).line;
    let outside = errors.iter().any(|one| !(range.0..=range.1).contains(&line_of(one.span.start)));
    let is_syntax = |code: Code| matches!(code, Code::YamlSyntax | Code::TabIndent);
    let twice = errors.len() > 1 && errors.iter().any(|one| is_syntax(one.code));
    let told: Vec<String> = errors
        .iter()
        .map(|one| format!("{} {}: {}", line_of(one.span.start), one.code, one.message))
        .collect();
    let lines = text.lines().skip(range.0 - 1).take(range.1 + 1 - range.0).collect::<Vec<_>>().join("\n");
    (outside || twice).then(|| format!("way {how}, lines {range:?}: {told:#?}\n{lines}\n"))
}

#[test]
fn a_broken_line_of_one_step_leaves_the_other_steps_alone() {
    let mut wrong = Vec::new();
    for (step, text) in STEPS.iter().enumerate() {
        for line in 0..text.lines().count() {
            // The first item says in which column the others begin: if it is alone there, either may be wrong.
            let told = |how: &usize| !(step == 0 && line == 0 && (10..=11).contains(how));
            wrong.extend((0..WAYS).filter(told).filter_map(|how| reaches_further(step, line, how)));
        }
    }
    assert!(wrong.is_empty(), "{} files\n{}", wrong.len(), wrong.join("\n"));
}

const SHAPE: [&str; 9] = [
    "not-a-mapping",
    "unknown-key",
    "missing-key",
    "wrong-type",
    "invalid-value",
    "key-not-for-type",
    "conflicting-keys",
    "empty-sequence",
    "invalid-duration",
];

/// Every YAML file of a folder with its text and, in `err`, what is expected of it.
fn corpus(folder: &str) -> Vec<(String, Vec<u8>, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let expected = fs::read_to_string(path.with_extension("expect")).unwrap_or_default();
            found.push((path.display().to_string(), fs::read(&path).unwrap(), expected));
        }
    }
    assert!(found.len() > 50);
    found
}

#[test]
fn the_schema_takes_every_good_file_and_refuses_every_mistake_of_shape() {
    let schema = jsonschema::validator_for(&document::schema::workflow()).unwrap();
    let fits = |name: &str, bytes: Vec<u8>| {
        let source = document::source_from_bytes(name, bytes).unwrap();
        let (node, _) = document::tree(&source);
        let value = node.unwrap_or_else(|| panic!("{name}")).to_json();
        let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        errors
    };
    let mut wrong = String::new();
    for (name, bytes, _) in corpus("tests/data/ok") {
        let errors = fits(&name, bytes);
        if !errors.is_empty() {
            let _ = writeln!(wrong, "{name}: {errors:?}");
        }
    }
    let mut refused = 0;
    for (name, bytes, expected) in corpus("tests/data/err") {
        let is_shape = |line: &str| line.rsplit(' ').next().is_some_and(|code| SHAPE.contains(&code));
        if expected.lines().all(is_shape) {
            refused += 1;
            if fits(&name, bytes).is_empty() {
                let _ = writeln!(wrong, "{name}: taken by the schema");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(refused > 20, "only {refused} files");
}

/// A file up to a value, and what follows it.
const FIELDS: &[(&str, &str)] = &[
    ("name: ", ""),
    ("task: ", ""),
    ("model: ", ""),
    ("model: {name: offline, temperature: ", "}"),
    ("model: {name: offline, seed: ", "}"),
    ("model: {name: offline, timeout: ", "}"),
    ("inputs: ", ""),
    ("inputs: {a: ", "}"),
    ("env: ", ""),
    ("tools: ", ""),
    ("limits: ", ""),
    ("limits: {max_tokens: ", "}"),
    ("tools: {a: {command: ", "}}"),
    ("tools: {a: {builtin: ", "}}"),
    ("tools: {a: {builtin: b, with: ", "}}"),
    ("tools: {a: {command: [b], parameters: ", "}}"),
    ("tools: {a: {command: [b], effect: ", "}}"),
    ("tools: {a: {command: [b], output: ", "}}"),
    ("tools: {a: {command: [b], timeout: ", "}}"),
    ("tools: {a: {http: {url: ", "}}}"),
    ("tools: {a: {http: {url: b, method: ", "}}}"),
    ("tools: {a: {http: {url: b, headers: ", "}}}"),
    ("tools: {a: {http: {url: b, headers: {c: ", "}}}}"),
    ("tools: {a: {http: {url: b, body: ", "}}}"),
    ("tools: {a: {http: {url: b, json: ", "}}}"),
    ("tools: {a: {sql: {database: a, query: ", "}}}"),
    ("workflow_sequence: ", ""),
    ("workflow_sequence: [{type: reasoning, description: d, id: ", "}]"),
    ("workflow_sequence: [{id: 1, description: d, type: ", "}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: ", "}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: d, depends_on: ", "}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: d, when: ", "}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: d, retry: ", "}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: d, retry: {delay: ", "}}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: d, retry: {max_attempts: ", "}}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: d, timeout: ", "}]"),
    ("workflow_sequence: [{id: 1, type: reasoning, description: d, output_schema: ", "}]"),
    ("workflow_sequence: [{id: 1, type: aggregate, description: d, inputs: ", "}]"),
    ("workflow_sequence: [{id: 1, type: tool_call, description: d, tool: ", "}]"),
    ("workflow_sequence: [{id: 1, type: tool_call, tool: a, args: ", "}]"),
];

#[test]
fn every_field_with_every_type_gives_at_most_one_error_and_there() {
    let schema = jsonschema::validator_for(&document::schema::workflow()).unwrap();
    let mut wrong = String::new();
    for (before, behind) in FIELDS {
        for value in
            ["true", "-1", "1.5", "word", "\"\"", "[]", "[[]]", "[{}]", "[true]", "{a: 1}", "{a: []}"]
        {
            let text = format!("{before}{value}{behind}\n");
            let source = Source::new("t", &*text);
            let (node, broken) = document::tree(&source);
            assert!(broken.is_empty(), "{text}");
            let fits = schema.is_valid(&node.unwrap().to_json());
            let (_, found) = document::read(&source);
            let inside = found
                .iter()
                .all(|one| one.span.start >= before.len() && one.span.end <= before.len() + value.len());
            // A mapping with a key that is not known may lack others as well.
            let one = found.len() == 1 || value.contains('{');
            if !inside || (!found.is_empty() && !one) || fits != found.is_empty() {
                let _ = writeln!(wrong, "{text}  schema {fits}, reading {found:?}");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
