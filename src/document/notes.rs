//! The comments of a text, found by YAML's rules: a `#` inside quotes or a block scalar is none.
//!
//! Main function: [`comments`]. Knows no comment's meaning.

use granit_parser::{Event, Parser, options};

use super::builder::MAX_DEPTH;
use super::encoding;
use crate::source::{Source, Span};

/// The places of all comments, each from its `#` to the end of its line, in order. Those behind broken
/// syntax are not found.
pub fn comments(source: &Source) -> Vec<Span> {
    let masked = encoding::mask(source.text());
    let text = masked.as_deref().unwrap_or(source.text());
    let options = options! {
        emit_unresolved_aliases: true,
        emit_comments: true,
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MAX_DEPTH + 2,
        block_nesting_limit: MAX_DEPTH + 2,
    };
    let mut found = Vec::new();
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((Event::Comment(..), place)) => {
                found.extend(place.byte_range().map(|range| Span::new(range.start, range.end)));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_yaml_takes_for_a_comment_is_one() {
        let text = "# one\na: \"x # no\" # two\nb: x#no\nc: |\n  # no\n  text\n  # no\n# three\nd: 'y\n  # no'\n\
                    e: [1, # four\n  2]\nf: >- # five\n  # no\n\n# six\ng:\n  # seven\n  - 1 #\u{e9}\r\n";
        let source = Source::new("f", text);
        let found: Vec<&str> = comments(&source).into_iter().map(|span| source.slice(span)).collect();
        let expected = ["# one", "# two", "# three", "# four", "# five", "# six", "# seven", "#\u{e9}"];
        assert_eq!(found, expected);
    }
}
