//! From a checked document to a [`Workflow`]: nothing here can fail any more.
//!
//! Main function: [`lower`]. Every field is present and right, or missing where it may be.

use std::path::Path;

use indexmap::IndexMap;

use super::steps::Parts;
use crate::document::{Document, Field, ModelDoc, ReplanDoc, ReplanWhen, StepDoc, StepType};
use crate::id::ToolName;
use crate::source::Source;
use crate::spec::ToolSpec;
use crate::template::Template;
use crate::workflow::{
    Action, Input, Limits, ModelSettings, Origin, Plan, Replan, Retry, Step, StepGraph, Workflow,
};

/// What the checks made of a document.
pub(super) struct Checked {
    pub task: Option<Template>,
    pub system: Option<Template>,
    pub inputs: IndexMap<String, Input>,
    pub tools: Vec<ToolSpec>,
    /// The steps' parts by position in the document, the graph, and the order of the steps.
    pub plan: Option<(Vec<Parts>, StepGraph, Vec<usize>)>,
}

/// The workflow of a document without errors.
pub(super) fn lower(source: &Source, document: &Document, origin: Origin, checked: Checked) -> Workflow {
    let own = origin == Origin::Person;
    let plan = checked.plan.map(|(parts, graph, order)| {
        let docs = document.steps.get().map(Vec::as_slice).unwrap_or_default();
        let mut parts: Vec<Option<Parts>> = parts.into_iter().map(Some).collect();
        let steps = order.iter().filter_map(|at| Some(step(&docs[*at], parts[*at].take()?, origin)));
        Plan { steps: steps.collect(), graph, origin }
    });
    Workflow {
        name: document.name.get().cloned().unwrap_or_else(|| stem(source.name())),
        description: document.description.get().cloned(),
        task: checked.task,
        system: checked.system,
        model: document.model.get().filter(|_| own).map(model),
        inputs: checked.inputs,
        env: if own { document.env.iter().map(|name| name.value.clone()).collect() } else { Vec::new() },
        tools: checked.tools,
        limits: if own { limits(document) } else { Limits::default() },
        replan: document.replan.get().filter(|_| own).and_then(replan),
        plan,
    }
}

fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    stem.trim_matches(['<', '>']).to_owned()
}

fn model(model: &ModelDoc) -> ModelSettings {
    // Both were parsed by the checks already.
    let template = |field: &Field<String>| field.get().and_then(|text| Template::parse(text).ok());
    ModelSettings {
        name: template(&model.name).unwrap_or_else(|| Template::literal("offline")),
        base_url: template(&model.base_url),
        temperature: model.temperature.get().copied(),
        max_tokens: model.max_tokens.get().copied(),
        seed: model.seed.get().copied(),
        timeout: model.timeout.get().copied(),
    }
}

fn replan(replan: &ReplanDoc) -> Option<Replan> {
    let after_each = *replan.when.get()? == ReplanWhen::AfterEach;
    Some(Replan { after_each, limit: replan.limit.get().copied().unwrap_or(Replan::LIMIT) })
}

fn limits(document: &Document) -> Limits {
    let limits = &document.limits;
    let default = Limits::default();
    let size = |field: &Field<u64>, default: usize| {
        field.get().map_or(default, |size| usize::try_from(*size).unwrap_or(usize::MAX))
    };
    Limits {
        timeout: limits.timeout.get().copied(),
        max_tokens: limits.max_tokens.get().copied(),
        max_steps: limits.max_steps.get().copied(),
        max_result_chars: size(&limits.max_result_chars, default.max_result_chars),
        max_output_bytes: size(&limits.max_output_bytes, default.max_output_bytes),
    }
}

fn step(doc: &StepDoc, parts: Parts, origin: Origin) -> Step {
    let own = origin == Origin::Person;
    let output_schema = parts.output_schema;
    let action = match doc.kind.get() {
        Some(StepType::Reasoning) => Action::Reasoning { output_schema },
        Some(StepType::Aggregate) => Action::Aggregate {
            inputs: doc.inputs.get().into_iter().flatten().map(|id| id.value.clone()).collect(),
            output_schema,
        },
        Some(StepType::ToolCall) | None => Action::ToolCall {
            tool: ToolName::new(doc.tool.get().map(String::as_str).unwrap_or_default()),
            args: parts.args,
        },
    };
    let retry = doc.retry.get().filter(|_| own);
    Step {
        id: match doc.id.get() {
            Some(id) => id.clone(),
            None => panic!("bug: a step without an id passed the checks"),
        },
        description: parts.description,
        depends_on: doc.depends_on.get().map(|ids| ids.iter().map(|id| id.value.clone()).collect()),
        when: parts.when,
        expect: parts.expect,
        retry: retry.map_or_else(Retry::default, |retry| Retry {
            max_attempts: retry.max_attempts.get().copied(),
            delay: retry.delay.get().copied(),
            max_delay: retry.max_delay.get().copied(),
        }),
        timeout: doc.timeout.get().copied().filter(|_| own),
        action,
    }
}
