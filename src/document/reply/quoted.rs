//! Strings in quotes: JSON's, Python's and typographic ones.
//!
//! Main type: [`Quoted`], a string with the places of its characters, so that JSON inside a string
//! still has places in the reply. Knows nothing of objects and lists.

use crate::source::Span;

/// How offsets in a text that is being read become offsets in the source.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// The text is the source.
    Same,
    /// The text was decoded from a string: pairs of an offset in it and the one in the source, at the
    /// start and after each escape.
    Map { breaks: Vec<(usize, usize)>, end: usize },
    /// The text stands at one place as a whole.
    Fixed(Span),
}

impl Places {
    /// The place of a range.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        match self {
            Self::Fixed(span) => *span,
            _ => Span::new(self.offset(start), self.offset(end)),
        }
    }

    fn offset(&self, at: usize) -> usize {
        match self {
            Self::Same => at,
            Self::Fixed(span) => span.start,
            Self::Map { breaks, end } => {
                let found = breaks.partition_point(|(decoded, _)| *decoded <= at);
                let (decoded, source) = breaks.get(found.saturating_sub(1)).copied().unwrap_or_default();
                (source + (at - decoded)).min(*end)
            }
        }
    }
}

/// A string that was read.
#[derive(Debug)]
pub(super) struct Quoted {
    pub(super) text: String,
    /// Where it ends: after the closing quote.
    pub(super) end: usize,
    pub(super) breaks: Vec<(usize, usize)>,
    pub(super) marks: Marks,
    /// Whether it has raw line breaks or tabs.
    pub(super) raw: bool,
}

/// Which quotes a string stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    Double,
    Single,
    Smart,
}

/// Why a string cannot be read.
#[derive(Debug)]
pub(super) struct QuoteError {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) ended: bool,
}

impl Marks {
    /// The quotes a character opens.
    pub(super) fn opened_by(open: char) -> Option<Self> {
        match open {
            '"' => Some(Self::Double),
            '\'' => Some(Self::Single),
            '“' | '”' | '„' | '‟' | '‘' | '’' | '‚' | '‛' => Some(Self::Smart),
            _ => None,
        }
    }
}

fn closes(open: char, mark: char) -> bool {
    match open {
        '“' | '”' | '„' | '‟' => matches!(mark, '“' | '”' | '‟'),
        '‘' | '’' | '‚' | '‛' => matches!(mark, '‘' | '’' | '‛'),
        _ => mark == open,
    }
}

impl Quoted {
    /// Reads the string whose opening quote is at `start`.
    pub(super) fn read(text: &str, start: usize) -> Result<Self, QuoteError> {
        let rest = text.get(start..).unwrap_or_default();
        let error = |at: usize, message: String| QuoteError { at, message, ended: false };
        let Some((open, marks)) = rest.chars().next().and_then(|c| Some((c, Marks::opened_by(c)?))) else {
            return Err(error(start, "expected a string".into()));
        };
        let mut at = start + open.len_utf8();
        let mut this = Self { text: String::new(), end: at, breaks: vec![(0, at)], marks, raw: false };
        while let Some(c) = text[at..].chars().next() {
            if closes(open, c) {
                this.end = at + c.len_utf8();
                return Ok(this);
            }
            match c {
                '\\' => {
                    let (value, length) = escape(&text[at..]).map_err(|problem| match problem {
                        Some(message) => error(at, message),
                        None => ended(text),
                    })?;
                    if value == '\'' && marks == Marks::Double {
                        this.marks = Marks::Single;
                    }
                    this.text.push(value);
                    at += length;
                    this.breaks.push((this.text.len(), at));
                    continue;
                }
                '\n' | '\r' | '\t' => this.raw = true,
                c if c < ' ' => {
                    return Err(error(at, format!("a string may not hold the control character {c:?}")));
                }
                _ => {}
            }
            this.text.push(c);
            at += c.len_utf8();
        }
        Err(ended(text))
    }
}

fn ended(text: &str) -> QuoteError {
    QuoteError { at: text.len(), message: "the text ends inside a string".into(), ended: true }
}

/// The character an escape at the start of `text` stands for, and the escape's length. `Err(None)`
/// where the text ends in it.
fn escape(text: &str) -> Result<(char, usize), Option<String>> {
    let kind = text.chars().nth(1).ok_or(None)?;
    let value = match kind {
        '"' | '\\' | '/' | '\'' => kind,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(text),
        other => return Err(Some(format!("`\\{}` is no escape in JSON", other.escape_debug()))),
    };
    Ok((value, 2))
}

fn unicode(text: &str) -> Result<(char, usize), Option<String>> {
    let hex = |at: usize| -> Result<u32, Option<String>> {
        let bytes = text.as_bytes();
        if bytes.len() < at + 4 && bytes.iter().skip(at).all(u8::is_ascii_hexdigit) {
            return Err(None);
        }
        let digits = text.get(at..at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| Some("`\\u` needs four hexadecimal digits".to_owned()))
    };
    let lone = || Some("half of a surrogate pair stands for no character".to_owned());
    let first = hex(2)?;
    if let Some(value) = char::from_u32(first) {
        return Ok((value, 6));
    }
    if first >= 0xDC00 || !text[6..].starts_with("\\u") {
        return Err(lone());
    }
    let second = hex(8)?;
    if !(0xDC00..0xE000).contains(&second) {
        return Err(lone());
    }
    char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).map(|c| (c, 12)).ok_or_else(lone)
}
