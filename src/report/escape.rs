//! Makes text from outside safe to show: nothing a tool or a model wrote reaches a terminal as a command.
//!
//! Main function: [`escape`]. Control characters, terminal escapes, bidirectional controls and invisible
//! marks become visible (`\x1b`, `\u{202e}`). Knows nothing of where the text goes.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text on one line, with everything that a terminal would act on made visible.
///
/// Line ends become `\n`, tabs `\t`, a NUL `\x00`, an escape `\x1b`. Text that is harmless comes back as
/// it is.
pub fn escape(text: &str) -> Cow<'_, str> {
    rewrite(text, |_| false)
}

/// The same, but lines stay lines and tabs stay tabs.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    rewrite(text, |character| matches!(character, '\n' | '\t'))
}

/// Writes one character so that it can be seen.
pub fn push_escaped(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if !is_active(character) => out.push(character),
        _ if (character as u32) < 0x100 => {
            let _ = write!(out, "\\x{:02x}", character as u32);
        }
        _ => {
            let _ = write!(out, "\\u{{{:x}}}", character as u32);
        }
    }
}

fn rewrite(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(|character| is_active(character) && !keep(character)) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for character in text[first..].chars() {
        if keep(character) {
            out.push(character);
        } else {
            push_escaped(&mut out, character);
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal does something else with it than show it, or shows nothing where something is.
fn is_active(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_made_visible() {
        let table = [
            ("plain text, ñ 日本 ✅", "plain text, ñ 日本 ✅"),
            ("\u{1b}[31mred\u{1b}[0m", "\\x1b[31mred\\x1b[0m"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\0\u{7f}\u{9b}2J", "\\x00\\x7f\\x9b2J"),
            ("abc\u{202e}cba\u{2066}", "abc\\u{202e}cba\\u{2066}"),
            ("bad \u{fffd} text", "bad \u{fffd} text"),
            ("family 👩\u{200d}👧", "family 👩\u{200d}👧"),
        ];
        for (text, shown) in table {
            assert_eq!(escape(text), shown);
        }
        assert_eq!(escape_lines("a\n\tb\r\u{7}"), "a\n\tb\\r\\x07");
    }

    proptest! {
        #[test]
        fn nothing_active_is_left(text in any::<String>()) {
            prop_assert!(!escape(&text).chars().any(is_active));
            prop_assert!(!escape_lines(&text).chars().any(|c| is_active(c) && c != '\n' && c != '\t'));
        }
    }
}
