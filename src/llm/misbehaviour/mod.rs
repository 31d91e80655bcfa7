//! Transport and codecs together against servers that misbehave, on the loopback interface: every way
//! of `ways.rs` in each wire format, asked for as a whole and piece by piece.
//!
//! Each gives its typed outcome within its deadline, after exactly the requests it takes: nothing is
//! tried again below [`Model::ask`].

mod server;
mod speaker;
mod stream_ways;
mod ways;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use super::{
    Choice, Facts, Message, Model, ModelError, ModelErrorKind, Reply, Request, ResponseFormat, connect,
};
use crate::id::ModelName;
use crate::spec::{Effect, Output, ToolKind, ToolSpec};
use server::{Act, Script, serve};
use speaker::{Speaker, speakers};

const KEY: &str = "sk-secret-1234";

/// Longer than any way takes: a test that comes so far has found a hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// A call of `fetch`.
    Call,
    Text,
    /// Text of a form.
    Form,
}

/// In which way of asking something can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    Streamed,
    Whole,
}

/// A way to misbehave.
struct Way {
    name: &'static str,
    when: When,
    asked: Asked,
    /// The time that is allowed; long where it does not matter.
    timeout: Duration,
    script: Writes,
    outcome: Outcome,
}

/// Writes the script for a provider, streamed or not.
type Writes = Box<dyn Fn(&Speaker, bool) -> Script>;

/// What becomes of it.
enum Outcome {
    /// An error of this kind, whose message has all these words.
    Fails(ModelErrorKind, &'static [&'static str]),
    /// A fault that passes, and for which the server asks a wait between these seconds.
    Waits(u64, u64),
    /// A reply of this text, these calls and this end.
    Replies(fn(&Reply) -> bool),
}

fn request(asked: Asked, timeout: Duration) -> Request {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Fetches".to_owned(),
        parameters: json!({"type": "object", "properties": {"week": {"type": "string"}}}),
        returns: None,
        effect: Effect::Read,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Command { argv: vec!["true".to_owned()] },
    };
    let schema = json!({"type": "object", "properties": {"week": {"type": "string"}}});
    Request {
        step: None,
        messages: vec![Message::User { text: "hello".to_owned() }],
        tools: vec![tool("fetch")],
        choice: if asked == Asked::Call { Choice::Tool("fetch".into()) } else { Choice::None },
        format: (asked == Asked::Form).then(|| ResponseFormat { name: "result".to_owned(), schema }),
        temperature: None,
        max_tokens: None,
        seed: None,
        timeout: Some(timeout),
        facts: Facts::Text { task: None, description: String::new(), results: Vec::new(), of: None },
    }
}

fn model(speaker: &Speaker, base: &str, streamed: bool, key: &str) -> Result<Arc<dyn Model>, ModelError> {
    let env = |name: &str| match name {
        "WF_STREAM" => Some(u8::from(streamed).to_string()),
        "WF_STREAM_IDLE" => Some("1".to_owned()),
        _ if name == speaker.base_url_variable => Some(base.to_owned()),
        _ => (name == speaker.key_variable).then(|| key.to_owned()),
    };
    connect(&ModelName::new(speaker.model), None, &env)
}

/// What is wrong with what became of a way, if anything is.
async fn tried(way: &Way, speaker: &Speaker, streamed: bool) -> Option<String> {
    let script = (way.script)(speaker, streamed);
    let wanted = script.len();
    let (address, served) = serve(script).await;
    let base = format!("http://{address}{}", speaker.base_path);
    let model = model(speaker, &base, streamed, KEY).unwrap();
    let heard = Mutex::new(String::new());
    let hear = |text: &str| heard.lock().unwrap().push_str(text);
    let request = request(way.asked, way.timeout);
    let Ok(found) = tokio::time::timeout(PATIENCE, model.ask_aloud(&request, &hear)).await else {
        return Some("hangs".to_owned());
    };
    let requests = served.lock().unwrap().clone();
    if requests.len() != wanted {
        return Some(format!("{} requests instead of {wanted}", requests.len()));
    }
    let path = format!("POST {} HTTP/1.1", speaker.path);
    if let Some(other) = requests.iter().find(|request| !request.starts_with(&path)) {
        return Some(format!("asked {}", other.lines().next().unwrap_or_default()));
    }
    let error = match (&way.outcome, &found) {
        (Outcome::Replies(is_right), Ok(reply)) => {
            let heard = heard.into_inner().unwrap();
            return (!is_right(reply) || !reply.text.starts_with(&heard))
                .then(|| format!("{reply:?} {heard:?}"));
        }
        (Outcome::Fails(..) | Outcome::Waits(..), Err(error)) => error,
        _ => return Some(format!("{found:?}")),
    };
    let kind_and_words = match &way.outcome {
        Outcome::Fails(kind, words) => (*kind, *words),
        Outcome::Waits(..) | Outcome::Replies(_) => (ModelErrorKind::Transient, &[][..]),
    };
    let (kind, words) = kind_and_words;
    if error.kind != kind || words.iter().any(|words| !error.message.contains(&speaker.filled(words))) {
        return Some(format!("{:?}: {error}", error.kind));
    }
    if error.message.contains(KEY) || error.message.chars().any(char::is_control) {
        return Some(format!("not fit to be shown: {error:?}"));
    }
    let wait = error.retry_after.map(|wait| wait.as_secs());
    let is_right = match way.outcome {
        Outcome::Waits(least, most) => wait.is_some_and(|wait| (least..=most).contains(&wait)),
        _ => wait.is_none(),
    };
    (!is_right).then(|| format!("wait: {wait:?}"))
}

#[tokio::test]
async fn every_way_has_its_typed_outcome_in_every_format() {
    let ways = ways::all();
    let names: std::collections::BTreeSet<_> = ways.iter().map(|way| way.name).collect();
    assert_eq!(names.len(), ways.len(), "each way has a name of its own");
    let speakers = speakers();
    let mut wrong = Vec::new();
    // One way after the other: the deadlines of some are short.
    for way in &ways {
        let happens = |streamed: &bool| match way.when {
            When::Always => true,
            When::Streamed => *streamed,
            When::Whole => !*streamed,
        };
        let trials = speakers.iter().flat_map(|speaker| {
            [false, true].into_iter().filter(happens).map(move |streamed| async move {
                let what = tried(way, speaker, streamed).await?;
                let how = if streamed { "streamed" } else { "whole" };
                Some(format!("{}, {}, {how}: {what}", way.name, speaker.model))
            })
        });
        wrong.extend(join_all(trials).await.into_iter().flatten());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_server_that_behaves_gets_the_key_and_what_is_asked() {
    for speaker in speakers() {
        for streamed in [false, true] {
            let script: Script = vec![vec![Act::Send(speaker.answers(&speaker.text("hi"), streamed))]; 2];
            let (address, served) = serve(script).await;
            let model =
                model(&speaker, &format!("http://{address}{}/", speaker.base_path), streamed, KEY).unwrap();
            assert_eq!(model.name().as_str(), speaker.model);
            for _ in 0..2 {
                assert_eq!(model.ask(&request(Asked::Text, PATIENCE)).await.unwrap().text, "hi");
            }
            let requests = served.lock().unwrap().clone();
            assert_eq!(requests.len(), 2, "{}", speaker.model);
            for request in requests {
                let line = format!("POST {} HTTP/1.1\r\n", speaker.path);
                assert!(request.starts_with(&line), "{request}");
                let agent = concat!("user-agent: wf/", env!("CARGO_PKG_VERSION"), "\r\n");
                let headers = speaker.key_headers.iter().copied();
                for header in headers.chain([agent, "content-type: application/json\r\n"]) {
                    assert!(request.contains(header), "{header}: {request}");
                }
                assert!(request.contains("\"hello\""), "{request}");
            }
        }
    }
}

#[tokio::test]
async fn no_key_no_header() {
    for speaker in speakers() {
        let script = vec![vec![Act::Send(speaker.answers(&speaker.text("hi"), false))]];
        let (address, served) = serve(script).await;
        let model = model(&speaker, &format!("http://{address}"), false, "").unwrap();
        model.ask(&request(Asked::Text, PATIENCE)).await.unwrap();
        let request = served.lock().unwrap()[0].to_lowercase();
        assert!(!request.contains("authorization:") && !request.contains("x-api-key:"), "{request}");
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_sent() {
    for speaker in speakers() {
        let error = model(&speaker, "http://127.0.0.1:9", true, "sk-secret\n1234").err().unwrap();
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert!(error.message.starts_with(&format!("{} cannot be sent", speaker.key_variable)), "{error}");
        assert!(!error.message.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for speaker in speakers() {
        let model = model(&speaker, &format!("http://{address}"), true, KEY).unwrap();
        let error = model.ask(&request(Asked::Text, PATIENCE)).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Transient);
        let setting = format!("{} is http://{address}", speaker.base_url_variable);
        for says in [&format!("cannot reach {address}"), &setting, "--model offline", speaker.start] {
            assert!(error.message.contains(says), "no `{says}` in {error}");
        }
    }
}

#[tokio::test]
async fn tls_where_there_is_none() {
    for speaker in speakers() {
        let (address, _) = serve(vec![vec![Act::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())]]).await;
        // A machine without certificates cannot set TLS up at all, and says so.
        let error = match model(&speaker, &format!("https://{address}"), true, KEY) {
            Ok(model) => model.ask(&request(Asked::Text, PATIENCE)).await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert!(error.message.contains("TLS"), "{error}");
    }
}

#[tokio::test]
async fn what_was_refused_as_a_way_of_asking_is_not_asked_in_that_way_again() {
    let speaker = speakers().remove(0);
    let refusal = speaker.fault(400, "stream_options is not supported", "");
    let whole = |text: &'static str| vec![Act::Send(speaker.answers(&speaker.text(text), true))];
    let (address, served) = serve(vec![vec![Act::Send(refusal)], whole("one"), whole("two")]).await;
    let model = model(&speaker, &format!("http://{address}"), true, KEY).unwrap();
    for expected in ["one", "two"] {
        assert_eq!(model.ask(&request(Asked::Text, PATIENCE)).await.unwrap().text, expected);
    }
    let asked = served.lock().unwrap().iter().map(|it| it.contains("stream_options")).collect::<Vec<_>>();
    assert_eq!(asked, [true, false, false]);
}
