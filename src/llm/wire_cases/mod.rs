//! The codecs against files, each under `tests/data/wire/` and the name of its provider: `requests`
//! holds complete request bodies, `replies` answers of servers and what must become of them, `streams`
//! the same for answers that come in pieces.
//!
//! `WF_UPDATE=1` writes the request bodies; read what changed before you commit it.

mod replies;
mod requests;
mod streams;

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::anthropic::Messages;
use super::ollama::Chat;
use super::openai::{ChatCompletions, Dialect};
use super::{Call, Choice, Endpoint, Facts, Message, ModelError, Reply, Request, Wire, resolve};
use crate::id::ModelName;
use crate::spec::{Effect, Output, ToolKind, ToolSpec};

const KEY: &str = "sk-secret-1234";

/// A wire format under test.
struct Format {
    /// The folder of its files.
    name: &'static str,
    model: &'static str,
    /// The variable that is named where an address may be wrong.
    base_url_variable: &'static str,
    wire: Box<dyn Wire>,
}

fn formats() -> Vec<Format> {
    let format = |model: &'static str, base_url_variable, wire: Box<dyn Wire>| {
        let name = model.split('/').next().unwrap();
        Format { name, model, base_url_variable, wire }
    };
    let openai = ChatCompletions { dialect: Dialect::OPENAI };
    vec![
        format("openai/gpt-5-mini", "OPENAI_BASE_URL", Box::new(openai)),
        format("anthropic/claude-sonnet-4-5", "ANTHROPIC_BASE_URL", Box::new(Messages)),
        format("ollama/llama3.2", "OLLAMA_HOST", Box::new(Chat { context: None })),
    ]
}

impl Format {
    fn folder(&self, kind: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/wire").join(self.name).join(kind)
    }

    fn endpoint(&self) -> Endpoint {
        let env = |name: &str| name.ends_with("_API_KEY").then(|| KEY.to_owned());
        resolve(&ModelName::new(self.model), None, &env).unwrap()
    }

    /// The files of a folder, read.
    fn cases<T: DeserializeOwned>(&self, kind: &str) -> Vec<(String, T)> {
        let entries = fs::read_dir(self.folder(kind)).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path: PathBuf| {
            let name = path.display().to_string();
            let text = fs::read_to_string(path).unwrap();
            let case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, case)
        };
        paths.into_iter().map(read).collect()
    }
}

/// What a file expects instead of a reply.
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

impl Expected {
    fn check(&self, name: &str, error: &ModelError) {
        assert_eq!(format!("{:?}", error.kind), self.kind, "{name}: {error}");
        for words in &self.says {
            assert!(error.message.contains(words.as_str()), "{name}: no `{words}` in `{error}`");
        }
        assert!(!error.message.contains(KEY), "{name}: {error}");
        assert!(!error.message.chars().any(char::is_control), "{name}: {error:?}");
        assert!(error.message.chars().count() < 900, "{name}: {error}");
        let wait = error.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap());
        assert_eq!(wait, self.retry_after_ms, "{name}");
    }
}

/// Checks what became of a case.
fn check(name: &str, found: &Result<Reply, ModelError>, reply: Option<&Reply>, error: Option<&Expected>) {
    match (reply, error) {
        (Some(reply), None) => assert_eq!(found.as_ref(), Ok(reply), "{name}"),
        (None, Some(expected)) => expected.check(name, found.as_ref().expect_err(name)),
        _ => panic!("{name}: a case expects either a reply or an error"),
    }
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

/// A conversation as a step begins it: the tools are those of every request here.
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
    messages.push(Message::User { text: "Which category is weak?".to_owned() });
    messages.push(Message::Assistant { text: "Apparel is weak.".to_owned(), calls: Vec::new() });
    messages.push(Message::User { text: "Compile a summary".to_owned() });
    messages
}
