//! From a [`Request`] to the body of an Ollama chat request.
//!
//! Main function: [`encode`]. A call cannot be forced here: where one is wanted, the model is shown that
//! tool alone and held to the schema of its arguments, so that it either calls it or answers with them.
//! Where that was in vain, it is asked for the arguments in words. Where text is wanted no tool is
//! shown, for nothing would keep it from being called; what tools gave is told in words then, because
//! many models' templates leave it out.

use std::borrow::Cow;

use serde_json::{Map, Number, Value, json};

use crate::llm::words::{arguments_of, without_tools};
use crate::llm::{Call, Choice, Message, Request, Way};

/// The body to send. `model` is the server's name for the model, `context` the length of its context.
pub fn encode(request: &Request, model: &str, context: Option<u64>, way: Way) -> Value {
    let wanted = match &request.choice {
        Choice::Tool(name) => request.tools.iter().find(|tool| tool.name == *name),
        Choice::None => None,
    };
    let shown = wanted.filter(|_| request.format.is_none());
    let messages = match (shown, wanted) {
        (Some(_), _) => Cow::Borrowed(&request.messages),
        (None, wanted) => {
            let mut messages = without_tools(&request.messages);
            messages.extend(wanted.map(|tool| Message::User { text: arguments_of(tool) }));
            Cow::Owned(messages)
        }
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages.iter().map(message).collect());
    if let Some(tool) = shown {
        let function =
            json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        body.insert("tools".to_owned(), json!([{"type": "function", "function": function}]));
    }
    let format = request.format.as_ref().map(|format| &format.schema);
    if let Some(schema) = format.or(wanted.map(|tool| &tool.parameters)) {
        body.insert("format".to_owned(), schema.clone());
    }
    let mut options = Map::new();
    let temperature = request.temperature.and_then(Number::from_f64);
    options.extend(temperature.map(|temperature| ("temperature".to_owned(), temperature.into())));
    options.extend(request.max_tokens.map(|most| ("num_predict".to_owned(), most.into())));
    options.extend(request.seed.map(|seed| ("seed".to_owned(), seed.into())));
    options.extend(context.map(|length| ("num_ctx".to_owned(), length.into())));
    if !options.is_empty() {
        body.insert("options".to_owned(), options.into());
    }
    // A conversation that does not fit is refused, not shortened behind our back.
    body.insert("truncate".to_owned(), false.into());
    body.insert("shift".to_owned(), false.into());
    body.insert("stream".to_owned(), (way != Way::Whole).into());
    Value::Object(body)
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls: Value = calls.iter().map(tool_call).collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::Tool { call, name, text } => {
            json!({"role": "tool", "tool_name": name, "tool_call_id": call, "content": text})
        }
    }
}

fn tool_call(call: &Call) -> Value {
    // Arguments are an object here. What is none goes back to the model inside one.
    let arguments = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(arguments) => Value::Object(arguments),
        Err(_) => json!({"unreadable": call.arguments}),
    };
    json!({"id": call.id, "function": {"name": call.name, "arguments": arguments}})
}
