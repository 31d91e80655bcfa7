//! The one door: a text becomes a [`Workflow`] if every check holds, else diagnostics.
//!
//! A person's file, a model's plan and a revised plan all enter here: [`load`] reads and checks a text,
//! [`check`] a document that was read. Checks run nothing and need no network. One file per family of
//! checks.

mod arguments;
mod effect;
mod graph;
mod ignore;
mod inputs;
mod lower;
mod models;
mod names;
mod plans;
mod references;
mod reply;
mod schemas;
mod security;
mod steps;
mod templates;
mod tools;
mod trail;
mod types;
mod uses;

pub use inputs::{Bound, bind_inputs};
pub use models::Provider;

use serde_json::{Map, Value};

use self::graph::Order;
use self::lower::Checked;
use self::steps::Steps;
use self::templates::{Readable, Texts};
use self::tools::Tools;
use self::trail::Trail;
use self::types::Types;
use self::uses::Uses;
use crate::diagnostic::{Diagnostic, sort};
use crate::document::{Document, Field, read};
use crate::source::Source;
use crate::spec::ToolSpec;
use crate::template::Template;
use crate::workflow::{Origin, Workflow};

/// What a document may use besides what it declares.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Tools in scope everywhere (math), and for a model's plan those its file declares.
    pub tools: Vec<ToolSpec>,
    /// Tools in scope only where something names them: the other built-ins.
    pub named: Vec<ToolSpec>,
    /// The providers of models there are; none where that is not to be checked.
    pub providers: Vec<Provider>,
    /// Names of the environment variables that are set, as far as providers need them; `None` where
    /// that does not matter.
    pub credentials: Option<Vec<String>>,
    /// The task a model was given to plan: literals in it are the author's.
    pub task: Option<String>,
    /// Values of the inputs, as a model's plan may hold them.
    pub inputs: Map<String, Value>,
}

/// What came of a text.
#[derive(Debug, Default)]
pub struct Loaded {
    /// There if no diagnostic is an error.
    pub workflow: Option<Workflow>,
    /// Sorted by place.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings that a comment in the text silences.
    pub silenced: Vec<Diagnostic>,
    /// Honest repairs made to a model's text, each in a short phrase.
    pub repairs: Vec<String>,
}

/// Reads and checks a text: a file, or a model's reply, which is JSON with honest repairs.
pub fn load(source: &Source, scope: &Scope, origin: Origin) -> Loaded {
    if origin == Origin::Model {
        return reply::load(source, scope);
    }
    let (document, mut diagnostics) = read(source);
    let mut loaded = match document {
        Some(document) => check_read(source, &document, scope, origin, uses::hide(&diagnostics)),
        None => Loaded::default(),
    };
    if diagnostics.iter().any(Diagnostic::is_error) {
        loaded.workflow = None;
    }
    loaded.diagnostics.append(&mut diagnostics);
    sort(&mut loaded.diagnostics);
    loaded.silenced = ignore::silence(source, &mut loaded.diagnostics);
    loaded
}

/// Checks a document that was read from a source. What the reader found is not among the diagnostics;
/// a document with a field that was reported gives no workflow.
pub fn check(source: &Source, document: &Document, scope: &Scope, origin: Origin) -> Loaded {
    check_read(source, document, scope, origin, false)
}

/// The same, where the reader may have found something that hides what is used.
fn check_read(source: &Source, document: &Document, scope: &Scope, origin: Origin, hidden: bool) -> Loaded {
    let mut repairs = Vec::new();
    let own = origin == Origin::Person;
    if !own {
        drop_sections(document, &mut repairs);
    }
    let inputs: Vec<&str> =
        document.inputs.iter().filter(|_| own).map(|input| input.name.value.as_str()).collect();
    let env = document.env.iter().filter(|_| own).map(|name| name.value.as_str()).collect();
    let mut texts = Texts::new(source, &inputs, env, document.gaps);

    let mut tools = Tools::of_program(scope.tools.iter().chain(scope.named.iter().filter(|_| own)));
    tools.incomplete = document.gaps.tools && own;
    let mut checked_inputs = indexmap::IndexMap::new();
    let (task, system);
    if own {
        let program: Vec<&ToolSpec> = scope.tools.iter().chain(&scope.named).collect();
        tools.declare(document, &program, &mut texts);
        checked_inputs = inputs::check_inputs(document, &mut texts.found);
        models::check_model(document, scope, &mut texts.found);
        security::check_secrets(source, document, &mut texts.found);
        heads(document, &mut texts);
        task = prompt(&document.task, "task", &mut texts);
        system = prompt(&document.system, "system", &mut texts);
    } else {
        task = document.task.get().map(|text| Template::literal(text));
        system = None;
    }

    let warn = |texts: &Texts<'_>| own && !hidden && !uses::hide(&texts.found);
    let mut plan = None;
    let mut ordered = true;
    if let Some(docs) = document.steps.get() {
        let mut steps = Steps { texts: &mut texts, tools: &tools, origin, repairs: &mut repairs };
        let root = Trail::root(document.steps_key);
        let checked = docs.iter().enumerate().map(|(at, step)| steps.check(step, &root.index(at)));
        let (parts, nodes): (Vec<_>, Vec<_>) = checked.unzip();
        let order = Order::check(&nodes, document.steps_key, origin, &mut texts.found);
        let graph = order.graph(&mut texts.found);
        let types =
            Types { nodes: &nodes, parts: &parts, order: &order, tools: &tools, inputs: &checked_inputs };
        types.check(document.steps_key, &mut texts.found);
        match graph {
            Some((graph, sorted)) => {
                if warn(&texts) {
                    let uses =
                        Uses { nodes: &nodes, parts: &parts, order: &order, graph: &graph, tools: &tools };
                    uses.unused_tools(document, &mut texts.found);
                    let cancelled = uses.cancelled(&mut texts.found);
                    uses.unread(document.steps_key, &cancelled, &mut texts.found);
                    uses::unused_inputs(document, Some(&uses), &mut texts);
                }
                plan = Some((parts, graph, sorted));
            }
            None => ordered = false,
        }
    } else if warn(&texts) && document.steps.is_missing() {
        uses::unused_inputs(document, None, &mut texts);
    }

    let mut diagnostics = texts.found;
    sort(&mut diagnostics);
    let whole = ordered && is_whole(document) && !diagnostics.iter().any(Diagnostic::is_error);
    let checked = Checked { task, system, inputs: checked_inputs, tools: tools.declared, plan };
    let workflow = whole.then(|| lower::lower(source, document, origin, checked));
    Loaded { workflow, diagnostics, silenced: Vec::new(), repairs }
}

/// Whether nothing that a workflow cannot be without was reported by the reader.
fn is_whole(document: &Document) -> bool {
    let step = |step: &crate::document::StepDoc| {
        step.id.get().is_some() && step.kind.get().is_some() && !step.tool.is_reported()
    };
    !document.steps.is_reported() && document.steps.get().is_none_or(|steps| steps.iter().all(step))
}

/// A model plans steps; everything else in its reply is not for it to say.
fn drop_sections(document: &Document, repairs: &mut Vec<String>) {
    let sections = [
        ("tools", !document.tools.is_empty()),
        ("inputs", !document.inputs.is_empty()),
        ("env", !document.env.is_empty()),
        ("model", !document.model.is_missing()),
        ("system", !document.system.is_missing()),
        ("limits", !document.limits.is_empty()),
        ("replan", !document.replan.is_missing()),
    ];
    for (key, _) in sections.into_iter().filter(|(_, there)| *there) {
        repairs.push(format!("dropped `{key}`"));
    }
}

fn prompt(field: &Field<String>, key: &str, texts: &mut Texts<'_>) -> Option<Template> {
    let text = field.spanned()?;
    texts.template(&text.value, text.span, &Trail::root(key), Readable::PROMPT)
}

/// The texts at the head of a file: what it is called is no template, how the model is reached may be.
fn heads(document: &Document, texts: &mut Texts<'_>) {
    for (key, field) in [("name", &document.name), ("description", &document.description)] {
        if let Some(text) = field.spanned() {
            let why = "the name and description of a workflow are no templates";
            texts.plain(text, &Trail::root(key), why, templates::RAW);
        }
    }
    if let Some(model) = document.model.get() {
        let trail = Trail::root("model");
        for (key, field) in [("name", &model.name), ("base_url", &model.base_url)] {
            if let Some(text) = field.spanned() {
                texts.template(&text.value, text.span, &trail.key(key), Readable::MODEL);
            }
        }
    }
}
