//! Runs of files: results, records, inputs, what a dry run leaves alone, how failures are told.

use serde_json::{Value, json};
use wf::event::Event;
use wf::run::RunState;

use super::Place;

/// A tool that leaves a trace, and one that fails.
const TRACES: &str = "\
tools:
  leave:
    description: Leaves a file behind
    command: [touch, trace]
  burn:
    description: Fails
    command: [sh, -c, \"echo the disk is on fire >&2; exit 7\"]
";

fn traces(steps: &str) -> Place {
    Place::with("w.yaml", &format!("{TRACES}workflow_sequence:\n{steps}"))
}

#[test]
fn the_weekly_report_follows_the_figures() {
    let place = Place::shipped();
    let report = place.ok(&["run", "workflows/weekly_report.yaml"]);
    let first = report.lines().find(|line| line.contains("stands out")).unwrap_or(&report);
    for part in ["Apparel stands out", "lowest sales (38000)", "highest return rate (18%)", "4200", "11"] {
        assert!(first.contains(part), "{part}: {report}");
    }
    assert!(report.starts_with("# ") && report.contains("\n| Electronics | 142000 | 3% |"), "{report}");

    // Other figures, and the text says something else.
    let figures = place.text("workflows/data/shop.sql");
    let changed = figures
        .replace("('2026-W48', 'Apparel',      38000)", "('2026-W48', 'Apparel',      98000)")
        .replace("('2026-W48', 'Apparel',    18)", "('2026-W48', 'Apparel',    4)")
        .replace("('2026-W48', 'Toys',         64000)", "('2026-W48', 'Toys',         12345)")
        .replace("('2026-W48', 'Toys',        5)", "('2026-W48', 'Toys',        25)");
    place.file("workflows/data/shop.sql", &changed);
    let other = place.ok(&["run", "weekly_report"]);
    assert!(other.contains("Toys stands out") && other.contains("lowest sales (12345)"), "{other}");
    assert!(!other.contains("38000"), "{other}");

    let earlier = place.ok(&["run", "weekly_report", "-i", "week=2026-W46"]);
    assert!(earlier.contains("week 2026-W46") && earlier.contains("128000"), "{earlier}");
}

#[test]
fn the_five_steps_tick_through_in_order() {
    let ran = Place::shipped().wf(&["run", "weekly_report.yaml"]);
    let marks = |mark: &str| {
        let lines =
            ran.stderr.lines().filter_map(|line| line.strip_prefix(mark)?.trim().strip_prefix("Step "));
        lines.map(|rest| rest.split(':').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let all = ["1", "2", "3", "4", "5"];
    assert_eq!(
        (marks("⬜"), marks("⏳"), marks("✅")),
        (all.map(String::from).to_vec(), all.map(String::from).to_vec(), all.map(String::from).to_vec()),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_events_fold_to_the_same_run() {
    let place = Place::shipped();
    for (file, calls) in [("bodmas", 1), ("weekly_report", 5)] {
        let expected = place.ok(&["run", file]);
        let lines = place.ok(&["run", file, "--events"]);
        let events =
            lines.lines().map(|line| serde_json::from_str::<Event>(line).unwrap()).collect::<Vec<_>>();
        let numbers = events.iter().map(|event| event.seq).collect::<Vec<_>>();
        assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
        let state = RunState::fold(&events).unwrap();
        let result = match state.result().unwrap() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        assert_eq!(result.trim_end(), expected.trim_end());
        assert_eq!(state.model_calls, calls, "{file}");

        let whole = place.wf(&["run", file, "--json"]).json();
        assert_eq!(whole["outcome"], "succeeded");
        assert_eq!(&whole["result"], state.result().unwrap());
        assert_eq!(whole["steps"].as_array().unwrap().len(), state.steps.len());
        assert_eq!(whole["model_calls"], json!(calls));
    }
}

#[test]
fn a_dry_run_runs_nothing() {
    let place = traces(
        "  - {id: 1, type: tool_call, tool: leave, description: Leave it, args: {}}\n  \
           - {id: 2, type: reasoning, description: Think of it}\n",
    );
    let shown = place.ok(&["run", "w.yaml", "--dry-run"]);
    assert!(shown.contains("leave()") && shown.contains("1 of 2 steps would ask offline"), "{shown}");
    assert!(!place.path("trace").exists());
    place.ok(&["run", "w.yaml"]);
    assert!(place.path("trace").exists());
}

#[test]
fn a_failed_step_is_told_with_its_reason_and_what_it_cost() {
    let place = traces(
        "  - {id: first, type: tool_call, tool: burn, description: Burn it}\n  \
           - {id: second, type: reasoning, description: Think of it}\n  \
           - {id: third, type: tool_call, tool: leave, description: Leave it, depends_on: []}\n",
    );
    let ran = place.wf(&["run", "w.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    for line in [
        "step first failed: `sh` failed with exit code 7: the disk is on fire",
        "cancelled because of it: step second",
    ] {
        assert!(ran.stderr.lines().any(|it| it == line), "{}", ran.stderr);
    }
    assert!(place.path("trace").exists(), "what does not depend on it still runs");
    let whole = place.wf(&["run", "w.yaml", "--json"]);
    assert_eq!(whole.code, 1);
    let whole = whole.json();
    assert_eq!(whole["outcome"], "failed");
    let statuses = whole["steps"].as_array().unwrap().iter().map(|step| &step["status"]).collect::<Vec<_>>();
    assert_eq!(statuses, ["failed", "cancelled", "done"]);
}

#[test]
fn no_run_with_a_failed_step_ends_well() {
    for last in [
        "{id: 2, type: tool_call, tool: leave, depends_on: [], args: {}}",
        "{id: 2, type: reasoning, description: x, depends_on: []}",
    ] {
        let place = traces(&format!("  - {{id: 1, type: tool_call, tool: burn, args: {{}}}}\n  - {last}\n"));
        place.fails(&["run", "w.yaml"], 1);
        place.fails(&["run", "w.yaml", "--events"], 1);
    }
    let said = Place::new().fails(&["run", "--task", "solve 1/0"], 1);
    assert!(said.contains("step 1 failed: cannot divide 1 by zero"), "{said}");
}

#[test]
fn a_false_condition_is_no_failure() {
    let place = traces(
        "  - {id: 1, type: tool_call, tool: add, args: {a: 1, b: 2}}\n  \
           - {id: 2, type: tool_call, tool: leave, args: {}, when: \"1 > 2\"}\n",
    );
    let ran = place.wf(&["run", "w.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "3.0\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("🚫") && ran.stderr.contains("condition is false"), "{}", ran.stderr);
    assert!(!place.path("trace").exists());
}

#[test]
fn inputs_are_checked_before_anything_runs() {
    let place = traces(
        "  - {id: 1, type: tool_call, tool: leave, args: {}}\ninputs:\n  count: {type: integer}\nx-a: 1\n",
    );
    let cases: [(&[&str], &str); 4] = [
        (&[], "missing-input"),
        (&["-i", "count=three"], "input-type"),
        (&["-i", "count=3", "-i", "cuont=3"], "unknown-input"),
        (&["--input-json", "nowhere.json"], "unreadable-file"),
    ];
    for (args, code) in cases {
        let said = place.fails(&[&["run", "w.yaml"], args].concat(), 3);
        assert!(said.contains(&format!("error[{code}]")), "{said}");
    }
    assert!(!place.path("trace").exists());
    place.file("given.json", "{\"count\": 5}");
    let lines = place.ok(&["run", "w.yaml", "-i", "count=3", "--input-json", "given.json", "--events"]);
    assert!(lines.lines().next().unwrap().contains("\"inputs\":{\"count\":3}"), "{lines}");
}

#[test]
fn a_very_long_output_is_cut_and_the_run_goes_on() {
    let place = Place::with(
        "w.yaml",
        "tools:\n  pour:\n    description: Much\n    output: text\n    command: [sh, -c, \"echo first; head -c 20000000 /dev/zero | tr '\\\\0' x; echo; echo last\"]\n\
         workflow_sequence:\n  - {id: 1, type: tool_call, tool: pour, args: {}}\n",
    );
    let result = place.ok(&["run", "w.yaml"]);
    assert!(result.len() < 5 << 20, "{}", result.len());
    assert!(result.starts_with("first\n") && result.trim_end().ends_with("last"));
}
