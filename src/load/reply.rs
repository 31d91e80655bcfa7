//! A model's reply becomes a plan: what is found in it is put into the shape of the format, checked, and
//! taken if it is the only plan there.
//!
//! Main function: [`load`]. Every repair is named; none changes a value or chooses for the model. Knows
//! no syntax: `document::reply` reads that.

mod shape;
mod steps;

use std::sync::Arc;

use serde_json::Value;

use self::shape::{Found, Search};
use self::steps::Normal;
use super::{Loaded, Scope, check, plans};
use crate::diagnostic::{Code, Diagnostic, sort};
use crate::document::node::{Entry, Kind, Node};
use crate::document::reply::{Reading, read};
use crate::document::{Document, lower};
use crate::source::{Source, Span};
use crate::workflow::{Origin, Workflow};

/// Most plans of one reply that are looked at.
const MAX_PLANS: usize = 16;

/// A plan that was found, in the shape of the format, with what checking it gave.
struct Plan {
    /// Its steps without what does not matter to a run.
    essence: Value,
    span: Span,
    steps: usize,
    loaded: Loaded,
}

/// Reads and checks a model's reply.
pub fn load(source: &Source, scope: &Scope) -> Loaded {
    let reading = read(source);
    let mut search = Search::new(source);
    for candidate in &reading.candidates {
        search.look_into(candidate);
    }
    let mut plans: Vec<Plan> = Vec::new();
    let mut twice = false;
    for found in search.found.into_iter().take(MAX_PLANS) {
        let (plan, document) = canonical(source, scope, found);
        if plans.iter().any(|other| other.essence == plan.essence) {
            twice = true;
            continue;
        }
        plans.push(checked(source, scope, plan, &document));
    }
    let mut loaded = choose(source, plans, &reading, search.hint);
    if twice {
        loaded.repairs.push("took a plan that stands there twice once".to_owned());
    }
    loaded
}

/// The one plan that loads, or why there is none.
fn choose(source: &Source, mut plans: Vec<Plan>, reading: &Reading, hint: Option<(Span, String)>) -> Loaded {
    let good: Vec<usize> = (0..plans.len()).filter(|at| plans[*at].loaded.workflow.is_some()).collect();
    if let Some(cut) =
        reading.cut.as_ref().filter(|_| good.is_empty() && plans.is_empty() || !good.is_empty())
    {
        let message = format!("the reply breaks off: {}", cut.message);
        let help = "send the whole plan again, shorter if need be";
        return refused(Diagnostic::new(Code::TruncatedReply, cut.span, message).help(help));
    }
    match good[..] {
        [only] => return plans.swap_remove(only).loaded,
        [first, second, ..] => {
            let message = format!("the reply holds {} different plans", good.len());
            let one = Diagnostic::new(Code::AmbiguousPlan, plans[second].span, message)
                .help("send one plan")
                .related(plans[first].span, "the first one");
            return refused(one);
        }
        [] => {}
    }
    // The one that is most of a plan is the one whose mistakes are worth mending.
    let best = (0..plans.len()).max_by_key(|at| {
        let errors = plans[*at].loaded.diagnostics.iter().filter(|one| one.is_error()).count();
        (plans[*at].steps, std::cmp::Reverse(errors), *at)
    });
    if let Some(best) = best {
        return plans.swap_remove(best).loaded;
    }
    let help = "the reply has to be one JSON object with a list of steps: {\"steps\": [...]}";
    let (span, found) = match (&reading.failure, hint) {
        (Some(failure), _) => (failure.span, format!(": {}", failure.message)),
        (None, Some((span, hint))) => (span, format!(": {hint}")),
        (None, None) if source.text().trim().is_empty() => (Span::at(0), ": it is empty".to_owned()),
        (None, None) => (Span::at(0), String::new()),
    };
    let message = format!("the reply has no object with a list of steps{found}");
    refused(Diagnostic::new(Code::NoPlan, span, message).help(help))
}

fn refused(diagnostic: Diagnostic) -> Loaded {
    Loaded { diagnostics: vec![diagnostic], ..Loaded::default() }
}

/// A found plan in the shape of the format.
fn canonical(source: &Source, scope: &Scope, found: Found) -> (Plan, Arc<Node>) {
    let mut normal = Normal::new(source, scope, &found.steps);
    let items: Vec<Arc<Node>> = match found.steps.as_list() {
        Some(items) => items.iter().map(|item| normal.step(item)).collect(),
        None => Vec::new(),
    };
    let essence = items.iter().map(|item| essence(item)).collect();
    let steps = items.len();
    let span = found.steps.span;
    let list = Arc::new(Node { span, kind: Kind::List(items) });
    let entry = Entry { key: "steps".into(), key_span: found.key, value: list };
    let document = Arc::new(Node { span: found.span, kind: Kind::Map(vec![entry]) });
    let mut loaded = Loaded::default();
    loaded.repairs.extend(found.repairs);
    loaded.repairs.extend(normal.repairs);
    loaded.diagnostics.extend(found.errors);
    loaded.diagnostics.extend(normal.errors);
    (Plan { essence, span: found.span, steps, loaded }, document)
}

fn checked(source: &Source, scope: &Scope, mut plan: Plan, root: &Arc<Node>) -> Plan {
    let (document, shape) = lower(root);
    let checks = check(source, &document, scope, Origin::Model);
    let loaded = &mut plan.loaded;
    loaded.repairs.extend(checks.repairs);
    loaded.repairs.dedup();
    if checks.workflow.as_ref().is_some_and(|workflow| is_sorted_anew(&document, workflow)) {
        loaded.repairs.push("put the steps in an order in which each comes after those it reads".to_owned());
    }
    let prose = plans::prose_references(&document, scope);
    // That a text is no number is no news where a reference was meant.
    let news = |one: &Diagnostic| {
        one.code != Code::ArgumentType || prose.iter().all(|reference| reference.span != one.span)
    };
    loaded.diagnostics.extend(shape);
    loaded.diagnostics.extend(checks.diagnostics.into_iter().filter(news));
    loaded.diagnostics.extend(prose);
    if !loaded.diagnostics.iter().any(Diagnostic::is_error) {
        loaded.workflow = checks.workflow;
        if let Some(workflow) = &loaded.workflow {
            loaded.diagnostics.extend(plans::hardcoded_values(&document, workflow, scope));
        }
    }
    sort(&mut loaded.diagnostics);
    plan
}

fn is_sorted_anew(document: &Document, workflow: &Workflow) -> bool {
    let (Some(written), Some(plan)) = (document.steps.get(), &workflow.plan) else { return false };
    written.iter().zip(&plan.steps).any(|(written, step)| written.id.get() != Some(&step.id))
}

/// What two texts of the same plan have in common: numbers by value, no descriptions.
fn essence(node: &Node) -> Value {
    match &node.kind {
        Kind::List(items) => items.iter().map(|item| essence(item)).collect(),
        Kind::Map(entries) => {
            let kept = entries.iter().filter(|entry| &*entry.key != "description");
            let mut pairs: Vec<_> =
                kept.map(|entry| (entry.key.to_string(), essence(&entry.value))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect())
        }
        _ => match node.to_json() {
            Value::Number(number) if number.as_f64().is_some_and(|value| value.abs() < 9e15) => {
                number.as_f64().into()
            }
            other => other,
        },
    }
}
