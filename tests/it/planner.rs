//! Planning against a model that answers from a list, and plans written out and read again.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use wf::event::{Fact, Progress, RecordError, Sink, Usage};
use wf::id::{ModelName, ToolName};
use wf::llm::{Facts, Finish, Message, ModelError, ModelErrorKind, Reply, Request, Scripted};
use wf::load::{Scope, load};
use wf::planner::{Goal, PlanError, Planned, plan};
use wf::run::retry::Policy;
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::workflow::form::{plan_json, workflow_yaml};
use wf::workflow::{Origin, Plan, ResolvedModel, Workflow};

const TASK: &str = "solve 2+3*4-6/2";
const GOOD: &str = r#"{"steps":[{"id":1,"tool":"multiply","args":{"a":3,"b":4}},{"id":2,"tool":"add","args":{"a":2,"b":{"step_result":1}}}]}"#;
const HARDCODED: &str = r#"{"steps":[{"id":1,"tool":"multiply","args":{"a":3,"b":4}},{"id":2,"tool":"add","args":{"a":2,"b":12}}]}"#;
const THREE_MISTAKES: &str = r#"{"steps":[{"id":1,"tool":"multiplyy","args":{"a":3,"b":4}},{"id":2,"tool":"add","args":{"a":2}},{"id":3,"tool":"add","args":{"a":{"step_result":9},"b":1}}]}"#;

fn tool(name: &str, parameters: Value, effect: Effect) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("The tool {name}"),
        parameters,
        returns: None,
        effect,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Builtin { name: ToolName::new(name), with: Map::new() },
    }
}

fn tools() -> Vec<ToolSpec> {
    let numbers = json!({
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "additionalProperties": false
    });
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let math = ["add", "subtract", "multiply", "divide", "power"];
    let mut tools: Vec<_> = math.iter().map(|name| tool(name, numbers.clone(), Effect::Read)).collect();
    tools.push(tool("note", text, Effect::Once));
    tools
}

fn goal() -> Goal {
    Goal {
        task: TASK.into(),
        system: Some("You are careful.".into()),
        inputs: Map::new(),
        tools: tools(),
        settings: ResolvedModel {
            name: ModelName::new("scripted"),
            base_url: None,
            temperature: Some(0.5),
            max_tokens: None,
            seed: Some(7),
            timeout: None,
        },
        retry: Policy {
            max_attempts: 3,
            delay: Duration::ZERO,
            max_delay: Duration::ZERO,
            ..Policy::PROVIDER
        },
        known: Vec::new(),
    }
}

#[derive(Default)]
struct Ledger {
    facts: Mutex<Vec<Fact>>,
    full: bool,
}

#[async_trait]
impl Sink for Ledger {
    async fn record(&self, fact: Fact) -> Result<(), RecordError> {
        if self.full {
            return Err(RecordError("no space".into()));
        }
        self.facts.lock().expect("no panic while it was held").push(fact);
        Ok(())
    }

    fn note(&self, fact: Fact) {
        self.facts.lock().expect("no panic while it was held").push(fact);
    }

    fn progress(&self, _: Progress) {}
}

fn says(text: &str) -> Result<Reply, ModelError> {
    let usage = Usage { input: 10, output: 1, cached: 0 };
    Ok(Reply { text: text.into(), usage, ..Reply::default() })
}

fn fault(kind: ModelErrorKind) -> Result<Reply, ModelError> {
    Err(ModelError::new(kind, "a fault"))
}

fn run(replies: Vec<Result<Reply, ModelError>>) -> (Result<Planned, PlanError>, Vec<Request>, Vec<Fact>) {
    let (model, sink) = (Scripted::new(replies), Ledger::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let result = runtime.block_on(plan(&model, &goal(), &sink));
    (result, model.asked(), sink.facts.into_inner().expect("no panic while it was held"))
}

fn last_user(request: &Request) -> &str {
    match request.messages.last() {
        Some(Message::User { text }) => text,
        other => panic!("not a user's message: {other:?}"),
    }
}

#[test]
fn a_good_reply_is_one_ask_with_everything_the_model_needs() {
    let (planned, asked, facts) = run(vec![says(&format!("```json\n{GOOD}\n```"))]);
    let planned = planned.unwrap();
    assert_eq!((planned.asks, planned.plan.steps.len(), asked.len()), (1, 2, 1));
    assert_eq!(planned.repairs, ["removed a code fence"]);
    assert!(planned.warnings.is_empty());
    assert_eq!(planned.usage, Usage { input: 10, output: 1, cached: 0 });
    assert_eq!(asked[0].messages[0], Message::System { text: "You are careful.".into() });
    let text = last_user(&asked[0]);
    for part in [TASK, "multiply", "additionalProperties", "step_result", "JSON"] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(asked[0].format.as_ref().map(|format| format.name.as_str()), Some("plan"));
    assert_eq!((asked[0].temperature, asked[0].seed), (Some(0.5), Some(7)));
    assert!(matches!(&asked[0].facts, Facts::Plan { task, tools } if task == TASK && tools.len() == 6));
    assert!(matches!(
        &facts[..],
        [Fact::ModelAsked { step: None, new, .. }, Fact::ModelAnswered { step: None, .. }] if new.len() == 2
    ));
}

#[test]
fn all_mistakes_go_back_in_one_message_and_three_asks_are_the_end() {
    let replies = vec![says(THREE_MISTAKES), says(""), says("I cannot"), says(GOOD)];
    let (result, asked, facts) = run(replies);
    let Err(PlanError::Refused { diagnostics, reply, asks }) = result else { panic!("{result:?}") };
    assert_eq!((asks, asked.len()), (3, 3));
    assert_eq!(reply.text(), "I cannot");
    assert_eq!(diagnostics[0].code.as_str(), "no-plan");
    let complaint = last_user(&asked[1]);
    for part in
        ["steps[0].tool", "unknown-tool", "`multiply`", "steps[1].args", "missing-argument", "unknown-step"]
    {
        assert!(complaint.contains(part), "{part}\n{complaint}");
    }
    assert!(matches!(&asked[1].messages[2], Message::Assistant { text, .. } if text == THREE_MISTAKES));
    // An empty reply is no message to send back.
    assert!(
        asked[2]
            .messages
            .iter()
            .all(|message| !matches!(message, Message::Assistant { text, .. } if text.is_empty()))
    );
    assert!(last_user(&asked[2]).contains("it is empty"));
    // Only what is new is recorded.
    let new: Vec<usize> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::ModelAsked { new, .. } => Some(new.len()),
            _ => None,
        })
        .collect();
    assert_eq!(new, [2, 2, 1]);
}

#[test]
fn a_mended_reply_is_taken() {
    let (planned, asked, _) = run(vec![says(THREE_MISTAKES), says(GOOD)]);
    assert_eq!((planned.unwrap().asks, asked.len()), (2, 2));
}

#[test]
fn a_written_down_result_costs_one_further_ask_and_never_the_plan() {
    let mended = run(vec![says(HARDCODED), says(GOOD)]).0.unwrap();
    assert_eq!((mended.asks, mended.warnings.len()), (2, 0));
    for second in [says(HARDCODED), says("no"), fault(ModelErrorKind::Refused)] {
        let (planned, asked, _) = run(vec![says(HARDCODED), second]);
        let planned = planned.unwrap();
        assert_eq!((planned.asks, asked.len()), (2, 2));
        assert_eq!(planned.warnings[0].code.as_str(), "hardcoded-value");
        assert!(last_user(&asked[1]).contains("12 is neither in the task nor in the inputs"));
    }
}

#[test]
fn a_refused_format_is_left_out_and_costs_no_ask() {
    let (planned, asked, _) = run(vec![fault(ModelErrorKind::FormatRefused), says("no"), says(GOOD)]);
    assert_eq!(planned.unwrap().asks, 2);
    let formats: Vec<bool> = asked.iter().map(|request| request.format.is_some()).collect();
    assert_eq!(formats, [true, false, false]);
}

#[test]
fn faults_of_the_provider_are_tried_again_three_times_in_all() {
    let transient = || fault(ModelErrorKind::Transient);
    let (planned, asked, _) = run(vec![transient(), fault(ModelErrorKind::Timeout), says(GOOD)]);
    assert_eq!((planned.unwrap().asks, asked.len()), (1, 3));
    let (result, asked, _) = run(vec![transient(), transient(), transient(), says(GOOD)]);
    assert!(matches!(result, Err(PlanError::Model(error)) if error.kind == ModelErrorKind::Transient));
    assert_eq!(asked.len(), 3);
    for kind in [ModelErrorKind::Refused, ModelErrorKind::Unable] {
        let (result, asked, _) = run(vec![fault(kind), says(GOOD)]);
        assert!(matches!(result, Err(PlanError::Model(error)) if error.kind == kind));
        assert_eq!(asked.len(), 1);
    }
}

#[test]
fn how_a_reply_ended_is_said_where_there_is_no_plan() {
    let ended = |finish, text: &str| {
        let reply = || Ok(Reply { text: text.into(), finish, ..Reply::default() });
        run(vec![reply(), reply(), reply()]).0
    };
    let first = |result| match result {
        Err(PlanError::Refused { diagnostics, .. }) => {
            (diagnostics[0].code.as_str(), diagnostics[0].message.clone())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(first(ended(Finish::Length, "Let me think")).0, "truncated-reply");
    assert!(first(ended(Finish::Refused, "")).1.contains("declined"));
    // A whole plan is a whole plan, whatever the provider says of its end.
    assert_eq!(ended(Finish::Length, GOOD).unwrap().asks, 1);
}

#[test]
fn a_record_that_cannot_be_written_stops_planning_before_the_model_is_asked() {
    let (model, sink) = (Scripted::new([says(GOOD)]), Ledger { full: true, ..Ledger::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let result = runtime.block_on(plan(&model, &goal(), &sink));
    assert!(matches!(result, Err(PlanError::Record(_))));
    assert_eq!(model.remaining(), 1);
}

#[test]
fn every_handed_case_takes_the_asks_it_should() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/replies");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(path.with_extension("json")).unwrap()).unwrap();
        let (result, asked, _) = run((0..4).map(|_| says(&text)).collect());
        match result {
            Ok(planned) => {
                assert!(expected.get("steps").is_some() && asked.len() == 1 && planned.asks == 1, "{path:?}");
            }
            Err(PlanError::Refused { asks: 3, .. }) => {
                assert!(expected.get("refuse").is_some() && asked.len() == 3, "{path:?}");
            }
            Err(error) => panic!("{path:?}: {error:?}"),
        }
    }
}

fn scope() -> Scope {
    Scope { tools: tools(), ..Scope::default() }
}

/// A plan with everything a model may write, and texts that would be templates, YAML or references.
const RICH: &str = r##"{"steps":[
    {"id":1,"tool":"multiply","args":{"a":3,"b":4.0}},
    {"id":"two","tool":"add","args":{"a":-1.5e3,"b":{"step_result":1}},"description":"{{ env.SECRET }} {% raw %} # yes: 'no' \"on\"\nsecond {#"},
    {"id":3,"tool":"note","args":{"text":"{{ inputs.x }} {% if %} \\ - [a]: & * ! |"},"description":"null"},
    {"id":4,"type":"reasoning","description":"1e3","depends_on":["two"]},
    {"id":5,"tool":"note","args":{"text":"yes"}},
    {"id":6,"type":"aggregate","inputs":[1,"two",4],"description":"~"}
]}"##;

fn rich() -> Plan {
    let loaded = load(&Source::new("<reply>", RICH), &scope(), Origin::Model);
    loaded.workflow.and_then(|workflow| workflow.plan).unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

#[test]
fn a_plan_in_json_is_the_articles_form_and_loads_again() {
    let plan = rich();
    let form = plan_json(&plan);
    assert_eq!(
        form["steps"][0],
        json!({"id": 1, "type": "tool_call", "tool": "multiply", "args": {"a": 3, "b": 4.0}, "status": "pending", "result": null})
    );
    let keys: Vec<&str> = form["steps"][1].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "type", "description", "tool", "args", "status", "result"]);
    assert_eq!(form["steps"][1]["args"]["b"], json!({"step_result": 1}));
    let again = load(&Source::new("<plan>", form.to_string()), &scope(), Origin::Model);
    assert!(
        again.diagnostics.is_empty() && again.repairs.is_empty(),
        "{:?} {:?}",
        again.diagnostics,
        again.repairs
    );
    assert_eq!(plan_json(&again.workflow.unwrap().plan.unwrap()), form);
}

#[test]
fn a_plan_in_yaml_is_a_file_in_which_a_models_text_is_still_text() {
    let plan = rich();
    let empty = load(&Source::new("made.yaml", "name: made\ntask: x\n"), &scope(), Origin::Person);
    let workflow: Workflow = empty.workflow.unwrap();
    let task = "solve {{ this }} {% now %}";
    let text = workflow_yaml(&workflow, task, &plan);
    let loaded = load(&Source::new("made.yaml", text.as_str()), &scope(), Origin::Person);
    assert!(loaded.diagnostics.iter().all(|one| !one.is_error()), "{text}\n{:?}", loaded.diagnostics);
    let file = loaded.workflow.unwrap();
    let nothing = json!({});
    assert_eq!(file.task.unwrap().render_text(&nothing).unwrap(), task);
    let made = file.plan.unwrap();
    for (at, (step, original)) in made.steps.iter().zip(&plan.steps).enumerate() {
        assert_eq!(step.id, original.id);
        let text = |step: &wf::workflow::Step| {
            step.description.as_ref().map(|text| text.render_text(&nothing).unwrap())
        };
        assert_eq!(text(step), text(original), "step {at}");
        assert!(made.graph.ancestors(at).len() >= plan.graph.ancestors(at).len(), "step {at} waits for less");
    }
    let rendered = |plan: &Plan, at: usize| match &plan.steps[at].action {
        wf::workflow::Action::ToolCall { args: Some(args), .. } => match &args["text"] {
            wf::workflow::Arg::Value(value) => value.clone(),
            wf::workflow::Arg::Template(template) => template.render(&nothing).unwrap(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(rendered(&made, 2), rendered(&plan, 2));
    assert_eq!(rendered(&made, 4), json!("yes"));
}
