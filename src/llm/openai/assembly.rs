//! A stream of Chat Completions put together to the body the server would have sent at once.
//!
//! Main type: [`Chunks`]. Its end is the reason the model stopped for: an end mark alone (`[DONE]`) is
//! also what proxies send after a fault.

use serde_json::{Map, Value, json};

use super::decode::content;
use crate::llm::body::as_text;
use crate::llm::{Assembly, Taken};

/// What has come of one answer.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    text: String,
    refusal: String,
    calls: Vec<Part>,
    /// The call in the form that came before `tool_calls`.
    function_call: Option<Part>,
    finish_reason: Option<Value>,
    usage: Value,
}

/// A call so far.
#[derive(Debug, Default)]
struct Part {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Part {
    fn take(&mut self, function: Option<&Value>) {
        let Some(function) = function else { return };
        // Some servers repeat the name with every piece.
        if self.name.is_empty() {
            self.name = as_text(function.get("name"));
        }
        self.arguments.push_str(&as_text(function.get("arguments")));
    }

    fn function(&self) -> Value {
        json!({"name": self.name, "arguments": self.arguments})
    }
}

impl Chunks {
    fn call(&mut self, delta: &Value) {
        let index = delta.get("index").and_then(Value::as_u64);
        let id = as_text(delta.get("id"));
        let known = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        };
        // Gemini gives every call the index 0, and each an id of its own.
        let same =
            known.filter(|at| id.is_empty() || self.calls[*at].id.is_empty() || self.calls[*at].id == id);
        let at = same.unwrap_or_else(|| {
            self.calls.push(Part { index, ..Part::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        call.take(delta.get("function").or_else(|| delta.get("custom")));
    }
}

impl Assembly for Chunks {
    fn take(&mut self, piece: Value) -> Taken {
        if piece == "[DONE]" {
            return Taken::End(String::new());
        }
        if piece.get("error").is_some_and(|error| !error.is_null()) {
            return Taken::Fault(piece);
        }
        if let Some(usage) = piece.get("usage").filter(|usage| !usage.is_null()) {
            self.usage = usage.clone();
        }
        let choices = piece.get("choices").and_then(Value::as_array);
        let first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or_default() == 0;
        let Some(choice) = choices.and_then(|choices| choices.iter().find(first)) else {
            return Taken::Text(String::new());
        };
        if choice.get("error").is_some_and(|error| !error.is_null()) {
            return Taken::Fault(choice.clone());
        }
        if let Some(reason) = choice.get("finish_reason").filter(|reason| !reason.is_null()) {
            self.finish_reason = Some(reason.clone());
        }
        // Some servers close with a whole message, which says again what has come.
        let Some(delta) = choice.get("delta").or_else(|| choice.get("message").filter(|_| self.is_empty()))
        else {
            return Taken::Text(String::new());
        };
        self.refusal.push_str(&as_text(delta.get("refusal")));
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call);
        }
        if let Some(function @ Value::Object(_)) = delta.get("function_call") {
            self.function_call.get_or_insert_default().take(Some(function));
        }
        let text = content(delta.get("content")).0;
        self.text.push_str(&text);
        Taken::Text(text)
    }

    fn body(self: Box<Self>) -> Option<Value> {
        let reason = self.finish_reason?;
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), self.text.into());
        if !self.refusal.is_empty() {
            message.insert("refusal".to_owned(), self.refusal.into());
        }
        if !self.calls.is_empty() {
            let call = |call: &Part| json!({"id": call.id, "type": "function", "function": call.function()});
            message.insert("tool_calls".to_owned(), self.calls.iter().map(call).collect());
        }
        if let Some(call) = self.function_call {
            message.insert("function_call".to_owned(), call.function());
        }
        Some(json!({"choices": [{"message": message, "finish_reason": reason}], "usage": self.usage}))
    }
}

impl Chunks {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.refusal.is_empty()
    }
}
