//! `wf run --dry-run`: the checked plan, and what each step would ask of a model; nothing is run.
//!
//! Main function: [`dry_run`].

use std::io;

use super::Streams;
use super::shape::listing;
use crate::id::ModelName;
use crate::spec::ToolSpec;
use crate::step::asks_model;
use crate::workflow::Workflow;

/// Shows on stdout what would run. `tools` are those in scope.
pub fn dry_run(
    workflow: &Workflow,
    task: Option<&str>,
    tools: &[ToolSpec],
    model: &ModelName,
    streams: &mut Streams,
) -> io::Result<()> {
    let look = streams.look_out();
    let model = look.shown(model.as_str()).into_owned();
    let Some(plan) = &workflow.plan else {
        let goal = task.unwrap_or_default();
        let names = tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>().join(", ");
        streams.stdout.line(&format!("task: {}", look.shown(goal)))?;
        streams
            .stdout
            .line(&format!("{model} would plan it in one call, with the tools {}", look.shown(&names)))?;
        return streams.stdout.line("dry run: nothing was run, no model was asked");
    };
    let takes_none = |name: &crate::id::ToolName| tools.iter().any(|it| it.name == *name && it.takes_none());
    let asks = |step: &crate::workflow::Step| asks_model(&step.action, takes_none);
    let note = |step: &crate::workflow::Step| {
        let mut notes = Vec::new();
        if asks(step) {
            notes.push(format!("asks {model}"));
        }
        if let Some(condition) = &step.when {
            notes.push(format!("when {}", look.shown(condition.text())));
        }
        (!notes.is_empty()).then(|| notes.join(", "))
    };
    for line in listing(plan, look, note) {
        streams.stdout.line(&line)?;
    }
    let asking = plan.steps.iter().filter(|step| asks(step)).count();
    let total = plan.steps.len();
    streams.stdout.line(&format!("dry run: nothing was run; {asking} of {total} steps would ask {model}"))
}
