//! Whole files through the one door: every handed case gives exactly the errors it should, and what is
//! right gives nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use wf::diagnostic::Diagnostic;
use wf::document::source_from_bytes;
use wf::id::ToolName;
use wf::load::{Loaded, Scope, load};
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::workflow::Origin;

/// The scope of a program with two tools that are always there and one that is there when named.
fn scope() -> Scope {
    let tool = |name: &str, parameters| ToolSpec {
        name: name.into(),
        description: format!("the {name} tool"),
        parameters,
        returns: None,
        effect: Effect::Read,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Builtin { name: ToolName::new(name), with: serde_json::Map::new() },
    };
    let numbers = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"], "additionalProperties": false});
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"], "additionalProperties": false});
    Scope {
        tools: vec![tool("add", numbers.clone()), tool("subtract", numbers)],
        named: vec![tool("read_file", path)],
        credentials: None,
    }
}

fn load_file(path: &Path) -> (Source, Loaded) {
    let name = path.to_string_lossy().into_owned();
    match source_from_bytes(&name, fs::read(path).unwrap()) {
        Ok(source) => {
            let loaded = load(&source, &scope(), Origin::Person);
            (source, loaded)
        }
        Err(refused) => {
            let (source, diagnostic) = *refused;
            (source, Loaded { diagnostics: vec![diagnostic], ..Loaded::default() })
        }
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

/// What is missing and what is too much, as `LINE:COLUMN CODE`.
fn compare(source: &Source, found: &[Diagnostic], expected: &str) -> Vec<String> {
    let mut left: Vec<(usize, usize, &str)> = found
        .iter()
        .filter(|one| one.is_error())
        .map(|one| {
            let at = source.position(one.span.start);
            (at.line, at.column, one.code.as_str())
        })
        .collect();
    let mut wrong = Vec::new();
    for line in expected.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (at, column) = words[0].split_once(':').unwrap_or((words[0], ""));
        let matches = |one: &(usize, usize, &str)| {
            one.2 == words[2]
                && (at == "*" || at.parse() == Ok(one.0))
                && (column.is_empty() || column.parse() == Ok(one.1))
        };
        match left.iter().position(matches) {
            Some(at) => {
                left.remove(at);
            }
            None => wrong.push(format!("missing {line}")),
        }
    }
    wrong.extend(left.into_iter().map(|(line, column, code)| format!("unexpected {line}:{column} {code}")));
    wrong
}

#[test]
fn every_case_gives_exactly_its_errors() {
    let files = files("tests/data/cases/validate");
    assert!(files.len() >= 30);
    let mut wrong = Vec::new();
    for path in files {
        let expected = fs::read_to_string(path.with_extension("expect")).unwrap();
        let (source, loaded) = load_file(&path);
        let mut problems = compare(&source, &loaded.diagnostics, &expected);
        if expected.trim().is_empty() && !loaded.diagnostics.is_empty() {
            problems.push(format!("said something: {}", loaded.diagnostics[0].message));
        }
        if loaded.workflow.is_some() != expected.trim().is_empty() {
            problems.push("a workflow where there are errors, or none where there are none".to_owned());
        }
        wrong.extend(problems.into_iter().map(|problem| format!("{}: {problem}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
