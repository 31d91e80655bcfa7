//! `wf schema`: the JSON Schemas of the workflow file, of a plan and of validate's output, printed, written
//! or compared.
//!
//! Main function: [`schema`]. The schemas are made by `document` and `report`.

use std::path::Path;

use super::args::{SchemaArgs, SchemaName};
use super::{Exit, Streams, Trouble};
use crate::document::schema as schemas;
use crate::report::schema::diagnostics;

const ALL: [SchemaName; 3] = [SchemaName::Workflow, SchemaName::Plan, SchemaName::Diagnostics];

pub fn schema(args: &SchemaArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    if let Some(folder) = &args.check {
        return check(folder, streams);
    }
    let Some(folder) = &args.output else {
        let (_, text) = file(args.name);
        streams.stdout.text(&text)?;
        return Ok(Exit::Success);
    };
    let fault = |path: &Path, error| Trouble::unable(format!("cannot write `{}`: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(|error| fault(folder, error))?;
    for (name, text) in ALL.map(file) {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| fault(&path, error))?;
        streams.remark(&format!("wrote {}", path.display()));
    }
    Ok(Exit::Success)
}

fn check(folder: &Path, streams: &mut Streams) -> Result<Exit, Trouble> {
    let mut exit = Exit::Success;
    for (name, text) in ALL.map(file) {
        let path = folder.join(name);
        let state = match std::fs::read_to_string(&path) {
            Ok(found) if found == text => continue,
            Ok(_) => "is not current".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        let advice = format!("write it with `wf schema -o {}`", folder.display());
        streams.complain(&format!("`{}` {state}; {advice}", path.display()));
        exit = Exit::Failed;
    }
    Ok(exit)
}

fn file(name: SchemaName) -> (&'static str, String) {
    let (name, schema) = match name {
        SchemaName::Workflow => ("workflow.schema.json", schemas::workflow()),
        SchemaName::Plan => ("plan.schema.json", schemas::plan()),
        SchemaName::Diagnostics => ("diagnostics.schema.json", diagnostics()),
    };
    (name, format!("{schema:#}\n"))
}
