//! A text under repair: what could not be read is blanked out, so that the rest can be read again.
//!
//! Main type: [`Draft`]. Blanks keep every offset and line; a space put in is counted, so that places
//! in the repaired text lead back to the source. It remembers where something was taken out, and the
//! builder puts `Reported` there. Knows lines and indentation; knows no parser and no key.

use std::collections::{BTreeMap, HashMap};

use super::layout::{Block, Opens};
use crate::source::Span;

/// What was taken out of a text, by where the builder meets it.
#[derive(Clone, Debug, Default)]
pub struct Holes {
    /// By the start of the key whose value was taken out.
    keys: HashMap<usize, Hole>,
    /// By the place of the mark that stands for an item.
    marks: HashMap<usize, Span>,
}

/// A value that was taken out.
#[derive(Clone, Debug)]
pub struct Hole {
    pub span: Span,
    /// A key inside it that was perhaps meant to stand beside it.
    pub swallowed: Option<(String, usize)>,
}

impl Holes {
    /// The value taken out behind the key that starts there.
    pub fn of_key(&self, start: usize) -> Option<&Hole> {
        self.keys.get(&start)
    }

    /// The item taken out whose mark stands there.
    pub fn of_mark(&self, start: usize) -> Option<Span> {
        self.marks.get(&start).copied()
    }

    /// Everything that was taken out.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        self.keys.values().map(|hole| hole.span).chain(self.marks.values().copied())
    }
}

/// A text under repair.
#[derive(Debug)]
pub struct Draft {
    /// The text with blanks, as long as the source.
    flat: String,
    /// How many spaces were put in, by the place of the source they stand before.
    spaces: BTreeMap<usize, usize>,
    /// The same, one by one, for looking places up.
    places: Vec<usize>,
    pub holes: Holes,
}

impl Draft {
    pub fn new(text: &str) -> Self {
        Self { flat: text.to_owned(), spaces: BTreeMap::new(), places: Vec::new(), holes: Holes::default() }
    }

    /// The text with blanks and without the spaces put in: as long as the source.
    pub fn flat(&self) -> &str {
        &self.flat
    }

    /// Whether a space was put in there.
    pub fn has_space(&self, at: usize) -> bool {
        self.spaces.contains_key(&at)
    }

    /// The text to read.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        if self.places.is_empty() {
            return (&*self.flat).into();
        }
        let mut text = String::with_capacity(self.flat.len() + self.places.len());
        let mut from = 0;
        for place in &self.places {
            text.push_str(&self.flat[from..*place]);
            text.push(' ');
            from = *place;
        }
        text.push_str(&self.flat[from..]);
        text.into()
    }

    /// The place in the source of a place in the text that is read.
    pub fn source_place(&self, at: usize) -> usize {
        if self.places.is_empty() {
            return at;
        }
        let (mut low, mut high) = (0, self.places.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.places[middle] + middle < at { low = middle + 1 } else { high = middle }
        }
        at - low
    }

    /// Puts a space in before a place of the source.
    pub fn put_space(&mut self, place: usize) {
        self.put_spaces(&[place], 1);
    }

    /// Puts as many spaces as a tab is wide in place of each of these tabs.
    pub fn expand_tabs(&mut self, tabs: &[usize], width: usize) {
        for tab in tabs {
            self.blank(Span::new(*tab, tab + 1));
        }
        let behind: Vec<usize> = tabs.iter().map(|tab| tab + 1).collect();
        self.put_spaces(&behind, width.saturating_sub(1));
    }

    fn put_spaces(&mut self, places: &[usize], count: usize) {
        for place in places {
            *self.spaces.entry(*place).or_default() += count;
        }
        self.places =
            self.spaces.iter().flat_map(|(place, count)| std::iter::repeat_n(*place, *count)).collect();
    }

    /// Takes a block out. `blamed` is the line whose key may have been meant to stand beside it.
    pub fn take_out(&mut self, block: &Block, blamed: Span) {
        let span = Span::new(block.start, block.end);
        let first = self.flat[block.value..block.end].find(|character: char| !character.is_whitespace());
        let swallowed = (blamed.start > block.start && blamed.end <= block.end)
            .then(|| Opens::of(&self.flat[blamed.start..blamed.end]))
            .and_then(|opens| opens.key.filter(|_| opens.dashes.is_empty()))
            .map(|(key, end)| {
                let name = self.flat[blamed.start + key..blamed.start + end].trim_end().trim_end_matches(':');
                (name.trim().trim_matches(['"', '\'']).to_owned(), blamed.start + key)
            });
        self.blank(Span::new(block.value, block.end));
        if block.is_item {
            let mark = block.value + first.unwrap_or(0).max(1);
            // An item that is empty behind its dash cannot be what is wrong.
            if mark < block.end && self.flat.as_bytes()[mark] == b' ' {
                self.flat.replace_range(block.start..block.value, "-");
                self.flat.replace_range(mark..=mark, "~");
                self.holes.marks.insert(mark, span);
            }
        } else {
            self.holes.keys.insert(block.start, Hole { span, swallowed });
        }
    }

    /// Puts a space in place of every byte that ends no line.
    fn blank(&mut self, span: Span) {
        let blank: String = self.flat[span.start..span.end]
            .bytes()
            .map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' })
            .collect();
        self.flat.replace_range(span.start..span.end, &blank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lead_back_to_the_source() {
        let mut draft = Draft::new("a:1\n\tb:2\n");
        draft.put_space(2);
        draft.expand_tabs(&[4], 2);
        draft.put_space(7);
        let text = draft.text().into_owned();
        assert_eq!(text, "a: 1\n  b: 2\n");
        let at = |word: &str| draft.source_place(text.find(word).unwrap());
        assert_eq!((at("a"), at("1"), at("b"), at("2")), (0, 2, 5, 7));
        assert_eq!(draft.source_place(text.len()), 9);
    }

    #[test]
    fn what_is_taken_out_leaves_every_line_where_it_was() {
        let text = "a: 'ö'\nl:\n  - x: [1\n    y: 2\n  - z\n";
        let mut draft = Draft::new(text);
        let start = text.find("- x").unwrap();
        let end = text.find("\n  - z").unwrap();
        draft.take_out(
            &Block { start, value: start + 1, end, is_item: true, is_plain_item: false },
            Span::at(start),
        );
        draft.take_out(
            &Block { start: 0, value: 2, end: 7, is_item: false, is_plain_item: false },
            Span::at(0),
        );
        assert_eq!(draft.flat(), "a:     \nl:\n  - ~    \n        \n  - z\n");
        assert_eq!(draft.holes.of_mark(start + 2), Some(Span::new(start, end)));
        assert!(draft.holes.of_key(0).is_some());
    }
}
