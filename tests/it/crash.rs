//! A run that dies at any moment and goes on from its record ends as if nothing had happened.
//!
//! Every commit and every effect is a place to die at, before it and after it. The world outside (the
//! ledger that tools write to) survives, the process does not. `WF_CRASHES=all` tries every pair of
//! places, not only a sample.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use wf::event::{Event, Fact, Outcome, Place, RecordError};
use wf::executor::{Agreed, Decision, ExecuteError, Resume, Setup, Stop, execute};
use wf::id::{ModelName, RunId, StepId};
use wf::journal::Journal;
use wf::llm::{Choice, Model, ModelError, Reply, Request};
use wf::load::{Scope, load};
use wf::run::{Record, RunState, Status, Unwatched};
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::tool::{CallContext, Catalog, Tool, ToolFault, math_specs};
use wf::workflow::{Origin, ResolvedModel};

/// The death of the process, as a panic that nobody reports.
struct Death;

/// What is outside of the process, and when the process is to die.
#[derive(Default)]
struct World {
    /// The stored commits.
    record: Vec<Event>,
    /// What tools that must not be repeated did: step and argument.
    ledger: Vec<(StepId, Value)>,
    /// Places passed so far.
    passed: usize,
    die_at: Option<usize>,
    fail_append_at: Option<(usize, bool)>,
    appends: usize,
}

type Shared = Arc<Mutex<World>>;

/// A place where the process may die.
fn place(world: &Shared) {
    let mut it = world.lock().unwrap();
    it.passed += 1;
    let dies = it.die_at == Some(it.passed);
    drop(it);
    if dies {
        resume_unwind(Box::new(Death));
    }
}

struct Stored(Shared);

impl Journal for Stored {
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError> {
        place(&self.0);
        let mut world = self.0.lock().unwrap();
        world.appends += 1;
        match world.fail_append_at {
            Some((at, false)) if world.appends == at => return Err(RecordError("no space".to_owned())),
            Some((at, true)) if world.appends >= at => return Err(RecordError("no space".to_owned())),
            _ => {}
        }
        world.record.extend_from_slice(events);
        drop(world);
        place(&self.0);
        Ok(())
    }
}

/// `note` writes to the ledger, `look` only reads, `shaky` fails at its first attempt, `broken` always.
struct Fake {
    spec: ToolSpec,
    world: Shared,
}

#[async_trait]
impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault> {
        // Others get their turn while it works.
        tokio::task::yield_now().await;
        place(&self.world);
        let x = args["x"].clone();
        let came = match self.spec.name.as_str() {
            "note" => {
                self.world.lock().unwrap().ledger.push((context.step.clone(), x.clone()));
                Ok(json!({"noted": x}))
            }
            "shaky" if context.attempt == 1 => Err(ToolFault::transient("not yet")),
            "broken" => Err(ToolFault::permanent("never")),
            _ => Ok(json!(x.as_i64().unwrap_or_default() + 1)),
        };
        place(&self.world);
        came
    }
}

/// Answers by what it is asked, so that the order of questions does not matter.
struct Steady {
    name: ModelName,
    world: Shared,
    plan: Option<&'static str>,
    decision: Option<&'static str>,
}

#[async_trait]
impl Model for Steady {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        place(&self.world);
        let last = json!(request.messages.last()).to_string();
        let reply = match (&request.choice, self.plan) {
            (Choice::Tool(name), _) => {
                Reply::from_call(name.clone(), format!("{{\"x\": {}}}", last.len() % 7))
            }
            (Choice::None, Some(plan)) if last.contains("asks for a plan") => Reply::from_text(plan),
            (Choice::None, _) if last.contains("you decide how it goes on") => {
                Reply::from_text(self.decision.unwrap_or_default())
            }
            (Choice::None, _) => Reply::from_text(format!("about {}", last.len())),
        };
        place(&self.world);
        Ok(reply)
    }
}

/// A workflow, and what a model answers to its task.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    text: &'static str,
    plan: Option<&'static str>,
    /// How the model answers when it is asked how the plan goes on.
    decision: Option<&'static str>,
}

const SHAPES: &[Shape] = &[
    written(
        "chain",
        "workflow_sequence:
  - {id: 1, type: tool_call, tool: look, args: {x: 1}}
  - {id: 2, type: tool_call, tool: note, args: {x: {step_result: 1}}}
  - {id: 3, type: tool_call, tool: look, args: {x: {step_result: 1}}}
  - {id: 4, type: tool_call, tool: note, args: {x: {step_result: 3}}}
",
    ),
    written(
        "fan-out",
        "workflow_sequence:
  - {id: a, type: tool_call, tool: note, args: {x: 1}, depends_on: []}
  - {id: b, type: tool_call, tool: look, args: {x: 2}, depends_on: []}
  - {id: c, type: tool_call, tool: note, args: {x: 3}, depends_on: []}
  - {id: d, type: tool_call, tool: shaky, args: {x: 4}, depends_on: [], retry: {delay: 1ms}}
  - {id: e, type: aggregate, inputs: [a, b, c, d], description: All of it}
",
    ),
    written(
        "diamond",
        "workflow_sequence:
  - {id: 1, type: tool_call, tool: look, args: {x: 1}}
  - {id: 2, type: tool_call, tool: note, args: {x: {step_result: 1}}, depends_on: [1]}
  - {id: 3, type: reasoning, description: Think, depends_on: [1]}
  - {id: 4, type: aggregate, inputs: [2, 3], description: Both}
",
    ),
    written(
        "retry",
        "workflow_sequence:
  - {id: 1, type: tool_call, tool: shaky, args: {x: 1}, retry: {max_attempts: 3, delay: 1ms}}
  - {id: 2, type: tool_call, tool: shaky, description: Ask for it, retry: {max_attempts: 2, delay: 1ms}}
  - {id: 3, type: tool_call, tool: note, args: {x: {step_result: 2}}}
",
    ),
    written(
        "failure with cancelled dependents",
        "workflow_sequence:
  - {id: 1, type: tool_call, tool: look, args: {x: 1}}
  - {id: 2, type: tool_call, tool: broken, args: {x: 1}, depends_on: [1]}
  - {id: 3, type: tool_call, tool: note, args: {x: {step_result: 2}}, depends_on: [2]}
  - {id: 4, type: tool_call, tool: note, args: {x: 4}, depends_on: [1]}
",
    ),
    written(
        "model asked for arguments of a tool that must not be repeated",
        "task: Note something
workflow_sequence:
  - {id: 1, type: tool_call, tool: note, description: Note it}
  - {id: 2, type: reasoning, description: Was it noted?}
  - {id: 3, type: tool_call, tool: note, description: Note that too}
",
    ),
    written(
        "condition",
        "workflow_sequence:
  - {id: 1, type: tool_call, tool: look, args: {x: 1}}
  - {id: 2, type: tool_call, tool: note, args: {x: 2}, when: 'steps[\"1\"].result == 5', depends_on: [1]}
  - {id: 3, type: tool_call, tool: look, args: {x: {step_result: 2}}, depends_on: [2]}
  - {id: 4, type: tool_call, tool: note, args: {x: 4}, depends_on: [2]}
",
    ),
    Shape {
        name: "planned by a model",
        text: "task: 'Somebody asks for a plan'\n",
        plan: Some(
            r#"{"steps": [
            {"id": 1, "tool": "look", "args": {"x": 1}},
            {"id": 2, "tool": "note", "args": {"x": {"step_result": 1}}},
            {"id": 3, "tool": "note", "args": {"x": {"step_result": 1}}}]}"#,
        ),
        decision: None,
    },
    Shape {
        name: "replaced after a failure",
        text: "replan: on_failure
workflow_sequence:
  - {id: 1, type: tool_call, tool: note, args: {x: 1}}
  - {id: 2, type: tool_call, tool: broken, args: {x: 1}}
  - {id: 3, type: tool_call, tool: note, args: {x: {step_result: 2}}}
",
        plan: None,
        decision: Some(
            r#"{"decision": "replace", "reason": "look instead", "steps": [
            {"id": 4, "tool": "look", "args": {"x": 5}},
            {"id": 5, "tool": "note", "args": {"x": {"step_result": 4}}}]}"#,
        ),
    },
    Shape {
        name: "tried again after each failure, until the limit",
        text: "replan: {when: on_failure, limit: 2}
workflow_sequence:
  - {id: 1, type: tool_call, tool: broken, args: {x: 1}, retry: {max_attempts: 1}}
  - {id: 2, type: tool_call, tool: note, args: {x: {step_result: 1}}}
  - {id: 3, type: tool_call, tool: note, args: {x: 3}, depends_on: []}
",
        plan: None,
        decision: Some(r#"{"decision": "retry", "reason": "once more"}"#),
    },
    Shape {
        name: "reordered after a step that is done",
        text: "replan: {when: after_each, limit: 1}
workflow_sequence:
  - {id: 1, type: tool_call, tool: look, args: {x: 1}}
  - {id: 2, type: tool_call, tool: note, args: {x: 2}}
  - {id: 3, type: tool_call, tool: note, args: {x: 3}}
",
        plan: None,
        decision: Some(r#"{"decision": "reorder", "reason": "three is urgent", "order": [3]}"#),
    },
];

const fn written(name: &'static str, text: &'static str) -> Shape {
    Shape { name, text, plan: None, decision: None }
}

fn spec(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("The {name} of the test"),
        parameters: json!({"type": "object", "properties": {"x": {}}, "required": ["x"]}),
        returns: None,
        effect,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Builtin { name: name.into(), with: Map::new() },
    }
}

/// One life of the process: a new run, or one that goes on from the record. `None` if it died.
fn live(
    shape: Shape,
    world: &Shared,
    decisions: &[(StepId, Decision)],
) -> Option<Result<RunState, ExecuteError>> {
    let mut tools = math_specs();
    let mut catalog = Catalog::builtin();
    let effects = [
        ("look", Effect::Read),
        ("note", Effect::Once),
        ("shaky", Effect::Idempotent),
        ("broken", Effect::Idempotent),
    ];
    for (name, effect) in effects {
        tools.push(spec(name, effect));
        catalog.add(Arc::new(Fake { spec: spec(name, effect), world: Arc::clone(world) }));
    }
    let scope = Scope { tools, ..Scope::default() };
    let source = Source::new("test.yaml", shape.text);
    let loaded = load(&source, &scope, Origin::Person);
    let workflow = loaded.workflow.unwrap_or_else(|| panic!("{}: {:#?}", shape.name, loaded.diagnostics));
    let mut record = Record::default();
    for event in &world.lock().unwrap().record {
        record.take(event).unwrap();
    }
    let plan = record.plan.filter(|_| workflow.plan.is_none()).map(|plan| {
        let source = Source::new("<record>", plan.to_string());
        load(&source, &scope, Origin::Model).workflow.unwrap().plan.unwrap()
    });
    let resume = record.started.map(|_| Resume {
        state: record.state,
        plan,
        changes: record.changes,
        decisions: decisions.iter().cloned().collect(),
        ..Resume::default()
    });
    let setup = Setup {
        run: RunId::generate(),
        source,
        place: Place::default(),
        workflow,
        inputs: Map::new(),
        task: None,
        model: Arc::new(Steady {
            name: ModelName::new("steady"),
            world: Arc::clone(world),
            plan: shape.plan,
            decision: shape.decision,
        }),
        settings: ResolvedModel::new(ModelName::new("steady")),
        catalog,
        jobs: 4,
        stop: Stop::default(),
        resume,
        instant: false,
    };
    let mut journal = Stored(Arc::clone(world));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = || runtime.block_on(execute(setup, &mut journal, &mut Unwatched, &mut Agreed));
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(came) => Some(came),
        Err(panic) if panic.is::<Death>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Goes on until the run has ended. A person who is asked looks into the ledger.
fn to_the_end(shape: Shape, world: &Shared) -> RunState {
    let mut decisions = Vec::new();
    loop {
        match live(shape, world, &decisions) {
            None => panic!("{}: it was not to die", shape.name),
            Some(Ok(state)) => return state,
            Some(Err(ExecuteError::Undecided(steps))) => {
                assert!(decisions.is_empty(), "{}: it was decided already", shape.name);
                let ledger = &world.lock().unwrap().ledger;
                for (step, _) in steps {
                    let noted = ledger.iter().rev().find(|(by, _)| *by == step);
                    let decision = match noted {
                        Some((_, x)) => Decision::Done(json!({"noted": x})),
                        None => Decision::Rerun,
                    };
                    decisions.push((step, decision));
                }
            }
            Some(Err(error)) => panic!("{}: {error}", shape.name),
        }
    }
}

/// What an end is judged by: how each step stands, every result, and what the world has seen.
#[derive(Debug, PartialEq)]
struct End {
    steps: Vec<(StepId, Status, Option<Value>)>,
    succeeded: bool,
    ledger: Vec<(StepId, Value)>,
}

fn end(state: &RunState, world: &Shared) -> End {
    let steps = state.steps.iter();
    let mut ledger = world.lock().unwrap().ledger.clone();
    ledger.sort_by_key(|(step, x)| (step.to_string(), x.to_string()));
    End {
        steps: steps.map(|it| (it.id.clone(), it.status, it.result.as_deref().cloned())).collect(),
        succeeded: matches!(state.outcome, Some(Outcome::Succeeded { .. })),
        ledger,
    }
}

/// No question of an attempt is answered twice, and no call of it returns twice.
fn nothing_recorded_was_done_again(shape: Shape, record: &[Event]) {
    let mut answered = HashMap::new();
    let mut attempt = HashMap::new();
    let mut asked = HashMap::new();
    for event in record {
        match &event.fact {
            Fact::StepStarted { step, attempt: number } => {
                attempt.insert(Some(step.clone()), *number);
            }
            Fact::ModelAsked { step, request, .. } => {
                asked.insert(step.clone(), request.clone());
            }
            Fact::ModelAnswered { step, .. } => {
                let key = (step.clone(), attempt.get(step).copied(), asked.remove(step).unwrap());
                assert!(answered.insert(key, ()).is_none(), "{}: an answer was asked for again", shape.name);
            }
            Fact::ToolReturned { step, .. } => {
                let step = Some(step.clone());
                let key = (step.clone(), attempt.get(&step).copied(), "returned".to_owned());
                assert!(answered.insert(key, ()).is_none(), "{}: a call was made again", shape.name);
            }
            _ => {}
        }
    }
}

fn twin(shape: Shape) -> (End, usize, Vec<Event>) {
    let world = Shared::default();
    let state = to_the_end(shape, &world);
    let end = end(&state, &world);
    let world = world.lock().unwrap();
    (end, world.passed, world.record.clone())
}

#[test]
fn a_run_that_dies_anywhere_and_goes_on_ends_like_its_twin() {
    for shape in SHAPES {
        let (expected, places, _) = twin(*shape);
        assert!(places > 10, "{}: only {places} places to die at", shape.name);
        for die_at in 1..=places {
            let world = Shared::default();
            world.lock().unwrap().die_at = Some(die_at);
            assert!(live(*shape, &world, &[]).is_none(), "{}: it lived past {die_at}", shape.name);
            world.lock().unwrap().die_at = None;
            let state = to_the_end(*shape, &world);
            assert_eq!(end(&state, &world), expected, "{}: died at {die_at}", shape.name);
            nothing_recorded_was_done_again(*shape, &world.lock().unwrap().record);
        }
    }
}

#[test]
fn a_run_that_dies_twice_ends_like_its_twin() {
    let all = std::env::var("WF_CRASHES").is_ok_and(|wish| wish == "all");
    for shape in SHAPES {
        let (expected, places, _) = twin(*shape);
        for first in 1..=places {
            for second in 1..=places {
                if !all && (first * 31 + second) % 23 != 0 {
                    continue;
                }
                let world = Shared::default();
                world.lock().unwrap().die_at = Some(first);
                assert!(live(*shape, &world, &[]).is_none());
                {
                    let mut world = world.lock().unwrap();
                    (world.passed, world.die_at) = (0, Some(second));
                }
                // It may end, or have to ask, before it comes to the place.
                let _ = live(*shape, &world, &[]);
                world.lock().unwrap().die_at = None;
                let state = to_the_end(*shape, &world);
                assert_eq!(end(&state, &world), expected, "{}: died at {first} and {second}", shape.name);
                nothing_recorded_was_done_again(*shape, &world.lock().unwrap().record);
            }
        }
    }
}

#[test]
fn every_prefix_of_a_record_leads_to_the_same_end() {
    for shape in SHAPES {
        let (expected, _, record) = twin(*shape);
        for length in 1..=record.len() {
            let world = Shared::default();
            let mut ledger = Vec::new();
            for event in &record[..length] {
                if let Fact::ToolReturned { step, result, .. } = &event.fact
                    && let Some(x) = result.get("noted")
                {
                    ledger.push((step.clone(), x.clone()));
                }
            }
            {
                let mut world = world.lock().unwrap();
                world.record = record[..length].to_vec();
                world.ledger = ledger;
            }
            // A run that ended in a failure tries again what failed, and fails again.
            let state = to_the_end(*shape, &world);
            assert_eq!(end(&state, &world), expected, "{}: after {length} events", shape.name);
        }
    }
}

#[test]
fn a_write_that_fails_stops_the_run_and_loses_nothing() {
    for shape in SHAPES {
        let (expected, ..) = twin(*shape);
        for (at, for_good) in (1..40).flat_map(|at| [(at, false), (at, true)]) {
            let world = Shared::default();
            world.lock().unwrap().fail_append_at = Some((at, for_good));
            match live(*shape, &world, &[]) {
                Some(Err(ExecuteError::Record(_) | ExecuteError::Plan(_))) => {}
                Some(Ok(_)) if world.lock().unwrap().appends < at => break,
                Some(other) => panic!("{}: append {at} failed and it came to {other:?}", shape.name),
                None => unreachable!("it was not to die"),
            }
            assert_eq!(world.lock().unwrap().appends, at, "{}: it went on after a failed write", shape.name);
            world.lock().unwrap().fail_append_at = None;
            let state = to_the_end(*shape, &world);
            assert_eq!(end(&state, &world), expected, "{}: append {at} failed", shape.name);
        }
    }
}

#[test]
fn a_call_that_must_not_be_repeated_is_left_to_a_person() {
    let shape = SHAPES[0];
    let (.., record) = twin(shape);
    let called =
        |event: &Event| matches!(&event.fact, Fact::ToolCalled { tool, .. } if tool.as_str() == "note");
    let in_flight = record.iter().position(called).unwrap() + 1;
    let stopped = || {
        let world = Shared::default();
        world.lock().unwrap().record = record[..in_flight].to_vec();
        world
    };
    let two = StepId::integer(2);
    let world = stopped();
    match live(shape, &world, &[]) {
        Some(Err(ExecuteError::Undecided(steps))) => assert_eq!(steps, [(two.clone(), "note".into())]),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.lock().unwrap().record.len(), in_flight, "nothing is recorded before it is decided");
    let decided = |decision| {
        let world = stopped();
        let state = live(shape, &world, &[(two.clone(), decision)]).unwrap().unwrap();
        let ledger = world.lock().unwrap().ledger.len();
        (state.steps[1].status, state.steps[3].status, ledger)
    };
    assert_eq!(decided(Decision::Rerun), (Status::Done, Status::Done, 2));
    assert_eq!(decided(Decision::Done(json!(7))), (Status::Done, Status::Done, 1));
    assert_eq!(decided(Decision::Fail), (Status::Failed, Status::Cancelled, 0));
}
