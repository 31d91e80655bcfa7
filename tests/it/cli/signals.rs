//! Signals and time limits: the code a run ends with, and that no process of a tool outlives it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Place, is_running, pid_in, until};

/// Steps that start a program which writes its number, and that of its own child, and stays.
fn waiting(script: &str, more: &str) -> Place {
    let text = format!(
        "tools:\n  wait:\n    description: Stays\n    command: [sh, -c, '{script}']\nworkflow_sequence:\n  \
         - {{id: 1, type: tool_call, tool: wait, args: {{}}{more}}}\n  \
         - {{id: 2, type: tool_call, tool: add, args: {{a: 1, b: 1}}}}\n"
    );
    Place::with("w.yaml", &text)
}

const STAYS: &str = "sleep 300 & echo $! > child; echo $$ > parent; wait";

#[test]
fn a_signal_ends_the_run_and_the_tools_processes() {
    let table = [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM"), (Signal::HUP, 143, "SIGHUP")];
    for (signal, code, name) in table {
        // A test that was started with nohup cannot start anything that listens to it.
        if signal == Signal::HUP && ignores_hangup() {
            continue;
        }
        let place = waiting(STAYS, "");
        let mut command = place.command(&["run", "w.yaml"]);
        let wf = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (parent, child) = (pid_in(&place.path("parent")), pid_in(&place.path("child")));
        assert!(is_running(parent) && is_running(child));
        kill_process(Pid::from_child(&wf), signal).unwrap();
        let output = wf.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(output.stdout.is_empty());
        assert!(said.contains(&format!("the run was interrupted by {name}")), "{said}");
        until("the tool's processes are gone", || !is_running(parent) && !is_running(child));
    }
}

fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 != 0
}

#[cfg(target_os = "linux")]
#[test]
fn who_asked_for_no_hangup_gets_none() {
    let place = waiting("echo $$ > parent; until test -e go; do sleep 0.01; done", "");
    let wf = place.command(&["run", "w.yaml"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(wf.get_program()).args(wf.get_args());
    shell.current_dir(wf.get_current_dir().unwrap()).env_clear();
    shell.envs(wf.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let wf = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    pid_in(&place.path("parent"));
    kill_process(Pid::from_child(&wf), Signal::HUP).unwrap();
    place.file("go", "");
    let output = wf.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn nobody_has_to_listen() {
    let place = waiting("until test -e go; do sleep 0.01; done; echo said; echo > done", "");
    let mut command = place.command(&["run", "w.yaml", "--events"]);
    let mut wf = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Both readers go away while the run goes on.
    drop((wf.stdout.take(), wf.stderr.take()));
    place.file("go", "");
    assert_eq!(wf.wait().unwrap().code(), Some(0));
    assert!(place.path("done").exists());
    let shown: serde_json::Value = serde_json::from_str(&place.ok(&["show", "last", "--json"])).unwrap();
    assert_eq!(shown["outcome"], "succeeded", "{shown}");
}

#[test]
fn a_program_that_ignores_the_signal_to_end_is_gone_after_its_time() {
    let script =
        "trap \"\" TERM; sh -c \"trap \\\"\\\" TERM; sleep 300\" & echo $! > child; echo $$ > parent; wait";
    let place = waiting(script, ", timeout: 300ms, retry: {max_attempts: 1}");
    let start = Instant::now();
    let said = place.fails(&["run", "w.yaml"], 1);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(
        said.contains("step 1 failed")
            && said.contains("the tool `wait` did not finish within 0.3 s, the step's timeout"),
        "{said}"
    );
    assert!(said.contains("cancelled because of it: step 2"), "{said}");
    let (parent, child) = (pid_in(&place.path("parent")), pid_in(&place.path("child")));
    until("the program's processes are gone", || !is_running(parent) && !is_running(child));
}

#[tokio::test]
async fn a_signal_while_a_plan_is_made_ends_it() {
    let server = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_delay(Duration::from_secs(120));
    Mock::given(any()).respond_with(late).mount(&server).await;
    let place = Place::new().env("OPENAI_BASE_URL", &format!("{}/v1", server.uri()));
    for args in [&["run", "--task", "x"][..], &["plan", "x"]] {
        let before = server.received_requests().await.unwrap().len();
        let mut command = place.command(&[args, &["--model", "openai/m"]].concat());
        let wf = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while server.received_requests().await.unwrap().len() == before {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        kill_process(Pid::from_child(&wf), Signal::TERM).unwrap();
        let output = wf.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{output:?}");
        assert!(output.stdout.is_empty());
    }
    place.file("w.yaml", "task: x\nlimits: {timeout: 200ms}\n");
    let said = place.fails(&["run", "w.yaml", "--model", "openai/m"], 4);
    assert!(said.contains("limits.timeout of 200 ms is reached"), "{said}");
}

#[tokio::test]
async fn a_question_under_way_is_dropped_at_once_and_asked_again_later() {
    let server = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_delay(Duration::from_secs(120));
    Mock::given(any()).respond_with(late).mount(&server).await;
    let text = "workflow_sequence:\n  - {id: 1, type: reasoning, description: Think}\n";
    let place = Place::with("w.yaml", text).env("OPENAI_BASE_URL", &format!("{}/v1", server.uri()));
    let mut command = place.command(&["run", "w.yaml", "--model", "openai/m", "--events"]);
    let wf = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while server.received_requests().await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let start = Instant::now();
    kill_process(Pid::from_child(&wf), Signal::INT).unwrap();
    let output = wf.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let events = String::from_utf8(output.stdout).unwrap();
    assert!(events.contains("model_asked") && !events.contains("step_failed"), "{events}");
    server.reset().await;
    let answer = serde_json::json!({"choices": [{"message": {"role": "assistant", "content": "thought"}}]});
    Mock::given(any()).respond_with(ResponseTemplate::new(200).set_body_json(answer)).mount(&server).await;
    assert_eq!(place.ok(&["resume", "last"]), "thought\n");
}

#[test]
fn the_time_of_the_whole_run_is_bounded() {
    let place = waiting(STAYS, "");
    let text = place.text("w.yaml");
    place.file("w.yaml", &format!("limits: {{timeout: 300ms}}\n{text}"));
    let ran = place.wf(&["run", "w.yaml"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("limits.timeout of 300 ms is reached"), "{}", ran.stderr);
    let (parent, child) = (pid_in(&place.path("parent")), pid_in(&place.path("child")));
    until("the tool's processes are gone", || !is_running(parent) && !is_running(child));
}
