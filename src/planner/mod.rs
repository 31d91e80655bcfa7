//! From a goal to a checked plan: one question to a model, its mistakes sent back, within bounds.
//!
//! Main function: [`plan`]. The reply enters by the same door as a file. Knows no step's work and no
//! terminal; there is no plan it would fall back to.

mod decision;
mod prompt;
mod revise;
mod situation;
mod talk;

use serde_json::{Map, Value};

pub use revise::{Decided, ReviseError, Revision, revise, revised};
pub use situation::Situation;

use crate::diagnostic::{Code, Diagnostic};
use crate::document::schema;
use crate::event::{Answered, RecordError, Sink, Usage};
use crate::llm::{Facts, Finish, Model, ModelError, Reply, ResponseFormat};
use crate::load::{Loaded, Scope, load};
use crate::run::retry::Policy;
use crate::source::Source;
use crate::spec::ToolSpec;
use crate::workflow::{Origin, Plan, ResolvedModel};
use talk::Talk;

/// How often a model is asked for a plan that can be used.
pub const ASKS: u32 = 3;

/// What is to be planned.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The task, in words.
    pub task: String,
    /// The workflow's system prompt.
    pub system: Option<String>,
    /// Values of the workflow's inputs: literals a plan may hold.
    pub inputs: Map<String, Value>,
    /// The tools a step may call.
    pub tools: Vec<ToolSpec>,
    pub settings: ResolvedModel,
    /// When faults of the provider are tried again.
    pub retry: Policy,
    /// Answers that the record has of an earlier, interrupted part of the run, in order.
    pub known: Vec<Answered>,
}

impl Goal {
    fn asking(&self) -> Asking<'_> {
        Asking { settings: &self.settings, retry: self.retry, known: &self.known }
    }
}

/// How a model is asked about a plan.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    pub settings: &'a ResolvedModel,
    /// When faults of the provider are tried again.
    pub retry: Policy,
    /// Answers that the record has of an earlier, interrupted part of the run, in order.
    pub known: &'a [Answered],
}

/// A plan that passed every check.
#[derive(Clone, Debug)]
pub struct Planned {
    pub plan: Plan,
    /// The reply it was read from.
    pub source: Source,
    /// What was mended in the reply, each in a short phrase.
    pub repairs: Vec<String>,
    /// What was found and does not keep the plan from running.
    pub warnings: Vec<Diagnostic>,
    /// How often the model was asked.
    pub asks: u32,
    pub usage: Usage,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Every reply had mistakes.
    #[error("the model gave no plan that can be used in {asks} {}", if *asks == 1 { "try" } else { "tries" })]
    Refused {
        /// Those of the last reply.
        diagnostics: Vec<Diagnostic>,
        /// The last reply, as it came.
        reply: Source,
        asks: u32,
    },
    /// The model could not be asked.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// What was asked could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Has a model plan a goal: at most [`ASKS`] questions, and one more for a plan that can be used but
/// writes values down that an earlier step should give.
///
/// # Errors
/// If no reply could be used, or none came; see [`PlanError`].
pub async fn plan(model: &dyn Model, goal: &Goal, sink: &dyn Sink) -> Result<Planned, PlanError> {
    let scope = Scope {
        tools: goal.tools.clone(),
        task: Some(goal.task.clone()),
        inputs: goal.inputs.clone(),
        ..Scope::default()
    };
    let facts = Facts::Plan { task: goal.task.clone(), tools: goal.tools.clone() };
    let format = ResponseFormat { name: "plan".to_owned(), schema: schema::plan() };
    let mut talk = Talk::new(model, goal.asking(), sink, prompt::first(goal), format, facts);
    let mut kept: Option<Planned> = None;
    loop {
        let reply = match (talk.ask().await, kept.take()) {
            (Ok(reply), earlier) => {
                kept = earlier;
                reply
            }
            // What the further ask was for was no mistake: the plan can be used without an answer.
            (Err(PlanError::Model(_)), Some(planned)) => {
                return Ok(Planned { asks: talk.asks, usage: talk.usage, ..planned });
            }
            (Err(error), _) => return Err(error),
        };
        let source = Source::new("<reply>", reply.text.as_str());
        let Loaded { workflow, mut diagnostics, repairs, .. } = load(&source, &scope, Origin::Model);
        note_how_it_ended(&reply, &mut diagnostics);
        let plan = workflow.and_then(|workflow| workflow.plan);
        let hardcoded = diagnostics.iter().any(|diagnostic| diagnostic.code == Code::HardcodedValue);
        let complaint = prompt::complaint(&source, &diagnostics);
        match (plan, kept.take()) {
            (Some(plan), earlier) => {
                let warnings = diagnostics;
                let (asks, usage) = (talk.asks, talk.usage);
                let planned = Planned { plan, source, repairs, warnings, asks, usage };
                if !hardcoded || earlier.is_some() {
                    return Ok(planned);
                }
                kept = Some(planned);
            }
            // The further ask made it worse: the plan before it could be used.
            (None, Some(planned)) => {
                return Ok(Planned { asks: talk.asks, usage: talk.usage, ..planned });
            }
            (None, None) if talk.asks >= ASKS => {
                return Err(PlanError::Refused { diagnostics, reply: source, asks: talk.asks });
            }
            (None, None) => {}
        }
        talk.reply(reply.text, complaint);
    }
}

/// A reply without a plan because the model was cut off, or held back, says so.
fn note_how_it_ended(reply: &Reply, diagnostics: &mut [Diagnostic]) {
    for one in diagnostics.iter_mut().filter(|one| one.code == Code::NoPlan) {
        match reply.finish {
            Finish::Stop => {}
            Finish::Length => {
                one.code = Code::TruncatedReply;
                one.message =
                    "the reply was cut at the model's token limit before there was a plan".to_owned();
                one.help = Some("raise `max_tokens` of the model, or ask for less at a time".to_owned());
            }
            Finish::Refused => {
                one.message = "the model declined, or its provider held the reply back".to_owned()
            }
        }
    }
}
