//! A dialogue with a model: the step's conversation, then the turns that mend a wrong answer.
//!
//! Main type: [`Dialogue`]. Records each question before it is asked and each answer after. Knows how
//! faults of a provider become failures; does not know what a right answer is.

use std::time::Duration;

use serde_json::json;

use super::{Attempt, Question, Trouble};
use crate::event::{Fact, Failure, FailureKind, Progress};
use crate::llm::{
    Choice, Facts, Message, ModelError, ModelErrorKind, Remembered, Reply, Request, ResponseFormat, words,
};
use crate::spec::ToolSpec;

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
    /// Whether the provider has refused tools: what was called is told in words then.
    tools_refused: bool,
}

impl<'a> Dialogue<'a> {
    pub(super) fn new(attempt: &'a Attempt<'a>, question: Question) -> Self {
        let recorded = question.messages.len().saturating_sub(1);
        let Question { messages, facts, known } = question;
        Self { attempt, messages, facts, known, recorded, formats_refused: false, tools_refused: false }
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
        loop {
            let (choice, format) = self.possible(&choice, &format);
            let formatted = format.is_some();
            match self.ask_once(choice.clone(), format).await? {
                Err(error) if formatted && error.kind == ModelErrorKind::FormatRefused => {
                    self.formats_refused = true;
                }
                Err(error) if !self.tools_refused && error.kind == ModelErrorKind::ToolsRefused => {
                    self.tools_refused = true;
                    let tool = self.tool(&choice).map(words::arguments_of);
                    self.messages.extend(tool.map(|text| Message::User { text }));
                }
                answer => return answer.map_err(|error| failure(&error).into()),
            }
        }
    }

    /// What is left of a choice and a format once the provider has refused one or the other: arguments
    /// that cannot be asked for as a call are asked for in the form of its schema.
    fn possible(&self, choice: &Choice, format: &Option<ResponseFormat>) -> (Choice, Option<ResponseFormat>) {
        let (choice, format) = match self.tool(choice).filter(|_| self.tools_refused) {
            Some(tool) => {
                let schema = tool.parameters.clone();
                let format = ResponseFormat { name: "arguments".to_owned(), schema };
                (Choice::None, Some(format))
            }
            None => (choice.clone(), format.clone()),
        };
        (choice, format.filter(|_| !self.formats_refused))
    }

    fn tool(&self, choice: &Choice) -> Option<&'a ToolSpec> {
        let Choice::Tool(name) = choice else { return None };
        self.attempt.means.tools.iter().find(|tool| tool.name == *name)
    }

    async fn ask_once(
        &mut self,
        choice: Choice,
        format: Option<ResponseFormat>,
    ) -> Result<Result<Reply, ModelError>, Trouble> {
        let Attempt { step, means, sink, .. } = self.attempt;
        let settings = &means.settings;
        let left = self.attempt.left();
        let (messages, tools) = match self.tools_refused {
            true => (words::without_tools(&self.messages), Vec::new()),
            false => (self.messages.clone(), means.tools.to_vec()),
        };
        let request = Request {
            step: Some((*step).clone()),
            messages,
            tools,
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
        let hear = |text: &str| {
            sink.progress(Progress::ModelText { step: Some((*step).clone()), text: text.to_owned() });
        };
        let answer = tokio::select! {
            biased;
            answer = means.model.ask_aloud(&request, &hear) => answer,
            // It can be asked again.
            () = means.stop.cancelled() => return Err(Trouble::Stopped),
            () = tokio::time::sleep(left.unwrap_or_default()), if left.is_some() => return Err(self.attempt.out_of_time("the model did not answer").into()),
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
        ModelErrorKind::Refused | ModelErrorKind::FormatRefused | ModelErrorKind::ToolsRefused => {
            Failure::new(FailureKind::Provider, error.to_string())
        }
        // What is not the protocol may be a proxy's passing trouble, so it is tried again.
        ModelErrorKind::Protocol => Failure::transient(FailureKind::Provider, error.to_string(), None),
        ModelErrorKind::Unable => Failure::new(FailureKind::Model, error.to_string()),
    }
}
