//! `wf runs`: the runs there are, and their records removed.
//!
//! Main function: [`runs`]. A record that cannot be read is listed as such and hides no other.

use std::time::Duration;

use serde_json::{Value, json};

use super::args::{PruneArgs, RunsArgs, RunsCommand};
use super::store::{record, standing, store};
use super::{Exit, Streams, Trouble};
use crate::document::duration;
use crate::event::now;
use crate::id::RunId;
use crate::journal::Store;
use crate::report::list;
use crate::run::{Record, RunState, Status};

pub fn runs(args: &RunsArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let store = store(streams)?;
    match &args.command {
        Some(RunsCommand::Prune(prune)) => remove(prune, &store, streams),
        None => table(args, &store, streams),
    }
}

/// What is known of a run for the table.
struct Row {
    run: RunId,
    standing: &'static str,
    state: RunState,
}

impl Row {
    fn read(store: &Store, run: RunId) -> Self {
        match record(store, &run) {
            Ok(Record { state, .. }) => Self { standing: standing(store, &run, &state), state, run },
            Err(_) => Self { run, standing: "damaged", state: RunState::default() },
        }
    }

    fn json(&self) -> Value {
        let state = &self.state;
        json!({
            "run": self.run,
            "workflow": state.workflow,
            "state": self.standing,
            "started_at": state.started_at,
            "milliseconds": state.active_at(state.last_at),
            "steps": state.steps.len(),
            "done": state.count(Status::Done),
            "failed": state.count(Status::Failed),
            "model": state.model,
            "model_calls": state.model_calls,
            "usage": state.usage,
        })
    }

    fn cells(&self, now: u64) -> [String; 7] {
        let state = &self.state;
        let known = self.standing != "damaged";
        let if_known = |text: String| if known { text } else { String::new() };
        let tokens = state.usage.input + state.usage.output;
        [
            self.run.to_string(),
            state.workflow.clone(),
            self.standing.to_owned(),
            if_known(format!("{} ago", list::duration(now.saturating_sub(state.started_at)))),
            if_known(format!("{}/{}", state.count(Status::Done), state.steps.len())),
            if_known(list::duration(state.active_at(state.last_at))),
            if_known(tokens.to_string()),
        ]
    }
}

const HEAD: [&str; 7] = ["RUN", "WORKFLOW", "STATE", "STARTED", "DONE", "TIME", "TOKENS"];

fn table(args: &RunsArgs, store: &Store, streams: &mut Streams) -> Result<Exit, Trouble> {
    let rows = store.runs()?.into_iter().map(|run| Row::read(store, run));
    let fits = |row: &Row| {
        args.workflow.as_ref().is_none_or(|name| row.state.workflow == *name)
            && args.state.as_ref().is_none_or(|state| row.standing.replace(' ', "-") == *state)
    };
    // Ids sort by time: no more records are read than are shown.
    let rows = rows.filter(fits).take(args.limit.unwrap_or(usize::MAX)).collect::<Vec<_>>();
    if args.json {
        let list = rows.iter().map(Row::json).collect::<Vec<_>>();
        streams.stdout.line(&format!("{:#}", Value::from(list)))?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        streams.remark(&format!("no runs in {}", store.folder().display()));
        return Ok(Exit::Success);
    }
    let look = streams.look_out();
    let now = now();
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| row.cells(now).map(|cell| look.shown(&cell).into_owned())));
    let width = |column: usize| {
        lines.iter().map(|cells| console::measure_text_width(&cells[column])).max().unwrap_or_default()
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for cells in &lines {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - console::measure_text_width(cell) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    streams.stdout.text(&text)?;
    Ok(Exit::Success)
}

fn remove(args: &PruneArgs, store: &Store, streams: &mut Streams) -> Result<Exit, Trouble> {
    let age = args.older_than.as_deref().map(days).transpose()?;
    if age.is_none() && args.keep.is_none() {
        return Err(Trouble::usage("say which records to remove: --older-than 30d, --keep 100, or both"));
    }
    let oldest = age.map(|age| now().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)));
    let mut removed = 0;
    for run in store.runs()?.into_iter().skip(args.keep.unwrap_or(0)) {
        if oldest.is_some_and(|oldest| run.began_at() >= oldest) || store.is_held(&run) {
            continue;
        }
        let row = Row::read(store, run.clone());
        // What can still go on is somebody's work; it has to be named.
        if !args.unfinished && matches!(row.standing, "stopped" | "interrupted" | "cut off") {
            continue;
        }
        if !args.dry_run {
            store.remove(&run)?;
        }
        removed += 1;
        streams.stdout.line(run.as_str())?;
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    streams.remark(&format!("{} {verb}", list::plural(removed, "record")));
    Ok(Exit::Success)
}

/// A duration, where days may be counted too.
fn days(text: &str) -> Result<Duration, Trouble> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    match days.and_then(|days| days.checked_mul(86_400)) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => duration::parse(text)
            .map_err(|_| Trouble::usage(format!("--older-than {text}: expected a duration, as 30d or 12h"))),
    }
}
