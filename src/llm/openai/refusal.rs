//! Why a server said no, sorted by what helps: wait, mend a setting, ask differently.
//!
//! Main type: [`Said`], what a provider says of its refusal in any of the forms there are. Knows the
//! statuses and codes of Chat Completions servers; decides nothing about trying again.

use serde_json::Value;

use crate::llm::{Answer, Endpoint, ModelError, ModelErrorKind, Request};

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
    let status = codes.split(' ').find_map(|code| code.parse().ok().filter(|code| (400..600).contains(code)));
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
        let mut words = endpoint.quote(&self.message);
        while words.ends_with('.') {
            words.pop();
        }
        let words = if words.is_empty() { String::new() } else { format!(": {words}") };
        let (kind, what) = self.sort(status, &words, answer, endpoint, request);
        let mut error = endpoint.fault(kind, what);
        error.retry_after = answer.retry_after;
        error
    }

    fn sort(
        &self,
        status: u16,
        words: &str,
        answer: &Answer,
        endpoint: &Endpoint,
        request: &Request,
    ) -> (ModelErrorKind, String) {
        use ModelErrorKind::{FormatRefused, Refused, Transient};
        let text = self.message.to_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
        let asked = matches!(status, 200..300 | 400 | 404 | 413 | 415 | 422 | 500 | 501);

        if self.has_code(QUOTA_CODES) || status == 402 {
            let what = format!("is out of quota or credit ({status}){words}; see to the account's billing");
            return (Refused, format!("{what}, or name another model with --model"));
        }
        if asked && request.format.is_some() && (self.has_code(FORMAT_SIGNS) || says(FORMAT_SIGNS)) {
            return (FormatRefused, format!("does not take the response format ({status}){words}"));
        }
        if asked && (self.has_code(LENGTH_CODES) || says(LENGTH_SIGNS)) || status == 413 {
            let what = format!("cannot read a conversation this long ({status}){words}");
            let advice =
                "lower `limits.max_result_chars`, or name a model with a larger context with --model";
            return (Refused, format!("{what}; {advice}"));
        }
        if self.has_code(&["model_not_found", "model_not_supported"]) || status == 404 {
            let model = endpoint.quote(&endpoint.model);
            let what = format!("knows no model `{model}`, or the address is wrong ({status}){words}");
            let advice = format!("check --model and the address; {}", endpoint.address_setting());
            return (Refused, format!("{what}; {advice}"));
        }
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

const QUOTA_CODES: &[&str] =
    &["insufficient_quota", "billing", "insufficient_balance", "credit_balance", "quota_exceeded"];

const LENGTH_CODES: &[&str] = &["context_length", "exceed_context_size", "string_above_max_length"];

/// How servers say that a conversation is too long, where their code does not.
const LENGTH_SIGNS: &[&str] = &[
    "context length",
    "context window",
    "maximum context",
    "context size",
    "prompt is too long",
    "input token count",
    "too many tokens",
];

/// How servers say that they have no such response format: OpenAI, Groq, DeepSeek, Gemini, llama.cpp.
const FORMAT_SIGNS: &[&str] = &[
    "response_format",
    "response format",
    "response_schema",
    "response mime type",
    "json_schema",
    "json schema",
    "json mode",
    "structured output",
    "grammar",
];
