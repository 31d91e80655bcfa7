//! What running a step costs besides the step itself, and what running several at once gains.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use divan::Bencher;
use serde_json::{Map, Value};
use wf::event::{Outcome, Place};
use wf::executor::{Agreed, Setup, Stop, execute};
use wf::id::{ModelName, RunId};
use wf::journal::Discard;
use wf::llm::Offline;
use wf::load::{Scope, load};
use wf::run::Unwatched;
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::tool::{CallContext, Catalog, Tool, ToolFault, math_specs};
use wf::workflow::{Origin, ResolvedModel};

// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

/// A chain: each step adds 1 to the result of the one before.
#[divan::bench(args = [1_000, 10_000], sample_count = 10)]
fn chain(bencher: Bencher, steps: usize) {
    let mut text = String::from("steps:\n  - {id: 1, tool: add, args: {a: 1, b: 1}}\n");
    for id in 2..=steps {
        text.push_str(&format!(
            "  - {{id: {id}, tool: add, args: {{a: {{step_result: {}}}, b: 1}}}}\n",
            id - 1
        ));
    }
    bench(bencher, text, steps, 4);
}

/// A fan-out: every step adds two numbers, and none waits for another.
#[divan::bench(args = [1_000, 10_000], sample_count = 10)]
fn fan_out(bencher: Bencher, steps: usize) {
    let mut text = String::from("steps:\n");
    for id in 1..=steps {
        text.push_str(&format!("  - {{id: {id}, tool: add, args: {{a: {id}, b: 1}}, depends_on: []}}\n"));
    }
    bench(bencher, text, steps, 10);
}

/// Ten independent steps of 200 ms each, ten at once: the ideal is 200 ms.
#[divan::bench(sample_count = 5)]
fn ten_slow_reads(bencher: Bencher) {
    let mut text = String::from("steps:\n");
    for id in 1..=10 {
        text.push_str(&format!("  - {{id: {id}, tool: slow, args: {{}}, depends_on: []}}\n"));
    }
    bench(bencher, text, 10, 10);
}

fn bench(bencher: Bencher, text: String, steps: usize, jobs: usize) {
    let slow = Arc::new(Slow::new());
    let mut tools = math_specs();
    tools.push(slow.spec().clone());
    let source = Source::new("bench.yaml", text);
    let scope = Scope { tools, ..Scope::default() };
    let workflow = load(&source, &scope, Origin::Person).workflow.expect("the plan is right");
    let mut catalog = Catalog::builtin();
    catalog.add(slow);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let setup = || Setup {
        run: RunId::generate(),
        source: source.clone(),
        place: Place::default(),
        workflow: workflow.clone(),
        inputs: Map::new(),
        task: None,
        model: Arc::new(Offline::new()),
        settings: ResolvedModel::new(ModelName::new("offline")),
        catalog: catalog.clone(),
        jobs,
        stop: Stop::default(),
        resume: None,
        instant: false,
    };
    bencher.counter(divan::counter::ItemsCount::new(steps)).with_inputs(setup).bench_local_values(|setup| {
        let run = async { execute(setup, &mut Discard, &mut Unwatched, &mut Agreed).await };
        let state = runtime.block_on(run).expect("the run ends");
        assert!(matches!(state.outcome, Some(Outcome::Succeeded { .. })));
    });
}

/// A read that takes 200 ms.
struct Slow {
    spec: ToolSpec,
}

impl Slow {
    fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "slow".into(),
                description: "Waits for 200 ms".to_owned(),
                parameters: ToolSpec::no_parameters(),
                returns: None,
                effect: Effect::Read,
                output: Output::Auto,
                timeout: None,
                kind: ToolKind::Builtin { name: "slow".into(), with: Map::new() },
            },
        }
    }
}

#[async_trait]
impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _: &Map<String, Value>, _: &CallContext<'_>) -> Result<Value, ToolFault> {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(Value::Null)
    }
}
