//! Ollama's own chat: a pure codec.
//!
//! Main type: [`Chat`]. [`encode`] and [`decode`] know the wire format and no network. There is no way
//! to make a model call a tool; what is asked instead is told in `encode.rs`.

mod assembly;
mod decode;
mod encode;

use serde_json::Value;

pub use decode::decode;
pub use encode::encode;

use super::{Answer, Assembly, Endpoint, Framing, ModelError, Reply, Request, Way, Wire};
use assembly::Lines;

/// The wire format.
#[derive(Clone, Copy, Debug)]
pub struct Chat {
    /// The length of the context to ask for, in tokens; the server's own where it is missing.
    pub context: Option<u64>,
}

impl Wire for Chat {
    fn path(&self) -> &'static str {
        "api/chat"
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn encode(&self, request: &Request, model: &str, way: Way) -> Value {
        encode(request, model, self.context, way)
    }

    fn decode(&self, answer: &Answer, endpoint: &Endpoint, request: &Request) -> Result<Reply, ModelError> {
        decode(answer, endpoint, request)
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(Lines::default())
    }
}
