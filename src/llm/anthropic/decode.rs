//! From an HTTP answer to a [`Reply`], for Anthropic Messages.
//!
//! Main function: [`decode`]. It keeps what the model said as it said it; thoughts are no part of the
//! answer. Whether it is what was asked is for the step to decide.

use serde_json::Value;

use crate::event::Usage;
use crate::llm::body::{Protocol, as_text, malformed};
use crate::llm::refusal::{refusal, said_in};
use crate::llm::wire_names::WireNames;
use crate::llm::{Answer, Call, Endpoint, Finish, ModelError, ModelErrorKind, Reply, Request};

const PROTOCOL: Protocol =
    Protocol { name: "Anthropic Messages", addresses: "requests go to /v1/messages below it" };

/// Reads an answer. An empty reply is a reply; an error means there is none.
pub fn decode(answer: &Answer, endpoint: &Endpoint, request: &Request) -> Result<Reply, ModelError> {
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer, endpoint, request));
    }
    let body = PROTOCOL.parse(answer, endpoint)?;
    let Some(blocks) = body.get("content").and_then(Value::as_array) else {
        let is_fault = body.get("type").is_some_and(|kind| kind == "error") || body.get("error").is_some();
        return Err(match said_in(&body).filter(|_| is_fault) {
            Some(said) => said.refusal(answer, endpoint, request),
            None if body.get("type").is_some_and(|kind| kind == "message") => {
                malformed(endpoint, "answered with a message that has no content")
            }
            None => PROTOCOL.foreign(endpoint, "answered with JSON that has no `content`"),
        });
    };
    let reason = body.get("stop_reason").and_then(Value::as_str).unwrap_or_default();
    if reason == "pause_turn" {
        let what = "paused in the middle of its answer (`pause_turn`), and what it has said so far is none";
        return Err(endpoint.fault(ModelErrorKind::Transient, what));
    }
    let names = WireNames::new(request);
    let mut reply = Reply { usage: usage(body.get("usage")), ..Reply::default() };
    for block in blocks {
        match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => reply.text.push_str(&as_text(block.get("text"))),
            "tool_use" => {
                let Some(name) = block.get("name").and_then(Value::as_str) else {
                    return Err(malformed(endpoint, "answered with a tool call that has no name"));
                };
                let id = block.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
                let at = reply.calls.len();
                reply.calls.push(Call {
                    id: id.map_or_else(|| format!("call_{at}"), str::to_owned),
                    name: names.ours(name),
                    arguments: as_text(block.get("input")),
                });
            }
            // Thoughts, and what the provider's own tools said.
            _ => {}
        }
    }
    reply.finish = match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refused,
        _ => Finish::Stop,
    };
    if reply.finish == Finish::Refused && reply.text.is_empty() {
        reply.text = as_text(body.pointer("/stop_details/explanation"));
    }
    Ok(reply)
}

/// The input is told in three parts: what was read anew, read from the cache, and written to it.
fn usage(usage: Option<&Value>) -> Usage {
    let count = |name: &str| usage.and_then(|usage| usage.get(name)?.as_u64()).unwrap_or_default();
    let cached = count("cache_read_input_tokens");
    Usage {
        input: count("input_tokens") + cached + count("cache_creation_input_tokens"),
        output: count("output_tokens"),
        cached,
    }
}
