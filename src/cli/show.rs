//! `wf show`: a run from its record, through the same reporter as when it ran.
//!
//! Main function: [`show_run`]. Reads; changes nothing, and waits for nobody who is running it.

use serde_json::json;

use super::args::ShowRunArgs;
use super::outcome::{print_json, print_result, step_json};
use super::store::{follow, store};
use super::{Exit, Streams, Trouble};
use crate::event::{Event, Fact};
use crate::id::StepId;
use crate::report::{EventLines, Plain, Totals, Voice};
use crate::run::{Observer, Record, StepState};

pub fn show_run(args: &ShowRunArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let store = store(streams)?;
    let run = store.find(&args.run)?;
    let mut record = Record::default();
    let mut lines: Option<Box<dyn Observer>> = match (args.show.events, args.show.json || args.step.is_some())
    {
        (true, _) => Some(Box::new(EventLines::new(streams.stdout.clone()))),
        (false, true) => None,
        (false, false) => {
            Some(Box::new(Plain::new(streams.stderr.clone(), streams.look_err(), Voice::Events)))
        }
    };
    let mut about = Vec::new();
    let wanted = args.step.as_deref().map(StepId::string);
    for event in store.read(&run)? {
        let event = event?;
        follow(&mut record, &event, &store, &run)?;
        if let Some(lines) = &mut lines {
            lines.event(&event, &record.state);
        }
        if wanted.is_some() && event.fact.step() == wanted.as_ref() {
            about.push(event);
        }
    }
    let state = &record.state;
    match (&wanted, args.show.events) {
        (_, true) => {}
        (Some(wanted), _) => {
            let step = state.step(wanted).ok_or_else(|| {
                Trouble::usage(format!("run {run} has no step {wanted}; `wf show {run}` lists them"))
            })?;
            print_step(step, &about, args.show.json, streams)?;
        }
        (None, _) if args.show.json => print_json(state, streams)?,
        (None, _) => print_result(state, streams)?,
    }
    if state.outcome.is_some() && lines.is_some() && !args.show.events {
        streams.remark(&Totals::of(state).line(None, streams.look_err()));
    }
    if state.outcome.is_none() && wanted.is_none() && !args.show.events {
        let end = match store.is_held(&run) {
            true => "it is being run now".to_owned(),
            false => format!("it was cut off; to go on: wf resume {run}"),
        };
        streams.remark(&end);
    }
    Ok(Exit::Success)
}

/// One step, with what happened to it.
fn print_step(step: &StepState, about: &[Event], json: bool, streams: &mut Streams) -> std::io::Result<()> {
    let mut value = step_json(step);
    let args = json!(step.args);
    let usage = json!(step.usage);
    let events = about.iter().map(|event| json!(event)).collect::<Vec<_>>();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("args".to_owned(), args);
        fields.insert("usage".to_owned(), usage);
        if json {
            fields.insert("events".to_owned(), events.into());
        }
    }
    if json {
        return streams.stdout.line(&format!("{value:#}"));
    }
    let look = streams.look_out();
    let mut out = String::new();
    for (name, value) in value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let text = match value {
            serde_json::Value::String(text) => text.clone(),
            other => format!("{other:#}"),
        };
        let shown = crate::report::escape::escape_lines(&text).into_owned();
        match shown.contains('\n') {
            true => out.push_str(&format!("{name}:\n  {}\n", shown.trim_end().replace('\n', "\n  "))),
            false => out.push_str(&format!("{name}: {shown}\n")),
        }
    }
    out.push_str("events:\n");
    for event in about {
        let what = match &event.fact {
            Fact::ModelAnswered { usage, .. } => {
                format!(" ({} tokens in, {} out)", usage.input, usage.output)
            }
            Fact::StepFailed { failure, .. } => format!(" ({})", look.shown(&failure.message)),
            Fact::StepStarted { attempt, .. } | Fact::AttemptInterrupted { attempt, .. } => {
                format!(" (attempt {attempt})")
            }
            _ => String::new(),
        };
        out.push_str(&format!("  {} {}{what}\n", event.seq, event.fact.name()));
    }
    streams.stdout.text(&out)
}
