//! What becomes of answers that come in pieces, and what of them is heard.
//!
//! A file of `streams` holds the pieces in their order, and the reply or the error that is expected of
//! them all.

use std::sync::Mutex;

use serde::Deserialize;
use serde_json::Value;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Expected, KEY, check, formats, opening, plain};
use crate::id::ModelName;
use crate::llm::{Framing, Reply, connect};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[expect(dead_code, reason = "for people who read the file")]
    about: String,
    /// What the server sends, in order: `{event, data}` of an event stream, any JSON of lines, or text
    /// as it is.
    pieces: Vec<Value>,
    /// The text that is heard while it comes.
    #[serde(default)]
    heard: Vec<String>,
    #[serde(default)]
    reply: Option<Reply>,
    #[serde(default)]
    error: Option<Expected>,
}

fn bytes(framing: Framing, pieces: &[Value]) -> String {
    let as_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let piece = |piece: &Value| match (framing, piece) {
        (_, Value::String(text)) => text.clone(),
        (Framing::Lines, line) => format!("{line}\n"),
        (Framing::Events, event) => {
            let name = event.get("event").map(|name| format!("event: {}\n", as_text(name)));
            format!("{}data: {}\n\n", name.unwrap_or_default(), as_text(&event["data"]))
        }
    };
    pieces.iter().map(piece).collect()
}

#[tokio::test]
async fn streams_become_what_the_files_say() {
    for format in formats() {
        let content_type = match format.wire.framing() {
            Framing::Events => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
        };
        let cases = format.cases::<Case>("streams");
        assert!(cases.len() >= 7, "{}: only {} cases were found", format.name, cases.len());
        for (name, case) in cases {
            let server = MockServer::start().await;
            let body = bytes(format.wire.framing(), &case.pieces);
            let answer = ResponseTemplate::new(200).set_body_raw(body, content_type);
            Mock::given(method("POST")).respond_with(answer).expect(1).mount(&server).await;
            let env = |variable: &str| match variable {
                _ if variable == format.base_url_variable => Some(server.uri()),
                _ => variable.ends_with("_API_KEY").then(|| KEY.to_owned()),
            };
            let model = connect(&ModelName::new(format.model), None, &env).unwrap();
            let heard = Mutex::new(Vec::new());
            let hear = |text: &str| heard.lock().unwrap().push(text.to_owned());
            let found = model.ask_aloud(&plain(opening()), &hear).await;
            check(&name, &found, case.reply.as_ref(), case.error.as_ref());
            let heard = heard.into_inner().unwrap();
            assert_eq!(heard, case.heard, "{name}");
            if let Some(reply) = &case.reply {
                assert!(reply.text.starts_with(&heard.concat()), "{name}");
            }
        }
    }
}
