//! What a codec gives to the rest: a wire format as pure functions.
//!
//! Main types: [`Wire`] and [`Assembly`], which puts the pieces of a stream together to the body the
//! server would have sent at once: both are read by the same function, so both give the same reply.

use serde_json::Value;

use super::{Answer, Endpoint, ModelError, Reply, Request};

/// A wire format.
pub trait Wire: Send + Sync {
    /// Where below the base address it is asked, as `chat/completions`.
    fn path(&self) -> &'static str;

    /// How its streams are cut into pieces.
    fn framing(&self) -> Framing;

    /// The body to send. The same request gives the same bytes, and one that goes on with a
    /// conversation begins with the bytes of the one before, so that prompt caches hit.
    fn encode(&self, request: &Request, model: &str, way: Way) -> Value;

    /// Reads a whole answer. An empty reply is a reply; an error means that there is none.
    fn decode(&self, answer: &Answer, endpoint: &Endpoint, request: &Request) -> Result<Reply, ModelError>;

    /// Something that puts the pieces of a stream together.
    fn assembly(&self) -> Box<dyn Assembly>;
}

/// How pieces of a stream are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// A JSON value a line.
    Lines,
}

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// All at once.
    Whole,
    /// Piece by piece.
    Streamed {
        /// Whether the count of tokens is asked for, where that is not a matter of course.
        usage: bool,
    },
}

/// The pieces of one answer so far.
pub trait Assembly: Send {
    /// Takes in a piece, as JSON.
    fn take(&mut self, piece: Value) -> Taken;

    /// The body of the whole answer; nothing if its end has not come.
    fn body(self: Box<Self>) -> Option<Value>;
}

/// What a piece was.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// This much of the answer's text; empty for other parts of it.
    Text(String),
    /// The end of the answer, with the last of its text: what follows is not read.
    End(String),
    /// A fault that the server reports in place of the rest: the body that says so.
    Fault(Value),
}
