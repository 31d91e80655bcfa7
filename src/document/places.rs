//! Which keys a mapping has so far, for finding one that stands twice.
//!
//! Main type: [`Places`]. Knows keys and where they stand; knows no value.

use std::collections::HashMap;
use std::sync::Arc;

/// Where the keys of a mapping stand among its entries.
#[derive(Default)]
pub struct Places {
    /// Most mappings have a handful of keys: comparing these costs less than hashing.
    few: Vec<(Arc<str>, usize)>,
    many: HashMap<Arc<str>, usize>,
}

/// How many keys are compared one by one.
const FEW: usize = 8;

impl Places {
    /// Adds a key that is not there yet.
    pub fn insert(&mut self, key: Arc<str>, place: usize) {
        if self.few.len() < FEW {
            self.few.push((key, place));
        } else {
            self.many.insert(key, place);
        }
    }

    /// The place of a key.
    pub fn get(&self, key: &str) -> Option<usize> {
        let few = self.few.iter().find(|(known, _)| **known == *key).map(|(_, place)| *place);
        few.or_else(|| if self.many.is_empty() { None } else { self.many.get(key).copied() })
    }
}
