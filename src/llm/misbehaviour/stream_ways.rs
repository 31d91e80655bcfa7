//! The ways in which only streams misbehave, each with what must become of it.
//!
//! Main function: [`all`]. Nothing half-received becomes a reply, however much of it has come.

use serde_json::json;

use super::server::{Act, Script};
use super::speaker::{Says, Speaker, head, http};
use super::ways::{SHORT, begun, once, way};
use super::{Outcome, Way, When};
use crate::llm::ModelErrorKind;

/// Pieces of a stream and what follows them, as a whole body.
fn stream(speaker: &Speaker, body: String) -> Script {
    once(http(200, &[("content-type", speaker.stream_type())], &body))
}

fn without_end(speaker: &Speaker, says: &Says) -> String {
    let pieces = speaker.pieces(says);
    pieces[..pieces.len() - 2].concat()
}

pub fn all() -> Vec<Way> {
    use ModelErrorKind::{Protocol, Timeout, Transient};
    use Outcome::{Fails, Replies};
    let streamed = |name, script: fn(&Speaker) -> Script, outcome| Way {
        when: When::Streamed,
        ..way(name, move |speaker: &Speaker, _| script(speaker), outcome)
    };
    vec![
        streamed(
            "a stream without its end",
            |speaker| {
                let body = without_end(speaker, &speaker.text("Apparel is weak"));
                stream(speaker, body)
            },
            Fails(Transient, &["in the middle of its answer", "WF_STREAM=0"]),
        ),
        streamed(
            "a call without the end of the stream",
            |speaker| {
                let body = without_end(speaker, &speaker.calls(vec![("fetch", json!({"week": "1"}))]));
                stream(speaker, body)
            },
            Fails(Transient, &["in the middle of its answer"]),
        ),
        streamed(
            "a fault in the middle",
            |speaker| {
                let body =
                    without_end(speaker, &speaker.text("Apparel")) + &speaker.fault_piece("the worker died");
                stream(speaker, body)
            },
            Fails(Transient, &["broke its answer off", "the worker died"]),
        ),
        streamed(
            "a piece that is no JSON",
            |speaker| {
                let pieces = speaker.pieces(&speaker.text("Apparel"));
                let cut = pieces[0].trim_end().trim_end_matches('}').to_owned() + "\n\n";
                stream(speaker, pieces[0].clone() + &cut + &pieces[1..].concat())
            },
            Fails(Protocol, &["not JSON", "WF_STREAM=0"]),
        ),
        streamed(
            "a stream that falls silent",
            |speaker| vec![vec![Act::Send(begun(speaker, true)), Act::Stall]],
            Fails(Timeout, &["fell silent for 1s", "WF_STREAM_IDLE"]),
        ),
        Way {
            timeout: SHORT,
            ..streamed(
                "signs of life and nothing else",
                |speaker| {
                    let sign: &[u8] =
                        if speaker.stream_type() == "text/event-stream" { b": ping\n\n" } else { b"\n" };
                    vec![vec![Act::Send(begun(speaker, true)), Act::Drip(sign)]]
                },
                Fails(Timeout, &["200ms"]),
            )
        },
        streamed(
            "a stream that stays open after its end",
            |speaker| {
                let body = speaker.body(&speaker.text("Apparel"), true);
                let head = head(200, &[("content-type", speaker.stream_type())], 50_000);
                vec![vec![Act::Send([head.as_bytes(), body.as_bytes()].concat()), Act::Stall]]
            },
            Replies(|reply| reply.text == "Apparel"),
        ),
        streamed(
            "an answer in one piece where a stream was asked for",
            |speaker| once(speaker.answers(&speaker.text("Apparel"), false)),
            Replies(|reply| reply.text == "Apparel"),
        ),
        streamed(
            "no streams at all",
            |speaker| {
                let refusal = speaker.fault(400, "streaming is not supported here", "");
                vec![
                    vec![Act::Send(refusal)],
                    vec![Act::Send(speaker.answers(&speaker.text("Apparel"), false))],
                ]
            },
            Replies(|reply| reply.text == "Apparel"),
        ),
    ]
}
