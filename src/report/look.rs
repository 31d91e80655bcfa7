//! What the place that is written to can show: symbols, colours, size.
//!
//! Main type: [`Look`]. Decided once from facts that are handed in; knows no stream and reads no
//! environment.

use crate::run::Status;

/// How something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Symbols beyond ASCII.
    pub unicode: bool,
    /// Colours.
    pub colour: bool,
    /// Columns of a line.
    pub width: usize,
    /// Lines of a screen.
    pub height: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self { unicode: true, colour: false, width: 80, height: 24 }
    }
}

impl Look {
    /// Decides by the environment (`variable` gives a variable's value), as POSIX and no-color.org say.
    ///
    /// Symbols beyond ASCII need a UTF-8 locale: the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is not
    /// empty names it. `TERM=dumb` has neither symbols nor colours.
    pub fn decide(
        terminal: bool,
        size: Option<(u16, u16)>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").as_deref() == Some("dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let locale = locale.to_lowercase();
        let (height, width) = size.unwrap_or((24, 100));
        Self {
            unicode: !dumb && (locale.contains("utf-8") || locale.contains("utf8")),
            colour: terminal && !dumb && set("NO_COLOR").is_none(),
            width: usize::from(width).max(20),
            height: usize::from(height).max(4),
        }
    }

    /// The mark of a status.
    pub fn mark(self, status: Status) -> &'static str {
        match (status, self.unicode) {
            (Status::Pending, true) => "⬜",
            (Status::InProgress, true) => "⏳",
            (Status::Done, true) => "✅",
            (Status::Failed, true) => "❌",
            (Status::Cancelled, true) => "🚫",
            (Status::Pending, false) => "[ ]",
            (Status::InProgress, false) => "[>]",
            (Status::Done, false) => "[x]",
            (Status::Failed, false) => "[!]",
            (Status::Cancelled, false) => "[-]",
        }
    }

    /// What stands before a result.
    pub fn arrow(self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// What stands for something left out.
    pub fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// The text, or with anything that is not ASCII made visible where only ASCII can be shown.
    pub fn shown(self, text: &str) -> std::borrow::Cow<'_, str> {
        let text = super::escape::escape(text);
        if self.unicode || text.is_ascii() {
            return text;
        }
        let ascii = |character: char| match character {
            '×' => "*".to_owned(),
            '÷' => "/".to_owned(),
            '−' | '–' | '—' => "-".to_owned(),
            '→' => "->".to_owned(),
            '…' => "...".to_owned(),
            '“' | '”' => "\"".to_owned(),
            '‘' | '’' => "'".to_owned(),
            _ if character.is_ascii() => character.to_string(),
            _ => "?".to_owned(),
        };
        text.chars().map(ascii).collect::<String>().into()
    }

    /// The text in a colour, if there are colours.
    pub fn paint(self, paint: Paint, text: &str) -> String {
        if self.colour { format!("\x1b[{}m{text}\x1b[0m", paint.code()) } else { text.to_owned() }
    }

    /// The text cut to `width` columns, with an ellipsis where something is missing.
    pub fn cut(self, text: &str, width: usize) -> String {
        console::truncate_str(text, width, if width > 3 { self.ellipsis() } else { "" }).into_owned()
    }
}

/// The few colours used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Error,
    Warning,
    Good,
    Faint,
    Strong,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Warning => "1;33",
            Self::Good => "32",
            Self::Faint => "2",
            Self::Strong => "1",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_and_colours_follow_the_environment() {
        let look = |terminal, variables: &[(&str, &str)]| {
            let look = Look::decide(terminal, None, |name| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            });
            (look.unicode, look.colour)
        };
        assert_eq!(look(true, &[("LANG", "en_US.UTF-8")]), (true, true));
        assert_eq!(look(true, &[("LANG", "C.utf8"), ("LC_ALL", "")]), (true, true));
        assert_eq!(look(true, &[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]), (false, true));
        assert_eq!(look(true, &[("LANG", "en_US.UTF-8"), ("LC_CTYPE", "POSIX")]), (false, true));
        assert_eq!(look(true, &[]), (false, true));
        assert_eq!(look(true, &[("LANG", "C.UTF-8"), ("TERM", "dumb")]), (false, false));
        assert_eq!(look(true, &[("LANG", "C.UTF-8"), ("NO_COLOR", "1")]), (true, false));
        assert_eq!(look(true, &[("LANG", "C.UTF-8"), ("NO_COLOR", "")]), (true, true));
        assert_eq!(look(false, &[("LANG", "C.UTF-8")]), (true, false));
    }

    #[test]
    fn where_only_ascii_can_be_shown_signs_become_what_people_type() {
        let ascii = Look { unicode: false, ..Look::default() };
        assert_eq!(ascii.shown("2 + 3 × 4 − 6 ÷ 2 é"), "2 + 3 * 4 - 6 / 2 ?");
        assert_eq!(Look::default().shown("3 × 4\u{1b}"), "3 × 4\\x1b");
    }
}
