//! Mistakes as a SARIF 2.1.0 log, which code scanning services and editors read.
//!
//! Main function: [`sarif`]. Every code is a rule of the log, with its page as help; every suggestion is a
//! fix. Paths become relative addresses. Knows no page and no stream: both are handed in.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::diagnostics::Checked;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::{Source, Span};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What a rule of the log says about its code.
#[derive(Clone, Debug)]
pub struct Rule {
    pub code: Code,
    /// One sentence.
    pub summary: String,
    /// The whole page, in Markdown.
    pub page: &'static str,
}

/// What was found, as one log with one run. `rules` has one for each code; a path below `base` is shown
/// relative to it.
pub fn sarif(checked: &[Checked], rules: &[Rule], base: Option<&Path>) -> Value {
    let results = checked.iter().flat_map(|file| {
        file.diagnostics.iter().map(|it| result(Text { source: &file.source, base }, it, rules))
    });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "wf",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": level(rule.code.severity())},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The text a place is in.
#[derive(Clone, Copy)]
struct Text<'a> {
    source: &'a Source,
    base: Option<&'a Path>,
}

fn result(text: Text<'_>, diagnostic: &Diagnostic, rules: &[Rule]) -> Value {
    let mut message = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        let _ = write!(message, "; {help}");
    }
    let mut location = text.location(diagnostic.span);
    if !diagnostic.path.is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": diagnostic.path}]);
    }
    let mut out = json!({
        "ruleId": diagnostic.code,
        "level": level(diagnostic.severity),
        "message": {"text": message},
        "locations": [location],
    });
    if let Some(index) = rules.iter().position(|rule| rule.code == diagnostic.code) {
        out["ruleIndex"] = json!(index);
    }
    if !diagnostic.related.is_empty() {
        let related = diagnostic.related.iter().enumerate().map(|(id, it)| {
            let mut location = text.location(it.span);
            location["id"] = json!(id);
            location["message"] = json!({"text": it.message});
            location
        });
        out["relatedLocations"] = related.collect();
    }
    if let Some(suggestion) = &diagnostic.suggestion {
        let replaced = text.source.slice(suggestion.span);
        let what = format!("replace `{replaced}` by `{}`", suggestion.replacement);
        out["fixes"] = json!([{
            "description": {"text": what},
            "artifactChanges": [{
                "artifactLocation": {"uri": text.uri()},
                "replacements": [{
                    "deletedRegion": text.region(suggestion.span),
                    "insertedContent": {"text": suggestion.replacement},
                }],
            }],
        }]);
    }
    out
}

impl Text<'_> {
    fn location(self, span: Span) -> Value {
        json!({"physicalLocation": {
            "artifactLocation": {"uri": self.uri()},
            "region": self.region(span),
        }})
    }

    fn region(self, span: Span) -> Value {
        let (start, end) = (self.source.position(span.start), self.source.position(span.end));
        json!({
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": end.line,
            "endColumn": end.column,
            "byteOffset": start.byte,
            "byteLength": end.byte.saturating_sub(start.byte),
        })
    }

    /// The name of the text as a relative address, or as a `file:` address if it lies elsewhere.
    fn uri(self) -> String {
        let name = Path::new(self.source.name());
        let name = self.base.and_then(|base| name.strip_prefix(base).ok()).unwrap_or(name);
        let text = name.to_string_lossy();
        let text = text.strip_prefix("./").unwrap_or(&text);
        let mut out = if text.starts_with('/') { "file://".to_owned() } else { String::new() };
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                    out.push(char::from(byte));
                }
                _ => {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_to_the_base_and_escaped() {
        let uri = |name: &str| {
            let source = Source::new(name, "");
            Text { source: &source, base: Some(Path::new("/repo")) }.uri()
        };
        assert_eq!(uri("./workflows/a b.yaml"), "workflows/a%20b.yaml");
        assert_eq!(uri("/repo/x/ñ.yaml"), "x/%C3%B1.yaml");
        assert_eq!(uri("/elsewhere/a.yaml"), "file:///elsewhere/a.yaml");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }
}
