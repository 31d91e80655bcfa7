//! Why a server said no, sorted by what helps: wait, mend a setting, ask differently.
//!
//! Main type: [`Said`], what a server says of its refusal in any of the forms there are. Knows the
//! statuses, codes and words of all providers, which overlap too much to be told apart; decides nothing
//! about trying again.

use serde_json::Value;

use super::{Answer, Choice, Endpoint, ModelError, ModelErrorKind, Request};

/// What a refusal says of itself.
#[derive(Debug, Default)]
pub(super) struct Said {
    message: String,
    /// `code` and `type`, in lower case, with a space between: which of the two holds what differs.
    codes: String,
    /// A status inside the body, for servers that always answer 200.
    status: Option<u16>,
}

/// The error for an answer whose status is not a success.
pub(super) fn refusal(answer: &Answer, endpoint: &Endpoint, request: &Request) -> ModelError {
    let body = serde_json::from_slice::<Value>(&answer.body).ok();
    let said = body.as_ref().and_then(said_in).unwrap_or_else(|| {
        let text = String::from_utf8_lossy(&answer.body);
        let html = text.trim_start().starts_with('<');
        // Enough for what is quoted of it, and cheap for a large page.
        let message = if html { "an HTML page".to_owned() } else { text.chars().take(4000).collect() };
        Said { message, ..Said::default() }
    });
    said.refusal(answer, endpoint, request)
}

/// The error for a fault that a server reports in the middle of a stream. What it does not explain may
/// pass.
pub(super) fn broken_off(body: &Value, endpoint: &Endpoint, request: &Request) -> ModelError {
    let said = said_in(body).unwrap_or_default();
    let words = said.words(endpoint);
    let explained = said.asked_wrongly(said.status.unwrap_or(200), &words, endpoint, request);
    let (kind, what) = explained.unwrap_or_else(|| match said.status {
        Some(status) => said.by_status(status, &words, &Answer::default(), endpoint),
        None => (ModelErrorKind::Transient, format!("reports a fault{words}")),
    });
    endpoint.fault(kind, format!("broke its answer off and {what}"))
}

/// What a body says went wrong: `{error: {message, type, code}}`, `{error: "…"}`, `{message}`,
/// `{detail: "…"}`, `{detail: [{loc, msg}]}`, or one of these in a list. Nothing if it says nothing.
pub(super) fn said_in(body: &Value) -> Option<Said> {
    let body = body.get(0).unwrap_or(body);
    let inner = match body.get("error") {
        Some(Value::Null) | None => body,
        Some(error) => error,
    };
    let message = match inner {
        Value::String(text) => text.clone(),
        _ => ["message", "detail", "error", "msg", "errors"]
            .iter()
            .find_map(|key| inner.get(key).filter(|value| !value.is_null()))
            .or_else(|| inner.get("code").or_else(|| inner.get("type")))
            .or_else(|| body.get("message"))
            .map(sentence)?,
    };
    let code = |key: &str| match inner.get(key) {
        Some(Value::String(text)) => text.to_ascii_lowercase(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let codes = format!("{} {} {}", code("code"), code("type"), code("status"));
    let named = |code: &str| NAMED_STATUSES.iter().find(|(name, _)| *name == code).map(|(_, status)| *status);
    let numbered = |code: &str| code.parse().ok().filter(|code| (400..600).contains(code));
    let status = codes.split(' ').find_map(|code| numbered(code).or_else(|| named(code)));
    // OpenRouter's own message says only that the provider behind it failed; this says why.
    let behind = inner.pointer("/metadata/raw").and_then(Value::as_str);
    let message = behind.map_or(message.clone(), |raw| format!("{message}: {raw}"));
    Some(Said { message, codes, status })
}

/// A message in whatever shape: a text, FastAPI's list of faults, an object.
fn sentence(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(faults) => faults.iter().map(sentence).collect::<Vec<_>>().join("; "),
        Value::Object(fault) => match fault.get("msg").or_else(|| fault.get("message")).map(sentence) {
            Some(message) => match fault.get("loc").and_then(Value::as_array) {
                Some(place) => {
                    let place: Vec<_> = place.iter().map(sentence).collect();
                    format!("{}: {message}", place.join("."))
                }
                None => message,
            },
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}

impl Said {
    /// The error for it. A status in the body counts where the answer's own claims success.
    pub(super) fn refusal(&self, answer: &Answer, endpoint: &Endpoint, request: &Request) -> ModelError {
        let status = match (answer.status, self.status) {
            (200..300, Some(status)) => status,
            (200..300, None) if self.has_code(&["rate_limit", "overloaded"]) => 429,
            (200..300, None) if self.has_code(&["server_error", "internal"]) => 500,
            (status, _) => status,
        };
        let words = self.words(endpoint);
        let explained = self.asked_wrongly(status, &words, endpoint, request);
        let (kind, what) = explained.unwrap_or_else(|| self.by_status(status, &words, answer, endpoint));
        let mut error = endpoint.fault(kind, what);
        error.retry_after = answer.retry_after;
        error
    }

    /// What the server said, as the end of a sentence.
    fn words(&self, endpoint: &Endpoint) -> String {
        let words = endpoint.quote(&self.message);
        let words = words.trim_end_matches('.');
        if words.is_empty() { String::new() } else { format!(": {words}") }
    }

    /// What the words of a refusal tell beyond its status.
    fn asked_wrongly(
        &self,
        status: u16,
        words: &str,
        endpoint: &Endpoint,
        request: &Request,
    ) -> Option<(ModelErrorKind, String)> {
        use ModelErrorKind::{FormatRefused, Refused, ToolsRefused};
        let text = self.message.to_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
        let asked = matches!(status, 200..300 | 400 | 404 | 413 | 415 | 422 | 500 | 501);

        if self.has_code(QUOTA_CODES) || status == 402 || says(QUOTA_SIGNS) {
            let account = match endpoint.provider.key_variable {
                Some(key) => format!("the account that {key} belongs to"),
                None => "the account".to_owned(),
            };
            let what =
                format!("is out of quota or credit ({status}){words}; see to the billing of {account}");
            return Some((Refused, format!("{what}, or name another model with --model")));
        }
        if asked && request.format.is_some() && (self.has_code(FORMAT_SIGNS) || says(FORMAT_SIGNS)) {
            return Some((FormatRefused, format!("does not take the response format ({status}){words}")));
        }
        let shows_tools = !request.tools.is_empty() || matches!(request.choice, Choice::Tool(_));
        if asked && shows_tools && (self.has_code(TOOL_CODES) || says(TOOL_SIGNS)) {
            return Some((
                ToolsRefused,
                format!("does not take the tools, or the choice of one ({status}){words}"),
            ));
        }
        if asked && (self.has_code(LENGTH_CODES) || says(LENGTH_SIGNS)) || status == 413 {
            let what = format!("cannot read a conversation this long ({status}){words}");
            let room = endpoint.provider.help.room;
            let room = room.map(|setting| format!("give the model more room with {setting}, "));
            let advice = "or name a model with a larger context with --model";
            let room = room.unwrap_or_default();
            return Some((Refused, format!("{what}; lower `limits.max_result_chars`, {room}{advice}")));
        }
        if self.has_code(&["model_not_found", "model_not_supported"]) || status == 404 {
            let model = endpoint.quote(&endpoint.model);
            let what = format!("knows no model `{model}`, or the address is wrong ({status}){words}");
            let fetch = endpoint.provider.help.fetch;
            let fetch = fetch.map(|command| format!("get it with `{command} {model}`, or "));
            let advice = format!("{}check --model and the address", fetch.unwrap_or_default());
            return Some((Refused, format!("{what}; {advice}; {}", endpoint.address_setting())));
        }
        None
    }

    fn by_status(
        &self,
        status: u16,
        words: &str,
        answer: &Answer,
        endpoint: &Endpoint,
    ) -> (ModelErrorKind, String) {
        use ModelErrorKind::{Refused, Transient};
        match status {
            300..=399 => {
                let to = answer.location.as_deref().map(|to| endpoint.quote(to));
                let to = to.map_or_else(String::new, |to| format!(" to {to}"));
                let what = format!("answered with a redirect{to} ({status}), and requests do not follow any");
                (Refused, format!("{what}; give the final address, {}", endpoint.address_setting()))
            }
            401 => (Refused, format!("refused the key (401){words}; {}", endpoint.key_setting())),
            403 => {
                let setting = endpoint.key_setting();
                let what = format!("does not allow this (403){words}; {setting}");
                (Refused, format!("{what}, and whether it may use `{}`", endpoint.quote(&endpoint.model)))
            }
            407 => {
                let variable = endpoint.proxy.unwrap_or("HTTPS_PROXY");
                let what = format!("is behind a proxy that wants a user and a password (407){words}");
                (Refused, format!("{what}; put them into {variable}, as http://user:password@host:port"))
            }
            408 | 425 => (Transient, format!("gave up waiting ({status}){words}")),
            409 => (Transient, format!("reports a conflict (409){words}")),
            429 => (Transient, format!("asks for fewer requests (429){words}")),
            503 | 529 => (Transient, format!("is overloaded or starting ({status}){words}")),
            500..600 => (Transient, format!("failed ({status}){words}")),
            _ => {
                let what = format!("refused the request ({status}){words}");
                (Refused, format!("{what}; check --model and its settings, {}", endpoint.address_setting()))
            }
        }
    }

    fn has_code(&self, signs: &[&str]) -> bool {
        signs.iter().any(|sign| self.codes.contains(sign))
    }
}

/// Anthropic's names of faults, for those that come with another status or with none.
const NAMED_STATUSES: &[(&str, u16)] = &[
    ("authentication_error", 401),
    ("billing_error", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("api_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

const QUOTA_CODES: &[&str] =
    &["insufficient_quota", "billing", "insufficient_balance", "credit_balance", "quota_exceeded"];

/// How Anthropic says it, with a code that means nothing.
const QUOTA_SIGNS: &[&str] = &["credit balance is too low"];

const LENGTH_CODES: &[&str] = &["context_length", "exceed_context_size", "string_above_max_length"];

/// How servers say that a conversation is too long, where their code does not.
const LENGTH_SIGNS: &[&str] = &[
    "context length",
    "context window",
    "context limit",
    "maximum context",
    "context size",
    "prompt is too long",
    "input token count",
    "too many tokens",
];

/// How servers say that they have no such response format: OpenAI, Anthropic, Groq, DeepSeek, Gemini,
/// llama.cpp, Ollama.
const FORMAT_SIGNS: &[&str] = &[
    "response_format",
    "response format",
    "response_schema",
    "response mime type",
    "output_config",
    "output_format",
    "json_schema",
    "json schema",
    "json mode",
    "structured output",
    "grammar",
    "invalid format",
];

/// Groq's code for a model that could not form the call.
const TOOL_CODES: &[&str] = &["tool_use_failed"];

/// How servers say that they take no tools, or no choice of one: Anthropic, DeepSeek, Groq, Ollama,
/// OpenRouter, vLLM, llama.cpp.
const TOOL_SIGNS: &[&str] = &[
    "tool_choice",
    "tool choice",
    "toolchoice",
    "not support tool",
    "support tool use",
    "not support function",
    "tools is not supported",
    "tools are not supported",
    "tool calling is not supported",
    "tool use is not supported",
    "function calling is not supported",
    "function calling is not enabled",
    "tools param requires",
    // Models that want their thoughts back with each call they made.
    "expected `thinking`",
    "chatrequest.tools",
    "unrecognized request argument supplied: tools",
    "unknown field: tools",
];
