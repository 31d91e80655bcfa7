//! The shipped weekly report, answered by the offline model over the shipped figures: the queries are
//! those of the file, the arguments and texts those of the model. Needs no executor.

#![expect(clippy::unwrap_used, reason = "a test's own steps may fail loudly")]

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};
use wf::llm::{Choice, Facts, Model, NamedResult, Offline, Reply, Request};
use wf::spec::{Effect, Output, ToolKind, ToolSpec};

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows").join(name)
}

fn ask(facts: Facts, choice: Choice) -> Reply {
    let request = Request {
        step: None,
        messages: Vec::new(),
        tools: Vec::new(),
        choice,
        format: None,
        temperature: None,
        max_tokens: None,
        seed: None,
        timeout: None,
        facts,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(Offline::new().ask(&request)).unwrap()
}

/// Runs a query with named parameters; lists are bound as their JSON text.
fn query(script: &str, query: &str, args: &Map<String, Value>) -> Value {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(script).unwrap();
    let mut statement = connection.prepare(query).unwrap();
    for (name, value) in args {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let index = statement.parameter_index(&format!(":{name}")).unwrap().expect("the query uses it");
        statement.raw_bind_parameter(index, text).unwrap();
    }
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cell = |(at, name): (usize, &String)| {
            let value = match row.get_ref(at).unwrap() {
                ValueRef::Integer(number) => json!(number),
                ValueRef::Text(text) => json!(std::str::from_utf8(text).unwrap()),
                other => panic!("no such values in the shop: {other:?}"),
            };
            (name.clone(), value)
        };
        found.push(Value::Object(names.iter().enumerate().map(cell).collect()));
    }
    Value::Array(found)
}

/// The results of the five steps.
fn report(script: &str, week: &str) -> Vec<NamedResult> {
    let text = std::fs::read_to_string(shipped("weekly_report.yaml")).unwrap();
    let file: Value = serde_yaml::from_str(&text).unwrap();
    let inputs = Map::from_iter([("week".to_owned(), json!(week))]);
    let mut results: Vec<NamedResult> = Vec::new();
    for step in file["workflow_sequence"].as_array().unwrap() {
        let description = step["description"].as_str().unwrap().to_owned();
        let value = match step["type"].as_str().unwrap() {
            "tool_call" => {
                let name = step["tool"].as_str().unwrap();
                let tool = ToolSpec {
                    name: name.into(),
                    description: String::new(),
                    parameters: file["tools"][name]["parameters"].clone(),
                    returns: None,
                    effect: Effect::Read,
                    output: Output::Auto,
                    timeout: None,
                    kind: ToolKind::Command { argv: Vec::new() },
                };
                let facts = Facts::Arguments { tool, inputs: inputs.clone(), results: results.clone() };
                let reply = ask(facts, Choice::Tool(name.into()));
                let args = serde_json::from_str(&reply.calls.first().expect(&reply.text).arguments).unwrap();
                query(script, file["tools"][name]["sql"]["query"].as_str().unwrap(), &args)
            }
            _ => {
                let of = step.get("inputs").and_then(Value::as_array);
                let of = of.map(|ids| ids.iter().map(|id| id.as_i64().unwrap().into()).collect());
                let task = Some(format!("Product health report for week {week}"));
                let facts =
                    Facts::Text { task, description: description.clone(), results: results.clone(), of };
                json!(ask(facts, Choice::None).text)
            }
        };
        let tool = step.get("tool").and_then(Value::as_str).map(Into::into);
        results.push(NamedResult {
            step: step["id"].as_i64().unwrap().into(),
            title: description,
            tool,
            value,
        });
    }
    results
}

fn script() -> String {
    std::fs::read_to_string(shipped("data/shop.sql")).unwrap()
}

#[test]
fn apparel_stands_out_in_the_shipped_week() {
    let results = report(&script(), "2026-W48");
    assert_eq!(results[3].value, json!([{"category": "Apparel", "stock": 4200, "weeks_cover": 11}]));
    let text = results[4].value.as_str().unwrap();
    let want = "**Apparel stands out**: lowest sales (38000), highest return rate (18%), stock 4200, weeks cover 11.";
    assert!(text.contains(want), "{text}");
    assert!(
        text.contains("highest 142000 (Electronics)") && text.contains("lowest 3% (Electronics)"),
        "{text}"
    );
}

#[test]
fn other_weeks_give_other_reports() {
    let of = |week: &str| report(&script(), week)[4].value.as_str().unwrap().to_owned();
    assert!(of("2026-W46").contains("**Toys stands out**: lowest sales (44000), highest return rate (14%)"));
    assert!(
        of("2026-W47").contains("**Apparel stands out**: lowest sales (46000), highest return rate (13%)")
    );
}

#[test]
fn a_changed_figure_changes_the_text() {
    let old = "('2026-W48', 'Apparel',    18)";
    assert!(script().contains(old));
    let text = report(&script().replace(old, "('2026-W48', 'Apparel',    21)"), "2026-W48");
    assert!(text[4].value.as_str().unwrap().contains("highest return rate (21%)"));
    assert!(text[2].value.as_str().unwrap().contains("highest return rate (21%)"));
}
