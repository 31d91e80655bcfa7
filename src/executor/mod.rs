//! Runs a workflow: plans it if need be, then carries out its steps and records every event.
//!
//! Main function: [`execute`]. The only place where facts become events. Knows no terminal, no file
//! and no provider: those who do hand in a model, a catalog, a journal and an observer.

mod engine;
mod limits;
mod outbox;
mod outlook;
mod recorder;
mod resume;
mod revise;
mod stop;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use resume::{Decision, Resume};
pub use stop::{Signal, Stop};

use crate::event::{FORMAT, Fact, Failure, FailureKind, Outcome, Place, RecordError, Started};
use crate::id::{RunId, StepId, ToolName};
use crate::journal::Journal;
use crate::llm::{Model, ModelErrorKind};
use crate::planner::{self, Goal, PlanError, Planned, revised};
use crate::run::retry::Policy;
use crate::run::{Observer, RunState, Status, View, tools_named};
use crate::source::Source;
use crate::spec::{Effect, ToolSpec};
use crate::step::Means;
use crate::tool::Catalog;
use crate::workflow::{Plan, ResolvedModel, Workflow, form};
use engine::Engine;
use limits::Limits;
use outbox::Outbox;
use recorder::Recorder;
use revise::{Revising, Went};

/// Everything a run needs.
pub struct Setup {
    pub run: RunId,
    /// The workflow file's text, kept in the record.
    pub source: Source,
    /// Where it came from and where it works, kept in the record.
    pub place: Place,
    pub workflow: Workflow,
    /// One value for each declared input.
    pub inputs: Map<String, Value>,
    /// A goal that takes the place of the file's `task`.
    pub task: Option<String>,
    pub model: Arc<dyn Model>,
    pub settings: ResolvedModel,
    /// The tools of the plan, or those a model may choose from where there is no plan yet.
    pub catalog: Catalog,
    /// Most steps at once; at least 1.
    pub jobs: usize,
    pub stop: Stop,
    /// How the run goes on, where it is not a new one.
    pub resume: Option<Resume>,
    /// Whether delays before a next attempt are left out: nobody has to recover in a replay.
    pub instant: bool,
}

/// A plan that a model wrote, before anything of it runs.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    pub workflow: &'a Workflow,
    pub planned: &'a Planned,
    /// Whether it calls a tool that does not merely read.
    pub acts: bool,
}

/// Someone who sees a model's plan before it runs.
#[async_trait]
pub trait Reviewer: Send {
    /// Shows the plan and, where it acts, asks whether it may run.
    async fn review(&mut self, proposal: Proposal<'_>) -> Review;
}

/// Lets every plan run: whoever is responsible has said so beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreed;

#[async_trait]
impl Reviewer for Agreed {
    async fn review(&mut self, _: Proposal<'_>) -> Review {
        Review::Go
    }
}

/// What came of showing a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    Go,
    /// A person said no.
    Declined,
    /// It would have to be asked, and there is nobody to ask.
    Unanswerable,
}

/// Why a run has no end of its own.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The model's plan cannot be used, or no model could be asked.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is neither a plan nor a task to plan.
    #[error("there is no task to plan")]
    NoTask,
    /// The task's template could not be rendered.
    #[error(transparent)]
    Task(Failure),
    /// A person said no to the plan.
    #[error("the plan was declined")]
    Declined,
    /// A person would have to be asked.
    #[error("the plan calls tools that change things, and there is nobody to ask")]
    Unanswerable,
    /// Calls that must not be repeated were under way when the run was interrupted: a person has to say
    /// what came of them. Nothing was done or recorded.
    #[error("nobody knows what came of a call that must not be repeated")]
    Undecided(Vec<(StepId, ToolName)>),
    /// A signal came before there was a plan that may run.
    #[error("interrupted by {}", .0.as_str())]
    Interrupted(Signal),
    /// A revision of the plan that the record holds is refused now.
    #[error("a revision of the plan in the record is refused: {0}")]
    Revision(String),
    /// The time allowed for the run was over before there was a plan.
    #[error("limits.timeout of {} ms is reached before there is a plan", .0.as_millis())]
    OutOfTime(Duration),
    /// The run's record could not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Runs a workflow to its end. Whether it succeeded stands in the state's outcome.
///
/// # Errors
/// If there was nothing to run, or the record could not be written; see [`ExecuteError`].
pub async fn execute(
    mut setup: Setup,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    reviewer: &mut dyn Reviewer,
) -> Result<RunState, ExecuteError> {
    let resume = setup.resume.take();
    if let Some(resume) = &resume {
        let undecided = resume.undecided(&setup.catalog);
        if !undecided.is_empty() {
            return Err(ExecuteError::Undecided(undecided));
        }
    }
    let outbox = Outbox::default();
    let mut recorder = Recorder::new(journal, observer);
    let mut written = setup.workflow.plan.take();
    // A plan of a model is no part of the file: it is in the record, or is made.
    let by_model = written.is_none();
    match &resume {
        None => recorder.push(Fact::RunStarted(Box::new(Started {
            format: FORMAT,
            run: setup.run.clone(),
            workflow: setup.workflow.name.clone(),
            text: setup.source.text().to_owned(),
            place: setup.place.clone(),
            tools: json!(setup.workflow.tools),
            inputs: setup.inputs.clone(),
            task: setup.task.clone(),
            model: setup.settings.name.clone(),
        }))),
        Some(resume) => {
            recorder.take_up(resume.state.clone());
            recorder.push(Fact::RunResumed { raised: resume.raised.clone() });
            written = resume.plan.clone().or(written);
        }
    }
    let limits = Limits::new(&setup.workflow.limits, recorder.state());
    if let Some(plan) = &written
        && recorder.state().steps.is_empty()
    {
        recorder.push(Fact::PlanReady { plan: form::plan_json(plan), repairs: Vec::new() });
    }
    let plan = match written {
        Some(plan) => plan,
        None => {
            let made = propose(&setup, limits.deadline, &outbox, &mut recorder, reviewer).await;
            match made {
                Ok(Planned { plan, repairs, .. }) => {
                    recorder.push(Fact::PlanReady { plan: form::plan_json(&plan), repairs });
                    plan
                }
                Err(ExecuteError::Record(error)) => return Err(error.into()),
                Err(error) => {
                    recorder.push(Fact::RunFinished { outcome: no_plan(&error) });
                    recorder.commit(&outbox)?;
                    return Err(error);
                }
            }
        }
    };
    let limits = if by_model { limits.of_a_model() } else { limits };
    let plan = as_revised(plan, resume.as_ref(), &setup)?;
    carry_out(&setup, plan, limits, resume.as_ref(), &outbox, &mut recorder, reviewer).await?;
    Ok(recorder.into_state())
}

/// Carries a plan out to its end, by way of its revisions.
async fn carry_out(
    setup: &Setup,
    mut plan: Plan,
    limits: Limits,
    resume: Option<&Resume>,
    outbox: &Outbox,
    recorder: &mut Recorder<'_>,
    reviewer: &mut dyn Reviewer,
) -> Result<(), RecordError> {
    let mut resume = resume;
    let mut unrevised = None;
    let mut revised = false;
    loop {
        let about = {
            let means = means(setup, &plan);
            let engine = Engine {
                workflow: &setup.workflow,
                plan: &plan,
                task: setup.task.as_deref(),
                means: &means,
                jobs: setup.jobs.max(1),
                stop: &setup.stop,
                limits,
                resume: resume.take(),
                instant: setup.instant,
                revised,
                unrevised: unrevised.as_deref(),
            };
            engine.run(outbox, recorder).await?
        };
        let Some(about) = about else { return Ok(()) };
        let revising = Revising { setup, plan: &plan, deadline: limits.deadline };
        match revising.decide(about, outbox, recorder, reviewer).await? {
            Went::On(next) => plan = next,
            Went::Unrevised(why) => unrevised = Some(why),
            Went::End(outcome) => {
                recorder.push(Fact::RunFinished { outcome });
                recorder.commit(outbox)?;
                return Ok(());
            }
        }
        revised = true;
    }
}

/// What every step of a plan works with.
fn means(setup: &Setup, plan: &Plan) -> Means {
    let tools = tools_named(&plan.steps);
    let tools: Vec<ToolSpec> = tools
        .iter()
        .filter_map(|name| setup.catalog.get(name))
        .map(|entry| entry.tool.spec().clone())
        .collect();
    Means {
        run: setup.run.clone(),
        model: setup.model.clone(),
        settings: setup.settings.clone(),
        catalog: setup.catalog.clone(),
        tools: tools.into(),
        max_output_bytes: setup.workflow.limits.max_output_bytes,
        stop: CancellationToken::new(),
    }
}

/// The plan of a run that goes on, with the revisions its record holds.
///
/// # Errors
/// If one is refused: its tools are not those it was made for, or another version made it.
fn as_revised(mut plan: Plan, resume: Option<&Resume>, setup: &Setup) -> Result<Plan, ExecuteError> {
    let Some(resume) = resume else { return Ok(plan) };
    let tools: Vec<ToolSpec> = setup.catalog.specs().cloned().collect();
    let gone = |id: &StepId| resume.state.step(id).is_some_and(|step| step.status == Status::Cancelled);
    for (about, change) in &resume.changes {
        plan = revised(&plan, about, change, &tools, gone)
            .map_err(|wrong| ExecuteError::Revision(wrong.join("; ")))?;
    }
    Ok(plan)
}

/// Has the model plan the task, and shows the plan.
async fn propose(
    setup: &Setup,
    deadline: Option<(Instant, Duration)>,
    outbox: &Outbox,
    recorder: &mut Recorder<'_>,
    reviewer: &mut dyn Reviewer,
) -> Result<Planned, ExecuteError> {
    let nothing = Plan::default();
    let view = View {
        workflow: &setup.workflow,
        plan: &nothing,
        task: setup.task.as_deref(),
        state: recorder.state(),
    };
    let task = view.goal().map_err(ExecuteError::Task)?.ok_or(ExecuteError::NoTask)?;
    let system = view.system().map_err(ExecuteError::Task)?;
    let goal = Goal {
        task,
        system,
        inputs: setup.inputs.clone(),
        tools: setup.catalog.specs().cloned().collect(),
        settings: setup.settings.clone(),
        retry: if setup.instant { Policy::PROVIDER.instant() } else { Policy::PROVIDER },
        known: recorder.state().planning.answered.clone(),
    };
    let planned = {
        let mut planning = pin!(planner::plan(setup.model.as_ref(), &goal, outbox));
        loop {
            recorder.commit(outbox)?;
            tokio::select! {
                biased;
                signal = setup.stop.requested() => return Err(ExecuteError::Interrupted(signal)),
                planned = &mut planning => break planned?,
                allowed = over(deadline) => return Err(ExecuteError::OutOfTime(allowed)),
                () = outbox.filled() => {}
            }
        }
    };
    recorder.commit(outbox)?;
    let acts = |name| setup.catalog.get(name).is_some_and(|entry| entry.tool.spec().effect != Effect::Read);
    let acts = tools_named(&planned.plan.steps).iter().any(acts);
    let proposal = Proposal { workflow: &setup.workflow, planned: &planned, acts };
    let review = tokio::select! {
        biased;
        signal = setup.stop.requested() => return Err(ExecuteError::Interrupted(signal)),
        review = reviewer.review(proposal) => review,
    };
    match review {
        Review::Go => Ok(planned),
        Review::Declined => Err(ExecuteError::Declined),
        Review::Unanswerable => Err(ExecuteError::Unanswerable),
    }
}

/// Waits until the time is over; for ever, if it is not limited.
async fn over(deadline: Option<(Instant, Duration)>) -> Duration {
    match deadline {
        Some((deadline, allowed)) => {
            tokio::time::sleep_until(deadline).await;
            allowed
        }
        None => std::future::pending().await,
    }
}

/// The outcome of a run that never had a plan.
fn no_plan(error: &ExecuteError) -> Outcome {
    let kind = match error {
        ExecuteError::Interrupted(signal) => {
            return Outcome::Interrupted { signal: signal.as_str().to_owned() };
        }
        ExecuteError::OutOfTime(_) | ExecuteError::Declined | ExecuteError::Unanswerable => {
            return Outcome::Stopped { reason: error.to_string() };
        }
        ExecuteError::Plan(PlanError::Model(error)) if error.kind != ModelErrorKind::Unable => {
            FailureKind::Provider
        }
        ExecuteError::Plan(_) => FailureKind::Model,
        _ => FailureKind::Input,
    };
    Outcome::Failed { step: None, failure: Failure::new(kind, error.to_string()) }
}
