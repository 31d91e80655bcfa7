//! Hides secrets in what tools give back.
//!
//! Main type: [`Mask`]. Knows the values to hide and the forms they take on their way through other
//! programs (JSON, URLs, base64); does not know where a text comes from.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use crate::template::percent_encode;

/// What stands where a secret stood.
const MASK: &str = "***";

/// Shorter values are not masked: they would hide half of every text.
const SHORTEST: usize = 8;

/// Fewer bytes of a secret than this, at an edge where a text was cut, tell nothing.
const SHORTEST_PART: usize = 4;

/// The values to hide, in every form they are looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Mask {
    /// Longest first, so that a value that holds another one is hidden whole.
    needles: Vec<String>,
}

impl Mask {
    /// A mask of these values; those with fewer than 8 characters are left out.
    pub(super) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut needles = Vec::new();
        for value in values {
            add_forms(value, &mut needles);
            // A key file is printed line by line, and a variable often ends with a newline of its own.
            for line in value.lines().map(str::trim).filter(|line| *line != value) {
                add_forms(line, &mut needles);
            }
        }
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { needles }
    }

    /// The text with every secret replaced by `***`.
    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for needle in &self.needles {
            if text.contains(needle.as_str()) {
                text = Cow::Owned(text.replace(needle.as_str(), MASK));
            }
        }
        text
    }

    /// The same for a text that is no longer needed as it was.
    pub(super) fn owned(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked,
        }
    }

    /// The value with every secret replaced, in keys as well; a number that is a secret becomes text.
    pub(super) fn value(&self, value: Value) -> Value {
        if self.needles.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.owned(text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(entries) => {
                let masked = entries.into_iter().map(|(key, value)| (self.owned(key), self.value(value)));
                Value::Object(masked.collect::<Map<_, _>>())
            }
            Value::Number(number) => match self.text(&number.to_string()) {
                Cow::Borrowed(_) => Value::Number(number),
                Cow::Owned(masked) => Value::String(masked),
            },
            other => other,
        }
    }

    /// A text whose end was cut off: the beginning of a secret at its end is hidden too.
    pub(super) fn cut_end(&self, text: String) -> String {
        let text = self.owned(text);
        let part = self.needles.iter().filter_map(|needle| {
            let ends = needle.char_indices().map(|(at, _)| at).rev();
            ends.take_while(|at| *at >= SHORTEST_PART).find(|at| text.ends_with(&needle[..*at]))
        });
        match part.max() {
            Some(length) => format!("{}{MASK}", &text[..text.len() - length]),
            None => text,
        }
    }

    /// A text whose beginning was cut off: the end of a secret at its beginning is hidden too.
    pub(super) fn cut_start(&self, text: String) -> String {
        let text = self.owned(text);
        let part = self.needles.iter().filter_map(|needle| {
            let starts = needle.char_indices().map(|(at, _)| at).skip(1);
            let part = starts.map(|at| &needle[at..]).find(|part| text.starts_with(part));
            part.map(str::len).filter(|length| *length >= SHORTEST_PART)
        });
        match part.max() {
            Some(length) => format!("{MASK}{}", &text[length..]),
            None => text,
        }
    }
}

fn add_forms(value: &str, needles: &mut Vec<String>) {
    if value.chars().count() < SHORTEST {
        return;
    }
    needles.push(value.to_owned());
    let json = Value::from(value).to_string();
    needles.push(json[1..json.len() - 1].to_owned());
    needles.push(percent_encode(value));
    needles.push(percent_encode(value).replace("%20", "+"));
    // Inside a longer text (`user:secret`) base64 depends on where the value begins: of each of the
    // three alignments, the characters that depend on the value alone are looked for.
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        for before in 0..3 {
            let mut bytes = vec![0; before];
            bytes.extend_from_slice(value.as_bytes());
            let encoded = engine.encode(&bytes);
            let start = [0, 2, 3][before];
            let end = bytes.len() / 3 * 4 + [0, 1, 2][bytes.len() % 3];
            needles.push(encoded[start..end].to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::{prop_assert, proptest};
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_secret_is_hidden() {
        let secret = "s3cr\"t/+ key?";
        let mask = Mask::new([secret]);
        let table = [
            secret.to_owned(),
            json!({"k": secret}).to_string(),
            "q=s3cr%22t%2F%2B%20key%3F".to_owned(),
            "q=s3cr%22t%2F%2B+key%3F".to_owned(),
        ];
        for text in table {
            assert!(mask.text(&text).contains("***"), "{text}");
            assert!(!mask.text(&text).contains("s3cr"), "{text}");
        }
        for user in ["", "a:", "ab:", "abc:"] {
            let encoded = STANDARD.encode(format!("{user}{secret}"));
            assert!(mask.text(&encoded).contains("***"), "{encoded}");
        }
    }

    #[test]
    fn short_values_stay() {
        assert_eq!(Mask::new(["1234567"]).text("1234567"), "1234567");
        assert_eq!(Mask::new(["12345678"]).text("a12345678b"), "a***b");
    }

    #[test]
    fn values_are_masked_inside() {
        let mask = Mask::new(["hunter2hunter2", "1234567890"]);
        let value = json!({"a": ["hunter2hunter2!", 1234567890, 5], "hunter2hunter2": true});
        assert_eq!(mask.value(value), json!({"a": ["***!", "***", 5], "***": true}));
    }

    #[test]
    fn a_secret_cut_in_two_is_hidden_too() {
        let mask = Mask::new(["hunter2hunter2"]);
        assert_eq!(mask.cut_end("password: hunter2h".to_owned()), "password: ***");
        assert_eq!(mask.cut_start("unter2 rest".to_owned()), "*** rest");
        assert_eq!(mask.cut_end("nothing here".to_owned()), "nothing here");
    }

    #[test]
    fn a_key_file_is_hidden_line_by_line() {
        let mask = Mask::new(["-----BEGIN-----\nabcdefghijkl\n"]);
        assert_eq!(mask.text("  abcdefghijkl"), "  ***");
    }

    proptest! {
        #[test]
        fn a_secret_never_comes_through(before in ".{0,20}", secret in "[a-zA-Z0-9/+=_-]{8,40}", after in ".{0,20}") {
            let mask = Mask::new([secret.as_str()]);
            let text = format!("{before}{secret}{after}");
            prop_assert!(!mask.text(&text).contains(&secret));
            let encoded = STANDARD.encode(text);
            prop_assert!(mask.text(&encoded).contains(MASK));
        }
    }
}
