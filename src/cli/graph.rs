//! `wf graph FILE`: which step waits for which, as a drawing.
//!
//! Main function: [`mermaid`]. Only the edges that say something are drawn: what follows from others is
//! left out.

use std::fmt::Write as _;

use super::args::{GraphArgs, GraphFormat};
use super::open::{FileModel, open};
use super::{Exit, Streams, Trouble};
use crate::workflow::{Action, Dependency, GraphNode, Plan};

pub fn graph(args: &GraphArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let opened = open(&args.file, FileModel::Unasked, streams)?;
    let Some(plan) = &opened.workflow.plan else {
        let message = format!("`{}` has no steps yet: a model plans its task", opened.source.name());
        return Err(Trouble::Said(Exit::Invalid, message));
    };
    let drawing = match args.format {
        GraphFormat::Mermaid => mermaid(plan),
    };
    streams.stdout.text(&drawing)?;
    Ok(Exit::Success)
}

/// A Mermaid flowchart: solid where a result is read, dotted where only the order counts.
pub fn mermaid(plan: &Plan) -> String {
    let mut out = String::from("flowchart TD\n");
    for (at, step) in plan.steps.iter().enumerate() {
        let text = label(&format!("{}: {}", step.id, step.title()));
        let (open, close) = match step.action {
            Action::ToolCall { .. } => ("[", "]"),
            Action::Reasoning { .. } => ("(", ")"),
            Action::Aggregate { .. } => ("[[", "]]"),
        };
        let _ = writeln!(out, "    s{at}{open}\"{text}\"{close}");
    }
    for at in 0..plan.steps.len() {
        for (before, why) in waits_for(plan, at) {
            let arrow = match why {
                Dependency::Data => "-->",
                Dependency::Order => "-.->",
            };
            let _ = writeln!(out, "    s{before} {arrow} s{at}");
        }
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

/// A text inside quotes in Mermaid, which knows entities but no escapes.
fn label(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars().take(120) {
        match character {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            _ if character.is_control() => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}
