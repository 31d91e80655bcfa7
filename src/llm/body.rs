//! The JSON of an answer's body, and what is said when it is none.
//!
//! Main type: [`Protocol`], the name a wire format goes by in messages. Knows no format's keys.

use serde_json::Value;

use super::{Answer, Endpoint, ModelError, ModelErrorKind};

/// How people call a wire format.
pub(super) struct Protocol {
    pub name: &'static str,
    /// How addresses of its servers look.
    pub addresses: &'static str,
}

impl Protocol {
    /// The object a body holds.
    pub fn parse(&self, answer: &Answer, endpoint: &Endpoint) -> Result<Value, ModelError> {
        let body = answer.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&answer.body).trim_ascii();
        if body.is_empty() {
            return Err(self.foreign(endpoint, "answered with nothing"));
        }
        let content_type = answer.content_type.as_deref().unwrap_or_default().to_ascii_lowercase();
        match serde_json::from_slice(body) {
            Ok(value @ Value::Object(_)) => Ok(value),
            // Some servers put even a refusal into a list.
            Ok(Value::Array(mut list)) if list.first().is_some_and(Value::is_object) => {
                Ok(list.swap_remove(0))
            }
            Ok(_) => Err(self.foreign(endpoint, "answered with JSON that is not an object")),
            Err(_) if body.starts_with(b"<") || content_type.starts_with("text/html") => {
                Err(self.foreign(endpoint, "answered with an HTML page instead of JSON"))
            }
            Err(_) if body.starts_with(b"data:") || content_type.starts_with("text/event-stream") => {
                Err(self.foreign(endpoint, "answered with a stream, which was not asked for"))
            }
            Err(_) if std::str::from_utf8(body).is_err() => {
                Err(self.foreign(endpoint, "answered with bytes that are not UTF-8"))
            }
            Err(error) if error.is_eof() => {
                Err(malformed(endpoint, "answered with JSON that stops in the middle"))
            }
            Err(error) => {
                let start = endpoint.quote(&String::from_utf8_lossy(&body[..body.len().min(80)]));
                let what = format!("answered with something that is not JSON ({error}): {start}");
                Err(self.foreign(endpoint, &what))
            }
        }
    }

    /// Whatever answered may not be a server of this kind at all.
    pub fn foreign(&self, endpoint: &Endpoint, what: &str) -> ModelError {
        let message = format!(
            "{what}; does a server for {} run there? {}, and {}",
            self.name,
            endpoint.address_setting(),
            self.addresses
        );
        endpoint.fault(ModelErrorKind::Protocol, message)
    }
}

/// A server of the right kind answered wrongly.
pub(super) fn malformed(endpoint: &Endpoint, what: &str) -> ModelError {
    let setting = endpoint.address_setting();
    let message = format!("{what}; run it again, or name another model with --model; {setting}");
    endpoint.fault(ModelErrorKind::Protocol, message)
}

/// A value that ought to be text: other JSON is written out.
pub(super) fn as_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
