//! Durations as files write them: `500ms`, `2s`, `1.5s`, `5m`, `1h`.
//!
//! Main function: [`parse`]. Knows no key and no place.

use std::time::Duration;

/// The longest duration there may be: a year.
const MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// The pattern of durations, for JSON Schema.
pub const PATTERN: &str = r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)$";

/// Why a text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A number without a unit.
    NoUnit,
    /// Longer than a year.
    TooLong,
    /// Anything else.
    Shape,
}

/// The duration of a text: a number, whole or with a decimal point, and a unit right behind it.
pub fn parse(text: &str) -> Result<Duration, Fault> {
    let unit_at =
        text.find(|character: char| !(character.is_ascii_digit() || character == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let (whole, part) = number.split_once('.').map_or((number, None), |(whole, part)| (whole, Some(part)));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || part.is_some_and(|part| !digits(part)) {
        return Err(Fault::Shape);
    }
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "" => return Err(Fault::NoUnit),
        _ => return Err(Fault::Shape),
    };
    let seconds = number.parse::<f64>().map_err(|_| Fault::Shape)? * scale;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration <= MAX => Ok(duration),
        _ => Err(Fault::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_number_and_a_unit() {
        for (text, millis) in [
            ("500ms", 500),
            ("2s", 2000),
            ("1.5s", 1500),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("0s", 0),
            ("100ms", 100),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", "s", "soon", "2 s", "-1s", ".5s", "1.s", "1.2.3s", "2S", "1m30s", "1d", "١s", "+1s", "1e3s"]
        {
            assert_eq!(parse(text), Err(Fault::Shape), "{text}");
        }
        assert_eq!(parse("30"), Err(Fault::NoUnit));
        assert_eq!(parse("9000h"), Err(Fault::TooLong));
        assert_eq!(parse(&format!("{}s", "9".repeat(400))), Err(Fault::TooLong));
    }
}
