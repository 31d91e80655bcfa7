//! Exit codes: each of 0 to 5 for its reason, and nothing called before a file is right.

use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Place, nobody};

#[test]
fn wrong_usage_is_2() {
    let place = Place::with("w.yaml", "workflow_sequence: [{id: 1, type: reasoning, description: x}]\n");
    let cases: [&[&str]; 10] = [
        &[],
        &["runn"],
        &["run"],
        &["run", "w.yaml", "--nope"],
        &["run", "w.yaml", "--jobs", "0"],
        &["run", "w.yaml", "--json", "--events"],
        &["run", "w.yaml", "-i", "novalue"],
        &["run", "w.yaml", "--model", "nope/x"],
        &["plan"],
        &["validate"],
    ];
    for args in cases {
        let ran = place.wf(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
    let neither = Place::with("w.yaml", "name: nothing\n");
    assert!(neither.fails(&["run", "w.yaml"], 2).contains("--task"));
}

#[test]
fn a_file_that_is_not_there_is_named_with_its_neighbour() {
    let place = Place::shipped();
    let said = place.fails(&["run", "weekly_reprot"], 3);
    assert!(said.contains("error[unreadable-file]") && said.contains("weekly_report.yaml"), "{said}");
    place.fails(&["validate", "nowhere.yaml"], 3);
    place.fails(&["graph", "nowhere.yaml"], 3);
    place.fails(&["run", "workflows"], 3);
}

#[tokio::test]
async fn a_broken_file_calls_nobody() {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(ResponseTemplate::new(500)).mount(&server).await;
    let broken = "\
task: Something
tools:
  leave:
    description: Leaves a file behind
    command: [touch, trace]
workflow_sequence:
  - {id: 1, type: tool_call, tool: leave, args: {}}
  - {id: 2, type: reasoning, description: Think}
  - {id: 3, type: tool_call, tool: laeve, args: {}}
  - {id: 3, type: aggregate, inputs: [7], description: Sum up}
";
    let place = Place::with("w.yaml", broken).env("OPENAI_BASE_URL", &format!("{}/v1", server.uri()));
    for args in
        [&["run", "w.yaml", "--model", "openai/m"][..], &["plan", "--file", "w.yaml", "--model", "openai/m"]]
    {
        let said = place.fails(args, 3);
        for code in ["unknown-tool", "duplicate-id", "unknown-step"] {
            assert!(said.contains(&format!("error[{code}]")), "{code}: {said}");
        }
        assert!(said.contains("w.yaml:9:"), "{said}");
    }
    assert!(server.received_requests().await.unwrap().is_empty());
    assert!(!place.path("trace").exists());
}

#[test]
fn a_provider_that_cannot_be_reached_is_5() {
    let steps = "workflow_sequence: [{id: 1, type: reasoning, description: x, retry: {max_attempts: 1}}]\n";
    let place = Place::with("w.yaml", steps).env("OPENAI_BASE_URL", &nobody());
    for args in [&["run", "w.yaml"][..], &["run", "--task", "anything"], &["plan", "anything"]] {
        let said = place.fails(&[args, &["--model", "openai/m"]].concat(), 5);
        assert!(said.contains("cannot reach 127.0.0.1:"), "{said}");
        assert!(said.contains("OPENAI_BASE_URL is"), "{said}");
    }
    let said = place.fails(&["run", "--task", "anything", "--model", "openai/m"], 5);
    assert_eq!(said.matches("cannot reach").count(), 1, "once is enough: {said}");
}

#[test]
fn a_key_that_is_missing_is_said_before_anything_is_asked() {
    let place = Place::new();
    let said = place.fails(&["run", "--task", "x", "--model", "openai/m"], 5);
    assert!(said.contains("OPENAI_API_KEY is not set"), "{said}");
    place.file("w.yaml", "model: openai/m\nworkflow_sequence: [{id: 1, type: reasoning, description: x}]\n");
    let said = place.fails(&["run", "w.yaml"], 3);
    assert!(said.contains("error[missing-credential]"), "{said}");
    assert_eq!(place.wf(&["validate", "w.yaml"]).code, 0);
    assert_eq!(place.wf(&["run", "w.yaml", "--model", "offline"]).code, 0);
}

#[test]
fn a_file_that_cannot_be_written_is_5() {
    let said = Place::new().fails(&["plan", "1+1", "-o", "no/such/folder/p.yaml"], 5);
    assert!(said.contains("cannot write `no/such/folder/p.yaml`"), "{said}");
}

#[test]
fn a_limit_that_is_reached_is_4() {
    let place = Place::with(
        "w.yaml",
        "limits: {max_steps: 1}\nworkflow_sequence:\n  - {id: 1, type: tool_call, tool: add, args: {a: 1, b: 2}}\n  \
           - {id: 2, type: tool_call, tool: add, args: {a: 1, b: {step_result: 1}}}\n",
    );
    let ran = place.wf(&["run", "w.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("limits.max_steps of 1 is reached"), "{}", ran.stderr);
    assert_eq!(place.wf(&["run", "w.yaml", "--json"]).json()["outcome"], "stopped");
}

#[tokio::test]
async fn a_models_plan_that_acts_needs_a_word() {
    let plan = json!({"steps": [{"id": 1, "tool": "leave", "args": {}}]}).to_string();
    let answer = json!({"choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": plan}}]});
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200).set_body_json(answer)).mount(&server).await;
    let file = "task: Leave a trace\ntools: {leave: {description: Leaves a file, command: [touch, trace]}}\n";
    let place = Place::with("w.yaml", file).env("OPENAI_BASE_URL", &format!("{}/v1", server.uri()));
    let args = ["run", "w.yaml", "--model", "openai/m"];
    place.fails(&[&args[..], &["--ephemeral"]].concat(), 2);
    // With a record it can go on when somebody is there; the model's plan is in it.
    let said = place.fails(&args, 4);
    assert!(
        said.contains("--yes") && said.contains("leave()") && said.contains("changes something"),
        "{said}"
    );
    assert!(said.contains("to go on: wf resume "), "{said}");
    assert!(!place.path("trace").exists());
    let asked = server.received_requests().await.unwrap().len();
    place.ok(&["resume", "last", "--yes"]);
    assert!(place.path("trace").exists());
    assert_eq!(server.received_requests().await.unwrap().len(), asked, "a plan is not asked for twice");
}
