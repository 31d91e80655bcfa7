//! Mistakes as workflow commands of GitHub Actions, which shows them beside the lines of a pull request.
//!
//! Main function: [`github`]. Every character that has a meaning in a command is escaped, so that no text
//! of a file can give one. Knows no stream.

use std::fmt::Write as _;

use crate::diagnostic::Diagnostic;
use crate::source::Source;

/// One command: `::error file=…,line=…,col=…,endLine=…,endColumn=…,title=CODE::MESSAGE`.
///
/// GitHub takes columns only for a place within one line; a longer place goes without.
pub fn github(source: &Source, diagnostic: &Diagnostic) -> String {
    let start = source.position(diagnostic.span.start);
    let end = source.position(diagnostic.span.end);
    let mut out = format!("::{} file={},line={}", diagnostic.severity, property(source.name()), start.line);
    let columns = start.line == end.line;
    if columns {
        let _ = write!(out, ",col={}", start.column);
    }
    let _ = write!(out, ",endLine={}", end.line);
    if columns {
        let _ = write!(out, ",endColumn={}", end.column);
    }
    let mut message = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        let _ = write!(message, "\n{help}");
    }
    let _ = write!(out, ",title={}::{}", property(diagnostic.code.as_str()), data(&message));
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::Span;

    #[test]
    fn what_has_a_meaning_in_a_command_is_escaped() {
        let source = Source::new("a,b:c%.yaml", "name: é x\ntask: y\n");
        let one = Diagnostic::new(Code::UnknownKey, Span::new(9, 10), "100% of\r`x`, it: says");
        assert_eq!(
            github(&source, &one.help("two\nlines")),
            "::error file=a%2Cb%3Ac%25.yaml,line=1,col=9,endLine=1,endColumn=10,title=unknown-key\
             ::100%25 of%0D`x`, it: says%0Atwo%0Alines"
        );
        let long = Diagnostic::new(Code::UnusedTool, Span::new(0, 14), "m");
        assert_eq!(
            github(&source, &long),
            "::warning file=a%2Cb%3Ac%25.yaml,line=1,endLine=2,title=unused-tool::m"
        );
    }
}
