//! OpenAI Chat Completions, which most servers understand: a pure codec.
//!
//! Main type: [`ChatCompletions`]. [`encode`] and [`decode`] know the wire format and no network. What
//! servers disagree on is data: [`Dialect`].

mod assembly;
mod decode;
mod encode;

use serde_json::Value;

pub use decode::decode;
pub use encode::encode;

use super::providers::Codec;
use super::{Answer, Assembly, Endpoint, Framing, ModelError, Reply, Request, Way, Wire};
use assembly::Chunks;

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
    /// Whether a stream tells how many tokens it took only if asked to. Mistral always does, and refuses
    /// the wish.
    pub stream_options: bool,
}

impl Dialect {
    /// OpenAI itself, and Azure.
    pub const OPENAI: Self = Self { max_tokens: "max_completion_tokens", ..Self::COMPATIBLE };
    /// Mistral's own service.
    pub const MISTRAL: Self =
        Self { seed: "random_seed", short_ids: true, stream_options: false, ..Self::COMPATIBLE };
    /// Everyone else.
    pub const COMPATIBLE: Self =
        Self { max_tokens: "max_tokens", seed: "seed", short_ids: false, stream_options: true };

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

/// The wire format, in a dialect.
#[derive(Clone, Copy, Debug)]
pub struct ChatCompletions {
    pub dialect: Dialect,
}

impl Wire for ChatCompletions {
    fn path(&self) -> &'static str {
        "chat/completions"
    }

    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn encode(&self, request: &Request, model: &str, way: Way) -> Value {
        encode(request, model, self.dialect, way)
    }

    fn decode(&self, answer: &Answer, endpoint: &Endpoint, request: &Request) -> Result<Reply, ModelError> {
        decode(answer, endpoint, request)
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(Chunks::default())
    }
}
