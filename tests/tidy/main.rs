//! The order of the source: which room may use which, how long a file is, how it begins, and what it
//! may not contain. The table is that of ARCHITECTURE.md; a change of one is a change of the other.
//!
//! The rules are functions from a file's name and text to what is wrong with it, and a test holds each
//! of them against a file that breaks it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use rules::{File, MAY_IMPORT, mistakes};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root().join("src")).unwrap().display().to_string();
            found.push(File { name, text: fs::read_to_string(&path).unwrap() });
        }
    }
}

#[test]
fn the_source_is_in_order() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    assert!(files.len() > 50, "only {} files were found", files.len());
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let wrong = files.iter().flat_map(mistakes).collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{} mistakes:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_table_is_that_of_the_architecture() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells = line.strip_prefix("| `")?.split(" | ").collect::<Vec<_>>();
        let [name, _, uses] = cells[..] else { return None };
        Some((name.trim_end_matches('`').to_owned(), uses.trim_end_matches(" |").to_owned()))
    });
    let rows = rows.collect::<Vec<_>>();
    let table = MAY_IMPORT.iter().map(|(room, uses)| {
        let uses = match uses[..] {
            [] => "–".to_owned(),
            ["*"] => "everything".to_owned(),
            _ => uses.join(" "),
        };
        ((*room).to_owned(), uses)
    });
    assert_eq!(rows, table.collect::<Vec<_>>());
}

/// A file without fault, as a ground for the ones with a fault.
fn good(name: &str, body: &str) -> File {
    let text = format!("//! One.\n//!\n//! Three.\n\nuse std::fmt;\n\n{body}\n");
    File { name: name.to_owned(), text }
}

#[test]
fn each_rule_can_be_broken() {
    assert_eq!(mistakes(&good("load/graph.rs", "use crate::document::Node;")), Vec::<String>::new());
    let broken = [
        ("load/graph.rs", "use crate::cli::Streams;", "load/graph.rs:7: `load` imports `cli`"),
        ("load/graph.rs", "fn f() -> crate::executor::Stop {}", "imports `executor`"),
        (
            "load/graph.rs",
            "use crate::{\n    id::StepId,\n    llm::{Model, Reply},\n};",
            "load/graph.rs:7: `load` imports `llm`",
        ),
        ("load/graph.rs", "use super::super::cli::Streams;", "imports `cli`"),
        ("load/mod.rs", "use super::run::View;", "imports `run`"),
        ("load/graph.rs", "#[cfg(test)]\nmod tests {\n    use crate::cli::Streams;\n}", "imports `cli`"),
        ("new_room/mod.rs", "use crate::id::StepId;", "`new_room` is not in the table"),
        ("load/graph.rs", "use crate::*;", "imports everything"),
        ("load/graph.rs", "use super::*;", "imports everything"),
        ("load/graph.rs", "fn f() { std::process::exit(1) }", "ends the process"),
        ("cli/mod.rs", "use std::process::{Command, exit};", "ends the process"),
        ("load/graph.rs", "fn f() { println!(\"x\") }", "prints"),
        ("load/graph.rs", "fn f() { eprint!(\"x\") }", "prints"),
        ("load/graph.rs", "fn f() { dbg!(1); }", "prints"),
        ("load/graph.rs", concat!("const HOME: &str = \"/", "root/x\";"), "a path of one machine"),
        ("load/graph.rs", concat!("// see /", "work/main"), "a path of one machine"),
        ("load/graph.rs", "use rusqlite::Connection;", "knows `rusqlite`"),
        ("cli/mod.rs", "fn f() -> axum::Router {}", "knows `axum`"),
        ("load/graph.rs", "#[allow(dead_code)]\nfn f() {}", "allows"),
        ("load/graph.rs", "fn f() { todo!() }", "unfinished"),
        ("load/utils.rs", "", "says nothing"),
        ("load/graph.rs", &"\n".repeat(400), "lines"),
    ];
    for (name, body, expected) in broken {
        let found = mistakes(&good(name, body));
        assert!(found.iter().any(|it| it.contains(expected)), "{name} {body:?}: {found:?}");
    }
    let bare = File { name: "load/graph.rs".to_owned(), text: "//! One.\n\nuse std::fmt;\n".to_owned() };
    assert!(mistakes(&bare)[0].contains("opens with 1 lines"), "{:?}", mistakes(&bare));
    let long = File { name: "id.rs".to_owned(), text: "//! A line.\n".repeat(13) };
    assert!(mistakes(&long)[0].contains("opens with 13 lines"), "{:?}", mistakes(&long));
}

#[test]
fn what_only_looks_wrong_is_let_through() {
    let fine = [
        ("load/graph.rs", "//! [`crate::cli::main`] is documentation\n// use crate::cli::Streams;"),
        ("load/graph.rs", "use super::Load;\nfn f() { super::trail(); }"),
        ("load/mod.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n    use super::load;\n}"),
        ("cli/run.rs", "fn f() { println!(\"x\") }"),
        ("main.rs", "fn f() { std::process::exit(1) }"),
        ("tool/sql.rs", "use rusqlite::Connection;"),
        ("load/graph.rs", "const A: &str = \"homework/x\";"),
    ];
    for (name, body) in fine {
        assert_eq!(mistakes(&good(name, body)), Vec::<String>::new(), "{name} {body:?}");
    }
}
