//! The decision in a model's reply: found and read with the repairs of a plan, and checked against the run.
//!
//! Main function: [`read_decision`]. New steps enter by the door of every plan, behind stand-ins for the
//! steps there are. What is wrong comes back as lines for the model. Asks nobody.

use serde_json::{Map, Value, json};

use super::situation::Situation;
use crate::document::reply;
use crate::event::Change;
use crate::id::StepId;
use crate::load::{Loaded, Scope, load};
use crate::run::Status;
use crate::source::Source;
use crate::spec::ToolSpec;
use crate::workflow::form::plan_json;
use crate::workflow::{Action, Arg, Dependency, GraphNode, Origin, Plan};

/// What a model decides.
#[derive(Clone, Debug)]
pub(super) enum Decision {
    Change { change: Change, reason: String },
    Ask { question: String },
}

/// The decision in a reply, with what was mended to read it; or everything that is wrong with it.
pub(super) fn read_decision(
    source: &Source,
    situation: &Situation<'_>,
) -> Result<(Decision, Vec<String>), Vec<String>> {
    let (object, mut repairs) = find(source)?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::trim).filter(|it| !it.is_empty());
    let name = text("decision").unwrap_or_default();
    let mut wrong = Vec::new();
    let own = match name {
        "retry" => "args",
        "replace" | "cancel" => "steps",
        "reorder" => "order",
        "ask" => "question",
        _ => "",
    };
    let foreign = object.keys().filter(|key| !["decision", "reason", own].contains(&key.as_str()));
    repairs.extend(foreign.map(|key| format!("dropped `{key}`")));
    let change = match name {
        "continue" => Ok(Change::Continue),
        "retry" => retry(&object, situation),
        "replace" => replace(&object, situation),
        "reorder" => reorder(&object, situation),
        "cancel" => cancel(&object, situation),
        "ask" => match text("question") {
            Some(question) => return Ok((Decision::Ask { question: question.to_owned() }, repairs)),
            None => Err(vec!["\"ask\" needs a \"question\"".to_owned()]),
        },
        other => Err(vec![format!(
            "{} is no decision: it is one of continue, retry, replace, reorder, cancel, ask",
            json!(other)
        )]),
    };
    let reason = text("reason");
    if reason.is_none() {
        wrong.push("\"reason\" is missing: say why, in a sentence".to_owned());
    }
    match (change, reason) {
        (Ok(change), Some(reason)) => Ok((Decision::Change { change, reason: reason.to_owned() }, repairs)),
        (change, _) => {
            wrong.extend(change.err().unwrap_or_default());
            Err(wrong)
        }
    }
}

/// An object of a reply, and what was mended to read it.
type Found = (Map<String, Value>, Vec<String>);

/// The one object that is a decision.
fn find(source: &Source) -> Result<Found, Vec<String>> {
    let reading = reply::read(source);
    let mut found: Vec<Found> = Vec::new();
    for candidate in &reading.candidates {
        let Value::Object(object) = candidate.node.to_json() else { continue };
        if !object.contains_key("decision") || found.iter().any(|(other, _)| *other == object) {
            continue;
        }
        if !candidate.duplicates.is_empty() {
            return Err(candidate.duplicates.iter().map(|one| one.message.clone()).collect());
        }
        found.push((object, candidate.repairs.iter().map(|repair| repair.as_str().to_owned()).collect()));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let why = reading.failure.map(|failure| format!(": {}", failure.message)).unwrap_or_default();
            Err(vec![format!("the reply has no JSON object with a \"decision\"{why}")])
        }
        several => Err(vec![format!("the reply holds {several} different decisions: send one")]),
    }
}

fn retry(object: &Map<String, Value>, situation: &Situation<'_>) -> Result<Change, Vec<String>> {
    let state = situation.step();
    if !situation.has_failed() {
        return Err(vec![format!("step {} has not failed, so there is nothing to retry", state.id)]);
    }
    let args = match object.get("args") {
        None | Some(Value::Null) => return Ok(Change::Retry { args: None }),
        Some(Value::Object(args)) => args,
        Some(_) => return Err(vec!["\"args\" has to be an object".to_owned()]),
    };
    let Some(tool) = &state.tool else {
        return Err(vec![format!("step {} calls no tool, so it has no \"args\"", state.id)]);
    };
    let step = json!({"id": state.id.to_json(), "description": state.title, "tool": tool, "args": args});
    let (plan, at) = enter(vec![step], situation, Some(&state.id))?;
    // What loads may have been mended, as a plan's arguments are.
    let step = &plan_json(&plan)["steps"][at];
    Ok(Change::Retry { args: step["args"].as_object().cloned() })
}

fn replace(object: &Map<String, Value>, situation: &Situation<'_>) -> Result<Change, Vec<String>> {
    let steps = match object.get("steps") {
        Some(Value::Array(steps)) if !steps.is_empty() => steps.clone(),
        _ => return Err(vec!["\"replace\" needs \"steps\": a list of the new steps".to_owned()]),
    };
    let (plan, first) = enter(steps, situation, None)?;
    let Value::Array(steps) = plan_json(&plan)["steps"].take() else {
        unreachable!("bug: a plan in JSON has a list of steps")
    };
    Ok(Change::Replace { steps: steps.into_iter().skip(first).collect() })
}

fn reorder(object: &Map<String, Value>, situation: &Situation<'_>) -> Result<Change, Vec<String>> {
    let first = ids(object, "order", situation)?;
    let open =
        situation.view.state.steps.iter().filter(|step| situation.is_open(step) && !first.contains(&step.id));
    // A failed step that is not named is given up, as by `continue`.
    let rest = open.filter(|step| step.status == Status::Pending).map(|step| step.id.clone());
    let order: Vec<StepId> = first.iter().cloned().chain(rest).collect();
    let graph = &situation.view.plan.graph;
    let mut wrong = Vec::new();
    for (place, id) in order.iter().enumerate() {
        let Some(at) = graph.position(id) else { continue };
        for (before, _) in graph.dependencies(graph.node(at)).filter(|(_, why)| *why == Dependency::Data) {
            let GraphNode::Step(before) = graph.kind(before) else { continue };
            let read = &situation.view.plan.steps[before].id;
            if order.iter().position(|other| other == read).is_some_and(|other| other > place) {
                wrong.push(format!("step {id} reads the result of step {read}, so it cannot run before it"));
            }
        }
    }
    if wrong.is_empty() { Ok(Change::Reorder { order }) } else { Err(wrong) }
}

fn cancel(object: &Map<String, Value>, situation: &Situation<'_>) -> Result<Change, Vec<String>> {
    Ok(Change::Cancel { steps: ids(object, "steps", situation)? })
}

/// A list of ids of steps that may still be changed.
fn ids(
    object: &Map<String, Value>,
    key: &str,
    situation: &Situation<'_>,
) -> Result<Vec<StepId>, Vec<String>> {
    let list = match object.get(key) {
        Some(Value::Array(list)) if !list.is_empty() => list,
        _ => return Err(vec![format!("\"{key}\" has to be a list of ids of steps")]),
    };
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for id in list {
        match serde_json::from_value::<StepId>(id.clone()).ok().and_then(|id| situation.view.state.step(&id))
        {
            None => wrong.push(format!("\"{key}\" names {id}, and there is no such step")),
            Some(step) if !situation.is_open(step) => wrong.push(format!(
                "\"{key}\" names step {}, which is {} and stays so",
                step.id,
                step.status.as_str()
            )),
            Some(step) if found.contains(&step.id) => {
                wrong.push(format!("\"{key}\" names step {} twice", step.id));
            }
            Some(step) => found.push(step.id.clone()),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

/// New steps by the door of every plan, behind stand-ins for the steps there are but one: the whole, and
/// the position of the first new step.
fn enter(
    steps: Vec<Value>,
    situation: &Situation<'_>,
    but: Option<&StepId>,
) -> Result<(Plan, usize), Vec<String>> {
    let there = situation.view.plan.steps.iter().map(|step| &step.id).filter(|id| Some(*id) != but);
    let (plan, first) = combined(there, steps, &situation.tools)?;
    let mut wrong = Vec::new();
    for step in plan.steps.iter().skip(first) {
        let mut named = Vec::new();
        if let Action::ToolCall { args: Some(args), .. } = &step.action {
            args.values().for_each(|arg| references(arg, &mut named));
        }
        if let Action::Aggregate { inputs, .. } = &step.action {
            named.extend(inputs.iter().cloned());
        }
        named.extend(step.depends_on.iter().flatten().cloned());
        let given_up = |id: &&StepId| {
            situation
                .view
                .state
                .step(id)
                .is_some_and(|step| Some(&step.id) != but && step.status != Status::Done)
        };
        wrong.extend(named.iter().filter(given_up).map(|id| {
            format!("step {} refers to step {id}, which is not done and will give no result", step.id)
        }));
    }
    if wrong.is_empty() { Ok((plan, first)) } else { Err(wrong) }
}

/// Loads stand-ins and new steps as one plan.
pub(super) fn combined<'a>(
    there: impl Iterator<Item = &'a StepId>,
    steps: impl IntoIterator<Item = Value>,
    tools: &[ToolSpec],
) -> Result<(Plan, usize), Vec<String>> {
    let stand_in =
        |id: &StepId| json!({"id": id.to_json(), "type": "reasoning", "description": "There already"});
    let mut all: Vec<Value> = there.map(stand_in).collect();
    let first = all.len();
    all.extend(steps);
    let source = Source::new("<revision>", json!({"steps": all}).to_string());
    let scope = Scope { tools: tools.to_vec(), ..Scope::default() };
    let Loaded { workflow, diagnostics, .. } = load(&source, &scope, Origin::Model);
    match workflow.and_then(|workflow| workflow.plan) {
        Some(plan) => Ok((plan, first)),
        None => Err(diagnostics.iter().filter(|one| one.is_error()).map(|one| line(one, first)).collect()),
    }
}

fn references(arg: &Arg, found: &mut Vec<StepId>) {
    match arg {
        Arg::Reference(reference) => found.push(reference.step.clone()),
        Arg::List(items) => items.iter().for_each(|item| references(item, found)),
        Arg::Object(entries) => entries.values().for_each(|item| references(item, found)),
        Arg::Value(_) | Arg::Template(_) => {}
    }
}

/// A mistake as the model is told of it: its place in the list the model wrote.
fn line(one: &crate::diagnostic::Diagnostic, first: usize) -> String {
    let place =
        one.path.strip_prefix("steps[").and_then(|rest| rest.split_once(']')).and_then(|(at, rest)| {
            let at = at.parse::<usize>().ok()?.checked_sub(first)?;
            Some(format!("steps[{at}]{rest}: "))
        });
    let help = one.help.as_ref().map(|help| format!(". {help}")).unwrap_or_default();
    format!("{}{} ({}){help}", place.unwrap_or_default(), one.message, one.code)
}
