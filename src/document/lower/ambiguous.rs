//! Text without quotes that others read as something else: the booleans, times and dates of YAML 1.1.
//!
//! One warning each, with the quoted form. The file is accepted as YAML 1.2 reads it. Knows no field.

use super::Lowering;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::node::{Node, ScalarValue, Style};
use crate::document::path::Path;

/// Numbers above are rounded by readers that know only floating point: 2^53.
const EXACT: u64 = 1 << 53;

impl Lowering {
    /// Warns of plain text that is no text to a reader of YAML 1.1 (<https://yaml.org/type/>).
    pub(super) fn ambiguous_text(&mut self, node: &Node, path: &Path<'_>) {
        let plain = node.as_scalar().filter(|it| it.style == Style::Plain && it.value == ScalarValue::String);
        let Some(other) = plain.and_then(|scalar| in_yaml_1_1(&scalar.text)) else { return };
        let text = plain.map(|scalar| scalar.text.to_string()).unwrap_or_default();
        self.ambiguous(
            node,
            path,
            format!("`{text}` is text here, and {other} to readers of YAML 1.1"),
            &text,
        );
    }

    /// Warns of an integer that not every reader can hold.
    pub(super) fn inexact(&mut self, node: &Node, value: i64, path: &Path<'_>) {
        if value.unsigned_abs() > EXACT {
            let message = format!("`{value}` is beyond 2^53, and readers of JSON may round it");
            self.ambiguous(node, path, message, &value.to_string());
        }
    }

    fn ambiguous(&mut self, node: &Node, path: &Path<'_>, message: String, text: &str) {
        let quoted = format!("\"{text}\"");
        let diagnostic = Diagnostic::new(Code::AmbiguousScalar, node.span, message)
            .path(path.to_string())
            .help(format!("quote it: `{quoted}`"));
        self.diagnostics.push(match node.is_inline() {
            true => diagnostic.suggest(node.span, quoted),
            false => diagnostic,
        });
    }
}

/// What a plain text is in YAML 1.1, if it is no text there.
fn in_yaml_1_1(text: &str) -> Option<&'static str> {
    if ["yes", "no", "on", "off"].iter().any(|word| {
        let capital = |text: &str| text[..1].to_uppercase() + &text[1..];
        text == *word || text == capital(word) || text == word.to_uppercase()
    }) {
        return Some("a boolean");
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+')) {
        return None;
    }
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let sixties = |part: &str| digits(part, 2) && part.parse::<u8>().is_ok_and(|value| value < 60);
    let mut parts = text.trim_start_matches(['-', '+']).split(':');
    if parts.next().is_some_and(|first| digits(first, 9)) {
        let rest = parts.collect::<Vec<_>>();
        if !rest.is_empty() && rest.iter().all(|part| sixties(part)) {
            return Some("a number in base 60");
        }
    }
    let day = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let rest = &text[day.len()..];
    let time = rest.is_empty() || rest[1..].starts_with(|first: char| first.is_ascii_digit());
    match day.split('-').collect::<Vec<_>>()[..] {
        [year, month, date]
            if year.len() == 4 && digits(year, 4) && digits(month, 2) && digits(date, 2) && time =>
        {
            Some("a date")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_read_otherwise() {
        for (text, other) in [
            ("on", Some("a boolean")),
            ("No", Some("a boolean")),
            ("OFF", Some("a boolean")),
            ("oN", None),
            ("n", None),
            ("none", None),
            ("12:30", Some("a number in base 60")),
            ("1:02:03", Some("a number in base 60")),
            ("12:75", None),
            ("12:30 sharp", None),
            ("a:30", None),
            ("2026-12-01", Some("a date")),
            ("2026-1-2", Some("a date")),
            ("2026-12-01T10:00:00Z", Some("a date")),
            ("2026-12-01 10:00", Some("a date")),
            ("2026-12-01 is a Tuesday", None),
            ("2026-W48", None),
            ("-", None),
            ("", None),
            ("ü", None),
        ] {
            assert_eq!(in_yaml_1_1(text), other, "{text:?}");
        }
    }
}
