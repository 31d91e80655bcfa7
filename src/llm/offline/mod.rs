//! The embedded default: rules instead of a model, so that everything runs without key and network.
//!
//! Main type: [`Offline`]. It plans arithmetic, fills in arguments from what has their name, and writes
//! digests computed from results. It answers from a request's facts, never from its prompts, and the
//! same facts always give the same answer. What it cannot do it says in one sentence.

mod arithmetic;
mod expression;

use async_trait::async_trait;

use super::{Call, Choice, Facts, Finish, Model, ModelError, Reply, Request};
use crate::event::Usage;
use crate::id::ModelName;

/// The model without a model.
#[derive(Clone, Debug)]
pub struct Offline {
    name: ModelName,
}

impl Offline {
    /// The model of the name `offline`.
    pub fn new() -> Self {
        Self { name: ModelName::new("offline") }
    }
}

impl Default for Offline {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Model for Offline {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        Ok(answer(request))
    }
}

fn answer(request: &Request) -> Reply {
    match &request.facts {
        Facts::Plan { task, tools } => text(arithmetic::plan(task, tools).unwrap_or_else(|reason| {
            format!(
                "The offline model only plans arithmetic, and this task is not one plain expression ({reason}); \
                 name a language model with `--model` to plan anything else."
            )
        })),
        _ => text(String::new()),
    }
}

fn text(text: String) -> Reply {
    Reply { text, calls: Vec::new(), finish: Finish::Stop, usage: Usage::default() }
}
