//! Anthropic Messages: a pure codec.
//!
//! Main type: [`Messages`]. [`encode`] and [`decode`] know the wire format and no network. What Claude
//! models differ in is a table, `limits.rs`.

mod assembly;
mod decode;
mod encode;
mod limits;
mod schema;

use serde_json::Value;

pub use decode::decode;
pub use encode::encode;

use super::{Answer, Assembly, Endpoint, Framing, ModelError, Reply, Request, Way, Wire};
use assembly::Events;

/// The wire format.
#[derive(Clone, Copy, Debug)]
pub struct Messages;

impl Wire for Messages {
    fn path(&self) -> &'static str {
        "v1/messages"
    }

    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn encode(&self, request: &Request, model: &str, way: Way) -> Value {
        encode(request, model, way)
    }

    fn decode(&self, answer: &Answer, endpoint: &Endpoint, request: &Request) -> Result<Reply, ModelError> {
        decode(answer, endpoint, request)
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(Events::default())
    }
}
