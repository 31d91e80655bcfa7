//! A drawing in plain text: a step a line, and to its left the lanes that lead to steps further down.
//!
//! A lane is one step that others lead to; `|` where a result is read, `:` where only the order counts.
//! Lanes are ASCII wherever they are shown. Knows no plan: only nodes and edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Drawing, Node};
use crate::report::look::{Look, Paint};
use crate::run::Status;
use crate::workflow::Dependency;

/// With more lanes side by side nobody follows one any more.
const MOST_LANES: usize = 60;

/// Why there is no drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {MOST_LANES} lines would run side by side")]
pub struct TooWide;

/// What a lane leads to, and how strongly.
#[derive(Clone, Copy)]
struct Lane {
    to: usize,
    why: Dependency,
}

/// A line of the drawing: its lanes, and the step it is about.
struct Row {
    lanes: String,
    node: Option<usize>,
}

impl Drawing {
    /// The drawing in plain text.
    ///
    /// # Errors
    /// If it would be too wide to be read.
    pub fn ascii(&self, look: Look) -> Result<String, TooWide> {
        let rows = self.rows()?;
        let width =
            rows.iter().filter(|row| row.node.is_some()).map(|row| row.lanes.len()).max().unwrap_or(0);
        let mut out = String::new();
        for row in rows {
            let line = match row.node {
                Some(at) => format!("{:width$}  {}", row.lanes, label(&self.nodes[at], look)),
                None => row.lanes,
            };
            out.push_str(line.trim_end());
            out.push('\n');
        }
        Ok(out)
    }

    fn rows(&self) -> Result<Vec<Row>, TooWide> {
        let leads_to = self.leads_to();
        let mut lanes: Vec<Option<Lane>> = Vec::new();
        let mut rows = Vec::new();
        for at in self.order(&leads_to) {
            let own = match lanes.iter().position(|lane| lane.is_some_and(|lane| lane.to == at)) {
                Some(own) => own,
                None => free(&mut lanes, 0),
            };
            lanes[own] = Some(Lane { to: at, why: Dependency::Data });
            rows.push(Row { lanes: line(&lanes, Some(own)), node: Some(at) });
            let turns = branch(&mut lanes, own, &leads_to[at]);
            if lanes.len() > MOST_LANES {
                return Err(TooWide);
            }
            // What stands below one another and is not linked has to look so.
            if !turns.is_empty() || lanes[own].is_some() {
                rows.push(Row { lanes: connector(&lanes, own, &turns), node: None });
            }
            while lanes.last().is_some_and(Option::is_none) {
                lanes.pop();
            }
        }
        Ok(rows)
    }

    /// For each step, those that wait for it.
    fn leads_to(&self) -> Vec<Vec<(usize, Dependency)>> {
        let mut leads_to = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for (before, why) in &node.waits_for {
                leads_to[*before].push((at, *why));
            }
        }
        leads_to
    }

    /// The steps so that each comes after those it waits for; otherwise as in the file.
    fn order(&self, leads_to: &[Vec<(usize, Dependency)>]) -> Vec<usize> {
        let mut open = self.nodes.iter().map(|node| node.waits_for.len()).collect::<Vec<_>>();
        let ready = open.iter().enumerate().filter(|(_, count)| **count == 0).map(|(at, _)| Reverse(at));
        let mut ready = ready.collect::<BinaryHeap<_>>();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(Reverse(at)) = ready.pop() {
            order.push(at);
            for (after, _) in &leads_to[at] {
                open[*after] -= 1;
                if open[*after] == 0 {
                    ready.push(Reverse(*after));
                }
            }
        }
        order
    }
}

/// A lane that leads nowhere, at or after a place.
fn free(lanes: &mut Vec<Option<Lane>>, from: usize) -> usize {
    match lanes.iter().skip(from).position(Option::is_none) {
        Some(found) => from + found,
        None => {
            lanes.push(None);
            lanes.len() - 1
        }
    }
}

/// Leads a step's own lane on to those that wait for it. Gives the lanes it turns into, and whether each
/// was there before.
fn branch(lanes: &mut Vec<Option<Lane>>, own: usize, targets: &[(usize, Dependency)]) -> Vec<(usize, bool)> {
    lanes[own] = None;
    let mut turns = Vec::new();
    let mut fresh = Vec::new();
    for &(to, why) in targets {
        match lanes.iter().position(|lane| lane.is_some_and(|lane| lane.to == to)) {
            Some(there) => {
                lanes[there] = Some(Lane { to, why: lanes[there].map_or(why, |lane| lane.why.max(why)) });
                turns.push((there, true));
            }
            None => fresh.push(Lane { to, why }),
        }
    }
    let mut fresh = fresh.into_iter();
    lanes[own] = fresh.next();
    for lane in fresh {
        let place = free(lanes, own + 1);
        lanes[place] = Some(lane);
        turns.push((place, false));
    }
    turns
}

fn stroke(lane: Lane) -> char {
    match lane.why {
        Dependency::Data => '|',
        Dependency::Order => ':',
    }
}

fn line(lanes: &[Option<Lane>], own: Option<usize>) -> String {
    let mut out = String::new();
    for (at, lane) in lanes.iter().enumerate() {
        out.push(match lane {
            _ if own == Some(at) => '*',
            Some(lane) => stroke(*lane),
            None => ' ',
        });
        out.push(' ');
    }
    out.trim_end().to_owned()
}

/// The line below a step, where its lane turns into others.
fn connector(lanes: &[Option<Lane>], own: usize, turns: &[(usize, bool)]) -> String {
    let first = turns.iter().map(|(at, _)| *at).chain([own]).min().unwrap_or(own);
    let last = turns.iter().map(|(at, _)| *at).chain([own]).max().unwrap_or(own);
    let mut out = String::new();
    for (at, lane) in lanes.iter().enumerate() {
        let turn = turns.iter().find(|(place, _)| *place == at);
        out.push(match (turn, lane) {
            (Some((_, true)), _) => '+',
            (Some((_, false)), _) => '.',
            (None, Some(lane)) => stroke(*lane),
            (None, None) if at == own => '\'',
            (None, None) if (first..last).contains(&at) => '-',
            (None, None) => ' ',
        });
        out.push(if (first..last).contains(&at) { '-' } else { ' ' });
    }
    out.trim_end().to_owned()
}

/// The step itself, with its mark where it is one of a run.
fn label(node: &Node, look: Look) -> String {
    let text = look.shown(&node.label);
    let Some(status) = node.status else { return text.into_owned() };
    let text = match status {
        Status::Failed => look.paint(Paint::Error, &text),
        Status::Done => look.paint(Paint::Good, &text),
        Status::InProgress => look.paint(Paint::Strong, &text),
        Status::Pending | Status::Cancelled => look.paint(Paint::Faint, &text),
    };
    format!("{} {text}", look.mark(status))
}
