//! Has a model decide how a plan under way goes on, and makes the plan that follows from it.
//!
//! Main functions: [`revise`] asks, its mistakes sent back within bounds; [`revised`] is pure, and makes the
//! same plan again from a record. Knows no terminal and records no decision.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::decision::{Decision, combined, read_decision};
use super::situation::Situation;
use super::talk::Talk;
use super::{ASKS, Asking, PlanError};
use crate::event::{Change, Failure, RecordError, Sink};
use crate::id::StepId;
use crate::llm::{Facts, Model, ModelError, ResponseFormat};
use crate::run::Status;
use crate::source::Source;
use crate::spec::ToolSpec;
use crate::workflow::{Action, Dependency, GraphNode, Plan, StepGraph};

/// What came of asking.
#[derive(Debug)]
pub enum Revision {
    /// The plan goes on like this.
    Decided(Box<Decided>),
    /// A person has to answer first.
    Ask { question: String },
}

/// A decision that passed every check.
#[derive(Debug)]
pub struct Decided {
    pub change: Change,
    /// Why, in the model's words.
    pub reason: String,
    /// What was mended in the reply, each in a short phrase.
    pub repairs: Vec<String>,
    /// The plan from now on.
    pub plan: Plan,
    /// The reply it was read from.
    pub source: Source,
}

/// Why there is no decision.
#[derive(Debug, thiserror::Error)]
pub enum ReviseError {
    /// Every reply had mistakes.
    #[error("the model gave no decision that can be used in {asks} tries; the last time: {last}")]
    Refused { asks: u32, last: String },
    /// The goal could not be told.
    #[error(transparent)]
    Goal(#[from] Failure),
    /// The model could not be asked.
    #[error(transparent)]
    Model(ModelError),
    /// What was asked could not be recorded.
    #[error(transparent)]
    Record(RecordError),
}

/// Asks a model how a plan goes on: at most [`ASKS`] questions.
///
/// # Errors
/// If no reply could be used, or none came; see [`ReviseError`].
pub async fn revise(
    model: &dyn Model,
    asking: Asking<'_>,
    situation: &Situation<'_>,
    sink: &dyn Sink,
) -> Result<Revision, ReviseError> {
    let format = ResponseFormat { name: "decision".to_owned(), schema: schema() };
    let facts = Facts::Revision { failed: situation.has_failed() };
    let mut talk = Talk::new(model, asking, sink, situation.messages()?, format, facts);
    loop {
        let reply = talk.ask().await.map_err(|error| match error {
            PlanError::Model(error) => ReviseError::Model(error),
            PlanError::Record(error) => ReviseError::Record(error),
            PlanError::Refused { .. } => unreachable!("bug: only a plan is refused"),
        })?;
        let source = Source::new("<reply>", reply.text.as_str());
        let wrong = match read_decision(&source, situation) {
            Ok((Decision::Ask { question }, _)) => return Ok(Revision::Ask { question }),
            Ok((Decision::Change { change, reason }, repairs)) => {
                let state = situation.view.state;
                let gone = |id: &StepId| {
                    state
                        .step(id)
                        .is_some_and(|step| step.status == Status::Cancelled || situation.is_open(step))
                };
                match revised(situation.view.plan, &situation.step().id, &change, &situation.tools, gone) {
                    Ok(plan) => {
                        let decided = Decided { change, reason, repairs, plan, source };
                        return Ok(Revision::Decided(Box::new(decided)));
                    }
                    Err(wrong) => wrong,
                }
            }
            Err(wrong) => wrong,
        };
        if talk.asks >= ASKS {
            return Err(ReviseError::Refused { asks: talk.asks, last: wrong.join("; ") });
        }
        let text = format!(
            "That decision cannot be used as it is:\n- {}\n\nAnswer with the whole object again, mended, and \
             nothing else.",
            wrong.join("\n- ")
        );
        talk.reply(reply.text, text);
    }
}

/// The plan after a change. `gone` tells of a step that will never have a result.
///
/// # Errors
/// What is wrong with the new steps, a line each.
pub fn revised(
    plan: &Plan,
    about: &StepId,
    change: &Change,
    tools: &[ToolSpec],
    gone: impl Fn(&StepId) -> bool,
) -> Result<Plan, Vec<String>> {
    match change {
        Change::Continue | Change::Cancel { .. } | Change::Retry { args: None } => Ok(plan.clone()),
        Change::Retry { args: Some(args) } => {
            let Some(at) = plan.position(about) else { return Ok(plan.clone()) };
            let step = json!({
                "id": about.to_json(), "description": "again", "tool": plan.steps[at].tool(), "args": args,
            });
            let there = plan.steps.iter().map(|step| &step.id).filter(|id| *id != about);
            let (mut loaded, first) = combined(there, [step], tools)?;
            let mut plan = plan.clone();
            let again = loaded.steps.swap_remove(first);
            let node = plan.graph.node(at);
            for (before, why) in loaded.graph.dependencies(loaded.graph.node(first)).collect::<Vec<_>>() {
                if let (GraphNode::Step(before), Dependency::Data) = (loaded.graph.kind(before), why)
                    && let Some(before) = plan.position(&loaded.steps[before].id)
                {
                    plan.graph.add_edge(plan.graph.node(before), node, why);
                }
            }
            if let (Action::ToolCall { args, .. }, Action::ToolCall { args: new, .. }) =
                (&mut plan.steps[at].action, again.action)
            {
                *args = new;
            }
            Ok(plan)
        }
        Change::Replace { steps } => {
            let there = plan.steps.iter().map(|step| &step.id);
            let (loaded, first) = combined(there, steps.iter().cloned(), tools)?;
            Ok(extended(plan, loaded, first, gone))
        }
        Change::Reorder { order } => Ok(reordered(plan, order)),
    }
}

/// The plan with the loaded steps from a position on behind its own.
fn extended(plan: &Plan, loaded: Plan, first: usize, gone: impl Fn(&StepId) -> bool) -> Plan {
    let mut graph = plan.graph.clone();
    for step in &loaded.steps[first..] {
        graph.push(&step.id);
    }
    let from = loaded.graph.as_petgraph();
    let mut barriers = HashMap::new();
    for edge in from.edge_indices() {
        let Some((before, after)) = from.edge_endpoints(edge) else { continue };
        let is_old = |node| matches!(loaded.graph.kind(node), GraphNode::Step(at) if at < first);
        // What was there has its order already, and what will never end must hold nothing back.
        let is_gone = match loaded.graph.kind(before) {
            GraphNode::Step(at) => at < first && gone(&loaded.steps[at].id),
            GraphNode::Barrier => false,
        };
        if is_old(after) || is_gone {
            continue;
        }
        let mut node = |of, graph: &mut StepGraph| match loaded.graph.kind(of) {
            GraphNode::Step(at) => graph.node(at),
            GraphNode::Barrier => *barriers.entry(of).or_insert_with(|| graph.add_barrier()),
        };
        let (before, after) = (node(before, &mut graph), node(after, &mut graph));
        graph.add_edge(before, after, from[edge]);
    }
    let steps = plan.steps.iter().cloned().chain(loaded.steps.into_iter().skip(first)).collect();
    Plan { steps, graph, origin: plan.origin }
}

/// The plan with these steps at its end, one after the other.
fn reordered(plan: &Plan, order: &[StepId]) -> Plan {
    let place = |id: &StepId| order.iter().position(|other| other == id);
    let mut positions: Vec<usize> = (0..plan.steps.len()).collect();
    positions.sort_by_key(|at| place(&plan.steps[*at].id));
    let steps: Vec<_> = positions.iter().map(|at| plan.steps[*at].clone()).collect();
    let mut graph = StepGraph::new(steps.iter().map(|step| &step.id));
    let (old, from) = (&plan.graph, plan.graph.as_petgraph());
    let is_listed = |node| match old.kind(node) {
        GraphNode::Step(at) => place(&plan.steps[at].id).is_some(),
        GraphNode::Barrier => false,
    };
    let mut barriers = HashMap::new();
    for edge in from.edge_indices() {
        let Some((before, after)) = from.edge_endpoints(edge) else { continue };
        // Of the steps that go to the end only what they read still matters.
        let keeps = match (is_listed(before), is_listed(after)) {
            (false, false) => true,
            (_, true) => from[edge] == Dependency::Data,
            (true, false) => false,
        };
        if !keeps {
            continue;
        }
        let mut node = |of, graph: &mut StepGraph| match old.kind(of) {
            GraphNode::Step(at) => graph.position(&plan.steps[at].id).map(|at| graph.node(at)),
            GraphNode::Barrier => Some(*barriers.entry(of).or_insert_with(|| graph.add_barrier())),
        };
        if let (Some(before), Some(after)) = (node(before, &mut graph), node(after, &mut graph)) {
            graph.add_edge(before, after, from[edge]);
        }
    }
    for (place, id) in order.iter().enumerate() {
        let (Some(at), Some(was)) = (graph.position(id), old.position(id)) else { continue };
        let after = graph.node(at);
        if let Some(before) = place.checked_sub(1).and_then(|before| graph.position(&order[before])) {
            graph.add_edge(graph.node(before), after, Dependency::Order);
        }
        for before in old.ancestors(was) {
            let id = &plan.steps[before].id;
            if let Some(before) = graph.position(id).filter(|_| !order.contains(id)) {
                graph.add_edge(graph.node(before), after, Dependency::Order);
            }
        }
    }
    Plan { steps, graph, origin: plan.origin }
}

/// The form of a decision.
fn schema() -> Value {
    let ids = json!({"type": "array", "items": {"type": ["integer", "string"]}});
    json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string",
                "enum": ["continue", "retry", "replace", "reorder", "cancel", "ask"],
            },
            "reason": {"type": "string", "description": "Why, in a sentence."},
            "args": {"type": "object", "description": "For retry: the arguments from now on."},
            "steps": {
                "type": "array",
                "description": "For replace: the new steps, as in a plan. For cancel: ids.",
            },
            "order": ids,
            "question": {"type": "string", "description": "For ask."},
        },
        "required": ["decision", "reason"],
    })
}
