//! A conversation with a model about a plan: each question recorded before it is asked, each answer after.
//!
//! Main type: [`Talk`]. Knows how faults of a provider are tried again; does not know what a right
//! answer is.

use serde_json::json;

use super::{Asking, PlanError};
use crate::event::{Fact, Progress, RecordError, Sink, Usage};
use crate::llm::{
    Choice, Facts, Message, Model, ModelError, ModelErrorKind, Remembered, Reply, Request, ResponseFormat,
};

/// The conversation about one plan, or about one revision of it.
pub(super) struct Talk<'a> {
    model: &'a dyn Model,
    asking: Asking<'a>,
    sink: &'a dyn Sink,
    format: ResponseFormat,
    facts: Facts,
    messages: Vec<Message>,
    known: Remembered,
    /// How many of the messages are in the record.
    recorded: usize,
    /// Whether the provider has refused the response format.
    format_refused: bool,
    pub(super) asks: u32,
    pub(super) usage: Usage,
}

impl<'a> Talk<'a> {
    pub(super) fn new(
        model: &'a dyn Model,
        asking: Asking<'a>,
        sink: &'a dyn Sink,
        messages: Vec<Message>,
        format: ResponseFormat,
        facts: Facts,
    ) -> Self {
        Self {
            model,
            sink,
            format,
            facts,
            messages,
            known: Remembered::new(asking.known),
            asking,
            recorded: 0,
            format_refused: false,
            asks: 0,
            usage: Usage::default(),
        }
    }

    /// Adds the model's answer and what is said to it.
    pub(super) fn reply(&mut self, answer: String, text: String) {
        // Providers refuse a message without text.
        if !answer.trim().is_empty() {
            self.messages.push(Message::Assistant { text: answer, calls: Vec::new() });
        }
        self.messages.push(Message::User { text });
    }

    /// Asks until the provider answers, as often as faults of a provider are tried again.
    pub(super) async fn ask(&mut self) -> Result<Reply, PlanError> {
        self.asks += 1;
        let mut attempt = 1;
        loop {
            let error = match self.ask_once().await? {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            match error.kind {
                ModelErrorKind::FormatRefused if !self.format_refused => self.format_refused = true,
                ModelErrorKind::Transient | ModelErrorKind::Timeout | ModelErrorKind::Protocol => {
                    match self.asking.retry.delay(attempt, error.retry_after, fastrand::f64()) {
                        Some(delay) => tokio::time::sleep(delay).await,
                        None => return Err(error.into()),
                    }
                    attempt += 1;
                }
                ModelErrorKind::Refused
                | ModelErrorKind::FormatRefused
                | ModelErrorKind::ToolsRefused
                | ModelErrorKind::Unable => {
                    return Err(error.into());
                }
            }
        }
    }

    async fn ask_once(&mut self) -> Result<Result<Reply, ModelError>, RecordError> {
        let settings = self.asking.settings;
        let request = Request {
            step: None,
            messages: self.messages.clone(),
            tools: Vec::new(),
            choice: Choice::None,
            format: Some(self.format.clone()).filter(|_| !self.format_refused),
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            seed: settings.seed,
            timeout: settings.timeout,
            facts: self.facts.clone(),
        };
        let new = self.messages[self.recorded..].iter().map(|message| json!(message)).collect();
        self.recorded = self.messages.len();
        let digest = request.digest();
        if let Some(reply) = self.known.answer(&digest) {
            self.usage.add(reply.usage);
            return Ok(Ok(reply));
        }
        let model = settings.name.clone();
        self.sink.record(Fact::ModelAsked { step: None, model, request: digest, new }).await?;
        let hear = |text: &str| {
            self.sink.progress(Progress::ModelText { step: None, text: text.to_owned() });
        };
        let answer = self.model.ask_aloud(&request, &hear).await;
        if let Ok(reply) = &answer {
            self.usage.add(reply.usage);
            let answer = reply.record();
            self.sink.note(Fact::ModelAnswered { step: None, answer, usage: reply.usage });
        }
        Ok(answer)
    }
}
