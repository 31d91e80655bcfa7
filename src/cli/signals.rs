//! Driving a future on this thread while the signals that ask the process to end are listened to.
//!
//! Main functions: [`block_on`], [`watch`] and [`until_signal`]. Knows no run.

use std::future::Future;

use tokio::signal::unix::{self, SignalKind};

use super::Trouble;
use crate::executor::{Signal, Stop};

/// Drives a future to its end on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::unable(format!("cannot start: {error}")))?;
    let done = runtime.block_on(future);
    // A question nobody answered still waits for a line on stdin; nothing else does.
    runtime.shutdown_background();
    Ok(done)
}

/// Hands the first signal on, so that the run ends in good order; a second one is the future's value.
pub async fn watch(stop: Stop) -> Signal {
    let mut signals = Signals::new();
    stop.request(signals.next().await);
    signals.next().await
}

/// The signals that ask this process to end.
struct Signals(Option<(unix::Signal, unix::Signal)>);

impl Signals {
    /// From now on they are waited for, and end nothing by themselves.
    fn new() -> Self {
        let both = (unix::signal(SignalKind::interrupt()), unix::signal(SignalKind::terminate()));
        // Without a handler the system ends the process, which is what was asked for.
        Self(if let (Ok(interrupt), Ok(terminate)) = both { Some((interrupt, terminate)) } else { None })
    }

    async fn next(&mut self) -> Signal {
        let Some((interrupt, terminate)) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => Signal::Interrupt,
            _ = terminate.recv() => Signal::Terminate,
        }
    }
}

/// The future's value, or the signal that came first.
pub async fn until_signal<T>(future: impl Future<Output = T>) -> Result<T, Signal> {
    let mut signals = Signals::new();
    tokio::select! {
        value = future => Ok(value),
        signal = signals.next() => Err(signal),
    }
}
