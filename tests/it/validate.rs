//! Every file of tests/data and every block of the documentation goes through the one door.
//!
//! `ok/` must load without a word; `err/NAME.yaml` must give exactly the places and codes worked out by
//! hand in `NAME.expect`, one `LINE[:COLUMN] severity code` a line (`*` is any line). The pages of
//! docs/errors must be wrong and right in the way they say. All differences are shown at once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use wf::diagnostic::{Code, Diagnostic};
use wf::document::source_from_bytes;
use wf::load::{Loaded, Provider, Scope, load};
use wf::source::Source;
use wf::tool::math_specs;
use wf::workflow::Origin;

/// Codes that no text of a file alone can have: they need a command line, a file system, an environment,
/// a later tool, or a reply.
const NOT_IN_FILES: [Code; 12] = [
    Code::UnreadableFile,
    Code::FileTooLarge,
    Code::InvalidUtf8,
    Code::MissingInput,
    Code::UnknownInput,
    Code::MissingCredential,
    Code::PathOutsideWorkspace,
    Code::NoPlan,
    Code::AmbiguousPlan,
    Code::TruncatedReply,
    Code::ProseReference,
    Code::HardcodedValue,
];

fn scope() -> Scope {
    let provider =
        |name: &str| Provider { name: name.to_owned(), models: name != "offline", key: None, server: None };
    Scope {
        tools: math_specs(),
        providers: ["openai", "anthropic", "ollama", "offline"].map(provider).to_vec(),
        task: Some("solve 2+3*4".to_owned()),
        ..Scope::default()
    }
}

fn load_bytes(name: &str, bytes: Vec<u8>) -> (Source, Loaded) {
    match source_from_bytes(name, bytes) {
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

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder with that ending, sorted; a folder without any is a mistake of the test.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    found.sort();
    assert!(!found.is_empty(), "no *.{ending} in {folder}");
    found
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

/// `3:14 error unknown-step: message`, as an editor would list it.
fn line(source: &Source, diagnostic: &Diagnostic) -> String {
    let at = source.position(diagnostic.span.start);
    let Diagnostic { severity, code, message, .. } = diagnostic;
    format!("{}:{} {severity} {code}: {message}", at.line, at.column)
}

fn expect_none(name: &str, bytes: Vec<u8>, wrong: &mut Vec<String>) {
    let (source, loaded) = load_bytes(name, bytes);
    wrong.extend(loaded.diagnostics.iter().map(|found| format!("{name}: {}", line(&source, found))));
    if loaded.diagnostics.is_empty() && loaded.workflow.is_none() {
        wrong.push(format!("{name}: neither a workflow nor a diagnostic"));
    }
}

#[test]
fn good_files_load_without_a_word() {
    let mut wrong = Vec::new();
    let files = files("tests/data/ok", "yaml");
    assert!(files.len() >= 60, "only {} files", files.len());
    for path in files {
        expect_none(&name(&path), fs::read(&path).unwrap(), &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Whether one line of an `.expect` file is met by a diagnostic written as `LINE:COLUMN severity code`.
fn meets(expected: &str, found: &str) -> bool {
    let (place, what) = expected.split_once(' ').unwrap();
    let (at, found) = found.split_once(' ').unwrap();
    let same_place = place == "*" || place == at || at.split_once(':').is_some_and(|(line, _)| line == place);
    same_place && what == found
}

#[test]
fn bad_files_give_the_diagnostics_worked_out_by_hand() {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for path in files("tests/data/err", "yaml") {
        let name = name(&path);
        let (source, loaded) = load_bytes(&name, fs::read(&path).unwrap());
        let expected = fs::read_to_string(path.with_extension("expect")).unwrap();
        let mut expected: Vec<&str> = expected.lines().collect();
        // Exact places first, so that a line with a column is not taken by one that leaves it open.
        expected.sort_by_key(|line| !line.split(' ').next().is_some_and(|place| place.contains(':')));
        let mut found: Vec<(String, String)> = Vec::new();
        for diagnostic in &loaded.diagnostics {
            used.insert(diagnostic.code);
            let line = line(&source, diagnostic);
            found.push((line.split(": ").next().unwrap().to_owned(), line));
        }
        for want in expected {
            match found.iter().position(|(short, _)| meets(want, short)) {
                Some(at) => drop(found.remove(at)),
                None => wrong.push(format!("{name}: missing: {want}")),
            }
        }
        wrong.extend(found.into_iter().map(|(_, line)| format!("{name}: too much: {line}")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    for code in Code::ALL {
        assert!(used.contains(code) != NOT_IN_FILES.contains(code), "tests/data/err and {code}");
    }
}

#[test]
fn twenty_mistakes_are_twenty_different_ones() {
    let expected = fs::read_to_string(root().join("tests/data/err/twenty.expect")).unwrap();
    let codes: BTreeSet<&str> = expected.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!((expected.lines().count(), codes.len()), (20, 20));
}

/// A fenced block: what stands behind the fence, the lines between, and the heading it is under.
struct Block {
    fence: String,
    text: String,
    heading: String,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut heading = String::new();
    for line in markdown.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(fence)) => {
                open = Some(Block { fence: fence.to_owned(), text: String::new(), heading: heading.clone() });
            }
            (None, None) if line.starts_with('#') => heading = line.trim_start_matches('#').trim().to_owned(),
            (None, None) => {}
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

#[test]
fn pages_of_codes_are_wrong_and_right_as_they_say() {
    let mut wrong = Vec::new();
    for code in Code::ALL {
        let page = root().join(format!("docs/errors/{code}.md"));
        for block in blocks(&fs::read_to_string(&page).unwrap()) {
            let name = format!("{code}, {}", block.heading);
            let loaded = match block.fence.as_str() {
                "yaml" => load_bytes(&name, block.text.into_bytes()).1,
                "json reply" => load(&Source::new(name.as_str(), block.text), &scope(), Origin::Model),
                "text" => continue,
                other => {
                    wrong.push(format!("{name}: a block of `{other}`"));
                    continue;
                }
            };
            let codes: BTreeSet<Code> = loaded.diagnostics.iter().map(|found| found.code).collect();
            let expected = match block.heading.as_str() {
                "Wrong" => BTreeSet::from([*code]),
                _ => BTreeSet::new(),
            };
            if codes != expected {
                let said: Vec<&str> = loaded.diagnostics.iter().map(|found| found.message.as_str()).collect();
                wrong.push(format!("{name}: gives {codes:?}: {said:?}"));
            }
            if loaded.workflow.is_some() == loaded.diagnostics.iter().any(Diagnostic::is_error) {
                wrong.push(format!("{name}: a workflow with errors, or none without"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_yaml_block_of_the_documentation_loads() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in [files("docs", "md"), files(".", "md")].concat() {
        for block in blocks(&fs::read_to_string(&path).unwrap()) {
            if block.fence == "yaml" {
                count += 1;
                expect_none(
                    &format!("{}, {}", name(&path), block.heading),
                    block.text.into_bytes(),
                    &mut wrong,
                );
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 10, "only {count} blocks");
}
