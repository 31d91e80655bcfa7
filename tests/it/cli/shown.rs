//! What is written where nobody is at a terminal: no escape sequences, nothing a tool could smuggle in,
//! and no panic where the reader has gone.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::Place;

/// What a terminal would act on.
fn acts(text: &str) -> bool {
    text.chars().any(|it| it.is_control() && it != '\n')
}

const SMUGGLED: &str = r#"
tools:
  paint:
    description: "Prints what a terminal acts on"
    command: [printf, '\033[31mred\033]0;title\007\000nul \377\376 end\n']
  burn:
    description: Fails with it
    command: [sh, -c, "printf '\\033[2Jgone\\000 \\377' >&2; exit 1"]
workflow_sequence:
  - {id: 1, type: tool_call, tool: paint, description: "Paint \e[31mit", args: {}}
  - {id: 2, type: tool_call, tool: burn, args: {}}
"#;

#[test]
fn nothing_a_tool_prints_reaches_the_terminal_as_it_is() {
    let place = Place::with("w.yaml", SMUGGLED);
    let ran = place.wf(&["run", "w.yaml"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(!acts(&ran.stderr), "{:?}", ran.stderr);
    assert!(ran.stderr.contains("\\u001b[31mred") && ran.stderr.contains("\\u0000nul"), "{}", ran.stderr);
    assert!(ran.stderr.contains("[2Jgone"), "{}", ran.stderr);
    for args in [&["run", "w.yaml", "--dry-run"][..], &["graph", "w.yaml"], &["tools", "w.yaml"]] {
        let out = place.ok(args);
        assert!(!acts(&out), "{args:?}: {out:?}");
    }
    let whole = place.wf(&["run", "w.yaml", "--json"]);
    assert!(!acts(&whole.stdout), "{:?}", whole.stdout);
    assert_eq!(
        whole.json()["steps"][0]["result"],
        "\u{1b}[31mred\u{1b}]0;title\u{7}\0nul \u{fffd}\u{fffd} end"
    );
    assert!(!acts(&place.wf(&["run", "w.yaml", "--events"]).stdout));
}

#[test]
fn no_colour_where_nobody_sees_it() {
    for place in
        [Place::shipped(), Place::shipped().env("NO_COLOR", "1"), Place::shipped().env("TERM", "xterm")]
    {
        place.file("broken.yaml", "task: [\nworkflow_sequence: []\n");
        let cases: [&[&str]; 6] = [
            &["run", "weekly_report"],
            &["run", "broken.yaml"],
            &["validate", "broken.yaml"],
            &["plan", "1+1"],
            &["run", "--nope"],
            &["tools"],
        ];
        for args in cases {
            let ran = place.wf(args);
            assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{args:?}");
        }
    }
}

#[test]
fn plain_characters_where_the_locale_has_no_others() {
    let place = Place::shipped().env("LC_ALL", "C");
    let ran = place.wf(&["run", "weekly_report"]);
    let own = ran.stderr.lines().filter(|line| line.contains("Step"));
    assert!(own.clone().count() > 10);
    for line in own {
        assert!(line.is_ascii(), "{line}");
    }
}

#[test]
fn a_reader_that_goes_away_breaks_nothing() {
    let place = Place::shipped();
    for (args, code) in [
        (&["explain"][..], 0),
        (&["run", "weekly_report", "--events"], 0),
        (&["run", "weekly_report"], 0),
        (&["schema"], 0),
        (&["validate", "workflows", "--format", "json"], 0),
    ] {
        let mut command = place.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        while stderr.read_line(&mut said).unwrap() > 0 {}
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
    // Nobody reads the progress either.
    let mut child = place
        .command(&["run", "weekly_report"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Apparel stands out"));
}
