//! How much is said of a run: as usual, `--quiet` and `--verbose`, and the line it ends with.
//!
//! Only stderr changes; results and exit codes are the same.

use super::Place;

const PRINTS: &str = "\
tools:
  say:
    description: Says something in three lines
    effect: read
    parameters: {type: object, properties: {word: {type: string}}, required: [word]}
    command: [printf, '%s\\n\\nlast of it\\n', \"{{ args.word }}\"]
  burn:
    description: Fails
    command: [sh, -c, \"echo the disk is on fire >&2; exit 7\"]
workflow_sequence:
  - {id: 1, type: tool_call, tool: say, args: {word: first of it}}
  - {id: 2, type: reasoning, description: Think about it}
";

const BURNS: &str = "  - {id: 3, type: tool_call, tool: burn, args: {}}\n";

#[test]
fn a_run_ends_with_one_line() {
    let place = Place::with("w.yaml", PRINTS);
    let ran = place.wf(&["run", "w.yaml"]);
    let last = ran.stderr.lines().last().unwrap();
    assert!(
        last.starts_with("2 of 2 steps done, ") && last.contains(", 1 model call; record: wf show "),
        "{last}"
    );
    let run = last.rsplit(' ').next().unwrap();
    let shown = place.wf(&["show", run]);
    let line = shown.stderr.lines().last().unwrap();
    assert_eq!(Some(line), last.split("; record").next());
    let ran = place.wf(&["run", "w.yaml", "--ephemeral"]);
    assert!(ran.stderr.trim_end().ends_with(", 1 model call"), "{}", ran.stderr);
    place.file("b.yaml", &format!("{PRINTS}{BURNS}"));
    let ran = place.wf(&["run", "b.yaml"]);
    let last = ran.stderr.lines().last().unwrap();
    assert!(
        last.starts_with("2 of 3 steps done, 1 failed, ") && last.contains("; to go on: wf resume "),
        "{last}"
    );
}

#[test]
fn quiet_says_nothing_but_errors() {
    let place = Place::with("w.yaml", PRINTS);
    let usual = place.wf(&["run", "w.yaml"]);
    let quiet = place.wf(&["run", "w.yaml", "--quiet"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    assert_eq!(quiet.stdout, usual.stdout);
    assert_eq!(place.wf(&["replay", "last", "-q"]).stderr, "");
    assert_eq!(place.wf(&["resume", "last", "-q", "--from", "2"]).stderr, "");

    place.file("b.yaml", &format!("{PRINTS}{BURNS}"));
    // A warning is no error.
    place.file(
        "b.yaml",
        &place.text("b.yaml").replace("workflow_sequence", "  unused: {builtin: add}\nworkflow_sequence"),
    );
    assert!(place.wf(&["run", "b.yaml"]).stderr.contains("warning[unused-tool]"));
    let quiet = place.wf(&["run", "b.yaml", "-q"]);
    assert_eq!(quiet.code, 1);
    assert!(quiet.stderr.starts_with("step 3 failed"), "{}", quiet.stderr);
    assert!(
        quiet.stderr.contains("the disk is on fire") && quiet.stderr.lines().count() == 1,
        "{}",
        quiet.stderr
    );

    place.file("broken.yaml", "workflow_sequence: [{id: 1, type: tool_call, tool: nope, args: {}}]");
    let quiet = place.wf(&["run", "broken.yaml", "-q"]);
    assert!(quiet.code == 3 && quiet.stderr.contains("error[unknown-tool]"), "{}", quiet.stderr);
    let quiet = place.wf(&["run", "--task", "write a poem", "-q"]);
    assert!(quiet.code == 3 && quiet.stderr.starts_with("error: no-plan"), "{}", quiet.stderr);
    assert!(place.fails(&["run", "w.yaml", "-q", "-v"], 2).contains("--verbose"));
}

#[test]
fn verbose_says_what_goes_to_and_fro() {
    let place = Place::with("w.yaml", PRINTS);
    let ran = place.wf(&["run", "w.yaml", "--verbose"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines = ran.stderr.lines().collect::<Vec<_>>();
    let at = |wanted: &str| {
        let found = lines.iter().position(|line| line.starts_with(wanted));
        found.unwrap_or_else(|| panic!("{wanted:?}: {}", ran.stderr))
    };
    let order = [
        at("   Step 1 calls say {\"word\": \"first of it\"}"),
        at("   Step 1 | first of it"),
        at("   Step 1 | last of it"),
        at("   Step 1: say returned \"first of it"),
        at("✅ Step 1"),
        at("   Step 2 asks offline"),
        at("     user: Step 2: Think about it"),
        at("   Step 2: answered (0 tokens in, 0 out)"),
        at("     answer: "),
        at("✅ Step 2"),
        at("2 of 2 steps done"),
    ];
    assert!(order.is_sorted(), "{order:?}: {}", ran.stderr);
    // The record has the same to say, but for what was printed on the way.
    let again = place.wf(&["replay", "last", "--verbose"]);
    assert!(again.stderr.contains("     user: Step 2: Think about it\n"), "{}", again.stderr);
    assert_eq!(again.stdout, ran.stdout);
}
