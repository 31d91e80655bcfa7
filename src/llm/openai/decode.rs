//! From an HTTP answer to a [`Reply`], for Chat Completions and what compatible servers make of it.
//!
//! Main function: [`decode`]. It keeps what the model said as it said it: arguments stay text, several
//! calls stay several. Whether they are what was asked is for the step to decide.

use serde_json::{Map, Value};

use crate::event::Usage;
use crate::llm::body::{Protocol, as_text, malformed};
use crate::llm::refusal::{refusal, said_in};
use crate::llm::wire_names::WireNames;
use crate::llm::{Answer, Call, Endpoint, Finish, ModelError, ModelErrorKind, Reply, Request};

const PROTOCOL: Protocol = Protocol { name: "OpenAI Chat Completions", addresses: "most end in /v1" };

/// Reads an answer. An empty reply is a reply; an error means there is none.
pub fn decode(answer: &Answer, endpoint: &Endpoint, request: &Request) -> Result<Reply, ModelError> {
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer, endpoint, request));
    }
    let body = PROTOCOL.parse(answer, endpoint)?;
    let choices = body.get("choices").and_then(Value::as_array);
    let Some(choice) = choices.and_then(|choices| choices.first()) else {
        // Some servers refuse with status 200.
        return Err(match said_in(&body) {
            Some(said) => said.refusal(answer, endpoint, request),
            None if choices.is_some() => malformed(endpoint, "answered with an empty list of choices"),
            None => PROTOCOL.foreign(endpoint, "answered with JSON that has no `choices`"),
        });
    };
    // OpenRouter reports a failure behind it inside the choice.
    if let Some(said) = choice.get("error").and_then(|_| said_in(choice)) {
        return Err(said.refusal(answer, endpoint, request));
    }
    let reason = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    if reason == "insufficient_system_resource" || reason == "error" {
        let what = format!("broke the answer off (`{reason}`)");
        return Err(endpoint.fault(ModelErrorKind::Transient, what));
    }
    let mut reply = match choice.get("message").and_then(Value::as_object) {
        Some(message) => read_message(message, endpoint, request)?,
        // The text of the older completions format.
        None if choice.get("text").is_some_and(Value::is_string) => {
            Reply::from_text(content(choice.get("text")).0)
        }
        None if reason == "content_filter" => Reply::default(),
        None => return Err(malformed(endpoint, "answered with a choice that has no message")),
    };
    reply.usage = usage(body.get("usage"));
    reply.finish = match reason {
        "content_filter" => Finish::Refused,
        _ if reply.finish == Finish::Refused => Finish::Refused,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        _ => Finish::Stop,
    };
    Ok(reply)
}

fn read_message(
    message: &Map<String, Value>,
    endpoint: &Endpoint,
    request: &Request,
) -> Result<Reply, ModelError> {
    let names = WireNames::new(request);
    let (mut text, mut declined) = content(message.get("content"));
    if let Some(refusal) = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty()) {
        declined = true;
        if text.is_empty() {
            text = refusal.to_owned();
        }
    }
    let list = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut calls = Vec::with_capacity(list.len());
    for call in list {
        let function = call.get("function").or_else(|| call.get("custom")).unwrap_or(call);
        calls.push((call.get("id"), function));
    }
    // What came before `tool_calls`, and some servers still send.
    if let (true, Some(function @ Value::Object(_))) = (calls.is_empty(), message.get("function_call")) {
        calls.push((None, function));
    }
    let calls = calls.into_iter().enumerate().map(|(at, (id, function))| {
        let Some(name) = function.get("name").and_then(Value::as_str) else {
            return Err(malformed(endpoint, "answered with a tool call that has no name"));
        };
        let id = id.and_then(Value::as_str).filter(|id| !id.is_empty());
        Ok(Call {
            id: id.map_or_else(|| format!("call_{at}"), str::to_owned),
            name: names.ours(name),
            arguments: as_text(function.get("arguments").or_else(|| function.get("input"))),
        })
    });
    let finish = if declined { Finish::Refused } else { Finish::Stop };
    Ok(Reply { text, calls: calls.collect::<Result<_, _>>()?, finish, usage: Usage::default() })
}

/// The text of a content, and whether a part of it declines.
pub(super) fn content(content: Option<&Value>) -> (String, bool) {
    let Some(Value::Array(parts)) = content else { return (as_text(content), false) };
    let mut text = String::new();
    let mut declined = false;
    for part in parts {
        let refusal = part.get("refusal").and_then(Value::as_str);
        declined |= refusal.is_some();
        // Other kinds of parts (thoughts, images) are not the answer.
        text.push_str(
            part.as_str().or(part.get("text").and_then(Value::as_str)).or(refusal).unwrap_or_default(),
        );
    }
    (text, declined)
}

fn usage(usage: Option<&Value>) -> Usage {
    let Some(usage) = usage else { return Usage::default() };
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let cached = count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens"));
    Usage {
        input: count("/prompt_tokens").unwrap_or_default(),
        output: count("/completion_tokens").unwrap_or_default(),
        cached: cached.unwrap_or_default(),
    }
}
