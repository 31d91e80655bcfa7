//! A text with a name, and places in it.
//!
//! Knows bytes, lines and columns; knows nothing of what the text means.

use std::sync::Arc;

use serde::Serialize;

/// A range of bytes in a source: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    /// The range from `start` up to but not including `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// An empty range: a place between two characters.
    pub fn at(byte: usize) -> Self {
        Self::new(byte, byte)
    }
}

/// A place in a text, as people count: lines and columns from 1, columns in Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
    /// Offset from the start of the text, in bytes, from 0.
    pub byte: usize,
}

/// A text and the name it is shown under: a file's path, `<stdin>`, `<reply>`.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    lines: Vec<usize>,
}

impl Source {
    /// A source; lines end at `\n`, `\r\n` or a lone `\r`, as YAML counts them.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let bytes = text.as_bytes();
        let mut lines = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                lines.push(at + 1);
            }
        }
        Self { name: name.into(), text, lines }
    }

    /// The name the text is shown under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; a span that does not fit the text is cut to it.
    pub fn slice(&self, span: Span) -> &str {
        let start = self.text.floor_char_boundary(span.start.min(self.text.len()));
        let end = self.text.floor_char_boundary(span.end.clamp(start, self.text.len()));
        &self.text[start..end]
    }

    /// Line and column of a byte offset; an offset past the end is the end.
    pub fn position(&self, byte: usize) -> Position {
        let byte = self.text.floor_char_boundary(byte.min(self.text.len()));
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[line - 1];
        // A byte order mark is not a column: no editor shows it.
        let before = self.text[start..byte].trim_start_matches('\u{feff}');
        Position { line, column: before.chars().count() + 1, byte }
    }

    /// The byte offset at which a line (from 1) starts, if there is such a line.
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.lines.get(line.checked_sub(1)?).copied()
    }

    /// How many lines the text has.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_scalar_values_and_every_kind_of_line_end() {
        let source = Source::new("t", "\u{feff}añ\r\nb\rc\n");
        assert_eq!(source.position(3).column, 1);
        assert_eq!(source.position(6), Position { line: 1, column: 3, byte: 6 });
        assert_eq!(source.position(8), Position { line: 2, column: 1, byte: 8 });
        assert_eq!(source.position(10), Position { line: 3, column: 1, byte: 10 });
        assert_eq!(source.position(999).line, 4);
        assert_eq!(source.slice(Span::new(5, 99)), "ñ\r\nb\rc\n");
    }
}
