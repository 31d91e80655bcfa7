//! Mistakes of authors, for people (`text`, `short`) and for programs (`json`).
//!
//! Main function: [`text`], rendered by miette. A mistake and the text it is in are all that is needed;
//! knows no check and no stream.

use std::borrow::Cow;
use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use serde::Serialize;

use super::list::plural;
use super::look::{Look, Paint};
use super::schema::VERSION;
use super::snippet::Snippet;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::{Position, Source, Span};

/// A text that was checked, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Checked {
    pub source: Source,
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// The text as it may be shown: of a secret only the beginning. Every place stays where it is.
    pub fn shown(&self) -> Cow<'_, Source> {
        let hidden = self.diagnostics.iter().filter_map(|it| it.hidden).collect::<Vec<_>>();
        if hidden.is_empty() {
            return Cow::Borrowed(&self.source);
        }
        let hides = |at: usize| hidden.iter().any(|span| (span.start + KEPT..span.end).contains(&at));
        let masked = |(at, character): (usize, char)| match hides(at) && character.is_ascii() {
            true => '*',
            false => character,
        };
        let text = self.source.text().char_indices().map(masked).collect::<String>();
        Cow::Owned(Source::new(self.source.name(), text))
    }
}

/// How many characters of a secret are shown, so that it can be recognised.
const KEPT: usize = 3;

/// How many files were checked, and what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub files: usize,
    pub errors: usize,
    pub warnings: usize,
}

impl Counts {
    /// Counts what was found.
    pub fn of(checked: &[Checked]) -> Self {
        let all = checked.iter().flat_map(|file| &file.diagnostics);
        let (errors, warnings): (Vec<_>, Vec<_>) = all.partition(|diagnostic| diagnostic.is_error());
        Self { files: checked.len(), errors: errors.len(), warnings: warnings.len() }
    }
}

/// A mistake as people read it: where and what, the line it is in, and what to do.
pub fn text(source: &Source, diagnostic: &Diagnostic, look: Look) -> String {
    let mut out = heading(source, diagnostic, look) + "\n";
    let mut places = vec![diagnostic.span];
    places.extend(diagnostic.related.iter().map(|related| related.span));
    let snippet = Snippet::new(source, &places, look, look.width.saturating_sub(12));
    let shown = Shown { diagnostic, look, snippet };
    let mut body = String::new();
    // Writing to a string cannot fail, and the snippet holds every place that is asked of it.
    if handler(look).render_report(&mut body, &shown).is_ok() {
        // The heading says everything miette's own first line would.
        out.push_str(body.split_once('\n').map_or("", |(_, rest)| rest));
    }
    let more = format!("  more: wf explain {}", diagnostic.code);
    out.push_str(&look.paint(Paint::Faint, &more));
    out.push('\n');
    out
}

/// A mistake on one line: `file:line:col: severity[code]: message`.
pub fn short(source: &Source, diagnostic: &Diagnostic, look: Look) -> String {
    heading(source, diagnostic, Look { colour: false, ..look })
}

/// What was found, as one JSON document. With `deny_warnings` a warning makes the result invalid.
pub fn json(checked: &[Checked], deny_warnings: bool) -> serde_json::Value {
    let counts = Counts::of(checked);
    let invalid = counts.errors > 0 || (deny_warnings && counts.warnings > 0);
    let all = checked.iter().flat_map(|file| file.diagnostics.iter().map(|it| json_one(&file.source, it)));
    serde_json::json!({
        "version": VERSION,
        "result": if invalid { "invalid" } else { "valid" },
        "diagnostics": all.collect::<Vec<_>>(),
        "counts": counts,
    })
}

/// One line about all files: `2 errors, 1 warning in 1 of 3 files`.
pub fn summary(checked: &[Checked]) -> String {
    let counts = Counts::of(checked);
    let files = plural(counts.files as u64, "file");
    let mut parts = Vec::new();
    if counts.errors > 0 {
        parts.push(plural(counts.errors as u64, "error"));
    }
    if counts.warnings > 0 {
        parts.push(plural(counts.warnings as u64, "warning"));
    }
    if parts.is_empty() {
        return format!("{files} checked, no mistakes");
    }
    let touched = checked.iter().filter(|file| !file.diagnostics.is_empty()).count();
    let place = if counts.files == 1 { files } else { format!("{touched} of {files}") };
    format!("{} in {place}", parts.join(", "))
}

fn heading(source: &Source, diagnostic: &Diagnostic, look: Look) -> String {
    let position = source.position(diagnostic.span.start);
    let paint = match diagnostic.severity {
        Severity::Error => Paint::Error,
        Severity::Warning => Paint::Warning,
    };
    let kind = look.paint(paint, &format!("{}[{}]", diagnostic.severity, diagnostic.code));
    let name = look.shown(source.name());
    let message = look.shown(&diagnostic.message);
    format!("{name}:{}:{}: {kind}: {message}", position.line, position.column)
}

#[derive(Serialize)]
struct Item<'a> {
    code: Code,
    severity: Severity,
    message: &'a str,
    help: Option<&'a str>,
    file: &'a str,
    range: Range,
    path: &'a str,
    related: Vec<RelatedItem<'a>>,
    suggestion: Option<SuggestionItem<'a>>,
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct RelatedItem<'a> {
    message: &'a str,
    file: &'a str,
    range: Range,
}

#[derive(Serialize)]
struct SuggestionItem<'a> {
    range: Range,
    replacement: &'a str,
}

fn json_one(source: &Source, diagnostic: &Diagnostic) -> serde_json::Value {
    let range = |span: Span| Range { start: source.position(span.start), end: source.position(span.end) };
    let item = Item {
        code: diagnostic.code,
        severity: diagnostic.severity,
        message: &diagnostic.message,
        help: diagnostic.help.as_deref(),
        file: source.name(),
        range: range(diagnostic.span),
        path: &diagnostic.path,
        related: diagnostic
            .related
            .iter()
            .map(|it| RelatedItem { message: &it.message, file: source.name(), range: range(it.span) })
            .collect(),
        suggestion: diagnostic
            .suggestion
            .as_ref()
            .map(|it| SuggestionItem { range: range(it.span), replacement: &it.replacement }),
    };
    serde_json::to_value(item).unwrap_or_else(|error| panic!("bug: a diagnostic is not JSON: {error}"))
}

fn handler(look: Look) -> GraphicalReportHandler {
    let theme = match (look.unicode, look.colour) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme::ascii(),
        (false, false) => GraphicalTheme::none(),
    };
    GraphicalReportHandler::new_themed(theme)
        .with_width(look.width.max(40))
        .with_links(false)
        .without_primary_span_start()
        .without_syntax_highlighting()
        .with_context_lines(0)
}

/// A diagnostic in miette's words.
#[derive(Debug)]
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    look: Look,
    snippet: Snippet,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.diagnostic.help.as_deref()?;
        Some(Box::new(self.look.shown(help).into_owned()))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        (!self.snippet.is_blank()).then_some(&self.snippet as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let related = self.diagnostic.related.iter().enumerate().map(|(at, related)| {
            let (offset, length) = self.snippet.place(at + 1);
            LabeledSpan::new(Some(self.look.shown(&related.message).into_owned()), offset, length)
        });
        let (offset, length) = self.snippet.place(0);
        let own = LabeledSpan::new_primary_with_span(self.label(), (offset, length));
        Some(Box::new(std::iter::once(own).chain(related)))
    }
}

impl Shown<'_> {
    /// What is written under the place: the mend, if there is one that the advice does not name.
    fn label(&self) -> Option<String> {
        let suggestion = self.diagnostic.suggestion.as_ref()?;
        let replacement = &suggestion.replacement;
        // The advice names what is meant, the mend may have quotes around it.
        let name = replacement.trim_matches(['"', '\'']);
        let told = self.diagnostic.help.as_ref().is_some_and(|help| help.contains(name));
        let fits =
            !name.trim().is_empty() && !replacement.contains('\n') && replacement.chars().count() <= 60;
        (fits && !told && suggestion.span == self.diagnostic.span)
            .then(|| format!("did you mean `{}`?", self.look.shown(replacement)))
    }
}

#[cfg(test)]
#[path = "diagnostics_tests.rs"]
mod tests;
