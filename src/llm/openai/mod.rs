//! OpenAI Chat Completions, which most servers understand: a pure codec, and a model that uses it.
//!
//! Main type: [`OpenAi`]. [`encode`] and [`decode`] know the wire format and no network. What servers
//! disagree on is data: [`Dialect`].

mod decode;
mod encode;
mod refusal;
#[cfg(test)]
mod wire_cases;
mod wire_names;

use async_trait::async_trait;

pub use decode::decode;
pub use encode::encode;

use super::connect::Codec;
use super::{DEFAULT_TIMEOUT, Endpoint, Model, ModelError, Reply, Request, Transport};
use crate::id::ModelName;

/// What servers that speak this format disagree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The key of the token limit. `max_tokens` is the word every compatible server knows, and the one
    /// OpenAI's reasoning models refuse; so OpenAI and Azure get `max_completion_tokens`, all others
    /// `max_tokens`.
    pub max_tokens: &'static str,
    /// The key of the seed. Mistral refuses keys it does not know, and `seed` is one.
    pub seed: &'static str,
    /// Whether the ids of tool calls must be exactly nine letters and digits.
    pub short_ids: bool,
}

impl Dialect {
    /// OpenAI itself, and Azure.
    pub const OPENAI: Self = Self { max_tokens: "max_completion_tokens", ..Self::COMPATIBLE };
    /// Mistral's own service.
    pub const MISTRAL: Self = Self { seed: "random_seed", short_ids: true, ..Self::COMPATIBLE };
    /// Everyone else.
    pub const COMPATIBLE: Self = Self { max_tokens: "max_tokens", seed: "seed", short_ids: false };

    /// The dialect of an address: a provider's own counts only at the provider's.
    pub fn of(endpoint: &Endpoint) -> Self {
        let azure = endpoint.base_url.host_str().is_some_and(|host| host.ends_with(".azure.com"));
        match endpoint.provider.codec {
            _ if azure => Self::OPENAI,
            Codec::OpenAi(dialect) if endpoint.is_own() => dialect,
            _ => Self::COMPATIBLE,
        }
    }
}

/// A model behind a server that speaks OpenAI Chat Completions.
pub struct OpenAi {
    name: ModelName,
    endpoint: Endpoint,
    dialect: Dialect,
    transport: Transport,
}

impl OpenAi {
    /// A model at an address. Opens no connection yet; an error means the key or the address cannot be
    /// sent, or TLS cannot be set up.
    pub fn new(name: ModelName, endpoint: Endpoint) -> Result<Self, ModelError> {
        let transport = Transport::new(&endpoint)?;
        Ok(Self { name, dialect: Dialect::of(&endpoint), endpoint, transport })
    }
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &ModelName {
        &self.name
    }

    /// Waits for `request.timeout`, or ten minutes where it has none.
    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        let body = encode(request, &self.endpoint.model, self.dialect).to_string();
        let url = self.endpoint.url("chat/completions");
        let deadline = request.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let answer = self.transport.post(&self.endpoint, url, body, deadline).await?;
        decode(&answer, &self.endpoint, request)
    }
}
