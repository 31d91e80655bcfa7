//! From the tree to a [`Document`], node by node.
//!
//! Main function: [`lower`]. A field that failed becomes `Reported`, its siblings are still read. Knows
//! the shape of the format; does not know whether names point anywhere.

mod ambiguous;
mod fields;
mod file;
mod numbers;
mod step;
mod tool;
mod values;

use std::sync::Arc;

use super::node::Node;
use super::types::Document;
use crate::diagnostic::{Diagnostic, sort};

/// What reading a tree gathers.
#[derive(Default)]
struct Lowering {
    diagnostics: Vec<Diagnostic>,
}

/// Reads a document from its tree. Whatever failed is `Reported` in it, and a diagnostic says why.
pub fn lower(root: &Arc<Node>) -> (Document, Vec<Diagnostic>) {
    let mut lowering = Lowering::default();
    let document = lowering.document(root);
    let mut diagnostics = lowering.diagnostics;
    // What several places share by an alias is wrong once, where it is written.
    sort(&mut diagnostics);
    diagnostics.dedup_by(|a, b| (a.code, a.span, &a.message) == (b.code, b.span, &b.message));
    (document, diagnostics)
}
