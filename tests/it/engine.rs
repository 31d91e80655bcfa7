//! Runs of checked plans with a scripted model and tools of the test: order, retries, cancellation,
//! what a model is asked, what is recorded and when.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use wf::event::{Event, Fact, FailureKind, Outcome, Place, Progress, RecordError};
use wf::executor::{ExecuteError, Proposal, Review, Reviewer, Setup, Signal, Stop, execute};
use wf::id::{ModelName, RunId, StepId};
use wf::journal::{Journal, Memory};
use wf::llm::{Choice, Message, ModelError, ModelErrorKind, Reply, Request, Scripted};
use wf::load::{Scope, load};
use wf::run::{Observer, RunState, Status};
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::tool::{CallContext, Catalog, Tool, ToolFault, math_specs};
use wf::workflow::{Origin, ResolvedModel};

type Answer = Box<dyn FnMut(&Map<String, Value>) -> Result<Value, ToolFault> + Send>;

/// A tool of a test, with what it was called with.
struct Fake {
    spec: ToolSpec,
    answer: Mutex<Answer>,
    calls: Mutex<Vec<Value>>,
    delay: Option<Duration>,
}

#[async_trait]
impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, _: &CallContext<'_>) -> Result<Value, ToolFault> {
        self.calls.lock().unwrap().push(Value::Object(args.clone()));
        if let Some(delay) = self.delay {
            tokio::time::sleep(delay).await;
        }
        (self.answer.lock().unwrap())(args)
    }
}

/// A run about to be made.
pub struct Trial {
    text: String,
    tools: Vec<Arc<Fake>>,
    replies: Vec<Result<Reply, ModelError>>,
    jobs: usize,
    origin: Origin,
    stop: Stop,
    pub review: Review,
    fail_append_at: Option<usize>,
}

/// What came of it.
pub struct Came {
    result: Result<RunState, ExecuteError>,
    pub events: Vec<Event>,
    commits: usize,
    pub asked: Vec<Request>,
    tools: Vec<Arc<Fake>>,
}

pub fn trial(text: &str) -> Trial {
    Trial {
        text: text.to_owned(),
        tools: Vec::new(),
        replies: Vec::new(),
        jobs: 4,
        origin: Origin::Person,
        stop: Stop::default(),
        review: Review::Go,
        fail_append_at: None,
    }
}

impl Trial {
    pub fn tool(
        self,
        name: &str,
        effect: Effect,
        answer: impl FnMut(&Map<String, Value>) -> Result<Value, ToolFault> + Send + 'static,
    ) -> Self {
        self.slow_tool(name, effect, None, answer)
    }

    pub fn slow_tool(
        mut self,
        name: &str,
        effect: Effect,
        delay: Option<Duration>,
        answer: impl FnMut(&Map<String, Value>) -> Result<Value, ToolFault> + Send + 'static,
    ) -> Self {
        let spec = ToolSpec {
            name: name.into(),
            description: format!("The {name} of the test"),
            parameters: json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}),
            returns: None,
            effect,
            output: Output::Auto,
            timeout: None,
            kind: ToolKind::Builtin { name: name.into(), with: Map::new() },
        };
        let calls = Mutex::default();
        self.tools.push(Arc::new(Fake { spec, answer: Mutex::new(Box::new(answer)), calls, delay }));
        self
    }

    pub fn reply(mut self, reply: Reply) -> Self {
        self.replies.push(Ok(reply));
        self
    }

    pub fn fault(mut self, kind: ModelErrorKind) -> Self {
        self.replies.push(Err(ModelError::new(kind, "no answer")));
        self
    }

    pub fn run(self) -> Came {
        let mut tools = math_specs();
        let mut catalog = Catalog::builtin();
        for tool in &self.tools {
            tools.push(tool.spec.clone());
            catalog.add(tool.clone());
        }
        let source = Source::new("test.yaml", self.text);
        let scope = Scope { tools, ..Scope::default() };
        let loaded = load(&source, &scope, self.origin);
        let workflow = loaded.workflow.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
        let model = Arc::new(Scripted::new(self.replies));
        let mut journal = Failing { inner: Memory::default(), left: self.fail_append_at };
        let setup = Setup {
            run: RunId::generate(),
            source,
            place: Place::default(),
            workflow,
            inputs: Map::new(),
            task: None,
            model: model.clone(),
            settings: ResolvedModel::new(ModelName::new("scripted")),
            catalog,
            jobs: self.jobs,
            stop: self.stop,
            resume: None,
            instant: false,
        };
        let mut seen = Seen::default();
        let mut reviewer = Reviewed(self.review);
        let result = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(execute(setup, &mut journal, &mut seen, &mut reviewer));
        assert!(seen.0 <= journal.inner.events().len(), "an event was shown before it was stored");
        Came {
            result,
            events: journal.inner.events().to_vec(),
            commits: journal.inner.commits(),
            asked: model.asked(),
            tools: self.tools,
        }
    }
}

/// A journal that fails at a given commit, counted from 0.
struct Failing {
    inner: Memory,
    left: Option<usize>,
}

impl Journal for Failing {
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError> {
        match &mut self.left {
            Some(0) => return Err(RecordError("the disk is full".to_owned())),
            Some(left) => *left -= 1,
            None => {}
        }
        self.inner.append(events)
    }
}

#[derive(Default)]
struct Seen(usize);

impl Observer for Seen {
    fn event(&mut self, _: &Event, _: &RunState) {
        self.0 += 1;
    }

    fn progress(&mut self, _: &Progress) {}
}

struct Reviewed(Review);

#[async_trait]
impl Reviewer for Reviewed {
    async fn review(&mut self, proposal: Proposal<'_>) -> Review {
        if proposal.acts { self.0 } else { Review::Go }
    }
}

impl Came {
    pub fn state(&self) -> &RunState {
        self.result.as_ref().unwrap()
    }

    pub fn statuses(&self) -> Vec<Status> {
        self.state().steps.iter().map(|step| step.status).collect()
    }

    pub fn outcome(&self) -> &Outcome {
        self.state().outcome.as_ref().unwrap()
    }

    pub fn succeeded(&self) -> bool {
        matches!(self.outcome(), Outcome::Succeeded { .. })
    }

    /// The names of the events about a step, in order.
    pub fn story(&self, id: i64) -> Vec<&'static str> {
        let id = StepId::integer(id);
        self.events
            .iter()
            .map(|event| &event.fact)
            .filter(|fact| fact.step() == Some(&id))
            .map(Fact::name)
            .collect()
    }

    pub fn calls(&self, tool: usize) -> Vec<Value> {
        self.tools[tool].calls.lock().unwrap().clone()
    }
}

pub fn ok(value: Value) -> impl FnMut(&Map<String, Value>) -> Result<Value, ToolFault> + Send + 'static {
    move |_| Ok(value.clone())
}

/// Fails a number of times, then answers.
fn flaky(times: usize) -> impl FnMut(&Map<String, Value>) -> Result<Value, ToolFault> + Send + 'static {
    let mut left = times;
    move |_| match left {
        0 => Ok(json!("at last")),
        _ => {
            left -= 1;
            Err(ToolFault::transient("not yet"))
        }
    }
}

const DIAMOND: &str = "
steps:
  - {id: 1, tool: t, args: {x: 1}, depends_on: []}
  - {id: 2, tool: t, args: {x: 2}, depends_on: [1]}
  - {id: 3, tool: t, args: {x: 3}, depends_on: [1]}
  - {id: 4, tool: t, args: {x: 4}, depends_on: [2, 3]}
  - {id: 5, tool: t, args: {x: 5}, depends_on: []}
";

#[test]
fn a_chain_of_sums_is_one_commit_a_step() {
    let came = trial("steps:\n  - {id: 1, tool: multiply, args: {a: 3, b: 4}}\n  - {id: 2, tool: divide, args: {a: 6, b: 2}}\n  - {id: 3, tool: add, args: {a: 2, b: {step_result: 1}}}\n  - {id: 4, tool: subtract, args: {a: {step_result: 3}, b: {step_result: 2}}}\n").run();
    assert!(came.succeeded());
    assert_eq!(came.state().result(), Some(&json!(11.0)));
    assert_eq!(came.story(3), ["step_started", "tool_called", "tool_returned", "step_succeeded"]);
    // One before the first call, one after each of the first three, and those of the end.
    assert!(came.commits <= 6, "{} commits", came.commits);
    assert_eq!(&RunState::fold(&came.events).unwrap().result().cloned(), &Some(json!(11.0)));
}

#[test]
fn a_failure_cancels_what_depends_on_it_and_nothing_else() {
    let came = trial(DIAMOND)
        .tool("t", Effect::Once, |args| match args["x"].as_i64() {
            Some(2) => Err(ToolFault::permanent("two is broken")),
            x => Ok(json!(x)),
        })
        .run();
    use Status::{Cancelled, Done, Failed};
    assert_eq!(came.statuses(), [Done, Failed, Done, Cancelled, Done]);
    let Outcome::Failed { step, failure } = came.outcome() else { panic!("{:?}", came.outcome()) };
    assert_eq!((step.as_ref().unwrap().as_str(), failure.message.as_str()), ("2", "two is broken"));
}

#[test]
fn steps_overlap_up_to_the_number_of_jobs() {
    let text: String =
        (1..=6).map(|id| format!("  - {{id: {id}, tool: t, args: {{x: 1}}, depends_on: []}}\n")).collect();
    for (jobs, most) in [(1, 1), (4, 4), (10, 6)] {
        let running = Arc::new(Mutex::new((0_i32, 0_i32)));
        let mut made = trial(&format!("steps:\n{text}"));
        made.jobs = jobs;
        let came = made.slow_tool("t", Effect::Read, Some(Duration::from_millis(20)), ok(json!(1))).run();
        for event in &came.events {
            let mut now = running.lock().unwrap();
            match event.fact {
                Fact::StepStarted { .. } => now.0 += 1,
                Fact::StepSucceeded { .. } => now.0 -= 1,
                _ => {}
            }
            now.1 = now.1.max(now.0);
        }
        assert_eq!(running.lock().unwrap().1, most, "{jobs} jobs");
    }
}

#[test]
fn a_tool_is_tried_again_by_its_effect_and_the_authors_word() {
    let once =
        "workflow_sequence:\n  - {id: 1, type: tool_call, tool: t, args: {x: 1}, retry: {delay: 1ms}}\n";
    let said = "workflow_sequence:\n  - {id: 1, type: tool_call, tool: t, args: {x: 1}, retry: {max_attempts: 2, delay: 1ms}}\n";
    let cases = [
        (once, Effect::Read, 2, true),
        (once, Effect::Read, 3, false),
        (once, Effect::Idempotent, 2, true),
        (once, Effect::Once, 1, false),
        (said, Effect::Once, 1, true),
        (said, Effect::Read, 2, false),
    ];
    for (text, effect, failures, succeeds) in cases {
        let came = trial(text).tool("t", effect, flaky(failures)).run();
        assert_eq!(came.succeeded(), succeeds, "{effect:?} failing {failures} times: {:?}", came.outcome());
    }
    let came = trial(once).tool("t", Effect::Read, flaky(1)).run();
    assert_eq!(
        came.story(1),
        [
            "step_started",
            "tool_called",
            "step_failed",
            "retry_scheduled",
            "step_started",
            "tool_called",
            "tool_returned",
            "step_succeeded"
        ]
    );
}

#[test]
fn a_false_condition_cancels_the_step_and_those_that_read_it_and_the_run_succeeds() {
    let came = trial("workflow_sequence:\n  - {id: 1, type: tool_call, tool: t, args: {x: 1}}\n  - {id: 2, type: tool_call, tool: t, args: {x: 2}, when: \"steps['1'].result > 5\"}\n  - {id: 3, type: tool_call, tool: t, args: {x: {step_result: 2}}}\n  - {id: 4, type: tool_call, tool: t, args: {x: 4}}\n")
        .tool("t", Effect::Once, |args| Ok(args["x"].clone()))
        .run();
    use Status::{Cancelled, Done};
    assert_eq!(came.statuses(), [Done, Cancelled, Cancelled, Done]);
    assert!(came.succeeded());
    assert_eq!(came.state().result(), Some(&json!(4)));
    assert_eq!(came.state().steps[1].cancelled.as_ref().unwrap().to_string(), "condition is false");
}

#[test]
fn a_reference_that_leads_nowhere_fails_the_step_and_says_what_is_there() {
    let came = trial("workflow_sequence:\n  - {id: 1, type: tool_call, tool: t, args: {x: 1}}\n  - {id: 2, type: tool_call, tool: t, args: {x: {step_result: 1, pointer: /sums}}}\n")
        .tool("t", Effect::Read, ok(json!({"sum": 3})))
        .run();
    let failure = came.state().steps[1].failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Input);
    assert!(failure.message.contains("sum"), "{failure}");
    assert_eq!(came.calls(0).len(), 1);
}

const ASKED: &str = "
task: Report on the week
system: Be brief
workflow_sequence:
  - {id: 1, type: tool_call, tool: t, description: Fetch the sales}
  - {id: 2, type: reasoning, description: Say what they mean}
  - {id: 3, type: tool_call, tool: u, description: Fetch the stock}
  - {id: 4, type: aggregate, inputs: [1, 2, 3], description: Sum up}
";

fn call(tool: &str, arguments: &str) -> Reply {
    Reply::from_call(tool.into(), arguments.to_owned())
}

#[test]
fn each_step_is_asked_with_the_history_before_it_and_the_same_tools() {
    let came = trial(ASKED)
        .tool("t", Effect::Read, ok(json!([{"category": "Apparel", "amount": 38000}])))
        .tool("u", Effect::Read, ok(json!({"Apparel": 4200})))
        .reply(call("t", "{\"x\": 1}"))
        .reply(Reply::from_text("Apparel is low"))
        .reply(call("u", "{\"x\": 2}"))
        .reply(Reply::from_text("The end"))
        .run();
    assert!(came.succeeded(), "{:?}", came.outcome());
    assert_eq!(came.state().result(), Some(&json!("The end")));
    assert_eq!(came.asked.len(), 4);
    for pair in came.asked.windows(2) {
        assert_eq!(pair[0].tools, pair[1].tools);
        assert!(pair[1].messages.starts_with(&pair[0].messages));
    }
    assert_eq!(came.asked[0].tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["t", "u"]);
    assert_eq!(came.asked[0].choice, Choice::Tool("t".into()));
    assert_eq!(came.asked[1].choice, Choice::None);
    assert_eq!(came.asked[0].messages[0], Message::System { text: "Be brief".into() });
    assert_eq!(came.asked[0].messages[1], Message::User { text: "Report on the week".into() });
    let last = format!("{:?}", came.asked[3].messages.last());
    assert!(last.contains("## Step 2") && last.contains("Apparel is low") && last.contains("4200"), "{last}");
}

#[test]
fn arguments_that_do_not_fit_go_back_to_the_model_and_never_to_the_tool() {
    let text = "workflow_sequence:\n  - {id: 1, type: tool_call, tool: t, description: Fetch}\n";
    let bad = [
        call("t", "{\"x\": \"many\"}"),
        call("t", "{\"x\": 1"),
        call("t", "{\"x\": 1, \"x\": 2}"),
        call("t", "[1]"),
        call("t", "{}"),
        call("t", ""),
        call("other", "{\"x\": 1}"),
    ];
    for reply in bad {
        let mended = trial(text)
            .tool("t", Effect::Read, ok(json!(1)))
            .reply(reply.clone())
            .reply(call("t", "{\"x\": 7}"))
            .run();
        assert!(mended.succeeded(), "{reply:?}: {:?}", mended.outcome());
        assert_eq!(mended.calls(0), [json!({"x": 7})]);
        assert!(mended.asked[1].messages.starts_with(&mended.asked[0].messages));

        let never = trial(text)
            .tool("t", Effect::Read, ok(json!(1)))
            .reply(reply.clone())
            .reply(reply.clone())
            .reply(reply.clone())
            .reply(call("t", "{\"x\": 7}"))
            .run();
        assert_eq!(never.statuses(), [Status::Failed], "{reply:?}");
        assert_eq!(never.state().steps[0].failure.as_ref().unwrap().kind, FailureKind::Model);
        assert_eq!((never.asked.len(), never.calls(0).len()), (3, 0));
    }
}

#[test]
fn a_text_is_read_as_the_arguments_and_else_asked_for_with_a_format() {
    let text = "workflow_sequence:\n  - {id: 1, type: tool_call, tool: t, description: Fetch}\n";
    let came = trial(text)
        .tool("t", Effect::Read, ok(json!(1)))
        .reply(Reply::from_text("```json\n{\"x\": 5}\n```"))
        .run();
    assert_eq!((came.calls(0), came.asked.len()), (vec![json!({"x": 5})], 1));

    let came = trial(text)
        .tool("t", Effect::Read, ok(json!(1)))
        .reply(Reply::from_text("I would call t with x = 5"))
        .reply(Reply::from_text("{\"x\": 5}"))
        .run();
    assert_eq!(came.calls(0), [json!({"x": 5})]);
    assert_eq!(came.asked[1].format.as_ref().unwrap().schema["required"], json!(["x"]));
    // The question is the same: the text that could not be used is no turn of it.
    assert_eq!(came.asked[0].messages, came.asked[1].messages);

    let came = trial(text)
        .tool("t", Effect::Read, ok(json!(1)))
        .reply(Reply::from_text("no"))
        .fault(ModelErrorKind::FormatRefused)
        .reply(call("t", "{\"x\": 5}"))
        .run();
    assert_eq!((came.calls(0), came.asked[2].format.is_none()), (vec![json!({"x": 5})], true));
}

#[test]
fn a_provider_that_takes_no_tools_is_asked_in_words() {
    let text = "\
task: Count
workflow_sequence:
  - {id: 1, type: tool_call, tool: t, args: {x: 3}}
  - {id: 2, type: tool_call, tool: t, description: Again}
  - {id: 3, type: reasoning, description: Think}
";
    let came = trial(text)
        .tool("t", Effect::Read, ok(json!("seen")))
        .fault(ModelErrorKind::ToolsRefused)
        .reply(Reply::from_text("{\"x\": 5}"))
        .fault(ModelErrorKind::ToolsRefused)
        .reply(Reply::from_text("a thought"))
        .run();
    assert!(came.succeeded());
    assert_eq!(came.calls(0), [json!({"x": 3}), json!({"x": 5})]);
    let [with_tools, in_words, _, of_text] = &came.asked[..] else { panic!("{:?}", came.asked) };
    assert_eq!(with_tools.tools.len(), 1);
    let texts = |request: &Request| {
        let text = |message: &Message| match message {
            Message::System { text } | Message::User { text } => text.clone(),
            Message::Assistant { text, calls } => {
                assert!(calls.is_empty(), "{calls:?}");
                text.clone()
            }
            Message::Tool { .. } => panic!("{message:?}"),
        };
        request.messages.iter().map(text).collect::<Vec<_>>()
    };
    for request in [in_words, of_text] {
        assert_eq!((request.tools.len(), &request.choice), (0, &Choice::None));
        assert!(
            texts(request)
                .iter()
                .any(|text| text.contains("`t` was called with {\"x\":3} and answered:\nseen"))
        );
    }
    let last = texts(in_words).pop().unwrap();
    assert!(
        last.contains("the arguments for the tool `t`") && last.contains("\"required\":[\"x\"]"),
        "{last}"
    );
    assert_eq!(in_words.format.as_ref().unwrap().schema["required"], json!(["x"]));
    assert_eq!(of_text.format, None);

    // Refused in words as well, it is a refusal.
    let came = trial(text)
        .tool("t", Effect::Read, ok(json!("seen")))
        .fault(ModelErrorKind::ToolsRefused)
        .fault(ModelErrorKind::FormatRefused)
        .fault(ModelErrorKind::ToolsRefused)
        .run();
    assert_eq!((came.asked.len(), came.statuses()[1]), (3, Status::Failed));
}

#[test]
fn providers_that_fail_are_asked_three_times_and_refusals_once() {
    let text = "workflow_sequence:\n  - {id: 1, type: reasoning, description: Think, retry: {delay: 1ms}}\n";
    let came = trial(text)
        .fault(ModelErrorKind::Transient)
        .fault(ModelErrorKind::Timeout)
        .reply(Reply::from_text("yes"))
        .run();
    assert!(came.succeeded());
    let came = trial(text)
        .fault(ModelErrorKind::Transient)
        .fault(ModelErrorKind::Transient)
        .fault(ModelErrorKind::Transient)
        .run();
    assert_eq!((came.asked.len(), came.statuses()), (3, vec![Status::Failed]));
    let came = trial(text).fault(ModelErrorKind::Refused).reply(Reply::from_text("yes")).run();
    assert_eq!(came.asked.len(), 1);
    assert_eq!(came.state().steps[0].failure.as_ref().unwrap().kind, FailureKind::Provider);
}

#[test]
fn an_empty_text_is_an_answer_and_a_call_in_its_place_is_asked_once_more() {
    let text = "workflow_sequence:\n  - {id: 1, type: reasoning, description: Think}\n";
    let came = trial(text).reply(Reply::from_text("")).run();
    assert_eq!(came.state().result(), Some(&json!("")));
    let came = trial(text).reply(call("add", "{}")).reply(Reply::from_text("a thought")).run();
    assert_eq!(came.state().result(), Some(&json!("a thought")));
    let came = trial(text).reply(call("add", "{}")).reply(call("add", "{}")).run();
    assert_eq!(came.statuses(), [Status::Failed]);
}

#[test]
fn a_result_with_a_schema_is_mended_within_bounds() {
    let text = "workflow_sequence:\n  - {id: 1, type: reasoning, description: Think, output_schema: {type: object, properties: {n: {type: integer}}, required: [n]}}\n";
    let came = trial(text)
        .reply(Reply::from_text("n is 3"))
        .reply(Reply::from_text("```json\n{\"n\": 3}\n```"))
        .run();
    assert_eq!(came.state().result(), Some(&json!({"n": 3})));
    assert_eq!(came.asked[0].format.as_ref().unwrap().schema["required"], json!(["n"]));
    let came = trial(text)
        .reply(Reply::from_text("a"))
        .reply(Reply::from_text("b"))
        .reply(Reply::from_text("{\"n\": \"c\"}"))
        .run();
    assert_eq!((came.statuses(), came.asked.len()), (vec![Status::Failed], 3));
}

#[test]
fn a_timeout_ends_the_attempt() {
    let text = "workflow_sequence:\n  - {id: 1, type: tool_call, tool: t, args: {x: 1}, depends_on: []}\nlimits: {timeout: 50ms}\n";
    let came = trial(text).slow_tool("t", Effect::Read, Some(Duration::from_secs(60)), ok(json!(1))).run();
    assert!(
        matches!(came.outcome(), Outcome::Stopped { reason } if reason.contains("timeout")),
        "{:?}",
        came.outcome()
    );
    assert_eq!(came.statuses(), [Status::InProgress]);
}

#[test]
fn budgets_stop_a_run_and_what_is_under_way_ends() {
    let text = "limits: {max_steps: 2}\nsteps:\n  - {id: 1, tool: t, args: {x: 1}}\n  - {id: 2, tool: t, args: {x: 2}}\n  - {id: 3, tool: t, args: {x: 3}}\n";
    let came = trial(text).tool("t", Effect::Read, ok(json!(1))).run();
    use Status::{Done, Pending};
    assert_eq!(came.statuses(), [Done, Done, Pending]);
    assert!(matches!(came.outcome(), Outcome::Stopped { .. }));
}

#[test]
fn a_signal_stops_a_run() {
    let made = trial(DIAMOND);
    let stop = made.stop.clone();
    let came = made
        .tool("t", Effect::Read, move |args| {
            if args["x"] == 2 {
                stop.request(Signal::Interrupt);
            }
            Ok(json!(1))
        })
        .run();
    assert!(matches!(came.outcome(), Outcome::Interrupted { signal } if signal == "SIGINT"));
    assert_eq!(came.statuses()[3], Status::Pending);
}

#[test]
fn what_cannot_be_recorded_is_not_done() {
    let ledger = Arc::new(Mutex::new(0));
    for fail_at in 0..7 {
        let count = ledger.clone();
        *count.lock().unwrap() = 0;
        let mut made = trial(
            "steps:\n  - {id: 1, tool: t, args: {x: 1}}\n  - {id: 2, tool: t, args: {x: 2}}\n  - {id: 3, tool: t, args: {x: 3}}\n",
        );
        made.fail_append_at = Some(fail_at);
        let came = made
            .tool("t", Effect::Once, move |_| {
                *count.lock().unwrap() += 1;
                Ok(json!(1))
            })
            .run();
        let called = came.events.iter().filter(|event| event.fact.name() == "tool_called").count();
        assert_eq!(*ledger.lock().unwrap(), called, "failing at commit {fail_at}");
        assert!(came.result.is_ok() || matches!(came.result, Err(ExecuteError::Record(_))));
    }
}

const PLANNED: &str = "name: planned\ntask: Call t with 7, then add 1 to what it gives\n";

#[test]
fn a_task_is_planned_checked_and_run_and_a_plan_that_acts_is_put_to_a_person() {
    let good = "{\"steps\": [{\"id\": 1, \"tool\": \"t\", \"args\": {\"x\": 7}}, {\"id\": 2, \"tool\": \"add\", \"args\": {\"a\": {\"step_result\": 1}, \"b\": 1}}]}";
    let bad = "{\"steps\": [{\"id\": 1, \"tool\": \"tt\", \"args\": {\"x\": 7}}, {\"id\": 2, \"tool\": \"add\", \"args\": {\"a\": {\"step_result\": 9}, \"b\": 1}}]}";
    let came = trial(PLANNED)
        .tool("t", Effect::Once, ok(json!(41)))
        .reply(Reply::from_text(bad))
        .reply(Reply::from_text(good))
        .run();
    assert_eq!(came.state().result(), Some(&json!(42.0)));
    let complaint = format!("{:?}", came.asked[1].messages.last());
    assert!(complaint.contains("unknown-tool") && complaint.contains("unknown-step"), "{complaint}");

    for (review, error) in [(Review::Declined, "declined"), (Review::Unanswerable, "nobody to ask")] {
        let mut made = trial(PLANNED).tool("t", Effect::Once, ok(json!(41))).reply(Reply::from_text(good));
        made.review = review;
        let came = made.run();
        assert!(came.result.as_ref().unwrap_err().to_string().contains(error));
        assert!(came.calls(0).is_empty());
    }
}
