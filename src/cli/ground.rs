//! What a run stands on: where its files are, its inputs, the environment it may read, its tools.
//!
//! One function each, for a new run and for one that is taken from a record or a cassette. Runs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::open::{read_file, read_stdin, scope, show};
use super::{Exit, Streams, Trouble};
use crate::event::{Place, Started};
use crate::id::RunId;
use crate::load::{Bound, Scope, bind_inputs, load};
use crate::report::diagnostics::Checked;
use crate::source::Source;
use crate::spec::ToolSpec;
use crate::tool::{Catalog, Surroundings, math_specs};
use crate::workflow::{Origin, Plan, Workflow};

/// Where a run has its ground, so that it can go on from anywhere.
pub fn ground(source: &Source, base: &Path) -> Place {
    let whole =
        |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    let file = Path::new(source.name());
    Place {
        file: file.is_file().then(|| whole(file)),
        base: whole(base),
        workspace: whole(Path::new(".")),
        scripts: BTreeMap::new(),
    }
}

/// The inputs of a run, or what is wrong with them, shown.
pub fn bind(
    workflow: &Workflow,
    pairs: &[(String, String)],
    file: Option<&str>,
    streams: &mut Streams,
) -> Result<Map<String, Value>, Trouble> {
    let file = match file {
        None => None,
        Some("-") => Some(read_stdin(streams)),
        Some(path) => Some(read_file(Path::new(path))),
    };
    let file = match file.transpose() {
        Ok(file) => file,
        Err(checked) => {
            show(&checked, streams);
            return Err(Trouble::Shown(Exit::Invalid));
        }
    };
    bound(bind_inputs(&workflow.inputs, pairs, file.as_ref()), streams)
}

/// The recorded inputs of a run.
pub fn bind_values(
    workflow: &Workflow,
    values: &Map<String, Value>,
    streams: &mut Streams,
) -> Result<Map<String, Value>, Trouble> {
    let file = Source::new("<recorded inputs>", Value::Object(values.clone()).to_string());
    bound(bind_inputs(&workflow.inputs, &[], Some(&file)), streams)
}

fn bound(bound: Bound, streams: &mut Streams) -> Result<Map<String, Value>, Trouble> {
    if bound.mistakes.is_empty() {
        return Ok(bound.values);
    }
    for (source, diagnostics) in bound.mistakes {
        show(&Checked { source, diagnostics }, streams);
    }
    Err(Trouble::Shown(Exit::Invalid))
}

/// The environment variables a file declares and that are set.
pub fn environment(workflow: &Workflow, streams: &Streams) -> Value {
    let set = workflow.env.iter().filter_map(|name| Some((name.clone(), (streams.variable)(name)?.into())));
    Value::Object(set.collect())
}

/// What the tools of a run work in.
pub fn surroundings(
    place: &Place,
    inputs: &Map<String, Value>,
    env: &Value,
    streams: &Streams,
) -> Surroundings {
    let env = env.as_object().into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Surroundings {
        base: PathBuf::from(&place.base),
        workspace: PathBuf::from(&place.workspace),
        env: env.collect::<BTreeMap<_, _>>(),
        inputs: inputs.clone(),
        scripts: place.scripts.clone(),
        supervisor: streams.supervisor.clone(),
    }
}

/// The tools of a run.
pub fn catalog(workflow: &Workflow, surroundings: Surroundings) -> Result<Catalog, Trouble> {
    Catalog::build(&workflow.tools, surroundings)
        .map_err(|error| Trouble::Said(Exit::Invalid, error.to_string()))
}

/// The workflow in a record. It passed every check when the run began.
pub fn recorded_workflow(started: &Started, streams: &mut Streams) -> Result<Workflow, Trouble> {
    if started.text.is_empty() {
        return Ok(Workflow { name: started.workflow.clone(), ..Workflow::default() });
    }
    let name = started.place.file.as_deref().unwrap_or("<record>");
    let source = Source::new(name, started.text.as_str());
    let loaded = load(&source, &scope(streams), Origin::Person);
    loaded.workflow.ok_or_else(|| {
        let first = loaded.diagnostics.iter().find(|it| it.is_error()).map(|it| it.message.clone());
        let message = "the workflow in the record is refused by this version of wf";
        Trouble::Said(Exit::Invalid, format!("{message}: {}", first.unwrap_or_default()))
    })
}

/// The plan that a model wrote.
pub fn models_plan(plan: &Value, workflow: &Workflow, run: &RunId) -> Result<Plan, Trouble> {
    let tools: Vec<ToolSpec> = math_specs().into_iter().chain(workflow.tools.iter().cloned()).collect();
    let source = Source::new("<record>", plan.to_string());
    let loaded = load(&source, &Scope { tools, ..Scope::default() }, Origin::Model);
    loaded.workflow.and_then(|workflow| workflow.plan).ok_or_else(|| {
        Trouble::Said(
            Exit::Invalid,
            format!("the plan in the record of run {run} is refused by this version of wf"),
        )
    })
}
