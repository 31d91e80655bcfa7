//! Runs that are killed again and again, as nothing can be caught, and go on each time.
//!
//! `WF_KILLS=1000` kills a thousand times; `tests/kills COUNT` does that.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Place, until};

const STEPS: usize = 30;

/// Of three steps one writes to a ledger and must not be repeated, one reads, one is a sum.
fn workflow() -> String {
    let mut text = "tools:
  post:
    description: Writes a line to the ledger, and only then says that it did
    parameters: {type: object, properties: {n: {type: integer}}, required: [n]}
    command: [sh, -c, 'sleep 0.005; echo \"$1\" >> ledger; sync ledger; echo \"$1\"', post, '{{ args.n }}']
  look:
    description: Says a number
    effect: read
    parameters: {type: object, properties: {n: {}}, required: [n]}
    command: [echo, '{{ args.n }}']
workflow_sequence:
"
    .to_owned();
    for id in 1..=STEPS {
        let (tool, args) = match id % 3 {
            1 => ("post", format!("{{n: {id}}}")),
            2 => ("look", format!("{{n: {{step_result: {}}}}}", id - 1)),
            _ => ("add", format!("{{a: {{step_result: {}}}, b: {{step_result: {}}}}}", id - 1, id - 2)),
        };
        text.push_str(&format!("  - {{id: {id}, type: tool_call, tool: {tool}, args: {args}}}\n"));
    }
    text
}

/// Whether a process works in the folder: one that a killed run left there may still write.
fn somebody_works_in(place: &Place) -> bool {
    let folder = std::fs::canonicalize(place.folder.path()).unwrap();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(Result::ok)
        .any(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder))
}

fn ledger(place: &Place) -> Vec<usize> {
    let text = std::fs::read_to_string(place.path("ledger")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Lets a command run for a while, then kills it. Its code and what it said, if it was over before.
fn killed(place: &Place, args: &[String], after: Duration) -> Option<(i32, String, String)> {
    let args = args.iter().map(String::as_str).collect::<Vec<_>>();
    let mut command = place.command(&args);
    let mut wf = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    let mut over = false;
    while !over && start.elapsed() < after {
        std::thread::sleep(Duration::from_micros(200));
        over = wf.try_wait().unwrap().is_some();
    }
    wf.kill().unwrap();
    let output = wf.wait_with_output().unwrap();
    until("what was started is gone", || !somebody_works_in(place));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    over.then(|| (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr)))
}

/// What a person says who looks into the ledger.
fn decided(place: &Place, said: &str) -> Vec<String> {
    let mut args = vec!["resume".to_owned(), "last".to_owned()];
    let steps = said.split("step ").filter_map(|rest| {
        let (id, rest) = rest.split_once(' ')?;
        rest.starts_with("was calling").then(|| id.parse::<usize>().unwrap())
    });
    for step in steps {
        match ledger(place).contains(&step) {
            true => args.extend(["--done".to_owned(), format!("{step}={step}")]),
            false => args.extend(["--rerun".to_owned(), step.to_string()]),
        }
    }
    args
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_if_nothing_had_happened() {
    let wanted = std::env::var("WF_KILLS").ok().map_or(25, |count| count.parse::<usize>().unwrap());
    let expected = Place::with("w.yaml", &workflow()).ok(&["run", "w.yaml"]);
    let posts = (1..=STEPS).filter(|id| id % 3 == 1).collect::<Vec<_>>();
    let (mut kills, mut seed) = (0, 0x2545_f491_4f6c_dd1d_u64);
    while kills < wanted {
        let place = Place::with("w.yaml", &workflow());
        let mut args = vec!["run".to_owned(), "w.yaml".to_owned()];
        loop {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            // From before the record is there to a handful of steps.
            let after = Duration::from_micros(seed % 60_000);
            let limit = if kills < wanted { after } else { Duration::from_secs(20) };
            match killed(&place, &args, limit) {
                None => {
                    kills += 1;
                    let begun = place.wf(&["show", "--events"]).stdout.contains("run_started");
                    if begun {
                        args = vec!["resume".to_owned(), "last".to_owned()];
                    }
                }
                Some((0, stdout, _)) => {
                    assert_eq!(stdout, expected);
                    break;
                }
                Some((4, _, said)) => args = decided(&place, &said),
                Some((code, _, said)) => panic!("{args:?}: {code} {said}"),
            }
        }
        assert_eq!(ledger(&place), posts, "each once, in order");
        let events = place.ok(&["show", "--events"]);
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut done =
            events.filter(|event| event["type"] == "step_succeeded").map(|event| event["step"].clone());
        for id in 1..=STEPS {
            assert_eq!(done.next(), Some(id.into()), "a step that is done is not done again");
        }
        assert_eq!(done.next(), None);
    }
}
