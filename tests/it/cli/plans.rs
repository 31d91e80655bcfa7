//! Planning: a task in, a plan out in three forms, and the same result whichever way it is run.

use serde_json::{Value, json};

use super::Place;

const TASK: &str = "solve 2+3*4-6/2";

#[test]
fn arithmetic_is_planned_run_and_its_result_is_all_there_is_on_stdout() {
    let place = Place::new();
    let cases = [
        (TASK, "11.0\n"),
        ("solve 2 + 3 × 4 − 6 ÷ 2", "11.0\n"),
        ("2 + 3 × 4 − 6 ÷ 2", "11.0\n"),
        ("((1+2)^2 - 4) * -3 / 0.5", "-30.0\n"),
    ];
    for (task, result) in cases {
        let ran = place.wf(&["run", "--task", task]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, result), "{task}: {}", ran.stderr);
        assert!(ran.stderr.contains("model: offline"), "{}", ran.stderr);
    }
}

#[test]
fn the_plan_is_the_articles_four_steps() {
    let place = Place::new();
    let text = place.ok(&["plan", TASK]);
    let calls = text.lines().filter(|line| line.starts_with("    ")).map(str::trim).collect::<Vec<_>>();
    let expected = [
        "multiply(a: 3, b: 4)",
        "divide(a: 6, b: 2)",
        "add(a: 2, b: step 1)",
        "subtract(a: step 3, b: step 2)",
    ];
    assert_eq!(calls, expected, "{text}");

    let plan: Value = serde_json::from_str(&place.ok(&["plan", TASK, "--format", "json"])).unwrap();
    let steps = plan["steps"].as_array().unwrap();
    let keys = steps[2].as_object().unwrap().keys().collect::<Vec<_>>();
    assert_eq!(keys, ["id", "type", "description", "tool", "args", "status", "result"]);
    let tools = steps.iter().map(|step| &step["tool"]).collect::<Vec<_>>();
    assert_eq!(tools, ["multiply", "divide", "add", "subtract"]);
    assert_eq!(steps[2]["args"], json!({"a": 2, "b": {"step_result": 1}}));
    assert_eq!(steps[3]["args"], json!({"a": {"step_result": 3}, "b": {"step_result": 2}}));
    assert!(steps.iter().all(|step| step["status"] == "pending" && step["result"].is_null()));
}

#[test]
fn a_plan_kept_as_a_file_is_valid_and_runs() {
    let place = Place::new();
    for (format, name) in [("yaml", "p.yaml"), ("json", "p.json")] {
        let out = place.ok(&["plan", TASK, "--format", format, "-o", name]);
        assert_eq!(out, "", "what goes to a file does not go to stdout too");
        assert_eq!(place.ok(&["run", name]), "11.0\n", "{name}");
        place.ok(&["validate", name, "--deny", "warnings"]);
    }
    let left = std::fs::read_dir(place.path(".")).unwrap().count();
    assert_eq!(left, 2, "no half-written file stays");
}

#[test]
fn a_file_on_stdin_is_a_file() {
    let place = Place::new();
    let yaml = place.ok(&["plan", TASK, "--format", "yaml"]);
    let ran = place.wf_with(&["run", "-"], &yaml);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "11.0\n"), "{}", ran.stderr);
    assert_eq!(place.wf_with(&["validate", "-"], &yaml).code, 0);
    assert!(place.wf_with(&["graph", "-"], &yaml).stdout.starts_with("flowchart TD\n"));
    let broken = place.wf_with(&["validate", "-", "--format", "short"], "task: [");
    assert_eq!(broken.code, 3);
    assert!(broken.stdout.starts_with("<stdin>:1:"), "{}", broken.stdout);
    let inputs = "inputs: {n: {type: integer}}\ntask: \"solve {{ inputs.n }} + 1\"\n";
    place.file("n.yaml", inputs);
    let ran = place.wf_with(&["run", "n.yaml", "--input-json", "-"], r#"{"n": 4}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "5.0\n"), "{}", ran.stderr);
}

#[test]
fn a_task_that_cannot_be_planned_names_the_way_out() {
    let place = Place::new();
    for args in [&["plan", "write a poem"][..], &["run", "--task", "write a poem"]] {
        let said = place.fails(args, 3);
        assert!(said.contains("no-plan") && said.contains("--model"), "{said}");
    }
}

#[test]
fn the_order_is_drawn() {
    let place = Place::shipped();
    let drawing = place.ok(&["graph", "weekly_report"]);
    assert!(drawing.starts_with("flowchart TD\n"), "{drawing}");
    assert_eq!(drawing.lines().filter(|line| line.contains("\"]") || line.contains("\")")).count(), 5);
    assert!(drawing.contains("s0 -.-> s1") && drawing.contains("s3 --> s4"), "{drawing}");
    let said = place.fails(&["graph", "bodmas"], 3);
    assert!(said.contains("has no steps yet"), "{said}");
}

#[test]
fn tools_are_listed_with_their_arguments() {
    let place = Place::shipped();
    let built_in = place.ok(&["tools"]);
    for tool in ["add", "subtract", "multiply", "divide", "power"] {
        assert!(built_in.contains(&format!("{tool}(a: number, b: number)")), "{built_in}");
    }
    let all = place.ok(&["tools", "weekly_report"]);
    assert!(all.contains("fetch_inventory_levels(week: string, categories: array)"), "{all}");
    assert!(all.ends_with(&built_in), "{all}");
}
