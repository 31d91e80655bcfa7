//! `<<`: the entries of other mappings, where a mapping does not have the keys itself.
//!
//! Main function: [`merge`]. Keys written out win wherever `<<` stands; in a list of mappings an
//! earlier one wins over a later one.

use std::collections::HashSet;
use std::sync::Arc;

use super::node::{Entry, Kind, Node};
use super::places::Places;
use crate::source::Span;

/// Adds what `source` (a mapping, or a list of mappings) has and `entries` lack. `written` holds the
/// keys that were written out. An error is the place of what is neither.
pub fn merge(entries: &mut Vec<Entry>, written: &Places, source: &Node) -> Result<(), Span> {
    let mut merged: HashSet<Arc<str>> = HashSet::new();
    let mut add = |from: &[Entry]| {
        for entry in from {
            if written.get(&entry.key).is_none() && merged.insert(entry.key.clone()) {
                entries.push(entry.clone());
            }
        }
    };
    match &source.kind {
        Kind::Reported => Ok(()),
        Kind::Map(from) => {
            add(from);
            Ok(())
        }
        Kind::List(items) => items.iter().try_for_each(|item| match &item.kind {
            Kind::Map(from) => {
                add(from);
                Ok(())
            }
            Kind::Reported => Ok(()),
            _ => Err(item.span),
        }),
        Kind::Scalar(_) => Err(source.span),
    }
}
