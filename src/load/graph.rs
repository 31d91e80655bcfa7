//! Which step waits for which: ids, names of other steps, cycles, and the order of the whole plan.
//!
//! Main type: [`Order`]. Works on positions and on the places where steps are named; knows nothing of
//! tools but whether a step may overlap with others.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::NodeIndex;

use super::names::{Names, written};
use super::references::Named;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::StepDoc;
use crate::id::StepId;
use crate::workflow::{Dependency, GraphNode, Origin, StepGraph};

/// A step as the graph sees it.
#[derive(Debug)]
pub(super) struct Node<'d> {
    pub step: &'d StepDoc,
    pub named: Vec<Named>,
    /// In a model's plan: it only reads, and may run beside others that only read.
    pub overlaps: bool,
}

/// Whom each step waits for by name.
#[derive(Debug)]
pub(super) struct Order<'d, 'n> {
    nodes: &'n [Node<'d>],
    positions: HashMap<StepId, usize>,
    /// Ids that more than one step has: which one is meant is not known.
    twice: HashSet<StepId>,
    waits: Vec<Vec<(usize, Dependency)>>,
    origin: Origin,
}

impl<'d, 'n> Order<'d, 'n> {
    /// Checks ids and every place where a step is named.
    pub fn check(nodes: &'n [Node<'d>], key: &str, origin: Origin, found: &mut Vec<Diagnostic>) -> Self {
        let (positions, twice) = positions(nodes, key, found);
        let ids = nodes.iter().filter_map(|node| Some(node.step.id.get()?.as_str()));
        let known = Names::of(ids);
        // A step whose id could not be read may be the one that is meant.
        let certain = nodes.iter().all(|node| node.step.id.get().is_some());
        let mut waits = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let mut list = Vec::with_capacity(node.named.len());
            for named in &node.named {
                let report = |code: Code, message: String| {
                    Diagnostic::new(code, named.span, message).path(named.path.as_str())
                };
                match positions.get(&named.id) {
                    None if certain => {
                        let message = format!("there is no step with the id `{}`", named.id);
                        let mut one = report(Code::UnknownStep, message);
                        one.help = known.advice(named.id.as_str(), "steps");
                        if let Some(meant) = known.meant(named.id.as_str()).filter(|_| named.scalar) {
                            one = one.suggest(named.span, written(meant));
                        }
                        found.push(one);
                    }
                    None => {}
                    Some(other) if *other == at => {
                        let message = format!("step `{}` names itself", named.id);
                        found.push(
                            report(Code::SelfReference, message)
                                .help("a step can wait only for other steps: name the one that was meant"),
                        );
                    }
                    Some(other)
                        if *other > at && origin == Origin::Person && !node.step.depends_on.is_missing() =>
                    {
                        list.push((*other, named.why));
                    }
                    Some(other) if *other > at && origin == Origin::Person => {
                        let message = format!("step `{}` comes later, so it has no result yet", named.id);
                        let mut one = report(Code::LaterStep, message)
                            .help("move it above this step, or give this step `depends_on`, so that its place in the file no longer counts");
                        if let Some(id) = nodes[*other].step.id.spanned() {
                            one = one.related(id.span, "the step that is named");
                        }
                        found.push(one);
                    }
                    Some(other) => list.push((*other, named.why)),
                }
            }
            waits.push(list);
        }
        Self { nodes, positions, twice, waits, origin }
    }

    /// The position of the one step with that id.
    pub fn position(&self, id: &StepId) -> Option<usize> {
        self.positions.get(id).copied().filter(|_| !self.twice.contains(id))
    }

    /// The steps a step names and may name, and why.
    pub fn waits(&self, at: usize) -> &[(usize, Dependency)] {
        &self.waits[at]
    }

    /// The graph of the steps in the order they run, and that order as positions in the document;
    /// cycles are reported.
    pub fn graph(&self, found: &mut Vec<Diagnostic>) -> Option<(StepGraph, Vec<usize>)> {
        let before = found.len();
        let (graph, order) = match self.origin {
            Origin::Person => {
                let graph = self.person();
                self.cycles(&graph, found);
                (graph, (0..self.nodes.len()).collect())
            }
            Origin::Model => {
                let mut named = StepGraph::new(self.ids(0..self.nodes.len()).iter());
                for (at, waits) in self.waits.iter().enumerate() {
                    let before = waits.iter().map(|(other, why)| (named.node(*other), *why)).collect();
                    named.add_dependencies(named.node(at), before);
                }
                self.cycles(&named, found);
                if found.len() > before {
                    return None;
                }
                let order = self.sorted();
                (self.model(&order), order)
            }
        };
        (found.len() == before).then_some((graph, order))
    }

    /// A step without `depends_on` waits for all above it. Only those that nothing above waits for need
    /// an edge: each step is in that frontier once, so there are O(n) edges.
    fn person(&self) -> StepGraph {
        let mut graph = StepGraph::new(self.ids(0..self.nodes.len()).iter());
        let mut frontier: Vec<NodeIndex> = Vec::new();
        for (at, waits) in self.waits.iter().enumerate() {
            let mut before: Vec<_> = waits.iter().map(|(other, why)| (graph.node(*other), *why)).collect();
            if self.nodes[at].step.depends_on.is_missing() {
                before.extend(frontier.drain(..).map(|node| (node, Dependency::Order)));
            }
            graph.add_dependencies(graph.node(at), before);
            frontier.push(graph.node(at));
        }
        graph
    }

    /// In a model's plan a step that does more than read waits for all before it and holds back all
    /// after it.
    fn model(&self, order: &[usize]) -> StepGraph {
        let mut graph = StepGraph::new(self.ids(order.iter().copied()).iter());
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        let mut gate: Option<NodeIndex> = None;
        let mut beside: Vec<NodeIndex> = Vec::new();
        for (new, old) in order.iter().enumerate() {
            let node = graph.node(new);
            let waits = self.waits[*old].iter();
            let mut before: Vec<_> = waits.map(|(other, why)| (graph.node(place[*other]), *why)).collect();
            if self.nodes[*old].overlaps {
                before.extend(gate.map(|gate| (gate, Dependency::Order)));
                beside.push(node);
            } else {
                if beside.is_empty() {
                    before.extend(gate.map(|gate| (gate, Dependency::Order)));
                }
                before.extend(beside.drain(..).map(|node| (node, Dependency::Order)));
                gate = Some(node);
            }
            graph.add_dependencies(node, before);
        }
        graph
    }

    /// Kahn's order; among steps that could be next, the first in the reply.
    pub fn sorted(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.waits.iter().map(Vec::len).collect();
        let mut dependents = vec![Vec::new(); self.nodes.len()];
        for (at, waits) in self.waits.iter().enumerate() {
            waits.iter().for_each(|(other, _)| dependents[*other].push(at));
        }
        let mut ready: BinaryHeap<_> = (0..open.len()).filter(|at| open[*at] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(open.len());
        while let Some(Reverse(at)) = ready.pop() {
            order.push(at);
            for dependent in &dependents[at] {
                open[*dependent] -= 1;
                if open[*dependent] == 0 {
                    ready.push(Reverse(*dependent));
                }
            }
        }
        order
    }

    fn cycles(&self, graph: &StepGraph, found: &mut Vec<Diagnostic>) {
        for component in kosaraju_scc(graph.as_petgraph()) {
            let first = component.iter().copied().min_by_key(|node| node.index());
            if let Some(first) = first.filter(|_| component.len() > 1) {
                self.cycle(graph, first, &component, found);
            }
        }
    }

    /// Reports the shortest cycle through the first of its steps.
    fn cycle(
        &self,
        graph: &StepGraph,
        first: NodeIndex,
        component: &[NodeIndex],
        found: &mut Vec<Diagnostic>,
    ) {
        let mut next: HashMap<NodeIndex, NodeIndex> = HashMap::new();
        let inside: HashSet<_> = component.iter().copied().collect();
        let mut queue = std::collections::VecDeque::from([first]);
        let mut path = vec![first];
        'search: while let Some(node) = queue.pop_front() {
            for (before, _) in graph.dependencies(node).filter(|(before, _)| inside.contains(before)) {
                if before == first {
                    let mut at = node;
                    while at != first {
                        path.push(at);
                        at = next[&at];
                    }
                    path[1..].reverse();
                    break 'search;
                }
                if let std::collections::hash_map::Entry::Vacant(entry) = next.entry(before) {
                    entry.insert(node);
                    queue.push_back(before);
                }
            }
        }
        path.push(first);
        let at = |node: NodeIndex| match graph.kind(node) {
            GraphNode::Step(at) => at,
            GraphNode::Barrier => panic!("bug: a barrier in a cycle"),
        };
        let steps: Vec<usize> = path.into_iter().map(at).collect();
        let shown: Vec<String> = steps.iter().map(|at| self.id(*at).to_string()).collect();
        let listed = if shown.len() > 12 {
            format!("{} → … → {}", shown[..6].join(" → "), shown[shown.len() - 5..].join(" → "))
        } else {
            shown.join(" → ")
        };
        let start = &self.nodes[steps[0]];
        let edge = start.named.iter().find(|named| named.id == self.id(steps[1]));
        let place = edge.map_or((start.step.span, ""), |named| (named.span, named.path.as_str()));
        let message = format!("steps wait for each other: {listed}");
        let mut one = Diagnostic::new(Code::DependencyCycle, place.0, message).path(place.1);
        let by_order =
            steps.windows(2).find(|pair| self.waits[pair[0]].iter().all(|(other, _)| *other != pair[1]));
        one.help = Some(match by_order {
            Some(pair) => format!(
                "step `{}` has no `depends_on`, so it waits for every step above it; give it `depends_on: []`",
                self.id(pair[0])
            ),
            None => "take one of these dependencies away".to_owned(),
        });
        found.push(one);
    }

    fn id(&self, at: usize) -> StepId {
        self.nodes[at].step.id.get().cloned().unwrap_or_else(|| StepId::string(""))
    }

    fn ids(&self, order: impl Iterator<Item = usize>) -> Vec<StepId> {
        order.map(|at| self.id(at)).collect()
    }
}

fn positions(
    nodes: &[Node<'_>],
    key: &str,
    found: &mut Vec<Diagnostic>,
) -> (HashMap<StepId, usize>, HashSet<StepId>) {
    let mut twice = HashSet::new();
    let mut positions: HashMap<StepId, usize> = HashMap::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        let Some(id) = node.step.id.spanned() else { continue };
        if let Some(first) = positions.get(&id.value) {
            let message = format!("the id `{}` is taken", id.value);
            let mut one = Diagnostic::new(Code::DuplicateId, id.span, message)
                .path(Trail::root(key).index(at).key("id").to_string())
                .help("every step has an id of its own; `1` and `\"1\"` are the same");
            if let Some(first) = nodes[*first].step.id.spanned() {
                one = one.related(first.span, "first used here");
            }
            found.push(one);
            twice.insert(id.value.clone());
        } else {
            positions.insert(id.value.clone(), at);
        }
    }
    (positions, twice)
}
