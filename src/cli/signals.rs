//! Driving a future on this thread while the signals that ask the process to end are listened to.
//!
//! Main functions: [`block_on`], [`watch`] and [`until_signal`]. Knows no run.

use std::future::{Future, poll_fn};
use std::task::Poll;

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
struct Signals(Vec<(unix::Signal, Signal)>);

impl Signals {
    /// From now on they are waited for, and end nothing by themselves.
    fn new() -> Self {
        let mut all =
            vec![(SignalKind::interrupt(), Signal::Interrupt), (SignalKind::terminate(), Signal::Terminate)];
        // `nohup` means that the end of the terminal is not to be the end of the run.
        if !is_ignored(SignalKind::hangup()) {
            all.push((SignalKind::hangup(), Signal::Hangup));
        }
        // Without a handler the system ends the process, which is what was asked for.
        Self(all.into_iter().filter_map(|(kind, signal)| Some((unix::signal(kind).ok()?, signal))).collect())
    }

    async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (handler, signal) in &mut self.0 {
                if handler.poll_recv(context).is_ready() {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Whether this process was started with a signal ignored; only Linux tells.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or_default();
    ignored & (1 << (kind.as_raw_value() - 1)) != 0
}

/// The future's value, or the signal that came first.
pub async fn until_signal<T>(future: impl Future<Output = T>) -> Result<T, Signal> {
    let mut signals = Signals::new();
    tokio::select! {
        value = future => Ok(value),
        signal = signals.next() => Err(signal),
    }
}
