//! The tree under construction: lists and mappings that are open, anchors, keys, merges and bounds.
//!
//! Main type: [`Builder`], fed with values in the order of the text. It reports duplicate keys, keys that
//! are no strings, and growth beyond the bounds. Knows no parser.

use std::collections::HashMap;
use std::sync::Arc;

use super::draft::Draft;
use super::merge;
use super::node::{Entry, Kind, Node, ScalarValue, Style};
use super::path::{push_index, push_key};
use super::places::Places;
use super::syntax;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// Deepest nesting of lists and mappings, aliases followed.
pub const MAX_DEPTH: usize = 64;

/// How many values aliases and `<<` may add to a text, beyond ten for each value written.
const MAX_EXPANSION: usize = 100_000;

/// How many mistakes are reported before the rest is left out, so that no text costs more than its size.
const MAX_REPORTS: usize = 10_000;

/// A finished value, with what it costs where an alias repeats it.
#[derive(Clone, Debug)]
pub struct Built {
    pub node: Arc<Node>,
    /// Values in it, itself included, aliases followed.
    pub size: usize,
    /// Levels of lists and mappings in it, aliases followed.
    pub depth: usize,
}

/// What the next value of a mapping belongs to.
pub enum Pending {
    Key(Arc<str>, Span),
    Merge(Span),
    /// The key was reported; its value is read and dropped.
    Dropped,
}

/// What an open list or mapping holds so far.
pub enum Content {
    List(Vec<Arc<Node>>),
    Map {
        entries: Vec<Entry>,
        places: Places,
        merges: Vec<(Span, Arc<Node>)>,
        pending: Option<Pending>,
        /// It is an unquoted `{{ … }}`.
        template: bool,
    },
}

impl Content {
    /// A mapping without keys.
    pub fn map() -> Self {
        Self::Map {
            entries: Vec::new(),
            places: Places::default(),
            merges: Vec::new(),
            pending: None,
            template: false,
        }
    }
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

/// A tree that is being put together.
pub struct Builder<'s> {
    pub source: &'s Source,
    pub draft: &'s Draft,
    pub diagnostics: Vec<Diagnostic>,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Built>,
    pub root: Option<Built>,
    /// How many events the text gave so far.
    pub written: usize,
    /// Where the last scalar, bracket or alias ended.
    pub last_end: usize,
    expanded: usize,
}

impl<'s> Builder<'s> {
    pub fn new(source: &'s Source, draft: &'s Draft) -> Self {
        Self {
            source,
            draft,
            diagnostics: Vec::new(),
            stack: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            written: 0,
            last_end: 0,
            expanded: 0,
        }
    }

    pub fn open(&mut self, span: Span, anchor: usize, reported: bool, content: Content) -> bool {
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

    pub fn close(&mut self, span: Span) -> bool {
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
                for (key, source) in merges {
                    if let Err(span) = merge::merge(&mut entries, &places, &source) {
                        self.diagnostics.push(
                            Diagnostic::new(
                                Code::WrongType,
                                span,
                                "`<<` takes a mapping, or a list of mappings",
                            )
                            .path(self.path())
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

    pub fn alias(&mut self, id: usize, span: Span) -> bool {
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
    pub fn finish(&mut self, built: Built, anchor: usize) -> bool {
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
                    let Some(hole) = self.draft.holes.of_key(key_span.start) else {
                        entries.push(Entry { key, key_span, value: built.node });
                        return true;
                    };
                    let value = reported(hole.span);
                    entries.push(Entry { key, key_span, value: value.clone() });
                    if let Some((name, start)) = &hole.swallowed {
                        swallowed(entries, name, *start, value);
                    }
                }
                Some(Pending::Merge(span)) => {
                    let hole = self.draft.holes.of_key(span.start);
                    merges.push((span, hole.map_or(built.node, |hole| reported(hole.span))));
                }
                Some(Pending::Dropped) | None => {}
            },
        }
        true
    }

    /// Adds a diagnostic, with the place in the document where the reading stands.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_REPORTS {
            let path = self.path();
            self.diagnostics.push(diagnostic.path(path));
        }
    }

    /// Whether what is read now stands under a key of the file that nothing reads and no alias names.
    pub fn is_unread(&self) -> bool {
        let file = self.stack.first().map(|frame| &frame.content);
        matches!(file, Some(Content::Map { pending: Some(Pending::Key(key, _)), .. }) if key.starts_with("x-"))
            && self.stack.iter().all(|frame| frame.anchor == 0)
    }

    /// A `{` right after the `{` it is the first key of: what was meant is a template.
    pub fn mark_template(&mut self, span: Span) {
        let text = self.source.text();
        if let Some(Frame { start, content: Content::Map { entries, pending: None, template, .. }, .. }) =
            self.stack.last_mut()
        {
            *template |= entries.is_empty() && *start + 1 == span.start && text[*start..].starts_with("{{");
        }
    }

    fn key(&mut self, built: &Built) -> bool {
        let node = &built.node;
        let Some(frame) = self.stack.last_mut() else { return true };
        frame.size += 1;
        frame.end = frame.end.max(node.span.end);
        let Content::Map { entries, places, merges, pending, template } = &mut frame.content else {
            return true;
        };
        let Some(scalar) = node.as_scalar().filter(|scalar| scalar.value == ScalarValue::String) else {
            *pending = Some(Pending::Dropped);
            // Its value was taken out, and it is a key only because of what was broken.
            if self.draft.holes.of_key(node.span.start).is_some() {
                frame.reported = true;
                return true;
            }
            // Inside an unquoted template, and where the key was reported, all is said.
            if !*template && !node.is_reported() {
                self.report(non_string_key(node));
            }
            return true;
        };
        let is_merge = scalar.style == Style::Plain && &*scalar.text == "<<";
        let first = match is_merge {
            true => merges.first().map(|(span, _)| *span),
            false => places.get(&scalar.text).map(|place| entries[place].key_span),
        };
        match first {
            None if is_merge => *pending = Some(Pending::Merge(node.span)),
            None => *pending = Some(Pending::Key(scalar.text.clone(), node.span)),
            Some(first) => {
                *pending = Some(Pending::Dropped);
                let diagnostic = duplicate_key(node.span, &scalar.text, first, is_merge);
                let key = scalar.text.clone();
                self.report(diagnostic);
                if let Some(last) = self.diagnostics.last_mut().filter(|last| last.span == node.span) {
                    push_key(&mut last.path, &key);
                }
            }
        }
        true
    }

    /// Where the outermost list or mapping in brackets that is open starts.
    pub fn flow_start(&self) -> Option<usize> {
        let text = self.source.text();
        let starts = self.stack.iter().map(|frame| frame.start);
        starts.into_iter().find(|start| text[*start..].starts_with(['[', '{']))
    }

    /// The place in the document where the reading stands.
    pub fn path(&self) -> String {
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
}

/// Adds a key that stands inside what was taken out and was perhaps meant to stand beside it. Its place is
/// empty, by which the reading knows it.
fn swallowed(entries: &mut Vec<Entry>, name: &str, start: usize, value: Arc<Node>) {
    if !entries.iter().any(|entry| &*entry.key == name) {
        entries.push(Entry { key: name.into(), key_span: Span::at(start), value });
    }
}

/// A value that was reported.
pub fn reported(span: Span) -> Arc<Node> {
    Arc::new(Node { span, kind: Kind::Reported })
}

/// The mistake of a nesting beyond the bound.
pub fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::TooDeep,
        span,
        format!("lists and mappings are nested more than {MAX_DEPTH} levels deep"),
    )
    .help("keep deeply nested data in a file that a tool reads")
}

fn duplicate_key(span: Span, key: &str, first: Span, is_merge: bool) -> Diagnostic {
    let help = match is_merge {
        true => "merge several mappings with one list: `<<: [*a, *b]`",
        false => "keep one of the two",
    };
    Diagnostic::new(Code::DuplicateKey, span, format!("the key `{key}` is there twice in one mapping"))
        .help(help)
        .related(first, "first written here")
}

/// The mistake of a key that is something else than a string.
fn non_string_key(node: &Node) -> Diagnostic {
    match node.as_scalar() {
        Some(scalar) if scalar.text.is_empty() => {
            Diagnostic::new(Code::NonStringKey, node.span, "a key is missing before the `:`")
                .help("write the key, or quote the text if the `:` belongs to it")
        }
        Some(scalar) => {
            let message = format!("the key `{}` is {}, not a string", scalar.text, node.describe());
            let quoted = format!("\"{}\"", scalar.text);
            Diagnostic::new(Code::NonStringKey, node.span, message)
                .help(format!("quote it: `{quoted}:`"))
                .suggest(node.span, quoted)
        }
        None => Diagnostic::new(
            Code::NonStringKey,
            node.span,
            format!("a key is {}, not a string", node.describe()),
        )
        .help("keys are strings; quote the text if braces or brackets belong to it"),
    }
}
