//! `wf validate --fix`: carries out the mends that diagnostics suggest, and nothing else.
//!
//! Main function: [`fix`]. Each mend replaces a few characters, so that comments and layout stay. A mend
//! is kept if it makes the text no worse: no more errors, and no error of a kind that was not there. A mend
//! of the syntax is kept if it lets the reading go further, since what stands behind broken syntax could
//! not be checked before. The rules look at the text alone, so mending a mended text changes nothing.

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// How often a text is mended anew before it is left as it is.
const MAX_PASSES: usize = 200;

/// A mended text.
#[derive(Debug)]
pub struct Fixed {
    pub source: Source,
    /// What is still wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// What was done, in order, each with its place in the text of that moment: `12:11: CODE: …`.
    pub done: Vec<String>,
    /// What was not, because it would make the text worse.
    pub left: Vec<String>,
}

/// A mend: what stands at a place, and what is to stand there.
#[derive(Clone, Debug)]
struct Edit {
    code: Code,
    span: Span,
    replacement: String,
}

/// Mends a text as far as it can be mended. `check` gives the mistakes of a text.
pub fn fix(
    source: Source,
    diagnostics: Vec<Diagnostic>,
    check: &dyn Fn(&Source) -> Vec<Diagnostic>,
) -> Fixed {
    let given = (source.clone(), diagnostics.clone());
    let mut fixed = Fixed { source, diagnostics, done: Vec::new(), left: Vec::new() };
    for _ in 0..MAX_PASSES {
        let edits = edits(&fixed.source, &fixed.diagnostics);
        let mut pass = Pass { base: &fixed.source, check, kept: Vec::new(), refused: Vec::new(), best: None };
        pass.take(&edits, &fixed.diagnostics);
        let describe = |edit: &Edit| describe(&fixed.source, edit);
        fixed.left = pass.refused.iter().map(describe).collect();
        fixed.done.extend(pass.kept.iter().map(describe));
        match pass.best {
            Some((source, diagnostics)) => (fixed.source, fixed.diagnostics) = (source, diagnostics),
            None => return fixed,
        }
    }
    let left = vec![format!("1:1: it was not done after {MAX_PASSES} passes, so nothing is changed")];
    Fixed { source: given.0, diagnostics: given.1, done: Vec::new(), left }
}

/// One pass over a text: which mends are kept together.
struct Pass<'a> {
    base: &'a Source,
    check: &'a dyn Fn(&Source) -> Vec<Diagnostic>,
    kept: Vec<Edit>,
    refused: Vec<Edit>,
    /// The text with the kept mends.
    best: Option<(Source, Vec<Diagnostic>)>,
}

impl Pass<'_> {
    /// Keeps the mends together if that makes the text no worse, else tries each half.
    fn take(&mut self, edits: &[Edit], given: &[Diagnostic]) {
        if edits.is_empty() {
            return;
        }
        let mut all = self.kept.clone();
        all.extend_from_slice(edits);
        let source = apply(self.base, &all);
        let diagnostics = (self.check)(&source);
        let before = self.best.as_ref().map_or(given, |(_, diagnostics)| diagnostics);
        if !is_worse(before, &diagnostics) {
            self.kept = all;
            self.best = Some((source, diagnostics));
        } else if let [edit] = edits {
            self.refused.push(edit.clone());
        } else {
            let (first, second) = edits.split_at(edits.len() / 2);
            self.take(first, given);
            self.take(second, given);
        }
    }
}

/// Whether a text with the second mistakes is worse than with the first.
fn is_worse(before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let syntax = |all: &[Diagnostic]| {
        let places: Vec<usize> = all.iter().filter(|it| is_syntax(it.code)).map(|it| it.span.start).collect();
        (places.len(), places.first().copied().unwrap_or(usize::MAX))
    };
    let ((count, first), (left, next)) = (syntax(before), syntax(after));
    if count > 0 && (left < count || (left == count && next > first)) {
        return false;
    }
    let errors = |all: &[Diagnostic]| all.iter().filter(|it| it.is_error()).count();
    let codes: HashSet<Code> = before.iter().map(|it| it.code).collect();
    errors(after) > errors(before) || after.iter().any(|it| it.is_error() && !codes.contains(&it.code))
}

/// Whether what stands behind a mistake of this kind may not have been read.
fn is_syntax(code: Code) -> bool {
    matches!(code, Code::YamlSyntax | Code::TabIndent)
}

/// The mends that are suggested, in order; of those that overlap, the first. While the syntax is broken, it
/// alone is mended.
fn edits(source: &Source, diagnostics: &[Diagnostic]) -> Vec<Edit> {
    let suggested = diagnostics.iter().filter_map(|it| {
        let suggestion = it.suggestion.as_ref()?;
        let replacement = in_quotes(source.slice(suggestion.span), &suggestion.replacement);
        Some(Edit { code: it.code, span: suggestion.span, replacement })
    });
    let mut all: Vec<Edit> = suggested.filter(|edit| source.slice(edit.span) != edit.replacement).collect();
    if all.iter().any(|edit| is_syntax(edit.code)) {
        all.retain(|edit| is_syntax(edit.code));
    }
    all.sort_by_key(|edit| edit.span);
    let mut end = None;
    all.retain(|edit| {
        let free =
            end.is_none_or(|end| edit.span.start > end || (edit.span.start == end && edit.span.end > end));
        if free {
            end = Some(edit.span.end);
        }
        free
    });
    all
}

/// A name put in place of a quoted one stays quoted: in JSON it must be.
fn in_quotes(old: &str, new: &str) -> String {
    let quote = old.chars().next().filter(|it| matches!(it, '"' | '\''));
    match quote {
        Some(quote) if old.len() > 1 && old.ends_with(quote) && !new.contains(['"', '\'', '\\']) => {
            format!("{quote}{new}{quote}")
        }
        _ => new.to_owned(),
    }
}

fn apply(source: &Source, edits: &[Edit]) -> Source {
    let mut text = String::with_capacity(source.text().len() + 64);
    let mut at = 0;
    for edit in edits {
        text.push_str(source.slice(Span::new(at, edit.span.start)));
        text.push_str(&edit.replacement);
        at = edit.span.end;
    }
    text.push_str(source.slice(Span::new(at, source.text().len())));
    Source::new(source.name(), text)
}

fn describe(source: &Source, edit: &Edit) -> String {
    let place = source.position(edit.span.start);
    let (old, new) = (source.slice(edit.span), &edit.replacement);
    let code = edit.code;
    let what = match (old.trim().is_empty(), new.trim().is_empty()) {
        (true, false) => format!("put in `{new}`"),
        (false, true) => format!("took out `{old}`"),
        (true, true) => "changed white space".to_owned(),
        (false, false) => format!("`{old}` is now `{new}`"),
    };
    format!("{}:{}: {code}: {what}", place.line, place.column)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop_assert_eq, proptest};
    use proptest::{collection, sample};

    use super::*;

    /// Texts of words: `BAD` is to become `good`, `TRAP` would become two mistakes of another kind, `IN`
    /// becomes another `BAD`, `OVER` overlaps what follows it.
    fn check(source: &Source) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (at, word) in source.text().split(' ').scan(0, |at, word| {
            *at += word.len() + 1;
            Some((*at - word.len() - 1, word))
        }) {
            let span = Span::new(at, at + word.len());
            let make = |code| Diagnostic::new(code, span, "m");
            match word {
                "BAD" => found.push(make(Code::UnknownKey).suggest(span, "good")),
                "TRAP" => found.push(make(Code::UnknownKey).suggest(span, "WORSE WORSE")),
                "IN" => found.push(make(Code::UnknownKey).suggest(span, "BAD")),
                "OVER" => found.push(
                    make(Code::UnknownKey).suggest(Span::new(at, (at + 7).min(source.text().len())), "x"),
                ),
                "WORSE" => found.push(make(Code::MissingKey)),
                _ => {}
            }
        }
        found
    }

    fn run(text: &str) -> Fixed {
        let source = Source::new("f", text);
        let diagnostics = check(&source);
        fix(source, diagnostics, &check)
    }

    #[test]
    fn mends_are_made_in_passes_and_what_makes_it_worse_is_left() {
        let fixed = run("BAD a TRAP IN BAD");
        assert_eq!(fixed.source.text(), "good a TRAP good good");
        assert_eq!(
            fixed.done,
            [
                "1:1: unknown-key: `BAD` is now `good`",
                "1:12: unknown-key: `IN` is now `BAD`",
                "1:15: unknown-key: `BAD` is now `good`",
                "1:13: unknown-key: `BAD` is now `good`"
            ]
        );
        assert_eq!(fixed.left, ["1:8: unknown-key: `TRAP` is now `WORSE WORSE`"]);
        assert_eq!(run("OVER BAD").source.text(), "xD");
        assert_eq!(in_quotes("\"a\"", "b"), "\"b\"");
        assert_eq!(in_quotes("\"a\"", "'b'"), "'b'");
    }

    proptest! {
        #[test]
        fn mending_twice_is_mending_once(
            words in collection::vec(sample::select(vec!["BAD", "TRAP", "IN", "OVER", "WORSE", "a", "é"]), 0..12)
                .prop_map(|words| words.join(" "))
        ) {
            let once = run(&words);
            let twice = run(once.source.text());
            prop_assert_eq!(once.source.text(), twice.source.text());
            prop_assert_eq!(twice.done.len(), 0);
            prop_assert_eq!(once.left, twice.left);
        }
    }
}
