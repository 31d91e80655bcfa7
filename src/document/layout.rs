//! What the indentation of a text says: which item or entry a place is in, without parsing anything.
//!
//! Main type: [`Layout`]. It gives the blocks around a place, the smallest first, also where the text is
//! no YAML any more. Knows lines, dashes and keys; knows no value.

use crate::source::Span;

/// How many blocks around one place are looked at.
const MAX_BLOCKS: usize = 12;

/// An item of a list or an entry of a mapping, as its lines show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where its dash or its key starts.
    pub start: usize,
    /// Right behind the dash, or behind the colon.
    pub value: usize,
    pub end: usize,
    pub is_item: bool,
    /// Whether it is an item without a key in its first line.
    pub is_plain_item: bool,
}

/// What a line opens, in bytes from its start.
#[derive(Debug, Default)]
pub struct Opens {
    /// Its first character that is no blank; the length of the line where there is none.
    pub column: usize,
    pub dashes: Vec<usize>,
    /// Its key: where it starts, and the place behind the colon.
    pub key: Option<(usize, usize)>,
}

impl Opens {
    /// Looks at one line.
    pub fn of(line: &str) -> Self {
        let blanks = |at: usize| line.len() - line[at..].trim_start_matches([' ', '\t']).len();
        let mut at = blanks(0);
        let mut opens = Self { column: at, ..Self::default() };
        while line[at..].starts_with('-') && (line[at + 1..].is_empty() || line[at + 1..].starts_with(' ')) {
            opens.dashes.push(at);
            at = blanks(at + 1);
        }
        opens.key = colon(&line[at..]).map(|end| (at, at + end));
        opens
    }
}

/// The place behind the colon of a text that begins with a key.
fn colon(text: &str) -> Option<usize> {
    let after = |at: usize| matches!(text.as_bytes().get(at + 1), None | Some(b' ' | b'\t'));
    if let Some(quote @ ('"' | '\'')) = text.chars().next() {
        let end = 1 + text[1..].find(quote)? + 1;
        let gap = text[end..].len() - text[end..].trim_start().len();
        return (text[end + gap..].starts_with(':') && after(end + gap)).then_some(end + gap + 1);
    }
    let plain = !text.starts_with(['#', '[', ']', '{', '}', ',', '|', '>', '%', '@', '`', '!', '&', '*']);
    let at = text.match_indices(':').map(|(at, _)| at).find(|at| after(*at))?;
    (plain && at > 0 && !text[..at].contains(" #")).then_some(at + 1)
}

/// The lines of a text.
pub struct Layout<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Layout<'t> {
    pub fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let ends = (0..bytes.len())
            .filter(|at| bytes[*at] == b'\n' || (bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')));
        Self { text, starts: std::iter::once(0).chain(ends.map(|at| at + 1)).collect() }
    }

    /// The number, from 0, of the line a place is in.
    pub fn number(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    /// Where a line stands, its end not included.
    pub fn span(&self, number: usize) -> Span {
        let start = self.starts[number];
        let end = self.starts.get(number + 1).copied().unwrap_or(self.text.len());
        Span::new(start, start + self.text[start..end].trim_end_matches(['\n', '\r']).len())
    }

    /// Where the text goes on below a line.
    pub fn first_character_below(&self, number: usize) -> Option<usize> {
        let below = (number + 1..self.starts.len()).find(|number| !is_void(self.line(*number)))?;
        Some(self.starts[below] + Opens::of(self.line(below)).column)
    }

    /// The blocks around a place, the smallest first.
    pub fn blocks(&self, at: usize) -> Vec<Block> {
        let mut found = Vec::new();
        let number = self.number(at);
        let opens = Opens::of(self.line(number));
        let inside = at - self.starts[number];
        let mut column = opens.column;
        let mut is_item = opens.dashes.first() == Some(&column);
        let own = number;
        let mut is_moved = is_item && (opens.key.is_some() || self.line(number).contains("- {"));
        if let Some((key, end)) = opens.key.filter(|(key, _)| *key <= inside) {
            found.push(self.entry(number, key, end));
        }
        for dash in opens.dashes.iter().rev().filter(|dash| **dash <= inside) {
            found.push(self.item(number, *dash));
        }
        for number in (0..number).rev() {
            if (column == 0 && !is_item) || found.len() >= MAX_BLOCKS {
                break;
            }
            let line = self.line(number);
            if is_void(line) {
                continue;
            }
            let opens = Opens::of(line);
            if let Some((key, end)) = opens.key.filter(|(key, end)| {
                *key < column || (*key == column && is_item && self.has_list(number, *key, *end))
            }) {
                let entry = self.entry(number, key, end);
                is_moved &= entry.end < at;
                found.push(entry);
                (column, is_item) = (key, false);
            }
            for dash in opens.dashes.iter().rev() {
                if *dash < column {
                    // The line may be the next item, indented too far.
                    if std::mem::take(&mut is_moved) {
                        found.push(self.item(own, *dash));
                    }
                    found.push(self.item(number, *dash));
                    (column, is_item) = (*dash, true);
                }
            }
        }
        found.retain(|block| block.end >= at);
        found
    }

    /// The tabs that indent the line of a place and the lines around it that tabs indent.
    pub fn tabs(&self, at: usize) -> Vec<usize> {
        let middle = self.number(at);
        let indent = |number: usize| {
            let line = self.line(number);
            &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
        };
        let goes_on = |number: &usize| self.line(*number).trim().is_empty() || indent(*number).contains('\t');
        let first = (0..middle).rev().take_while(goes_on).last().unwrap_or(middle);
        let last = (middle..self.starts.len()).take_while(goes_on).last().unwrap_or(middle);
        let lines = (first..=last).filter(|number| !self.line(*number).trim().is_empty());
        lines
            .flat_map(|number| {
                indent(number).match_indices('\t').map(move |(at, _)| self.starts[number] + at)
            })
            .collect()
    }

    /// How wide these tabs, which indent neighbouring lines, have to be for the lines to fit those around.
    pub fn tab_width(&self, tabs: &[usize]) -> usize {
        let (Some(first), Some(last)) = (tabs.first(), tabs.last()) else { return 2 };
        let (first, last) = (self.number(*first), self.number(*last));
        let above = (0..first).rev().find(|number| !is_void(self.line(*number)));
        let below = (last + 1..self.starts.len()).find(|number| !is_void(self.line(*number)));
        let columns = |number: Option<usize>| {
            let opens = number.map(|number| Opens::of(self.line(number))).unwrap_or_default();
            let key = opens.key.map(|(key, _)| key);
            opens.dashes.into_iter().chain(key).chain(number.map(|_| opens.column)).collect::<Vec<_>>()
        };
        let column = |number: usize, width: usize| {
            let line = self.line(number);
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            let tabs = indent.matches('\t').count();
            indent.len() - tabs + tabs * width
        };
        let beside = columns(above);
        let is_inside = above.is_some_and(|above| self.line(above).trim_end().ends_with([':', '|', '>']));
        // A list may begin in the column of its key.
        let deeper = usize::from(Opens::of(self.line(first)).dashes.is_empty());
        let least = beside.iter().max().filter(|_| is_inside).map_or(0, |key| key + deeper);
        let fitting = || [2, 4, 8].into_iter().filter(|width| column(first, *width) >= least);
        fitting()
            .find(|width| columns(below).contains(&column(last, *width)))
            .or_else(|| fitting().find(|width| !is_inside && beside.contains(&column(first, *width))))
            .or_else(|| fitting().next())
            .unwrap_or(2)
    }

    fn line(&self, number: usize) -> &'t str {
        let span = self.span(number);
        &self.text[span.start..span.end]
    }

    fn entry(&self, number: usize, key: usize, end: usize) -> Block {
        let start = self.starts[number];
        let has_list = self.has_list(number, key, end);
        let belongs = |line: &str, column: usize| {
            let dash = has_list && !Opens::of(line).dashes.is_empty();
            column > key || (column == key && (dash || line[column..].starts_with([']', '}'])))
        };
        // A byte order mark is not part of the key.
        let mark = self.line(number)[key..].chars().next().filter(|first| *first == '\u{feff}');
        Block {
            start: start + key + mark.map_or(0, char::len_utf8),
            value: start + end,
            end: self.end(number, belongs),
            is_item: false,
            is_plain_item: false,
        }
    }

    /// Whether a list begins below a key in the column of the key.
    fn has_list(&self, number: usize, key: usize, end: usize) -> bool {
        if !is_void(&self.line(number)[end..]) {
            return false;
        }
        let below = (number + 1..self.starts.len()).find(|number| !is_void(self.line(*number)));
        below.is_some_and(|below| Opens::of(self.line(below)).dashes.first() == Some(&key))
    }

    fn item(&self, number: usize, dash: usize) -> Block {
        let start = self.starts[number] + dash;
        let end = self.end(number, |_, column| column > dash);
        let is_plain_item = Opens::of(self.line(number)).key.is_none();
        Block { start, value: start + 1, end, is_item: true, is_plain_item }
    }

    /// The end of the last line of a block that begins in a line.
    fn end(&self, number: usize, belongs: impl Fn(&str, usize) -> bool) -> usize {
        let mut last = number;
        for next in number + 1..self.starts.len() {
            let line = self.line(next);
            if is_void(line) {
                continue;
            }
            if !belongs(line, line.len() - line.trim_start_matches([' ', '\t']).len()) {
                break;
            }
            last = next;
        }
        self.span(last).end
    }
}

/// Whether a line holds nothing but blanks and perhaps a comment.
fn is_void(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "task: x\nsteps:\n- id: 1\n  args:\n    - - a: [1\n\n        # c\n          b\n    - c\n- id: 2\nenv: [\n  A\n]\n";

    fn around(word: &str) -> Vec<&'static str> {
        let blocks = Layout::new(TEXT).blocks(TEXT.find(word).unwrap());
        blocks.iter().map(|block| &TEXT[block.start..block.end]).collect()
    }

    #[test]
    fn blocks_are_found_by_indentation() {
        let inner = "a: [1\n\n        # c\n          b";
        let steps = "steps:\n- id: 1\n  args:\n    - - a: [1\n\n        # c\n          b\n    - c\n- id: 2";
        let found = around("[1");
        assert_eq!(found[0], inner);
        assert_eq!(found[1], format!("- {inner}"));
        assert_eq!(found[2], format!("- - {inner}"));
        assert!(found[3].starts_with("args:") && found[3].ends_with("- c"));
        assert!(found[4].starts_with("- id: 1"));
        assert_eq!(found[5..], [steps]);
        assert_eq!(around("A\n"), ["env: [\n  A\n]"]);
        assert_eq!(around("2"), ["id: 2", "- id: 2", steps]);
    }

    #[test]
    fn keys_are_told_from_text() {
        let key = |line: &str| Opens::of(line).key;
        assert_eq!(key("  a b: c"), Some((2, 6)));
        assert_eq!(key("'a: b': c"), Some((0, 7)));
        assert_eq!(key("- - a:"), Some((4, 6)));
        for none in ["a:b", "# a: b", "{a: b}", "http://x", "\"a: b\"", "x # a: b", ""] {
            assert_eq!(key(none), None, "{none}");
        }
    }

    #[test]
    fn tabs_of_neighbouring_lines_go_together() {
        let text = "a:\n\tb: 1\n\n \t\tc: x\ty\nd: 1\n\te: 2\n";
        assert_eq!(Layout::new(text).tabs(text.find('c').unwrap()), [3, 11, 12]);
    }
}
