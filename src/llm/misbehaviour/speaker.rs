//! What a server of each wire format says: the same answers in three protocols, whole and in pieces.
//!
//! Main type: [`Speaker`]. Knows HTTP as far as one answer goes.

use serde_json::{Value, json};

/// A provider's server.
pub struct Speaker {
    pub model: &'static str,
    pub base_url_variable: &'static str,
    pub key_variable: &'static str,
    pub key_headers: &'static [&'static str],
    /// What the base address ends with, and where requests go.
    pub base_path: &'static str,
    pub path: &'static str,
    /// What is advised when it does not run.
    pub start: &'static str,
}

/// The server of each wire format.
pub fn speakers() -> Vec<Speaker> {
    vec![
        Speaker {
            model: "openai/gpt-5-mini",
            base_url_variable: "OPENAI_BASE_URL",
            key_variable: "OPENAI_API_KEY",
            key_headers: &["authorization: Bearer sk-secret-1234\r\n"],
            base_path: "/v1",
            path: "/v1/chat/completions",
            start: "is the server running?",
        },
        Speaker {
            model: "anthropic/claude-sonnet-4-5",
            base_url_variable: "ANTHROPIC_BASE_URL",
            key_variable: "ANTHROPIC_API_KEY",
            key_headers: &["x-api-key: sk-secret-1234\r\n", "anthropic-version: 2023-06-01\r\n"],
            base_path: "",
            path: "/v1/messages",
            start: "is the server running?",
        },
        Speaker {
            model: "ollama/llama3.2",
            base_url_variable: "OLLAMA_HOST",
            key_variable: "OLLAMA_API_KEY",
            key_headers: &["authorization: Bearer sk-secret-1234\r\n"],
            base_path: "",
            path: "/api/chat",
            start: "ollama serve",
        },
    ]
}

/// An answer before it is put into a wire format.
#[derive(Clone, Debug)]
pub struct Says {
    text: Option<&'static str>,
    calls: Vec<(&'static str, Value)>,
    /// `stop`, `length` or `refused`.
    end: &'static str,
}

impl Speaker {
    pub fn text(&self, text: &'static str) -> Says {
        Says { text: Some(text), calls: Vec::new(), end: "stop" }
    }

    pub fn nothing(&self) -> Says {
        Says { text: None, calls: Vec::new(), end: "stop" }
    }

    pub fn calls(&self, calls: Vec<(&'static str, Value)>) -> Says {
        Says { text: None, calls, end: "stop" }
    }

    pub fn ended(&self, text: &'static str, end: &'static str) -> Says {
        Says { end, ..self.text(text) }
    }

    fn provider(&self) -> &str {
        self.model.split('/').next().unwrap()
    }

    /// Words of a message with this provider's names in them.
    pub fn filled(&self, words: &str) -> String {
        let model = self.model.split('/').nth(1).unwrap();
        let words = words.replace("BASE", self.base_url_variable).replace("KEY", self.key_variable);
        words.replace("MODEL", model).replace("PROVIDER", self.provider())
    }

    /// A whole answer to a request, as asked for.
    pub fn answers(&self, says: &Says, streamed: bool) -> Vec<u8> {
        let kind = if streamed { self.stream_type() } else { "application/json" };
        http(200, &[("content-type", kind)], &self.body(says, streamed))
    }

    pub fn stream_type(&self) -> &'static str {
        if self.provider() == "ollama" { "application/x-ndjson" } else { "text/event-stream" }
    }

    /// The body of it.
    pub fn body(&self, says: &Says, streamed: bool) -> String {
        if streamed { self.pieces(says).concat() } else { self.whole(says).to_string() }
    }

    fn end(&self, says: &Says) -> &'static str {
        match (self.provider(), says.end) {
            ("openai", "refused") => "content_filter",
            ("openai", "stop") if !says.calls.is_empty() => "tool_calls",
            ("anthropic", "refused") => "refusal",
            ("anthropic", "length") => "max_tokens",
            ("anthropic", _) if !says.calls.is_empty() => "tool_use",
            ("anthropic", _) => "end_turn",
            (_, end) => end,
        }
    }

    fn whole(&self, says: &Says) -> Value {
        let end = self.end(says);
        let text = says.text.map_or(Value::Null, Value::from);
        let calls = says.calls.iter().enumerate();
        match self.provider() {
            "openai" => {
                let call = |(at, (name, arguments)): (usize, &(&str, Value))| {
                    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
                    json!({"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
                };
                let calls: Vec<Value> = calls.map(call).collect();
                let message = json!({"role": "assistant", "content": text, "tool_calls": calls});
                json!({"choices": [{"index": 0, "message": message, "finish_reason": end}]})
            }
            "anthropic" => {
                let words = says.text.map(|text| json!({"type": "text", "text": text}));
                let call = |(at, (name, input)): (usize, &(&str, Value))| json!({"type": "tool_use", "id": format!("c{at}"), "name": name, "input": input});
                let content: Vec<Value> = words.into_iter().chain(calls.map(call)).collect();
                json!({"type": "message", "role": "assistant", "content": content, "stop_reason": end})
            }
            _ => {
                let call = |(at, (name, arguments)): (usize, &(&str, Value))| json!({"id": format!("c{at}"), "function": {"name": name, "arguments": arguments}});
                let calls: Vec<Value> = calls.map(call).collect();
                let message = json!({"role": "assistant", "content": text, "tool_calls": calls});
                json!({"model": "m", "message": message, "done": true, "done_reason": end})
            }
        }
    }

    /// The same in pieces; the last two say that it is over.
    pub fn pieces(&self, says: &Says) -> Vec<String> {
        let end = self.end(says);
        let event = |data: Value| format!("data: {data}\n\n");
        let named = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
        let chunk = |delta: Value, end: Value| {
            event(json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}))
        };
        let words = says.text.unwrap_or_default();
        let middle = words.char_indices().nth(words.chars().count() / 2).map_or(0, |(at, _)| at);
        let halves = [&words[..middle], &words[middle..]];
        match self.provider() {
            "openai" => {
                let mut pieces = vec![chunk(json!({"role": "assistant", "content": null}), Value::Null)];
                pieces.extend(halves.map(|half| chunk(json!({"content": half}), Value::Null)));
                for (at, (name, arguments)) in says.calls.iter().enumerate() {
                    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
                    let function = json!({"name": name, "arguments": ""});
                    let call = json!([{"index": at, "id": format!("c{at}"), "function": function}]);
                    pieces.push(chunk(json!({"tool_calls": call}), Value::Null));
                    for part in arguments.chars().map(String::from) {
                        let call = json!([{"index": at, "function": {"arguments": part}}]);
                        pieces.push(chunk(json!({"tool_calls": call}), Value::Null));
                    }
                }
                pieces.push(chunk(json!({}), end.into()));
                pieces.push("data: [DONE]\n\n".to_owned());
                pieces
            }
            "anthropic" => {
                let message =
                    json!({"type": "message", "role": "assistant", "content": [], "stop_reason": null});
                let mut pieces = vec![named(json!({"type": "message_start", "message": message}))];
                let mut block = |at: usize, begun: Value, deltas: Vec<Value>| {
                    pieces.push(named(
                        json!({"type": "content_block_start", "index": at, "content_block": begun}),
                    ));
                    pieces.extend(deltas.into_iter().map(|delta| {
                        named(json!({"type": "content_block_delta", "index": at, "delta": delta}))
                    }));
                    pieces.push(named(json!({"type": "content_block_stop", "index": at})));
                };
                if says.text.is_some() {
                    let deltas = halves.map(|half| json!({"type": "text_delta", "text": half}));
                    block(0, json!({"type": "text", "text": ""}), deltas.to_vec());
                }
                for (at, (name, input)) in says.calls.iter().enumerate() {
                    let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
                    let deltas = input
                        .chars()
                        .map(|part| json!({"type": "input_json_delta", "partial_json": part.to_string()}));
                    let begun =
                        json!({"type": "tool_use", "id": format!("c{at}"), "name": name, "input": {}});
                    block(at + 1, begun, deltas.collect());
                }
                let delta = json!({"stop_reason": end});
                pieces.push(named(
                    json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}),
                ));
                pieces.push(named(json!({"type": "message_stop"})));
                pieces
            }
            _ => {
                let line = |message: Value| {
                    format!("{}\n", json!({"model": "m", "message": message, "done": false}))
                };
                let mut pieces: Vec<String> = halves.map(|half| line(json!({"content": half}))).to_vec();
                for (at, (name, arguments)) in says.calls.iter().enumerate() {
                    let call =
                        json!([{"id": format!("c{at}"), "function": {"name": name, "arguments": arguments}}]);
                    pieces.push(line(json!({"content": "", "tool_calls": call})));
                }
                pieces.push(line(json!({"content": ""})));
                let last =
                    json!({"model": "m", "message": {"content": ""}, "done": true, "done_reason": end});
                pieces.push(format!("{last}\n"));
                pieces
            }
        }
    }

    /// An answer that reports a fault in the provider's own form.
    pub fn fault(&self, status: u16, message: &str, code: &str) -> Vec<u8> {
        http(status, &[("content-type", "application/json")], &self.fault_body(message, code))
    }

    pub fn fault_body(&self, message: &str, code: &str) -> String {
        let body = match self.provider() {
            "openai" => json!({"error": {"message": message, "type": "error", "code": code}}),
            "anthropic" => json!({"type": "error", "error": {"type": code, "message": message}}),
            _ => json!({"error": message}),
        };
        body.to_string()
    }

    /// A fault in the middle of a stream.
    pub fn fault_piece(&self, message: &str) -> String {
        let body = self.fault_body(message, "");
        match self.provider() {
            "openai" => format!("data: {body}\n\n"),
            "anthropic" => format!("event: error\ndata: {body}\n\n"),
            _ => format!("{body}\n"),
        }
    }

    /// An answer in the right form that has nothing in it.
    pub fn hollow(&self) -> String {
        let body = match self.provider() {
            "openai" => json!({"choices": []}),
            "anthropic" => json!({"type": "message", "content": null}),
            _ => json!({"model": "m", "done": true}),
        };
        body.to_string()
    }
}

/// The head of an answer whose body has this many bytes.
pub fn head(status: u16, headers: &[(&str, &str)], length: usize) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} Status\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n")
}

/// A whole answer.
pub fn http(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    [head(status, headers, body.len()).as_bytes(), body.as_bytes()].concat()
}
