//! The wish to stop a run, from outside: a signal.
//!
//! Main type: [`Stop`], shared by who wishes and who obeys.

use std::sync::Arc;

use tokio::sync::watch;

/// What asked for the stop; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal was closed.
    Hangup,
}

impl Signal {
    /// The name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
        }
    }
}

/// A stop that may be requested once; clones share it.
#[derive(Clone, Debug)]
pub struct Stop {
    sender: Arc<watch::Sender<Option<Signal>>>,
}

impl Default for Stop {
    fn default() -> Self {
        Self { sender: Arc::new(watch::Sender::new(None)) }
    }
}

impl Stop {
    /// Asks the run to stop; the first request counts.
    pub fn request(&self, signal: Signal) {
        self.sender.send_if_modified(|wish| {
            let first = wish.is_none();
            *wish = wish.or(Some(signal));
            first
        });
    }

    /// The request, if there was one.
    pub fn is_requested(&self) -> Option<Signal> {
        *self.sender.borrow()
    }

    /// Waits for a request; for ever, if none comes.
    pub async fn requested(&self) -> Signal {
        let mut receiver = self.sender.subscribe();
        match receiver.wait_for(Option::is_some).await.map(|wish| *wish) {
            Ok(Some(signal)) => signal,
            _ => std::future::pending().await,
        }
    }
}
