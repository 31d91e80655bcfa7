//! Help for people: every code is explained, the schemas are current, the README's file is right.

use super::{Place, root};
use wf::diagnostic::Code;

#[test]
fn every_code_has_a_page() {
    let place = Place::new();
    let list = place.ok(&["explain"]);
    assert_eq!(list.lines().count(), Code::ALL.len());
    for code in Code::ALL {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(code.as_str())), "{code}");
        let page = place.ok(&["explain", code.as_str()]);
        assert!(page.starts_with(&format!("# {code}")), "{code}: {page}");
    }
    let said = place.fails(&["explain", "unknown-tol"], 2);
    assert!(said.contains("did you mean `unknown-tool`?"), "{said}");
}

#[test]
fn the_generated_schemas_are_current() {
    let place = Place::new();
    let folder = root().join("schemas");
    place.ok(&["schema", "--check", folder.to_str().unwrap()]);
    let said = place.fails(&["schema", "--check", "."], 1);
    assert!(said.contains("wf schema -o ."), "{said}");
    place.ok(&["schema", "-o", "made"]);
    place.ok(&["schema", "--check", "made"]);
    place.file("made/plan.schema.json", "{}");
    let said = place.fails(&["schema", "--check", "made"], 1);
    assert!(said.contains("plan.schema.json` is not current") && !said.contains("workflow.schema"), "{said}");
    for name in ["workflow", "plan"] {
        assert_eq!(
            place.ok(&["schema", name]),
            std::fs::read_to_string(folder.join(format!("{name}.schema.json"))).unwrap()
        );
    }
}

#[test]
fn the_readmes_mistake_looks_as_it_says() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let block = |language: &str| {
        let (_, rest) = readme.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    let right = block("yaml");
    let place = Place::with("workflows/ticket_digest.yaml", &right);
    place.ok(&["validate"]);
    place.file("workflows/ticket_digest.yaml", &right.replace("tool: open_tickets", "tool: open_ticket"));
    let ran = place.wf(&["validate"]);
    assert_eq!(ran.code, 3);
    let shown = ran.stdout.lines().map(str::trim).collect::<Vec<_>>();
    for line in block("text").lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(shown.contains(&line), "{line:?} is not in\n{}", ran.stdout);
    }
}

#[test]
fn help_and_version_are_results() {
    let place = Place::new();
    let ran = place.wf(&["--help"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("Exit codes:") && !ran.stdout.contains('\u{1b}'));
    assert!(place.ok(&["--version"]).starts_with("wf "));
    for command in ["run", "plan", "validate", "explain", "schema", "graph", "tools"] {
        assert!(place.ok(&[command, "--help"]).contains("Usage: wf"), "{command}");
    }
}
