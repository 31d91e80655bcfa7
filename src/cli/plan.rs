//! `wf plan`: the plan a model makes of a task, checked, printed, and not run.
//!
//! Main function: [`plan`]. What is printed as YAML is a workflow file that runs.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::args::{PlanArgs, PlanFormat};
use super::ground::{bind, environment};
use super::model::{Wish, choose};
use super::open::{asked, open, show};
use super::output_file::write_whole;
use super::shape::listing;
use super::signals::{block_on, until_signal};
use super::{Exit, Streams, Trouble};
use crate::event::{Fact, Progress, RecordError, Sink};
use crate::executor::Signal;
use crate::llm::ModelErrorKind;
use crate::planner::{self, Goal, PlanError, Planned};
use crate::report::diagnostics::Checked;
use crate::report::escape::escape_lines;
use crate::run::{RunState, View};
use crate::tool::builtin_specs;
use crate::workflow::{Plan, Workflow, form};

/// More of a reply that cannot be used is not shown.
const LONGEST_REPLY: usize = 4000;

pub fn plan(args: &PlanArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let workflow = match &args.file {
        Some(file) => open(file, asked(args.model.model.as_deref(), streams), streams)?.workflow,
        None => Workflow { name: "plan".to_owned(), ..Workflow::default() },
    };
    let inputs = bind(&workflow, &args.inputs, None, streams)?;
    let env = environment(&workflow, streams);
    let chosen =
        choose(Wish::Flag(args.model.model.as_deref()), workflow.model.as_ref(), &inputs, &env, streams)?;
    let goal = goal(args, &workflow, inputs, chosen.settings)?;
    let model = chosen.model;
    let planned = block_on(until_signal(planner::plan(model.as_ref(), &goal, &Unrecorded)))?;
    let planned = match planned {
        Err(signal) => return Ok(exit_of(signal)),
        Ok(Err(error)) => return Err(refused(error, streams)),
        Ok(Ok(planned)) => planned,
    };
    for repair in &planned.repairs {
        let repair = streams.look_err().shown(repair).into_owned();
        streams.remark(&format!("repaired the reply: {repair}"));
    }
    let Planned { plan, source, warnings, repairs, .. } = planned;
    show(&Checked { source, diagnostics: warnings }, streams);
    if args.strict && !repairs.is_empty() {
        let message = "the reply needed repairs, and --strict refuses them";
        return Err(Trouble::Said(Exit::Invalid, message.to_owned()));
    }
    write(args, &workflow, &goal.task, &plan, streams)?;
    Ok(Exit::Success)
}

fn goal(
    args: &PlanArgs,
    workflow: &Workflow,
    inputs: Map<String, Value>,
    settings: crate::workflow::ResolvedModel,
) -> Result<Goal, Trouble> {
    let mut state = RunState::default();
    state.inputs.clone_from(&inputs);
    let view = View { workflow, plan: &Plan::default(), task: args.task.as_deref(), state: &state };
    let invalid = |failure: crate::event::Failure| Trouble::Said(Exit::Invalid, failure.to_string());
    let Some(task) = view.goal().map_err(invalid)? else {
        return Err(Trouble::usage(
            "there is nothing to plan: the file has no `task`; give one: wf plan TASK",
        ));
    };
    let system = view.system().map_err(invalid)?;
    let tools = builtin_specs().into_iter().chain(workflow.tools.iter().cloned()).collect();
    Ok(Goal {
        task,
        system,
        inputs,
        tools,
        settings,
        retry: crate::run::retry::Policy::PROVIDER,
        known: Vec::new(),
    })
}

fn write(
    args: &PlanArgs,
    workflow: &Workflow,
    task: &str,
    plan: &Plan,
    streams: &mut Streams,
) -> Result<(), Trouble> {
    let look = match args.output {
        Some(_) => crate::report::Look::default(),
        None => streams.look_out(),
    };
    let text = match args.format {
        PlanFormat::Text => listing(plan, look, |_| None).join("\n") + "\n",
        PlanFormat::Json => format!("{:#}\n", form::plan_json(plan)),
        PlanFormat::Yaml => form::workflow_yaml(workflow, task, plan),
    };
    let Some(path) = &args.output else {
        return Ok(streams.stdout.text(&text)?);
    };
    let fault = |error| Trouble::unable(format!("cannot write `{}`: {error}", path.display()));
    write_whole(path, &text).map_err(fault)?;
    streams.remark(&format!("wrote {}", path.display()));
    Ok(())
}

/// Shows why there is no plan.
pub(super) fn refused(error: PlanError, streams: &mut Streams) -> Trouble {
    match error {
        PlanError::Refused { diagnostics, reply, asks } => {
            let summary = PlanError::Refused { diagnostics: Vec::new(), reply: reply.clone(), asks };
            let checked = Checked { source: reply, diagnostics };
            show(&checked, streams);
            let text = checked.source.text();
            let shown = text.chars().take(LONGEST_REPLY).collect::<String>();
            let cut = if shown.len() < text.len() { " (its beginning)" } else { "" };
            if !text.trim().is_empty() {
                streams.tell(&format!("the reply{cut}:\n{}\n", escape_lines(shown.trim_end())));
            }
            Trouble::Said(Exit::Invalid, summary.to_string())
        }
        PlanError::Model(error) if error.kind == ModelErrorKind::Unable => {
            Trouble::Said(Exit::Invalid, format!("no-plan: {error}"))
        }
        PlanError::Model(error) => Trouble::unable(error.to_string()),
        PlanError::Record(error) => Trouble::unable(error.to_string()),
    }
}

pub(super) fn exit_of(signal: Signal) -> Exit {
    match signal {
        Signal::Interrupt => Exit::Interrupted,
        Signal::Terminate | Signal::Hangup => Exit::Terminated,
    }
}

/// A plan that is only printed leaves no record.
struct Unrecorded;

#[async_trait]
impl Sink for Unrecorded {
    async fn record(&self, _: Fact) -> Result<(), RecordError> {
        Ok(())
    }

    fn note(&self, _: Fact) {}

    fn progress(&self, _: Progress) {}
}
