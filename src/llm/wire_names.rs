//! Names and ids as the wire allows them, and back.
//!
//! Main type: [`WireNames`]. OpenAI and Anthropic take `^[a-zA-Z0-9_-]{1,64}$` for a tool; ours may have
//! dots, other characters, and be longer. The mapping depends on nothing but the names and their order.

use std::collections::{HashMap, HashSet};

use super::{Message, Request};
use crate::id::ToolName;

/// Longest name of a tool.
const LONGEST: usize = 64;
/// Longest id of a call that OpenAI takes.
const LONGEST_ID: usize = 40;

/// The tools of a request under names the provider takes. No two tools share one.
pub(super) struct WireNames {
    wire: HashMap<ToolName, String>,
    ours: HashMap<String, ToolName>,
}

impl WireNames {
    /// Names for the tools of a request and those its messages speak of. Tools come first, then
    /// messages in order: going on with a conversation never changes a name that is in it.
    pub(super) fn new(request: &Request) -> Self {
        let mut names = Self { wire: HashMap::new(), ours: HashMap::new() };
        let tools = || request.tools.iter().map(|tool| &tool.name);
        // A name that is fine keeps itself, wherever it stands.
        let fine: HashSet<&str> = tools().map(ToolName::as_str).filter(|name| is_fine(name)).collect();
        for name in tools() {
            names.add(name, &fine);
        }
        for message in &request.messages {
            match message {
                Message::Assistant { calls, .. } => {
                    calls.iter().for_each(|call| names.add(&call.name, &fine));
                }
                Message::Tool { name, .. } => names.add(name, &fine),
                Message::System { .. } | Message::User { .. } => {}
            }
        }
        names
    }

    /// The wire's name of a tool.
    pub(super) fn wire(&self, name: &ToolName) -> String {
        self.wire.get(name).cloned().unwrap_or_else(|| candidate(name.as_str(), 0))
    }

    /// Our name of what the wire calls so; a name nobody gave out stays as it is.
    pub(super) fn ours(&self, wire: &str) -> ToolName {
        self.ours.get(wire).cloned().unwrap_or_else(|| ToolName::new(wire))
    }

    fn add(&mut self, name: &ToolName, fine: &HashSet<&str>) {
        if self.wire.contains_key(name) {
            return;
        }
        let text = name.as_str();
        let free = |wire: &String| !self.ours.contains_key(wire) && (wire == text || !fine.contains(&**wire));
        let wire = (0..).map(|round| candidate(text, round)).find(free);
        let wire = wire.expect("bug: a finite set of names leaves one free");
        self.ours.insert(wire.clone(), name.clone());
        self.wire.insert(name.clone(), wire);
    }
}

fn is_fine(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_wire_byte)
}

fn is_wire_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The name itself if it is fine, else its readable part and a hash; each round gives another.
fn candidate(name: &str, round: u32) -> String {
    if round == 0 && is_fine(name) {
        return name.to_owned();
    }
    let wire = |c: char| if u8::try_from(c).is_ok_and(is_wire_byte) { c } else { '_' };
    let readable: String = name.chars().take(LONGEST - 17).map(wire).collect();
    format!("{readable}_{:016x}", hash(name.as_bytes(), u64::from(round)))
}

/// The id of a call as the wire takes it: the same for a call and its result, in every request.
pub(super) fn wire_id(id: &str, short: bool) -> String {
    let (longest, fine) = if short { (9, id.len() == 9) } else { (LONGEST_ID, !id.is_empty()) };
    let byte = |byte: u8| byte.is_ascii_alphanumeric() || (!short && (byte == b'_' || byte == b'-'));
    if fine && id.len() <= longest && id.bytes().all(byte) {
        return id.to_owned();
    }
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = hash(id.as_bytes(), 0);
    let digits = (0..9).map(|_| {
        let digit = DIGITS[usize::try_from(rest % 62).unwrap_or_default()];
        rest /= 62;
        char::from(digit)
    });
    digits.collect()
}

/// FNV-1a: the hashes of the standard library may change with its version, these must not.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn names_of(names: &[String]) -> (Vec<ToolName>, WireNames) {
        let tools: Vec<_> = names.iter().map(|name| ToolName::from(name.as_str())).collect();
        let fine: HashSet<&str> = names.iter().map(String::as_str).filter(|name| is_fine(name)).collect();
        let mut wire = WireNames { wire: HashMap::new(), ours: HashMap::new() };
        tools.iter().for_each(|name| wire.add(name, &fine));
        (tools, wire)
    }

    #[test]
    fn a_fine_name_keeps_itself_even_if_it_looks_like_a_mapped_one() {
        let mapped = candidate("a.b", 0);
        let (tools, wire) = names_of(&["a.b".to_owned(), mapped.clone()]);
        assert_eq!(wire.wire(&tools[1]), mapped);
        assert_ne!(wire.wire(&tools[0]), mapped);
        assert_eq!(wire.ours(&wire.wire(&tools[0])), tools[0]);
        assert_eq!(wire.ours("nobody"), ToolName::from("nobody"));
    }

    #[test]
    fn names_do_not_change_from_one_version_to_the_next() {
        assert_eq!(candidate("files.read", 0), "files_read_d5ab421fd0376a62");
        assert_eq!(wire_id("call_1", true), wire_id("call_1", true));
        assert_eq!(wire_id("abcDEF123", true), "abcDEF123");
        assert_eq!(wire_id("call_1", false), "call_1");
        assert_eq!(wire_id(&"c".repeat(41), false).len(), 9);
        assert_eq!(wire_id("", false).len(), 9);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn every_name_goes_there_and_back(names in prop::collection::hash_set(".{0,80}|[a-c._]{1,3}", 0..12)) {
            let names: Vec<String> = names.into_iter().collect();
            let (tools, wire) = names_of(&names);
            let mut seen = HashSet::new();
            for tool in &tools {
                let name = wire.wire(tool);
                prop_assert!(is_fine(&name), "{name}");
                prop_assert!(!is_fine(tool.as_str()) || name == tool.as_str());
                prop_assert_eq!(&wire.ours(&name), tool);
                prop_assert!(seen.insert(name));
            }
        }
    }
}
