//! Warnings about what is there and does nothing: results nobody reads, steps cancelled along with
//! others, tools nobody calls, inputs nothing reads.
//!
//! Main type: [`Uses`]. Looks at a whole plan without a mistake that could hide a use; when in doubt it
//! is silent.

use std::collections::HashSet;

use super::graph::{Node, Order};
use super::steps::Parts;
use super::templates::Texts;
use super::tools::Tools;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::{Document, StepDoc, StepType};
use crate::id::{ModelName, StepId};
use crate::spec::Effect;
use crate::workflow::{Dependency, StepGraph};

/// Errors behind which no use can be hidden: the names around them were all read.
const HARMLESS: [Code; 11] = [
    Code::InvalidDuration,
    Code::InvalidSchema,
    Code::DuplicateTool,
    Code::MissingArgument,
    Code::UnknownArgument,
    Code::ArgumentType,
    Code::InvalidPointer,
    Code::InputType,
    Code::UnknownProvider,
    Code::SecretInFile,
    Code::UndeclaredEnv,
];

/// Most conditions kept for one step: more would say no more.
const CONDITIONS: usize = 4;

/// Whether something that was found may hide a use.
pub(super) fn hide(found: &[Diagnostic]) -> bool {
    found.iter().any(|one| one.is_error() && !HARMLESS.contains(&one.code))
}

/// The steps of a plan with what they use.
pub(super) struct Uses<'c, 'd> {
    pub nodes: &'c [Node<'d>],
    pub parts: &'c [Parts],
    pub order: &'c Order<'d, 'c>,
    pub graph: &'c StepGraph,
    pub tools: &'c Tools<'d>,
}

/// Inputs that nothing reads.
pub(super) fn unused_inputs(document: &Document, plan: Option<&Uses<'_, '_>>, texts: &mut Texts<'_>) {
    let unread =
        |name: &str| !texts.reads_input(name) && !plan.is_some_and(|plan| plan.fills(document, name));
    let unread: Vec<_> = document.inputs.iter().filter(|input| unread(&input.name.value)).collect();
    for input in unread {
        let name = &input.name.value;
        let message = format!("nothing reads the input `{name}`");
        let help = format!("put `{{{{ inputs.{name} }}}}` where it is meant, or take it out");
        let one = Diagnostic::new(Code::UnusedInput, input.name.span, message);
        texts.found.push(one.path(format!("inputs.{name}")).help(help));
    }
}

impl Uses<'_, '_> {
    /// Tools no step calls.
    pub fn unused_tools(&self, document: &Document, found: &mut Vec<Diagnostic>) {
        let called: HashSet<&str> =
            self.nodes.iter().filter_map(|node| Some(node.step.tool.get()?.as_str())).collect();
        let reported: HashSet<usize> =
            found.iter().filter(|one| one.code == Code::DuplicateTool).map(|one| one.span.start).collect();
        for tool in &document.tools {
            let name = tool.name.value.as_str();
            if called.contains(name) || reported.contains(&tool.name.span.start) {
                continue;
            }
            let message = format!("no step calls the tool `{name}`");
            let one = Diagnostic::new(Code::UnusedTool, tool.name.span, message);
            found.push(one.path(format!("tools.{name}")).help("call it in a step, or take it out"));
        }
    }

    /// Steps that read what may not be there; per step, whether it may be cancelled by a condition.
    pub fn cancelled(&self, found: &mut Vec<Diagnostic>) -> Vec<bool> {
        // Per step: the steps whose conditions can cancel it, itself among them.
        let mut fates: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for at in self.order.sorted() {
            let own = self.parts[at].when.as_ref();
            let mut fate: Vec<usize> = own.map(|_| at).into_iter().collect();
            let ours: HashSet<String> = own.map(|when| conjuncts(when.text())).unwrap_or_default();
            let mut told = HashSet::new();
            for named in self.nodes[at].named.iter().filter(|named| named.why == Dependency::Data) {
                let Some(other) = self.order.position(&named.id).filter(|other| told.insert(*other)) else {
                    continue;
                };
                let open = fates[other].iter().find(|root| !self.covers(&ours, **root));
                if let Some(root) = open {
                    found.push(self.cancellation(other, *root, named));
                }
                for root in &fates[other] {
                    if fate.len() < CONDITIONS
                        && !fate.iter().any(|known| self.when(*known) == self.when(*root))
                    {
                        fate.push(*root);
                    }
                }
            }
            fates[at] = fate;
        }
        fates.iter().map(|fate| !fate.is_empty()).collect()
    }

    /// Steps whose results nothing can see.
    pub fn unread(&self, key: &str, cancelled: &[bool], found: &mut Vec<Diagnostic>) {
        let mut read = self.shown();
        for node in self.nodes {
            // Also who is only waited for: a check that fails stops what comes after it.
            for named in &node.named {
                if let Some(at) = self.order.position(&named.id) {
                    read[at] = true;
                }
            }
        }
        // The result of the run is that of the last step that is done.
        let last = cancelled.iter().rposition(|cancelled| !cancelled).unwrap_or(0);
        read[last..].fill(true);
        let root = Trail::root(key);
        for (at, node) in self.nodes.iter().enumerate().filter(|(at, _)| !read[*at]) {
            let Some(id) = node.step.id.spanned().filter(|_| self.is_for_its_result(node.step)) else {
                continue;
            };
            let message = format!("nothing reads the result of step `{}`", id.value);
            let help = format!(
                "refer to it where it is needed (`{{step_result: {}}}`), or take the step out",
                id.value.to_json()
            );
            let one = Diagnostic::new(Code::UnreadResult, id.span, message);
            found.push(one.path(root.index(at).key("id").to_string()).help(help));
        }
    }

    /// The steps that some step which asks the model sees.
    fn shown(&self) -> Vec<bool> {
        let mut seen = vec![false; self.graph.node_count()];
        let asking = self.nodes.iter().enumerate().filter(|(_, node)| self.asks(node.step));
        let mut stack: Vec<_> = asking.map(|(at, _)| self.graph.node(at)).collect();
        while let Some(node) = stack.pop() {
            for (before, _) in self.graph.dependencies(node) {
                if !std::mem::replace(&mut seen[before.index()], true) {
                    stack.push(before);
                }
            }
        }
        (0..self.nodes.len()).map(|at| seen[self.graph.node(at).index()]).collect()
    }

    /// Whether the model is asked for this step.
    fn asks(&self, step: &StepDoc) -> bool {
        match step.kind.get() {
            Some(StepType::ToolCall) => {
                let takes_none =
                    step.tool.get().and_then(|name| self.tools.get(name)).map(|tool| tool.takes_none);
                step.args.is_missing() && takes_none != Some(true)
            }
            _ => true,
        }
    }

    /// Whether there is no reason for a step but its result.
    fn is_for_its_result(&self, step: &StepDoc) -> bool {
        match step.kind.get() {
            Some(StepType::ToolCall) => {
                let tool = step.tool.get().and_then(|name| self.tools.get(name));
                tool.is_some_and(|tool| tool.effect == Some(Effect::Read))
            }
            Some(_) => true,
            None => false,
        }
    }

    /// Whether `offline`, which takes arguments from inputs of the same name, may use this one.
    fn fills(&self, document: &Document, input: &str) -> bool {
        let model = document.model.get().and_then(|model| model.name.get());
        model.is_some_and(|name| ModelName::new(name.as_str()).provider() == "offline")
            && self.nodes.iter().filter(|node| self.asks(node.step)).any(|node| {
                let tool = node.step.tool.get().and_then(|name| self.tools.get(name));
                let parameters = tool.and_then(|tool| tool.parameters.as_ref()?.get("properties"));
                parameters.is_some_and(|properties| properties.get(input).is_some())
            })
    }

    /// Whether a step with these conditions runs only when the condition of `root` holds as well.
    fn covers(&self, ours: &HashSet<String>, root: usize) -> bool {
        !ours.is_empty() && conjuncts(self.when(root)).iter().all(|part| ours.contains(part))
    }

    fn when(&self, at: usize) -> &str {
        self.parts[at].when.as_ref().map_or("", |when| when.text())
    }

    fn id(&self, at: usize) -> &str {
        self.nodes[at].step.id.get().map_or("?", StepId::as_str)
    }

    fn cancellation(&self, other: usize, root: usize, named: &super::references::Named) -> Diagnostic {
        let when = spaced(self.when(root));
        let message = if other == root {
            format!("step `{}` runs only when `{when}`; otherwise this step is cancelled too", self.id(other))
        } else {
            format!(
                "step `{}` is cancelled unless step `{}` runs, which is only when `{when}`; then this step is \
                 cancelled too",
                self.id(other),
                self.id(root)
            )
        };
        let help = "give this step the same `when`, or do not read the result: a step that only comes after it \
                    runs either way";
        let one =
            Diagnostic::new(Code::MayBeCancelled, named.span, message).path(named.path.as_str()).help(help);
        match self.nodes[root].step.when.spanned() {
            Some(when) => one.related(when.span, "the condition"),
            None => one,
        }
    }
}

/// A condition with single blanks.
fn spaced(when: &str) -> String {
    when.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parts of a condition that must all hold; one part where that cannot be told from the text.
fn conjuncts(when: &str) -> HashSet<String> {
    let text = spaced(when);
    if [" or ", "(", " if "].iter().any(|mark| text.contains(mark)) {
        return HashSet::from([text]);
    }
    text.split(" and ").map(str::to_owned).collect()
}
