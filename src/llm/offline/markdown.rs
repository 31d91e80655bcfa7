//! Text from anywhere, made safe to stand in Markdown.
//!
//! Main functions: [`inline`] and [`show`]. Every character that would be markup is escaped, control
//! characters are gone, and length is bounded. Knows no table and no result.

use serde_json::Value;

/// Text in one line of at most `most` characters.
pub(super) fn inline(text: &str, most: usize) -> String {
    let mut words = String::new();
    let mut blank = true;
    let mut left = most;
    for character in text.chars() {
        let space = character.is_whitespace();
        if space && blank || !space && is_invisible(character) {
            continue;
        }
        if left == 0 {
            words.push('\u{2026}');
            break;
        }
        left -= 1;
        blank = space;
        words.push(if space { ' ' } else { character });
    }
    escape(words.trim_end())
}

/// A value in one line: text as it is, whole numbers without a fraction, the rest as JSON.
pub(super) fn show(value: &Value, most: usize) -> String {
    match value {
        Value::String(text) => inline(text, most),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        },
        Value::Array(items)
            if !items.is_empty() && items.iter().all(|item| !item.is_array() && !item.is_object()) =>
        {
            // More items than characters are never shown.
            let shown: Vec<String> = items.iter().take(most).map(|item| show(item, most)).collect();
            let text = shown.join(", ");
            if items.len() > most || text.chars().count() > most {
                inline(&value.to_string(), most)
            } else {
                text
            }
        }
        other => inline(&other.to_string(), most),
    }
}

fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let inside_word =
            before.is_alphanumeric() && characters.peek().is_some_and(|next| next.is_alphanumeric());
        let markup = match character {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' => true,
            '_' => !inside_word,
            '#' => before == ' ',
            _ => false,
        };
        if markup {
            escaped.push('\\');
        }
        escaped.push(character);
        before = character;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{inline, show};

    #[test]
    fn markup_is_escaped_and_text_is_one_line() {
        for (text, want) in [
            ("plain text", "plain text"),
            ("a|b\nc", "a\\|b c"),
            ("# head *bold* _soft_ in_word", "\\# head \\*bold\\* \\_soft\\_ in_word"),
            ("<b>[x](y)</b>", "\\<b\\>\\[x\\](y)\\</b\\>"),
            ("  red \u{1b}[31m\u{0}\u{202e} end ", "red \\[31m end"),
            ("1234567890abc", "1234567890\u{2026}"),
        ] {
            assert_eq!(inline(text, if text.starts_with("123") { 10 } else { 100 }), want);
        }
    }

    #[test]
    fn values_are_shown_plainly() {
        for (value, want) in [
            (json!(142_000), "142000"),
            (json!(142_000.0), "142000"),
            (json!(0.5), "0.5"),
            (json!("18%"), "18%"),
            (json!(null), "null"),
            (json!(["a", 1]), "a, 1"),
            (json!({"a": [1]}), "{\"a\":\\[1\\]}"),
            (Value::Array(vec![json!(1); 1000]), "\\[1,1,1,1,1,1,1,1,1,1,1,1,1,1,\u{2026}"),
        ] {
            assert_eq!(show(&value, 29), want);
        }
    }
}
