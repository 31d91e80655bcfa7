//! What a run stands on: where its files are, its inputs, the environment it may read, its tools.
//!
//! One function each, for a new run and for one that is taken from a record or a cassette. Runs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::open::{read_file, read_stdin, show};
use super::{Exit, Streams, Trouble};
use crate::event::Place;
use crate::load::{Bound, bind_inputs};
use crate::report::diagnostics::Checked;
use crate::source::Source;
use crate::tool::{Catalog, Surroundings};
use crate::workflow::Workflow;

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
