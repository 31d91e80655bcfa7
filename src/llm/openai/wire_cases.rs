//! The codec against files: `tests/data/wire/openai/requests` holds complete request bodies,
//! `tests/data/wire/openai/replies` answers of servers and what must become of them.
//!
//! No network: the codec is two pure functions.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dialect, decode, encode};
use crate::id::{ModelName, ToolName};
use crate::llm::{
    Answer, Call, Choice, Endpoint, Facts, Message, ModelError, ModelErrorKind, Reply, Request,
    ResponseFormat, resolve,
};
use crate::spec::{Effect, Output, ToolKind, ToolSpec};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/wire/openai").join(name)
}

fn tool(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.to_owned(),
        parameters,
        returns: None,
        effect: Effect::Read,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Command { argv: vec!["true".to_owned()] },
    }
}

/// A conversation as a step begins it: the tools are those of every request below.
fn plain(messages: Vec<Message>) -> Request {
    let week = json!({"type": "object", "properties": {"week": {"type": "string"}}, "required": ["week"]});
    Request {
        step: None,
        messages,
        tools: vec![
            tool("fetch_sales_data", "Sales per category for a week", week),
            tool("files.read ü", "A file's text", ToolSpec::no_parameters()),
        ],
        choice: Choice::None,
        format: None,
        temperature: None,
        max_tokens: None,
        seed: None,
        timeout: None,
        facts: Facts::Text { task: None, description: String::new(), results: Vec::new(), of: None },
    }
}

fn opening() -> Vec<Message> {
    vec![
        Message::System { text: "You are a product analyst.".to_owned() },
        Message::User { text: "Health report for \"2026-W48\"\n\u{1f4c8}".to_owned() },
        Message::User { text: "Fetch this week's sales".to_owned() },
    ]
}

fn called(name: &str, id: &str, arguments: &str) -> Message {
    let call = Call { id: id.to_owned(), name: name.into(), arguments: arguments.to_owned() };
    Message::Assistant { text: String::new(), calls: vec![call] }
}

fn history() -> Vec<Message> {
    let tool = |name: &str, call: &str, text: &str| Message::Tool {
        call: call.to_owned(),
        name: name.into(),
        text: text.to_owned(),
    };
    let mut messages = opening();
    messages.push(called("fetch_sales_data", "call_1", r#"{"week":"2026-W48"}"#));
    messages.push(tool("fetch_sales_data", "call_1", r#"[{"category":"Apparel","amount":38000}]"#));
    messages.push(called("files.read ü", "call_2", "{}"));
    messages.push(tool("files.read ü", "call_2", "notes"));
    messages.push(Message::Assistant { text: "Apparel is weak.".to_owned(), calls: Vec::new() });
    messages.push(Message::User { text: "Compile a summary".to_owned() });
    messages
}

fn request_cases() -> Vec<(&'static str, Request, Dialect)> {
    let forced = Request { choice: Choice::Tool("files.read ü".into()), ..plain(opening()) };
    let format = ResponseFormat { name: "plan".to_owned(), schema: json!({"type": "object"}) };
    let settings = Request {
        tools: Vec::new(),
        format: Some(format),
        temperature: Some(0.5),
        max_tokens: Some(1000),
        seed: Some(7),
        ..plain(vec![Message::User { text: "hello".to_owned() }])
    };
    let mut broken = history();
    broken.push(called(
        "gone.tool",
        "a very long id that no provider would take as the id of a call",
        "{broken",
    ));
    vec![
        ("forced_call", forced, Dialect::OPENAI),
        ("text_with_history", plain(history()), Dialect::OPENAI),
        ("settings_openai", settings.clone(), Dialect::OPENAI),
        ("settings_compatible", settings.clone(), Dialect::COMPATIBLE),
        ("settings_mistral", Request { messages: history(), ..settings }, Dialect::MISTRAL),
        ("broken_arguments", plain(broken), Dialect::COMPATIBLE),
    ]
}

#[test]
fn requests_are_what_the_files_say_byte_for_byte() {
    for (name, request, dialect) in request_cases() {
        let body = encode(&request, "gpt-5-mini", dialect);
        let path = folder("requests").join(name).with_extension("json");
        let expected =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written = serde_json::to_string_pretty(&body).unwrap();
        assert_eq!(written, expected.trim_end(), "{}", path.display());
        assert_eq!(encode(&request, "gpt-5-mini", dialect).to_string(), body.to_string(), "{name} again");
    }
}

#[test]
fn every_request_file_has_its_case() {
    let known: Vec<_> = request_cases().into_iter().map(|(name, ..)| format!("{name}.json")).collect();
    for entry in fs::read_dir(folder("requests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name), "{name} belongs to no case");
    }
}

#[test]
fn a_conversation_that_goes_on_begins_with_the_same_bytes() {
    let bytes = |messages: &[Message]| {
        let body = encode(&plain(messages.to_vec()), "m", Dialect::COMPATIBLE);
        body["messages"].to_string()
    };
    let mut messages = history();
    // A tool that no request lists, whose wire name is one that a listed tool could have.
    messages.push(called("files_read__0", "call_3", "{}"));
    messages.push(called("files.read", "call_4", "{}"));
    for end in 1..messages.len() {
        let (shorter, longer) = (bytes(&messages[..end]), bytes(&messages[..=end]));
        assert!(longer.starts_with(shorter.trim_end_matches(']')), "{shorter}\n{longer}");
    }
    let whole = |choice| {
        encode(&Request { choice, ..plain(opening()) }, "m", Dialect::COMPATIBLE)["tools"].to_string()
    };
    assert_eq!(whole(Choice::None), whole(Choice::Tool("fetch_sales_data".into())));
}

/// A file of `replies`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyCase {
    #[expect(dead_code, reason = "for people who read the file")]
    about: String,
    #[serde(default = "success")]
    status: u16,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    /// JSON, or the raw text of a body that is none.
    #[serde(default)]
    body: Value,
    /// Whether the request asked for a response format.
    #[serde(default)]
    format: bool,
    #[serde(default)]
    reply: Option<Reply>,
    #[serde(default)]
    error: Option<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    kind: String,
    /// Each must be in the message.
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    retry_after_ms: Option<u64>,
}

fn success() -> u16 {
    200
}

const KEY: &str = "sk-secret-1234";

fn endpoint() -> Endpoint {
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| KEY.to_owned());
    resolve(&ModelName::new("openai/gpt-5-mini"), None, &env).unwrap()
}

fn check(name: &str, case: &ReplyCase) {
    let body = match &case.body {
        Value::String(text) => text.clone().into_bytes(),
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let header = |wanted: &str| case.headers.get(wanted).map(String::as_str);
    let answer = Answer::new(case.status, header, SystemTime::UNIX_EPOCH, body);
    let format = case.format.then(|| ResponseFormat { name: "plan".to_owned(), schema: json!({}) });
    let found = decode(&answer, &endpoint(), &Request { format, ..plain(opening()) });
    match (&case.reply, &case.error) {
        (Some(reply), None) => assert_eq!(found.as_ref(), Ok(reply), "{name}"),
        (None, Some(expected)) => check_error(name, &found.expect_err(name), expected),
        _ => panic!("{name}: a case expects either a reply or an error"),
    }
}

fn check_error(name: &str, error: &ModelError, expected: &Expected) {
    assert_eq!(format!("{:?}", error.kind), expected.kind, "{name}: {error}");
    for words in &expected.says {
        assert!(error.message.contains(words.as_str()), "{name}: no `{words}` in `{error}`");
    }
    assert!(!error.message.contains(KEY), "{name}: {error}");
    assert!(!error.message.chars().any(char::is_control), "{name}: {error:?}");
    assert!(error.message.chars().count() < 900, "{name}: {error}");
    let wait = error.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap());
    assert_eq!(wait, expected.retry_after_ms, "{name}");
}

#[test]
fn answers_become_what_the_files_say() {
    let mut count = 0;
    for entry in fs::read_dir(folder("replies")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        check(&path.display().to_string(), &case);
        count += 1;
    }
    assert!(count >= 40, "only {count} cases were found");
}

#[test]
fn bytes_that_no_file_of_json_can_hold() {
    for (body, says) in [
        (&b"\xff\xfe{}"[..], "not UTF-8"),
        (b"{\"choices\": [{\"message\": {\"content\": \"\xff\"}}]}", "not UTF-8"),
        (b"", "nothing"),
        (b"  \n ", "nothing"),
    ] {
        let answer = Answer { status: 200, body: body.to_vec(), ..Answer::default() };
        let error = decode(&answer, &endpoint(), &plain(opening())).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Protocol);
        assert!(error.message.contains(says), "{error}");
        assert!(error.message.contains("OPENAI_BASE_URL"), "{error}");
    }
    let deep = "[".repeat(100_000);
    let answer = Answer { status: 200, body: deep.into_bytes(), ..Answer::default() };
    assert_eq!(decode(&answer, &endpoint(), &plain(opening())).unwrap_err().kind, ModelErrorKind::Protocol);
}

#[test]
fn mapped_names_come_back() {
    let request = Request { choice: Choice::Tool("files.read ü".into()), ..plain(opening()) };
    let sent = encode(&request, "m", Dialect::OPENAI);
    let name = sent.pointer("/tool_choice/function/name").unwrap();
    assert_eq!(Some(name), sent.pointer("/tools/1/function/name"));
    let call = json!({"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}});
    let body = json!({"choices": [{"message": {"content": null, "tool_calls": [call]}}]});
    let answer = Answer { status: 200, body: body.to_string().into_bytes(), ..Answer::default() };
    let reply = decode(&answer, &endpoint(), &request).unwrap();
    assert_eq!(reply.calls[0].name, ToolName::from("files.read ü"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 128, ..Default::default() })]
    #[test]
    fn no_answer_makes_the_codec_panic(status in 100u16..600, body in ".{0,200}") {
        let answer = Answer { status, body: body.into_bytes(), ..Answer::default() };
        let found = decode(&answer, &endpoint(), &plain(opening()));
        proptest::prop_assert!(found.is_err());
    }
}
