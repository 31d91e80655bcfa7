//! The folder that records are kept in: one file a run, so that damage to one touches no other.
//!
//! Main type: [`Store`]. A run is held by a lock that ends with the process that holds it. Knows ids and
//! files; does not know what a run is.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{Events, SqliteJournal};
use crate::event::Event;
use crate::id::RunId;

/// How many runs a message names at most.
const NAMED: usize = 5;

/// How often, and after what pause, a lock is tried that somebody may only be looking at.
const GLANCES: u32 = 5;
const GLANCE: Duration = Duration::from_millis(10);

/// The records of all runs of a person.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "the folder of the records, {path}, cannot be used: {error}; WF_STATE_DIR names another, `wf run --ephemeral` needs none"
    )]
    Folder { path: PathBuf, error: io::Error },
    #[error("run {0} is being run by another process")]
    Held(RunId),
    #[error("no run has an id that begins with `{wanted}`{}", newest(.known))]
    Unknown { wanted: String, known: Vec<RunId> },
    #[error("several runs have an id that begins with `{wanted}`: {}", listed(.found))]
    Ambiguous { wanted: String, found: Vec<RunId> },
    #[error("there is no run yet in {0}; `wf run` makes one")]
    Empty(PathBuf),
    #[error("{path} was written by a newer wf (tables {found}; this one knows {known}): use that one")]
    Newer { path: PathBuf, found: i32, known: i32 },
    #[error("the record {path} is damaged: {what}")]
    Damaged { path: PathBuf, what: String },
    #[error("the record {path} cannot be used: {error}")]
    Sqlite { path: PathBuf, error: rusqlite::Error },
}

impl StoreError {
    pub(super) fn damaged(path: &Path, what: &str) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_owned() }
    }

    pub(super) fn sqlite(path: &Path, error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::damaged(path, &error.to_string()),
            _ => Self::Sqlite { path: path.to_owned(), error },
        }
    }
}

impl Store {
    /// The records in a folder. Nothing is made or read yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where the records are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The record of a new run, held by this process.
    ///
    /// # Errors
    /// If the folder or the file cannot be made.
    pub fn create(&self, run: &RunId) -> Result<SqliteJournal, StoreError> {
        let unusable = |error| StoreError::Folder { path: self.folder.clone(), error };
        private_folder(&self.folder).map_err(unusable)?;
        let lock = self.hold(run)?;
        let path = self.path(run);
        private_file(&path, true).map_err(unusable)?;
        let journal = SqliteJournal::create(&path, lock)?;
        // The name of the file has to last as well as what is in it.
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(unusable)?;
        Ok(journal)
    }

    /// The record of a run that goes on, held by this process. `each` is given its events first.
    ///
    /// # Errors
    /// If another process holds it, or it cannot be read.
    pub fn resume(
        &self,
        run: &RunId,
        each: impl FnMut(Event) -> Result<(), StoreError>,
    ) -> Result<SqliteJournal, StoreError> {
        let lock = self.hold(run)?;
        SqliteJournal::resume(&self.path(run), lock, each)
    }

    /// The events of a run, also while it is being run.
    ///
    /// # Errors
    /// If the file cannot be opened or is no record.
    pub fn read(&self, run: &RunId) -> Result<Events, StoreError> {
        Events::open(&self.path(run))
    }

    /// That the record of a run is not what it has to be, as an error about its file.
    pub fn damaged(&self, run: &RunId, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.path(run), what: what.into() }
    }

    /// The ids of all runs, the newest first.
    ///
    /// # Errors
    /// If the folder cannot be read; one that is not there holds no runs.
    pub fn runs(&self) -> Result<Vec<RunId>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::Folder { path: self.folder.clone(), error }),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let ids = names.filter_map(|name| RunId::parse(name.strip_suffix(".db")?));
        let mut ids = ids.collect::<Vec<_>>();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// The run that a person means: `last`, an id, or the beginning of one.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn find(&self, wanted: &str) -> Result<RunId, StoreError> {
        let mut known = self.runs()?;
        if known.is_empty() {
            return Err(StoreError::Empty(self.folder.clone()));
        }
        if wanted == "last" {
            return Ok(known.swap_remove(0));
        }
        let start = wanted.to_lowercase();
        let found = known.iter().filter(|id| id.as_str().starts_with(&start)).cloned().collect::<Vec<_>>();
        match &found[..] {
            [one] => Ok(one.clone()),
            [] => Err(StoreError::Unknown { wanted: wanted.to_owned(), known }),
            _ => Err(StoreError::Ambiguous { wanted: wanted.to_owned(), found }),
        }
    }

    /// Whether a process holds a run now.
    pub fn is_held(&self, run: &RunId) -> bool {
        match File::open(self.lock_path(run)) {
            // Shared, so that several who ask at once do not take each other for the one who runs it.
            Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        }
    }

    /// Removes the record of a run that nobody runs.
    ///
    /// # Errors
    /// If a process holds it, or a file cannot be removed.
    pub fn remove(&self, run: &RunId) -> Result<(), StoreError> {
        let _lock = self.hold(run)?;
        let db = self.path(run);
        let beside = |end: &str| PathBuf::from(format!("{}{end}", db.display()));
        for path in [beside("-wal"), beside("-shm"), db.clone(), self.lock_path(run)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::Folder { path, error });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes the lock of a run. It is the system's: it ends with the process, however that ends.
    fn hold(&self, run: &RunId) -> Result<File, StoreError> {
        let path = self.lock_path(run);
        let unusable = |error| StoreError::Folder { path: path.clone(), error };
        let file = private_file(&path, false).map_err(unusable)?;
        // Whoever only looks whether it is held holds it for a moment too.
        for _ in 0..GLANCES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(GLANCE),
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
        }
        Err(StoreError::Held(run.clone()))
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.folder.join(format!("{run}.db"))
    }

    /// A file of its own: SQLite gives up its locks when any handle on its file is closed.
    fn lock_path(&self, run: &RunId) -> PathBuf {
        self.folder.join(format!("{run}.lock"))
    }
}

/// Makes a folder that only its owner may enter, with those above it.
fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file that only its owner may read; SQLite gives its other files the same mode.
fn private_file(path: &Path, new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).create_new(new);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn newest(known: &[RunId]) -> String {
    format!("; the newest are {}", listed(known))
}

fn listed(runs: &[RunId]) -> String {
    let named = runs.iter().take(NAMED).map(RunId::as_str).collect::<Vec<_>>().join(", ");
    match runs.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
