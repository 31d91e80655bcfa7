//! A model server for the program to talk to: the same answers in each of the three wire formats.
//!
//! Main type: [`Fake`]. It reads what it is asked: a call that is wanted is made, a plan that is wanted
//! is written, and anything else gets a sentence.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

use super::Place;

/// What the model is named for each wire format.
pub const MODELS: [&str; 3] = ["openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "ollama/llama3.2"];

/// A server under way.
pub struct Fake {
    server: MockServer,
    model: &'static str,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Fake {
    /// A server that speaks the format of this model's provider.
    pub fn start(model: &'static str) -> Self {
        Self::answering(model, |wanted| match wanted {
            Wanted::Call(tool) => {
                let args = arguments(&tool);
                Said::Call(tool, args)
            }
            Wanted::Plan => Said::Text(PLAN.to_owned()),
            Wanted::Text(instruction) => Said::Text(format!("About that ({}): Apparel.", instruction.len())),
        })
    }

    /// A server whose answers to what is wanted are these.
    pub fn answering(model: &'static str, says: impl Fn(Wanted) -> Said + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            let answers = Answers { model, says: Box::new(says), asked: Arc::clone(&asked) };
            Mock::given(matchers::any()).respond_with(answers).mount(&server).await;
            server
        });
        Self { server, model, asked }
    }

    /// A folder in which the program finds this server.
    pub fn place(&self, place: Place) -> Place {
        let base = match provider(self.model) {
            "openai" => format!("{}/v1", self.server.uri()),
            _ => self.server.uri(),
        };
        let (base_variable, key) = variables(self.model);
        place.env(base_variable, &base).env(key, "sk-secret-1234").env("WF_MODEL", self.model)
    }

    /// The bodies of the requests so far.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

/// What the tools of the weekly report are called with.
pub fn arguments(tool: &str) -> Value {
    match tool {
        "fetch_inventory_levels" => json!({"week": "2026-W48", "categories": ["Apparel"]}),
        _ => json!({"week": "2026-W48"}),
    }
}

/// What a request wants.
pub enum Wanted {
    Call(String),
    Plan,
    /// Text for this instruction.
    Text(String),
}

/// What the model says.
pub enum Said {
    Text(String),
    Call(String, Value),
    /// This status, and these words of a fault.
    Fault(u16, &'static str),
    /// Half of this text, and then nothing more.
    Half(&'static str),
}

const PLAN: &str = r#"{"steps":[{"id":1,"description":"Product","tool":"multiply","args":{"a":3,"b":4}},{"id":2,"description":"Sum","tool":"add","args":{"a":2,"b":{"step_result":1}}}]}"#;

/// The variables that name a provider's address and key.
pub fn variables(model: &str) -> (&'static str, &'static str) {
    match provider(model) {
        "openai" => ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
        "anthropic" => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        _ => ("OLLAMA_HOST", "OLLAMA_API_KEY"),
    }
}

fn provider(model: &str) -> &str {
    model.split('/').next().unwrap()
}

struct Answers {
    model: &'static str,
    says: Box<dyn Fn(Wanted) -> Said + Send + Sync>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Respond for Answers {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let wanted = wanted(provider(self.model), &body);
        let streamed = body["stream"] == true;
        self.asked.lock().unwrap().push(body);
        let path = match provider(self.model) {
            "openai" => "/v1/chat/completions",
            "anthropic" => "/v1/messages",
            _ => "/api/chat",
        };
        assert_eq!(request.url.path(), path);
        answer(provider(self.model), &(self.says)(wanted), streamed)
    }
}

fn wanted(provider: &str, body: &Value) -> Wanted {
    let tool = match provider {
        "openai" => body.pointer("/tool_choice/function/name"),
        "anthropic" => body.pointer("/tool_choice/name"),
        _ => body.pointer("/tools/0/function/name"),
    };
    if let Some(tool) = tool.and_then(Value::as_str) {
        return Wanted::Call(tool.to_owned());
    }
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let text = match &last["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks.as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned(),
    };
    if text.contains("Write a plan for the task below") { Wanted::Plan } else { Wanted::Text(text) }
}

fn answer(provider: &str, said: &Said, streamed: bool) -> ResponseTemplate {
    if let Said::Fault(status, words) = said {
        let body = match provider {
            "openai" => json!({"error": {"message": words, "type": "error", "code": null}}),
            "anthropic" => json!({"type": "error", "error": {"type": "error", "message": words}}),
            _ => json!({"error": words}),
        };
        return ResponseTemplate::new(*status).set_body_json(body);
    }
    let ok = ResponseTemplate::new(200);
    match (provider, streamed) {
        ("openai", true) => ok.set_body_raw(events(&openai_pieces(said), false), "text/event-stream"),
        ("anthropic", true) => ok.set_body_raw(events(&anthropic_pieces(said), true), "text/event-stream"),
        (_, true) => {
            let lines = ollama_pieces(said).iter().map(|line| format!("{line}\n")).collect::<String>();
            ok.set_body_raw(lines, "application/x-ndjson")
        }
        (_, false) => ok.set_body_json(whole(provider, said)),
    }
}

fn whole(provider: &str, said: &Said) -> Value {
    let (text, call) = match said {
        Said::Text(text) => (text.as_str(), None),
        Said::Call(tool, args) => ("", Some((tool, args))),
        Said::Half(_) | Said::Fault(..) => panic!("a whole answer has no half"),
    };
    match provider {
        "openai" => {
            let calls = call.map(|(tool, args)| {
                json!([{"id": "c1", "type": "function", "function": {"name": tool, "arguments": args.to_string()}}])
            });
            let message = json!({"role": "assistant", "content": text, "tool_calls": calls});
            let usage = json!({"prompt_tokens": 20, "completion_tokens": 3});
            json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
        }
        "anthropic" => {
            let block = match call {
                Some((tool, args)) => json!({"type": "tool_use", "id": "c1", "name": tool, "input": args}),
                None => json!({"type": "text", "text": text}),
            };
            let usage = json!({"input_tokens": 20, "output_tokens": 3});
            json!({"type": "message", "content": [block], "stop_reason": "end_turn", "usage": usage})
        }
        _ => {
            let calls =
                call.map(|(tool, args)| json!([{"id": "c1", "function": {"name": tool, "arguments": args}}]));
            let message = json!({"role": "assistant", "content": text, "tool_calls": calls});
            json!({"model": "m", "message": message, "done": true, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 3})
        }
    }
}

fn events(pieces: &[Value], named: bool) -> String {
    let event = |piece: &Value| {
        let name =
            if named { format!("event: {}\n", piece["type"].as_str().unwrap()) } else { String::new() };
        let data = piece.as_str().map_or_else(|| piece.to_string(), str::to_owned);
        format!("{name}data: {data}\n\n")
    };
    pieces.iter().map(event).collect()
}

/// A text in two halves, and whether it comes whole.
fn halves(said: &Said) -> Option<(Vec<&str>, bool)> {
    match said {
        Said::Text(text) => {
            let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            Some((vec![&text[..middle], &text[middle..]], true))
        }
        Said::Half(text) => Some((vec![text], false)),
        Said::Call(..) | Said::Fault(..) => None,
    }
}

fn openai_pieces(said: &Said) -> Vec<Value> {
    let chunk =
        |delta: Value, end: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
    let mut pieces = Vec::new();
    if let Said::Call(tool, args) = said {
        let call =
            json!([{"index": 0, "id": "c1", "function": {"name": tool, "arguments": args.to_string()}}]);
        pieces.push(chunk(json!({"tool_calls": call}), Value::Null));
    }
    let (texts, ends) = halves(said).unwrap_or((Vec::new(), true));
    pieces.extend(texts.iter().map(|text| chunk(json!({"content": text}), Value::Null)));
    if ends {
        pieces.push(chunk(json!({}), "stop".into()));
        pieces.push(json!({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 3}}));
        pieces.push("[DONE]".into());
    }
    pieces
}

fn anthropic_pieces(said: &Said) -> Vec<Value> {
    let usage = json!({"input_tokens": 20, "output_tokens": 1});
    let mut pieces =
        vec![json!({"type": "message_start", "message": {"type": "message", "content": [], "usage": usage}})];
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let begun = match said {
        Said::Call(tool, _) => json!({"type": "tool_use", "id": "c1", "name": tool, "input": {}}),
        _ => json!({"type": "text", "text": ""}),
    };
    pieces.push(json!({"type": "content_block_start", "index": 0, "content_block": begun}));
    if let Said::Call(_, args) = said {
        pieces.push(delta(json!({"type": "input_json_delta", "partial_json": args.to_string()})));
    }
    let (texts, ends) = halves(said).unwrap_or((Vec::new(), true));
    pieces.extend(texts.iter().map(|text| delta(json!({"type": "text_delta", "text": text}))));
    if ends {
        pieces.push(json!({"type": "content_block_stop", "index": 0}));
        pieces.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}));
        pieces.push(json!({"type": "message_stop"}));
    }
    pieces
}

fn ollama_pieces(said: &Said) -> Vec<Value> {
    let line = |message: Value| json!({"model": "m", "message": message, "done": false});
    let mut pieces = Vec::new();
    if let Said::Call(tool, args) = said {
        let call = json!([{"id": "c1", "function": {"name": tool, "arguments": args}}]);
        pieces.push(line(json!({"role": "assistant", "content": "", "tool_calls": call})));
    }
    let (texts, ends) = halves(said).unwrap_or((Vec::new(), true));
    pieces.extend(texts.iter().map(|text| line(json!({"role": "assistant", "content": text}))));
    if ends {
        pieces.push(json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 3}));
    }
    pieces
}
