//! A model that answers from a list, in order, and keeps what it was asked.
//!
//! Main type: [`Scripted`], for tests and examples. It reads no request: whoever writes the list knows
//! what will be asked.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::{Model, ModelError, ModelErrorKind, Reply, Request};
use crate::id::ModelName;

/// Answers each request with the next reply of its list. The last one does not repeat.
pub struct Scripted {
    name: ModelName,
    state: Mutex<State>,
}

struct State {
    replies: VecDeque<Result<Reply, ModelError>>,
    asked: Vec<Request>,
}

impl Scripted {
    /// A model named `scripted` with these answers.
    pub fn new(replies: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        let state = State { replies: replies.into_iter().collect(), asked: Vec::new() };
        Self { name: ModelName::new("scripted"), state: Mutex::new(state) }
    }

    /// Every request so far, in the order they came; also those the script had no answer for.
    pub fn asked(&self) -> Vec<Request> {
        self.state().asked.clone()
    }

    /// How many answers were not asked for yet.
    pub fn remaining(&self) -> usize {
        self.state().replies.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere cannot leave a list half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        let mut state = self.state();
        state.asked.push(request.clone());
        let asked = state.asked.len();
        state.replies.pop_front().unwrap_or_else(|| {
            let message = format!("the script is over: there is no answer for request {asked}");
            Err(ModelError::new(ModelErrorKind::Unable, message))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Choice, Facts, Message};

    fn request(text: &str) -> Request {
        Request {
            step: None,
            messages: vec![Message::User { text: text.to_owned() }],
            tools: Vec::new(),
            choice: Choice::None,
            format: None,
            temperature: None,
            max_tokens: None,
            seed: None,
            timeout: None,
            facts: Facts::Plan { task: text.to_owned(), tools: Vec::new() },
        }
    }

    #[tokio::test]
    async fn answers_in_order_and_then_says_it_is_over() {
        let fault = ModelError::new(ModelErrorKind::Transient, "busy");
        let model = Scripted::new([Ok(Reply::from_text("one")), Err(fault.clone())]);
        assert_eq!(model.ask(&request("a")).await, Ok(Reply::from_text("one")));
        assert_eq!(model.remaining(), 1);
        assert_eq!(model.ask(&request("b")).await, Err(fault));
        let over = model.ask(&request("c")).await.unwrap_err();
        assert_eq!(over.kind, ModelErrorKind::Unable);
        assert!(over.message.contains("the script is over"), "{over}");
        assert_eq!(model.asked(), [request("a"), request("b"), request("c")]);
    }
}
