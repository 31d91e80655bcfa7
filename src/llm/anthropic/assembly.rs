//! A stream of Messages events put together to the body the server would have sent at once.
//!
//! Main type: [`Events`]. Its end is `message_stop`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::llm::body::as_text;
use crate::llm::{Assembly, Taken};

/// What has come of one message.
#[derive(Debug, Default)]
pub(super) struct Events {
    message: Map<String, Value>,
    /// Blocks by their index.
    blocks: BTreeMap<u64, Block>,
    stopped: bool,
}

#[derive(Debug, Default)]
struct Block {
    begun: Map<String, Value>,
    text: String,
    /// The arguments of a call, in pieces of JSON text.
    input: String,
}

impl Block {
    /// The block as it is in a whole body.
    fn whole(self) -> Value {
        let Self { mut begun, text, input } = self;
        if !text.is_empty() {
            let before = as_text(begun.get("text"));
            begun.insert("text".to_owned(), (before + &text).into());
        }
        if !input.is_empty() {
            // What is no JSON stays text, and goes back to the model.
            let input = serde_json::from_str(&input).unwrap_or_else(|_| Value::from(input));
            begun.insert("input".to_owned(), input);
        }
        Value::Object(begun)
    }
}

impl Events {
    fn block(&mut self, event: &Value) -> &mut Block {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        self.blocks.entry(index).or_default()
    }

    fn delta(&mut self, event: &Value) -> String {
        let part = |name: &str| as_text(event.pointer(&format!("/delta/{name}")));
        let block = self.block(event);
        match part("type").as_str() {
            "text_delta" => {
                let text = part("text");
                block.text.push_str(&text);
                text
            }
            "input_json_delta" => {
                block.input.push_str(&part("partial_json"));
                String::new()
            }
            _ => String::new(),
        }
    }

    /// Counts of tokens are told anew, each time in full.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(Value::Object(usage)) = usage else { return };
        let known = self.message.entry("usage").or_insert_with(|| json!({}));
        if let Value::Object(known) = known {
            known.extend(
                usage
                    .iter()
                    .filter(|(_, count)| !count.is_null())
                    .map(|(name, it)| (name.clone(), it.clone())),
            );
        }
    }
}

impl Assembly for Events {
    fn take(&mut self, piece: Value) -> Taken {
        let mut text = String::new();
        match piece.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                if let Some(Value::Object(message)) = piece.get("message") {
                    self.message.clone_from(message);
                }
            }
            "content_block_start" => {
                if let Some(Value::Object(begun)) = piece.get("content_block") {
                    text = as_text(begun.get("text"));
                    self.block(&piece).begun.clone_from(begun);
                }
            }
            "content_block_delta" => text = self.delta(&piece),
            "message_delta" => {
                if let Some(Value::Object(delta)) = piece.get("delta") {
                    self.message.extend(delta.clone());
                }
                self.count(piece.get("usage"));
            }
            "message_stop" => {
                self.stopped = true;
                return Taken::End(String::new());
            }
            "error" => return Taken::Fault(piece),
            _ if piece.get("error").is_some_and(|error| !error.is_null()) => return Taken::Fault(piece),
            _ => {}
        }
        Taken::Text(text)
    }

    fn body(self: Box<Self>) -> Option<Value> {
        if !self.stopped {
            return None;
        }
        let mut message = self.message;
        let blocks: Vec<Value> = self.blocks.into_values().map(Block::whole).collect();
        message.insert("content".to_owned(), blocks.into());
        Some(Value::Object(message))
    }
}
