//! Answers a record has of an earlier, interrupted part of the same work, given again in their order.
//!
//! Main type: [`Remembered`]. What was paid for is not asked again. Knows no record.

use std::collections::VecDeque;

use super::Reply;
use crate::event::Answered;

/// Answers that are known, the next one first.
#[derive(Clone, Debug, Default)]
pub struct Remembered(VecDeque<Answered>);

impl Remembered {
    /// Answers in the order they were given.
    pub fn new(answers: &[Answered]) -> Self {
        Self(answers.iter().cloned().collect())
    }

    /// The answer to a request with this hash, if it is the next one.
    pub fn answer(&mut self, request: &str) -> Option<Reply> {
        let next = self.0.front().filter(|next| next.request == request)?;
        let reply = Reply::from_record(&next.answer, next.usage)?;
        self.0.pop_front();
        Some(reply)
    }
}
