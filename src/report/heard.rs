//! A model's text while it comes: the last of it, as lines that fit on a screen.
//!
//! Main type: [`Heard`]. Keeps no more than a screen could show. Knows no step and no terminal.

use super::look::{Look, Paint};

/// More than any screen shows, in bytes.
const MOST: usize = 16 << 10;

/// What stands before each line, and its columns.
const MARGIN: (&str, &str, usize) = ("   │ ", "   | ", 5);

/// The last of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(String);

impl Heard {
    /// Takes in the next piece.
    pub fn take(&mut self, piece: &str) {
        self.0.push_str(piece);
        if self.0.len() > 2 * MOST {
            let cut = self.0.len() - MOST;
            let cut = (cut..=self.0.len()).find(|at| self.0.is_char_boundary(*at)).unwrap_or_default();
            self.0.drain(..cut);
        }
    }

    /// Another text begins.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Its last line that says something, for where there is room for one.
    pub fn last_line(&self) -> &str {
        self.0.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// At most so many lines, the last ones, broken where the screen ends.
    pub fn lines(&self, look: Look, most: usize) -> Vec<String> {
        let (unicode, ascii, columns) = MARGIN;
        let margin = if look.unicode { unicode } else { ascii };
        let room = look.width.saturating_sub(columns);
        if room < 10 {
            return Vec::new();
        }
        let mut lines = Vec::new();
        for line in self.0.trim_end().lines().rev() {
            let rows = wrapped(&look.shown(line), room);
            lines.extend(rows.into_iter().rev().take(most.saturating_sub(lines.len())));
            if lines.len() >= most {
                break;
            }
        }
        lines.reverse();
        lines.into_iter().map(|line| look.paint(Paint::Faint, &format!("{margin}{line}"))).collect()
    }
}

/// A line in rows of at most `room` columns, broken between words where that is possible.
fn wrapped(line: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut columns = 0;
    for word in line.split_inclusive(' ') {
        let width = console::measure_text_width(word.trim_end());
        if columns > 0 && columns + width > room {
            rows.push(std::mem::take(&mut row).trim_end().to_owned());
            columns = 0;
        }
        if width <= room {
            row.push_str(word);
            columns += console::measure_text_width(word);
            continue;
        }
        // A word that no row can hold is broken anywhere.
        for character in word.chars() {
            let width = console::measure_text_width(character.encode_utf8(&mut [0; 4]));
            if columns + width > room {
                rows.push(std::mem::take(&mut row));
                columns = 0;
            }
            row.push(character);
            columns += width;
        }
    }
    rows.push(row.trim_end().to_owned());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> Heard {
        let mut heard = Heard::default();
        pieces.iter().for_each(|piece| heard.take(piece));
        heard
    }

    fn look(width: usize) -> Look {
        Look { unicode: true, colour: false, width, height: 24 }
    }

    #[test]
    fn the_last_lines_are_shown_broken_between_words() {
        let heard = heard(&["# Summary\n\nAppar", "el is weak in sales \u{1b}[31mand", " returns.\n\n"]);
        assert_eq!(heard.last_line(), "Apparel is weak in sales \u{1b}[31mand returns.");
        let lines = heard.lines(look(25), 3);
        assert_eq!(lines, ["   │ Apparel is weak in", "   │ sales \\x1b[31mand", "   │ returns."]);
        let lines = heard.lines(look(25), 9);
        assert_eq!(lines[..2], ["   │ # Summary", "   │ "]);
        assert_eq!(heard.lines(look(12), 9), Vec::<String>::new());
    }

    #[test]
    fn words_that_are_wide_or_too_long() {
        assert_eq!(heard(&["返品率返品率返品率"]).lines(look(16), 9), ["   │ 返品率返品", "   │ 率返品率"]);
        assert_eq!(
            heard(&["a abcdefghijklm b"]).lines(look(15), 9),
            ["   │ a", "   │ abcdefghij", "   │ klm b"]
        );
    }

    #[test]
    fn no_more_is_kept_than_can_be_shown() {
        let mut long = heard(&[]);
        for _ in 0..10_000 {
            long.take("émile ");
        }
        assert!(long.0.len() <= 2 * MOST);
        assert_eq!(long.lines(look(80), 4).len(), 4);
        long.clear();
        assert_eq!((long.last_line(), long.lines(look(80), 4)), ("", Vec::new()));
    }
}
