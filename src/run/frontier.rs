//! Which steps are ready, and which can no longer run: one pass over the graph as steps end.
//!
//! Main type: [`Frontier`]. Each node is looked at once per edge, so a run costs O(nodes + edges).
//! Knows positions and ends of steps; knows no status, no results and no clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::graph::NodeIndex;

use crate::workflow::{Dependency, GraphNode, StepGraph};

/// How a step ended, as far as others care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has a result.
    Done,
    /// It did not run because a condition is false: nothing went wrong, but there is no result.
    Skipped,
    /// It failed for good, or could not run after a failure.
    Failed,
}

/// Why a step whose dependencies have all ended cannot run. The position is that of the step at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// It reads the result of a step that was skipped.
    ReadsSkipped(usize),
    /// It depends on a step that failed.
    AfterFailed(usize),
}

/// The edge between what has ended and what has not.
#[derive(Debug)]
pub struct Frontier<'a> {
    graph: &'a StepGraph,
    /// Per node: dependencies that have not ended.
    waiting: Vec<u32>,
    /// Per node: the worst that happened to a dependency so far.
    blocked: Vec<Option<Blocked>>,
    ready: BinaryHeap<Reverse<usize>>,
    stuck: Vec<(usize, Blocked)>,
    open: usize,
}

impl<'a> Frontier<'a> {
    /// The frontier before anything has run.
    pub fn new(graph: &'a StepGraph) -> Self {
        let petgraph = graph.as_petgraph();
        let mut this = Self {
            graph,
            waiting: vec![0; graph.node_count()],
            blocked: vec![None; graph.node_count()],
            ready: BinaryHeap::new(),
            stuck: Vec::new(),
            open: 0,
        };
        for edge in petgraph.edge_indices() {
            if let Some((_, after)) = petgraph.edge_endpoints(edge) {
                this.waiting[after.index()] += 1;
            }
        }
        let free: Vec<NodeIndex> =
            petgraph.node_indices().filter(|node| this.waiting[node.index()] == 0).collect();
        for node in petgraph.node_indices() {
            this.open += usize::from(matches!(graph.kind(node), GraphNode::Step(_)));
        }
        this.open_nodes(free);
        this
    }

    /// The first ready step in file order, taken out.
    pub fn next_ready(&mut self) -> Option<usize> {
        self.ready.pop().map(|Reverse(position)| position)
    }

    /// The steps that can no longer run, taken out. Each must be ended in turn.
    pub fn take_stuck(&mut self) -> Vec<(usize, Blocked)> {
        std::mem::take(&mut self.stuck)
    }

    /// Whether every step has ended.
    pub fn is_done(&self) -> bool {
        self.open == 0
    }

    /// Puts a step back among the ready ones: its next attempt is due.
    pub fn make_ready(&mut self, position: usize) {
        self.ready.push(Reverse(position));
    }

    /// Keeps of the ready and stuck steps those for which `open` holds: the others have begun or ended
    /// already, in an earlier part of the run.
    pub fn retain(&mut self, open: impl Fn(usize) -> bool) {
        self.ready.retain(|Reverse(position)| open(*position));
        self.stuck.retain(|(position, _)| open(*position));
    }

    /// A step has ended; what waited for it alone becomes ready or stuck.
    pub fn end(&mut self, position: usize, end: End) {
        self.open -= 1;
        let freed = self.release(self.graph.node(position), |why| match (end, why) {
            (End::Failed, _) => Some(Blocked::AfterFailed(position)),
            (End::Skipped, Dependency::Data) => Some(Blocked::ReadsSkipped(position)),
            (End::Skipped, Dependency::Order) | (End::Done, _) => None,
        });
        self.open_nodes(freed);
    }

    /// Tells the dependents of a node that it has ended; returns those that waited for it alone.
    fn release(&mut self, node: NodeIndex, fate: impl Fn(Dependency) -> Option<Blocked>) -> Vec<NodeIndex> {
        let mut freed = Vec::new();
        for (after, why) in self.graph.dependents(node) {
            let at = after.index();
            self.blocked[at] = worse(self.blocked[at], fate(why));
            self.waiting[at] -= 1;
            if self.waiting[at] == 0 {
                freed.push(after);
            }
        }
        freed
    }

    /// Nodes with nothing left to wait for: steps are sorted by fate, barriers fall at once.
    fn open_nodes(&mut self, mut nodes: Vec<NodeIndex>) {
        while let Some(node) = nodes.pop() {
            let blocked = self.blocked[node.index()];
            match self.graph.kind(node) {
                GraphNode::Step(position) => match blocked {
                    Some(blocked) => self.stuck.push((position, blocked)),
                    None => self.ready.push(Reverse(position)),
                },
                GraphNode::Barrier => {
                    let freed = self.release(node, |_| {
                        blocked.filter(|blocked| matches!(blocked, Blocked::AfterFailed(_)))
                    });
                    nodes.extend(freed);
                }
            }
        }
    }
}

/// A failure is worse than a skipped step; of two alike the first in the file is named.
fn worse(a: Option<Blocked>, b: Option<Blocked>) -> Option<Blocked> {
    use Blocked::{AfterFailed, ReadsSkipped};
    match (a, b) {
        (Some(AfterFailed(a)), Some(AfterFailed(b))) => Some(AfterFailed(a.min(b))),
        (Some(AfterFailed(at)), _) | (_, Some(AfterFailed(at))) => Some(AfterFailed(at)),
        (Some(ReadsSkipped(a)), Some(ReadsSkipped(b))) => Some(ReadsSkipped(a.min(b))),
        (one, None) => one,
        (None, one) => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::StepId;

    fn graph(steps: i64, edges: &[(usize, usize, Dependency)]) -> StepGraph {
        let ids: Vec<StepId> = (0..steps).map(StepId::integer).collect();
        let mut graph = StepGraph::new(&ids);
        for &(before, after, why) in edges {
            graph.add_edge(graph.node(before), graph.node(after), why);
        }
        graph
    }

    #[test]
    fn a_step_is_ready_when_its_last_dependency_ends_and_the_first_in_the_file_goes_first() {
        let graph =
            graph(4, &[(0, 2, Dependency::Data), (1, 2, Dependency::Order), (2, 3, Dependency::Order)]);
        let mut frontier = Frontier::new(&graph);
        assert_eq!([frontier.next_ready(), frontier.next_ready()], [Some(0), Some(1)]);
        frontier.end(1, End::Done);
        assert_eq!(frontier.next_ready(), None);
        frontier.end(0, End::Done);
        assert_eq!(frontier.next_ready(), Some(2));
        frontier.end(2, End::Done);
        frontier.end(3, End::Done);
        assert!(frontier.is_done());
    }

    #[test]
    fn a_skipped_step_satisfies_order_but_not_data() {
        let graph = graph(3, &[(0, 1, Dependency::Data), (0, 2, Dependency::Order)]);
        let mut frontier = Frontier::new(&graph);
        frontier.end(0, End::Skipped);
        assert_eq!(frontier.take_stuck(), [(1, Blocked::ReadsSkipped(0))]);
        assert!(std::iter::from_fn(|| frontier.next_ready()).any(|at| at == 2));
    }

    #[test]
    fn a_failure_passes_through_barriers_and_a_skipped_step_does_not() {
        for (end, stuck) in [(End::Failed, 1), (End::Skipped, 0)] {
            let mut graph = graph(2, &[]);
            let barrier = graph.add_barrier();
            graph.add_edge(graph.node(0), barrier, Dependency::Order);
            graph.add_edge(barrier, graph.node(1), Dependency::Order);
            let mut frontier = Frontier::new(&graph);
            assert_eq!(frontier.next_ready(), Some(0));
            frontier.end(0, end);
            assert_eq!(frontier.take_stuck().len(), stuck);
            assert_eq!(frontier.next_ready().is_some(), stuck == 0);
        }
    }
}
