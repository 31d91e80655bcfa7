//! Records of runs: shown, listed, gone on with after a kill, held by one process, damaged, removed.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Place, Ran, until};

/// Three steps; the second appends to a ledger and then waits for a file, and must not be repeated.
const SLOW: &str = "tools:
  look: {description: Says one, effect: read, command: [echo, '1']}
  post:
    description: Writes to the ledger, then waits
    command: [sh, -c, 'echo posted >> ledger; while [ ! -e go ]; do sleep 0.01; done; echo posted']
workflow_sequence:
  - {id: 1, type: tool_call, tool: look, args: {}}
  - {id: 2, type: tool_call, tool: post, args: {}}
  - {id: 3, type: tool_call, tool: add, args: {a: {step_result: 1}, b: 1}}
";

fn lines(place: &Place, name: &str) -> usize {
    std::fs::read_to_string(place.path(name)).unwrap_or_default().lines().count()
}

/// Runs until the ledger has a line, and kills the program as nothing can be caught.
fn killed_in_step_2(place: &Place) {
    let mut wf = place
        .command(&["run", "w.yaml"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the ledger is written", || lines(place, "ledger") == 1);
    wf.kill().unwrap();
    wf.wait().unwrap();
    // What the tool waits for, should it have survived.
    place.file("go", "");
}

fn run_id(place: &Place) -> String {
    let listed = place.wf(&["runs", "--json"]).json();
    listed[0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_is_shown_as_it_was_and_goes_on_from_nowhere_once_it_has_succeeded() {
    let place = Place::shipped();
    let live = place.wf(&["run", "workflows/weekly_report.yaml"]);
    let shown = place.wf(&["show"]);
    assert_eq!((live.code, shown.code), (0, 0));
    assert_eq!(live.stdout, shown.stdout);
    // All but the choice of the model before it, and where the record is after it.
    let of_the_run = |ran: &Ran| {
        let lines = ran.stderr.lines().filter(|it| !it.starts_with("model:"));
        lines.map(|it| it.split("; record: wf show ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of_the_run(&live), of_the_run(&shown));
    let events = |args: &[&str]| {
        let text = place.ok(args);
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    let recorded = events(&["show", "--events"]);
    assert_eq!(recorded[0]["type"], "run_started");
    assert_eq!(recorded.last().unwrap()["outcome"]["kind"], "succeeded");
    let again = place.wf(&["resume", "last"]);
    assert_eq!((again.code, &again.stdout), (0, &live.stdout));
    assert!(
        again.stderr.contains("has succeeded") && again.stderr.contains("--from STEP"),
        "{}",
        again.stderr
    );
    let step = place.ok(&["show", "--step", "1", "--json"]);
    let step: Value = serde_json::from_str(&step).unwrap();
    assert_eq!((&step["status"], &step["tool"]), (&json!("done"), &json!("fetch_sales_data")));
    assert!(step["events"].as_array().unwrap().len() >= 4, "{step}");
    assert!(place.fails(&["show", "--step", "77"], 2).contains("no step 77"));
}

#[test]
fn an_ephemeral_run_leaves_nothing() {
    let place = Place::shipped();
    place.ok(&["run", "workflows/bodmas.yaml", "--ephemeral"]);
    assert!(!place.state.path().join("runs").exists());
    assert!(place.fails(&["show"], 2).contains("no run yet"));
    assert!(place.ok(&["runs"]).is_empty());
}

#[test]
fn a_killed_run_is_left_to_a_person_and_then_goes_on() {
    let place = Place::with("w.yaml", SLOW);
    killed_in_step_2(&place);
    let run = run_id(&place);
    assert!(place.ok(&["runs"]).contains("cut off"), "{}", place.ok(&["runs"]));
    let said = place.fails(&["resume", &run[..20]], 4);
    for part in ["step 2 was calling `post`", "--done 2=JSON", "--rerun 2", "--fail 2", run.as_str()] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        place.fails(&["resume", &run, "--rerun", "1"], 2).contains("nothing is to be decided about step 1")
    );
    assert!(place.fails(&["resume", &run, "--rerun", "9"], 2).contains("no step 9"));
    assert_eq!(lines(&place, "ledger"), 1);
    assert_eq!(place.ok(&["resume", &run, "--done", "2=\"posted\""]), "2.0\n");
    assert_eq!(lines(&place, "ledger"), 1, "it was not called again");
    // What is done is not done again.
    let events = place.ok(&["show", "--events"]);
    assert_eq!(events.matches("\"type\":\"tool_called\",\"step\":1").count(), 1, "{events}");
}

#[test]
fn a_killed_run_calls_again_where_a_person_says_so() {
    let place = Place::with("w.yaml", SLOW);
    killed_in_step_2(&place);
    assert_eq!(place.ok(&["resume", "last", "--rerun", "2"]), "2.0\n");
    assert_eq!(lines(&place, "ledger"), 2);
    let place = Place::with("w.yaml", SLOW);
    killed_in_step_2(&place);
    let said = place.fails(&["resume", "last", "--fail", "2"], 1);
    assert!(said.contains("a person says that the call failed"), "{said}");
    // A failed run tries again what failed.
    assert_eq!(place.ok(&["resume", "last"]), "2.0\n");
}

#[test]
fn a_run_is_held_by_one_process() {
    let place = Place::with("w.yaml", SLOW);
    let wf = place
        .command(&["run", "w.yaml"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the ledger is written", || lines(&place, "ledger") == 1);
    assert!(place.ok(&["runs", "--state", "running"]).contains("running"));
    assert!(place.fails(&["resume", "last", "--rerun", "2"], 5).contains("is being run by another process"));
    let shown = place.wf(&["show"]);
    assert!(shown.stderr.contains("it is being run now"), "{}", shown.stderr);
    place.ok(&["runs", "prune", "--keep", "0", "--unfinished"]);
    place.file("go", "");
    let output = wf.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "2.0\n");
    assert_eq!(run_id(&place).len(), 26);
}

#[test]
fn what_runs_is_what_the_record_holds() {
    let text = "tools:
  count: {description: Counts, effect: read, command: [sh, -c, 'cat n']}
  late: {description: Fails at first, command: [sh, -c, 'test -e mended && echo 5']}
workflow_sequence:
  - {id: 1, type: tool_call, tool: count, args: {}}
  - {id: 2, type: tool_call, tool: late, args: {}}
  - {id: 3, type: tool_call, tool: add, args: {a: {step_result: 1}, b: {step_result: 2}}}
";
    let place = Place::with("w.yaml", text);
    place.file("n", "1\n");
    let said = place.fails(&["run", "w.yaml"], 1);
    assert!(said.contains("to go on: wf resume "), "{said}");
    place.file("mended", "");
    place.file("w.yaml", "workflow_sequence: nonsense\n");
    place.file("n", "10\n");
    let resumed = place.wf(&["resume", "last"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "6.0\n"), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("w.yaml has changed since the run began"), "{}", resumed.stderr);
    // From a step on everything is done once more, and what hangs on it.
    assert_eq!(place.ok(&["resume", "last", "--from", "1"]), "15.0\n");
    assert!(place.fails(&["resume", "last", "--from", "x"], 2).contains("the run has no step x"));
}

#[test]
fn a_limit_is_raised_and_the_run_goes_on() {
    let text = "limits: {max_steps: 2}\nworkflow_sequence:\n".to_owned()
        + &(1..=4)
            .map(|id| format!("  - {{id: {id}, type: tool_call, tool: add, args: {{a: {id}, b: 1}}}}\n"))
            .collect::<String>();
    let place = Place::with("w.yaml", &text);
    let said = place.fails(&["run", "w.yaml"], 4);
    assert!(said.contains("max_steps of 2") && said.contains("to go on: wf resume "), "{said}");
    place.fails(&["resume", "last"], 4);
    assert!(place.fails(&["resume", "last", "--raise", "max_steps=x"], 2).contains("a number above 0"));
    assert!(
        place
            .fails(&["resume", "last", "--raise", "steps=3"], 2)
            .contains("max_tokens, max_steps or timeout")
    );
    place.fails(&["resume", "last", "--raise", "max_steps=3"], 4);
    assert_eq!(place.ok(&["resume", "last", "--raise", "max_steps=4"]), "5.0\n");
}

#[test]
fn a_script_that_changed_is_not_read_again() {
    let place = Place::shipped();
    let live = place.ok(&["run", "workflows/weekly_report.yaml"]);
    place.file("workflows/data/shop.sql", "DROP TABLE nothing;");
    assert_eq!(place.ok(&["resume", "last", "--from", "1"]), live);
}

#[test]
fn a_damaged_record_hides_no_other_and_is_never_believed() {
    let place = Place::shipped();
    let expected = place.ok(&["run", "workflows/bodmas.yaml"]);
    let events = place.ok(&["show", "--events"]);
    let run = run_id(&place);
    let path = place.state.path().join("runs").join(format!("{run}.db"));
    let whole = std::fs::read(&path).unwrap();
    let mut noticed = 0;
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        std::fs::write(&path, &bytes).unwrap();
        let shown = place.wf(&["show", &run, "--events"]);
        match shown.code {
            0 => assert_eq!(shown.stdout, events, "a flip at {at}"),
            5 => noticed += 1,
            other => panic!("a flip at {at}: {other} {}", shown.stderr),
        }
        assert!(events.starts_with(&shown.stdout), "a flip at {at} changed an event");
    }
    assert!(noticed > 5, "only {noticed} flips were noticed");
    for length in [0, 10, 100, 4096, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let shown = place.wf(&["show", &run]);
        assert!(shown.code == 5 || shown.stdout == expected, "{length}: {} {}", shown.code, shown.stderr);
    }
    std::fs::write(&path, "not a database, but long enough to be taken for one".repeat(40)).unwrap();
    assert!(place.fails(&["show", &run], 5).contains("is damaged"));
    place.ok(&["run", "workflows/bodmas.yaml"]);
    let listed = place.ok(&["runs"]);
    assert!(listed.contains("damaged") && listed.contains("succeeded"), "{listed}");
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(place.ok(&["show", &run]), expected);
}

#[test]
fn records_are_private_and_removed_on_demand() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::shipped();
    for _ in 0..3 {
        place.ok(&["run", "workflows/bodmas.yaml"]);
    }
    let folder = place.state.path().join("runs");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let newest = run_id(&place);
    assert_eq!(place.ok(&["runs", "prune", "--keep", "1", "--dry-run"]).lines().count(), 2);
    assert_eq!(place.ok(&["runs"]).lines().count(), 4);
    assert_eq!(place.ok(&["runs", "prune", "--keep", "1"]).lines().count(), 2);
    assert_eq!(run_id(&place), newest);
    place.ok(&["runs", "prune", "--older-than", "1d"]);
    assert_eq!(place.ok(&["runs"]).lines().count(), 2);
    assert!(place.fails(&["runs", "prune"], 2).contains("--older-than"));
    assert!(place.fails(&["show", "zzz"], 2).contains(&newest));
    let blocked = Place::shipped().env("WF_STATE_DIR", folder.join(format!("{newest}.db")).to_str().unwrap());
    assert!(blocked.fails(&["run", "workflows/bodmas.yaml"], 5).contains("WF_STATE_DIR"));
}

#[test]
fn a_newer_record_is_refused_by_name_and_a_foreign_one_is_none() {
    let place = Place::shipped();
    place.ok(&["run", "workflows/bodmas.yaml"]);
    let run = run_id(&place);
    let path = place.state.path().join("runs").join(format!("{run}.db"));
    let set = |name: &str, value: i32| {
        rusqlite::Connection::open(&path).unwrap().pragma_update(None, name, value).unwrap();
    };
    set("user_version", 2);
    for args in [&["show"][..], &["resume"], &["replay"]] {
        let said = place.fails(args, 5);
        assert!(said.contains("written by a newer wf (tables 2; this one knows 1)"), "{said}");
    }
    set("user_version", 1);
    set("application_id", 7);
    assert!(place.fails(&["show"], 5).contains("is no record of a run"));
}

#[test]
fn an_interrupted_run_goes_on() {
    use rustix::process::{Pid, Signal, kill_process};
    let text = "tools:
  wait: {description: Waits, effect: read, command: [sh, -c, 'echo here >> began; while [ ! -e go ]; do sleep 0.01; done; echo 4']}
workflow_sequence:
  - {id: 1, type: tool_call, tool: wait, args: {}}
  - {id: 2, type: tool_call, tool: add, args: {a: {step_result: 1}, b: 1}}
";
    let place = Place::with("w.yaml", text);
    let wf = place
        .command(&["run", "w.yaml"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the tool runs", || lines(&place, "began") == 1);
    kill_process(Pid::from_child(&wf), Signal::INT).unwrap();
    let output = wf.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("to go on: wf resume "), "{said}");
    assert!(place.ok(&["runs"]).contains("interrupted"));
    place.file("go", "");
    // It only reads, so it is simply called again; the attempt counts once.
    let resumed = place.wf(&["resume", "last"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "5.0\n"), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("Step 1: attempt 1 was interrupted"), "{}", resumed.stderr);
    assert_eq!(lines(&place, "began"), 2);
}

#[test]
fn a_full_disk_stops_the_run_before_the_next_effect() {
    let text = "tools:
  post: {description: Writes to the ledger, command: [sh, -c, 'echo posted >> ledger; head -c 200000 /dev/zero | tr \"\\0\" x']}
workflow_sequence:
"
    .to_owned()
        + &(1..=30).map(|id| format!("  - {{id: {id}, type: tool_call, tool: post, args: {{}}}}\n")).collect::<String>();
    // Every result is the same value, so a run of the real size is made of different ones.
    let text = text.replace("tr \"\\0\" x", "tr \"\\0\" x; date +%s%N");
    let place = Place::with("w.yaml", &text);
    // The shell's limit on the size of files is a disk that is full for the record alone.
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg("ulimit -f 2048; trap '' XFSZ; exec \"$0\" run w.yaml")
        .arg(env!("CARGO_BIN_EXE_wf"));
    let output = command
        .current_dir(place.folder.path())
        .env("WF_STATE_DIR", place.state.path().join("runs"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("cannot write the run's record"), "{said}");
    let before = lines(&place, "ledger");
    assert!((1..30).contains(&before), "{before} calls were made");
    // With room again it goes on; the call whose answer was lost is a person's to decide.
    let said = place.fails(&["resume", "last"], 4);
    let step = said.split("--done ").nth(1).unwrap().split('=').next().unwrap().to_owned();
    place.ok(&["resume", "last", "--done", &format!("{step}=1")]);
    assert_eq!(lines(&place, "ledger"), 30);
}
