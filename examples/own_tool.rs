//! A program with a tool of its own: a plan is read, checked and run, and its events are printed.
//!
//! `cargo run --example own_tool`

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use wf::event::{Event, Place, Progress};
use wf::executor::{Proposal, Review, Reviewer, Setup, Stop, execute};
use wf::id::{ModelName, RunId};
use wf::journal::Discard;
use wf::llm::Offline;
use wf::load::{Scope, load};
use wf::run::{Observer, RunState};
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::tool::{CallContext, Catalog, Tool, ToolFault, math_specs};
use wf::workflow::{Origin, ResolvedModel};

const PLAN: &str = "
steps:
  - {id: 1, tool: length, args: {text: plan and execute}}
  - {id: 2, tool: multiply, args: {a: {step_result: 1}, b: 2}}
";

/// Counts the characters of a text.
struct Length(ToolSpec);

#[async_trait]
impl Tool for Length {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, args: &Map<String, Value>, _: &CallContext<'_>) -> Result<Value, ToolFault> {
        // The arguments fit the schema: that was checked before the call.
        let text = args["text"].as_str().unwrap_or_default();
        Ok(json!(text.chars().count()))
    }
}

/// Prints every event once it is stored. Nobody has to be asked: no model plans here.
struct Printer;

impl Observer for Printer {
    #[expect(clippy::print_stdout, reason = "an example shows what happens")]
    fn event(&mut self, event: &Event, _: &RunState) {
        println!("{:>3} {}", event.seq, event.fact.name());
    }

    fn progress(&mut self, _: &Progress) {}
}

#[async_trait]
impl Reviewer for Printer {
    async fn review(&mut self, _: Proposal<'_>) -> Review {
        Review::Declined
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let length = Length(ToolSpec {
        name: "length".into(),
        description: "How many characters a text has".to_owned(),
        parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        returns: Some(json!({"type": "integer"})),
        effect: Effect::Read,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Builtin { name: "length".into(), with: Map::new() },
    });

    // The one door: a text becomes a workflow, or diagnostics.
    let mut tools = math_specs();
    tools.push(length.spec().clone());
    let source = Source::new("plan.yaml", PLAN);
    let loaded = load(&source, &Scope { tools, ..Scope::default() }, Origin::Person);
    let workflow = loaded.workflow.ok_or_else(|| format!("{:#?}", loaded.diagnostics))?;

    let mut catalog = Catalog::builtin();
    catalog.add(Arc::new(length));
    let setup = Setup {
        run: RunId::generate(),
        source,
        place: Place::default(),
        workflow,
        inputs: Map::new(),
        task: None,
        model: Arc::new(Offline::new()),
        settings: ResolvedModel::new(ModelName::new("offline")),
        catalog,
        jobs: 4,
        stop: Stop::default(),
        resume: None,
        instant: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let state = runtime.block_on(execute(setup, &mut Discard, &mut Printer, &mut Printer))?;
    assert_eq!(state.result(), Some(&json!(32.0)));
    Ok(())
}
