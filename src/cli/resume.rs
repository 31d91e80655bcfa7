//! `wf resume`: goes on with a run from its record.
//!
//! Main function: [`resume`]. What runs is what the record holds: text, inputs, plan and model; the file
//! it came from may have changed since, or be gone. How the run goes on is the executor's.

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;
use serde_json::Value;

use super::args::ResumeArgs;
use super::ground::{catalog, environment, models_plan, recorded_workflow, surroundings};
use super::model::{Wish, choose};
use super::outcome::print_result;
use super::session::Session;
use super::store::{begun, follow, store};
use super::{Exit, Streams, Trouble};
use crate::document::duration;
use crate::event::{Outcome, Started};
use crate::executor::{Decision, Resume, Setup, Stop};
use crate::id::StepId;
use crate::run::{Record, RunState};
use crate::source::Source;
use crate::tool::Catalog;

pub fn resume(args: &ResumeArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    streams.quiet = args.voice.quiet;
    let store = store(streams)?;
    let run = store.find(&args.run)?;
    let mut record = Record::default();
    let journal = store.resume(&run, |event| follow(&mut record, &event, &store, &run))?;
    let Record { started, plan, changes, state } = record;
    let started = begun(started, &store, &run)?;
    let raised = limits(&args.raise)?;
    if let (Some(Outcome::Succeeded { .. }), None) = (&state.outcome, &args.from) {
        streams.remark(&format!(
            "run {run} has succeeded; `wf resume {run} --from STEP` runs again from a step"
        ));
        print_result(&state, streams)?;
        return Ok(Exit::Success);
    }
    say_if_changed(&started, streams);
    let workflow = recorded_workflow(&started, streams)?;
    let env = environment(&workflow, streams);
    let wish = args.model.as_deref().map_or(Wish::Record(&started.model), |name| Wish::Flag(Some(name)));
    let chosen = choose(wish, workflow.model.as_ref(), &started.inputs, &env, streams)?;
    let catalog = catalog(&workflow, surroundings(&started.place, &started.inputs, &env, streams))?;
    let plan = plan
        .filter(|_| workflow.plan.is_none())
        .map(|plan| models_plan(&plan, &workflow, &run))
        .transpose()?;
    let decisions = decisions(args, &state, &catalog)?;
    let from = args.from.as_deref().map(|step| known(step, &state)).transpose()?;
    let Started { text, place, inputs, task, .. } = *started;
    let setup = Setup {
        run,
        source: Source::new(place.file.as_deref().unwrap_or("<record>"), text.as_str()),
        place,
        workflow,
        inputs,
        task,
        model: chosen.model,
        settings: chosen.settings,
        catalog,
        jobs: args.jobs,
        stop: Stop::default(),
        resume: Some(Resume { state, plan, changes, raised, decisions, from }),
        instant: false,
    };
    let (show, voice) = (&args.show, args.voice);
    Session { setup, journal: Box::new(journal), recorded: true, show, voice, yes: args.yes }
        .carry_out(streams)
}

fn say_if_changed(started: &Started, streams: &mut Streams) {
    let Some(file) = &started.place.file else { return };
    match std::fs::read_to_string(Path::new(file)) {
        Ok(text) if text == started.text => {}
        Ok(_) => streams.remark(&format!(
            "{file} has changed since the run began; the run goes on with the text it began with (`wf run` takes the new one)"
        )),
        Err(_) => streams.remark(&format!("{file} is gone; the run goes on with the text it began with")),
    }
}

/// What a person says about calls that were under way.
fn decisions(
    args: &ResumeArgs,
    state: &RunState,
    catalog: &Catalog,
) -> Result<IndexMap<StepId, Decision>, Trouble> {
    let open = Resume::undecidable(state, catalog);
    let mut decisions = IndexMap::new();
    let rerun = args.rerun.iter().map(|step| (step, Decision::Rerun));
    let done = args.done.iter().map(|(step, text)| {
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
        (step, Decision::Done(value))
    });
    let fail = args.fail.iter().map(|step| (step, Decision::Fail));
    for (step, decision) in rerun.chain(done).chain(fail) {
        let id = known(step, state)?;
        if !open.iter().any(|(open, _)| *open == id) {
            let ids = open.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(", ");
            let which = if ids.is_empty() { "there is none".to_owned() } else { format!("here: {ids}") };
            return Err(Trouble::usage(format!(
                "nothing is to be decided about step {id}: --rerun, --done and --fail are for calls that must not \
                 be repeated and were under way when the run was interrupted ({which}); --from runs again from a step"
            )));
        }
        if decisions.insert(id, decision).is_some() {
            return Err(Trouble::usage(format!("step {step} is decided twice")));
        }
    }
    Ok(decisions)
}

fn known(step: &str, state: &RunState) -> Result<StepId, Trouble> {
    let id = StepId::string(step);
    match state.step(&id) {
        Some(step) => Ok(step.id.clone()),
        None => {
            let ids =
                state.steps.iter().take(20).map(|step| step.id.to_string()).collect::<Vec<_>>().join(", ");
            Err(Trouble::usage(format!("the run has no step {step} (its steps: {ids})")))
        }
    }
}

/// The limits that `--raise` names.
fn limits(raise: &[(String, String)]) -> Result<BTreeMap<String, u64>, Trouble> {
    let one = |(name, text): &(String, String)| {
        let value = match name.as_str() {
            "max_tokens" | "max_steps" => text.parse::<u64>().ok().filter(|value| *value > 0),
            "timeout" => duration::parse(text).ok().and_then(|time| u64::try_from(time.as_millis()).ok()),
            _ => {
                return Err(Trouble::usage(format!(
                    "no limit is named `{name}`: max_tokens, max_steps or timeout"
                )));
            }
        };
        let wanted = if name == "timeout" { "a duration, as 90s or 10m" } else { "a number above 0" };
        let value =
            value.ok_or_else(|| Trouble::usage(format!("--raise {name}={text}: expected {wanted}")))?;
        Ok((name.clone(), value))
    };
    raise.iter().map(one).collect()
}
