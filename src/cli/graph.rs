//! `wf graph`: which step waits for which, as a drawing, of a file or of a run.
//!
//! Main function: [`graph`]. The drawing is `report`'s; a run is drawn from its record alone.

use super::args::{GraphArgs, GraphFormat};
use super::ground::{models_plan, recorded_workflow};
use super::open::{FileModel, open};
use super::store::{begun, record, store};
use super::{Exit, Streams, Trouble};
use crate::id::StepId;
use crate::report::graph::Drawing;
use crate::run::{RunState, Status};
use crate::workflow::Workflow;

pub fn graph(args: &GraphArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let (workflow, state) = match (&args.run, &args.file) {
        (Some(run), _) => of_run(run, streams)?,
        (None, Some(file)) => (open(file, FileModel::Unasked, streams)?.workflow, None),
        (None, None) => return Err(Trouble::usage("say what to draw: a FILE, or --run RUN")),
    };
    let Some(plan) = &workflow.plan else {
        let message = match (&args.run, &args.file) {
            (None, Some(file)) => {
                format!(
                    "`{file}` has no steps yet: a model plans its task; `wf run` it, then `wf graph --run last`"
                )
            }
            _ => "the run has no plan: it ended before there was one".to_owned(),
        };
        return Err(Trouble::Said(Exit::Invalid, message));
    };
    let status = |id: &StepId| -> Option<Status> { Some(state.as_ref()?.step(id)?.status) };
    let drawing = Drawing::new(plan, status);
    let text = match args.format {
        GraphFormat::Mermaid => drawing.mermaid(),
        GraphFormat::Dot => drawing.dot(&workflow.name),
        GraphFormat::Ascii => drawing.ascii(streams.look_out()).map_err(|too_wide| {
            Trouble::unable(format!("{too_wide}; --format dot or mermaid has room for them"))
        })?,
    };
    streams.stdout.text(&text)?;
    Ok(Exit::Success)
}

/// The workflow of a run with the plan that it ran, and how its steps stand.
fn of_run(wanted: &str, streams: &mut Streams) -> Result<(Workflow, Option<RunState>), Trouble> {
    let store = store(streams)?;
    let run = store.find(wanted)?;
    let record = record(&store, &run)?;
    let started = begun(record.started, &store, &run)?;
    let mut workflow = recorded_workflow(&started, streams)?;
    if let (None, Some(plan)) = (&workflow.plan, &record.plan) {
        workflow.plan = Some(models_plan(plan, &workflow, &run)?);
    }
    Ok((workflow, Some(record.state)))
}
