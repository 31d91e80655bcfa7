//! From text to a tree with places: YAML 1.2, and with it JSON, over the events of a parser.
//!
//! Main function: [`tree`]. Mistakes of the text are gathered on the way: duplicate keys, custom
//! tags, undefined aliases and several documents do not end the reading; broken syntax and broken
//! bounds do. Size, depth and the growth by aliases are bounded, so no text costs more than its size
//! allows. Knows no key of the workflow format.

use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Tag, options};

use super::builder::{Builder, Built, Content, MAX_DEPTH, reported};
use super::node::{Kind, Node, Scalar, ScalarValue, Style};
use super::{encoding, scalar, syntax};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// Reads a text. `None` where its syntax is broken, where it is too large in some way, or where it
/// holds no value at all; a diagnostic says which.
pub fn tree(source: &Source) -> (Option<Arc<Node>>, Vec<Diagnostic>) {
    if let Some(diagnostic) = encoding::too_large(source.text().len()) {
        return (None, vec![diagnostic]);
    }
    let diagnostics = encoding::control_characters(source);
    let masked = encoding::mask(source.text());
    let text = masked.as_deref().unwrap_or(source.text());
    let mut builder = Builder::new(source, diagnostics);
    let finished = builder.read(text);
    let Builder { root, mut diagnostics, .. } = builder;
    if !finished {
        return (None, diagnostics);
    }
    let root = root.map(|built| built.node);
    match root {
        Some(node) if !(node.is_null() && source.slice(node.span).is_empty()) => (Some(node), diagnostics),
        _ => {
            if diagnostics.is_empty() {
                diagnostics.push(
                    Diagnostic::new(
                        Code::EmptyFile,
                        Span::at(0),
                        "the file holds nothing but white space and comments",
                    )
                    .help("write at least `task:` with what is to be done"),
                );
            }
            (None, diagnostics)
        }
    }
}

impl Builder<'_> {
    /// Reads the first document to its end; false where the reading had to be given up.
    fn read(&mut self, text: &str) -> bool {
        let options = options! {
            emit_unresolved_aliases: true,
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH + 2,
            block_nesting_limit: MAX_DEPTH + 2,
        };
        let mut documents = 0;
        for next in Parser::new_from_str_with_options(text, options) {
            let (event, place) = match next {
                Ok(next) => next,
                Err(error) => {
                    let diagnostic = syntax::explain(self.source, &error);
                    self.stop(diagnostic);
                    return false;
                }
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
                    return true;
                }
                Event::DocumentStart(..) => {
                    documents += 1;
                    true
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let tag_span = place.tag_span().and_then(|tag| tag.byte_range());
                    let node = self.scalar(&text, style, tag.as_deref(), span, tag_span);
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
                return false;
            }
        }
        true
    }

    /// Reports the mistake that ends the reading, unless it follows from one that was reported.
    fn stop(&mut self, diagnostic: Diagnostic) {
        // A character that may not be there was reported as just that.
        if self.source.slice(diagnostic.span).starts_with(encoding::is_forbidden) {
            return;
        }
        let line = |at: usize| self.source.position(at).line;
        match self.diagnostics.last_mut() {
            // The text behind an unquoted template, or behind a star that was taken for an alias.
            Some(last)
                if last.code == Code::YamlSyntax && line(last.span.start) == line(diagnostic.span.start) =>
            {
                if last.span.start == diagnostic.span.start {
                    let path = std::mem::take(&mut last.path);
                    *last = diagnostic.path(path);
                }
            }
            _ => self.report(diagnostic),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
        tag_span: Option<std::ops::Range<usize>>,
    ) -> Node {
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
        let start = text.floor_char_boundary(range.start);
        Span::new(start, text.floor_char_boundary(range.end).max(start))
    }
}
