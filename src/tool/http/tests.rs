//! Requests against a server of the test: what is sent, what becomes of the answer, what is refused and
//! what is worth trying again.
//!
//! Uses the tool as a step does; knows no run.

use indexmap::IndexMap;
use wiremock::matchers::{any, body_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::spec::Effect;
use crate::tool::probe::{Probe, spec};

struct Case {
    method: &'static str,
    url: String,
    headers: Vec<(&'static str, &'static str)>,
    query: Vec<(&'static str, &'static str)>,
    json: Option<Value>,
}

impl Case {
    fn new(method: &'static str, url: String) -> Self {
        Self { method, url, headers: Vec::new(), query: Vec::new(), json: None }
    }

    fn spec(&self) -> ToolSpec {
        let map = |pairs: &[(&str, &str)]| -> IndexMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let kind = ToolKind::Http {
            method: self.method.to_owned(),
            url: self.url.clone(),
            headers: map(&self.headers),
            query: map(&self.query),
            json: self.json.clone(),
            body: None,
        };
        spec(kind, Effect::Read)
    }

    async fn call(&self, args: Value) -> Result<Value, ToolFault> {
        let mut surroundings = Surroundings::default();
        surroundings.env.insert("TOKEN".to_owned(), "hunter2hunter2".to_owned());
        Probe::default().declared(self.spec(), surroundings, args).await
    }
}

#[tokio::test]
async fn a_request_is_filled_in_and_its_answer_is_the_result() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/items/7"))
        .and(query_param("q", "a b&c=d/é"))
        .and(header("authorization", "Bearer hunter2hunter2"))
        .and(header("content-type", "application/json"))
        .and(body_json(json!({"text": "hi", "n": [1, 2], "fixed": true})))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"ok": true, "echo": "hunter2hunter2"})))
        .expect(1)
        .mount(&server)
        .await;
    let case = Case {
        headers: vec![("Authorization", "Bearer {{ env.TOKEN }}")],
        query: vec![("q", "{{ args.q }}"), ("none", "{{ args.none }}")],
        json: Some(json!({"text": "{{ args.text }}", "n": "{{ args.n }}", "fixed": true})),
        ..Case::new("POST", format!("{}/items/{{{{ args.id }}}}", server.uri()))
    };
    let args = json!({"id": 7, "q": "a b&c=d/é", "none": null, "text": "hi", "n": [1, 2]});
    assert_eq!(case.call(args).await, Ok(json!({"ok": true, "echo": "***"})));
}

#[tokio::test]
async fn a_value_stays_one_component_of_the_url() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/a/x%2F..%3Fy%23%40evil/b"))
        .respond_with(ResponseTemplate::new(200).set_body_string("plain"))
        .mount(&server)
        .await;
    let case = Case::new("GET", format!("{}/a/{{{{ args.x }}}}/b", server.uri()));
    assert_eq!(case.call(json!({"x": "x/..?y#@evil"})).await, Ok(json!("plain")));
    for dots in [".", ".."] {
        let fault = case.call(json!({"x": dots})).await.expect_err("would climb");
        assert_eq!(fault.kind, ToolFaultKind::Permanent, "{fault}");
    }
}

#[test]
fn scheme_and_host_are_literal() {
    for url in
        ["{{ args.url }}", "https://{{ args.host }}/x", "https://x.example{{ args.p }}/", "ftp://x/y", "/x"]
    {
        assert!(fixed_part(url).is_err(), "{url}");
    }
    for url in ["https://x.example", "http://x.example/{{ args.p }}", "https://x.example?q={{ args.q }}"] {
        assert!(fixed_part(url).is_ok(), "{url}");
    }
}

#[tokio::test]
async fn a_status_says_whether_it_may_pass() {
    let table = [
        (404, ToolFaultKind::Permanent),
        (401, ToolFaultKind::Permanent),
        (408, ToolFaultKind::Transient),
        (429, ToolFaultKind::Transient),
        (503, ToolFaultKind::Transient),
    ];
    for (status, kind) in table {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(status)
            .insert_header("retry-after", "7")
            .set_body_string("no hunter2hunter2 today");
        Mock::given(method("GET")).respond_with(answer).mount(&server).await;
        let fault = Case::new("GET", format!("{}/x?key=1", server.uri())).call(json!({})).await;
        let fault = fault.expect_err("is refused");
        assert_eq!((fault.kind, fault.retry_after), (kind, Some(Duration::from_secs(7))));
        let start = format!("GET {}/x answered {status} ", server.uri());
        assert!(fault.message.starts_with(&start) && fault.message.ends_with(": no *** today"), "{fault}");
    }
}

#[tokio::test]
async fn credentials_stay_with_their_host() {
    let (first, second) = (MockServer::start().await, MockServer::start().await);
    let to = |url: String| ResponseTemplate::new(302).insert_header("location", url);
    Mock::given(path("/near")).respond_with(to("/far".to_owned())).mount(&first).await;
    Mock::given(path("/far"))
        .and(header("x-api-key", "hunter2hunter2"))
        .respond_with(to(format!("{}/end", second.uri())))
        .mount(&first)
        .await;
    Mock::given(path("/end"))
        .respond_with(ResponseTemplate::new(200).set_body_string("1"))
        .mount(&second)
        .await;
    let key = vec![("X-Api-Key", "{{ env.TOKEN }}")];
    let case = Case { headers: key, ..Case::new("GET", format!("{}/near", first.uri())) };
    assert_eq!(case.call(json!({})).await, Ok(json!(1)));
    let asked = second.received_requests().await.expect("recorded");
    assert!(asked.iter().all(|request| !request.headers.contains_key("x-api-key")));

    Mock::given(path("/keep"))
        .respond_with(ResponseTemplate::new(307).insert_header("location", format!("{}/end", second.uri())))
        .mount(&first)
        .await;
    let case = Case { json: Some(json!({})), ..Case::new("POST", format!("{}/keep", first.uri())) };
    let fault = case.call(json!({})).await.expect_err("the body stays");
    assert!(fault.message.contains("stays with the host in the file"), "{fault}");
}

#[tokio::test]
async fn redirects_end() {
    let server = MockServer::start().await;
    let round = ResponseTemplate::new(302).insert_header("location", "/again");
    Mock::given(method("GET")).respond_with(round).expect(6).mount(&server).await;
    let fault =
        Case::new("GET", format!("{}/x", server.uri())).call(json!({})).await.expect_err("never ends");
    assert_eq!(fault.message, format!("GET {}/x was redirected more than 5 times", server.uri()));
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_a_timeout_and_no_server_may_pass() {
    let server = MockServer::start().await;
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_secs(20));
    Mock::given(method("GET")).respond_with(slow).mount(&server).await;
    let case = Case::new("GET", format!("{}/x", server.uri()));
    let probe = Probe { timeout: Some(Duration::from_millis(50)), ..Probe::default() };
    let fault = probe.declared(case.spec(), Surroundings::default(), json!({})).await.expect_err("is slow");
    assert_eq!(fault.kind, ToolFaultKind::Timeout);

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let closed = listener.local_addr().expect("an address");
    drop(listener);
    let fault =
        Case::new("GET", format!("http://{closed}/x")).call(json!({})).await.expect_err("nobody listens");
    assert_eq!(fault.kind, ToolFaultKind::Transient, "{fault}");
    assert!(fault.message.starts_with(&format!("GET http://{closed}/x failed: ")), "{fault}");
}

#[tokio::test]
async fn a_long_answer_is_cut_and_bytes_are_refused() {
    let server = MockServer::start().await;
    Mock::given(path("/long"))
        .respond_with(ResponseTemplate::new(200).set_body_string("a".repeat(5000)))
        .mount(&server)
        .await;
    Mock::given(path("/image"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(vec![0x89, 0xff, 0x00], "image/png"))
        .mount(&server)
        .await;
    Mock::given(path("/none")).respond_with(ResponseTemplate::new(204)).mount(&server).await;
    let probe = Probe { max_output_bytes: 100, ..Probe::default() };
    let long = Case::new("GET", format!("{}/long", server.uri())).spec();
    let text = probe.declared(long, Surroundings::default(), json!({})).await.expect("an answer");
    assert!(text.as_str().is_some_and(|text| text.contains("… [4900 bytes left out] …")), "{text}");
    let fault =
        Case::new("GET", format!("{}/image", server.uri())).call(json!({})).await.expect_err("no text");
    assert!(fault.message.ends_with("answered with `image/png`, which is not text"), "{fault}");
    assert_eq!(Case::new("GET", format!("{}/none", server.uri())).call(json!({})).await, Ok(Value::Null));
}

#[tokio::test]
async fn a_request_that_changes_something_says_which_call_it_is() {
    let server = MockServer::start().await;
    let moved = ResponseTemplate::new(303).insert_header("location", "/seen");
    Mock::given(path("/moved")).respond_with(moved).mount(&server).await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let own = vec![("Idempotency-Key", "order-{{ args.id }}")];
    let table = [
        (Case::new("GET", format!("{}/x", server.uri())), vec![None]),
        (Case::new("HEAD", format!("{}/x", server.uri())), vec![None]),
        (Case::new("POST", format!("{}/x", server.uri())), vec![Some("run:1")]),
        (Case::new("DELETE", format!("{}/x", server.uri())), vec![Some("run:1")]),
        (Case { headers: own, ..Case::new("POST", format!("{}/x", server.uri())) }, vec![Some("order-7")]),
        // What follows is a look at what came of it.
        (Case::new("POST", format!("{}/moved", server.uri())), vec![Some("run:1"), None]),
    ];
    for (case, expected) in table {
        let before = server.received_requests().await.expect("recorded").len();
        case.call(json!({"id": 7})).await.expect("an answer");
        let asked = server.received_requests().await.expect("recorded").split_off(before);
        let keys =
            asked.iter().map(|it| it.headers.get("idempotency-key").map(|it| it.to_str().expect("text")));
        assert_eq!(keys.collect::<Vec<_>>(), expected, "{}", case.method);
    }
    assert_eq!(plain("01ab:schön 100%"), "01ab:sch%C3%B6n%20100%25");
}

#[tokio::test]
async fn a_request_ends_when_the_run_does() {
    let server = MockServer::start().await;
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_secs(20));
    Mock::given(method("GET")).respond_with(slow).mount(&server).await;
    let probe = Probe::default();
    let spec = Case::new("GET", format!("{}/x", server.uri())).spec();
    let stop = async {
        while server.received_requests().await.expect("recorded").is_empty() {
            tokio::task::yield_now().await;
        }
        probe.stop.cancel();
    };
    let (result, ()) = tokio::join!(probe.declared(spec, Surroundings::default(), json!({})), stop);
    let fault = result.expect_err("was ended");
    assert_eq!(fault.kind, ToolFaultKind::Stopped);
    assert_eq!(fault.message, format!("GET {}/x was ended because the run was stopped", server.uri()));
}

#[tokio::test]
async fn a_compressed_answer_is_read_and_bounded_by_what_comes_out_of_it() {
    use std::io::Write as _;
    let packed = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let server = MockServer::start().await;
    let answer = |body: Vec<u8>| {
        ResponseTemplate::new(200).insert_header("content-encoding", "gzip").set_body_bytes(body)
    };
    Mock::given(path("/small")).respond_with(answer(packed(b"[1, 2]"))).mount(&server).await;
    // 64 MiB out of 64 KiB.
    let bomb = packed(&vec![b'x'; 64 << 20]);
    assert!(bomb.len() < 100_000);
    Mock::given(path("/bomb")).respond_with(answer(bomb)).mount(&server).await;
    let small = Case::new("GET", format!("{}/small", server.uri())).call(json!({})).await;
    assert_eq!(small, Ok(json!([1, 2])));
    let big = Case::new("GET", format!("{}/bomb", server.uri())).call(json!({})).await.unwrap();
    let kept = big.as_str().unwrap();
    assert!(kept.len() < 5 << 20, "{} bytes were kept", kept.len());
}
