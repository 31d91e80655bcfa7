//! From an HTTP answer to a [`Reply`], for Ollama's chat.
//!
//! Main function: [`decode`]. It keeps what the model said as it said it; thoughts are no part of the
//! answer. Whether it is what was asked is for the step to decide.

use serde_json::Value;

use crate::event::Usage;
use crate::id::ToolName;
use crate::llm::body::{Protocol, as_text, malformed};
use crate::llm::refusal::{refusal, said_in};
use crate::llm::{Answer, Call, Endpoint, Finish, ModelError, ModelErrorKind, Reply, Request};

const PROTOCOL: Protocol = Protocol { name: "Ollama", addresses: "requests go to /api/chat below it" };

/// Reads an answer. An empty reply is a reply; an error means there is none.
pub fn decode(answer: &Answer, endpoint: &Endpoint, request: &Request) -> Result<Reply, ModelError> {
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer, endpoint, request));
    }
    let body = PROTOCOL.parse(answer, endpoint)?;
    if let Some(said) = body.get("error").filter(|error| !error.is_null()).and_then(|_| said_in(&body)) {
        return Err(said.refusal(answer, endpoint, request));
    }
    let Some(message) = body.get("message").and_then(Value::as_object) else {
        return Err(match body.get("model") {
            Some(_) => malformed(endpoint, "answered without a message"),
            None => PROTOCOL.foreign(endpoint, "answered with JSON that has no `message`"),
        });
    };
    if body.get("done").and_then(Value::as_bool) == Some(false) {
        let what = "answered with a message that is not finished";
        return Err(endpoint.fault(ModelErrorKind::Transient, what));
    }
    let reason = body.get("done_reason").and_then(Value::as_str).unwrap_or_default();
    if reason == "load" || reason == "unload" {
        return Err(malformed(endpoint, &format!("answered that the model did {reason}, and nothing else")));
    }
    let list = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let calls = list.iter().enumerate().map(|(at, call)| {
        let function = call.get("function").unwrap_or(call);
        let Some(name) = function.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err(malformed(endpoint, "answered with a tool call that has no name"));
        };
        let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        Ok(Call {
            id: id.map_or_else(|| format!("call_{at}"), str::to_owned),
            name: ToolName::new(name),
            arguments: as_text(function.get("arguments")),
        })
    });
    let count = |name: &str| body.get(name).and_then(Value::as_u64).unwrap_or_default();
    Ok(Reply {
        text: as_text(message.get("content")),
        calls: calls.collect::<Result<_, _>>()?,
        finish: if reason == "length" { Finish::Length } else { Finish::Stop },
        // What was still in the model's memory is counted with the rest, and not told apart.
        usage: Usage { input: count("prompt_eval_count"), output: count("eval_count"), cached: 0 },
    })
}
