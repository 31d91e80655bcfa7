//! Which step waits for which: a petgraph with barrier nodes, so that order costs O(n) edges.
//!
//! Main type: [`StepGraph`]. Knows positions and ids of steps; knows no status.

use std::collections::HashMap;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use crate::id::StepId;

/// What a node of the graph stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphNode {
    /// The step at this position in the file.
    Step(usize),
    /// "Everything before has ended": no work of its own.
    Barrier,
}

/// Why a step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// Order alone.
    Order,
    /// It reads the other's result.
    Data,
}

/// The order of a plan's steps.
#[derive(Clone, Debug, Default)]
pub struct StepGraph {
    graph: DiGraph<GraphNode, Dependency, u32>,
    steps: Vec<NodeIndex>,
    positions: HashMap<StepId, usize>,
}

impl StepGraph {
    /// A graph of these steps, in file order, and no edges yet.
    pub fn new<'a>(ids: impl IntoIterator<Item = &'a StepId>) -> Self {
        let mut this = Self::default();
        for id in ids {
            this.push(id);
        }
        this
    }

    /// Adds a step after the others.
    pub fn push(&mut self, id: &StepId) -> NodeIndex {
        let position = self.steps.len();
        let node = self.graph.add_node(GraphNode::Step(position));
        self.steps.push(node);
        self.positions.entry(id.clone()).or_insert(position);
        node
    }

    /// The node of the step at a position.
    pub fn node(&self, position: usize) -> NodeIndex {
        self.steps[position]
    }

    /// A new barrier.
    pub fn add_barrier(&mut self) -> NodeIndex {
        self.graph.add_node(GraphNode::Barrier)
    }

    /// Makes `after` wait for `before`; an edge that is there already becomes the stronger of the two.
    pub fn add_edge(&mut self, before: NodeIndex, after: NodeIndex, why: Dependency) {
        match self.graph.find_edge(before, after) {
            Some(edge) => self.graph[edge] = self.graph[edge].max(why),
            None => {
                self.graph.add_edge(before, after, why);
            }
        }
    }

    /// Makes `after`, which waits for nothing yet, wait for all of these; what is named twice counts
    /// once, as the stronger of the two. Unlike [`add_edge`](Self::add_edge) this looks nothing up, so
    /// a step that a thousand others wait for costs no more than any other.
    pub fn add_dependencies(&mut self, after: NodeIndex, mut before: Vec<(NodeIndex, Dependency)>) {
        before.sort_unstable_by_key(|(node, why)| (*node, std::cmp::Reverse(*why)));
        before.dedup_by_key(|(node, _)| *node);
        for (node, why) in before {
            self.graph.add_edge(node, after, why);
        }
    }

    /// The position of a step.
    pub fn position(&self, id: &StepId) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// How many nodes there are, steps and barriers.
    pub fn node_count(&self) -> usize {
        self.graph.node_count()
    }

    /// What a node stands for.
    pub fn kind(&self, node: NodeIndex) -> GraphNode {
        self.graph[node]
    }

    /// The nodes that wait for this one, and why.
    pub fn dependents(&self, node: NodeIndex) -> impl Iterator<Item = (NodeIndex, Dependency)> + '_ {
        self.graph.edges(node).map(|edge| (edge.target(), *edge.weight()))
    }

    /// The nodes this one waits for, and why.
    pub fn dependencies(&self, node: NodeIndex) -> impl Iterator<Item = (NodeIndex, Dependency)> + '_ {
        self.graph.edges_directed(node, Direction::Incoming).map(|edge| (edge.source(), *edge.weight()))
    }

    /// The positions of all steps a step waits for, directly or not, in file order.
    pub fn ancestors(&self, position: usize) -> Vec<usize> {
        self.reach(position, |node| self.dependencies(node).map(|(before, _)| before).collect())
    }

    /// The positions of all steps that wait for a step, directly or not, in file order.
    pub fn descendants(&self, position: usize) -> Vec<usize> {
        self.reach(position, |node| self.dependents(node).map(|(after, _)| after).collect())
    }

    fn reach(&self, position: usize, next: impl Fn(NodeIndex) -> Vec<NodeIndex>) -> Vec<usize> {
        let mut seen = vec![false; self.graph.node_count()];
        let mut stack = vec![self.node(position)];
        let mut found = Vec::new();
        while let Some(node) = stack.pop() {
            for other in next(node) {
                if !std::mem::replace(&mut seen[other.index()], true) {
                    stack.push(other);
                    if let GraphNode::Step(at) = self.kind(other) {
                        found.push(at);
                    }
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The underlying graph, for algorithms.
    pub fn as_petgraph(&self) -> &DiGraph<GraphNode, Dependency, u32> {
        &self.graph
    }
}
