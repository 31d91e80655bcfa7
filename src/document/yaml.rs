//! From text to a tree with places: YAML 1.2, and with it JSON, over the events of a parser.
//!
//! Main function: [`tree`]. Mistakes of the text are gathered on the way: duplicate keys, custom
//! tags, undefined aliases and several documents do not end the reading; broken syntax and broken
//! bounds do. Size, depth and the growth by aliases are bounded, so no text costs more than its size
//! allows. Knows no key of the workflow format.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Tag, options};

use super::node::{Entry, Kind, Node, Scalar, ScalarValue, Style};
use super::path::{push_index, push_key};
use super::{encoding, merge, scalar, syntax};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// Deepest nesting of lists and mappings, aliases followed.
pub const MAX_DEPTH: usize = 64;

/// How many values aliases and `<<` may add to a text, beyond ten for each value written.
const MAX_EXPANSION: usize = 100_000;

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
                    Diagnostic::new(Code::EmptyFile, Span::at(0), "the file holds nothing but white space and comments")
                        .help("write at least `task:` with what is to be done; `wf init` makes a file to begin with"),
                );
            }
            (None, diagnostics)
        }
    }
}

/// A finished value, with what it costs where an alias repeats it.
#[derive(Clone, Debug)]
struct Built {
    node: Arc<Node>,
    /// Values in it, itself included, aliases followed.
    size: usize,
    /// Levels of lists and mappings in it, aliases followed.
    depth: usize,
}

/// What the next value of a mapping belongs to.
enum Pending {
    Key(Arc<str>, Span),
    Merge(Span),
    /// The key was reported; its value is read and dropped.
    Dropped,
}

enum Content {
    List(Vec<Arc<Node>>),
    Map {
        entries: Vec<Entry>,
        places: HashMap<Arc<str>, usize>,
        merges: Vec<(Span, Arc<Node>)>,
        pending: Option<Pending>,
        /// It is an unquoted `{{ … }}`.
        template: bool,
    },
}

/// A list or mapping that is not finished yet.
struct Frame {
    start: usize,
    end: usize,
    anchor: usize,
    reported: bool,
    size: usize,
    depth: usize,
    content: Content,
}

struct Builder<'s> {
    source: &'s Source,
    diagnostics: Vec<Diagnostic>,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Built>,
    root: Option<Built>,
    written: usize,
    expanded: usize,
}

impl<'s> Builder<'s> {
    fn new(source: &'s Source, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            source,
            diagnostics,
            stack: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            written: 0,
            expanded: 0,
        }
    }

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
                    self.report(diagnostic);
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
                    let content = Content::Map {
                        entries: Vec::new(),
                        places: HashMap::new(),
                        merges: Vec::new(),
                        pending: None,
                        template: false,
                    };
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

    /// A `{` right after the `{` it is the first key of: what was meant is a template.
    fn mark_template(&mut self, span: Span) {
        let text = self.source.text();
        if let Some(Frame { start, content: Content::Map { entries, pending: None, template, .. }, .. }) =
            self.stack.last_mut()
        {
            *template |= entries.is_empty() && *start + 1 == span.start && text[*start..].starts_with("{{");
        }
    }

    fn open(&mut self, span: Span, anchor: usize, reported: bool, content: Content) -> bool {
        if self.stack.len() >= MAX_DEPTH {
            self.report(too_deep(span));
            return false;
        }
        self.stack.push(Frame {
            start: span.start,
            end: span.end,
            anchor,
            reported,
            size: 1,
            depth: 1,
            content,
        });
        true
    }

    fn close(&mut self, span: Span) -> bool {
        let Some(mut frame) = self.stack.pop() else { return true };
        // A block's end is the next thing; what people see ends with its last value.
        if span.end > span.start {
            frame.end = span.end;
        }
        let whole = Span::new(frame.start, frame.end.max(frame.start));
        let kind = match frame.content {
            Content::List(items) => Kind::List(items),
            Content::Map { template: true, .. } => {
                let diagnostic = syntax::unquoted_template(self.source, whole);
                self.report(diagnostic);
                Kind::Reported
            }
            Content::Map { mut entries, places, merges, .. } => {
                let path = self.path();
                for (key, source) in merges {
                    if let Err(span) = merge::merge(&mut entries, &places, &source) {
                        self.diagnostics.push(
                            Diagnostic::new(
                                Code::WrongType,
                                span,
                                "`<<` takes a mapping, or a list of mappings",
                            )
                            .path(path.clone())
                            .help("name an anchor that marks a mapping: `<<: *defaults`")
                            .related(key, "merged here"),
                        );
                    }
                }
                Kind::Map(entries)
            }
        };
        let kind = if frame.reported { Kind::Reported } else { kind };
        let built =
            Built { node: Arc::new(Node { span: whole, kind }), size: frame.size, depth: frame.depth };
        self.finish(built, frame.anchor)
    }

    fn alias(&mut self, id: usize, span: Span) -> bool {
        let Some(built) = self.anchors.get(&id).cloned() else {
            self.report(
                Diagnostic::new(Code::YamlSyntax, span, "the alias stands inside the value it names")
                    .help("a value cannot hold itself; write the part that is meant out"),
            );
            return self.finish(Built { node: reported(span), size: 1, depth: 0 }, 0);
        };
        if self.stack.len() + built.depth > MAX_DEPTH {
            self.report(too_deep(span));
            return false;
        }
        self.expanded += built.size;
        if self.expanded > MAX_EXPANSION + 10 * self.written {
            self.report(
                Diagnostic::new(
                    Code::AliasLimit,
                    span,
                    format!("aliases make the file grow by more than {MAX_EXPANSION} values"),
                )
                .help("name the large value once, and refer to it less often"),
            );
            return false;
        }
        self.finish(built, 0)
    }

    /// Puts a finished value where it belongs.
    fn finish(&mut self, built: Built, anchor: usize) -> bool {
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        if let Some(Frame { content: Content::Map { pending: None, .. }, .. }) = self.stack.last() {
            return self.key(&built);
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(built);
            return true;
        };
        frame.size += built.size;
        frame.depth = frame.depth.max(built.depth + 1);
        // An alias stands where it is written, its value elsewhere.
        if built.node.span.start >= frame.start {
            frame.end = frame.end.max(built.node.span.end);
        }
        match &mut frame.content {
            Content::List(items) => items.push(built.node),
            Content::Map { entries, places, merges, pending, .. } => match pending.take() {
                Some(Pending::Key(key, key_span)) => {
                    places.insert(key.clone(), entries.len());
                    entries.push(Entry { key, key_span, value: built.node });
                }
                Some(Pending::Merge(span)) => merges.push((span, built.node)),
                Some(Pending::Dropped) | None => {}
            },
        }
        true
    }

    fn key(&mut self, built: &Built) -> bool {
        let path = self.path();
        let node = &built.node;
        let Some(frame) = self.stack.last_mut() else { return true };
        frame.size += 1;
        frame.end = frame.end.max(node.span.end);
        let Content::Map { entries, places, merges, pending, template } = &mut frame.content else {
            return true;
        };
        let (next, diagnostic) = match node.as_scalar() {
            Some(scalar) if scalar.value == ScalarValue::String => {
                let is_merge = scalar.style == Style::Plain && &*scalar.text == "<<";
                let first = match is_merge {
                    true => merges.first().map(|(span, _)| *span),
                    false => places.get(&scalar.text).map(|place| entries[*place].key_span),
                };
                match first {
                    Some(first) => {
                        let mut full = path;
                        push_key(&mut full, &scalar.text);
                        let diagnostic = Diagnostic::new(
                            Code::DuplicateKey,
                            node.span,
                            format!("the key `{}` is there twice in one mapping", scalar.text),
                        )
                        .path(full)
                        .help(match is_merge {
                            true => "merge several mappings with one list: `<<: [*a, *b]`",
                            false => "keep one of the two",
                        })
                        .related(first, "first written here");
                        (Pending::Dropped, Some(diagnostic))
                    }
                    None if is_merge => (Pending::Merge(node.span), None),
                    None => (Pending::Key(scalar.text.clone(), node.span), None),
                }
            }
            _ if *template || matches!(node.kind, Kind::Reported) => (Pending::Dropped, None),
            Some(scalar) if scalar.text.is_empty() => (
                Pending::Dropped,
                Some(
                    Diagnostic::new(Code::NonStringKey, node.span, "a key is missing before the `:`")
                        .path(path)
                        .help("write the key, or quote the text if the `:` belongs to it"),
                ),
            ),
            Some(scalar) => (
                Pending::Dropped,
                Some(
                    Diagnostic::new(
                        Code::NonStringKey,
                        node.span,
                        format!("the key `{}` is {}, not a string", scalar.text, node.describe()),
                    )
                    .path(path)
                    .help(format!("quote it: `\"{}\":`", scalar.text))
                    .suggest(node.span, format!("\"{}\"", scalar.text)),
                ),
            ),
            None => (
                Pending::Dropped,
                Some(
                    Diagnostic::new(
                        Code::NonStringKey,
                        node.span,
                        format!("a key is {}, not a string", node.describe()),
                    )
                    .path(path)
                    .help("keys are strings; quote the text if braces or brackets belong to it"),
                ),
            ),
        };
        *pending = Some(next);
        self.diagnostics.extend(diagnostic);
        true
    }

    /// Adds a diagnostic, with the place in the document where the reading stands.
    fn report(&mut self, diagnostic: Diagnostic) {
        let path = self.path();
        self.diagnostics.push(diagnostic.path(path));
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.stack {
            match &frame.content {
                Content::List(items) => push_index(&mut path, items.len()),
                Content::Map { pending: Some(Pending::Key(key, _)), .. } => push_key(&mut path, key),
                Content::Map { .. } => {}
            }
        }
        path
    }

    fn span(&self, range: Option<std::ops::Range<usize>>) -> Span {
        let range = range.unwrap_or_default();
        let text = self.source.text();
        let start = text.floor_char_boundary(range.start);
        Span::new(start, text.floor_char_boundary(range.end).max(start))
    }
}

fn reported(span: Span) -> Arc<Node> {
    Arc::new(Node { span, kind: Kind::Reported })
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::TooDeep,
        span,
        format!("lists and mappings are nested more than {MAX_DEPTH} levels deep"),
    )
    .help("keep deeply nested data in a file that a tool reads")
}
