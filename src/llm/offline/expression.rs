//! The one arithmetic expression in a task, as tokens.
//!
//! Main function: [`find`]. Everything around the expression has to be words that change nothing
//! ("solve", "what is", "using BODMAS rules"); what could be read two ways is refused with a reason.
//! Knows no order of operations and no tool.

/// Longest task that is looked at, in bytes.
const MAX_TASK: usize = 1 << 20;

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// An unsigned number as JSON writes it, otherwise as the task has it.
    Number(String),
    Operator(Operator),
    Open(Bracket),
    Close(Bracket),
}

/// What stands between two values; the first two also before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

/// The form of a bracket; a pair must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    Round,
    Square,
    Curly,
}

/// Words that may stand before an expression.
const BEFORE: &[&str] = &[
    "please",
    "solve",
    "calculate",
    "compute",
    "evaluate",
    "work",
    "out",
    "find",
    "what",
    "what's",
    "is",
    "how",
    "much",
    "me",
    "tell",
    "the",
    "value",
    "result",
    "answer",
    "to",
    "of",
    "this",
    "following",
    "expression",
    "arithmetic",
    "sum",
    "using",
    "with",
    "by",
    "bodmas",
    "bidmas",
    "pemdas",
    "rule",
    "rules",
    "order",
    "operations",
    "step",
    "step-by-step",
];

/// Words that may stand after one.
const AFTER: &[&str] = &[
    "please",
    "using",
    "with",
    "by",
    "following",
    "the",
    "bodmas",
    "bidmas",
    "pemdas",
    "rule",
    "rules",
    "order",
    "of",
    "operations",
    "step",
    "step-by-step",
];

const QUOTES: &str = "\"'`\u{201c}\u{201d}\u{2018}\u{2019}";

/// The tokens of the only expression in a task, or in a few words why there is none to be sure of.
pub(super) fn find(task: &str) -> Result<Vec<Token>, String> {
    if task.len() > MAX_TASK {
        return Err(format!("it is longer than {MAX_TASK} bytes"));
    }
    let pieces = split(task);
    let is_token = |piece: &Piece| matches!(piece.kind, Kind::Token(_));
    let number = |piece: &Piece| matches!(piece.kind, Kind::Token(Token::Number(_)));
    if !pieces.iter().any(number) {
        return Err("there is no expression in it".to_owned());
    }
    let first = pieces.iter().position(is_token).unwrap_or_default();
    let last = pieces.iter().rposition(is_token).unwrap_or_default();
    check_around(&pieces[..first], BEFORE, ":,")?;
    check_around(&pieces[last + 1..], AFTER, "?=.,")?;
    let mut tokens = Vec::with_capacity(last + 1 - first);
    for (at, piece) in pieces[first..=last].iter().enumerate() {
        let Kind::Token(token) = &piece.kind else { return Err(piece.refuse()) };
        if let Token::Operator(Operator::Minus | Operator::Plus | Operator::Times) = token {
            if at == 0 && piece.spaced {
                return Err("a sign with a space after it, before the first number, may be a dash".to_owned());
            }
            if at > 0 && piece.new_line {
                return Err("a line that begins with a sign may be an item of a list".to_owned());
            }
        }
        tokens.push(token.clone());
    }
    Ok(tokens)
}

/// A piece of a task, and the space around it.
struct Piece {
    kind: Kind,
    /// It is the first of its line.
    new_line: bool,
    /// A space follows.
    spaced: bool,
}

enum Kind {
    Token(Token),
    Word(String),
    Mark(char),
}

impl Piece {
    fn refuse(&self) -> String {
        match &self.kind {
            Kind::Word(word) => {
                let short: String = word.chars().take(30).collect();
                format!("it says \"{short}\"")
            }
            Kind::Mark(',') => "a comma between numbers can be read in two ways".to_owned(),
            Kind::Mark(mark) => format!("it has \"{}\" in it", mark.escape_debug()),
            Kind::Token(_) => "it has more than one expression".to_owned(),
        }
    }
}

fn check_around(pieces: &[Piece], words: &[&str], marks: &str) -> Result<(), String> {
    let harmless = |piece: &&Piece| match &piece.kind {
        Kind::Word(word) => words.contains(&word.to_lowercase().replace('\u{2019}', "'").as_str()),
        Kind::Mark(mark) => marks.contains(*mark) || QUOTES.contains(*mark),
        Kind::Token(_) => false,
    };
    match pieces.iter().find(|piece| !harmless(piece)) {
        Some(piece) => Err(piece.refuse()),
        None => Ok(()),
    }
}

fn split(task: &str) -> Vec<Piece> {
    let chars: Vec<char> = task.chars().collect();
    let mut pieces = Vec::new();
    let (mut at, mut new_line) = (0, true);
    while at < chars.len() {
        if chars[at].is_whitespace() {
            new_line |= chars[at] == '\n' || chars[at] == '\r';
            at += 1;
            continue;
        }
        let (kind, end) = piece(&chars, at);
        let spaced = chars.get(end).is_some_and(|next| next.is_whitespace());
        pieces.push(Piece { kind, new_line: std::mem::take(&mut new_line), spaced });
        at = end;
    }
    pieces
}

/// The piece that begins at a place, and where it ends.
fn piece(chars: &[char], at: usize) -> (Kind, usize) {
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    if digit(at) || chars[at] == '.' && digit(at + 1) {
        let end = number_end(chars, at);
        let text: String = chars[at..end].iter().collect();
        return match number(&text) {
            Some(number) => (Kind::Token(Token::Number(number)), end),
            None => (Kind::Word(text), end),
        };
    }
    if chars[at].is_alphabetic() {
        let mut end = at + 1;
        while let Some(next) = chars.get(end) {
            let joins = matches!(next, '\'' | '\u{2019}' | '-')
                && chars.get(end + 1).is_some_and(|next| next.is_alphabetic());
            if !next.is_alphabetic() && !joins {
                break;
            }
            end += 1;
        }
        return (Kind::Word(chars[at..end].iter().collect()), end);
    }
    if chars[at] == '*' && chars.get(at + 1) == Some(&'*') {
        return (Kind::Token(Token::Operator(Operator::Power)), at + 2);
    }
    let token = match chars[at] {
        '+' => Token::Operator(Operator::Plus),
        '-' | '\u{2212}' | '\u{2013}' => Token::Operator(Operator::Minus),
        '*' | '\u{d7}' | '\u{b7}' | '\u{22c5}' => Token::Operator(Operator::Times),
        '/' | '\u{f7}' | '\u{2215}' => Token::Operator(Operator::Over),
        '^' => Token::Operator(Operator::Power),
        '(' => Token::Open(Bracket::Round),
        '[' => Token::Open(Bracket::Square),
        '{' => Token::Open(Bracket::Curly),
        ')' => Token::Close(Bracket::Round),
        ']' => Token::Close(Bracket::Square),
        '}' => Token::Close(Bracket::Curly),
        mark => return (Kind::Mark(mark), at + 1),
    };
    (Kind::Token(token), at + 1)
}

fn number_end(chars: &[char], start: usize) -> usize {
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let run = |mut at: usize| {
        while digit(at) {
            at += 1;
        }
        at
    };
    let mut end = run(start);
    if chars.get(end) == Some(&'.') && digit(end + 1) {
        end = run(end + 1);
    }
    if matches!(chars.get(end), Some('e' | 'E')) {
        let signed = matches!(chars.get(end + 1), Some('+' | '-'));
        let exponent = end + 1 + usize::from(signed);
        if digit(exponent) {
            end = run(exponent);
        }
    }
    end
}

/// A number as JSON writes it: no leading zeros, a digit before the point. `None` where it is too
/// large to be computed with.
fn number(text: &str) -> Option<String> {
    if !text.parse::<f64>().is_ok_and(f64::is_finite) {
        return None;
    }
    let trimmed = text.trim_start_matches('0');
    let bare = !trimmed.starts_with(|first: char| first.is_ascii_digit());
    Some(if bare { format!("0{trimmed}") } else { trimmed.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Token, find};

    fn numbers(task: &str) -> Result<Vec<String>, String> {
        let number = |token| match token {
            Token::Number(text) => Some(text),
            _ => None,
        };
        Ok(find(task)?.into_iter().filter_map(number).collect())
    }

    #[test]
    fn numbers_are_kept_as_written() {
        for (task, want) in [
            ("solve 2.50+3", vec!["2.50", "3"]),
            ("1e3 - 2.5E-3", vec!["1e3", "2.5E-3"]),
            (".5 * 007", vec!["0.5", "7"]),
            ("0 + 00.10 + 0e5", vec!["0", "0.10", "0e5"]),
            ("What is the value of 2 + 3?", vec!["2", "3"]),
            ("what’s 2 + 3 = ?", vec!["2", "3"]),
            ("Solve this expression using BODMAS rules: 2 + 3", vec!["2", "3"]),
            ("please evaluate `2 + 3`.", vec!["2", "3"]),
            ("2 + 3 step-by-step", vec!["2", "3"]),
            ("solve(2+3)", vec!["2", "3"]),
        ] {
            assert_eq!(numbers(task).unwrap(), want, "{task}");
        }
    }

    #[test]
    fn what_can_be_read_two_ways_is_refused() {
        for (task, reason) in [
            ("", "no expression"),
            ("write a poem", "no expression"),
            ("solve 2+3 and email it", "\"and\""),
            ("email 2+3", "\"email\""),
            ("2+3, then 4*5", "comma"),
            ("1,000 + 2", "comma"),
            ("2+3; 4*5", "\";\""),
            ("2x + 3", "\"x\""),
            ("50% + 1", "\"%\""),
            ("5! + 1", "\"!\""),
            ("1 + 5!", "\"!\""),
            ("2+3 = 5", "\"=\""),
            ("solve - 2 + 3", "dash"),
            ("- 2+3", "dash"),
            ("2+3\n- 4*5", "list"),
            ("1. 2+3", "\".\""),
            ("half of 2+3", "\"half\""),
            ("1e999 + 1", "1e999"),
            ("$2 + $3", "\"$\""),
            ("2 + 3 is right", "\"is\""),
        ] {
            let found = numbers(task).expect_err(task);
            assert!(found.contains(reason), "{task}: {found}");
        }
    }
}
