//! A model behind a server: a wire format, an address, and the transport between.
//!
//! Main type: [`Remote`]. Answers are asked for piece by piece where the server does that, and as a
//! whole where not; the reply is the same. Nothing half-received becomes one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::frames::{Frame, Frames};
use super::http::{Deadline, Incoming};
use super::refusal::broken_off;
use super::{
    Answer, DEFAULT_TIMEOUT, Endpoint, Framing, Hear, IDLE_TIMEOUT, Model, ModelError, ModelErrorKind, Reply,
    Request, Taken, Transport, Way, Wire,
};
use crate::id::ModelName;

/// How long the end of a body may take after the end of the answer in it.
const LINGER: Duration = Duration::from_millis(50);

/// A model behind a server.
pub struct Remote {
    name: ModelName,
    endpoint: Endpoint,
    transport: Transport,
    wire: Box<dyn Wire>,
    idle: Duration,
    /// Whether answers are asked for piece by piece; no more once the server has refused to.
    streams: AtomicBool,
    /// Whether the server takes a wish for the count of tokens with it.
    counts: AtomicBool,
}

impl Remote {
    /// A model at an address. Opens no connection yet; an error means the key or the address cannot be
    /// sent, or TLS cannot be set up.
    pub fn new(name: ModelName, endpoint: Endpoint, wire: impl Wire + 'static) -> Result<Self, ModelError> {
        let transport = Transport::new(&endpoint)?;
        Ok(Self {
            name,
            endpoint,
            transport,
            wire: Box::new(wire),
            idle: IDLE_TIMEOUT,
            streams: AtomicBool::new(true),
            counts: AtomicBool::new(true),
        })
    }

    /// The same, asked piece by piece or not.
    #[must_use]
    pub fn streaming(self, streams: bool) -> Self {
        Self { streams: AtomicBool::new(streams), ..self }
    }

    /// The same with another longest silence in the middle of a stream.
    #[must_use]
    pub fn idle(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    fn way(&self) -> Way {
        match self.streams.load(Ordering::Relaxed) {
            true => Way::Streamed { usage: self.counts.load(Ordering::Relaxed) },
            false => Way::Whole,
        }
    }

    /// Whether a refusal is only about the way of asking; it is not asked in that way again.
    fn gives_way(&self, refusal: &Answer, way: Way) -> bool {
        let Way::Streamed { usage } = way else { return false };
        if !matches!(refusal.status, 400 | 404 | 405 | 415 | 422 | 501) {
            return false;
        }
        let said = String::from_utf8_lossy(&refusal.body).to_lowercase();
        if usage && (said.contains("stream_options") || said.contains("include_usage")) {
            self.counts.store(false, Ordering::Relaxed);
            return true;
        }
        let words = said.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let is_about = words.into_iter().any(|word| matches!(word, "stream" | "streaming" | "streamed"));
        if is_about {
            self.streams.store(false, Ordering::Relaxed);
        }
        is_about
    }

    /// Reads an answer that was asked for piece by piece; it may have come as a whole.
    async fn read(
        &self,
        mut incoming: Incoming<'_>,
        request: &Request,
        hear: Hear<'_>,
    ) -> Result<Reply, ModelError> {
        let framing = self.wire.framing();
        let mut start = Vec::new();
        while !tells_its_form(&start) {
            match incoming.chunk(Some(self.idle)).await? {
                Some(chunk) => start.extend_from_slice(&chunk),
                None => break,
            }
            // Space before the answer means nothing, however much of it there is.
            if start.trim_ascii().is_empty() {
                start.clear();
            }
        }
        let content_type = incoming.head().content_type.clone().unwrap_or_default().to_ascii_lowercase();
        if !is_stream(framing, &start, &content_type) {
            let answer = incoming.whole(start).await?;
            return self.wire.decode(&answer, &self.endpoint, request);
        }
        let mut frames = Frames::new(framing);
        let mut assembly = self.wire.assembly();
        let mut chunk = Some(start);
        'stream: loop {
            let taken = match &chunk {
                Some(bytes) => frames.push(bytes),
                None => frames.finish(),
            };
            taken.map_err(|_| self.strange("sent a piece of a stream that is not UTF-8"))?;
            while let Some(frame) = frames.next() {
                let (text, ended) = match assembly.take(self.piece(frame)?) {
                    Taken::Text(text) => (text, false),
                    Taken::End(text) => (text, true),
                    Taken::Fault(body) => return Err(broken_off(&body, &self.endpoint, request)),
                };
                if !text.is_empty() {
                    hear(&text);
                    // Many pieces may come at once: whoever listens gets to show each.
                    tokio::task::yield_now().await;
                }
                if ended {
                    // Read to its end, a connection can be used again; a server that keeps it open is
                    // not waited for.
                    let _ = incoming.chunk(Some(LINGER)).await;
                    break 'stream;
                }
            }
            if chunk.is_none() {
                break;
            }
            chunk = incoming.chunk(Some(self.idle)).await?;
        }
        let Some(body) = assembly.body() else {
            let what = "ended its stream in the middle of its answer; if it does so again, WF_STREAM=0 asks \
                        for answers in one piece";
            return Err(self.endpoint.fault(ModelErrorKind::Transient, what));
        };
        let answer = Answer { body: body.to_string().into_bytes(), ..incoming.head().clone() };
        self.wire.decode(&answer, &self.endpoint, request)
    }

    fn piece(&self, frame: Frame) -> Result<Value, ModelError> {
        let data = frame.data.trim();
        // The one piece that is no JSON: OpenAI's end.
        if data.is_empty() || data == "[DONE]" {
            return Ok(data.into());
        }
        let piece: Value = serde_json::from_str(data).map_err(|error| {
            let start = self.endpoint.quote(&data.chars().take(80).collect::<String>());
            self.strange(&format!("sent a piece of a stream that is not JSON ({error}): {start}"))
        })?;
        let named = frame.event == "error" && piece.get("error").is_none_or(Value::is_null);
        Ok(if named { json!({"error": piece}) } else { piece })
    }

    fn strange(&self, what: &str) -> ModelError {
        let message = format!(
            "{what}; WF_STREAM=0 asks for answers in one piece, and {}",
            self.endpoint.address_setting()
        );
        self.endpoint.fault(ModelErrorKind::Protocol, message)
    }
}

#[async_trait]
impl Model for Remote {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        self.ask_aloud(request, &|_| {}).await
    }

    /// Waits for `request.timeout`, or ten minutes where it has none. A server that refuses to stream
    /// is asked once more for the whole: that is the same question, put in another way.
    async fn ask_aloud(&self, request: &Request, hear: Hear<'_>) -> Result<Reply, ModelError> {
        let deadline = Deadline::within(request.timeout.unwrap_or(DEFAULT_TIMEOUT));
        loop {
            let way = self.way();
            let body = self.wire.encode(request, &self.endpoint.model, way).to_string();
            let url = self.endpoint.url(self.wire.path());
            let incoming = self.transport.send(&self.endpoint, url, body, deadline).await?;
            let is_success = (200..300).contains(&incoming.head().status);
            if is_success && way != Way::Whole {
                return self.read(incoming, request, hear).await;
            }
            let answer = incoming.whole(Vec::new()).await?;
            if is_success || !self.gives_way(&answer, way) {
                return self.wire.decode(&answer, &self.endpoint, request);
            }
        }
    }
}

/// Whether enough of a body has come to know what it is.
fn tells_its_form(start: &[u8]) -> bool {
    let start = beginning(start);
    match start.first() {
        None => false,
        Some(b'{' | b'[' | b'<' | b':') => true,
        // Longer than the name of any field.
        Some(_) => start.len() >= 6 || start.contains(&b'\n'),
    }
}

/// Whether a body is a stream, whatever its head says: some servers ignore the wish for one, and some
/// name the wrong type.
fn is_stream(framing: Framing, start: &[u8], content_type: &str) -> bool {
    let start = beginning(start);
    match (framing, start.first()) {
        (_, None) => false,
        (Framing::Lines, Some(first)) => *first == b'{',
        (Framing::Events, Some(b'{' | b'[' | b'<')) => false,
        (Framing::Events, Some(_)) => {
            let fields: [&[u8]; 6] = [b"data:", b"event:", b"error:", b"id:", b"retry:", b":"];
            content_type.starts_with("text/event-stream")
                || fields.iter().any(|field| start.starts_with(field))
        }
    }
}

fn beginning(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start()
}
