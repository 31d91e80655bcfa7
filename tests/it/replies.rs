//! What becomes of a model's reply: the handed cases, and siblings of each kind.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::{ProptestConfig, proptest};
use serde_json::{Value, json};
use wf::id::{StepId, ToolName};
use wf::load::{Loaded, Scope, load};
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::workflow::{Arg, Origin, Step};

fn tool(name: &str, parameters: Value, effect: Effect) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("The tool {name}"),
        parameters,
        returns: None,
        effect,
        output: Output::Auto,
        timeout: Some(Duration::from_secs(1)),
        kind: ToolKind::Builtin { name: ToolName::new(name), with: serde_json::Map::new() },
    }
}

/// The math tools, and one that takes text.
fn scope() -> Scope {
    let numbers = json!({
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "additionalProperties": false
    });
    let math = ["add", "subtract", "multiply", "divide", "power"];
    let mut tools: Vec<_> = math.iter().map(|name| tool(name, numbers.clone(), Effect::Read)).collect();
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}});
    tools.push(tool("note", text, Effect::Once));
    Scope { tools, task: Some("solve 2+3*4-6/2".into()), ..Scope::default() }
}

fn read(text: &str) -> Loaded {
    load(&Source::new("<reply>", text), &scope(), Origin::Model)
}

fn arg(given: &Arg) -> Value {
    match given {
        Arg::Value(value) => numbers(value),
        Arg::Template(_) => panic!("a model's text is no template"),
        Arg::Reference(reference) => match &reference.pointer {
            Some(pointer) => json!({"step_result": reference.step.as_str(), "pointer": pointer}),
            None => json!({"step_result": reference.step.as_str()}),
        },
        Arg::List(items) => items.iter().map(arg).collect(),
        Arg::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), arg(value))).collect(),
    }
}

/// Numbers by value, and ids as text.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(numbers).collect(),
        Value::Object(entries) => match entries.get("step_result") {
            Some(id) => json!({"step_result": id_text(id)}),
            None => entries.iter().map(|(key, value)| (key.clone(), numbers(value))).collect(),
        },
        other => other.clone(),
    }
}

fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn plain(step: &Step) -> Value {
    let args: Value = match &step.action {
        wf::workflow::Action::ToolCall { args: Some(args), .. } => {
            args.iter().map(|(key, value)| (key.clone(), arg(value))).collect()
        }
        _ => Value::Null,
    };
    json!({"id": step.id.as_str(), "tool": step.tool().map(ToolName::as_str), "args": args})
}

fn steps(loaded: &Loaded) -> Option<Vec<Value>> {
    let plan = loaded.workflow.as_ref()?.plan.as_ref()?;
    Some(plan.steps.iter().map(plain).collect())
}

fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded.diagnostics.iter().filter(|one| one.is_error()).map(|one| one.code.as_str()).collect()
}

#[test]
fn the_handed_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/replies");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        seen += 1;
        let expected = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let loaded = read(&text);
        match expected.get("refuse").and_then(Value::as_str) {
            Some(code) => {
                assert!(codes(&loaded).contains(&code), "{path:?}: {:?}", loaded.diagnostics);
                assert!(loaded.workflow.is_none(), "{path:?}");
            }
            None => {
                let wanted: Vec<Value> = expected["steps"].as_array().unwrap().iter().map(|step| {
                    json!({"id": id_text(&step["id"]), "tool": step["tool"], "args": numbers(&step["args"])})
                }).collect();
                assert_eq!(steps(&loaded), Some(wanted), "{path:?}: {:?}", loaded.diagnostics);
                assert!(loaded.diagnostics.is_empty(), "{path:?}: {:?}", loaded.diagnostics);
            }
        }
        for one in &loaded.diagnostics {
            assert!(one.span.start <= one.span.end && one.span.end <= text.len(), "{path:?}");
        }
    }
    assert!(seen >= 28, "only {seen} cases");
}

const ONE: &str = r#"{"id":1,"tool":"multiply","args":{"a":3,"b":4}}"#;
const TWO: &str = r#"{"id":2,"tool":"add","args":{"a":2,"b":{"step_result":1}}}"#;

fn two() -> Vec<Value> {
    vec![
        json!({"id": "1", "tool": "multiply", "args": {"a": 3.0, "b": 4.0}}),
        json!({"id": "2", "tool": "add", "args": {"a": 2.0, "b": {"step_result": "1"}}}),
    ]
}

#[test]
fn the_same_two_steps_in_many_shapes_with_every_repair_named() {
    let plan = format!(r#"{{"steps":[{ONE},{TWO}]}}"#);
    let list = format!("[{ONE},{TWO}]");
    let string = Value::from(plan.as_str()).to_string();
    let list_string = Value::from(list.as_str()).to_string();
    let second = |change: &str| format!(r#"{{"steps":[{ONE},{change}]}}"#);
    let table: Vec<(String, &[&str])> = vec![
        (plan.clone(), &[]),
        (format!(r#"{{"workflow_sequence":{list}}}"#), &[]),
        (format!("\u{feff}{plan}"), &["removed the byte order mark"]),
        (format!("~~~\n{plan}\n~~~"), &["removed the text around the plan"]),
        (
            format!("Here:\n```json\n{plan}\n```\nDone."),
            &["removed a code fence", "removed the text around the plan"],
        ),
        (format!("```JSON\n{plan}"), &["removed a code fence"]),
        (format!("<thinking>{{\"steps\":[{ONE}]}}</thinking>{plan}"), &["removed a think block"]),
        (format!("{{\"steps\":[{ONE}]}} hm</think>\n{plan}"), &["removed a think block"]),
        (format!("<think>so {plan}"), &["removed a think block", "removed the text around the plan"]),
        (format!("The shape {{\"step_result\": 1}} is used. {plan}"), &["removed the text around the plan"]),
        (format!("{plan}\n{plan}"), &["took a plan that stands there twice once"]),
        (format!("{{\"steps\":[{{\"id\":1,\"tool\":\"multiplyy\"}}]}}\n{plan}"), &[]),
        (format!(r#"{{"plan":{list}}}"#), &["took the steps from `plan`"]),
        (format!(r#"{{"Tasks":{list}}}"#), &["took the steps from `Tasks`"]),
        (format!(r#"{{"actions":{list}}}"#), &["took the steps from `actions`"]),
        (
            format!(r#"{{"result":{{"plan":{plan}}}}}"#),
            &["took the steps from `plan`", "took the steps from `result`"],
        ),
        (format!(r#"{{"workflow":{{"workflow_sequence":{list}}}}}"#), &["took the steps from `workflow`"]),
        (format!(r#"{{"bodmas":{plan}}}"#), &["took the steps from `bodmas`"]),
        (format!("[{plan}]"), &[]),
        (list.clone(), &["took a bare list as the steps"]),
        (string.clone(), &["read JSON that was encoded as a string"]),
        (
            format!(r#"{{"plan":{string}}}"#),
            &["read JSON that was encoded as a string", "took the steps from `plan`"],
        ),
        (format!(r#"{{"steps":{list_string}}}"#), &["read JSON that was encoded as a string"]),
        (format!(r#"{{"thought":"easy","steps":{list}}}"#), &["dropped `thought` beside the steps"]),
        (format!(r#"{{"plan":"first multiply","steps":{list}}}"#), &["dropped `plan` beside the steps"]),
        (plan.replace("\"tool\"", "\"name\""), &["read `name` as `tool`"]),
        (plan.replace("\"tool\"", "\"function\""), &["read `function` as `tool`"]),
        (
            plan.replace("\"tool\"", "\"name\":\"Do it\",\"action\""),
            &["dropped `name` of step 1", "read `action` as `tool`"],
        ),
        (plan.replace("\"args\"", "\"parameters\""), &["read `parameters` as `args`"]),
        (plan.replace("\"args\"", "\"input\""), &["read `input` as `args`"]),
        (plan.replace("\"args\"", "\"inputs\""), &["read `inputs` as `args`"]),
        (plan.replace("\"args\"", "\"confidence\":0.9,\"args\""), &["dropped `confidence` of step 1"]),
        (plan.replace("\"args\"", "\"status\":\"done\",\"result\":7,\"args\""), &[]),
        (
            plan.replace("\"tool\"", "\"type\":\"function\",\"tool\""),
            &["read the type `function` as `tool_call`"],
        ),
        (
            second(r#"{"id":2,"function":{"name":"add","arguments":"{\"a\":2,\"b\":{\"step_result\":1}}"}}"#),
            &[
                "took the tool's name out of `function`",
                "read `arguments` as `args`",
                "read arguments that were given as a JSON string",
            ],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":"{'a': 2, 'b': {'step_result': 1}}"}"#),
            &["read arguments that were given as a JSON string", "read single quotes as double quotes"],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":{"a":2,"b":{"step_result":"1"}}}"#),
            &["read the reference `1` as 1"],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":{"a":2,"b":{"step_result":"step_1"}}}"#),
            &["read the reference `step_1` as 1"],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":{"a":2,"b":{"step_result":"Step 1"}}}"#),
            &["read the reference `Step 1` as 1"],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":{"a":2,"b":{"step_result":1.0}}}"#),
            &["read the reference `1.0` as 1"],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":{"a":2,"b":{"step_result":1}},"depends_on":["step_1"]}"#),
            &["read the reference `step_1` as 1"],
        ),
        (
            second(r#"{"id":2.0,"tool":"add","args":{"a":2,"b":{"step_result":1}}}"#),
            &["read the id 2.0 as 2"],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":{"a":"2","b":{"step_result":1}}}"#),
            &["read the text \"2\" in step 2 as a number"],
        ),
        (
            second(r#"{"id":2,"tool":"add","args":{"a":"2e0","b":{"step_result":1}}}"#),
            &["read the text \"2e0\" in step 2 as a number"],
        ),
        (
            format!(r#"{{"steps":[{TWO},{ONE}]}}"#),
            &["put the steps in an order in which each comes after those it reads"],
        ),
        (format!("{{steps: [{ONE}, {TWO},],}}"), &["put quotes around keys", "removed a trailing comma"]),
        (format!("{{\"steps\": [{ONE}, # first\n{TWO}]}}"), &["removed comments"]),
    ];
    for (text, repairs) in table {
        let loaded = read(&text);
        assert_eq!(steps(&loaded), Some(two()), "{text}\n{:?}", loaded.diagnostics);
        let (mut named, mut wanted) = (loaded.repairs.clone(), repairs.to_vec());
        if let Some(dropped) = named.iter().position(|repair| repair.contains("of step 2")) {
            named.remove(dropped);
        }
        named.sort();
        wanted.sort_unstable();
        assert!(wanted.iter().all(|repair| named.iter().any(|named| named == repair)), "{text}\n{named:?}");
        assert!(
            repairs.is_empty() == named.is_empty()
                || text.starts_with("{\"steps\":[{\"id\":1,\"tool\":\"multiplyy\""),
            "{text}\n{named:?}"
        );
    }
}

#[test]
fn what_would_change_or_invent_something_is_refused() {
    let step = |args: &str| format!(r#"{{"steps":[{ONE},{{"id":2,"tool":"add","args":{args}}}]}}"#);
    let note =
        |text: &str| format!(r#"{{"steps":[{ONE},{{"id":2,"tool":"note","args":{{"text":"{text}"}}}}]}}"#);
    let table: Vec<(String, &str)> = vec![
        (" \n ".into(), "no-plan"),
        ("[]".into(), "no-plan"),
        ("{}".into(), "no-plan"),
        ("null".into(), "no-plan"),
        (ONE.into(), "no-plan"),
        ("steps:\n- id: 1\n  tool: add\n  args: {a: 1, b: 2}\n".into(), "no-plan"),
        (r#"{"steps": {"1": {}}}"#.into(), "no-plan"),
        (r#"{"steps": null}"#.into(), "no-plan"),
        (r#"{"steps": "multiply, then add"}"#.into(), "no-plan"),
        (r#"{"plan": []}"#.into(), "empty-sequence"),
        (r#"{"steps": ["multiply 3 and 4"]}"#.into(), "wrong-type"),
        (step(r#"{"a":2*3,"b":1}"#), "no-plan"),
        (step(r#"{"a":NaN,"b":1}"#), "no-plan"),
        (step(r#"{"a":-Infinity,"b":1}"#), "no-plan"),
        (step(r#"{"a":0x10,"b":1}"#), "no-plan"),
        (step(r#"{"a":1,000,"b":1}"#), "no-plan"),
        (step(r#"{"a":1,"b":1,"a":2}"#), "duplicate-key"),
        (step(r#""{\"a\":1,\"b\":1,\"a\":2}""#), "duplicate-key"),
        (step(r#""a=1""#), "wrong-type"),
        (step(r#"{"a":1}"#), "missing-argument"),
        (step(r#"{"a":1,"b":2,"c":3}"#), "unknown-argument"),
        (step(r#"{"a":"three","b":4}"#), "argument-type"),
        (step(r#"{"a":"2+3","b":4}"#), "argument-type"),
        (step(r#"{"a":{"step_result":"step_7"},"b":4}"#), "unknown-step"),
        (step(r#"{"a":{"step_result":2},"b":4}"#), "self-reference"),
        (format!(r#"{{"steps":[{ONE},{ONE}]}}"#), "duplicate-id"),
        (r#"{"steps":[{"tool":"add","args":{"a":1,"b":2}}]}"#.into(), "missing-key"),
        (r#"{"steps":[{"id":1,"tool":"ad","args":{"a":1,"b":2}}]}"#.into(), "unknown-tool"),
        (format!(r#"{{"steps":[{ONE},"#), "truncated-reply"),
        (format!("```json\n{{\"steps\":[{ONE}\n```"), "truncated-reply"),
        (format!(r#"[{ONE},{{"id":2,"tool""#), "truncated-reply"),
        (r#"{"steps":"#.into(), "truncated-reply"),
        (r#"{"st"#.into(), "truncated-reply"),
        (format!(r#"{{"steps":[{ONE}],"notes":"and then"#), "truncated-reply"),
        ("<think>first multiply, then".into(), "truncated-reply"),
        (format!("<think>{{\"steps\":[{ONE}]}} or {{\"steps\":[{TWO}]}}"), "truncated-reply"),
        (format!("{{\"steps\":[{ONE}]}} and {{\"steps\":[{ONE},{TWO}]}}"), "ambiguous-plan"),
        (format!(r#"{{"steps":[{ONE}],"tasks":[{ONE},{TWO}]}}"#), "ambiguous-plan"),
        (step(r#"{"a":2,"b":"$1"}"#), "prose-reference"),
        (step(r##"{"a":2,"b":"#E1"}"##), "prose-reference"),
        (step(r#"{"a":2,"b":"{{step_1}}"}"#), "prose-reference"),
        (step(r#"{"a":2,"b":"{{ steps.1.result }}"}"#), "prose-reference"),
        (step(r#"{"a":2,"b":"result of step 1"}"#), "prose-reference"),
        (step(r#"{"a":2,"b":"step_1.result"}"#), "prose-reference"),
        (step(r#"{"a":2,"b":"${1}"}"#), "prose-reference"),
        (step(r#"{"a":2,"b":"[step 1 result]"}"#), "prose-reference"),
        (step(r#"{"a":2,"b":"the previous result"}"#), "prose-reference"),
        (step(r#"{"a":2,"b":"{\"step_result\": 1}"}"#), "prose-reference"),
        (note("<output of step 1>"), "prose-reference"),
        (note("$1"), "prose-reference"),
        (note("steps[1].output"), "prose-reference"),
        (note("{{1}}"), "prose-reference"),
        (note("step_1"), "prose-reference"),
        (note("<result from the previous step>"), "prose-reference"),
    ];
    for (text, code) in table {
        let loaded = read(&text);
        assert!(loaded.workflow.is_none(), "{text}");
        assert!(codes(&loaded).contains(&code), "{text}\n{:?}", loaded.diagnostics);
        if code == "prose-reference" {
            assert_eq!(codes(&loaded), [code], "{text}");
        }
        for one in &loaded.diagnostics {
            assert!(one.span.start <= one.span.end && one.span.end <= text.len(), "{text}");
        }
    }
}

#[test]
fn ordinary_text_is_no_reference_and_no_template() {
    for text in [
        "$5",
        "$1.50",
        "$9",
        "costs $1 each",
        "#1",
        "#general",
        "[1]",
        "(1)",
        "1",
        "Step 1",
        "step 7",
        "the answer",
        "the result",
        "output",
        "3 steps",
        "{{ inputs.week }}",
        "{x}",
        "<b>",
        "Result of the vote",
        "see step 1",
        "last",
        "previous",
    ] {
        let text = Value::from(text);
        let reply = format!(r#"{{"steps":[{ONE},{{"id":2,"tool":"note","args":{{"text":{text}}}}}]}}"#);
        let loaded = read(&reply);
        let plan = loaded.workflow.as_ref().and_then(|workflow| workflow.plan.as_ref());
        let step = plan.and_then(|plan| plan.step(&StepId::integer(2))).map(plain);
        assert_eq!(step.map(|step| step["args"]["text"].clone()), Some(text), "{:?}", loaded.diagnostics);
    }
}

#[test]
fn a_number_that_nobody_gave_is_a_warning_where_results_exist() {
    let flagged = |task: &str, literal: &str| {
        let mut scope = scope();
        scope.task = Some(task.to_owned());
        scope.inputs.insert("limit".into(), json!(250));
        let reply = format!(
            r#"{{"steps":[{{"id":1,"tool":"multiply","args":{{"a":77,"b":78}}}},{{"id":2,"tool":"add","args":{{"a":{{"step_result":1}},"b":{literal}}}}}]}}"#
        );
        let loaded = load(&Source::new("<reply>", reply.as_str()), &scope, Origin::Model);
        assert!(loaded.workflow.is_some(), "{:?}", loaded.diagnostics);
        let found: Vec<_> = loaded
            .diagnostics
            .iter()
            .map(|one| (one.code.as_str(), &reply[one.span.start..one.span.end]))
            .collect();
        assert!(found.iter().all(|found| *found == ("hardcoded-value", literal)), "{found:?}");
        !found.is_empty()
    };
    for (task, literal) in [("2+3*4", "12"), ("2+3*4", "12.0"), ("take 30", "3"), ("a 10 % share", "0.2")] {
        assert!(flagged(task, literal), "{task} {literal}");
    }
    for (task, literal) in [
        ("2+3*4", "3"),
        ("2+3*4", "3.0"),
        ("2 - 3", "-3"),
        ("2+\u{2212}3", "-3"),
        ("x", "0"),
        ("x", "1"),
        ("x", "250"),
        ("sell 142,000 units", "142000"),
        ("2,5 und 3", "2.5"),
        ("add 5,7,9", "7"),
        ("week 2026-W48", "48"),
        ("18% of it", "0.18"),
        ("18 percent of it", "100"),
        ("twice the sum", "2"),
        ("1e3 of them", "1000"),
        ("10k users", "10000"),
        ("ends with 42.", "42"),
    ] {
        assert!(!flagged(task, literal), "{task} {literal}");
    }
}

#[test]
fn messages_name_what_was_found_and_what_to_do() {
    let one = |text: &str| {
        let loaded = read(text);
        let one = loaded.diagnostics.first().unwrap();
        format!("{}: {} = {}", one.path, one.message, one.help.as_deref().unwrap_or_default())
    };
    assert_eq!(
        one(r#"{"steps":[{"id":1,"tool":"add","args":{"a":2+3,"b":4}}]}"#),
        ": the reply has no object with a list of steps: expected `,` or `}`, found `+`; a value must be written out, \
         an expression is not evaluated = the reply has to be one JSON object with a list of steps: {\"steps\": [...]}"
    );
    assert!(one(r#"{"plan": 42}"#).contains("`plan` is an integer, not a list of steps"));
    assert_eq!(
        one(&format!(
            r#"{{"steps":[{ONE},{{"id":2,"tool":"add","args":{{"a":2,"b":"<output of step 1>"}}}}]}}"#
        )),
        "steps[1].args.b: `<output of step 1>` is a text, not the result of a step = write the reference as {\"step_result\": 1}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_of_plans_in_any_order_are_never_a_panic(
        text in "(\\{\"steps\":\\[|\\{\"id\":[1-3],|\"tool\":\"add\",|\"args\":\\{|\"a\":[0-9],|\"b\":\\{\"step_result\":[1-3]\\}|\\}|\\]|,|\"|`{3}json\n|<think>|</think>|\\PC){0,40}"
    ) {
        let loaded = read(&text);
        assert!(loaded.workflow.is_some() != loaded.diagnostics.iter().any(wf::diagnostic::Diagnostic::is_error));
        for one in &loaded.diagnostics {
            assert!(one.span.start <= one.span.end && one.span.end <= text.len());
        }
    }

    #[test]
    fn every_cut_of_a_plan_is_refused_as_truncated(at in 1..200_usize) {
        let plan = format!(r#"{{"steps":[{ONE},{TWO}]}}"#);
        let cut = &plan[..at.min(plan.len() - 1)];
        assert_eq!(codes(&read(cut)), ["truncated-reply"], "{cut}");
    }
}
