//! Runs done again: from a cassette, from a record, in a test of cassettes; and what is said when they differ.

use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Place, nobody};

const REPORT: &str = "workflows/weekly_report.yaml";
const CASSETTE: &str = "workflows/weekly_report.cassette.yaml";

fn recorded() -> (Place, String) {
    let place = Place::shipped();
    let live = place.ok(&["run", REPORT, "--record", CASSETTE]);
    (place, live)
}

#[test]
fn a_recorded_run_is_done_again_to_the_byte_and_without_its_files() {
    let (place, live) = recorded();
    let first = place.text(CASSETTE);
    assert_eq!(place.ok(&["run", REPORT, "--record", CASSETTE]), live);
    assert_eq!(place.text(CASSETTE), first, "the same run makes the same cassette");
    for what in ["/tmp", "01k", "at:", &place.folder.path().display().to_string()] {
        assert!(!first.contains(what), "{what}");
    }
    // No tool is run: what they need is gone.
    std::fs::remove_file(place.path("workflows/data/shop.sql")).unwrap();
    assert_eq!(place.ok(&["run", REPORT, "--replay", CASSETTE]), live);
    assert_eq!(place.ok(&["run", REPORT, "--replay", CASSETTE, "--ephemeral"]), live);
    assert_eq!(place.ok(&["replay", "last"]), live);
    let tested = place.ok(&["test"]);
    assert_eq!(tested, format!("ok      {CASSETTE}\n"));
    assert_eq!(place.ok(&["test", REPORT]), tested);
    place.ok(&["validate", "--deny", "warnings"]);
}

#[test]
fn the_shipped_cassettes_are_current() {
    let place = Place::shipped();
    for name in ["weekly_report", "bodmas"] {
        let file = format!("workflows/{name}.cassette.yaml");
        let shipped = std::fs::read_to_string(super::root().join(&file)).unwrap();
        place.ok(&["run", &format!("workflows/{name}.yaml"), "--record", &file]);
        assert_eq!(place.text(&file), shipped, "{file}: record it again");
    }
    assert_eq!(place.ok(&["test"]).lines().count(), 2);
}

#[test]
fn an_edited_workflow_is_told_by_step_and_difference() {
    let (place, _) = recorded();
    let text = place.text(REPORT);
    let edit = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        place.file(REPORT, &text.replace(from, to));
        let said = place.fails(&["run", REPORT, "--replay", CASSETTE], 1);
        let tested = place.wf(&["test"]);
        assert_eq!(tested.code, 1);
        assert!(tested.stdout.contains("FAILED") && tested.stderr.contains("1 failed"), "{}", tested.stdout);
        said
    };
    let said = edit(
        "Say which categories underperform in sales and returns, and why",
        "Say which categories underperform",
    );
    for part in [
        "step 3 failed: step 3 asks the model for something else than was recorded",
        "-user: Step 3: Say which categories underperform in sales and returns, and why",
        "+user: Step 3: Say which categories underperform",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = edit("description: Sales per category in", "description: Sales of each category in");
    assert!(said.contains("the tools the model is shown changed"), "{said}");
    let said = edit("task: ", "task: Now ");
    assert!(said.contains("the conversation before it") && said.contains("step "), "{said}");
    place.file(REPORT, &text.replace("model: offline", "model: openai/m"));
    // The recorded model answers, so no key is needed.
    place.ok(&["run", REPORT, "--replay", CASSETTE]);
}

#[test]
fn calls_are_compared_and_counted() {
    let text = "tools:\n  leave: {description: Leaves a trace, command: [touch, trace]}\nworkflow_sequence:\n  \
                - {id: 1, type: tool_call, tool: leave, args: {}}\n  \
                - {id: 2, type: tool_call, tool: add, args: {a: 1, b: 2}}\n";
    let place = Place::with("w.yaml", text);
    let live = place.ok(&["run", "w.yaml", "--record", "w.cassette.yaml"]);
    std::fs::remove_file(place.path("trace")).unwrap();
    assert_eq!(place.ok(&["run", "w.yaml", "--replay", "w.cassette.yaml"]), live);
    assert!(!place.path("trace").exists(), "no tool is run");
    let replayed = |text: String| {
        place.file("w.yaml", &text);
        place.fails(&["run", "w.yaml", "--replay", "w.cassette.yaml"], 1)
    };
    let said = replayed(text.replace("b: 2", "b: 3"));
    assert!(said.contains("step 2 makes another call than was recorded"), "{said}");
    assert!(said.contains("-  \"b\": 2") && said.contains("+  \"b\": 3"), "{said}");
    let said = replayed(text.to_owned() + "  - {id: 3, type: tool_call, tool: add, args: {a: 1, b: 2}}\n");
    assert!(said.contains("step 3 calls `add`, which was not recorded"), "{said}");
    let said = replayed(text.replace("  - {id: 2, type: tool_call, tool: add, args: {a: 1, b: 2}}\n", ""));
    assert!(said.contains("the run does less than was recorded: step 2 makes 1 calls less"), "{said}");
}

#[tokio::test]
async fn a_models_answers_are_given_again_without_server_and_key() {
    let plan = json!({"steps": [
        {"id": 1, "tool": "add", "args": {"a": 1, "b": 2}},
        {"id": 2, "tool": "multiply", "args": {"a": {"step_result": 1}, "b": 4}}]});
    let answer = |text: &str| {
        ResponseTemplate::new(200).set_body_json(json!({"choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": text}}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}))
    };
    let server = MockServer::start().await;
    // The first answer is late, and is asked for again; nobody waits for that in a replay.
    Mock::given(any()).respond_with(ResponseTemplate::new(503)).up_to_n_times(1).mount(&server).await;
    Mock::given(any()).respond_with(answer(&plan.to_string())).mount(&server).await;
    let place = Place::new().env("OPENAI_BASE_URL", &format!("{}/v1", server.uri()));
    let run = ["run", "--task", "Add 1 and 2, and multiply by 4", "--model", "openai/m"];
    let live = place.ok(&[&run[..], &["--record", "t.cassette.yaml"]].concat());
    assert_eq!(live, "12.0\n");
    let asked = server.received_requests().await.unwrap().len();
    drop(server);
    assert_eq!(
        place.ok(&["run", "--task", "Add 1 and 2, and multiply by 4", "--replay", "t.cassette.yaml"]),
        live
    );
    assert_eq!(place.ok(&["replay"]), live);
    assert_eq!(asked, 2);
    let said = place.fails(&["run", "--task", "Something else", "--replay", "t.cassette.yaml"], 3);
    assert!(
        said.contains("the plan asks the model for something else")
            && said.contains("Add 1 and 2, and multiply by 4"),
        "{said}"
    );
    let away = Place::new().env("OPENAI_BASE_URL", &nobody());
    away.file("t.cassette.yaml", &place.text("t.cassette.yaml"));
    assert_eq!(
        away.ok(&["run", "--task", "Add 1 and 2, and multiply by 4", "--replay", "t.cassette.yaml"]),
        live
    );
}

#[test]
fn a_failed_run_fails_again_in_the_same_way() {
    let text = "tools:\n  late: {description: Fails twice, effect: read, command: [sh, -c, 'echo x >> tries; \
                test $(wc -l < tries) = 3']}\n  never: {description: Fails, command: ['false']}\nworkflow_sequence:\n  \
                - {id: 1, type: tool_call, tool: late, args: {}, retry: {delay: 1ms}}\n  \
                - {id: 2, type: tool_call, tool: never, args: {}}\n";
    let place = Place::with("w.yaml", text);
    let live = place.fails(&["run", "w.yaml", "--record", "w.cassette.yaml"], 1);
    let again = place.fails(&["run", "w.yaml", "--replay", "w.cassette.yaml"], 1);
    let failure = "step 2 failed: `false` failed with exit code 1 and printed nothing";
    assert!(live.contains(failure) && again.contains(failure), "{again}");
    assert_eq!(place.text("tries").lines().count(), 3);
    assert_eq!(place.ok(&["test", "w.yaml"]), "ok      ./w.cassette.yaml\n");
}

#[test]
fn a_cassette_with_a_mistake_is_told_as_one() {
    let (place, _) = recorded();
    let text = place.text(CASSETTE);
    for (from, to, says) in [
        ("outcome:", "outcom:", "unknown field `outcom`"),
        ("cassette: 1", "cassette: 9", "of version 9, and this wf knows 1"),
        ("call: fetch_sales_data", "cal: fetch_sales_data", "unknown field `cal`"),
        ("  call: fetch_sales_data\n", "", "neither an `ask` with its `request` nor a `call`"),
    ] {
        assert!(text.contains(from), "{from}");
        place.file(CASSETTE, &text.replacen(from, to, 1));
        let said = place.fails(&["run", REPORT, "--replay", CASSETTE], 3);
        assert!(said.contains(says), "{said}");
        let checked = place.wf(&["validate", CASSETTE]);
        assert_eq!(checked.code, 3);
        assert!(checked.stdout.contains(says) && checked.stdout.contains("--record"), "{}", checked.stdout);
        let tested = place.wf(&["test"]);
        assert_eq!(tested.code, 1);
        assert!(tested.stdout.contains(says), "{}", tested.stdout);
    }
    assert!(place.fails(&["run", REPORT, "--replay", "none.yaml"], 3).contains("none.yaml"));
    assert!(Place::shipped().fails(&["test"], 2).contains("--record"));
    place.file("workflows/other.cassette.yaml", &text);
    assert!(place.wf(&["test"]).stdout.contains("no workflow of that name beside it"));
}
