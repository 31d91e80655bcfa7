//! Real programs: what they are given, what becomes of their output, and that they are gone when they
//! should be.
//!
//! Uses the tool as a step does; knows no run.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::spec::{Effect, Output, ToolKind};
use crate::tool::ToolFaultKind;
use crate::tool::probe::{Probe, spec};

fn shell(script: &str) -> ToolSpec {
    argv(&["sh", "-c", script])
}

fn argv(argv: &[&str]) -> ToolSpec {
    let argv = argv.iter().map(|item| (*item).to_owned()).collect();
    spec(ToolKind::Command { argv }, Effect::Once)
}

fn within(folder: &Path) -> Surroundings {
    Surroundings { base: folder.to_owned(), workspace: folder.to_owned(), ..Surroundings::default() }
}

async fn run(spec: ToolSpec, args: Value) -> Result<Value, ToolFault> {
    Probe::default().declared(spec, Surroundings::default(), args).await
}

/// Whether a process is there and still runs: one that has ended and waits to be reaped does not.
fn runs(pid: &str) -> bool {
    if cfg!(not(target_os = "linux")) {
        let pid = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw);
        return pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    }
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn what_a_program_prints_is_the_result() {
    assert_eq!(run(shell("echo '{\"a\": 1}'"), json!({})).await, Ok(json!({"a": 1})));
    assert_eq!(run(shell("echo hello"), json!({})).await, Ok(json!("hello")));
    assert_eq!(run(shell("printf 'a\\377\\000b'"), json!({})).await, Ok(json!("a\u{fffd}\0b")));
    let text = ToolSpec { output: Output::Text, ..shell("echo 42") };
    assert_eq!(run(text, json!({})).await, Ok(json!("42")));
    let json = ToolSpec { output: Output::Json, ..shell("echo oops") };
    let fault = run(json, json!({})).await.expect_err("is no JSON");
    assert_eq!(fault.kind, ToolFaultKind::Permanent);
    assert!(fault.message.starts_with("the output of `sh` is not JSON"), "{fault}");
}

#[tokio::test]
async fn an_item_stays_one_item_whatever_it_holds() {
    let tool = argv(&["printf", "[%s]", "{{ args.a }}", "x={{ args.b }}", "{{ args.c }}"]);
    let args = json!({"a": "two words; $(echo no) \"'\n*", "b": true, "c": [1, {"k": 2}]});
    let expected = "[two words; $(echo no) \"'\n*][x=true][[1,{\"k\":2}]]";
    assert_eq!(run(tool, args).await, Ok(json!(expected)));
}

#[tokio::test]
async fn the_arguments_arrive_on_stdin_and_need_not_be_read() {
    let args = json!({"a": [1, "x"]});
    assert_eq!(run(argv(&["cat"]), args.clone()).await, Ok(args));
    // More than a pipe holds, to a program that never reads.
    assert_eq!(run(shell("echo done"), json!({"a": "x".repeat(1 << 20)})).await, Ok(json!("done")));
    assert_eq!(run(shell("exec <&-; echo done"), json!({"a": "x".repeat(1 << 20)})).await, Ok(json!("done")));
}

#[tokio::test]
async fn the_environment_is_what_the_file_declares() {
    let folder = TempDir::new().expect("a folder");
    let mut surroundings = within(folder.path());
    surroundings.env.insert("SHOP_ID".to_owned(), "7".to_owned());
    let script = "env | cut -d= -f1 | grep -vx -e PWD -e SHLVL -e _ -e OLDPWD | sort | tr '\\n' ' '; pwd";
    let probe = Probe::default();
    let shown = probe.declared(shell(script), surroundings.clone(), json!({})).await.expect("it runs");
    let (names, workspace) = shown.as_str().expect("text").rsplit_once(' ').expect("names, then a folder");
    let allowed = ["PATH", "HOME", "LANG", "TMPDIR", "SHOP_ID"];
    let about = ["WF_RUN_ID", "WF_STEP_ID", "WF_ATTEMPT", "WF_IDEMPOTENCY_KEY"];
    assert!(names.split(' ').all(|name| allowed.contains(&name) || about.contains(&name)), "{names}");
    // What a file declares cannot pass for what is known about the call.
    surroundings.env.insert("WF_STEP_ID".to_owned(), "9".to_owned());
    let script = "echo $WF_STEP_ID $WF_ATTEMPT $WF_IDEMPOTENCY_KEY; test -n \"$WF_RUN_ID\"";
    assert_eq!(probe.declared(shell(script), surroundings, json!({})).await, Ok(json!("1 1 run:1")));
    assert!(names.contains("SHOP_ID") && names.contains("PATH"), "{names}");
    assert_eq!(fs::canonicalize(workspace).ok(), fs::canonicalize(folder.path()).ok());
}

#[tokio::test]
async fn a_program_that_fails_may_pass_one_that_is_missing_may_not() {
    let table = [
        (shell("echo broken >&2; exit 3"), ToolFaultKind::Transient, "`sh` failed with exit code 3: broken"),
        (shell("exit 4"), ToolFaultKind::Transient, "`sh` failed with exit code 4 and printed nothing"),
        (
            shell("echo out; exit 5"),
            ToolFaultKind::Transient,
            "`sh` failed with exit code 5 and printed: out",
        ),
        (shell("kill -9 $$"), ToolFaultKind::Transient, "`sh` was ended by signal 9 and printed nothing"),
        (
            argv(&["no-such-program-here"]),
            ToolFaultKind::Permanent,
            "there is no program `no-such-program-here` on PATH",
        ),
        (
            argv(&["echo", "{{ args.gone }}"]),
            ToolFaultKind::Permanent,
            "item 1 of `command` of the tool cannot be filled in: `args.gone` has no value",
        ),
    ];
    for (tool, kind, message) in table {
        let fault = run(tool, json!({})).await.expect_err(message);
        assert_eq!((fault.kind, fault.message.as_str()), (kind, message));
    }
}

#[tokio::test]
async fn a_path_starts_in_the_folder_of_the_file() {
    let (base, workspace) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    fs::write(base.path().join("plain.txt"), "not a program").expect("written");
    let surroundings = Surroundings { workspace: workspace.path().to_owned(), ..within(base.path()) };
    let probe = Probe::default();
    let fault = probe.declared(argv(&["./plain.txt"]), surroundings.clone(), json!({})).await;
    let fault = fault.expect_err("may not be executed");
    assert!(fault.message.contains("may not be executed"), "{fault}");
    std::os::unix::fs::symlink("/bin/echo", base.path().join("say")).expect("linked");
    assert_eq!(probe.declared(argv(&["./say", "hi"]), surroundings, json!({})).await, Ok(json!("hi")));
}

#[tokio::test]
async fn a_program_that_ignores_term_is_gone_with_its_group_after_its_time() {
    let folder = TempDir::new().expect("a folder");
    let script = "trap '' TERM; sleep 100 & echo $! > child; echo $$ > parent; echo ready; wait; wait";
    let tool = ToolSpec { timeout: Some(Duration::from_millis(300)), ..shell(script) };
    let ToolKind::Command { argv } = tool.kind.clone() else { panic!("bug: no command") };
    let mut program = Program::new(tool, &argv, Arc::new(within(folder.path()))).expect("parses");
    program.grace = Duration::from_millis(50);
    let probe = Probe { timeout: Some(Duration::from_millis(300)), ..Probe::default() };
    let fault = probe.call(&program, json!({})).await.expect_err("runs too long");
    assert_eq!(fault.kind, ToolFaultKind::Timeout);
    assert_eq!(fault.message, "`sh` did not finish within 300ms and was ended");
    for name in ["child", "parent"] {
        let pid = fs::read_to_string(folder.path().join(name)).expect("it had started");
        until("its end", || !runs(&pid)).await;
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing_behind() {
    let folder = TempDir::new().expect("a folder");
    let script = "trap '' TERM; sleep 100 & echo $! > child.new; mv child.new child; wait; wait";
    let call = {
        let surroundings = within(folder.path());
        tokio::spawn(async move { Probe::default().declared(shell(script), surroundings, json!({})).await })
    };
    let child = folder.path().join("child");
    until("the child", || child.exists()).await;
    let pid = fs::read_to_string(&child).expect("a pid");
    assert!(runs(&pid));
    call.abort();
    until("its end", || !runs(&pid)).await;
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_does_not_hold_the_result() {
    let folder = TempDir::new().expect("a folder");
    let script = "sleep 100 & echo $! > child; echo done";
    let started = Instant::now();
    let result = Probe::default().declared(shell(script), within(folder.path()), json!({})).await;
    assert_eq!(result, Ok(json!("done")));
    assert!(started.elapsed() < Duration::from_secs(20));
    let pid = fs::read_to_string(folder.path().join("child")).expect("a pid");
    until("its end", || !runs(&pid)).await;
}

#[tokio::test]
async fn of_a_flood_head_and_tail_stay() {
    let probe = Probe { max_output_bytes: 1000, ..Probe::default() };
    let script = "echo first; head -c 67108864 /dev/zero | tr '\\0' 'x'; echo; echo last";
    let result = probe.declared(shell(script), Surroundings::default(), json!({})).await.expect("it runs");
    let text = result.as_str().expect("text");
    assert!(text.len() < 1100 && text.starts_with("first\nxxx") && text.ends_with("xxx\nlast"), "{text}");
    assert!(text.contains("… [67107876 bytes left out] …"), "{text}");
    let lines = probe.lines.into_inner().expect("not poisoned");
    assert!(lines.len() <= 3 && lines.iter().all(|line| line.chars().count() <= 501), "{lines:?}");
}

#[tokio::test]
async fn lines_are_shown_as_they_come_and_secrets_are_masked_everywhere() {
    let mut surroundings = Surroundings::default();
    surroundings.env.insert("SHOP_TOKEN".to_owned(), "hunter2hunter2".to_owned());
    let probe = Probe::default();
    let result = probe.declared(shell("echo one; echo $SHOP_TOKEN"), surroundings.clone(), json!({})).await;
    assert_eq!(result, Ok(json!("one\n***")));
    let fault = probe.declared(shell("echo $SHOP_TOKEN >&2; exit 1"), surroundings, json!({})).await;
    assert_eq!(fault.expect_err("fails").message, "`sh` failed with exit code 1: ***");
    assert_eq!(*probe.lines.lock().expect("not poisoned"), ["one", "***", "***"]);
}
