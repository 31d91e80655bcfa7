//! The effect of a declared tool that does not say it: a query that only selects and a GET only read.
//!
//! When in doubt the effect is [`Effect::Once`]. Knows SQL's words, not its grammar.

use crate::spec::Effect;

/// The effect of an HTTP method.
pub(super) fn effect_of_method(method: &str) -> Effect {
    match method.to_ascii_uppercase().as_str() {
        "GET" | "HEAD" => Effect::Read,
        _ => Effect::Once,
    }
}

/// The effect of an SQL query.
pub(super) fn effect_of_query(query: &str) -> Effect {
    let words = words(query);
    let first = words.first().map(String::as_str).unwrap_or_default();
    let reads = match first {
        "SELECT" | "VALUES" => true,
        "EXPLAIN" => true,
        "WITH" => {
            !words.iter().any(|word| matches!(word.as_str(), "INSERT" | "UPDATE" | "DELETE" | "REPLACE"))
        }
        _ => false,
    };
    // Text after a `;` is another statement.
    let single =
        words.iter().position(|word| word == ";").is_none_or(|at| words[at..].iter().all(|word| word == ";"));
    if reads && single { Effect::Read } else { Effect::Once }
}

/// The words of a query in upper case, and its semicolons; no comments, no quoted text. A name that is
/// called like a function is not a keyword.
fn words(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let skip = if let Some(comment) = rest.strip_prefix("--") {
            2 + comment.find('\n').unwrap_or(comment.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |at| at + 4)
        } else if matches!(first, '\'' | '"' | '`' | '[') {
            let close = if first == '[' { ']' } else { first };
            rest[1..].find(close).map_or(rest.len(), |at| at + 2)
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            if !rest[end..].trim_start().starts_with('(') || words.is_empty() {
                words.push(rest[..end].to_uppercase());
            }
            end
        } else {
            if first == ';' {
                words.push(";".to_owned());
            }
            first.len_utf8()
        };
        rest = &rest[skip..];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_query_that_selects_reads() {
        for (query, effect) in [
            ("SELECT 1", Effect::Read),
            ("  -- note\n/* more */ select * from t;", Effect::Read),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Effect::Read),
            ("WITH a AS (SELECT 1) DELETE FROM t", Effect::Once),
            ("WITH a AS (SELECT replace(x, 'a', 'b') FROM t) SELECT * FROM a", Effect::Read),
            ("SELECT 'delete; x'; ", Effect::Read),
            ("SELECT 1; DROP TABLE t", Effect::Once),
            ("VALUES (1)", Effect::Read),
            ("EXPLAIN QUERY PLAN SELECT 1", Effect::Read),
            ("INSERT INTO t VALUES (1)", Effect::Once),
            ("PRAGMA user_version = 3", Effect::Once),
            ("", Effect::Once),
            ("SELECT 'unclosed", Effect::Read),
        ] {
            assert_eq!(effect_of_query(query), effect, "{query}");
        }
        assert_eq!(effect_of_method("get"), Effect::Read);
        assert_eq!(effect_of_method("POST"), Effect::Once);
    }
}
