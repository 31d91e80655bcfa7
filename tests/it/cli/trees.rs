//! Programs that start others, in sessions of their own and as daemons that ignore every request to end:
//! nothing of them is left, however the call or the run ends.
//!
//! Every process of a tree has a variable that only one test knows, and `/proc` is searched for it.
//! `WF_STOPS=200` repeats the interrupted fan-outs that often; without it they are a few.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Place, is_running, pid_in, until};

/// Starts a child with a grandchild, one more in a session of its own, and a daemon without a parent
/// that ignores everything; then does `$1`.
const TREE: &str = r#"
sh -c 'sleep 300 & wait' &
setsid sh -c 'sleep 300 & wait' &
(setsid sh -c 'trap "" TERM INT HUP; exec </dev/null >/dev/null 2>&1; echo $$ > daemon.$WF_STEP_ID
  while :; do sleep 300; done' &)
until test -s daemon.$WF_STEP_ID; do sleep 0.01; done
eval "$1"
"#;

/// How many processes a tree has, with the shell at its top.
const MEMBERS: usize = 7;

const TOOLS: &str = "\
env: [TREE]
tools:
  tree:
    description: Starts a tree of processes, then does what it is told
    parameters: {type: object, properties: {then: {type: string}}, required: [then]}
    command: [sh, tree.sh, '{{ args.then }}']
  count:
    description: How many processes of a tree are left
    effect: read
    command: [sh, -c, 'kill -0 $(cat daemon.1) 2>/dev/null && echo alive || echo gone']
workflow_sequence:
";

/// A workflow of trees, and what its processes are known by.
struct Forest {
    place: Place,
    mark: String,
}

/// A run of it.
struct Run<'a> {
    forest: &'a Forest,
    wf: Child,
}

impl Forest {
    fn new(steps: &str) -> Self {
        let place = Place::with("w.yaml", &format!("{TOOLS}{steps}"));
        place.file("tree.sh", TREE);
        let mark = format!("TREE={}", place.path("").display());
        let place = place.env("TREE", mark.trim_start_matches("TREE="));
        Self { place, mark }
    }

    /// Ten trees at once.
    fn wide() -> Self {
        let step = |id| {
            format!("  - {{id: {id}, type: tool_call, tool: tree, args: {{then: wait}}, depends_on: []}}\n")
        };
        Self::new(&(1..=10).map(step).collect::<String>())
    }

    fn start(&self, args: &[&str]) -> Run<'_> {
        let mut command = self.place.command(&[&["run", "w.yaml"], args].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Run { forest: self, wf: command.spawn().unwrap() }
    }

    /// The processes of its trees.
    fn members(&self) -> Vec<i32> {
        let has_mark = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|it| it == self.mark.as_bytes()) && is_running(*pid)
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // Only what the tool was started with has a number of an attempt: wf itself has not.
        all.filter(has_mark).filter(|pid| variable(*pid, "WF_ATTEMPT").is_some()).collect()
    }

    #[track_caller]
    fn assert_empty(&self) {
        let members = self.members();
        assert!(members.is_empty(), "left: {:?}", members.iter().map(|pid| told(*pid)).collect::<Vec<_>>());
    }

    fn until_empty(&self) {
        until("nothing of the trees is left", || self.members().is_empty());
    }
}

impl Run<'_> {
    /// Waits until that many processes of the trees are there.
    fn grown(self, members: usize) -> Self {
        until("the trees have grown", || self.forest.members().len() >= members);
        self
    }

    /// Waits until the run listens to signals: it has started a process then.
    fn begun(self) -> Self {
        until("the run has begun", || !self.children().is_empty());
        self
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.wf), signal).unwrap();
    }

    /// The supervisors, while the run goes on.
    fn children(&self) -> Vec<i32> {
        let id = self.wf.id();
        let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    fn end(self) -> Output {
        self.wf.wait_with_output().unwrap()
    }
}

fn variable(pid: i32, name: &str) -> Option<String> {
    let environment = fs::read_to_string(format!("/proc/{pid}/environ")).ok()?;
    environment.split('\0').find_map(|it| it.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}

/// A process for a message.
fn told(pid: i32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    format!("{pid} `{line}` {stat}")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How often what depends on the moment is repeated.
fn rounds(few: usize) -> usize {
    std::env::var("WF_STOPS").map_or(few, |count| count.parse().unwrap())
}

#[test]
fn nothing_is_left_when_the_program_ends_and_the_next_step_finds_nothing() {
    let forest = Forest::new(
        "  - {id: 1, type: tool_call, tool: tree, args: {then: echo done}}\n  \
           - {id: 2, type: tool_call, tool: count, args: {}}\n",
    );
    let run = forest.start(&["--json"]);
    let output = run.end();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    forest.assert_empty();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(run["steps"][0]["result"], "done");
    assert_eq!(run["result"], "gone");
}

#[test]
fn nothing_is_left_when_the_program_fails() {
    for (then, why) in [("exit 3", "failed with exit code 3"), ("kill -9 $$", "was ended by signal 9")] {
        let step = format!("  - {{id: 1, type: tool_call, tool: tree, args: {{then: '{then}'}}}}\n");
        let forest = Forest::new(&step);
        let output = forest.start(&[]).end();
        assert_eq!(code(&output), Some(1), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
        forest.assert_empty();
    }
}

#[test]
fn nothing_is_left_when_the_time_is_over() {
    let step = "  - {id: 1, type: tool_call, tool: tree, args: {then: 'trap \"\" TERM; while :; do sleep 300; done'}, timeout: 1500ms}\n";
    let forest = Forest::new(step);
    let output = forest.start(&[]).end();
    assert_eq!(code(&output), Some(1), "{}", said(&output));
    assert!(said(&output).contains("did not finish within 1.5 s, the step's timeout"), "{}", said(&output));
    forest.assert_empty();
}

#[test]
fn nothing_is_left_when_the_whole_run_is_out_of_time() {
    let forest = Forest::wide();
    let text = forest.place.text("w.yaml");
    forest.place.file("w.yaml", &format!("limits: {{timeout: 1500ms}}\n{text}"));
    let output = forest.start(&["--jobs", "10"]).end();
    assert_eq!(code(&output), Some(4), "{}", said(&output));
    forest.until_empty();
}

#[test]
fn nothing_is_left_when_wf_is_asked_to_end() {
    for (signal, expected) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let forest = Forest::new("  - {id: 1, type: tool_call, tool: tree, args: {then: wait}}\n");
        let run = forest.start(&["--events"]).grown(MEMBERS);
        let supervisors = run.children();
        assert_eq!(supervisors.len(), 1);
        run.signal(signal);
        let output = run.end();
        assert_eq!(code(&output), Some(expected), "{}", said(&output));
        forest.assert_empty();
        assert!(!supervisors.into_iter().any(is_running));
        // It is neither done nor failed: the run can go on with it.
        let events = String::from_utf8(output.stdout).unwrap();
        assert!(events.contains("\"type\":\"tool_called\""), "{events}");
        assert!(!events.contains("step_failed") && !events.contains("step_succeeded"), "{events}");
    }
}

#[test]
fn a_program_may_use_its_last_seconds_and_what_it_makes_of_them_counts() {
    let table = [("exit 0", "step_succeeded"), ("exit 1", "run_finished")];
    for (last, expected) in table {
        let then = format!("trap \"echo bye; {last}\" TERM; echo > waits; while :; do sleep 0.05; done");
        let step = format!("  - {{id: 1, type: tool_call, tool: tree, args: {{then: '{then}'}}}}\n");
        let forest = Forest::new(&step);
        let run = forest.start(&["--events"]);
        until("it waits", || forest.place.path("waits").exists());
        run.signal(Signal::INT);
        let output = run.end();
        assert_eq!(code(&output), Some(130), "{}", said(&output));
        forest.assert_empty();
        let events = String::from_utf8(output.stdout).unwrap();
        let names = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let names = names.map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert!(names.iter().any(|name| name == expected), "{names:?}");
        assert_eq!(names.iter().any(|name| name == "step_succeeded"), last == "exit 0", "{names:?}");
        assert!(!names.iter().any(|name| name == "step_failed"), "{names:?}");
    }
}

#[test]
fn one_that_flees_from_process_to_process_is_caught() {
    // Each starts the next in a session of its own and ends; it would go on for an hour.
    let flee = "test $1 -gt 0 && setsid sh flee.sh $(($1 - 1)) >/dev/null 2>&1 &\n";
    for (last, killed) in [("", false), ("wait", true)] {
        let then = format!("for i in 1 2 3; do sh flee.sh 1000000 & done; sleep 0.2; echo > waits; {last}");
        let step = format!("  - {{id: 1, type: tool_call, tool: tree, args: {{then: '{then}'}}}}\n");
        let forest = Forest::new(&step);
        forest.place.file("flee.sh", flee);
        let run = forest.start(&[]);
        until("they flee", || forest.place.path("waits").exists());
        if killed {
            run.signal(Signal::KILL);
        }
        let start = Instant::now();
        let output = run.end();
        assert_eq!(output.status.code(), (!killed).then_some(0), "{}", said(&output));
        forest.until_empty();
        assert!(start.elapsed() < Duration::from_secs(60), "they were not caught: {:?}", start.elapsed());
    }
}

#[test]
fn what_the_program_started_has_its_time_too() {
    // The shell at the top ends at once when it is asked, its child only after it has cleared up.
    let child = "trap \\\"sleep 1; echo > cleared; exit\\\" TERM; echo > waits; while :; do sleep 0.05; done";
    let then = format!("sh -c \"{child}\" >/dev/null 2>&1 & wait");
    let step = format!("  - {{id: 1, type: tool_call, tool: tree, args: {{then: '{then}'}}}}\n");
    let forest = Forest::new(&step);
    let run = forest.start(&[]);
    until("it waits", || forest.place.path("waits").exists());
    let start = Instant::now();
    run.signal(Signal::TERM);
    let output = run.end();
    assert_eq!(code(&output), Some(143), "{}", said(&output));
    assert!(forest.place.path("cleared").exists(), "it was killed while it cleared up");
    // The daemon that ignores the request is not waited for.
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    forest.assert_empty();
}

#[test]
fn a_second_signal_waits_for_nothing() {
    let then = "trap \"echo > asked\" TERM; while :; do sleep 0.05; done";
    let forest =
        Forest::new(&format!("  - {{id: 1, type: tool_call, tool: tree, args: {{then: '{then}'}}}}\n"));
    let mut run = forest.start(&[]).grown(MEMBERS);
    // The trap may not be set yet: then the tree ends at the first signal, and nothing is shown.
    until("it has set its trap", || {
        forest.members().iter().any(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
            u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (Signal::TERM.as_raw() - 1)) != 0
        })
    });
    run.signal(Signal::INT);
    until("the program was asked to end", || forest.place.path("asked").exists());
    assert!(run.wf.try_wait().unwrap().is_none(), "wf did not wait for its program");
    let start = Instant::now();
    run.signal(Signal::INT);
    let output = run.end();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(code(&output), Some(130), "{}", said(&output));
    assert!(said(&output).contains("SIGINT: what is under way is asked to end"), "{}", said(&output));
    forest.until_empty();
}

#[test]
fn nothing_is_left_when_wf_is_killed() {
    for round in 0..rounds(6) {
        let forest = Forest::wide();
        // From the moment the first process is there to the moment all are.
        let run = forest.start(&["--jobs", "10"]).begun().grown(round % 6 * (10 * MEMBERS / 5));
        let supervisors = run.children();
        run.signal(Signal::KILL);
        let output = run.end();
        assert_eq!(output.status.signal(), Some(9));
        forest.until_empty();
        until("the supervisors are gone", || !supervisors.iter().any(|pid| is_running(*pid)));
    }
}

#[test]
fn nothing_is_left_of_ten_trees_whenever_the_signal_comes() {
    for round in 0..rounds(6) {
        let forest = Forest::wide();
        let run = forest.start(&["--jobs", "10"]).begun().grown(round % 6 * (10 * MEMBERS / 5));
        run.signal(Signal::INT);
        let output = run.end();
        assert_eq!(code(&output), Some(130), "round {round}: {}", said(&output));
        forest.assert_empty();
    }
}

#[test]
fn what_clears_away_is_not_called_wf_and_holds_no_secret() {
    let forest = Forest::new("  - {id: 1, type: tool_call, tool: tree, args: {then: wait}}\n");
    let run = forest.start(&[]).grown(MEMBERS);
    let [supervisor] = run.children()[..] else { panic!("one supervisor: {:?}", run.children()) };
    // Whoever kills by name (`pkill -9 wf`) is not to kill it too.
    assert_eq!(fs::read_to_string(format!("/proc/{supervisor}/comm")).unwrap(), "tool-supervisor\n");
    let line = fs::read_to_string(format!("/proc/{supervisor}/cmdline")).unwrap();
    assert_eq!(line, "wf\0__supervise\0");
    assert!(fs::read(format!("/proc/{supervisor}/environ")).unwrap().is_empty());
    run.signal(Signal::TERM);
    assert_eq!(code(&run.end()), Some(143));
}

#[test]
fn a_supervisor_that_is_asked_to_end_passes_it_on_and_one_that_is_killed_is_missed() {
    let forest = Forest::new("  - {id: 1, type: tool_call, tool: tree, args: {then: wait}}\n");
    let run = forest.start(&[]).grown(MEMBERS);
    let [supervisor] = run.children()[..] else { panic!("one supervisor: {:?}", run.children()) };
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::TERM).unwrap();
    let output = run.end();
    assert_eq!(code(&output), Some(1), "{}", said(&output));
    assert!(said(&output).contains("`sh` was ended by signal 15"), "{}", said(&output));
    forest.assert_empty();

    let step = "  - {id: 1, type: tool_call, tool: plain, args: {}}\n";
    let tools =
        "tools:\n  plain:\n    description: x\n    command: [sh, -c, 'sleep 300 & echo $$ > top; wait']\n";
    let place = Place::with("w.yaml", &format!("{tools}workflow_sequence:\n{step}"));
    let mut command = place.command(&["run", "w.yaml"]);
    let wf = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let top = pid_in(&place.path("top"));
    let stat = fs::read_to_string(format!("/proc/{top}/stat")).unwrap();
    let parent = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap();
    kill_process(Pid::from_raw(parent).unwrap(), Signal::KILL).unwrap();
    let output = wf.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(1), "{}", said(&output));
    assert!(said(&output).contains("`sh` was lost sight of: its supervisor is gone"), "{}", said(&output));
    until("the program is gone", || !is_running(top));
}

#[test]
fn nobody_types_the_hidden_name() {
    let place = Place::new();
    let mut command = place.command(&["__supervise"]);
    let status: ExitStatus = command.stdin(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(!place.ok(&["--help"]).contains("supervise"));
}
