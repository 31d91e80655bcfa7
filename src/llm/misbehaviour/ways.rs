//! The ways in which servers misbehave, each with what must become of it.
//!
//! Main function: [`all`]. In the words of a message, BASE, KEY, MODEL and PROVIDER stand for the names
//! of the provider that is tried.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::server::{Act, Script};
use super::speaker::{Says, Speaker, head, http};
use super::{Asked, Outcome, PATIENCE, Way, When, stream_ways};
use crate::llm::{Finish, MAX_ANSWER_BYTES, ModelErrorKind, Reply};

pub(super) const SHORT: Duration = Duration::from_millis(200);

pub(super) fn way(
    name: &'static str,
    script: impl Fn(&Speaker, bool) -> Script + 'static,
    outcome: Outcome,
) -> Way {
    Way { name, when: When::Always, asked: Asked::Call, timeout: PATIENCE, script: Box::new(script), outcome }
}

/// One connection, one answer.
pub(super) fn once(bytes: Vec<u8>) -> Script {
    vec![vec![Act::Send(bytes)]]
}

fn raw(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
) -> impl Fn(&Speaker, bool) -> Script {
    move |_, _| once(http(status, headers, body))
}

fn fault(status: u16, message: &'static str, code: &'static str) -> impl Fn(&Speaker, bool) -> Script {
    move |speaker, _| once(speaker.fault(status, message, code))
}

fn says(says: impl Fn(&Speaker) -> Says) -> impl Fn(&Speaker, bool) -> Script {
    move |speaker, streamed| once(speaker.answers(&says(speaker), streamed))
}

/// The beginning of an answer: its head, and as much of its body.
pub(super) fn begun(speaker: &Speaker, streamed: bool) -> Vec<u8> {
    let text = speaker.text("Apparel is weak");
    let body = match streamed {
        true => {
            let pieces = speaker.pieces(&text);
            pieces[..pieces.len() - 2].concat()
        }
        false => speaker.body(&text, false)[..20].to_owned(),
    };
    let kind = if streamed { speaker.stream_type() } else { "application/json" };
    [head(200, &[("content-type", kind)], 50_000).as_bytes(), body.as_bytes()].concat()
}

fn begun_then(act: Act) -> impl Fn(&Speaker, bool) -> Script {
    move |speaker, streamed| vec![vec![Act::Send(begun(speaker, streamed)), act.clone()]]
}

pub fn all() -> Vec<Way> {
    use ModelErrorKind::{FormatRefused, Protocol, Refused, Timeout, ToolsRefused, Transient};
    use Outcome::{Fails, Replies, Waits};
    let wait = |name, header: &'static str, value: fn() -> String, least, most| {
        let script = move |_: &Speaker, _| once(http(429, &[(header, value().as_str())], "{}"));
        way(name, script, Waits(least, most))
    };
    let in_an_hour = || httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
    let hour_ago = || httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(3600));
    let mut ways = vec![
        // What passes.
        wait("429, wait in seconds", "retry-after", || "7".to_owned(), 7, 7),
        wait("429, wait in milliseconds", "retry-after-ms", || "7000".to_owned(), 7, 7),
        wait("429, wait until a date", "retry-after", in_an_hour, 3590, 3601),
        wait("429, wait until a date that has passed", "retry-after", hour_ago, 0, 0),
        wait("429, absurd wait", "retry-after", || "9".repeat(30), u64::MAX, u64::MAX),
        way("429, unreadable wait", raw(429, &[("retry-after", "soon")], ""), Fails(Transient, &["429"])),
        way("408", fault(408, "slow", ""), Fails(Transient, &["408", "slow"])),
        way("409", fault(409, "conflict", ""), Fails(Transient, &["409"])),
        way("425", fault(425, "early", ""), Fails(Transient, &["425"])),
        way("500", fault(500, "boom", ""), Fails(Transient, &["500", "boom"])),
        way(
            "502, a page",
            raw(502, &[("content-type", "text/html")], "<html>Bad Gateway</html>"),
            Fails(Transient, &["502", "an HTML page"]),
        ),
        way("503", fault(503, "loading", ""), Fails(Transient, &["503"])),
        way("529", fault(529, "Overloaded", "overloaded_error"), Fails(Transient, &["529", "Overloaded"])),
        // Connections.
        way(
            "reset before the answer",
            |_, _| vec![vec![Act::Reset]],
            Fails(Transient, &["127.0.0.1:", "BASE is http://"]),
        ),
        way("closed before the answer", |_, _| vec![vec![]], Fails(Transient, &["127.0.0.1:"])),
        way("closed in the head", |_, _| once(b"HTTP/1.1 200 O".to_vec()), Fails(Transient, &["127.0.0.1:"])),
        way(
            "another protocol",
            |_, _| once(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
            Fails(Transient, &["127.0.0.1:"]),
        ),
        way(
            "reset in the middle",
            begun_then(Act::Reset),
            Fails(Transient, &["in the middle of its answer"]),
        ),
        way(
            "closed in the middle",
            |speaker, streamed| once(begun(speaker, streamed)),
            Fails(Transient, &["in the middle of its answer"]),
        ),
        Way {
            timeout: SHORT,
            ..way(
                "no answer at all",
                |_, _| vec![vec![Act::Stall]],
                Fails(Timeout, &["200ms", "`timeout` under `model`"]),
            )
        },
        Way {
            timeout: SHORT,
            ..way(
                "a head that never ends",
                |_, _| vec![vec![Act::Send(b"HTTP/1.1 200 OK\r\nx: ".to_vec()), Act::Drip(b"x")]],
                Fails(Timeout, &["200ms"]),
            )
        },
        Way {
            timeout: SHORT,
            ..way("a body that drips", begun_then(Act::Drip(b" ")), Fails(Timeout, &["200ms"]))
        },
        Way {
            timeout: SHORT,
            ..way("a body that stalls", begun_then(Act::Stall), Fails(Timeout, &["200ms"]))
        },
        way(
            "a refusal whose text breaks off",
            |_, _| once(b"HTTP/1.1 401 No\r\ncontent-length: 5000\r\n\r\n{\"error\": ".to_vec()),
            Fails(Refused, &["401", "KEY"]),
        ),
        // What is not of the protocol.
        way(
            "nothing",
            raw(200, &[("content-type", "application/json")], ""),
            Fails(Protocol, &["nothing", "BASE is http://127.0.0.1:"]),
        ),
        way("204", |_, _| once(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()), Fails(Protocol, &["nothing"])),
        way(
            "a page",
            raw(200, &[("content-type", "text/html")], "<html>Login</html>"),
            Fails(Protocol, &["HTML page", "BASE"]),
        ),
        way(
            "prose",
            raw(200, &[("content-type", "text/plain")], "Everything is fine here"),
            Fails(Protocol, &["not JSON"]),
        ),
        way(
            "not UTF-8",
            |_, _| {
                once(
                    [&b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n"[..], b"{\"a\": \"\xff\xfe\"}\n"]
                        .concat(),
                )
            },
            Fails(Protocol, &["not UTF-8"]),
        ),
        way(
            "another protocol's JSON",
            raw(200, &[("content-type", "application/json")], "{\"status\": \"ok\"}"),
            Fails(Protocol, &["BASE"]),
        ),
        Way {
            when: When::Whole,
            ..way(
                "truncated JSON",
                |speaker, _| once(http(200, &[], &speaker.body(&speaker.text("Apparel"), false)[..40])),
                Fails(Protocol, &["stops in the middle"]),
            )
        },
        Way {
            when: When::Whole,
            ..way(
                "a hollow answer",
                |speaker, _| once(http(200, &[], &speaker.hollow())),
                Fails(Protocol, &[]),
            )
        },
        Way {
            when: When::Whole,
            ..way(
                "a stream nobody asked for",
                |_, _| once(http(200, &[("content-type", "text/event-stream")], "data: {}\n\n")),
                Fails(Protocol, &["stream"]),
            )
        },
        way(
            "a huge answer",
            |_, _| {
                let spaces = vec![b' '; MAX_ANSWER_BYTES + 1];
                once([head(200, &[], spaces.len()).as_bytes(), &spaces].concat())
            },
            Fails(Protocol, &["32 MiB"]),
        ),
        way(
            "a redirect",
            raw(307, &[("location", "http://127.0.0.1:9/elsewhere")], ""),
            Fails(Refused, &["redirect to http://127.0.0.1:9/elsewhere", "BASE"]),
        ),
        // Refusals.
        way(
            "a wrong key, which the server repeats",
            fault(401, "Incorrect API key provided: sk-secret-1234", "invalid_api_key"),
            Fails(Refused, &["401", "***", "check KEY"]),
        ),
        way("a key that may not", fault(403, "not for you", ""), Fails(Refused, &["403", "KEY", "MODEL"])),
        way(
            "an unknown model",
            fault(404, "no such model", "model_not_found"),
            Fails(Refused, &["MODEL", "--model", "BASE is http://127.0.0.1:"]),
        ),
        way(
            "out of quota",
            fault(402, "Payment required", "billing_error"),
            Fails(Refused, &["out of quota", "KEY", "--model"]),
        ),
        way(
            "too long a conversation",
            fault(400, "this is longer than the maximum context length", ""),
            Fails(Refused, &["limits.max_result_chars", "--model"]),
        ),
        way(
            "a bad request",
            fault(400, "temperature must be a number", ""),
            Fails(Refused, &["400", "temperature"]),
        ),
        way(
            "no tools",
            fault(400, "this model does not support tools", ""),
            Fails(ToolsRefused, &["does not support tools"]),
        ),
        way(
            "no forced choice",
            fault(400, "tool_choice is not supported", ""),
            Fails(ToolsRefused, &["tool_choice"]),
        ),
        Way {
            asked: Asked::Form,
            ..way(
                "no forms",
                fault(400, "response_format json_schema is not supported", ""),
                Fails(FormatRefused, &["response format"]),
            )
        },
        // Answers that are not what was asked: the step sees them as they came.
        way(
            "the call that was asked for",
            says(|speaker| speaker.calls(vec![("fetch", json!({"week": "1"}))])),
            Replies(|reply| reply.calls.len() == 1 && reply.calls[0].arguments == "{\"week\":\"1\"}"),
        ),
        way(
            "two calls",
            says(|speaker| speaker.calls(vec![("fetch", json!({})), ("fetch", json!({"week": "1"}))])),
            Replies(|reply| reply.calls.len() == 2 && reply.calls[0].id != reply.calls[1].id),
        ),
        way(
            "an unknown tool",
            says(|speaker| speaker.calls(vec![("send_mail", json!({}))])),
            Replies(|reply| reply.calls[0].name.as_str() == "send_mail"),
        ),
        way(
            "invalid arguments",
            says(|speaker| speaker.calls(vec![("fetch", json!("{\"week\": "))])),
            Replies(|reply| reply.calls[0].arguments == "{\"week\": "),
        ),
        way(
            "arguments that are no object",
            says(|speaker| speaker.calls(vec![("fetch", json!([1]))])),
            Replies(|reply| reply.calls[0].arguments == "[1]"),
        ),
        way(
            "text instead of a call",
            says(|speaker| speaker.text("{\"week\": \"1\"}")),
            Replies(|reply| reply.text == "{\"week\": \"1\"}" && reply.calls.is_empty()),
        ),
        Way {
            asked: Asked::Text,
            ..way(
                "a call instead of text",
                says(|speaker| speaker.calls(vec![("fetch", json!({}))])),
                Replies(|reply| reply.calls.len() == 1 && reply.text.is_empty()),
            )
        },
        way(
            "no text and no call",
            says(Speaker::nothing),
            Replies(|reply| *reply == Reply { usage: reply.usage, ..Reply::default() }),
        ),
        way(
            "cut at the limit",
            says(|speaker| speaker.ended("Appar", "length")),
            Replies(|reply| reply.text == "Appar" && reply.finish == Finish::Length),
        ),
        way(
            "the wrong type",
            |speaker, streamed| {
                once(http(
                    200,
                    &[("content-type", "text/html")],
                    &speaker.body(&speaker.text("Apparel"), streamed),
                ))
            },
            Replies(|reply| reply.text == "Apparel"),
        ),
    ];
    ways.extend(stream_ways::all());
    ways
}
