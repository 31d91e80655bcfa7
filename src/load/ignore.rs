//! Comments that silence warnings: `# wf: ignore[CODE]` for a line, `# wf: ignore-file[CODE]` for a file.
//!
//! Main function: [`silence`]. Only warnings can be silenced: with an error there is no workflow, and a
//! comment must not make one. A comment that silences nothing is a warning of its own, as long as the file
//! has no errors; with errors not every warning is worked out. Knows no check.

use std::collections::HashMap;

use crate::diagnostic::{Code, Diagnostic, Severity, nearest, sort};
use crate::document::comments;
use crate::source::{Source, Span};

/// A code that a comment names, and where it counts.
struct Ignore {
    /// The name in the comment.
    span: Span,
    code: Code,
    /// The line it counts for; `None` for the whole file.
    line: Option<usize>,
    used: bool,
}

/// Takes the silenced warnings out, and gives them back; adds a warning for each comment that is wrong or
/// of no use.
pub fn silence(source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Vec<Diagnostic> {
    // Finding comments costs as much as reading the file, and few files have one of these.
    if !source.text().contains("wf:") {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut ignores = Vec::new();
    let comments = comments(source);
    let own = |line: usize| {
        let start = source.line_start(line).unwrap_or(source.text().len());
        let end = source.line_start(line + 1).unwrap_or(source.text().len());
        let text = source.slice(Span::new(start, end)).trim();
        text.starts_with('#') || (text.is_empty() && line < source.line_count())
    };
    // Lines that hold nothing but comments, and the line behind them.
    let mut block = (0, 0);
    for comment in comments {
        let line = source.position(comment.start).line;
        // On a line of its own it speaks of what comes next, and several may stand above one another.
        if !(block.0..block.1).contains(&line) {
            block = (line, (line..).find(|line| !own(*line)).unwrap_or(line));
        }
        read(source, comment, block.1, &mut ignores, &mut found);
    }
    let mut silenced = apply(source, diagnostics, &mut ignores, |code| code != Code::UnusedIgnore);
    let broken = diagnostics.iter().any(Diagnostic::is_error);
    let mut unused = |ignores: &[Ignore], which: fn(Code) -> bool| {
        let idle = ignores.iter().filter(|it| !it.used && which(it.code) && !broken);
        found.extend(idle.map(|it| {
            let message = match it.line {
                Some(_) => format!("there is no `{}` here to ignore", it.code),
                None => format!("there is no `{}` in this file to ignore", it.code),
            };
            Diagnostic::new(Code::UnusedIgnore, it.span, message)
                .help("take the code out of the comment, or put the comment on the line of the warning")
        }));
    };
    // Whether a key is set is no property of the file, and the comment may be of use elsewhere.
    unused(&ignores, |code| code != Code::MissingCredential && code != Code::UnusedIgnore);
    silenced.extend(apply(source, &mut found, &mut ignores, |code| code == Code::UnusedIgnore));
    if !broken {
        let idle = ignores.iter().filter(|it| !it.used && it.code == Code::UnusedIgnore);
        found.extend(idle.map(|it| {
            Diagnostic::new(Code::UnusedIgnore, it.span, "there is no `unused-ignore` here to ignore")
                .help("take the code out of the comment")
        }));
    }
    diagnostics.append(&mut found);
    sort(diagnostics);
    silenced
}

fn apply(
    source: &Source,
    diagnostics: &mut Vec<Diagnostic>,
    ignores: &mut [Ignore],
    which: impl Fn(Code) -> bool,
) -> Vec<Diagnostic> {
    let mut places: HashMap<(Code, Option<usize>), Vec<usize>> = HashMap::new();
    for (at, ignore) in ignores.iter().enumerate().filter(|(_, it)| which(it.code)) {
        places.entry((ignore.code, ignore.line)).or_default().push(at);
    }
    let silent = |diagnostic: &mut Diagnostic| {
        let line = Some(source.position(diagnostic.span.start).line);
        let keys = [(diagnostic.code, None), (diagnostic.code, line)];
        let met = keys.iter().filter_map(|key| places.get(key)).flatten().copied().collect::<Vec<_>>();
        let silent = diagnostic.severity == Severity::Warning && !met.is_empty();
        for at in met.into_iter().filter(|_| silent) {
            ignores[at].used = true;
        }
        silent
    };
    diagnostics.extract_if(.., silent).collect()
}

/// Reads one comment; other text may stand before a further `#`.
fn read(source: &Source, comment: Span, line: usize, ignores: &mut Vec<Ignore>, found: &mut Vec<Diagnostic>) {
    let text = source.slice(comment);
    let mut start = comment.start;
    for part in text.split('#') {
        let at = start + (part.len() - part.trim_start().len());
        let span = Span::new(at, start + part.trim_end().len().max(at - start));
        start += part.len() + 1;
        let Some(rest) = part.trim().strip_prefix("wf:").map(str::trim_start) else { continue };
        let Some(rest) = rest.strip_prefix("ignore") else { continue };
        let (rest, file) = match rest.strip_prefix("-file") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let list = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let Some((list, _)) = list.filter(|(list, _)| !list.trim().is_empty()) else {
            let form = if file { "ignore-file" } else { "ignore" };
            found.push(
                Diagnostic::new(Code::UnusedIgnore, span, "this comment names no code to ignore")
                    .help(format!("write `# wf: {form}[CODE]`, with commas between several codes")),
            );
            continue;
        };
        // `list` is a part of the source's text: its place follows from where it stands in it.
        let mut at = list.as_ptr() as usize - source.text().as_ptr() as usize;
        for name in list.split(',') {
            let from = at + (name.len() - name.trim_start().len());
            at += name.len() + 1;
            let name = name.trim();
            let span = Span::new(from, from + name.len());
            match Code::from_name(name) {
                Some(code) if code.severity() == Severity::Error => found.push(refused(code, span)),
                Some(code) => {
                    ignores.push(Ignore { span, code, line: (!file).then_some(line), used: false });
                }
                None => found.push(unknown(name, span)),
            }
        }
    }
}

fn refused(code: Code, span: Span) -> Diagnostic {
    Diagnostic::new(Code::UnusedIgnore, span, format!("`{code}` is an error, and errors cannot be ignored"))
        .help("mend the mistake and take the code out of the comment; only warnings can be ignored")
}

fn unknown(name: &str, span: Span) -> Diagnostic {
    let warnings = Code::ALL.iter().filter(|code| code.severity() == Severity::Warning);
    let found = Diagnostic::new(Code::UnusedIgnore, span, format!("there is no code `{name}`"));
    match nearest(name, Code::ALL.iter().map(|code| code.as_str())) {
        Some(near) => found.help(format!("did you mean `{near}`?")).suggest(span, near),
        None => {
            let known = warnings.map(|code| code.as_str()).collect::<Vec<_>>().join(", ");
            found.help(format!("codes that can be ignored: {known}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A warning of that code on that line, and what is left of it.
    fn left(text: &str, given: &[(Code, usize)]) -> Vec<String> {
        let source = Source::new("f", text);
        let warning = |(code, line): &(Code, usize)| {
            Diagnostic::new(*code, Span::at(source.line_start(*line).unwrap()), "given")
        };
        let mut diagnostics: Vec<Diagnostic> = given.iter().map(warning).collect();
        let silenced = silence(&source, &mut diagnostics);
        let kept = diagnostics.iter().filter(|it| it.message == "given").count();
        assert_eq!(silenced.iter().filter(|it| it.message == "given").count() + kept, given.len());
        let show = |it: &Diagnostic| {
            let at = source.position(it.span.start);
            format!("{}:{} {} {}", at.line, at.column, it.code, source.slice(it.span))
        };
        diagnostics.iter().map(show).collect()
    }

    #[test]
    fn a_comment_silences_its_line_or_the_next_or_the_file() {
        let tool = Code::UnusedTool;
        let none: [&str; 0] = [];
        assert_eq!(left("a: 1 # wf: ignore[unused-tool]\n", &[(tool, 1)]), none);
        assert_eq!(left("# wf: ignore[unused-tool]\n# more\n\na: 1\n", &[(tool, 4)]), none);
        assert_eq!(
            left("a: 1\nb: 2 # why # wf: ignore-file[ unused-tool ]\n", &[(tool, 1), (tool, 2)]),
            none
        );
        let two = "a: 1 # wf: ignore[unused-tool,unused-input] as planned\n";
        assert_eq!(left(two, &[(tool, 1), (Code::UnusedInput, 1)]), none);
        assert_eq!(left(two, &[(tool, 1)]), ["1:31 unused-ignore unused-input"]);
        assert_eq!(
            left("a: 1 # wf: ignore[unused-tool]\nb: 2\n", &[(tool, 2)]),
            ["1:19 unused-ignore unused-tool", "2:1 unused-tool "]
        );
        assert_eq!(left("a: \"# wf: ignore[unused-tool]\"\n", &[(tool, 1)]), ["1:1 unused-tool "]);
        assert_eq!(left("a: |\n  # wf: ignore[unused-tool]\n", &[(tool, 2)]), ["2:1 unused-tool "]);
    }

    #[test]
    fn errors_stay_and_a_comment_that_would_silence_one_is_told_so() {
        let text = "a: 1 # wf: ignore[unknown-key]\n";
        assert_eq!(
            left(text, &[(Code::UnknownKey, 1)]),
            ["1:1 unknown-key ", "1:19 unused-ignore unknown-key"]
        );
        // With an error nothing is said of comments that may well be of use without it.
        let text = "a: 1 # wf: ignore[unused-tool]\n";
        assert_eq!(left(text, &[(Code::UnknownKey, 1)]), ["1:1 unknown-key "]);
    }

    #[test]
    fn wrong_comments_are_told_and_can_be_silenced_too() {
        assert_eq!(left("# wf: ignore\na: 1\n", &[]), ["1:3 unused-ignore wf: ignore"]);
        assert_eq!(left("a: 1 # wf: ignore[]\n", &[]), ["1:8 unused-ignore wf: ignore[]"]);
        assert_eq!(left("a: 1 # wf: ignore[unused-tol]\n", &[]), ["1:19 unused-ignore unused-tol"]);
        assert_eq!(left("# wf: this is the workflow of the week\na: 1\n", &[]).len(), 0);
        assert_eq!(left("a: 1 # wf: ignore[unused-tool, unused-ignore]\n", &[]).len(), 0);
        assert_eq!(left("a: 1 # wf: ignore[unused-ignore]\n", &[]), ["1:19 unused-ignore unused-ignore"]);
        assert_eq!(left("a: 1 # wf: ignore[missing-credential]\n", &[]).len(), 0);
    }
}
