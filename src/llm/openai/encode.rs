//! From a [`Request`] to the body of a Chat Completions request.
//!
//! Main function: [`encode`]. What is asked for the answer's way stands last, so that it changes nothing
//! before it.

use serde_json::{Map, Number, Value, json};

use super::Dialect;
use crate::llm::wire_names::{WireNames, wire_id};
use crate::llm::{Call, Choice, Message, Request, Way};

/// The body to send. `model` is the provider's name for the model.
pub fn encode(request: &Request, model: &str, dialect: Dialect, way: Way) -> Value {
    let names = WireNames::new(request);
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    let messages = request.messages.iter().map(|message| encode_message(message, &names, dialect));
    body.insert("messages".to_owned(), messages.collect());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": names.wire(&tool.name),
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            })
        });
        body.insert("tools".to_owned(), tools.collect());
        let choice = match &request.choice {
            Choice::None => "none".into(),
            Choice::Tool(name) => json!({"type": "function", "function": {"name": names.wire(name)}}),
        };
        body.insert("tool_choice".to_owned(), choice);
    }
    if let Some(format) = &request.format {
        let schema = json!({"name": format.name, "schema": format.schema, "strict": false});
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
    }
    if let Some(temperature) = request.temperature.and_then(Number::from_f64) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        body.insert(dialect.max_tokens.to_owned(), most.into());
    }
    if let Some(seed) = request.seed {
        body.insert(dialect.seed.to_owned(), seed.into());
    }
    if let Way::Streamed { usage } = way {
        body.insert("stream".to_owned(), true.into());
        if usage && dialect.stream_options {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
    }
    Value::Object(body)
}

fn encode_message(message: &Message, names: &WireNames, dialect: Dialect) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let content = if text.is_empty() { Value::Null } else { text.as_str().into() };
            let calls: Value = calls.iter().map(|call| encode_call(call, names, dialect)).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::Tool { call, text, .. } => {
            json!({"role": "tool", "tool_call_id": wire_id(call, dialect.short_ids), "content": text})
        }
    }
}

fn encode_call(call: &Call, names: &WireNames, dialect: Dialect) -> Value {
    // vLLM, llama.cpp and Gemini read the arguments they are sent back and refuse the conversation when
    // they cannot: a repair turn would never reach the model. What is no JSON is shown inside some.
    let arguments = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(_) => call.arguments.clone(),
        Err(_) => json!({"unreadable": call.arguments}).to_string(),
    };
    json!({
        "id": wire_id(&call.id, dialect.short_ids),
        "type": "function",
        "function": {"name": names.wire(&call.name), "arguments": arguments},
    })
}
