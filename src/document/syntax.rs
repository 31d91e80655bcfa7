//! Broken YAML told in words that help: what stands there, and what was probably meant.
//!
//! Main function: [`explain`]. The parser says where it stopped and why; the text around that place
//! says what a person wrote. Knows no key of the workflow format.

use granit_parser::ErrorKind;

use super::draft::Draft;
use super::layout::Layout;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// The diagnostic of an error the parser gives at a place; `open` is where the bracket or quote opens
/// that is open there.
pub fn explain(
    source: &Source,
    draft: &Draft,
    kind: &ErrorKind,
    at: usize,
    open: Option<usize>,
) -> Diagnostic {
    // What was mended or taken out before is not to be blamed again.
    let source = &Source::new(source.name(), draft.flat());
    let place = Place::new(source, source.text().floor_char_boundary(at.min(source.text().len())));
    if let Some(diagnostic) = open.and_then(|open| unclosed(source, open, place.at)) {
        return diagnostic;
    }
    let in_brackets = open.is_some_and(|open| source.text()[open..].starts_with(['[', '{']));
    if let Some(diagnostic) = tab(source, kind, &place, in_brackets) {
        return diagnostic;
    }
    if let Some(diagnostic) = meant(source, draft, kind, &place) {
        return diagnostic;
    }
    let (message, help) = words(kind, &place);
    Diagnostic::new(Code::YamlSyntax, place.character(), message).help(help)
}

/// The character at a place, or the place where it ends a line.
pub fn character(source: &Source, at: usize) -> Span {
    let at = source.text().floor_char_boundary(at.min(source.text().len()));
    Place::new(source, at).character()
}

/// A bracket or quote that is still open where the item or entry it is in has ended.
fn unclosed(source: &Source, open: usize, at: usize) -> Option<Diagnostic> {
    let block = *Layout::new(source.text()).blocks(open).first()?;
    if at < block.end {
        return None;
    }
    let (what, close) = match source.text()[open..].chars().next()? {
        '[' => ('[', ']'),
        '{' => ('{', '}'),
        quote => (quote, quote),
    };
    let what = if what == close { "quote".to_owned() } else { format!("`{what}`") };
    Some(
        Diagnostic::new(
            Code::YamlSyntax,
            Span::new(open, open + 1),
            format!("the {what} that opens here is not closed"),
        )
        .help(format!("close it with `{close}` at the end of the value")),
    )
}

/// An unquoted `{{ … }}`, which YAML reads as a mapping inside a mapping.
pub fn unquoted_template(source: &Source, span: Span) -> Diagnostic {
    let text = source.slice(span);
    let diagnostic = Diagnostic::new(
        Code::YamlSyntax,
        span,
        "a value that begins with `{{` is read as a mapping, not as a template",
    )
    .help("put the whole value in double quotes: `\"{{ inputs.name }}\"`");
    match text.contains(['"', '\n', '\\']) {
        true => diagnostic,
        false => diagnostic.suggest(span, format!("\"{text}\"")),
    }
}

/// Where the parser stopped, and the line that place is in.
struct Place<'s> {
    at: usize,
    line_start: usize,
    line: &'s str,
    /// The last line above it that is not empty and no comment, with where it starts.
    above: Option<(usize, &'s str)>,
    next: Option<char>,
}

impl<'s> Place<'s> {
    fn new(source: &'s Source, at: usize) -> Self {
        let number = source.position(at).line;
        let line_of = |number: usize| {
            let start = source.line_start(number)?;
            let end = source.line_start(number + 1).unwrap_or(source.text().len());
            Some((start, source.slice(Span::new(start, end)).trim_end_matches(['\n', '\r'])))
        };
        let (line_start, line) = line_of(number).unwrap_or((at, ""));
        let above = (1..number).rev().take(50).filter_map(line_of).find(|(_, line)| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        Self { at, line_start, line, above, next: source.text()[at..].chars().next() }
    }

    /// The character itself.
    fn character(&self) -> Span {
        let length = self.next.filter(|next| !matches!(next, '\n' | '\r')).map_or(0, char::len_utf8);
        Span::new(self.at, self.at + length)
    }

    fn before(&self) -> &'s str {
        &self.line[..(self.at - self.line_start).min(self.line.len())]
    }
}

fn tab(source: &Source, kind: &ErrorKind, place: &Place<'_>, in_brackets: bool) -> Option<Diagnostic> {
    let kinds = [
        ErrorKind::TabNotAllowed,
        ErrorKind::TabInBlockIndentation,
        ErrorKind::TabInIndentation,
        ErrorKind::TabInPlainScalar,
        ErrorKind::TabAtBlockScalarStart,
    ];
    // Between brackets a tab may indent.
    if in_brackets && !kinds.contains(kind) {
        return None;
    }
    let indent_tab = |start: usize, line: &str| {
        let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        indent.find('\t').map(|at| start + at)
    };
    let at = indent_tab(place.line_start, place.line).or_else(|| {
        // The parser lets a tab behind spaces pass, and then blames the line that does not fit it.
        if matches!(kind, ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry) {
            return place.above.and_then(|(start, line)| indent_tab(start, line));
        }
        if !kinds.contains(kind) {
            return None;
        }
        // A plain value that goes on in the next line is blamed at its start.
        let number = source.position(place.at).line;
        let below = source.line_start(number + 1).map(|start| (start, &source.text()[start..]));
        below
            .and_then(|(start, rest)| indent_tab(start, rest.lines().next().unwrap_or_default()))
            .or_else(|| place.line.find('\t').map(|at| place.line_start + at))
    })?;
    let layout = Layout::new(source.text());
    let tabs = layout.tabs(at);
    let width = layout.tab_width(&tabs);
    let (first, last) = (*tabs.first()?.min(&at), *tabs.last()?);
    let lines = source.position(last).line - source.position(first).line;
    let message = match lines {
        0 => "a tab indents this line, and YAML indents with spaces only".to_owned(),
        1 => "tabs indent this line and the next, and YAML indents with spaces only".to_owned(),
        _ => format!("tabs indent this line and the {lines} below it, and YAML indents with spaces only"),
    };
    let run = Span::new(first, last + 1);
    let mut mended = String::new();
    for (at, character) in source.slice(run).char_indices() {
        match tabs.contains(&(first + at)) {
            true => mended.extend(std::iter::repeat_n(' ', width)),
            false => mended.push(character),
        }
    }
    Some(
        Diagnostic::new(Code::TabIndent, Span::new(first, first + 1), message)
            .help(format!("replace each tab at the start of a line by {width} spaces"))
            .suggest(run, mended),
    )
}

/// The mistakes people make most, told by the text.
fn meant(source: &Source, draft: &Draft, kind: &ErrorKind, place: &Place<'_>) -> Option<Diagnostic> {
    let structure = matches!(
        kind,
        ErrorKind::MappingValueNotAllowed
            | ErrorKind::SimpleKeyExpected
            | ErrorKind::InvalidSimpleKey
            | ErrorKind::ExpectedBlockMappingKey
            | ErrorKind::ExpectedBlockSequenceEntry
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedFlowSequenceSeparator
            | ErrorKind::InvalidColonPlacement
    );
    if !structure {
        return None;
    }
    let (value_start, value) = value_of(place.line_start, place.line);
    if value.starts_with("{{") && place.at >= value_start {
        return Some(unquoted_template(source, Span::new(value_start, value_start + value.len())));
    }
    let here = Some((place.line_start, place.line));
    for (start, line) in [here, place.above].into_iter().flatten() {
        if let Some(colon) = glued_colon(line).filter(|colon| !draft.has_space(start + colon + 1)) {
            let at = start + colon;
            return Some(
                Diagnostic::new(
                    Code::YamlSyntax,
                    Span::new(at, at + 1),
                    "a `:` after a key needs a space behind it",
                )
                .help(format!("write `{}: {}`", line[..colon].trim_start(), &line[colon + 1..]))
                .suggest(Span::new(at, at + 1), ": "),
            );
        }
    }
    let before = place.before();
    if *kind == ErrorKind::MappingValueNotAllowed && (value_start < place.at) && before.contains(": ") {
        let diagnostic = Diagnostic::new(
            Code::YamlSyntax,
            place.character(),
            "a `: ` inside an unquoted value begins a key, and there may be none here",
        )
        .help("quote the whole value");
        return Some(match value.contains(['"', '\\', '#']) {
            true => diagnostic,
            false => {
                diagnostic.suggest(Span::new(value_start, value_start + value.len()), format!("\"{value}\""))
            }
        });
    }
    if *kind == ErrorKind::MappingValueNotAllowed
        && let Some((_, above)) = place.above
        && indent(place.line) > indent(above)
    {
        return Some(
            Diagnostic::new(
                Code::YamlSyntax,
                Span::at(place.line_start + indent(place.line)),
                "this line is indented further than the one above it, which already has a value",
            )
            .help("keys of one mapping begin in the same column; write it under the key above, or take the other value away"),
        );
    }
    None
}

/// The value in a line `key: value` or `- value`, and where it starts.
fn value_of(line_start: usize, line: &str) -> (usize, &str) {
    let mut at = indent(line);
    while line[at..].starts_with("- ") {
        at += 2;
        at += indent(&line[at..]);
    }
    if let Some(colon) = line[at..].find(": ") {
        at += colon + 2;
        at += indent(&line[at..]);
    }
    (line_start + at, line[at..].trim_end())
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The `:` of `key:value`, where nothing else makes the line a key with a value.
fn glued_colon(line: &str) -> Option<usize> {
    let mut at = indent(line);
    while line[at..].starts_with("- ") {
        at += 2;
    }
    let word = line[at..]
        .find(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '-')))?;
    let rest = &line[at + word..];
    let glued = word > 0
        && rest.starts_with(':')
        && !rest.starts_with("://")
        && rest[1..].starts_with(|next: char| !next.is_whitespace());
    glued.then_some(at + word)
}

fn words(kind: &ErrorKind, place: &Place<'_>) -> (String, String) {
    let say = |message: &str, help: &str| (message.to_owned(), help.to_owned());
    match kind {
        ErrorKind::UnclosedQuotedScalar => {
            say("the quote that opens here is not closed", "close it at the end of the value")
        }
        ErrorKind::UnclosedFlowCollection { open } => (
            format!("the `{open}` that opens here is not closed"),
            format!("close it with `{}`", if *open == '[' { ']' } else { '}' }),
        ),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => (
            format!("the `{open}` that opens here is closed by `{close}`"),
            format!("close it with `{}`", if *open == '[' { ']' } else { '}' }),
        ),
        ErrorKind::MisplacedFlowCollectionEnd => say(
            "this bracket closes nothing",
            "take it away, or quote the value if the bracket belongs to it",
        ),
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidColonPlacement => say(
            "a list or mapping in brackets is not closed before this, or lacks a comma",
            "put a `,` between the entries and close the bracket; quote a value that holds `: `",
        ),
        ErrorKind::UnexpectedCharacter { character } => (
            format!("a value cannot begin with `{}`", character.escape_default()),
            "quote the whole value".to_owned(),
        ),
        ErrorKind::UnexpectedEofBlockMapping if place.next == Some(',') => {
            say("a value cannot begin with `,`", "quote the whole value")
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar => say(
            "text follows the closing quote",
            "write a `'` inside single quotes twice, or use double quotes around the whole value",
        ),
        ErrorKind::InvalidTrailingDoubleQuotedScalar => say(
            "text follows the closing quote",
            "put the quotes around the whole value, and write a `\"` inside it as `\\\"`",
        ),
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape
        | ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate => say(
            "the double-quoted text that opens here holds an escape that YAML does not know",
            "write a backslash as `\\\\`, or use single quotes, in which a backslash is just that",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => say(
            "a key was expected here, and there is no `:` behind it",
            "write `key: value`; a text of several lines goes behind `|` and is indented",
        ),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::UnexpectedEofBlockMapping => say(
            "this does not go on with the mapping above it",
            "keys of one mapping begin in the same column, and items of a list all begin with `- ` in one column",
        ),
        ErrorKind::ExpectedBlockSequenceEntry => say(
            "this does not go on with the list above it",
            "each item begins with `- ` in the column of the first; a list and keys cannot be mixed",
        ),
        ErrorKind::BlockSequenceEntryNotAllowed => say(
            "a list cannot begin behind a key in the same line",
            "put each `- ` item on a line of its own, or quote the value if the `-` belongs to it",
        ),
        ErrorKind::MappingValueNotAllowed => say(
            "there may be no `:` here",
            "quote the value if the `:` belongs to it, else check the indentation",
        ),
        ErrorKind::DocumentIndicatorInQuotedScalar => {
            say("a quoted text is not closed before the document ends", "close the quote")
        }
        ErrorKind::UndeclaredTagHandle => {
            say("a tag with a prefix that is not known", "quote the text if the `!` is meant")
        }
        ErrorKind::CommentInterceptedScalar => say(
            "a comment stands inside a text of several lines",
            "move the comment, or write the text behind `|`",
        ),
        ErrorKind::InvalidIndentation
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::InvalidBlockScalarIndent
        | ErrorKind::InvalidFlowScalarIndent => {
            say("this line is not indented far enough", "indent it further than the key it belongs to")
        }
        other => (
            other.to_string(),
            "quote the value if it is meant as text, else check the indentation".to_owned(),
        ),
    }
}
