//! Plans that are revised while they run: each decision a model can take, what it may not decide, and
//! when it is not asked at all.

use serde_json::{Value, json};
use wf::event::{CancelReason, Change, Fact, FailureKind, Outcome};
use wf::executor::Review;
use wf::llm::{Message, ModelErrorKind, Reply};
use wf::run::Status;
use wf::spec::Effect;
use wf::tool::ToolFault;

use super::engine::{Came, Trial, ok, trial};

/// Five steps; the third fails for good, the fourth reads its result, the fifth does not.
fn stale(head: &str) -> Trial {
    let text = format!(
        "{head}
task: Do it
workflow_sequence:
  - {{id: 1, type: tool_call, tool: read, args: {{x: 1}}}}
  - {{id: 2, type: tool_call, tool: read, args: {{x: 2}}}}
  - {{id: 3, type: tool_call, tool: broken, args: {{x: 3}}, description: Fetch it}}
  - {{id: 4, type: tool_call, tool: act, args: {{x: {{step_result: 3}}}}}}
  - {{id: 5, type: tool_call, tool: act, args: {{x: 5}}}}
"
    );
    trial(&text)
        .tool("read", Effect::Read, |args| Ok(json!(args["x"].as_i64().unwrap_or_default() * 10)))
        .tool("broken", Effect::Once, |args| match args["x"].as_i64() {
            Some(3) => Err(ToolFault::permanent("no such page")),
            x => Ok(json!(x)),
        })
        .tool("act", Effect::Once, |args| Ok(args["x"].clone()))
}

fn decide(decision: Value) -> Reply {
    Reply::from_text(decision.to_string())
}

fn on_failure(decision: Value) -> Came {
    stale("replan: on_failure").reply(decide(decision)).run()
}

fn changes(came: &Came) -> Vec<Change> {
    let facts = came.events.iter().map(|event| &event.fact);
    facts
        .filter_map(
            |fact| if let Fact::PlanRevised { change, .. } = fact { Some(change.clone()) } else { None },
        )
        .collect()
}

fn asked(came: &Came, at: usize) -> String {
    match came.asked[at].messages.last() {
        Some(Message::User { text }) => text.clone(),
        other => panic!("{other:?}"),
    }
}

use Status::{Cancelled, Done, Failed, Pending};

#[test]
fn the_model_sees_the_plan_what_came_of_it_and_the_failure() {
    let came = on_failure(json!({"decision": "continue", "reason": "It is optional."}));
    let text = asked(&came, 0);
    for part in [
        "Task: Do it",
        "- step 1 [done] tool_call read {\"x\":1}: Call read\n  result: 10",
        "- step 3 [failed] tool_call broken {\"x\":3}: Fetch it\n  failure: no such page",
        "- step 5 [pending] tool_call act: Call act",
        "Step 3 was tried once and has failed: no such page",
        "- act: The act of the test\n  arguments: {",
        "\"retry\": step 3",
    ] {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
}

#[test]
fn continue_gives_the_step_up_and_what_reads_it() {
    let came = on_failure(json!({"decision": "continue", "reason": "It is optional."}));
    assert_eq!(came.statuses(), [Done, Done, Cancelled, Cancelled, Done]);
    assert_eq!(came.state().steps[2].cancelled, Some(CancelReason::Revised));
    assert!(matches!(&came.state().steps[3].cancelled, Some(CancelReason::InputCancelled(_))));
    assert!(came.succeeded());
    let revised = came.events.iter().find_map(|event| match &event.fact {
        Fact::PlanRevised { step, reason, .. } => Some((step.to_string(), reason.clone())),
        _ => None,
    });
    assert_eq!(revised, Some(("3".to_owned(), "It is optional.".to_owned())));
}

#[test]
fn retry_grants_one_attempt_more_with_new_arguments_that_are_checked() {
    let came = stale("replan: on_failure")
        .reply(decide(json!({"decision": "retry", "reason": "Typo.", "args": {"x": "four"}})))
        .reply(decide(json!({"decision": "retry", "reason": "Typo.", "args": {"x": {"step_result": 2}}})))
        .run();
    assert!(asked(&came, 1).contains("`x`"), "{}", asked(&came, 1));
    assert_eq!(came.statuses(), [Done; 5]);
    assert_eq!(came.calls(1), [json!({"x": 3}), json!({"x": 20})]);
    assert_eq!(came.calls(2), [json!({"x": 20}), json!({"x": 5})]);
}

#[test]
fn a_step_that_fails_after_its_retry_is_asked_about_again_within_the_limit() {
    let retry = || decide(json!({"decision": "retry", "reason": "Perhaps now."}));
    let came = stale("replan: {when: on_failure, limit: 2}").reply(retry()).reply(retry()).run();
    assert_eq!(came.asked.len(), 2);
    assert_eq!(came.calls(1).len(), 3);
    assert_eq!(came.statuses(), [Done, Done, Failed, Cancelled, Cancelled]);
    assert!(matches!(came.outcome(), Outcome::Failed { failure, .. } if failure.kind == FailureKind::Tool));
}

#[test]
fn replace_puts_new_steps_in_the_place_of_what_has_not_ended() {
    let came = on_failure(json!({"decision": "replace", "reason": "Another way.", "steps": [
        {"id": 6, "description": "Read once more", "tool": "read", "args": {"x": {"step_result": 2}}},
        {"id": "end", "tool": "act", "args": {"x": {"step_result": 6}}},
    ]}));
    assert_eq!(came.statuses(), [Done, Done, Cancelled, Cancelled, Cancelled, Done, Done]);
    assert_eq!(came.calls(2), [json!({"x": 200})]);
    assert!(matches!(came.outcome(), Outcome::Succeeded { result } if *result == json!(200)));
}

#[test]
fn reorder_runs_what_is_named_first_and_the_failed_step_again() {
    let came = stale("replan: on_failure")
        .reply(decide(json!({"decision": "reorder", "reason": "First the other.", "order": [5, 3]})))
        .reply(decide(json!({"decision": "continue", "reason": "Then not."})))
        .run();
    let ids: Vec<String> = came.state().steps.iter().map(|step| step.id.to_string()).collect();
    assert_eq!(ids, ["1", "2", "5", "3", "4"]);
    assert_eq!(came.statuses(), [Done, Done, Done, Cancelled, Cancelled]);
    assert_eq!(came.calls(1).len(), 2);
    assert!(came.succeeded());
}

#[test]
fn cancel_takes_steps_away() {
    let came = on_failure(json!({"decision": "cancel", "reason": "Not needed.", "steps": [5, "4"]}));
    assert_eq!(came.statuses(), [Done, Done, Cancelled, Cancelled, Cancelled]);
    assert!(matches!(came.outcome(), Outcome::Succeeded { result } if *result == json!(20)));
}

#[test]
fn what_cannot_be_decided_goes_back_with_every_reason_and_is_bounded() {
    let table = [
        (json!({"decision": "skip", "reason": "x"}), vec!["\"skip\" is no decision"]),
        (json!({"decision": "continue"}), vec!["\"reason\" is missing"]),
        (
            json!({"decision": "reorder", "reason": "x", "order": [1, 9, 5, 5]}),
            vec![
                "names step 1, which is done and stays so",
                "names 9, and there is no such step",
                "names step 5 twice",
            ],
        ),
        (
            json!({"decision": "reorder", "reason": "x", "order": [4, 3]}),
            vec!["step 4 reads the result of step 3"],
        ),
        (
            json!({"decision": "cancel", "reason": "x", "steps": []}),
            vec!["\"steps\" has to be a list of ids"],
        ),
        (json!({"decision": "retry", "reason": "x", "args": {}}), vec!["`x`"]),
        (
            json!({"decision": "replace", "reason": "x", "steps": [
                {"id": 2, "tool": "read", "args": {"x": 1}},
                {"id": 7, "tool": "reed", "args": {"x": 1}},
                {"id": 8, "tool": "act", "args": {"x": {"step_result": 70}}},
            ]}),
            vec!["steps[0].id: ", "no tool named `reed`", "steps[2].args"],
        ),
        (
            json!({"decision": "replace", "reason": "x", "steps": [
                {"id": 7, "tool": "act", "args": {"x": {"step_result": 4}}},
            ]}),
            vec!["step 7 refers to step 4, which is not done"],
        ),
        (json!("no object"), vec!["no JSON object with a \"decision\""]),
        (json!({"decision": "ask", "reason": "x"}), vec!["\"ask\" needs a \"question\""]),
    ];
    for (decision, reasons) in table {
        let came = stale("replan: on_failure")
            .reply(decide(decision.clone()))
            .reply(decide(decision.clone()))
            .reply(decide(decision.clone()))
            .run();
        let text = asked(&came, 1);
        for reason in reasons {
            assert!(text.contains(reason), "{decision}: {reason}\n---\n{text}");
        }
        assert_eq!(came.asked.len(), 3);
        let Outcome::Failed { failure, .. } = came.outcome() else { panic!("{decision}") };
        assert!(
            failure
                .message
                .starts_with("no such page; and the plan was not revised: the model gave no decision"),
            "{failure}"
        );
        assert_eq!(came.statuses(), [Done, Done, Failed, Cancelled, Cancelled]);
    }
}

#[test]
fn a_reply_is_mended_as_a_plan_is_and_the_repairs_are_named() {
    let reply =
        "<think>hm</think>\nI decide:\n```json\n{decision: 'continue', \"reason\": \"x\", \"mood\": 1,}\n```";
    let came = stale("replan: on_failure").reply(Reply::from_text(reply)).run();
    let repairs = came.events.iter().find_map(|event| match &event.fact {
        Fact::PlanRevised { repairs, .. } => Some(repairs.join("; ")),
        _ => None,
    });
    let repairs = repairs.unwrap_or_default();
    for repair in ["removed a think block", "put quotes around keys", "dropped `mood`"] {
        assert!(repairs.contains(repair), "{repairs}");
    }
}

#[test]
fn new_steps_that_act_are_put_to_a_person() {
    let steps = json!([{"id": 6, "tool": "act", "args": {"x": 1}}]);
    for (review, succeeds) in [(Review::Go, true), (Review::Declined, false), (Review::Unanswerable, false)] {
        let mut it = stale("replan: on_failure");
        it.review = review;
        let came = it.reply(decide(json!({"decision": "replace", "reason": "x", "steps": steps}))).run();
        assert_eq!(came.succeeded(), succeeds);
        assert_eq!(came.calls(2).len(), usize::from(succeeds));
        assert_eq!(changes(&came).len(), usize::from(succeeds));
        assert!(succeeds || matches!(came.outcome(), Outcome::Stopped { .. }));
    }
    // One that only reads needs no yes.
    let mut it = stale("replan: on_failure");
    it.review = Review::Declined;
    let steps = json!([{"id": 6, "tool": "read", "args": {"x": 1}}]);
    assert!(
        it.reply(decide(json!({"decision": "replace", "reason": "x", "steps": steps}))).run().succeeded()
    );
}

#[test]
fn without_a_model_the_failure_stands_and_says_why() {
    let came = stale("replan: on_failure").fault(ModelErrorKind::Refused).run();
    let Outcome::Failed { failure, .. } = came.outcome() else { panic!() };
    assert_eq!(failure.message, "no such page; and the plan was not revised: no answer");
    assert_eq!(came.statuses(), [Done, Done, Failed, Cancelled, Cancelled]);
}

#[test]
fn what_is_under_way_ends_before_the_plan_is_looked_at() {
    let came = trial(
        "replan: on_failure
workflow_sequence:
  - {id: 1, type: tool_call, tool: slow, args: {x: 1}, depends_on: []}
  - {id: 2, type: tool_call, tool: broken, args: {x: 2}, depends_on: []}
  - {id: 3, type: tool_call, tool: slow, args: {x: 3}, depends_on: [1]}
",
    )
    .slow_tool("slow", Effect::Read, Some(std::time::Duration::from_millis(20)), ok(json!(1)))
    .tool("broken", Effect::Once, |_| Err(ToolFault::permanent("no")))
    .reply(decide(json!({"decision": "continue", "reason": "x"})))
    .run();
    assert!(asked(&came, 0).contains("- step 1 [done]") && asked(&came, 0).contains("- step 3 [pending]"));
    assert_eq!(came.statuses(), [Done, Cancelled, Done]);
}

/// Three steps, each of which says something of its result or not.
fn watched(first: &str, head: &str) -> Trial {
    trial(&format!(
        "{head}
workflow_sequence:
  - {{id: 1, type: tool_call, tool: read, args: {{x: 1}}{first}}}
  - {{id: 2, type: tool_call, tool: multiply, args: {{a: 2, b: 3}}}}
  - {{id: 3, type: tool_call, tool: read, args: {{x: 3}}}}
"
    ))
    .tool("read", Effect::Read, |args| Ok(args["x"].clone()))
}

#[test]
fn a_result_that_is_as_expected_costs_no_question() {
    let came = watched(", expect: 'result == 1'", "replan: after_each").run();
    assert_eq!((came.asked.len(), came.succeeded()), (0, true));
}

#[test]
fn a_result_of_which_nothing_is_known_or_that_is_not_as_expected_is_asked_about_once() {
    for (first, said) in
        [("", "Step 1 is done. Is the rest"), (", expect: result > 1", "`result > 1` is not true")]
    {
        let came = watched(first, "replan: after_each")
            .reply(decide(json!({"decision": "continue", "reason": "x"})))
            .run();
        assert!(asked(&came, 0).contains(said), "{}", asked(&came, 0));
        assert!(!asked(&came, 0).contains("\"retry\""));
        assert_eq!((came.asked.len(), came.succeeded()), (1, true));
        assert_eq!(changes(&came), [Change::Continue]);
    }
}

#[test]
fn without_replanning_a_result_that_is_not_as_expected_is_a_failure() {
    for head in ["", "replan: on_failure"] {
        let trial = watched(", expect: result > 1", head)
            .reply(decide(json!({"decision": "continue", "reason": "x"})));
        let came = trial.run();
        let failed = came.events.iter().find_map(|event| match &event.fact {
            Fact::StepFailed { failure, .. } => Some((failure.kind, failure.message.clone())),
            _ => None,
        });
        let message = "the result is not as expected: `result > 1` is not true".to_owned();
        assert_eq!(failed, Some((FailureKind::Unexpected, message)));
        assert_eq!(came.asked.len(), usize::from(!head.is_empty()));
        assert_eq!(came.succeeded(), !head.is_empty());
    }
}

#[test]
fn who_cannot_be_asked_after_a_step_that_is_done_fails_the_run_and_nothing_else_runs() {
    let came = watched("", "replan: after_each").fault(ModelErrorKind::Refused).run();
    assert_eq!(came.statuses(), [Done, Pending, Pending]);
    let Outcome::Failed { step: None, failure } = came.outcome() else { panic!() };
    assert_eq!(failure.kind, FailureKind::Provider);
    assert!(failure.message.starts_with("nobody could say after step 1"), "{failure}");
}
