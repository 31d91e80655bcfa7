//! Where the hands put what they report, until the loop has recorded it.
//!
//! Main type: [`Outbox`], the [`Sink`] of a run. Knows no journal: it only holds facts in order and
//! wakes those who wait for them to be stored.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::{Notify, oneshot};

use crate::event::{Fact, Progress, RecordError, Sink};

type Waiter = oneshot::Sender<Result<(), RecordError>>;

/// Facts and progress on their way to the recorder.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    held: Mutex<Held>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Held {
    facts: Vec<Fact>,
    waiters: Vec<Waiter>,
    progress: Vec<Progress>,
}

impl Outbox {
    /// Everything that was put in since the last time, in order.
    pub(super) fn take_facts(&self) -> Vec<Fact> {
        std::mem::take(&mut self.held().facts)
    }

    /// Those who wait for facts to be stored.
    pub(super) fn take_waiters(&self) -> Vec<Waiter> {
        std::mem::take(&mut self.held().waiters)
    }

    /// What is to be shown and not stored.
    pub(super) fn take_progress(&self) -> Vec<Progress> {
        std::mem::take(&mut self.held().progress)
    }

    /// Waits until something is put in.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Sink for Outbox {
    async fn record(&self, fact: Fact) -> Result<(), RecordError> {
        let (waiter, stored) = oneshot::channel();
        {
            let mut held = self.held();
            held.facts.push(fact);
            held.waiters.push(waiter);
        }
        self.filled.notify_one();
        stored.await.unwrap_or_else(|_| Err(RecordError("the run has ended".to_owned())))
    }

    fn note(&self, fact: Fact) {
        self.held().facts.push(fact);
        self.filled.notify_one();
    }

    fn progress(&self, progress: Progress) {
        self.held().progress.push(progress);
        self.filled.notify_one();
    }
}
