//! Reading on after broken syntax, so that one mistake does not hide another.
//!
//! Main function: [`tree`]. Where the parser stops, the mistake is mended if it is mechanical, else the
//! smallest item or entry around it is taken out and `Reported`; then the text is read again. A block
//! that does not help gives way to the next larger one. Where none helps, the syntax errors are all that
//! is said. Rounds and bytes are bounded. Knows no key of the workflow format.

use std::sync::Arc;

use super::builder::Builder;
use super::draft::Draft;
use super::encoding;
use super::layout::{Block, Layout, Opens};
use super::node::Node;
use super::yaml::{Mistake, Outcome};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// How often a text is read at most.
const MAX_ROUNDS: usize = 64;

/// How many bytes are read again at most, beyond four times the text.
const MAX_REREAD: usize = 4 * 1024 * 1024;

/// Reads a text. `None` where its syntax is broken beyond recovery, where it is too large in some way, or
/// where it holds no value at all; a diagnostic says which.
pub fn tree(source: &Source) -> (Option<Arc<Node>>, Vec<Diagnostic>) {
    if let Some(diagnostic) = encoding::too_large(source.text().len()) {
        return (None, vec![diagnostic]);
    }
    let mut diagnostics = encoding::control_characters(source);
    let masked = encoding::mask(source.text());
    let mut draft = Draft::new(masked.as_deref().unwrap_or(source.text()));
    let mut trial = Trial::default();
    let rounds = MAX_ROUNDS.min(4 + MAX_REREAD / source.text().len().max(1));
    for _ in 0..rounds {
        let mut builder = Builder::new(source, &draft);
        let outcome = builder.read();
        let Builder { root, diagnostics: found, .. } = builder;
        match outcome {
            Outcome::Stopped => {
                diagnostics.extend(found);
                return (None, diagnostics);
            }
            Outcome::Finished => {
                diagnostics.extend(found);
                return (whole(source, root.map(|built| built.node), &mut diagnostics), diagnostics);
            }
            Outcome::Broken(mistake) => {
                if !trial.go_on(&mut draft, mistake, &mut diagnostics) {
                    return (None, diagnostics);
                }
            }
        }
    }
    (None, diagnostics)
}

/// The root, unless there is nothing in it.
fn whole(source: &Source, root: Option<Arc<Node>>, diagnostics: &mut Vec<Diagnostic>) -> Option<Arc<Node>> {
    let root = root.filter(|node| !(node.is_null() && source.slice(node.span).is_empty()));
    if root.is_none() && diagnostics.is_empty() {
        diagnostics.push(
            Diagnostic::new(
                Code::EmptyFile,
                Span::at(0),
                "the file holds nothing but white space and comments",
            )
            .help("write at least `task:` with what is to be done"),
        );
    }
    root
}

/// The mistake that is being worked on.
#[derive(Default)]
struct Trial {
    /// Where it stands, by what was changed last; empty before the first.
    region: Option<Span>,
    /// The line it was blamed on.
    line: Span,
    /// The blocks around it that were not taken out yet, the smallest first.
    larger: std::vec::IntoIter<Block>,
}

impl Trial {
    /// Changes the text so that it can be read again; false where nothing is left to try.
    fn go_on(&mut self, draft: &mut Draft, mistake: Mistake, found: &mut Vec<Diagnostic>) -> bool {
        let Mistake { diagnostic, origin } = mistake;
        let same = self.region.is_some_and(|region| region.start <= origin && origin <= region.end);
        if !same {
            let layout = Layout::new(draft.flat());
            self.line = layout.span(layout.number(origin));
            self.larger = layout.blocks(origin).into_iter();
            let mended = diagnostic.as_ref().and_then(|diagnostic| mend(draft, diagnostic));
            found.extend(diagnostic);
            if let Some(region) = mended {
                self.region = Some(region);
                return true;
            }
        }
        let line = Opens::of(&draft.flat()[self.line.start..self.line.end]);
        // A key that stands too far to the right belongs beside the list, not into its last item.
        let is_key = line.key.is_some() && line.dashes.is_empty();
        let misses = |block: &Block| is_key && block.is_plain_item && block.end >= self.line.end;
        let Some(block) = self.larger.find(|block| !misses(block)) else { return false };
        let start = block.start.min(self.line.start);
        self.region = Some(Span::new(start, block.end.max(self.line.end)));
        draft.take_out(&block, self.line);
        true
    }
}

/// Mends what is mechanical and changes no value; the lines it stands in, if it is.
fn mend(draft: &mut Draft, diagnostic: &Diagnostic) -> Option<Span> {
    let suggestion = diagnostic.suggestion.as_ref()?;
    let layout = Layout::new(draft.flat());
    let last = layout.number(suggestion.span.end);
    let first = layout.span(layout.number(suggestion.span.start)).start;
    let mut lines = Span::new(first, layout.span(last).end);
    match (diagnostic.code, &*suggestion.replacement) {
        (Code::TabIndent, _) => {
            let tabs = layout.tabs(diagnostic.span.start);
            // A tab may be as wide as the next line is indented, which then seems to be what is wrong.
            lines.end = layout.first_character_below(last).unwrap_or(lines.end);
            let width = layout.tab_width(&tabs);
            draft.expand_tabs(&tabs, width);
        }
        (Code::YamlSyntax, ": ") => draft.put_space(suggestion.span.end),
        _ => return None,
    }
    Some(lines)
}
