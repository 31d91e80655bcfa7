//! From text to a tree with places: YAML 1.2, and with it JSON, over the events of a parser.
//!
//! Main function: [`Builder::read`]. Mistakes of the text are gathered on the way: duplicate keys, custom
//! tags, undefined aliases and several documents do not end the reading; broken syntax and broken
//! bounds do. Depth and the growth by aliases are bounded, so no text costs more than its size allows.
//! Knows no key of the workflow format.

use std::sync::Arc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Tag, options};

use super::builder::{Builder, Built, Content, MAX_DEPTH, reported, too_deep};
use super::node::{Kind, Node, Scalar, ScalarValue, Style};
use super::{encoding, scalar, syntax};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Longest scalar, in bytes: 1 MiB.
const MAX_SCALAR: usize = 1024 * 1024;

/// How the reading of a text went.
pub enum Outcome {
    /// To the end of the first document.
    Finished,
    /// To where a bound was broken, which was reported.
    Stopped,
    /// To where its syntax is broken.
    Broken(Mistake),
}

/// Broken syntax, in places of the source.
pub struct Mistake {
    /// Nothing where it was reported as something else.
    pub diagnostic: Option<Diagnostic>,
    /// Where what is broken begins.
    pub origin: usize,
}

impl Builder<'_> {
    /// Reads the first document of a text to its end.
    pub fn read(&mut self) -> Outcome {
        let options = options! {
            emit_unresolved_aliases: true,
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH + 2,
            block_nesting_limit: MAX_DEPTH + 2,
        };
        let mut documents = 0;
        let draft = self.draft;
        for next in Parser::new_from_str_with_options(&draft.text(), options) {
            let (event, place) = match next {
                Ok(next) => next,
                Err(error) => return self.broken(&error),
            };
            let span = self.span(place.byte_range());
            self.written += 1;
            let go_on = match event {
                Event::DocumentStart(..) if documents == 1 => {
                    self.report(
                        Diagnostic::new(Code::MultipleDocuments, span, "a second document begins here").help(
                            "a workflow file holds one document; put the other one into a file of its own",
                        ),
                    );
                    return Outcome::Finished;
                }
                Event::DocumentStart(..) => {
                    documents += 1;
                    true
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.last_end = span.end;
                    let tag_span = place.tag_span().and_then(|tag| tag.byte_range());
                    let unread = anchor == 0 && self.is_unread();
                    let node = self.scalar(&text, style, tag.as_deref(), span, tag_span, unread);
                    self.finish(Built { node: Arc::new(node), size: 1, depth: 0 }, anchor)
                }
                Event::SequenceStart(_, anchor, tag) => {
                    let reported = self.collection_tag(tag.as_deref(), "seq", place.tag_span(), span);
                    self.open(span, anchor, reported, Content::List(Vec::new()))
                }
                Event::MappingStart(_, anchor, tag) => {
                    let reported = self.collection_tag(tag.as_deref(), "map", place.tag_span(), span);
                    self.mark_template(span);
                    let content = Content::map();
                    self.open(span, anchor, reported, content)
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(span),
                Event::Alias(id) => self.alias(id, span),
                // What it names was taken out together with what is broken.
                Event::UnresolvedAlias(name) if self.is_lost(&name) => {
                    self.finish(Built { node: reported(span), size: 1, depth: 0 }, 0)
                }
                Event::UnresolvedAlias(name) => {
                    self.report(
                        Diagnostic::new(Code::YamlSyntax, span, format!("`*{name}` names no anchor above it"))
                            .help(format!("mark the value it stands for with `&{name}`; quote the text if the `*` is meant as a star")),
                    );
                    self.finish(Built { node: reported(span), size: 1, depth: 0 }, 0)
                }
                _ => true,
            };
            if !go_on {
                return Outcome::Stopped;
            }
        }
        Outcome::Finished
    }

    /// The mistake that ends the reading, unless it follows from one that was reported.
    fn broken(&mut self, error: &ScanError) -> Outcome {
        let at = self.draft.source_place(error.marker().byte_offset().unwrap_or(usize::MAX));
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            self.report(too_deep(syntax::character(self.source, at)));
            return Outcome::Stopped;
        }
        let open = self.open_place(error.kind(), at);
        let diagnostic = syntax::explain(self.source, self.draft, error.kind(), at, open).path(self.path());
        let start = diagnostic.span.start;
        let origin = open.map_or(start, |open| open.min(start));
        // A character that may not be there was reported as just that.
        if self.source.slice(diagnostic.span).starts_with(encoding::is_forbidden) {
            return Outcome::Broken(Mistake { diagnostic: None, origin });
        }
        let line = |at: usize| self.source.position(at).line;
        let diagnostic = match self.diagnostics.pop() {
            // The text behind an unquoted template, or behind a star that was taken for an alias.
            Some(last) if last.code == Code::YamlSyntax && line(last.span.start) == line(start) => {
                if last.span.start == start { diagnostic.path(last.path) } else { last }
            }
            _ => diagnostic,
        };
        Outcome::Broken(Mistake { diagnostic: Some(diagnostic), origin })
    }

    /// Where the bracket or quote opens that is open at a place, if one is.
    fn open_place(&self, kind: &ErrorKind, at: usize) -> Option<usize> {
        let text = self.draft.flat();
        let quoted = matches!(
            kind,
            ErrorKind::UnclosedQuotedScalar
                | ErrorKind::InvalidQuotedScalarIndent
                | ErrorKind::InvalidIndentation
                | ErrorKind::DocumentIndicatorInQuotedScalar
                | ErrorKind::InvalidTrailingSingleQuotedScalar
                | ErrorKind::InvalidTrailingDoubleQuotedScalar
        );
        // The parser reads ahead: what is open may not have been told yet.
        let bracketed = matches!(
            kind,
            ErrorKind::BlockEntryInFlowCollection
                | ErrorKind::ExpectedFlowMappingSeparator
                | ErrorKind::ExpectedFlowSequenceSeparator
                | ErrorKind::InvalidColonPlacement
                | ErrorKind::InvalidFlowScalarIndent
        );
        self.flow_start().or_else(|| {
            let from = self.last_end.min(at);
            let opening: &[char] = match (quoted, bracketed) {
                (true, _) => &['"', '\''],
                (_, true) => &['[', '{'],
                _ => return None,
            };
            Some(from + text.get(from..at)?.find(opening)?)
        })
    }

    fn is_lost(&self, name: &str) -> bool {
        let anchor = format!("&{name}");
        self.draft.holes.spans().any(|span| self.source.slice(span).contains(&anchor))
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
        tag_span: Option<std::ops::Range<usize>>,
        unread: bool,
    ) -> Node {
        if let Some(span) = self.draft.holes.of_mark(span.start) {
            return Node { span, kind: Kind::Reported };
        }
        if text.len() > MAX_SCALAR {
            let message =
                format!("this value has {} bytes, more than the {MAX_SCALAR} one may have", text.len());
            self.report(
                Diagnostic::new(Code::FileTooLarge, Span::at(span.start), message)
                    .help("keep data in files that a tool reads; a workflow file holds the steps"),
            );
            return Node { span, kind: Kind::Reported };
        }
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        // The end of a block scalar is the next thing; its last line is what people see.
        let span = match style {
            Style::Block => {
                let end = span.start + self.source.slice(span).trim_end().len();
                Span::new(span.start, end)
            }
            _ => span,
        };
        let plain = || match style {
            Style::Plain => scalar::resolve(text),
            _ => Ok(ScalarValue::String),
        };
        let value = match tag {
            None => plain(),
            // The non-specific tag: whatever it looks like, it is a string.
            Some(tag) if tag.original() == "!" => Ok(ScalarValue::String),
            Some(tag) => match tag.core_suffix().and_then(|suffix| scalar::tagged(suffix, text)) {
                Some(value) => value,
                None => {
                    self.custom_tag(tag, tag_span.map_or(span, |range| Span::new(range.start, range.end)));
                    return Node { span, kind: Kind::Reported };
                }
            },
        };
        match value {
            Ok(value) => {
                // The parser gives `~` for a value that is not there.
                let text = if value == ScalarValue::Null && span.start == span.end { "" } else { text };
                Node { span, kind: Kind::Scalar(Scalar { text: text.into(), style, value }) }
            }
            // Nothing reads it, so nothing is lost.
            Err(_) if unread => Node {
                span,
                kind: Kind::Scalar(Scalar { text: text.into(), style, value: ScalarValue::String }),
            },
            Err(unfit) => {
                self.report(
                    Diagnostic::new(Code::InvalidValue, span, format!("`{text}` {unfit}"))
                        .help("quote it if the text is meant"),
                );
                Node { span, kind: Kind::Reported }
            }
        }
    }

    fn collection_tag(
        &mut self,
        tag: Option<&Tag>,
        own: &str,
        tag_span: Option<granit_parser::Span>,
        span: Span,
    ) -> bool {
        match tag {
            Some(tag) if tag.original() != "!" && tag.core_suffix() != Some(own) => {
                let range = tag_span.and_then(|tag| tag.byte_range());
                self.custom_tag(tag, range.map_or(span, |range| Span::new(range.start, range.end)));
                true
            }
            _ => false,
        }
    }

    fn custom_tag(&mut self, tag: &Tag, span: Span) {
        let name = tag.original();
        let message = match tag.core_suffix() {
            Some(_) => format!("the tag `{name}` does not go with this value"),
            None => format!("the tag `{name}` is not known"),
        };
        self.report(Diagnostic::new(Code::CustomTag, span, message).help(
            "take the tag away, or quote the text if the `!` is meant; files hold plain YAML values only",
        ));
    }

    fn span(&self, range: Option<std::ops::Range<usize>>) -> Span {
        let range = range.unwrap_or_default();
        let text = self.source.text();
        let place = |at: usize| text.floor_char_boundary(self.draft.source_place(at));
        let start = place(range.start);
        Span::new(start, place(range.end).max(start))
    }
}
