//! From text to [`Document`]: YAML or JSON to a tree with places, the tree to typed fields.
//!
//! Knows syntax and the shape of the format; does not know whether names point anywhere.

mod builder;
mod comments;
mod draft;
pub mod duration;
mod encoding;
mod keys;
mod layout;
mod lower;
mod merge;
pub mod node;
mod notes;
mod path;
mod places;
mod recovery;
pub mod reply;
mod scalar;
pub mod schema;
mod syntax;
mod types;
mod yaml;

pub use encoding::{MAX_BYTES, source_from_bytes};
pub use lower::lower;
pub use recovery::tree;

pub use types::{
    Document, Field, Gaps, HttpDoc, InputDoc, LimitsDoc, ModelDoc, ReplanDoc, ReplanWhen, RetryDoc, Spanned,
    StepDoc, StepType, ToolDoc, ToolKindDoc,
};

pub use notes::comments;

use crate::diagnostic::{Diagnostic, sort};
use crate::source::Source;

/// Reads a workflow file. `None` where there is no tree to speak of; otherwise what failed is
/// `Reported` in the document, and everything else is there.
pub fn read(source: &Source) -> (Option<Document>, Vec<Diagnostic>) {
    let (root, mut diagnostics) = tree(source);
    let document = root.map(|root| {
        let (document, more) = lower(&root);
        diagnostics.extend(more);
        diagnostics.extend(comments::cut_texts(source, &document));
        document
    });
    sort(&mut diagnostics);
    (document, diagnostics)
}
