//! `wf test`: every cassette beside a workflow, done again.
//!
//! Main function: [`rehearse`]. `NAME.cassette.yaml` and `NAME.CASE.cassette.yaml` belong to `NAME.yaml`.
//! Needs no network, no key and no tool.

use std::fs;
use std::path::{Path, PathBuf};

use super::args::TestArgs;
use super::cassette::{End, read_cassette};
use super::ground::ground;
use super::open::{FileModel, Opened, folder, open};
use super::replay::Replaying;
use super::signals::{block_on, until_signal};
use super::{Exit, Streams, Trouble};
use crate::event::Outcome;
use crate::executor::{Agreed, execute};
use crate::id::ModelName;
use crate::journal::Discard;
use crate::load::bind_inputs;
use crate::report::look::Paint;
use crate::report::{escape, list};
use crate::run::Unwatched;

/// What the name of a cassette ends with.
const END: &str = ".cassette.yaml";

pub fn rehearse(args: &TestArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let mut cassettes = Vec::new();
    for path in &args.paths {
        find(Path::new(path), &mut cassettes)?;
    }
    if cassettes.is_empty() {
        let message = format!(
            "nothing to test: no NAME{END} in {}; `wf run FILE --record NAME{END}` makes one",
            args.paths.join(", ")
        );
        return Err(Trouble::usage(message));
    }
    let mut failed = 0;
    for path in &cassettes {
        let came = one(path, streams)?;
        let look = streams.look_out();
        let line = match &came {
            Ok(()) => format!("ok      {}", look.shown(&path.display().to_string())),
            Err(why) => {
                failed += 1;
                let head = look.paint(Paint::Error, "FAILED");
                let why = escape::escape_lines(why).trim_end().replace('\n', "\n  ");
                format!("{head}  {}\n  {why}", look.shown(&path.display().to_string()))
            }
        };
        streams.stdout.line(&line)?;
    }
    streams.remark(&format!("{}, {failed} failed", list::plural(cassettes.len() as u64, "cassette")));
    Ok(if failed > 0 { Exit::Failed } else { Exit::Success })
}

/// The cassettes of a folder, or the ones that belong to a file.
fn find(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Trouble> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.ends_with(END) && path.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    let (place, stem) = match path.is_dir() {
        true => (path.to_owned(), None),
        false if path.is_file() => {
            (folder(&path.to_string_lossy()), path.file_stem().map(|it| it.to_string_lossy().into_owned()))
        }
        false => return Err(Trouble::usage(format!("there is no file or folder `{}`", path.display()))),
    };
    let unreadable =
        |error| Trouble::unable(format!("cannot read the folder `{}`: {error}", place.display()));
    let mut here = Vec::new();
    for entry in fs::read_dir(&place).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let inner = entry.path();
        if name.ends_with(END) && stem.as_ref().is_none_or(|stem| name.starts_with(&format!("{stem}."))) {
            here.push(inner);
        } else if stem.is_none() && inner.is_dir() && !name.starts_with('.') && !inner.is_symlink() {
            find(&inner, found)?;
        }
    }
    here.sort();
    found.extend(here);
    Ok(())
}

/// The workflow a cassette belongs to.
fn workflow_of(cassette: &Path) -> Option<PathBuf> {
    let name = cassette.file_name()?.to_str()?.strip_suffix(END)?.to_owned();
    let stems = [Some(name.as_str()), name.rsplit_once('.').map(|(stem, _)| stem)];
    let files = stems.into_iter().flatten().flat_map(|stem| {
        ["yaml", "yml", "json"].map(|extension| cassette.with_file_name(format!("{stem}.{extension}")))
    });
    files.into_iter().find(|file| file.is_file())
}

/// Does one again. Why it is not as it was, if it is not.
fn one(path: &Path, streams: &mut Streams) -> Result<Result<(), String>, Trouble> {
    let Some(file) = workflow_of(path) else {
        return Ok(Err("there is no workflow of that name beside it".to_owned()));
    };
    let cassette = match read_cassette(path, streams) {
        Ok(cassette) => cassette,
        Err(Trouble::Said(_, message)) => return Ok(Err(message)),
        Err(Trouble::Shown(_)) => return Ok(Err("it cannot be read".to_owned())),
        Err(closed) => return Err(closed),
    };
    let Ok(Opened { source, base, workflow }) = open(&file.to_string_lossy(), FileModel::Unasked, streams)
    else {
        return Ok(Err(format!("{} has mistakes", file.display())));
    };
    let given = serde_json::Value::Object(cassette.inputs.clone()).to_string();
    let bound = bind_inputs(&workflow.inputs, &[], Some(&crate::source::Source::new("inputs", given)));
    if let Some(mistake) = bound.mistakes.iter().flat_map(|(_, mistakes)| mistakes).next() {
        return Ok(Err(format!("the recorded inputs do not fit: {}", mistake.message)));
    }
    let replaying = Replaying::new(ModelName::new(cassette.model.as_str()), cassette.exchanges());
    let place = ground(&source, &base);
    let setup = replaying.setup(source, place, workflow, bound.values, cassette.task.clone(), streams)?;
    let run = async { execute(setup, &mut Discard, &mut Unwatched, &mut Agreed).await };
    let came = match block_on(until_signal(run))? {
        Ok(came) => came,
        Err(signal) => return Err(Trouble::Said(super::plan::exit_of(signal), "interrupted".to_owned())),
    };
    let end = match &came {
        Ok(state) => state.outcome.clone(),
        // Without a plan there is no state; that it failed is what was recorded.
        Err(_) if cassette.outcome == End::Failed => None,
        Err(error) => return Ok(Err(error.to_string())),
    };
    Ok(match (end, cassette.outcome, replaying.left_over()) {
        (Some(Outcome::Failed { failure, .. }), End::Succeeded, _) => Err(failure.to_string()),
        (Some(Outcome::Succeeded { .. }), End::Failed, _) => {
            Err("it succeeds, and failed when it was recorded".to_owned())
        }
        (Some(Outcome::Stopped { reason }), ..) => Err(reason),
        (_, _, Some(left)) => Err(left),
        _ => Ok(()),
    })
}
