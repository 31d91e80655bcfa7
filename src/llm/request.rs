//! What a model is asked and what it answers, in no provider's words.
//!
//! Main types: [`Request`] and [`Reply`]. Plain data; the codecs turn them into wire formats.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::event::Usage;
use crate::id::{StepId, ToolName};
use crate::spec::ToolSpec;

/// One question to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who asks; missing for a call that plans. Not sent.
    pub step: Option<StepId>,
    pub messages: Vec<Message>,
    /// The tools the model is shown, in file order: the same in every request of a run.
    pub tools: Vec<ToolSpec>,
    pub choice: Choice,
    /// The shape the text must have.
    pub format: Option<ResponseFormat>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    pub seed: Option<i64>,
    /// Longest time to wait for the answer.
    pub timeout: Option<std::time::Duration>,
    /// The same question as structure, for a model that does not read prompts. Not sent.
    pub facts: Facts,
}

impl Request {
    /// What each part of a digest is of.
    pub const PARTS: [&str; 5] = [
        "the conversation before it (the system prompt, the task or an earlier result)",
        "the tools the model is shown",
        "the choice among them",
        "the response format",
        "the settings of the model",
    ];

    /// A hash of everything a provider is sent: for each of [`Self::PARTS`] the first 48 bits of its
    /// SHA-256 in hexadecimal, with dots between them.
    pub fn digest(&self) -> String {
        let tools: Vec<Value> =
            self.tools.iter().map(|tool| json!([tool.name, tool.description, tool.parameters])).collect();
        let choice = match &self.choice {
            Choice::None => Value::Null,
            Choice::Tool(name) => json!(name),
        };
        let format = self.format.as_ref().map(|format| &format.schema);
        let sampling = json!([self.temperature, self.max_tokens, self.seed]);
        let parts = [json!(self.messages), json!(tools), choice, json!(format), sampling];
        let hash = |part: &Value| {
            let digest = Sha256::digest(part.to_string().as_bytes());
            digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        parts.iter().map(hash).collect::<Vec<_>>().join(".")
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System { text: String },
    User { text: String },
    Assistant { text: String, calls: Vec<Call> },
    Tool { call: String, name: ToolName, text: String },
}

/// A model's wish to call a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub name: ToolName,
    /// The arguments as the model wrote them: JSON text, perhaps broken.
    pub arguments: String,
}

/// What the model has to do with the tools it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Answer in text.
    None,
    /// Call this one.
    Tool(ToolName),
}

/// A JSON Schema the text of the answer is asked to fit; not strict. The messages say it as well: a
/// provider that cannot keep to this one leaves it out.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseFormat {
    /// A name for the provider: letters, digits, `_`.
    pub name: String,
    pub schema: Value,
}

/// What is asked, as structure.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one a request, and a box would be in the way of every reader")]
pub enum Facts {
    /// Write a plan for the task with these tools.
    Plan { task: String, tools: Vec<ToolSpec> },
    /// Decide how a plan under way goes on: after a step that failed for good, or after one that is done.
    Revision { failed: bool },
    /// Fill in the arguments of a tool.
    Arguments { tool: ToolSpec, inputs: Map<String, Value>, results: Vec<NamedResult> },
    /// Write text: `results` are all earlier ones, `of` the ids an aggregate names.
    Text { task: Option<String>, description: String, results: Vec<NamedResult>, of: Option<Vec<StepId>> },
}

/// The result of an earlier step.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedResult {
    pub step: StepId,
    /// The step's description.
    pub title: String,
    /// The tool that gave it; missing for a model's text.
    pub tool: Option<ToolName>,
    pub value: Value,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text; empty where there is none.
    pub text: String,
    pub calls: Vec<Call>,
    pub finish: Finish,
    pub usage: Usage,
}

impl Reply {
    /// A reply of text alone.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A reply that calls one tool; the arguments are JSON text.
    pub fn from_call(name: ToolName, arguments: impl Into<String>) -> Self {
        let call = Call { id: "call_0".to_owned(), name, arguments: arguments.into() };
        Self { calls: vec![call], ..Self::default() }
    }
}

impl Reply {
    /// The answer as the record of a run keeps it; the usage stands beside it there.
    pub fn record(&self) -> Value {
        json!({"text": self.text, "calls": self.calls, "finish": self.finish})
    }

    /// The answer a record keeps; `None` if it is none.
    pub fn from_record(answer: &Value, usage: Usage) -> Option<Self> {
        let part = |name: &str| answer.get(name).cloned();
        Some(Self {
            text: serde_json::from_value(part("text")?).ok()?,
            calls: serde_json::from_value(part("calls")?).ok()?,
            finish: serde_json::from_value(part("finish")?).ok()?,
            usage,
        })
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said everything, or called a tool.
    #[default]
    Stop,
    /// The answer was cut at the token limit.
    Length,
    /// The provider held it back, or the model declined.
    Refused,
}
