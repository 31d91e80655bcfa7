//! When a failed attempt is tried again: a pure function of the policy and the attempt's number.
//!
//! Main type: [`Policy`]. Waits for nothing itself.

use std::time::Duration;

/// The longest wait a provider or server may ask for; longer ones are cut to it.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(120);

/// How often and after what delays something is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// Before the second attempt; it doubles with each one.
    pub delay: Duration,
    /// The longest delay, before what the other side asks for.
    pub max_delay: Duration,
    /// The longest wait the other side may ask for; longer ones are cut to it.
    pub longest_asked: Duration,
}

impl Policy {
    /// For faults of a model's provider: 3 attempts, from 1 s.
    pub const PROVIDER: Self = Self {
        max_attempts: 3,
        delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(30),
        longest_asked: LONGEST_RETRY_AFTER,
    };

    /// The same without waiting.
    pub fn instant(self) -> Self {
        Self { delay: Duration::ZERO, max_delay: Duration::ZERO, longest_asked: Duration::ZERO, ..self }
    }

    /// The delay after failed attempt number `attempt` (from 1), or `None` if there is none left.
    ///
    /// Exponential with jitter of up to a half, so that many runs do not come back together. What the
    /// other side asks for is a floor, at most [`LONGEST_RETRY_AFTER`]. `jitter` is from 0 to 1.
    pub fn delay(&self, attempt: u32, retry_after: Option<Duration>, jitter: f64) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        let doubled = self.delay.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
        let own = doubled.min(self.max_delay).mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0);
        Some(own.max(retry_after.unwrap_or_default().min(self.longest_asked)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_honour_the_other_side() {
        let policy = Policy {
            max_attempts: 5,
            delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(5),
            ..Policy::PROVIDER
        };
        let seconds = |attempt, after, jitter| {
            policy.delay(attempt, after, jitter).map(|delay: Duration| delay.as_secs_f64())
        };
        assert_eq!(seconds(1, None, 0.0), Some(2.0));
        assert_eq!(seconds(2, None, 0.0), Some(4.0));
        assert_eq!(seconds(3, None, 0.0), Some(5.0));
        assert_eq!(seconds(3, None, 1.0), Some(2.5));
        assert_eq!(seconds(4, Some(Duration::from_secs(9)), 0.0), Some(9.0));
        assert_eq!(seconds(4, Some(Duration::from_secs(86_400)), 0.0), Some(120.0));
        assert_eq!(seconds(5, None, 0.0), None);
        assert_eq!(seconds(u32::MAX, None, 0.0), None);
    }
}
