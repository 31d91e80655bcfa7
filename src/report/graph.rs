//! Which step waits for which, as a drawing: Mermaid, DOT and plain text.
//!
//! Main type: [`Drawing`], of a plan and, for a run, of how its steps stand. Only the edges that say
//! something are drawn: what follows from others is left out. Knows no file and no record.

mod ascii;
mod dot;
mod mermaid;

pub use ascii::TooWide;

use crate::id::StepId;
use crate::run::Status;
use crate::workflow::{Action, Dependency, GraphNode, Plan};

/// More of a description is not drawn.
const LONGEST_LABEL: usize = 120;

/// A plan as nodes and edges.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// In file order.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    /// `1: description`, on one line.
    label: String,
    kind: Kind,
    /// How it stands, in a run.
    status: Option<Status>,
    /// The positions of the steps it waits for, in file order.
    waits_for: Vec<(usize, Dependency)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ToolCall,
    Reasoning,
    Aggregate,
}

impl Drawing {
    /// The drawing of a plan; `status` says how a step stands in a run.
    pub fn new(plan: &Plan, status: impl Fn(&StepId) -> Option<Status>) -> Self {
        let node = |(at, step): (usize, &crate::workflow::Step)| Node {
            label: one_line(&format!("{}: {}", step.id, step.title().trim())),
            kind: match step.action {
                Action::ToolCall { .. } => Kind::ToolCall,
                Action::Reasoning { .. } => Kind::Reasoning,
                Action::Aggregate { .. } => Kind::Aggregate,
            },
            status: status(&step.id),
            waits_for: waits_for(plan, at),
        };
        Self { nodes: plan.steps.iter().enumerate().map(node).collect() }
    }
}

/// The colours of a status, for formats that have them: fill and border.
fn colours(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Pending => ("#f1f3f5", "#868e96"),
        Status::InProgress => ("#fff3bf", "#e67700"),
        Status::Done => ("#d3f9d8", "#2b8a3e"),
        Status::Failed => ("#ffe3e3", "#c92a2a"),
        Status::Cancelled => ("#e9ecef", "#495057"),
    }
}

fn one_line(text: &str) -> String {
    let line = |it: char| if it.is_control() { ' ' } else { it };
    let mut out = text.chars().take(LONGEST_LABEL).map(line).collect::<String>();
    if text.chars().nth(LONGEST_LABEL).is_some() {
        out.push('…');
    }
    out
}

/// The steps a step waits for, through barriers, without those that another of them waits for.
fn waits_for(plan: &Plan, at: usize) -> Vec<(usize, Dependency)> {
    let graph = &plan.graph;
    let mut found: Vec<(usize, Dependency)> = Vec::new();
    let mut seen = vec![false; graph.node_count()];
    let mut stack = vec![graph.node(at)];
    while let Some(node) = stack.pop() {
        for (before, why) in graph.dependencies(node) {
            match graph.kind(before) {
                GraphNode::Step(position) => found.push((position, why)),
                GraphNode::Barrier if !std::mem::replace(&mut seen[before.index()], true) => {
                    stack.push(before)
                }
                GraphNode::Barrier => {}
            }
        }
    }
    found.sort_by(|a, b| (a.0, b.1).cmp(&(b.0, a.1)));
    found.dedup_by_key(|(position, _)| *position);
    let ordered = found.iter().any(|(_, why)| *why == Dependency::Order);
    if ordered && found.len() > 1 {
        let implied = found.iter().flat_map(|(position, _)| graph.ancestors(*position)).collect::<Vec<_>>();
        found.retain(|(position, why)| *why == Dependency::Data || !implied.contains(position));
    }
    found
}
