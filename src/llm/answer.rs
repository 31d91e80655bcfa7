//! An HTTP answer as plain data, so that codecs can be tested without a network.
//!
//! Main type: [`Answer`]. Also reads how long a server asks to wait. Knows no provider's format.

use std::time::{Duration, SystemTime};

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content_type: Option<String>,
    /// Where a redirect points.
    pub location: Option<String>,
    /// How long the server asks to wait, as it said it: unbounded.
    pub retry_after: Option<Duration>,
    /// The body; at most 32 MiB when it comes from the transport.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer from its parts; `header` looks a header up by its lower-case name. `now` is taken from
    /// the server's `date` where it sends one, so that a wrong clock here does not lengthen a wait.
    pub fn new<'h>(
        status: u16,
        header: impl Fn(&str) -> Option<&'h str>,
        now: SystemTime,
        body: Vec<u8>,
    ) -> Self {
        let now = header("date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
        Self {
            status,
            content_type: header("content-type").map(str::to_owned),
            location: header("location").map(str::to_owned),
            retry_after: retry_after(header, now),
            body,
        }
    }
}

/// `retry-after-ms`, else `retry-after` in seconds (a fraction is fine) or as an HTTP date. A date that
/// has passed is no wait; what cannot be read is as if it were not there.
fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    let scaled = |text: &str, scale: f64| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = if plain { text.parse::<f64>().ok()? } else { return None };
        Some(Duration::try_from_secs_f64(number * scale).unwrap_or(Duration::MAX))
    };
    if let Some(wait) = header("retry-after-ms").and_then(|text| scaled(text.trim(), 0.001)) {
        return Some(wait);
    }
    let text = header("retry-after")?.trim();
    scaled(text, 1.0).or_else(|| {
        let until = httpdate::parse_http_date(text).ok()?;
        Some(until.duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(headers: &[(&str, &'static str)]) -> Option<Duration> {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        Answer::new(429, header, now, Vec::new()).retry_after
    }

    #[test]
    fn retry_after_in_every_form() {
        for (text, expected) in [
            ("7", Some(Duration::from_secs(7))),
            (" 1.5 ", Some(Duration::from_millis(1500))),
            ("0", Some(Duration::ZERO)),
            ("999999999999999999999999999", Some(Duration::MAX)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(Duration::from_secs(30))),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(Duration::ZERO)),
            ("-3", None),
            ("NaN", None),
            ("inf", None),
            ("1.2.3", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(wait(&[("retry-after", text)]), expected, "{text:?}");
        }
    }

    #[test]
    fn milliseconds_win_and_the_servers_clock_counts() {
        assert_eq!(
            wait(&[("retry-after", "7"), ("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(wait(&[("retry-after", "7"), ("retry-after-ms", "soon")]), Some(Duration::from_secs(7)));
        let skewed =
            [("date", "Sat, 06 Nov 2094 08:49:37 GMT"), ("retry-after", "Sat, 06 Nov 2094 08:49:47 GMT")];
        assert_eq!(wait(&skewed), Some(Duration::from_secs(10)));
    }
}
