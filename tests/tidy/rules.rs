//! The rules, each a function from a file to what is wrong with it.
//!
//! Main function: [`mistakes`]. Reads text, not syntax: it is told by `use`, `crate::` and `super::`
//! what a file uses, which is enough as long as nobody tries to fool it.

/// A file below `src/`.
pub struct File {
    /// With `/`, from `src/` on.
    pub name: String,
    pub text: String,
}

/// Which rooms a room may import; `*` is any.
pub const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("id", &[]),
    ("source", &[]),
    ("diagnostic", &["source"]),
    ("spec", &["id"]),
    ("template", &[]),
    ("document", &["id", "source", "diagnostic", "spec"]),
    ("workflow", &["id", "source", "spec", "template"]),
    ("load", &["id", "source", "diagnostic", "spec", "template", "document", "workflow"]),
    ("event", &["id"]),
    ("run", &["id", "event", "workflow", "spec", "template"]),
    ("llm", &["id", "spec", "event"]),
    ("tool", &["id", "spec", "template"]),
    (
        "planner",
        &["id", "source", "diagnostic", "spec", "document", "load", "workflow", "event", "run", "llm"],
    ),
    ("step", &["id", "event", "workflow", "run", "spec", "template", "llm", "tool"]),
    ("journal", &["id", "event"]),
    (
        "executor",
        &[
            "id",
            "source",
            "diagnostic",
            "spec",
            "event",
            "workflow",
            "load",
            "run",
            "llm",
            "tool",
            "step",
            "planner",
            "journal",
        ],
    ),
    ("report", &["id", "source", "diagnostic", "event", "workflow", "run"]),
    ("cli", &["*"]),
];

/// Crates that few places know, and these places.
const KNOWN_BY: &[(&str, &[&str])] = &[
    ("anyhow", &["cli/"]),
    ("axum", &["serve/"]),
    ("clap", &["cli/"]),
    ("granit_parser", &["document/"]),
    ("miette", &["report/"]),
    ("minijinja", &["template/", "template.rs"]),
    ("rusqlite", &["journal/", "tool/sql.rs", "tool/sql/", "tool/rows.rs"]),
];

/// Names that say nothing of what is in a file.
const SAY_NOTHING: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "misc"];

const LONGEST: usize = 400;

/// Everything that is wrong with a file, each with its place.
pub fn mistakes(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    shape(file, &mut found);
    imports(file, &mut found);
    words(file, &mut found);
    found
}

/// Length, opening, name.
fn shape(file: &File, found: &mut Vec<String>) {
    let name = &file.name;
    let lines = file.text.lines().count();
    if lines > LONGEST {
        found.push(format!("{name}: {lines} lines, and at most {LONGEST} are wanted"));
    }
    let opening = file.text.lines().take_while(|line| line.starts_with("//!")).count();
    if !(3..=12).contains(&opening) {
        found.push(format!("{name}: opens with {opening} lines of `//!`, and 3 to 12 are wanted"));
    }
    let stems = name.trim_end_matches(".rs").split('/');
    for stem in stems.filter(|stem| SAY_NOTHING.contains(stem)) {
        found.push(format!("{name}: the name `{stem}` says nothing"));
    }
}

fn imports(file: &File, found: &mut Vec<String>) {
    let name = &file.name;
    let room = name.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    if matches!(room, "lib" | "main") {
        return;
    }
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(known, _)| *known == room) else {
        found.push(format!("{name}: `{room}` is not in the table of what may import what"));
        return;
    };
    let depth = name.trim_end_matches(".rs").trim_end_matches("/mod").split('/').count();
    let code = code(&file.text);
    let inside = code.find("#[cfg(test)]\nmod tests {").unwrap_or(code.len());
    // A file of tests may say `use super::*`, as a module of tests inside a file may.
    let tests = if name.ends_with("tests.rs") { 0 } else { inside };
    let mut uses = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            uses.extend(names(&code[at + "crate::".len()..]).into_iter().map(|used| (at, used)));
        }
    }
    let up = "super::";
    for (at, _) in code.match_indices(up) {
        if code[..at].ends_with(up) {
            continue;
        }
        let mut rest = &code[at..];
        let mut levels = 0;
        while let Some(after) = rest.strip_prefix(up) {
            rest = after;
            levels += 1;
        }
        // In a module of tests inside a file there is one more level to climb.
        let top = if at > inside { depth + 1 } else { depth };
        if levels >= top {
            uses.extend(names(rest).into_iter().map(|used| (at, used)));
        } else if at < tests && rest.starts_with('*') {
            uses.push((at, "*".to_owned()));
        }
    }
    uses.sort();
    for (at, used) in uses {
        let line = code[..at].matches('\n').count() + 1;
        if used == "*" {
            found.push(format!("{name}:{line}: `{room}` imports everything, and names are wanted"));
        } else if used != room && allowed != &["*"] && !allowed.contains(&used.as_str()) {
            found.push(format!("{name}:{line}: `{room}` imports `{used}`, which the table does not allow"));
        }
    }
}

/// The first names of what follows `crate::`: one, or those of a list in braces.
fn names(rest: &str) -> Vec<String> {
    let Some(list) = rest.strip_prefix('{') else {
        return vec![first(rest)];
    };
    let mut found = vec![first(list)];
    let mut depth = 0;
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => found.push(first(&list[at + 1..])),
            _ => {}
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn first(text: &str) -> String {
    let text = text.trim_start();
    match text.starts_with('*') {
        true => "*".to_owned(),
        false => text.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect(),
    }
}

/// The text with comment lines emptied, so that places stay.
fn code(text: &str) -> String {
    let blank =
        |line: &str| if line.trim_start().starts_with("//") { "\n".to_owned() } else { format!("{line}\n") };
    text.lines().map(blank).collect()
}

/// What may not stand in a line.
fn words(file: &File, found: &mut Vec<String>) {
    let name = &file.name;
    let code = code(&file.text);
    for (number, (line, written)) in code.lines().zip(file.text.lines()).enumerate() {
        let mut say = |what: &str| found.push(format!("{name}:{}: {what}", number + 1));
        let ends = line.contains("process::exit") || line.contains("process::abort");
        let imports = line.trim_start().starts_with("use std::process::") && has(line, "exit");
        if (ends || imports) && name != "main.rs" {
            say("ends the process, which only main.rs may");
        }
        let prints = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
        if prints.iter().any(|print| has(line, print)) && !name.starts_with("cli/") {
            say("prints, which only cli may");
        }
        if ["todo!", "unimplemented!"].iter().any(|word| has(line, word)) {
            say("is unfinished");
        }
        if line.contains("#[allow(") || line.contains("#![allow(") {
            say("allows a lint; `expect` it, with a reason");
        }
        let machine = |path: &&str| {
            written
                .match_indices(*path)
                .any(|(at, _)| !written[..at].ends_with(|it: char| it.is_alphanumeric()))
        };
        if [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")].iter().any(machine) {
            say("names a path of one machine");
        }
        for (known, places) in KNOWN_BY {
            let used = has(line, &format!("{known}::")) || has(line, &format!("use {known};"));
            if used && !places.iter().any(|place| name.starts_with(place)) {
                say(&format!("knows `{known}`, which only {} may", places.join(", ")));
            }
        }
    }
}

/// Whether a word stands in a line and not at the end of a longer one.
fn has(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
}
