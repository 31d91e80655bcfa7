//! The one place events are numbered: checked against the state, stored, then shown.
//!
//! Main type: [`Recorder`]. All events of one turn of the loop are one commit. Knows no step and no
//! model.

use super::outbox::Outbox;
use crate::event::{Event, Fact, RecordError, now};
use crate::journal::Journal;
use crate::run::{Observer, RunState};

/// Takes facts in, gives events out.
pub(super) struct Recorder<'a> {
    state: RunState,
    journal: &'a mut dyn Journal,
    observer: &'a mut dyn Observer,
    /// In the state, not yet stored.
    pending: Vec<Event>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(journal: &'a mut dyn Journal, observer: &'a mut dyn Observer) -> Self {
        Self { state: RunState::default(), journal, observer, pending: Vec::new() }
    }

    /// Goes on from a state that the record has led to.
    pub(super) fn take_up(&mut self, state: RunState) {
        self.state = state;
    }

    /// The state with everything that was pushed. Nothing may be done on its strength before
    /// [`Self::commit`].
    pub(super) fn state(&self) -> &RunState {
        &self.state
    }

    /// The state, at the end.
    pub(super) fn into_state(self) -> RunState {
        self.state
    }

    /// Adds a fact to the turn.
    ///
    /// # Panics
    /// If it cannot follow what is known: that is a bug, and the record must not hold it.
    pub(super) fn push(&mut self, fact: Fact) {
        let event = Event { seq: self.state.last_seq + 1, at: now(), fact };
        if let Err(impossible) = self.state.apply(&event) {
            panic!("bug: {impossible}");
        }
        self.pending.push(event);
    }

    /// Adds what the hands reported.
    pub(super) fn absorb(&mut self, outbox: &Outbox) {
        for fact in outbox.take_facts() {
            self.push(fact);
        }
    }

    /// Stores the turn, shows it, and lets those go on who waited for it. Tells whether any did.
    pub(super) fn commit(&mut self, outbox: &Outbox) -> Result<bool, RecordError> {
        self.absorb(outbox);
        let waiters = outbox.take_waiters();
        if !self.pending.is_empty()
            && let Err(error) = self.journal.append(&self.pending)
        {
            for waiter in waiters {
                // A hand that is gone needs no answer.
                let _ = waiter.send(Err(error.clone()));
            }
            return Err(error);
        }
        // What passed, passed before the turn's events: a step's output before its end.
        for progress in outbox.take_progress() {
            self.observer.progress(&progress);
        }
        for event in self.pending.drain(..) {
            self.observer.event(&event, &self.state);
        }
        let waited = !waiters.is_empty();
        for waiter in waiters {
            let _ = waiter.send(Ok(()));
        }
        Ok(waited)
    }
}
