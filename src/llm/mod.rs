//! Large language models: one trait, one codec a wire format, one HTTP transport.
//!
//! Main type: [`Model`]. Knows requests and replies; knows no plan and no step. Codecs are pure.

mod address;
mod answer;
pub mod anthropic;
mod body;
mod connect;
mod endpoint;
mod frames;
mod http;
#[cfg(test)]
mod misbehaviour;
mod offline;
pub mod ollama;
pub mod openai;
mod providers;
mod refusal;
mod remembered;
mod remote;
mod replay;
mod request;
mod scripted;
mod unreachable;
mod wire;
#[cfg(test)]
mod wire_cases;
mod wire_names;
pub mod words;

use async_trait::async_trait;

pub use answer::Answer;
pub use connect::{connect, resolve};
pub use endpoint::{AddressFrom, Endpoint, Secret};
pub use http::{CONNECT_TIMEOUT, DEFAULT_TIMEOUT, IDLE_TIMEOUT, MAX_ANSWER_BYTES, Transport};
pub use offline::Offline;
pub use providers::{Codec, Help, Provider, providers};
pub use remembered::Remembered;
pub use remote::Remote;
pub use replay::{RecordedAsk, Replay};
pub use request::{Call, Choice, Facts, Finish, Message, NamedResult, Reply, Request, ResponseFormat};
pub use scripted::Scripted;
pub use wire::{Assembly, Framing, Taken, Way, Wire};

use crate::id::ModelName;

/// Whoever listens to an answer while it comes: called with each piece of its text.
pub type Hear<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Something that answers requests.
#[async_trait]
pub trait Model: Send + Sync {
    /// The name it goes by.
    fn name(&self) -> &ModelName;

    /// Asks once. Nothing is tried again below this call.
    async fn ask(&self, request: &Request) -> Result<Reply, ModelError>;

    /// Asks once, and lets somebody hear the text of the answer while it comes. What was heard is no
    /// answer: only the reply is, and it is the same as that of [`Model::ask`]. A model whose answers
    /// come whole is not heard.
    async fn ask_aloud(&self, request: &Request, hear: Hear<'_>) -> Result<Reply, ModelError> {
        let _ = hear;
        self.ask(request).await
    }
}

/// Why there is no reply. An empty reply is a reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// What happened, which setting matters, what to do.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<std::time::Duration>,
}

impl ModelError {
    /// An error for which the provider asked no wait.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }
}

/// What kind of fault it is; decides whether it is tried again, and the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// 408, 409, 425, 429, 5xx, 529, a reset, a host that does not resolve, a stream that breaks: tried
    /// again.
    Transient,
    /// Another refusal: a wrong key, an unknown model, out of quota, TLS.
    Refused,
    /// No answer within the time.
    Timeout,
    /// The response format was refused; ask again without.
    FormatRefused,
    /// The tools, or the choice of one, were refused; ask again in words.
    ToolsRefused,
    /// The answer is not of the protocol: HTML, broken JSON, no choices.
    Protocol,
    /// The model does not do this (offline; a script that is over).
    Unable,
}
