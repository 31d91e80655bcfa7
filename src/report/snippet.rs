//! The few lines of a text that a mistake is shown in, as miette reads them.
//!
//! Main type: [`Snippet`]. Control characters are made visible and long lines cut around the place, so
//! that any text can be shown; spans are moved along. Knows no diagnostic.

use std::collections::BTreeMap;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use super::escape::push_escaped;
use super::look::Look;
use crate::source::{Source, Span};

/// Lines of a source, safe to show, with the places moved to where they are in them.
#[derive(Debug)]
pub struct Snippet {
    text: String,
    lines: Vec<Line>,
    /// The places asked for, in the order asked, in bytes of `text`.
    places: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Line {
    /// From 1.
    number: usize,
    start: usize,
    end: usize,
}

impl Snippet {
    /// The lines of the places, at most `width` columns each; a place of several lines is shown by its
    /// first one.
    pub fn new(source: &Source, places: &[Span], look: Look, width: usize) -> Self {
        let mut wanted: BTreeMap<usize, Vec<(usize, Span)>> = BTreeMap::new();
        for (at, place) in places.iter().enumerate() {
            // A place that someone counted wrong must not end the program: it is moved to a character.
            let (start, end) = (source.position(place.start), source.position(place.end));
            let place = Span::new(start.byte, end.byte.max(start.byte));
            wanted.entry(start.line).or_default().push((at, place));
        }
        let mut this = Self { text: String::new(), lines: Vec::new(), places: vec![(0, 0); places.len()] };
        for (number, spans) in wanted {
            this.add(source, number, &spans, look, width);
        }
        this
    }

    /// Where a place is, as offset and length.
    pub fn place(&self, at: usize) -> (usize, usize) {
        self.places[at]
    }

    /// Whether there is anything to show.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn add(&mut self, source: &Source, number: usize, spans: &[(usize, Span)], look: Look, width: usize) {
        let from = source.line_start(number).unwrap_or_default();
        let to = source.line_start(number + 1).unwrap_or(source.text().len());
        let line = source.slice(Span::new(from, to)).trim_end_matches(['\n', '\r']);
        let line_end = from + line.len();
        // A minified file is one long line: only what is near the first place can be shown.
        let first = spans.iter().map(|(_, span)| span.start).min().unwrap_or(from).clamp(from, line_end);
        let room = width.max(20);
        let whole = line.chars().count() <= room;
        let start = if whole { from } else { back(line, from, first, room / 3) };
        let begin = self.text.len();
        if start > from {
            self.text.push_str(look.ellipsis());
        }
        let mut moved = vec![(None, None); spans.len()];
        let mut columns = 0;
        let mut at = start;
        for character in line[start - from..].chars() {
            self.mark(&mut moved, spans, at, line_end);
            if columns >= room {
                self.text.push_str(look.ellipsis());
                break;
            }
            let before = self.text.len();
            match character {
                '\t' => self.text.push_str("    "),
                // It is at the start of the file and no editor shows it.
                '\u{feff}' if at == 0 => {}
                _ if look.unicode || character.is_ascii() => push_escaped(&mut self.text, character),
                _ => self.text.push_str(&look.shown(character.encode_utf8(&mut [0; 4]))),
            }
            columns += console::measure_text_width(&self.text[before..]);
            at += character.len_utf8();
        }
        self.mark(&mut moved, spans, at, line_end);
        for ((index, _), (start, end)) in spans.iter().zip(moved) {
            let start = start.unwrap_or(self.text.len());
            self.places[*index] = (start, end.unwrap_or(self.text.len()).saturating_sub(start));
        }
        self.lines.push(Line { number, start: begin, end: self.text.len() });
        self.text.push('\n');
    }

    fn mark(
        &self,
        moved: &mut [(Option<usize>, Option<usize>)],
        spans: &[(usize, Span)],
        at: usize,
        end: usize,
    ) {
        for ((_, span), (start, stop)) in spans.iter().zip(moved) {
            if start.is_none() && at >= span.start.min(end) {
                *start = Some(self.text.len());
            }
            if stop.is_none() && at >= span.end.min(end) {
                *stop = Some(self.text.len());
            }
        }
    }
}

/// The place `count` characters before `place`, but not before the line's start.
fn back(line: &str, from: usize, place: usize, count: usize) -> usize {
    line[..place - from].char_indices().rev().take(count).last().map_or(place, |(at, _)| from + at)
}

impl SourceCode for Snippet {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset() + span.len();
        let first = self.lines.iter().position(|line| line.end >= span.offset());
        let last = self.lines.iter().position(|line| line.end >= end);
        let (Some(first), Some(last)) = (first, last) else {
            return Err(MietteError::OutOfBounds);
        };
        let (top, bottom) = (&self.lines[first], &self.lines[last]);
        // Lines that do not follow one another in the source are shown apart, each with its number.
        if bottom.number - top.number != last - first {
            return Err(MietteError::OutOfBounds);
        }
        let range = top.start..bottom.end;
        Ok(Box::new(MietteSpanContents::new(
            &self.text.as_bytes()[range.clone()],
            (range.start, range.len()).into(),
            top.number - 1,
            0,
            last - first + 1,
        )))
    }
}
