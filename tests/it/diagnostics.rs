//! What `wf validate` prints and mends: every format over every file of mistakes, comments that silence,
//! `--fix`, and which files are checked.
//!
//! `tests/data/err/NAME.out` is the whole output for people of `NAME.yaml`; it, `docs/validation.md` and
//! `schemas/` are written anew where `WF_UPDATE=1` is set.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};
use proptest::sample;
use serde_json::Value;
use wf::cli::{self, Output, Streams, Terminals};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

struct Ran {
    code: u8,
    stdout: String,
    stderr: String,
}

/// Runs the program in this process, in the folder of the project, with no variable but a UTF-8 locale.
fn wf(args: &[&str], stdin: &str) -> Ran {
    let (stdout, stderr) = (Buffer::default(), Buffer::default());
    let streams = Streams {
        stdin: Box::new(Cursor::new(stdin.as_bytes().to_vec())),
        stdout: Output::new(stdout.clone()),
        stderr: Output::new(stderr.clone()),
        terminals: Terminals::default(),
        size: || None,
        variable: Arc::new(|name| (name == "LANG").then(|| "C.UTF-8".to_owned())),
        supervisor: None,
        quiet: false,
    };
    let args = std::iter::once("wf").chain(args.iter().copied()).map(Into::into);
    let code = cli::main(args, streams);
    Ran { code, stdout: stdout.text(), stderr: stderr.text() }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder with that ending, as paths from the project's folder.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == ending)).collect();
    found.sort();
    assert!(!found.is_empty(), "no *.{ending} in {folder}");
    found.iter().map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()).collect()
}

/// Compares a file of the project with what it should hold, or writes it.
fn compare(path: &str, text: &str, wrong: &mut Vec<String>) {
    let place = root().join(path);
    let found = fs::read_to_string(&place).unwrap_or_default();
    if found == text {
        return;
    }
    if std::env::var("WF_UPDATE").is_ok_and(|it| it == "1") {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, text).unwrap();
        return;
    }
    let differs = text.lines().zip(found.lines().chain(std::iter::repeat(""))).find(|(new, old)| new != old);
    wrong.push(format!("{path} is not current: {differs:?}"));
}

#[test]
fn mistakes_are_shown_to_people_as_kept() {
    let mut wrong = Vec::new();
    for file in files("tests/data/err", "yaml") {
        let ran = wf(&["validate", &file], "");
        compare(&file.replace(".yaml", ".out"), &(ran.stdout + &ran.stderr), &mut wrong);
    }
    for file in files("tests/data/err", "out") {
        if !root().join(file.replace(".out", ".yaml")).exists() {
            wrong.push(format!("{file} is of no file"));
        }
    }
    assert!(wrong.is_empty(), "run with WF_UPDATE=1 and look at what changed\n{}", wrong.join("\n"));
}

#[test]
fn generated_documents_are_current() {
    let mut wrong = Vec::new();
    compare("docs/validation.md", &wf(&["explain", "--all"], "").stdout, &mut wrong);
    for name in ["workflow", "plan", "diagnostics"] {
        let text = wf(&["schema", name], "").stdout;
        compare(&format!("schemas/{name}.schema.json"), &text, &mut wrong);
    }
    assert!(wrong.is_empty(), "run with WF_UPDATE=1\n{}", wrong.join("\n"));
}

#[test]
fn the_book_of_codes_has_a_chapter_for_each() {
    let book = wf(&["explain", "--all"], "").stdout;
    for code in wf::diagnostic::Code::ALL {
        assert_eq!(book.matches(&format!("\n### {code}\n")).count(), 1, "{code}");
        assert_eq!(book.matches(&format!("](#{code}) ")).count(), 1, "{code}");
    }
    assert_eq!(wf(&["explain", "--all", "unknown-key"], "").code, 2);
}

#[test]
fn json_output_fits_its_schema() {
    let schema = json(&wf(&["schema", "diagnostics"], "").stdout);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut all = files("tests/data/err", "yaml");
    all.push("tests/data/ok/diamond.yaml".into());
    all.push("no-such-file.yaml".into());
    let mut seen = 0;
    for file in &all {
        let ran = wf(&["validate", "--format", "json", file], "");
        let output = json(&ran.stdout);
        let errors: Vec<String> =
            validator.iter_errors(&output).map(|it| format!("{}: {it}", it.instance_path())).collect();
        assert!(errors.is_empty(), "{file}: {errors:?}");
        assert_eq!(output["result"] == "invalid", ran.code == 3, "{file}");
        assert_eq!(ran.stderr, "", "{file}");
        seen += output["diagnostics"].as_array().unwrap().len();
    }
    assert!(seen > 200, "only {seen}");
    let paths: Vec<&str> = all.iter().map(String::as_str).collect();
    let whole = json(&wf(&[&["validate", "--format", "json"], &paths[..]].concat(), "").stdout);
    assert!(validator.is_valid(&whole));
    assert_eq!(whole["counts"]["files"], all.len());
    let mut broken = whole.clone();
    broken["diagnostics"][0]["range"]["start"]["line"] = 0.into();
    assert!(!validator.is_valid(&broken));
}

#[test]
fn sarif_output_is_accepted_by_the_schema_of_the_standard() {
    let schema =
        json(&fs::read_to_string(root().join("tests/data/schemas/sarif-schema-2.1.0.json")).unwrap());
    let validator = jsonschema::options().build(&schema).unwrap();
    let mut args = vec!["validate", "--format", "sarif"];
    let files = files("tests/data/err", "yaml");
    args.extend(files.iter().map(String::as_str));
    let ran = wf(&args, "");
    let log = json(&ran.stdout);
    let errors: Vec<String> =
        validator.iter_errors(&log).map(|it| format!("{}: {it}", it.instance_path())).take(9).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!((ran.code, ran.stderr.as_str()), (3, ""));
    // The schema is one that refuses.
    let mut broken = log.clone();
    broken["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!validator.is_valid(&broken));

    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), wf::diagnostic::Code::ALL.len());
    let results = run["results"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("tests/data/err/"), "{uri}");
    }
    assert!(results.iter().any(|it| !it["relatedLocations"].is_null()));
    assert!(results.iter().any(|it| !it["fixes"].is_null()));
}

#[test]
fn sarif_and_github_say_the_place_in_their_own_words() {
    let text = "name: é\ntask: x\nsystm: \"a: b\"\n";
    let log =
        json(&wf(&["validate", "-", "--format", "sarif", "--stdin-filename", "./a b.yaml"], text).stdout);
    let result = &log["runs"][0]["results"][0];
    let region = serde_json::json!({
        "startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 6, "byteOffset": 17, "byteLength": 5
    });
    assert_eq!((&result["ruleId"], &result["level"]), (&"unknown-key".into(), &"error".into()));
    assert_eq!(
        result["locations"][0]["physicalLocation"],
        serde_json::json!({"artifactLocation": {"uri": "a%20b.yaml"}, "region": region})
    );
    let change = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(change, &serde_json::json!({"deletedRegion": region, "insertedContent": {"text": "system"}}));
    let ran = wf(&["validate", "-", "--format", "github", "--stdin-filename", "a,b.yaml"], text);
    let head = "::error file=a%2Cb.yaml,line=3,col=1,endLine=3,endColumn=6,title=unknown-key::";
    assert!(ran.stdout.starts_with(head), "{}", ran.stdout);
    assert_eq!((ran.code, ran.stdout.lines().count(), ran.stderr.as_str()), (3, 1, "1 error in 1 file\n"));
}

#[test]
fn comments_silence_warnings_and_never_errors() {
    let unused = "task: x\ninputs:\n  a: {type: string}";
    let short = |text: &str| {
        let ran = wf(&["validate", "-", "--format", "short", "--deny", "warnings"], text);
        let codes = ran.stdout.lines().map(|line| line.split(['[', ']']).nth(1).unwrap().to_owned());
        (ran.code, codes.collect::<Vec<_>>())
    };
    let codes = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(short(unused), (3, codes(&["unused-input"])));
    assert_eq!(short(&format!("{unused} # wf: ignore[unused-input]\n")), (0, codes(&[])));
    assert_eq!(short(&format!("# wf: ignore-file[unused-input]\n{unused}\n")), (0, codes(&[])));
    assert_eq!(
        short(&format!("# wf: ignore[unused-input]\n{unused}\n")),
        (3, codes(&["unused-ignore", "unused-input"]))
    );
    assert_eq!(
        short("task: x\nx: 1 # wf: ignore[unknown-key]\n"),
        (3, codes(&["unknown-key", "unused-ignore"]))
    );
    // The key is missing all the same where a model is to be asked.
    let asking = "task: x\nmodel: openai/gpt-5-mini # wf: ignore[missing-credential]\n";
    assert_eq!(short(asking), (0, codes(&[])));
    let ran = wf(&["run", "-", "--ephemeral"], asking);
    assert!(ran.code == 3 && ran.stderr.contains("missing-credential"), "{} {}", ran.code, ran.stderr);
}

/// A workflow with one mistake of every kind that is mended mechanically, comments and odd layout.
const MESSY: &str = "\
# at the top
nme:   report   # the name
task:   \"Add\"
workflow_sequence:
  - {id: 1,   type: tool_cal, tool: add, args: {a: 1,  b: 2}}   # one

  - id:  2     # two
    type: tool_call
    tool: add
    args:
      a:  {step_result: 1}
      b: 3   # three
    'descrption':  Sum # four
    timeout: 5 s
";

const MENDED: &str = "\
# at the top
name:   report   # the name
task:   \"Add\"
workflow_sequence:
  - {id: 1,   type: tool_call, tool: add, args: {a: 1,  b: 2}}   # one

  - id:  2     # two
    type: tool_call
    tool: add
    args:
      a:  {step_result: 1}
      b: 3   # three
    \"description\":  Sum # four
    timeout: 5s
";

#[test]
fn fix_mends_what_is_suggested_and_keeps_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messy.yaml");
    fs::write(&path, MESSY).unwrap();
    let name = path.to_str().unwrap();
    let ran = wf(&["validate", "--fix", name], "");
    assert_eq!(fs::read_to_string(&path).unwrap(), MENDED, "{}", ran.stderr);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(
        ran.stderr.contains(&format!("fixed {name}:2:1: unknown-key: `nme` is now `name`\n")),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.matches("fixed ").count(), 4, "{}", ran.stderr);
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let again = wf(&["validate", "--fix", name], "");
    assert_eq!((again.code, again.stderr.as_str()), (0, "1 file checked, no mistakes\n"));
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before, "written without need");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let piped = wf(&["validate", "--fix", "-"], MESSY);
    assert_eq!((piped.code, piped.stdout.as_str()), (0, MENDED));
    // What cannot be mended comes out as it went in, and is told beside it.
    let piped = wf(&["validate", "--fix", "-"], "task: x\nqqqqqq: 1\n");
    assert_eq!((piped.code, piped.stdout.as_str()), (3, "task: x\nqqqqqq: 1\n"));
    assert!(piped.stderr.contains("unknown-key"), "{}", piped.stderr);
}

#[test]
fn fix_leaves_a_mend_that_would_bring_other_errors() {
    let text = "task: x\nworkflow_sequence:\n  - {id: 1, type: reasoning, description: a}\n  \
                - {id: 2, type: reasoning, description: b, depend_on: [9]}\n";
    let ran = wf(&["validate", "--fix", "-"], text);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, text));
    assert!(
        ran.stderr.contains("not fixed, as other errors would follow: <stdin>:4:46: unknown-key"),
        "{}",
        ran.stderr
    );
}

#[cfg(unix)]
#[test]
fn fix_keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("real.yaml"), folder.path().join("link.yaml"));
    fs::write(&path, MESSY).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let ran = wf(&["validate", "--fix", link.to_str().unwrap(), path.to_str().unwrap()], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.ends_with("1 file checked, no mistakes\n"), "{}", ran.stderr);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), MENDED);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    /// Files of mistakes with one character changed or left out: mending never makes them worse, and
    /// mending twice is mending once.
    #[test]
    fn mending_twice_is_mending_once(
        (text, at, put) in sample::select(files("tests/data/err", "yaml")).prop_flat_map(|file| {
            let text = String::from_utf8_lossy(&fs::read(root().join(file)).unwrap()).into_owned();
            let length = text.chars().count();
            let put = sample::select(vec!["", "\t", " ", ":", "\"", "-", "{", "x", "\n", "#", "é"]);
            (sample::select(vec![text]), 0..length + 1, put)
        })
    ) {
        let text: String = text.chars().take(at).chain(put.chars()).chain(text.chars().skip(at + 1)).collect();
        let counts = |text: &str| json(&wf(&["validate", "-", "--format", "json"], text).stdout);
        let once = wf(&["validate", "--fix", "-"], &text);
        let twice = wf(&["validate", "--fix", "-"], &once.stdout);
        prop_assert_eq!(&once.stdout, &twice.stdout);
        prop_assert!(!twice.stderr.contains("\nfixed ") && !twice.stderr.starts_with("fixed "));
        let (before, after) = (counts(&text), counts(&once.stdout));
        let syntax = |all: &Value| all["diagnostics"].as_array().unwrap().iter()
            .any(|it| it["code"] == "yaml-syntax" || it["code"] == "tab-indent");
        prop_assert!(syntax(&before) || after["counts"]["errors"].as_u64() <= before["counts"]["errors"].as_u64());
    }
}

#[test]
fn files_folders_and_patterns_are_checked_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for name in ["a.yaml", "b.yml", "c.txt", "in/d.yaml", "in/deep/e.yaml", ".hid/f.yaml", "g.json"] {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{\"task\": \"x\", \"y\": 1}\n").unwrap();
    }
    fs::create_dir(base.join("empty")).unwrap();
    let names = |paths: &[&str]| {
        let mut args = vec!["validate".to_owned(), "--format".into(), "short".into()];
        args.extend(paths.iter().map(|path| base.join(path).to_string_lossy().into_owned()));
        let ran = wf(&args.iter().map(String::as_str).collect::<Vec<_>>(), "");
        let prefix = format!("{}/", base.display());
        let name = |line: &str| line.strip_prefix(&prefix).unwrap().split(':').next().unwrap().to_owned();
        (ran.code, ran.stdout.lines().map(name).collect::<Vec<_>>().join(" "))
    };
    let found = |list: &str| (3, list.to_owned());
    assert_eq!(names(&["."]).1.replace("./", ""), "a.yaml b.yml in/d.yaml in/deep/e.yaml");
    assert_eq!(names(&["b.yml", "in/../b.yml", "a.yaml"]), found("b.yml a.yaml"));
    assert_eq!(names(&["*.yaml"]), found("a.yaml"));
    assert_eq!(names(&["**/*.yaml"]), found("a.yaml in/d.yaml in/deep/e.yaml"));
    assert_eq!(names(&["in/**"]), found("in/d.yaml in/deep/e.yaml"));
    assert_eq!(names(&["?.json"]), found("g.json"));
    assert_eq!(names(&["*"]), found("a.yaml b.yml"));
    for nothing in [&["empty"][..], &["a.yaml", "empty"], &["*.toml"], &["nowhere/*.yaml"]] {
        assert_eq!(names(nothing), (2, String::new()), "{nothing:?}");
    }
    assert_eq!(names(&["none.yaml"]), found("none.yaml"));
}
