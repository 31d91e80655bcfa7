//! Records below the program: damage bit by bit, a reader beside a writer, who holds a run.
//!
//! `WF_FLIPS=all` flips every bit of a record; otherwise all bits of what SQLite keeps about its pages, and
//! a sample of the rest.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use wf::event::Event;
use wf::id::RunId;
use wf::journal::{Journal, Store, StoreError};

/// Bytes of a page at its start that say what is in it: for one of a table the first 8 or 12.
const PAGE_HEADER: usize = 12;

/// Bytes before those of the first page: what SQLite keeps about the whole file.
const FILE_HEADER: usize = 100;

struct Kept {
    folder: TempDir,
    run: RunId,
}

impl Kept {
    /// A record with these events, each in a commit of its own, closed in good order.
    fn with(events: &[Event]) -> Self {
        let kept = Self { folder: tempfile::tempdir().unwrap(), run: RunId::generate() };
        let mut journal = kept.store().create(&kept.run).unwrap();
        for event in events {
            journal.append(std::slice::from_ref(event)).unwrap();
        }
        kept
    }

    fn store(&self) -> Store {
        Store::new(self.folder.path())
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.path().join(format!("{}{end}", self.run))
    }

    /// What can be read, and why it ends if it does not end well.
    fn read(&self) -> (Vec<Event>, Option<StoreError>) {
        let mut read = Vec::new();
        let events = match self.store().read(&self.run) {
            Ok(events) => events,
            Err(error) => return (read, Some(error)),
        };
        for event in events {
            match event {
                Ok(event) => read.push(event),
                Err(error) => return (read, Some(error)),
            }
        }
        (read, None)
    }

    /// The same, as a run that goes on reads it.
    fn resumed(&self) -> (Vec<Event>, Option<StoreError>) {
        let mut read = Vec::new();
        let journal = self.store().resume(&self.run, |event| {
            read.push(event);
            Ok(())
        });
        (read, journal.err())
    }

    fn forget_logs(&self) {
        for end in [".db-wal", ".db-shm"] {
            // Not there unless SQLite took the damaged file for one that was not closed.
            let _ = fs::remove_file(self.file(end));
        }
    }
}

fn event(seq: u64) -> Event {
    let fact = match seq % 3 {
        1 => json!({"type": "step_started", "step": seq, "attempt": 1}),
        2 => json!({"type": "tool_called", "step": seq, "tool": "post", "args": {"n": seq}}),
        // Some are stored apart.
        _ => {
            json!({"type": "tool_returned", "step": seq, "tool": "post", "result": "x".repeat(seq as usize * 9)})
        }
    };
    let mut event = json!({"seq": seq, "at": 1_700_000_000_000_u64 + seq});
    event.as_object_mut().unwrap().extend(fact.as_object().unwrap().clone());
    serde_json::from_value(event).unwrap()
}

fn events(count: u64) -> Vec<Event> {
    (1..=count).map(event).collect()
}

fn change(path: &Path, at: usize, byte: u8) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[byte]).unwrap();
}

/// The bits of a byte that are flipped, one after the other.
fn bits(at: usize, page: usize) -> std::ops::Range<u32> {
    let all = std::env::var("WF_FLIPS").is_ok_and(|flips| flips == "all");
    let start = if at < page { FILE_HEADER } else { 0 };
    match at % page {
        _ if all => 0..8,
        within if within < start + PAGE_HEADER => 0..8,
        within if within % 61 == 0 => 0..1,
        _ => 0..0,
    }
}

#[test]
fn whatever_bit_is_flipped_no_event_is_lost_or_changed_unnoticed() {
    // One page of events; and enough of them for a tree of pages.
    for count in [18, 60] {
        let expected = events(count);
        let kept = Kept::with(&expected);
        let path = kept.file(".db");
        let whole = fs::read(&path).unwrap();
        let page = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
        let mut noticed = 0;
        for (at, byte) in whole.iter().enumerate() {
            for bit in bits(at, page) {
                change(&path, at, byte ^ (1 << bit));
                let (read, error) = kept.read();
                kept.forget_logs();
                assert!(expected.starts_with(&read), "{count} events, bit {bit} of byte {at}: other events");
                match error {
                    None => assert_eq!(
                        read.len(),
                        expected.len(),
                        "{count} events, bit {bit} of byte {at}: cut, and nobody says so"
                    ),
                    Some(_) => noticed += 1,
                }
            }
            change(&path, at, *byte);
        }
        assert!(noticed > 100, "only {noticed} flips were noticed");
        assert_eq!(kept.read().0, expected);
    }
}

#[test]
fn a_record_with_a_gap_is_neither_read_nor_gone_on_with() {
    let kept = Kept::with(&events(9));
    Connection::open(kept.file(".db")).unwrap().execute_batch("DELETE FROM event WHERE seq = 4").unwrap();
    for (read, error) in [kept.read(), kept.resumed()] {
        let error = error.unwrap_or_else(|| panic!("{} events were believed", read.len()));
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("event 4 is not as it was written"), "{error}");
    }
}

#[test]
fn a_reader_beside_a_writer_misses_nothing() {
    let kept = Kept::with(&[]);
    let mut journal = kept.store().resume(&kept.run, |_| Ok(())).unwrap();
    assert_eq!(kept.read().0, []);
    let all = events(900);
    journal.append(&all[..300]).unwrap();
    let mut reader = kept.store().read(&kept.run).unwrap();
    let mut read = vec![reader.next().unwrap().unwrap()];
    // More of them come while it reads, in several of its batches.
    for (count, event) in all[300..].iter().enumerate() {
        journal.append(std::slice::from_ref(event)).unwrap();
        if count % 2 == 0 {
            read.push(reader.next().unwrap().unwrap());
        }
    }
    read.extend(reader.map(Result::unwrap));
    assert_eq!(read, all);
    drop(journal);
    assert_eq!(kept.resumed().0, all);
}

#[test]
fn who_asks_whether_a_run_is_held_does_not_hold_it() {
    let kept = Kept::with(&events(3));
    let store = kept.store();
    let asking = fs::File::open(kept.file(".lock")).unwrap();
    asking.lock_shared().unwrap();
    assert!(!store.is_held(&kept.run));
    drop(asking);
    let journal = store.resume(&kept.run, |_| Ok(())).unwrap();
    assert!(store.is_held(&kept.run));
    assert!(matches!(store.resume(&kept.run, |_| Ok(())), Err(StoreError::Held(_))));
    drop(journal);
    assert!(!store.is_held(&kept.run));
}
