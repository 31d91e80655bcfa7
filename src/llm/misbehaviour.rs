//! The transport and the codec together against servers that misbehave, on the loopback interface.
//!
//! Servers are wiremock where HTTP is spoken well, and a bare socket where it is not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{
    Choice, Facts, Finish, Message, Model, ModelError, ModelErrorKind, Reply, Request, ResponseFormat,
    connect,
};
use crate::id::ModelName;
use crate::spec::{Effect, Output, ToolKind, ToolSpec};

const KEY: &str = "sk-secret-1234";

fn request() -> Request {
    let tool = ToolSpec {
        name: "fetch".into(),
        description: "Fetches".to_owned(),
        parameters: json!({"type": "object", "properties": {"week": {"type": "string"}}}),
        returns: None,
        effect: Effect::Read,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Command { argv: vec!["true".to_owned()] },
    };
    Request {
        step: None,
        messages: vec![Message::User { text: "hello".to_owned() }],
        tools: vec![tool],
        choice: Choice::Tool("fetch".into()),
        format: None,
        temperature: None,
        max_tokens: None,
        seed: None,
        timeout: Some(Duration::from_secs(20)),
        facts: Facts::Text { task: None, description: String::new(), results: Vec::new(), of: None },
    }
}

fn model(base: &str, key: &str) -> Result<Arc<dyn Model>, ModelError> {
    let env = |name: &str| match name {
        "OPENAI_API_KEY" => Some(key.to_owned()),
        "OPENAI_BASE_URL" => Some(base.to_owned()),
        _ => None,
    };
    connect(&ModelName::new("openai/gpt-5-mini"), None, &env)
}

/// Asks a wiremock server that gives this answer, and checks that it was asked exactly once.
async fn ask(answer: ResponseTemplate) -> Result<Reply, ModelError> {
    ask_for(&request(), answer).await
}

async fn ask_for(request: &Request, answer: ResponseTemplate) -> Result<Reply, ModelError> {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(answer)
        .expect(1)
        .mount(&server)
        .await;
    let found = model(&format!("{}/v1", server.uri()), KEY).unwrap().ask(request).await;
    server.verify().await;
    if let Err(error) = &found {
        assert!(!error.message.contains(KEY), "{error}");
    }
    found
}

fn reply(message: Value) -> ResponseTemplate {
    ResponseTemplate::new(200)
        .set_body_json(json!({"choices": [{"message": message, "finish_reason": "stop"}]}))
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Checks kind and words, and gives back how long the server asks to wait.
#[track_caller]
fn refused(found: Result<Reply, ModelError>, kind: ModelErrorKind, says: &[&str]) -> Option<Duration> {
    let error = found.expect_err("an error was expected");
    assert_eq!(error.kind, kind, "{error}");
    for words in says {
        assert!(error.message.contains(words), "no `{words}` in `{error}`");
    }
    error.retry_after
}

#[tokio::test]
async fn a_server_that_behaves() {
    let server = MockServer::start().await;
    let body = json!({
        "model": "gpt-5-mini",
        "tool_choice": {"type": "function", "function": {"name": "fetch"}},
        "messages": [{"role": "user", "content": "hello"}],
    });
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .and(header("content-type", "application/json"))
        .and(header("user-agent", concat!("wf/", env!("CARGO_PKG_VERSION"))))
        .and(body_partial_json(body))
        .respond_with(reply(json!({"content": null, "tool_calls": [call("fetch", json!("{}"))]})))
        .expect(2)
        .mount(&server)
        .await;
    let model = model(&format!("{}/v1/", server.uri()), KEY).unwrap();
    for _ in 0..2 {
        let found = model.ask(&request()).await.unwrap();
        assert_eq!(found.calls[0].name.as_str(), "fetch");
    }
    assert_eq!(model.name().as_str(), "openai/gpt-5-mini");
}

#[tokio::test]
async fn no_key_no_header() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(reply(json!({"content": "hi"}))).mount(&server).await;
    model(&server.uri(), "").unwrap().ask(&request()).await.unwrap();
    let seen = server.received_requests().await.unwrap();
    assert!(!seen[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_key_that_cannot_be_sent() {
    let error = model("http://127.0.0.1:9", "sk-secret\n1234").err().unwrap();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.message.starts_with("OPENAI_API_KEY cannot be sent"), "{error}");
    assert!(!error.message.contains("secret"), "{error}");
}

#[tokio::test]
async fn statuses_that_pass() {
    use ModelErrorKind::Transient;
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 529, 599] {
        let wait = refused(ask(ResponseTemplate::new(status)).await, Transient, &[&status.to_string()]);
        assert_eq!(wait, None);
    }
}

#[tokio::test]
async fn waits_that_are_asked_for() {
    let wait = async |name: &str, value: &str| {
        let answer = ResponseTemplate::new(429).insert_header(name, value);
        refused(ask(answer).await, ModelErrorKind::Transient, &["429"])
    };
    assert_eq!(wait("retry-after", "7").await, Some(Duration::from_secs(7)));
    assert_eq!(wait("retry-after-ms", "70").await, Some(Duration::from_millis(70)));
    assert_eq!(wait("retry-after", "99999999999999999999999").await, Some(Duration::MAX));
    assert_eq!(wait("retry-after", "soon").await, None);
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(60));
    let until = wait("retry-after", &date).await.unwrap();
    assert!((50..=61).contains(&until.as_secs()), "{until:?}");
}

#[tokio::test]
async fn refusals() {
    use ModelErrorKind::{FormatRefused, Refused};
    let error =
        |status: u16, error: Value| ResponseTemplate::new(status).set_body_json(json!({"error": error}));
    let echo = json!({"message": format!("Incorrect API key provided: {KEY}"), "code": "invalid_api_key"});
    refused(ask(error(401, echo)).await, Refused, &["OPENAI_API_KEY", "***"]);
    let gone = json!({"message": "no such model", "code": "model_not_found"});
    refused(ask(error(404, gone)).await, Refused, &["gpt-5-mini", "OPENAI_BASE_URL is http://127.0.0.1:"]);
    let quota = json!({"message": "exceeded", "code": "insufficient_quota"});
    refused(ask(error(429, quota)).await, Refused, &["quota"]);
    let format = Some(ResponseFormat { name: "plan".to_owned(), schema: json!({}) });
    let json_schema = json!({"message": "response_format json_schema is not supported"});
    let found = ask_for(&Request { format, ..request() }, error(400, json_schema)).await;
    refused(found, FormatRefused, &["response format"]);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = MockServer::start().await;
    for status in [301, 302, 307, 308] {
        let answer = ResponseTemplate::new(status).insert_header("location", elsewhere.uri().as_str());
        let says = ["redirect to http://127.0.0.1:", "OPENAI_BASE_URL"];
        refused(ask(answer).await, ModelErrorKind::Refused, &says);
    }
    assert!(elsewhere.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_not_of_the_protocol() {
    let raw = |body: &[u8], kind: &str| ResponseTemplate::new(200).set_body_raw(body, kind);
    for (answer, says) in [
        (raw(b"<html>Login</html>", "text/html"), "HTML page"),
        (raw(b"{\"choices\": [{\"mess", "application/json"), "stops in the middle"),
        (raw(b"{\"choices\": [{\"message\": \"\xff\"}]}", "application/json"), "not UTF-8"),
        (raw(b"", "application/json"), "nothing"),
        (raw(b"data: {}\n\n", "text/event-stream"), "stream"),
        (raw(b"Ollama is running", "text/plain"), "not JSON"),
        (raw(b"{\"choices\": []}", "application/json"), "empty list of choices"),
        (raw(b"{\"choices\": [{}]}", "application/json"), "no message"),
        (ResponseTemplate::new(204), "nothing"),
    ] {
        refused(ask(answer).await, ModelErrorKind::Protocol, &[says, "OPENAI_BASE_URL is http://127.0.0.1:"]);
    }
}

#[tokio::test]
async fn odd_replies_are_replies() {
    let found = ask(reply(json!({"content": null}))).await.unwrap();
    assert_eq!(found, Reply::default());
    let two = json!([call("fetch", json!("{}")), call("other", json!("[1]"))]);
    let found = ask(reply(json!({"content": null, "tool_calls": two}))).await.unwrap();
    let names: Vec<_> =
        found.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(names, [("fetch", "{}"), ("other", "[1]")]);
    let broken = json!([call("fetch", json!("{\"week\": ")), call("fetch", json!({"week": "1"}))]);
    let found = ask(reply(json!({"tool_calls": broken}))).await.unwrap();
    assert_eq!(
        (found.calls[0].arguments.as_str(), found.calls[1].arguments.as_str()),
        ("{\"week\": ", "{\"week\":\"1\"}")
    );
    let found = ask(reply(json!({"content": "{\"week\": \"1\"}"}))).await.unwrap();
    assert_eq!((found.text.as_str(), found.calls.len()), ("{\"week\": \"1\"}", 0));
    let text = Request { choice: Choice::None, ..request() };
    let called = reply(json!({"content": "", "tool_calls": [call("fetch", json!("{}"))]}));
    assert_eq!(ask_for(&text, called).await.unwrap().calls.len(), 1);
    for (reason, finish) in [("length", Finish::Length), ("content_filter", Finish::Refused)] {
        let body = json!({"choices": [{"message": {"content": "a"}, "finish_reason": reason}]});
        let found = ask(ResponseTemplate::new(200).set_body_json(body)).await.unwrap();
        assert_eq!((found.text.as_str(), found.finish), ("a", finish));
    }
    let wrong_type = ResponseTemplate::new(200)
        .set_body_raw("{\"choices\": [{\"message\": {\"content\": \"a\"}}]}", "text/html");
    assert_eq!(ask(wrong_type).await.unwrap().text, "a");
}

#[tokio::test]
async fn a_huge_answer_is_not_read_to_its_end() {
    let body = vec![b' '; super::MAX_ANSWER_BYTES + 1];
    let answer = ResponseTemplate::new(200).set_body_raw(body, "application/json");
    refused(ask(answer).await, ModelErrorKind::Protocol, &["32 MiB"]);
}

#[tokio::test]
async fn a_server_that_waits_too_long() {
    let slow = reply(json!({"content": "late"})).set_delay(Duration::from_secs(30));
    let hasty = Request { timeout: Some(Duration::from_millis(100)), ..request() };
    let began = Instant::now();
    refused(ask_for(&hasty, slow).await, ModelErrorKind::Timeout, &["100ms", "`timeout` under `model`"]);
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// What a bare server does with a connection once it has read the request.
enum Then {
    /// Writes this and closes.
    Close(&'static [u8]),
    /// Writes this and resets the connection.
    Reset(&'static [u8]),
    /// Writes this, and then a byte whenever it can, for ever.
    Drip(&'static [u8]),
}

async fn serve(then: Then) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // A client that hangs up early is part of these tests.
            let _ = answer(&mut stream, &then).await;
        }
    });
    address
}

async fn answer(stream: &mut TcpStream, then: &Then) -> std::io::Result<()> {
    let mut seen = vec![0; 64 << 10];
    let mut length = 0;
    while !seen[..length].windows(6).any(|end| end == b"hello\"") {
        match stream.read(&mut seen[length..]).await? {
            0 => break,
            read => length += read,
        }
    }
    match then {
        Then::Close(bytes) => stream.write_all(bytes).await,
        Then::Reset(bytes) => {
            stream.write_all(bytes).await?;
            stream.flush().await?;
            // Closing with no time to linger sends a reset instead of an orderly end.
            stream.set_zero_linger()
        }
        Then::Drip(bytes) => {
            stream.write_all(bytes).await?;
            let mut beat = tokio::time::interval(Duration::from_millis(5));
            loop {
                beat.tick().await;
                stream.write_all(b" ").await?;
            }
        }
    }
}

async fn ask_bare(then: Then, timeout: Duration) -> Result<Reply, ModelError> {
    let address = serve(then).await;
    let request = Request { timeout: Some(timeout), ..request() };
    model(&format!("http://{address}/v1"), KEY).unwrap().ask(&request).await
}

const LONG: Duration = Duration::from_secs(20);
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{\"choices\": [";

#[tokio::test]
async fn connections_that_break() {
    use ModelErrorKind::Transient;
    refused(ask_bare(Then::Reset(b""), LONG).await, Transient, &["127.0.0.1:", "OPENAI_BASE_URL is"]);
    refused(ask_bare(Then::Close(b""), LONG).await, Transient, &["127.0.0.1:"]);
    refused(ask_bare(Then::Close(b"HTTP/1.1 200 O"), LONG).await, Transient, &["127.0.0.1:"]);
    refused(ask_bare(Then::Close(HEAD), LONG).await, Transient, &["in the middle of its answer"]);
    refused(ask_bare(Then::Reset(HEAD), LONG).await, Transient, &["127.0.0.1:"]);
    refused(ask_bare(Then::Close(b"SSH-2.0-OpenSSH\r\n"), LONG).await, Transient, &["127.0.0.1:"]);
}

#[tokio::test]
async fn a_refusal_counts_even_if_its_text_breaks_off() {
    let head = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 5000\r\n\r\n{\"error\": ";
    refused(ask_bare(Then::Close(head), LONG).await, ModelErrorKind::Refused, &["401", "OPENAI_API_KEY"]);
}

#[tokio::test]
async fn a_server_that_drips() {
    let short = Duration::from_millis(150);
    refused(ask_bare(Then::Drip(HEAD), short).await, ModelErrorKind::Timeout, &["150ms"]);
    refused(
        ask_bare(Then::Drip(b"HTTP/1.1 200 OK\r\nx: "), short).await,
        ModelErrorKind::Timeout,
        &["150ms"],
    );
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let found = model(&format!("http://{address}/v1"), KEY).unwrap().ask(&request()).await;
    let says = [&format!("cannot reach {address}"), "is the server running?", "OPENAI_BASE_URL is http://"];
    refused(found, ModelErrorKind::Transient, &says);
}

#[tokio::test]
async fn tls_where_there_is_none() {
    let server = MockServer::start().await;
    let base = server.uri().replace("http://", "https://");
    // A machine without certificates cannot set TLS up at all, and says so.
    let found = match model(&base, KEY) {
        Ok(model) => model.ask(&request()).await,
        Err(error) => Err(error),
    };
    refused(found, ModelErrorKind::Refused, &["TLS"]);
}
