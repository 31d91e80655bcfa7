//! A stream of Ollama's lines put together to the body the server would have sent at once.
//!
//! Main type: [`Lines`]. Its end is the line that says `done`. One line that says nothing of it is a
//! whole body already.

use serde_json::{Map, Value, json};

use crate::llm::body::as_text;
use crate::llm::{Assembly, Taken};

/// What has come of one answer.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    calls: Vec<Value>,
    /// The last line, with the counts.
    end: Option<Map<String, Value>>,
    /// The first line.
    first: Option<Value>,
    count: usize,
}

impl Assembly for Lines {
    fn take(&mut self, piece: Value) -> Taken {
        if piece.get("error").is_some_and(|error| !error.is_null()) {
            return Taken::Fault(piece);
        }
        self.count += 1;
        self.first.get_or_insert_with(|| piece.clone());
        let text = as_text(piece.pointer("/message/content"));
        self.text.push_str(&text);
        let calls = piece.pointer("/message/tool_calls").and_then(Value::as_array);
        self.calls.extend(calls.into_iter().flatten().cloned());
        match piece {
            Value::Object(line) if line.get("done").and_then(Value::as_bool) == Some(true) => {
                self.end = Some(line);
                Taken::End(text)
            }
            _ => Taken::Text(text),
        }
    }

    fn body(self: Box<Self>) -> Option<Value> {
        let Some(mut body) = self.end else {
            return self.first.filter(|line| self.count == 1 && line.get("done").is_none());
        };
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into();
        }
        body.insert("message".to_owned(), message);
        Some(Value::Object(body))
    }
}
