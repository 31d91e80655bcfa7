//! From a [`Request`] to the body of a Messages request.
//!
//! Main function: [`encode`]. Messages of one side that follow each other become one. Up to three marks
//! say how far the prompt is the same in later requests: after the tools, the system prompt and the
//! conversation.

use serde_json::{Map, Number, Value, json};

use super::limits::Limits;
use super::schema::kept;
use crate::llm::wire_names::{WireNames, wire_id};
use crate::llm::{Call, Choice, Message, Request, Way};

/// The body to send. `model` is the provider's name for the model.
pub fn encode(request: &Request, model: &str, way: Way) -> Value {
    let limits = Limits::of(model);
    let names = WireNames::new(request);
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("max_tokens".to_owned(), limits.max_tokens(request.max_tokens).into());
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": names.wire(&tool.name),
                    "description": tool.description,
                    "input_schema": object(&tool.parameters),
                })
            })
            .collect();
        mark(tools.last_mut());
        body.insert("tools".to_owned(), tools.into());
    }
    let mut system: Vec<Value> = request.messages.iter().filter_map(system_block).collect();
    if !system.is_empty() {
        mark(system.last_mut());
        body.insert("system".to_owned(), system.into());
    }
    body.insert("messages".to_owned(), messages(request, &names).into());

    let format = request.format.as_ref().filter(|_| limits.formats);
    let format = format.and_then(|format| kept(&format.schema));
    if !request.tools.is_empty() {
        let choice = match &request.choice {
            // An answer in the form is asked for where a call was asked for in vain.
            Choice::Tool(_) if format.is_some() => json!({"type": "none"}),
            Choice::None => json!({"type": "none"}),
            Choice::Tool(name) if limits.forced => {
                json!({"type": "tool", "name": names.wire(name), "disable_parallel_tool_use": true})
            }
            // The step's instruction names the tool.
            Choice::Tool(_) => json!({"type": "auto", "disable_parallel_tool_use": true}),
        };
        body.insert("tool_choice".to_owned(), choice);
    }
    if let Some(schema) = format {
        let format = json!({"type": "json_schema", "schema": schema});
        body.insert("output_config".to_owned(), json!({"format": format}));
    }
    if let Some(temperature) = request.temperature.filter(|_| limits.sampling) {
        // The scale ends at 1 here, and at 2 elsewhere.
        let temperature = Number::from_f64(temperature.min(1.0));
        body.extend(temperature.map(|temperature| ("temperature".to_owned(), temperature.into())));
    }
    if way != Way::Whole {
        body.insert("stream".to_owned(), true.into());
    }
    Value::Object(body)
}

/// A schema of arguments as it is taken: it must say that it is one of an object.
fn object(schema: &Value) -> Value {
    let Some(keys) = schema.as_object() else { return json!({"type": "object"}) };
    let mut schema = keys.clone();
    schema.entry("type").or_insert_with(|| "object".into());
    Value::Object(schema)
}

fn mark(block: Option<&mut Value>) {
    if let Some(Value::Object(block)) = block {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

fn system_block(message: &Message) -> Option<Value> {
    match message {
        Message::System { text } => text_block(text),
        _ => None,
    }
}

/// A block of text; there is none for text that says nothing, which would be refused.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn messages(request: &Request, names: &WireNames) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks): (_, Vec<Value>) = match message {
            Message::System { .. } => continue,
            Message::User { text } => ("user", text_block(text).into_iter().collect()),
            Message::Assistant { text, calls } => {
                let calls = calls.iter().map(|call| tool_use(call, names));
                ("assistant", text_block(text).into_iter().chain(calls).collect())
            }
            Message::Tool { call, text, .. } => {
                let id = wire_id(call, false);
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": text});
                ("user", vec![result])
            }
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    mark(turns.last_mut().and_then(|(_, blocks)| blocks.last_mut()));
    turns.into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

fn tool_use(call: &Call, names: &WireNames) -> Value {
    // Arguments must be an object here. What is none goes back to the model inside one.
    let input = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(input) => Value::Object(input),
        Err(_) => json!({"unreadable": call.arguments}),
    };
    json!({"type": "tool_use", "id": wire_id(&call.id, false), "name": names.wire(&call.name), "input": input})
}
