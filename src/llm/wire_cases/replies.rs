//! What becomes of answers that come as a whole.
//!
//! A file of `replies` holds status, headers and body of an answer, and the reply or the error that is
//! expected of it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Expected, Format, check, formats, opening, plain};
use crate::id::ToolName;
use crate::llm::{Answer, Choice, ModelError, ModelErrorKind, Reply, Request, ResponseFormat, Way};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[expect(dead_code, reason = "for people who read the file")]
    about: String,
    #[serde(default = "success")]
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
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

fn success() -> u16 {
    200
}

fn decode(format: &Format, answer: &Answer, request: &Request) -> Result<Reply, ModelError> {
    format.wire.decode(answer, &format.endpoint(), request)
}

#[test]
fn answers_become_what_the_files_say() {
    for format in formats() {
        let cases = format.cases::<Case>("replies");
        assert!(cases.len() >= 20, "{}: only {} cases were found", format.name, cases.len());
        for (name, case) in cases {
            let body = match &case.body {
                Value::String(text) => text.clone().into_bytes(),
                Value::Null => Vec::new(),
                body => body.to_string().into_bytes(),
            };
            let header = |wanted: &str| case.headers.get(wanted).map(String::as_str);
            let answer = Answer::new(case.status, header, SystemTime::UNIX_EPOCH, body);
            let shape = case.format.then(|| ResponseFormat { name: "plan".to_owned(), schema: json!({}) });
            let found = decode(&format, &answer, &Request { format: shape, ..plain(opening()) });
            check(&name, &found, case.reply.as_ref(), case.error.as_ref());
        }
    }
}

#[test]
fn bytes_that_no_file_of_json_can_hold() {
    for format in formats() {
        for (body, says) in [
            (&b"\xff\xfe{}"[..], "not UTF-8"),
            (b"{\"choices\": [{\"message\": {\"content\": \"\xff\"}}]}", "not UTF-8"),
            (b"", "nothing"),
            (b"  \n ", "nothing"),
        ] {
            let answer = Answer { status: 200, body: body.to_vec(), ..Answer::default() };
            let error = decode(&format, &answer, &plain(opening())).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Protocol);
            assert!(error.message.contains(says), "{error}");
            assert!(error.message.contains(format.base_url_variable), "{error}");
        }
        let deep = "[".repeat(100_000);
        let answer = Answer { status: 200, body: deep.into_bytes(), ..Answer::default() };
        assert_eq!(decode(&format, &answer, &plain(opening())).unwrap_err().kind, ModelErrorKind::Protocol);
    }
}

#[test]
fn mapped_names_come_back() {
    let request = Request { choice: Choice::Tool("files.read ü".into()), ..plain(opening()) };
    for format in formats() {
        let sent = format.wire.encode(&request, "claude-sonnet-4-5", Way::Whole);
        let body = match format.name {
            "openai" => {
                let name = sent.pointer("/tool_choice/function/name").unwrap();
                assert_eq!(Some(name), sent.pointer("/tools/1/function/name"));
                let call = json!({"id": "c", "function": {"name": name, "arguments": "{}"}});
                json!({"choices": [{"message": {"content": null, "tool_calls": [call]}}]})
            }
            "anthropic" => {
                let name = sent.pointer("/tool_choice/name").unwrap();
                assert_eq!(Some(name), sent.pointer("/tools/1/name"));
                json!({"content": [{"type": "tool_use", "id": "c", "name": name, "input": {}}]})
            }
            _ => {
                let name = sent.pointer("/tools/0/function/name").unwrap();
                let call = json!({"function": {"name": name, "arguments": {}}});
                json!({"message": {"content": "", "tool_calls": [call]}, "done": true})
            }
        };
        let answer = Answer { status: 200, body: body.to_string().into_bytes(), ..Answer::default() };
        let reply = decode(&format, &answer, &request).unwrap();
        assert_eq!(reply.calls[0].name, ToolName::from("files.read ü"), "{}", format.name);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 128, ..Default::default() })]
    #[test]
    fn no_answer_makes_a_codec_panic(status in 100u16..600, body in ".{0,200}") {
        for format in formats() {
            let answer = Answer { status, body: body.clone().into_bytes(), ..Answer::default() };
            let found = decode(&format, &answer, &plain(opening()));
            proptest::prop_assert!(found.is_err());
        }
    }
}
