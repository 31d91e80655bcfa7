//! The record of one run: an SQLite file that only grows.
//!
//! Main types: [`SqliteJournal`], which writes, and [`Events`], which reads. One commit is one fsync: it is
//! either whole or not there. Each row carries a running checksum, and every page is checked before it is
//! read, so that damage is never read as truth.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Journal;
use super::store::StoreError;
use super::values::{hash, restore, shrink};
use crate::event::{Event, RecordError};

/// Tells a record from other SQLite files: "wf".
const APPLICATION: i32 = 0x7766;

/// Version of the tables.
const TABLES: i32 = 1;

/// How many events are read at once.
const BATCH: u32 = 256;

const SCHEMA: &str = "
    CREATE TABLE event (
        seq INTEGER PRIMARY KEY,
        body TEXT NOT NULL,
        chain BLOB NOT NULL
    ) STRICT;
    CREATE TABLE value (
        hash BLOB PRIMARY KEY,
        body TEXT NOT NULL
    ) STRICT;
";

/// A running checksum over the rows so far.
type Chain = [u8; 8];

/// Writes the record of one run. While it lives, no other process runs it.
pub struct SqliteJournal {
    connection: Connection,
    path: PathBuf,
    last: u64,
    chain: Chain,
    /// Why nothing is written any more.
    broken: Option<RecordError>,
    /// Given up last.
    _lock: File,
}

impl SqliteJournal {
    /// A new record in an empty file.
    pub(super) fn create(path: &Path, lock: File) -> Result<Self, StoreError> {
        let wrong = |error| StoreError::sqlite(path, error);
        let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(wrong)?;
        // The mode cannot change within a transaction; all else is there at once or not at all.
        let made = connection
            .pragma_update(None, "journal_mode", "WAL")
            .and_then(|()| connection.unchecked_transaction())
            .and_then(|transaction| {
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", TABLES)?;
                transaction.execute_batch(SCHEMA)?;
                transaction.commit()
            });
        made.map_err(wrong)?;
        Self::writing(connection, path, lock, 0, Chain::default())
    }

    /// The record of a run that goes on. Everything in it is read once, into `each`.
    pub(super) fn resume(
        path: &Path,
        lock: File,
        mut each: impl FnMut(Event) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let mut events = Events::open_for(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        for event in &mut events {
            each(event?)?;
        }
        let Events { connection, last, chain, .. } = events;
        Self::writing(connection, path, lock, last, chain)
    }

    fn writing(
        connection: Connection,
        path: &Path,
        lock: File,
        last: u64,
        chain: Chain,
    ) -> Result<Self, StoreError> {
        // FULL: a commit has reached the disk when it returns.
        connection
            .pragma_update(None, "synchronous", "FULL")
            .map_err(|error| StoreError::sqlite(path, error))?;
        Ok(Self { connection, path: path.to_owned(), last, chain, broken: None, _lock: lock })
    }

    fn store(&mut self, events: &[Event]) -> Result<(), rusqlite::Error> {
        let transaction = self.connection.transaction()?;
        let (mut last, mut chain) = (self.last, self.chain);
        {
            let mut add =
                transaction.prepare_cached("INSERT INTO event (seq, body, chain) VALUES (?, ?, ?)")?;
            let mut keep =
                transaction.prepare_cached("INSERT OR IGNORE INTO value (hash, body) VALUES (?, ?)")?;
            for event in events {
                assert!(event.seq == last + 1, "bug: event {} was to follow {last}", event.seq);
                let mut body = serde_json::to_value(event)
                    .unwrap_or_else(|error| panic!("bug: an event is no JSON: {error}"));
                for apart in shrink(&mut body) {
                    keep.execute(params![apart.hash, apart.body])?;
                }
                let body = body.to_string();
                last = event.seq;
                chain = link(chain, last, &body);
                add.execute(params![last.cast_signed(), body, chain])?;
            }
        }
        transaction.commit()?;
        (self.last, self.chain) = (last, chain);
        Ok(())
    }
}

impl Journal for SqliteJournal {
    fn append(&mut self, events: &[Event]) -> Result<(), RecordError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.store(events).map_err(|error| {
            // What a failed commit left behind is not known until the file is read again.
            let error = RecordError(format!("{}: {error}", self.path.display()));
            self.broken = Some(error.clone());
            error
        })
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        // One file is left, and the next reader need not look through a log. If it fails, it will.
        let _ = self.connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
    }
}

/// The events of a record, in order. Ends after the first that cannot be read.
pub struct Events {
    connection: Connection,
    path: PathBuf,
    read: VecDeque<Event>,
    last: u64,
    chain: Chain,
    over: bool,
}

impl Events {
    /// Those of a file, which may be written to meanwhile.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_for(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn open_for(path: &Path, access: OpenFlags) -> Result<Self, StoreError> {
        let wrong = |error| StoreError::sqlite(path, error);
        let connection = open(path, access).map_err(wrong)?;
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        let (application, tables) = match (number("application_id"), number("user_version")) {
            (Ok(application), Ok(tables)) => (application, tables),
            (Err(error), _) | (_, Err(error)) => return Err(wrong(error)),
        };
        match (application, tables) {
            (APPLICATION, TABLES) if is_whole(&connection).map_err(wrong)? => {}
            (APPLICATION, TABLES) => return Err(StoreError::damaged(path, "a page of it is not whole")),
            (APPLICATION, newer) if newer > TABLES => {
                return Err(StoreError::Newer { path: path.to_owned(), found: newer, known: TABLES });
            }
            (0, 0) => return Err(StoreError::damaged(path, "it holds no event")),
            _ => return Err(StoreError::damaged(path, "it is no record of a run")),
        }
        let (read, chain) = (VecDeque::new(), Chain::default());
        Ok(Self { connection, path: path.to_owned(), read, last: 0, chain, over: false })
    }

    fn fill(&mut self) -> Result<(), StoreError> {
        let wrong = |error| StoreError::sqlite(&self.path, error);
        let mut rows = self
            .connection
            .prepare_cached("SELECT seq, body, chain FROM event WHERE seq > ? ORDER BY seq LIMIT ?")
            .map_err(wrong)?;
        let mut value =
            self.connection.prepare_cached("SELECT body FROM value WHERE hash = ?").map_err(wrong)?;
        let mut rows = rows.query(params![self.last.cast_signed(), BATCH]).map_err(wrong)?;
        while let Some(row) = rows.next().map_err(wrong)? {
            let seq = row.get::<_, i64>(0).map_err(wrong)?.cast_unsigned();
            let body = row.get::<_, String>(1).map_err(wrong)?;
            let chain = row.get::<_, Chain>(2).map_err(wrong)?;
            if seq != self.last + 1 || chain != link(self.chain, seq, &body) {
                return Err(StoreError::damaged(
                    &self.path,
                    &format!("event {} is not as it was written", self.last + 1),
                ));
            }
            let lost = |what: &str| StoreError::damaged(&self.path, &format!("event {seq}: {what}"));
            let mut body: Value = serde_json::from_str(&body).map_err(|_| lost("it is no JSON"))?;
            restore(&mut body, &mut |wanted| {
                let found: Option<String> =
                    value.query_row([wanted], |row| row.get(0)).optional().map_err(wrong)?;
                let found = found.filter(|body| hash(body) == *wanted);
                let found = found.and_then(|body| serde_json::from_str::<Value>(&body).ok());
                found.ok_or_else(|| lost("a value of it is lost"))
            })?;
            let event = serde_json::from_value::<Event>(body)
                .map_err(|error| lost(&format!("it is of no kind this wf knows ({error})")))?;
            self.read.push_back(event);
            (self.last, self.chain) = (seq, chain);
        }
        Ok(())
    }
}

impl Iterator for Events {
    type Item = Result<Event, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read.is_empty() && !self.over {
            match self.fill() {
                Ok(()) => self.over = self.read.is_empty(),
                // What was read before the damage is given first; then it is met again.
                Err(_) if !self.read.is_empty() => {}
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        self.read.pop_front().map(Ok)
    }
}

fn open(path: &Path, access: OpenFlags) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // Somebody who reads holds nothing for long.
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

/// Whether every page is whole in itself. A page that counts fewer rows than it holds is no error to a
/// query, and the rows are only absent; the space they take is not accounted for then.
fn is_whole(connection: &Connection) -> Result<bool, rusqlite::Error> {
    connection.query_row("PRAGMA quick_check(1)", [], |row| Ok(row.get::<_, String>(0)? == "ok"))
}

fn link(before: Chain, seq: u64, body: &str) -> Chain {
    let digest =
        Sha256::new().chain_update(before).chain_update(seq.to_le_bytes()).chain_update(body).finalize();
    std::array::from_fn(|at| digest[at])
}
