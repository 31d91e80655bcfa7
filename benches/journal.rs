//! What keeping a record costs, beside the least that a thousand durable commits can cost on this disk.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use divan::Bencher;
use rusqlite::Connection;
use serde_json::Map;
use wf::event::{Outcome, Place};
use wf::executor::{Agreed, Setup, Stop, execute};
use wf::id::{ModelName, RunId};
use wf::journal::Store;
use wf::llm::Offline;
use wf::load::{Scope, load};
use wf::run::Unwatched;
use wf::source::Source;
use wf::tool::{Catalog, math_specs};
use wf::workflow::{Origin, ResolvedModel};

// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Commits, and steps of the plan: a step of a chain is one commit.
const COMMITS: usize = 1_000;

/// About what the events of a step come to, in bytes.
const ROW: usize = 500;

fn main() {
    divan::main();
}

/// On the disk of the build, which is no memory disk.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    // What an earlier run left is in the way of a fair start.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// A file that grows by a row and is synced, a thousand times.
#[divan::bench(sample_count = 5)]
fn plain_file(bencher: Bencher) {
    let fresh = || File::create(folder("plain_file").join("log")).expect("a file");
    bencher.with_inputs(fresh).bench_local_values(|mut file| {
        for _ in 0..COMMITS {
            file.write_all(&[b'x'; ROW]).and_then(|()| file.sync_data()).expect("it is written");
        }
    });
}

/// SQLite with a write-ahead log, synced at each commit: a row a commit, a thousand times.
#[divan::bench(sample_count = 5)]
fn plain_sqlite(bencher: Bencher) {
    let fresh = || {
        let connection = Connection::open(folder("plain_sqlite").join("log.db")).expect("a database");
        let made = connection
            .pragma_update(None, "journal_mode", "WAL")
            .and_then(|()| connection.pragma_update(None, "synchronous", "FULL"))
            .and_then(|()| connection.execute_batch("CREATE TABLE log (id INTEGER PRIMARY KEY, row TEXT)"));
        made.expect("it can be made");
        connection
    };
    bencher.with_inputs(fresh).bench_local_values(|connection| {
        let row = "x".repeat(ROW);
        for _ in 0..COMMITS {
            connection.execute("INSERT INTO log (row) VALUES (?)", [&row]).expect("it is written");
        }
    });
}

/// A chain of a thousand sums with a record.
#[divan::bench(sample_count = 5)]
fn durable_chain(bencher: Bencher) {
    let mut text = String::from("steps:\n  - {id: 1, tool: add, args: {a: 1, b: 1}}\n");
    for id in 2..=COMMITS {
        text.push_str(&format!(
            "  - {{id: {id}, tool: add, args: {{a: {{step_result: {}}}, b: 1}}}}\n",
            id - 1
        ));
    }
    let source = Source::new("bench.yaml", text);
    let scope = Scope { tools: math_specs(), ..Scope::default() };
    let workflow = load(&source, &scope, Origin::Person).workflow.expect("the plan is right");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let setup = || {
        let run = RunId::generate();
        let journal = Store::new(folder("durable_chain")).create(&run).expect("a record");
        let setup = Setup {
            run,
            source: source.clone(),
            place: Place::default(),
            workflow: workflow.clone(),
            inputs: Map::new(),
            task: None,
            model: Arc::new(Offline::new()),
            settings: ResolvedModel::new(ModelName::new("offline")),
            catalog: Catalog::builtin(),
            jobs: 4,
            stop: Stop::default(),
            resume: None,
            instant: false,
        };
        (setup, journal)
    };
    bencher.with_inputs(setup).bench_local_values(|(setup, mut journal)| {
        let run = async { execute(setup, &mut journal, &mut Unwatched, &mut Agreed).await };
        let state = runtime.block_on(run).expect("the run ends");
        assert!(matches!(state.outcome, Some(Outcome::Succeeded { .. })));
        // Closing the record belongs to the cost.
        drop(journal);
    });
}
