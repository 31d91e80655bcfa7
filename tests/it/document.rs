//! The reading of files over whole cases: what is found, where, and what the schema says of the same text.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use wf::diagnostic::{Code, Diagnostic};
use wf::document;
use wf::source::Source;

/// Codes that reading alone gives; the others come from later checks.
const READING: &[Code] = &[
    Code::InvalidUtf8,
    Code::EmptyFile,
    Code::FileTooLarge,
    Code::TooDeep,
    Code::AliasLimit,
    Code::YamlSyntax,
    Code::TabIndent,
    Code::MultipleDocuments,
    Code::DuplicateKey,
    Code::CustomTag,
    Code::NonStringKey,
    Code::ControlCharacter,
    Code::NotAMapping,
    Code::UnknownKey,
    Code::MissingKey,
    Code::WrongType,
    Code::InvalidValue,
    Code::KeyNotForType,
    Code::ConflictingKeys,
    Code::EmptySequence,
    Code::InvalidDuration,
    Code::InvalidId,
];

struct Case {
    name: String,
    bytes: Vec<u8>,
    /// Line, column if it is said, and code.
    expected: Vec<(Option<usize>, Option<usize>, Code)>,
}

fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/validate");
    let mut cases = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let expected = fs::read_to_string(path.with_extension("expect")).unwrap();
        let expected = expected.lines().filter(|line| !line.trim().is_empty()).map(|line| {
            let mut words = line.split_whitespace();
            let (place, _severity, code) =
                (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            let (line, column) = place.split_once(':').unwrap_or((place, ""));
            (line.parse().ok(), column.parse().ok(), Code::from_name(code).unwrap())
        });
        cases.push(Case {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            bytes: fs::read(&path).unwrap(),
            expected: expected.collect(),
        });
    }
    assert!(cases.len() >= 30, "only {} cases", cases.len());
    cases
}

fn read(bytes: Vec<u8>) -> (Source, Vec<Diagnostic>) {
    match document::source_from_bytes("case.yaml", bytes) {
        Ok(source) => {
            let (_, diagnostics) = document::read(&source);
            (source, diagnostics)
        }
        Err(failed) => {
            let (source, diagnostic) = *failed;
            (source, vec![diagnostic])
        }
    }
}

#[test]
fn every_mistake_of_the_cases_that_reading_can_find_is_found_and_no_other() {
    for case in cases() {
        let (source, diagnostics) = read(case.bytes);
        let mut left: Vec<&Diagnostic> = diagnostics.iter().filter(|one| one.is_error()).collect();
        for (line, column, code) in case.expected.iter().filter(|(_, _, code)| READING.contains(code)) {
            let fits = |one: &&Diagnostic| {
                let found = source.position(one.span.start);
                one.code == *code
                    && line.is_none_or(|line| line == found.line)
                    && column.is_none_or(|column| column == found.column)
            };
            let index = left.iter().position(fits);
            let index = index
                .unwrap_or_else(|| panic!("{}: no {code} at {line:?}:{column:?} in {left:#?}", case.name));
            left.remove(index);
        }
        assert!(left.is_empty(), "{}: {left:#?}", case.name);
    }
}

/// Mistakes that a JSON Schema of the file can see.
const SHAPE: &[Code] = &[
    Code::UnknownKey,
    Code::MissingKey,
    Code::WrongType,
    Code::InvalidValue,
    Code::KeyNotForType,
    Code::ConflictingKeys,
    Code::EmptySequence,
    Code::InvalidDuration,
    Code::InvalidId,
];

#[test]
fn the_schema_and_the_reading_agree_about_every_case() {
    let schema = jsonschema::validator_for(&document::schema::workflow()).unwrap();
    let mut refused = 0;
    for case in cases() {
        let Ok(source) = document::source_from_bytes("case.yaml", case.bytes) else { continue };
        let (Some(tree), syntax) = document::tree(&source) else { continue };
        if !syntax.is_empty() {
            continue;
        }
        let value = tree.to_json();
        let shape = case.expected.iter().any(|(_, _, code)| SHAPE.contains(code));
        let errors: Vec<String> =
            schema.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(!errors.is_empty(), shape, "{}: {errors:#?}", case.name);
        refused += usize::from(shape);
    }
    assert!(refused >= 8, "only {refused} cases had a mistake of shape");
}
