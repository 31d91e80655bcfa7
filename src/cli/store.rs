//! Where the records of this person's runs are, and how what goes wrong with them is said.
//!
//! Main functions: [`store`], [`record`] and [`standing`]. Reads the environment; the files are the
//! journal's.

use std::path::PathBuf;

use super::{Exit, Streams, Trouble};
use crate::event::{Event, Outcome, Started};
use crate::id::RunId;
use crate::journal::{SqliteJournal, Store, StoreError};
use crate::run::{Record, RunState};

/// The store that `WF_STATE_DIR` names; else `wf/runs` in the XDG state folder, which is
/// `~/.local/state` unless `XDG_STATE_HOME` says otherwise
/// (<https://specifications.freedesktop.org/basedir-spec/>).
pub fn store(streams: &Streams) -> Result<Store, Trouble> {
    let set = |name: &str| (streams.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("WF_STATE_DIR").or_else(|| {
        // A relative path there is to be ignored, says the specification.
        let state = set("XDG_STATE_HOME").filter(|path| path.is_absolute());
        let state = state.or_else(|| Some(set("HOME")?.join(".local/state")));
        Some(state?.join("wf").join("runs"))
    });
    folder.map(Store::new).ok_or_else(|| {
        let message = "there is no folder for the record of the run: neither WF_STATE_DIR nor HOME is set; \
                       `wf run --ephemeral` keeps no record";
        Trouble::unable(message)
    })
}

/// The record of a new run.
pub fn create(run: &RunId, streams: &Streams) -> Result<SqliteJournal, Trouble> {
    Ok(store(streams)?.create(run)?)
}

/// A run as its record tells it.
pub fn record(store: &Store, run: &RunId) -> Result<Record, StoreError> {
    let mut record = Record::default();
    for event in store.read(run)? {
        follow(&mut record, &event?, store, run)?;
    }
    Ok(record)
}

/// Takes the next event of a run's record in.
pub fn follow(record: &mut Record, event: &Event, store: &Store, run: &RunId) -> Result<(), StoreError> {
    record.take(event).map_err(|impossible| store.damaged(run, impossible.to_string()))
}

/// What a run started with, which every record begins with.
pub fn begun(started: Option<Box<Started>>, store: &Store, run: &RunId) -> Result<Box<Started>, StoreError> {
    started.ok_or_else(|| store.damaged(run, "it ends before the run began; run the workflow again"))
}

/// How a run stands, in one word.
pub fn standing(store: &Store, run: &RunId, state: &RunState) -> &'static str {
    match &state.outcome {
        Some(Outcome::Succeeded { .. }) => "succeeded",
        Some(Outcome::Failed { .. }) => "failed",
        Some(Outcome::Stopped { .. }) => "stopped",
        Some(Outcome::Interrupted { .. }) => "interrupted",
        None if store.is_held(run) => "running",
        None => "cut off",
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::Unknown { .. } | StoreError::Ambiguous { .. } | StoreError::Empty(_) => Exit::Usage,
            _ => Exit::Unable,
        };
        Self::Said(exit, error.to_string())
    }
}
