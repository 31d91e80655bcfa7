//! Queries against small databases, in memory and in files: what comes back, what is bound and what is
//! refused.
//!
//! Uses the tool as a step does; knows no run.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::spec::ToolKind;
use crate::tool::ToolFaultKind;
use crate::tool::probe::{Probe, spec};

const SHOP: &str = "CREATE TABLE sales (week TEXT, category TEXT, amount INTEGER, paid BOOLEAN, tags JSON);
    INSERT INTO sales VALUES ('W48', 'Apparel', 38000, 1, '[\"a\"]'), ('W48', 'Electronics', 142000, 0, NULL);
    INSERT INTO sales VALUES ('W47', 'Apparel', 40000, 1, 'x');";

fn memory(query: &str) -> ToolSpec {
    let kind = ToolKind::Sql { database: None, init: Some("shop.sql".to_owned()), query: query.to_owned() };
    let parameters = json!({"type": "object", "properties": {"week": {}, "region": {}}});
    ToolSpec { parameters, ..spec(kind, Effect::Read) }
}

fn file(query: &str, effect: Effect) -> ToolSpec {
    let kind = ToolKind::Sql { database: Some("shop.db".to_owned()), init: None, query: query.to_owned() };
    spec(kind, effect)
}

fn shop() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("shop.sql"), SHOP).expect("written");
    let connection = Connection::open(folder.path().join("shop.db")).expect("opened");
    connection.execute_batch(SHOP).expect("filled");
    folder
}

fn within(folder: &Path) -> Surroundings {
    Surroundings { base: folder.to_owned(), ..Surroundings::default() }
}

async fn ask(folder: &Path, spec: ToolSpec, args: Value) -> Result<Value, ToolFault> {
    Probe::default().declared(spec, within(folder), args).await
}

#[tokio::test]
async fn rows_are_objects_and_parameters_are_named() {
    let folder = shop();
    let query =
        "SELECT category, amount FROM sales WHERE week = :week AND (@region IS NULL OR 0) ORDER BY amount";
    let rows = ask(folder.path(), memory(query), json!({"week": "W48"})).await;
    let expected = json!([
        {"category": "Apparel", "amount": 38000},
        {"category": "Electronics", "amount": 142000},
    ]);
    assert_eq!(rows, Ok(expected.clone()));
    let query = "SELECT category, amount FROM sales WHERE week = $week ORDER BY amount";
    assert_eq!(ask(folder.path(), file(query, Effect::Read), json!({"week": "W48"})).await, Ok(expected));
}

#[tokio::test]
async fn values_keep_their_types() {
    let folder = shop();
    let query = "SELECT paid, tags, 1.5 AS real, x'00ff' AS bytes, 'a' AS v, 2 AS v, :list AS list, :no AS no
        FROM sales ORDER BY amount LIMIT 1";
    let rows = ask(folder.path(), file(query, Effect::Read), json!({"list": [1], "no": false})).await;
    let expected = json!([{
        "paid": true, "tags": ["a"], "real": 1.5, "bytes": {"base64": "AP8="}, "v": "a", "v_2": 2,
        "list": "[1]", "no": 0,
    }]);
    assert_eq!(rows, Ok(expected));
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_said() {
    let folder = shop();
    let read = |query: &str| file(query, Effect::Read);
    let table = [
        (read("SELECT 1; SELECT 2"), "`sql.query` holds more than one statement; a tool runs exactly one"),
        (read(" -- nothing"), "`sql.query` holds no statement"),
        (read("SELECT ?"), "`sql.query` has the unnamed parameter `?`; name it: `:name`"),
        (read("SELECT :nope"), "`sql.query` reads `:nope`, but there is no argument `nope`"),
        (read("DELETE FROM sales"), "the query changes the database, but the tool declares `effect: read`"),
        (read("SELECT * FROM nowhere"), "the query is refused: no such table: nowhere"),
    ];
    for (tool, message) in table {
        let fault = ask(folder.path(), tool, json!({})).await.expect_err(message);
        assert_eq!((fault.kind, fault.message.as_str()), (ToolFaultKind::Permanent, message));
    }
    let fault = ask(folder.path(), file("ATTACH 'other.db' AS other", Effect::Once), json!({})).await;
    assert!(fault.is_err());
    assert!(!folder.path().join("other.db").exists());
}

#[tokio::test]
async fn a_missing_file_is_named_and_not_made() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().display();
    for effect in [Effect::Read, Effect::Once] {
        let fault = ask(folder.path(), file("SELECT 1", effect), json!({})).await.expect_err("is missing");
        assert_eq!(fault.message, format!("there is no database `shop.db` (in {place})"));
    }
    assert!(!folder.path().join("shop.db").exists());
    let fault = ask(folder.path(), memory("SELECT 1"), json!({})).await.expect_err("is missing");
    assert_eq!(fault.message, format!("there is no script `shop.sql` (in {place})"));
}

#[tokio::test]
async fn a_change_says_how_many_rows() {
    let folder = shop();
    let change = file("UPDATE sales SET amount = 0 WHERE week = :week", Effect::Idempotent);
    assert_eq!(ask(folder.path(), change, json!({"week": "W48"})).await, Ok(json!({"rows_affected": 2})));
    let left = ask(folder.path(), file("SELECT sum(amount) AS s FROM sales", Effect::Read), json!({})).await;
    assert_eq!(left, Ok(json!([{"s": 40000}])));
}

#[tokio::test]
async fn a_locked_database_may_pass() {
    let folder = shop();
    let connection = Connection::open(folder.path().join("shop.db")).expect("opened");
    connection.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let path = "shop.db".to_owned();
    let job = Job {
        database: Some(Place { path: folder.path().join(&path), name: path, text: None }),
        init: None,
        query: "SELECT * FROM sales".to_owned(),
        args: Map::new(),
        declared: Value::Null,
        only_reads: true,
        max_bytes: 1000,
        deadline: None,
        lock_wait: Duration::ZERO,
        unwanted: Arc::default(),
    };
    match job.run() {
        Err(Stop::Fault(fault)) => assert_eq!(fault.kind, ToolFaultKind::Transient, "{fault}"),
        _ => panic!("the lock was not noticed"),
    }
}

#[tokio::test]
async fn a_query_that_never_ends_is_ended() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let kind = ToolKind::Sql { database: None, init: None, query: endless.to_owned() };
    let tool = ToolSpec { timeout: Some(Duration::from_millis(30)), ..spec(kind, Effect::Read) };
    let fault = ask(Path::new(""), tool, json!({})).await.expect_err("never ends");
    assert_eq!(fault.kind, ToolFaultKind::Timeout);
    assert_eq!(fault.message, "the query did not finish within 30ms and was ended");
}

#[test]
fn a_query_nobody_waits_for_is_ended() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let kind = ToolKind::Sql { database: None, init: None, query: endless.to_owned() };
    runtime.block_on(async {
        let probe = Probe::default();
        let call = probe.declared(spec(kind, Effect::Read), Surroundings::default(), json!({}));
        assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
    });
    // A runtime waits for what it runs where blocking is allowed: dropping it would hang here.
    drop(runtime);
}

#[tokio::test]
async fn a_query_ends_when_the_run_does_and_what_it_did_before_counts() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    for (query, expected) in [(endless, None), ("SELECT 1 AS x", Some(json!([{"x": 1}])))] {
        let kind = ToolKind::Sql { database: None, init: None, query: query.to_owned() };
        let probe = Probe::default();
        probe.stop.cancel();
        let result = probe.declared(spec(kind, Effect::Read), Surroundings::default(), json!({})).await;
        let fault = result.clone().err().map(|fault| (fault.kind, fault.message));
        let stopped = (ToolFaultKind::Stopped, "the query was ended because the run was stopped".to_owned());
        // A short query may be through before it looks whether it is still wanted.
        assert!(result.ok() == expected || fault == Some(stopped), "{fault:?}");
    }
}

#[tokio::test]
async fn rows_that_are_too_many_are_left_out_and_said() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let kind = ToolKind::Sql { database: None, init: None, query: endless.to_owned() };
    let probe = Probe { max_output_bytes: 50, ..Probe::default() };
    let rows = probe.declared(spec(kind, Effect::Read), Surroundings::default(), json!({})).await;
    let mark = "… [more rows left out after 2: the result is over 50 bytes] …";
    assert_eq!(rows, Ok(json!([{"i": 1}, {"i": 2}, mark])));
}
