//! Places in a document as people write them: `workflow_sequence[0].args.week`.
//!
//! Main type: [`Path`], a chain on the stack that becomes text only when a diagnostic needs it.

use std::fmt::{self, Write};

/// Where in a document something stands.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The document itself.
    Root,
    /// A key of what stands at a path.
    Key(&'a Path<'a>, &'a str),
    /// An item of the list that stands at a path.
    Index(&'a Path<'a>, usize),
}

/// Adds a key to the text of a path; keys that are not plain words are quoted.
pub fn push_key(text: &mut String, key: &str) {
    let plain = !key.is_empty()
        && key.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'));
    // Writing to a string cannot fail.
    let _ = match (plain, text.is_empty()) {
        (true, true) => write!(text, "{key}"),
        (true, false) => write!(text, ".{key}"),
        (false, _) => write!(text, "[{}]", serde_json::Value::from(key)),
    };
}

/// Adds an index to the text of a path.
pub fn push_index(text: &mut String, index: usize) {
    let _ = write!(text, "[{index}]");
}

impl Path<'_> {
    fn push_to(&self, text: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.push_to(text);
                push_key(text, key);
            }
            Self::Index(parent, index) => {
                parent.push_to(text);
                push_index(text, *index);
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_words_are_quoted() {
        let root = Path::Root;
        let steps = Path::Key(&root, "steps");
        let step = Path::Index(&steps, 2);
        let args = Path::Key(&step, "a b");
        assert_eq!(Path::Key(&args, "x-y").to_string(), r#"steps[2]["a b"].x-y"#);
        assert_eq!(root.to_string(), "");
    }
}
