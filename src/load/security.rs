//! Secrets written into a file.
//!
//! Looks at the whole text, comments too, for what only a key looks like: a known prefix with a random
//! part behind it, a bearer token, a private key, a password in a url. Knows no key's meaning; long
//! words and hashes are no secrets.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::node::{Kind, Node};
use crate::document::{Document, Field, Spanned, ToolKindDoc};
use crate::source::{Source, Span};

/// Prefixes of keys, the fewest characters behind them, and whose they are.
const PREFIXES: [(&str, usize, &str); 20] = [
    ("sk-", 20, "an API key"),
    ("sk_live_", 16, "a Stripe key"),
    ("rk_live_", 16, "a Stripe key"),
    ("ghp_", 30, "a GitHub token"),
    ("gho_", 30, "a GitHub token"),
    ("ghu_", 30, "a GitHub token"),
    ("ghs_", 30, "a GitHub token"),
    ("ghr_", 30, "a GitHub token"),
    ("github_pat_", 22, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("xoxb-", 20, "a Slack token"),
    ("xoxp-", 20, "a Slack token"),
    ("xoxa-", 20, "a Slack token"),
    ("xoxr-", 20, "a Slack token"),
    ("xoxs-", 20, "a Slack token"),
    ("AIza", 30, "a Google API key"),
    ("hf_", 30, "a Hugging Face token"),
    ("npm_", 30, "an npm token"),
    ("gsk_", 30, "an API key"),
    ("pypi-", 40, "a PyPI token"),
];

/// Reports every secret in the text, at the value it stands in.
pub(super) fn check_secrets(source: &Source, document: &Document, found: &mut Vec<Diagnostic>) {
    let secrets = find_secrets(source.text());
    if secrets.is_empty() {
        return;
    }
    let mut places = places(document);
    places.sort_by_key(|(place, _)| (place.start, Reverse(place.end)));
    let mut reported = HashSet::new();
    for (span, what) in secrets {
        // Strings do not hold one another: the last one that begins before it is the only candidate.
        let after = places.partition_point(|(place, _)| place.start <= span.start);
        let around = places[..after].last().filter(|(place, _)| span.end <= place.end);
        let hidden = Some(span);
        let (span, path) = around.map_or((span, ""), |(place, path)| (*place, path.as_str()));
        if !reported.insert((span.start, span.end)) {
            continue;
        }
        let message = format!("{what} stands in the file");
        let help = "put it into an environment variable, list that under `env`, and write `{{ env.NAME }}` \
                    in the tool; a key that was shared should be replaced";
        let diagnostic = Diagnostic::new(Code::SecretInFile, span, message).path(path).help(help);
        found.push(Diagnostic { hidden, ..diagnostic });
    }
}

fn find_secrets(text: &str) -> Vec<(Span, &'static str)> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut bearer = false;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            if bytes[at..].starts_with(b"://")
                && let Some(end) = password(&text[at + 3..])
            {
                found.push((Span::new(at + 3, at + 3 + end), "a password in a url"));
            }
            // Only blanks may stand between `Bearer` and its token.
            bearer = bearer && bytes[at] == b' ';
            // Inside a longer character no byte is one of a word.
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
        let word = &text[at..at + length];
        let span = Span::new(at, at + length);
        if let Some(what) = secret(word) {
            found.push((span, what));
        } else if bearer && length >= 20 && random(word, 16) {
            found.push((span, "a bearer token"));
        } else if word.starts_with("-----BEGIN") {
            let line = text[at..].lines().next().unwrap_or_default();
            if line.contains("PRIVATE KEY-----") {
                found.push((Span::new(at, at + line.len()), "a private key"));
            }
        }
        bearer = word.eq_ignore_ascii_case("bearer");
        at += length;
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

fn secret(word: &str) -> Option<&'static str> {
    let first = *word.as_bytes().first()?;
    if !matches!(first, b's' | b'r' | b'g' | b'x' | b'A' | b'h' | b'n' | b'p' | b'e') {
        return None;
    }
    if word.len() == 20
        && (word.starts_with("AKIA") || word.starts_with("ASIA"))
        && word[4..].bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    {
        return Some("an AWS access key");
    }
    if word.starts_with("eyJ") {
        let parts: Vec<&str> = word.split('.').collect();
        let token = matches!(parts.as_slice(), [head, body, seal]
            if body.starts_with("eyJ") && head.len() > 12 && body.len() > 12 && seal.len() > 12);
        return token.then_some("a JSON web token");
    }
    PREFIXES.iter().find_map(|(prefix, least, what)| {
        let rest = word.strip_prefix(prefix)?;
        // A Slack token is made of long numbers with letters behind them.
        let numbers = |part: &str| part.len() >= 10 && part.bytes().all(|byte| byte.is_ascii_digit());
        let slack = prefix.starts_with("xox") && rest.split('-').any(numbers);
        (rest.len() >= *least && (slack || random(rest, 12))).then_some(*what)
    })
}

/// Whether some part of a word of at least `least` characters mixes digits and letters: words do not.
/// One digit is enough among letters of both cases.
fn random(word: &str, least: usize) -> bool {
    word.split(['-', '_', '.']).filter(|part| part.len() >= least).any(|part| {
        let has = |kind: fn(&u8) -> bool| part.as_bytes().iter().any(kind);
        let cases = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        (digits >= 2 && has(u8::is_ascii_alphabetic)) || (digits == 1 && cases)
    })
}

/// The end of `user:password` in what follows `://`, if both are there and written out.
fn password(rest: &str) -> Option<usize> {
    let authority = rest.split(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c)).next()?;
    let (credentials, _) = authority.rsplit_once('@')?;
    let (user, password) = credentials.split_once(':')?;
    let written = !password.is_empty() && !password.contains(['{', '$', '*']) && password != "password";
    (written && !user.contains('{')).then_some(credentials.len())
}

/// The strings of a document with their places, innermost first.
fn places(document: &Document) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let mut field = |field: &Field<String>, trail: Trail<'_>| {
        if let Some(text) = field.spanned() {
            found.push((text.span, trail.to_string()));
        }
    };
    field(&document.name, Trail::root("name"));
    field(&document.description, Trail::root("description"));
    field(&document.task, Trail::root("task"));
    field(&document.system, Trail::root("system"));
    if let Some(model) = document.model.get() {
        let trail = Trail::root("model");
        field(&model.name, trail.key("name"));
        field(&model.base_url, trail.key("base_url"));
    }
    let mut trees: Vec<(&Node, String)> = Vec::new();
    for input in &document.inputs {
        let path = format!("inputs.{}", input.name.value);
        trees.extend(input.default.get().map(|node| (&**node, format!("{path}.default"))));
        trees.extend(input.schema.get().map(|node| (&**node, path)));
    }
    for tool in &document.tools {
        let root = Trail::root("tools");
        let trail = root.key(&tool.name.value);
        field(&tool.description, trail.key("description"));
        let mut spanned = |text: &Spanned<String>, trail: Trail<'_>| {
            field(
                &Field::Present { key: text.span, value: Spanned { value: String::new(), span: text.span } },
                trail,
            );
        };
        match tool.kind.get() {
            Some(ToolKindDoc::Sql { database, init, query }) => {
                let trail = trail.key("sql");
                field(database, trail.key("database"));
                field(init, trail.key("init"));
                field(query, trail.key("query"));
            }
            Some(ToolKindDoc::Command { argv }) => {
                let trail = trail.key("command");
                argv.iter().enumerate().for_each(|(at, part)| spanned(part, trail.index(at)));
            }
            Some(ToolKindDoc::Http(http)) => {
                let trail = trail.key("http");
                for (key, pairs) in [("headers", &http.headers), ("query", &http.query)] {
                    let trail = trail.key(key);
                    pairs.iter().for_each(|(name, value)| spanned(value, trail.key(&name.value)));
                }
                field(&http.url, trail.key("url"));
                field(&http.body, trail.key("body"));
                trees.extend(http.json.get().map(|node| (&**node, trail.key("json").to_string())));
            }
            Some(ToolKindDoc::Builtin { with, .. }) => {
                trees.extend(with.get().map(|node| (&**node, trail.key("with").to_string())));
            }
            None => {}
        }
    }
    for (at, step) in document.steps.get().into_iter().flatten().enumerate() {
        let root = Trail::root(document.steps_key);
        let trail = root.index(at);
        field(&step.description, trail.key("description"));
        field(&step.when, trail.key("when"));
        trees.extend(step.args.get().map(|node| (&**node, trail.key("args").to_string())));
    }
    for (node, path) in trees {
        strings(node, path, &mut found);
    }
    found
}

fn strings(node: &Node, path: String, found: &mut Vec<(Span, String)>) {
    match &node.kind {
        Kind::Scalar(_) => found.push((node.span, path)),
        Kind::Reported => {}
        Kind::List(items) => {
            items.iter().enumerate().for_each(|(at, item)| strings(item, format!("{path}[{at}]"), found));
        }
        Kind::Map(entries) => {
            entries.iter().for_each(|entry| strings(&entry.value, format!("{path}.{}", entry.key), found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_and_words_are_not() {
        for text in [
            "k: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "\"xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx\"",
            "AKIAIOSFODNN7EXAMPLE",
            "key=AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
            "Authorization: \"Bearer 0a1b2c3d4e5f6a7b8c9d0e1f\"",
            "-----BEGIN RSA PRIVATE KEY-----",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
            "https://user:hunter22@example.com/x",
        ] {
            assert_eq!(find_secrets(text).len(), 1, "{text}");
        }
        for text in [
            "sk-learn-classification-report-for-the-week",
            "d41d8cd98f00b204e9800998ecf8427e0a1b2c3d4e5f60718293a4b5c6d7e8f9",
            "Bearer {{ env.TOKEN }}",
            "Bearer of the extraordinarily-long-bad-news-headlines",
            "a bearer 2026-W48-electronics-and-apparel",
            "https://example.com:8080/a@b:c",
            "https://user:{{ env.PASSWORD }}@example.com",
            "https://example.com/x?mail=a:b@c",
            "-----BEGIN CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----",
            "eyJ is how they start",
            "risk-20-percent-in-2026-and-more-words",
            "ghp_not_a_token_at_all_but_a_long_name_here",
        ] {
            assert_eq!(find_secrets(text), [], "{text}");
        }
    }
}
