//! Comments that were meant as text: the `#12` behind an unquoted value, which YAML takes away.
//!
//! Main function: [`cut_texts`]. Only a number right behind the `#` is sure enough: nobody begins a comment
//! with one. Knows the texts of the format that people write in words.

use super::types::{Document, Field};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// A warning for each text in words that a `#` with a number cuts.
pub fn cut_texts(source: &Source, document: &Document) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, field) in
        [("description", &document.description), ("task", &document.task), ("system", &document.system)]
    {
        found.extend(cut(source, field, || name.to_owned()));
    }
    for tool in &document.tools {
        found.extend(cut(source, &tool.description, || format!("tools.{}.description", tool.name.value)));
    }
    for (index, step) in document.steps.get().into_iter().flatten().enumerate() {
        let path = || format!("{}[{index}].description", document.steps_key);
        found.extend(cut(source, &step.description, path));
    }
    found
}

fn cut(source: &Source, field: &Field<String>, path: impl Fn() -> String) -> Option<Diagnostic> {
    let span = field.spanned()?.span;
    let text = source.slice(span);
    let line = source.text()[span.end..].split(['\n', '\r']).next().unwrap_or_default();
    let comment = line.trim_start_matches([' ', '\t']);
    let number = comment.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !number || comment.len() == line.len() || text.starts_with(['"', '\'']) {
        return None;
    }
    let comment = comment.trim_end();
    let start = span.end + line.find('#')?;
    let whole = Span::new(span.start, start + comment.len());
    let diagnostic = Diagnostic::new(
        Code::AmbiguousScalar,
        Span::new(start, start + comment.len()),
        format!("`{comment}` is a comment and does not belong to the text before it"),
    )
    .path(path())
    .help("quote the whole text if it does; put a space behind the `#` if it is a comment");
    let meant = source.slice(whole);
    Some(match meant.contains(['"', '\\', '\n', '\r']) {
        true => diagnostic,
        false => diagnostic.suggest(whole, format!("\"{meant}\"")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn only_a_number_behind_the_hash_is_sure_to_be_text() {
        let found = |text: &str| {
            let source = Source::new("t", text);
            let (_, diagnostics) = read(&source);
            let mends = diagnostics.iter().map(|one| one.suggestion.clone().unwrap().replacement);
            mends.collect::<Vec<_>>()
        };
        assert_eq!(found("task: Fix issue #12 at once\n"), ["\"Fix issue #12 at once\""]);
        for silent in [
            "task: Fix issue # 12\n",
            "task: Fix it #soon\n",
            "task: 'Fix it' #1\n",
            "task: |\n  Fix issue #12\n",
            "task: Fix issue#12\n",
            "task: Fix it\n#12\n",
            "x-a: b #1\n",
        ] {
            assert_eq!(found(silent), [""; 0], "{silent}");
        }
    }
}
