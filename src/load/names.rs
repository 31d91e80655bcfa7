//! Names that are known, and which of them was meant by one that is not.
//!
//! Main type: [`Names`]. Knows nothing of what is named. The comparisons of all questions together are
//! bounded: a file with thousands of unknown names among thousands of known ones still gets its answer
//! at once.

use std::cell::Cell;

use crate::diagnostic::{nearest, only_nearest};

/// Most names compared for one list.
const MOST: usize = 200_000;

/// Most names listed in a message.
const LISTED: usize = 20;

/// Known names of one kind.
#[derive(Debug)]
pub(super) struct Names<'a> {
    known: Vec<&'a str>,
    left: Cell<usize>,
}

impl<'a> Names<'a> {
    /// These names.
    pub fn of(known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { known: known.into_iter().collect(), left: Cell::new(MOST) }
    }

    /// "did you mean …?" and the list of what is known; `None` if nothing is.
    pub fn advice(&self, name: &str, what: &str) -> Option<String> {
        if self.known.is_empty() {
            return None;
        }
        let near = if self.spend() { nearest(name, self.known.iter().copied()) } else { None };
        let mut listed = self.known.iter().take(LISTED).copied().collect::<Vec<_>>();
        listed.sort_unstable();
        let more = if self.known.len() > listed.len() { ", …" } else { "" };
        let list = format!("known {what}: {}{more}", listed.join(", "));
        Some(match near {
            Some(near) => format!("did you mean `{near}`? {list}"),
            None => list,
        })
    }

    /// The name that can only have been meant. Numbers are never misspelt: the next one is another.
    pub fn meant(&self, name: &str) -> Option<&'a str> {
        let digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
        let letters = |text: &str| text.bytes().filter(|byte| !byte.is_ascii_digit()).collect::<Vec<_>>();
        let found = if self.spend() { only_nearest(name, self.known.iter().copied()) } else { None };
        found.filter(|found| !(digit(name) && letters(name) == letters(found)))
    }

    fn spend(&self) -> bool {
        match self.left.get().checked_sub(self.known.len()) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => false,
        }
    }
}

/// "did you mean …?" and the list of what is known, for a list that is asked once.
pub(super) fn did_you_mean(name: &str, known: &[&str], what: &str) -> Option<String> {
    Names::of(known.iter().copied()).advice(name, what)
}

/// A name as a YAML scalar that is a string, or as JSON where it could be read as something else.
pub(super) fn written(name: &str) -> String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'))
        && !words.contains(&name.to_ascii_lowercase().as_str());
    if plain { name.to_owned() } else { serde_json::Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_meant_is_meant() {
        let meant =
            |known: &[&str], name: &str| Names::of(known.iter().copied()).meant(name).map(str::to_owned);
        assert_eq!(meant(&["fetch", "notify"], "fetchh").as_deref(), Some("fetch"));
        assert_eq!(meant(&["fetch_a", "fetch_b"], "fetch_c"), None);
        assert_eq!(meant(&["step11", "other"], "step12"), None);
        assert_eq!(meant(&["11"], "12"), None);
        assert_eq!(meant(&["step11"], "stpe11").as_deref(), Some("step11"));
        for (name, expected) in
            [("a_b-1.c", "a_b-1.c"), ("no", "\"no\""), ("1a", "\"1a\""), ("a b", "\"a b\"")]
        {
            assert_eq!(written(name), expected);
        }
    }

    #[test]
    fn comparisons_are_bounded() {
        let many: Vec<String> = (0..150_000).map(|at| format!("name{at}")).collect();
        let names = Names::of(many.iter().map(String::as_str));
        assert!(
            names.advice("nama7", "names").is_some_and(|advice| advice.starts_with("did you mean `name7`?"))
        );
        assert!(
            names.advice("nama7", "names").is_some_and(|advice| advice.starts_with("known names: name0,"))
        );
    }
}
