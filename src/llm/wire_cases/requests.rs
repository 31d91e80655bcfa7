//! What is sent, byte for byte, and that a conversation that goes on begins with the same bytes.
//!
//! A file of `requests` is a complete body, as it would be sent; the requests they are made of stand
//! here.

use std::fs;

use serde_json::{Value, json};

use super::{called, formats, history, opening, plain};
use crate::llm::anthropic::Messages;
use crate::llm::ollama::Chat;
use crate::llm::openai::{ChatCompletions, Dialect};
use crate::llm::words::{arguments_of, without_tools};
use crate::llm::{Choice, Message, Request, ResponseFormat, Way, Wire};

const STREAMED: Way = Way::Streamed { usage: true };

/// A request under the name of its file.
struct Case {
    format: &'static str,
    name: &'static str,
    request: Request,
    model: &'static str,
    way: Way,
    wire: Box<dyn Wire>,
}

fn case(
    format: &'static str,
    name: &'static str,
    model: &'static str,
    request: Request,
    wire: impl Wire + 'static,
) -> Case {
    Case { format, name, request, model, way: Way::Whole, wire: Box::new(wire) }
}

fn forced() -> Request {
    Request { choice: Choice::Tool("files.read ü".into()), ..plain(opening()) }
}

/// A request for arguments that were asked for as a call in vain.
fn in_vain() -> Request {
    let request = Request { choice: Choice::Tool("fetch_sales_data".into()), ..plain(history()) };
    let schema = request.tools[0].parameters.clone();
    Request { format: Some(ResponseFormat { name: "arguments".to_owned(), schema }), ..request }
}

fn settings() -> Request {
    let schema = json!({
        "type": "object",
        "properties": {"weak": {"type": "string", "maxLength": 20}},
        "required": ["weak"],
    });
    Request {
        tools: Vec::new(),
        format: Some(ResponseFormat { name: "plan".to_owned(), schema }),
        temperature: Some(1.5),
        max_tokens: Some(1000),
        seed: Some(7),
        ..plain(vec![Message::User { text: "hello".to_owned() }])
    }
}

/// A conversation in which a model was sent back what could not be used.
fn broken() -> Request {
    let mut messages = history();
    let id = "a very long id that no provider would take as the id of a call";
    messages.push(called("gone.tool", id, "{broken"));
    messages.push(Message::Tool { call: id.to_owned(), name: "gone.tool".into(), text: "No.".to_owned() });
    Request { choice: Choice::Tool("fetch_sales_data".into()), ..plain(messages) }
}

/// What a server is asked that refused the tools.
fn in_words() -> Request {
    let request = in_vain();
    let mut messages = without_tools(&request.messages);
    messages.push(Message::User { text: arguments_of(&request.tools[0]) });
    Request { messages, tools: Vec::new(), choice: Choice::None, ..request }
}

fn cases() -> Vec<Case> {
    let openai =
        |name, request, dialect| case("openai", name, "gpt-5-mini", request, ChatCompletions { dialect });
    let anthropic = |name, model, request| case("anthropic", name, model, request, Messages);
    let ollama = |name, request, context| case("ollama", name, "llama3.2", request, Chat { context });
    let open = ResponseFormat { name: "plan".to_owned(), schema: json!({"type": "object"}) };
    let any_keys = Request { format: Some(open), ..settings() };
    vec![
        openai("forced_call", forced(), Dialect::OPENAI),
        openai("text_with_history", plain(history()), Dialect::OPENAI),
        openai("arguments_in_vain", in_vain(), Dialect::COMPATIBLE),
        openai("arguments_in_words", in_words(), Dialect::COMPATIBLE),
        openai("settings_openai", settings(), Dialect::OPENAI),
        openai("settings_compatible", settings(), Dialect::COMPATIBLE),
        openai("settings_mistral", Request { messages: history(), ..settings() }, Dialect::MISTRAL),
        openai("broken_arguments", broken(), Dialect::COMPATIBLE),
        Case { way: STREAMED, ..openai("streamed", plain(opening()), Dialect::OPENAI) },
        Case { way: STREAMED, ..openai("streamed_mistral", plain(opening()), Dialect::MISTRAL) },
        Case {
            way: Way::Streamed { usage: false },
            ..openai("streamed_without_usage", plain(opening()), Dialect::OPENAI)
        },
        anthropic("forced_call", "claude-sonnet-4-5", forced()),
        anthropic("call_that_cannot_be_forced", "claude-opus-5-5", forced()),
        anthropic("text_with_history", "claude-sonnet-4-5", plain(history())),
        anthropic("arguments_in_vain", "claude-opus-5-5", in_vain()),
        anthropic("settings", "claude-opus-4-6", settings()),
        anthropic("settings_left_out", "claude-opus-5", any_keys),
        anthropic("broken_arguments", "claude-sonnet-4-5", broken()),
        anthropic("other_models", "MiniMax-M2", settings()),
        Case { way: STREAMED, ..anthropic("streamed", "claude-sonnet-4-5", plain(opening())) },
        ollama("forced_call", forced(), None),
        ollama("call_with_history", broken(), None),
        ollama("arguments_in_vain", in_vain(), None),
        ollama("text_with_history", plain(history()), None),
        ollama("settings", settings(), Some(16_384)),
        Case { way: STREAMED, ..ollama("streamed", plain(opening()), None) },
    ]
}

#[test]
fn requests_are_what_the_files_say_byte_for_byte() {
    for case in cases() {
        let body = case.wire.encode(&case.request, case.model, case.way);
        let written = serde_json::to_string_pretty(&body).unwrap();
        let format = formats().into_iter().find(|format| format.name == case.format).unwrap();
        let path = format.folder("requests").join(case.name).with_extension("json");
        if std::env::var_os("WF_UPDATE").is_some() {
            fs::write(&path, format!("{written}\n")).unwrap();
        }
        let expected =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(written, expected.trim_end(), "{}", path.display());
        let again = case.wire.encode(&case.request, case.model, case.way);
        assert_eq!(again.to_string(), body.to_string(), "{} again", path.display());
    }
}

#[test]
fn every_request_file_has_its_case() {
    let cases = cases();
    for format in formats() {
        for entry in fs::read_dir(format.folder("requests")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let known = |case: &Case| case.format == format.name && name == format!("{}.json", case.name);
            assert!(cases.iter().any(known), "{}: {name} belongs to no case", format.name);
        }
    }
}

/// A body without what marks how far a prompt is the same: the mark moves on with the conversation.
fn unmarked(body: &Value) -> Value {
    match body {
        Value::Array(values) => values.iter().map(unmarked).collect(),
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| *key != "cache_control");
            Value::Object(kept.map(|(key, value)| (key.clone(), unmarked(value))).collect())
        }
        other => other.clone(),
    }
}

#[test]
fn a_conversation_that_goes_on_begins_with_the_same_bytes() {
    let mut messages = history();
    // A tool that no request lists, whose wire name is one that a listed tool could have.
    messages.push(called("files_read__0", "call_3", "{}"));
    messages.push(called("files.read", "call_4", "{}"));
    for format in formats() {
        let encode = |request: &Request| format.wire.encode(request, "claude-sonnet-4-5", Way::Whole);
        for end in 3..messages.len() {
            let bytes =
                |end: usize| unmarked(&encode(&plain(messages[..end].to_vec()))["messages"]).to_string();
            let (shorter, longer) = (bytes(end), bytes(end + 1));
            let begun = shorter.trim_end_matches(['}', ']']);
            assert!(longer.starts_with(begun), "{}: {shorter}\n{longer}", format.name);
        }
        let tools = |choice| encode(&Request { choice, ..plain(opening()) })["tools"].to_string();
        // Ollama shows a tool only where it is to be called.
        if format.name != "ollama" {
            assert_eq!(tools(Choice::None), tools(Choice::Tool("fetch_sales_data".into())));
        }
    }
}

#[test]
fn a_request_has_at_most_four_marks() {
    for case in cases().iter().filter(|case| case.format == "anthropic") {
        let body = case.wire.encode(&case.request, case.model, case.way).to_string();
        assert!((1..=4).contains(&body.matches("cache_control").count()), "{body}");
    }
}
