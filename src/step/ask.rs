//! A dialogue with a model: the step's conversation, then the turns that mend a wrong answer.
//!
//! Main type: [`Dialogue`]. Records each question before it is asked and each answer after. Knows how
//! faults of a provider become failures; does not know what a right answer is.

use std::time::Duration;

use serde_json::json;

use super::{Attempt, Question, Trouble};
use crate::event::{Fact, Failure, FailureKind};
use crate::llm::{
    Choice, Facts, Message, ModelError, ModelErrorKind, Remembered, Reply, Request, ResponseFormat,
};

/// How often a wrong answer is sent back to be mended.
pub(super) const REPAIRS: u32 = 2;

/// A conversation under way.
pub(super) struct Dialogue<'a> {
    attempt: &'a Attempt<'a>,
    messages: Vec<Message>,
    facts: Facts,
    known: Remembered,
    /// How many of the messages are in the record, or follow from it.
    recorded: usize,
    /// Whether the provider has refused a response format.
    formats_refused: bool,
}

impl<'a> Dialogue<'a> {
    pub(super) fn new(attempt: &'a Attempt<'a>, question: Question) -> Self {
        let recorded = question.messages.len().saturating_sub(1);
        let Question { messages, facts, known } = question;
        Self { attempt, messages, facts, known, recorded, formats_refused: false }
    }

    /// Adds a turn.
    pub(super) fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Adds the model's answer and what is wrong with it, so that it may try again.
    ///
    /// An answer with calls needs a tool's answer to each: the complaint takes its place.
    pub(super) fn send_back(&mut self, reply: Reply, complaint: &str) {
        let calls = reply.calls.clone();
        self.push(Message::Assistant { text: reply.text, calls: reply.calls });
        if calls.is_empty() {
            self.push(Message::User { text: complaint.to_owned() });
        }
        for call in calls {
            self.push(Message::Tool { call: call.id, name: call.name, text: complaint.to_owned() });
        }
    }

    /// Asks, with what the form of the answer must be.
    pub(super) async fn ask(
        &mut self,
        choice: Choice,
        format: Option<ResponseFormat>,
    ) -> Result<Reply, Trouble> {
        let format = format.filter(|_| !self.formats_refused);
        let formatted = format.is_some();
        match self.ask_once(choice.clone(), format).await? {
            Err(error) if formatted && error.kind == ModelErrorKind::FormatRefused => {
                self.formats_refused = true;
                self.ask_once(choice, None).await?.map_err(|error| failure(&error).into())
            }
            answer => answer.map_err(|error| failure(&error).into()),
        }
    }

    async fn ask_once(
        &mut self,
        choice: Choice,
        format: Option<ResponseFormat>,
    ) -> Result<Result<Reply, ModelError>, Trouble> {
        let Attempt { step, means, sink, .. } = self.attempt;
        let settings = &means.settings;
        let left = self.attempt.left();
        let request = Request {
            step: Some((*step).clone()),
            messages: self.messages.clone(),
            tools: means.tools.to_vec(),
            choice,
            format,
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            seed: settings.seed,
            timeout: settings.timeout.into_iter().chain(left).min(),
            facts: self.facts.clone(),
        };
        let new = self.messages[self.recorded..].iter().map(|message| json!(message)).collect();
        self.recorded = self.messages.len();
        let digest = request.digest();
        if let Some(reply) = self.known.answer(&digest) {
            return Ok(Ok(reply));
        }
        if means.stop.is_cancelled() {
            return Err(Trouble::Stopped);
        }
        sink.record(Fact::ModelAsked {
            step: Some((*step).clone()),
            model: settings.name.clone(),
            request: digest,
            new,
        })
        .await?;
        let answer = tokio::select! {
            biased;
            answer = means.model.ask(&request) => answer,
            // It can be asked again.
            () = means.stop.cancelled() => return Err(Trouble::Stopped),
            () = passed(left) => return Err(self.attempt.out_of_time("the model did not answer").into()),
        };
        if let Ok(reply) = &answer {
            sink.note(Fact::ModelAnswered {
                step: Some((*step).clone()),
                answer: reply.record(),
                usage: reply.usage,
            });
        }
        Ok(answer)
    }
}

impl Attempt<'_> {
    /// The failure of an attempt whose time is over.
    pub(super) fn out_of_time(&self, what: &str) -> Failure {
        let allowed = self.deadline.map(|(_, allowed)| allowed).unwrap_or_default();
        let message = format!("{what} within {}, the step's timeout", seconds(allowed));
        Failure::transient(FailureKind::Timeout, message, None)
    }
}

/// Waits that long; for ever, if the time is not limited.
async fn passed(left: Option<Duration>) {
    match left {
        Some(left) => tokio::time::sleep(left).await,
        None => std::future::pending().await,
    }
}

/// A time in seconds, as short as it can be said exactly to a millisecond.
fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// A provider's fault as a failure of the step.
fn failure(error: &ModelError) -> Failure {
    match error.kind {
        ModelErrorKind::Transient | ModelErrorKind::Timeout => {
            Failure::transient(FailureKind::Provider, error.to_string(), error.retry_after)
        }
        ModelErrorKind::Refused | ModelErrorKind::FormatRefused => {
            Failure::new(FailureKind::Provider, error.to_string())
        }
        // What is not the protocol may be a proxy's passing trouble, so it is tried again.
        ModelErrorKind::Protocol => Failure::transient(FailureKind::Provider, error.to_string(), None),
        ModelErrorKind::Unable => Failure::new(FailureKind::Model, error.to_string()),
    }
}
