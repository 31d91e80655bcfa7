//! Where in a reply JSON stands: between prose, code fences and a model's thinking.
//!
//! One pass over the text: what stands inside a JSON value is never looked at for fences or tags, and
//! what stands inside broken JSON is never taken for a value of its own.

use std::collections::BTreeSet;

use super::json::Reader;
use super::quoted::{Places, Quoted};
use super::{Candidate, Reading, Repair, SyntaxError};

/// Names of the tags models think between.
const THINKING: [&str; 9] = [
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "analysis",
    "scratchpad",
    "inner_monologue",
];

/// Finds every object and list that stands by itself.
pub(super) fn scan(text: &str, places: &Places) -> Reading {
    let mut scan = Scan {
        text,
        lower: text.to_ascii_lowercase(),
        places,
        reading: Reading::default(),
        around: BTreeSet::new(),
        progress: 0,
        unclosed: None,
        prose_end: 0,
        fuel: text.len().saturating_mul(8) + (1 << 20),
    };
    scan.run();
    scan.finish()
}

struct Scan<'a> {
    text: &'a str,
    lower: String,
    places: &'a Places,
    reading: Reading,
    /// What stands around the values.
    around: BTreeSet<Repair>,
    /// How far the failed attempt got that got furthest.
    progress: usize,
    /// A think block without an end: where it starts, and how many values stand before it.
    unclosed: Option<(usize, usize)>,
    /// Where the last prose ends.
    prose_end: usize,
    /// How many more bytes attempts may read: a text made of broken starts must not take forever.
    fuel: usize,
}

impl Scan<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(c) = self.text[at..].chars().next() {
            if self.fuel == 0 {
                return;
            }
            if let Some(end) = self.thinking(at) {
                at = end;
                continue;
            }
            match c {
                '\u{feff}' => _ = self.around.insert(Repair::ByteOrderMark),
                '{' | '[' => {
                    if let Some(end) = self.attempt(at) {
                        at = end;
                        continue;
                    }
                    self.prose(at);
                }
                '"' | '“' => match self.encoded(at) {
                    Some(end) => {
                        at = end;
                        continue;
                    }
                    None => self.prose(at),
                },
                '`' if self.text[at..].starts_with("```") => {
                    self.around.insert(Repair::Fence);
                    at = self.fence_end(at);
                    continue;
                }
                c if c.is_whitespace() => {}
                _ => self.prose(at),
            }
            at += c.len_utf8();
        }
    }

    fn finish(mut self) -> Reading {
        if let Some((at, before)) = self.unclosed {
            self.around.insert(Repair::ThinkBlock);
            let inside = self.reading.candidates.len() - before;
            let last = self.reading.candidates.last();
            let answered =
                last.is_some_and(|last| last.node.span.end >= self.places.span(0, self.prose_end).end);
            // One value as the very last thing is the answer of a model that forgot the end tag; anything
            // else may be a draft.
            if inside != 1 || !answered {
                self.reading.candidates.truncate(before);
                self.reading.cut = Some(SyntaxError {
                    span: self.places.span(at, at + 1),
                    message: "the reply ends inside a think block".into(),
                    ended: true,
                });
            }
        }
        for candidate in &mut self.reading.candidates {
            candidate.repairs.extend(self.around.iter().copied());
        }
        self.reading
    }

    fn prose(&mut self, at: usize) {
        self.around.insert(Repair::Prose);
        self.prose_end = at + 1;
    }

    /// Reads the value at `at`. Gives where to go on, or `None` if the bracket belongs to prose.
    fn attempt(&mut self, at: usize) -> Option<usize> {
        let mut reader = Reader::new(self.text, self.places, at);
        let result = reader.value();
        let ended = result.as_ref().is_err_and(|error| error.ended);
        let spent = if ended { self.text.len() - at } else { reader.at - at + 1 };
        self.fuel = self.fuel.saturating_sub(spent);
        let error = match result {
            Ok(node) => {
                let end = reader.at;
                self.reading.candidates.push(reader.into_candidate(node));
                return Some(end);
            }
            Err(error) => error,
        };
        let begun = reader.begun;
        let progress = reader.at - at;
        let opens_a_string = self.text[at + 1..].trim_start().starts_with(['"', '\'', '“']);
        let cut = error.ended && (begun || opens_a_string || self.text[at + 1..].trim().is_empty());
        if cut && (begun || self.reading.cut.is_none()) {
            self.reading.cut = Some(error.clone());
        }
        if progress >= self.progress {
            self.progress = progress;
            self.reading.failure = Some(error);
        }
        begun.then(|| self.region_end(at))
    }

    /// Where broken JSON ends: at its closing bracket, else at a fence or the end of thinking.
    fn region_end(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let (mut depth, mut quoted, mut at) = (0_usize, false, start);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' if quoted => at += 1,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.fuel = self.fuel.saturating_sub(at - start);
                        return at + 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.fuel = self.fuel.saturating_sub(self.text.len() - start);
        let rest = &self.lower[start..];
        let fence = rest.find("\n```").map(|end| end + 1);
        let thought = THINKING.iter().filter_map(|name| rest.find(&format!("</{name}>"))).min();
        let end = fence.into_iter().chain(thought).min();
        end.map_or(self.text.len(), |end| start + end)
    }

    /// A string that holds JSON as a whole. Gives where it ends.
    fn encoded(&mut self, at: usize) -> Option<usize> {
        let inside = self.text[at..].strip_prefix(['"', '“'])?.trim_start();
        if !inside.starts_with(['{', '[', '\\']) {
            return None;
        }
        let quoted = Quoted::read(self.text, at);
        let end = quoted.as_ref().map_or_else(|error| error.at, |quoted| quoted.end);
        self.fuel = self.fuel.saturating_sub(end - at);
        let quoted = quoted.ok()?;
        let places = match self.places {
            Places::Same => Places::Map { breaks: quoted.breaks, end: quoted.end },
            other => Places::Fixed(other.span(at, quoted.end)),
        };
        let mut reader = Reader::new(&quoted.text, &places, 0);
        let node = reader.value().ok()?;
        reader.end().ok()?;
        node.as_scalar().is_none().then_some(())?;
        let mut candidate: Candidate = reader.into_candidate(node);
        candidate.repairs.insert(Repair::Embedded);
        self.reading.candidates.push(candidate);
        Some(quoted.end)
    }

    /// The end of an opening or closing fence with its language.
    fn fence_end(&self, at: usize) -> usize {
        let rest = self.text[at..].trim_start_matches('`');
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        self.text.len() - rest.len()
    }

    /// The end of a think block that starts or ends at `at`.
    fn thinking(&mut self, at: usize) -> Option<usize> {
        let rest = &self.lower[at..];
        if !rest.starts_with(['<', '[', '◁']) {
            return None;
        }
        let (length, close) = opening(rest)?;
        if close.is_empty() {
            // The start tag was part of the prompt: everything so far was thinking.
            self.around.insert(Repair::ThinkBlock);
            self.reading = Reading::default();
            self.progress = 0;
            self.unclosed = None;
            return Some(at + length);
        }
        if self.unclosed.is_some() {
            return Some(at + length);
        }
        match rest.find(&close) {
            Some(end) => {
                self.around.insert(Repair::ThinkBlock);
                Some(at + end + close.len())
            }
            None => {
                self.unclosed = Some((at, self.reading.candidates.len()));
                Some(at + length)
            }
        }
    }
}

/// The length of a tag at the start of a text in lower case, and what ends its block: nothing for a
/// closing tag.
fn opening(text: &str) -> Option<(usize, String)> {
    for (open, slash, end) in [("<", "/", ">"), ("[", "/", "]"), ("◁", "/", "▷")] {
        let Some(inside) = text.strip_prefix(open) else { continue };
        let (closing, inside) = inside.strip_prefix(slash).map_or((false, inside), |inside| (true, inside));
        let known =
            THINKING.iter().find(|name| inside.strip_prefix(**name).is_some_and(|s| s.starts_with(end)));
        if let Some(name) = known {
            let length = open.len() + usize::from(closing) + name.len() + end.len();
            let close = if closing { String::new() } else { format!("{open}{slash}{name}{end}") };
            return Some((length, close));
        }
    }
    let channel = "<|channel|>analysis";
    text.starts_with(channel).then(|| (channel.len(), "<|end|>".to_owned()))
}
