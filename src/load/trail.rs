//! The way to a value in a document: `workflow_sequence[0].args.week`.
//!
//! Main type: [`Trail`], a list on the stack that is only written out when a mistake is found. Knows
//! nothing of documents.

use std::fmt;

/// One part of the way, and the way to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trail<'a> {
    up: Option<&'a Trail<'a>>,
    part: Part<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Trail<'a> {
    /// A key of the document itself.
    pub fn root(key: &'a str) -> Self {
        Self { up: None, part: Part::Key(key) }
    }

    /// A key of what this leads to.
    pub fn key(&'a self, key: &'a str) -> Self {
        Self { up: Some(self), part: Part::Key(key) }
    }

    /// An item of what this leads to.
    pub fn index(&'a self, index: usize) -> Self {
        Self { up: Some(self), part: Part::Index(index) }
    }

    /// What a JSON Pointer leads to from here, written out.
    pub fn pointer(&self, pointer: &str) -> String {
        let mut text = self.to_string();
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            match part.parse::<usize>() {
                Ok(index) => text.push_str(&format!("[{index}]")),
                Err(_) => {
                    text.push('.');
                    text.push_str(&part);
                }
            }
        }
        text
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            up.fmt(f)?;
        }
        match (self.part, self.up) {
            (Part::Key(key), None) => f.write_str(key),
            (Part::Key(key), Some(_)) => write!(f, ".{key}"),
            (Part::Index(index), _) => write!(f, "[{index}]"),
        }
    }
}
