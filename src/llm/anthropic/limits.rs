//! What Claude models differ in, as far as a request must know it.
//!
//! Main type: [`Limits`], a row of a table. A model that is not in it gets the row that asks least of it.

/// What a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Most tokens of an answer.
    pub most_tokens: u64,
    /// Whether it can be made to call a tool. Those that always think cannot.
    pub forced: bool,
    /// Whether it takes a temperature.
    pub sampling: bool,
    /// Whether it keeps to a JSON Schema.
    pub formats: bool,
}

const fn row(most_tokens: u64, forced: bool, sampling: bool, formats: bool) -> Limits {
    Limits { most_tokens, forced, sampling, formats }
}

/// Beginnings of names; the first that fits counts.
const MODELS: &[(&str, Limits)] = &[
    ("claude-3-7", row(64_000, true, true, false)),
    ("claude-3-5", row(8_192, true, true, false)),
    ("claude-3", row(4_096, true, true, false)),
    ("claude-haiku-4-5", row(64_000, true, true, true)),
    ("claude-sonnet-4-6", row(128_000, true, true, true)),
    ("claude-sonnet-4-5", row(64_000, true, true, true)),
    ("claude-sonnet-4", row(64_000, true, true, false)),
    ("claude-sonnet-5", row(128_000, true, false, true)),
    ("claude-opus-4-8", row(128_000, true, false, true)),
    ("claude-opus-4-7", row(128_000, true, false, true)),
    ("claude-opus-4-6", row(128_000, true, true, true)),
    ("claude-opus-4-5", row(64_000, true, true, true)),
    ("claude-opus-4-1", row(32_000, true, true, true)),
    ("claude-opus-4", row(32_000, true, true, false)),
    ("claude-opus-5-5", row(128_000, false, false, true)),
    ("claude-opus-5", row(128_000, true, false, true)),
    // Newer ones: what the newest of those above do not take will hardly come back.
    ("claude", row(64_000, false, false, true)),
];

/// Models of others behind the same protocol.
const OTHERS: Limits = row(8_192, true, true, false);

impl Limits {
    /// Those of a model, also under the names that gateways give it: `anthropic/claude-opus-4.6`,
    /// `us.anthropic.claude-…`.
    pub fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase().replace('.', "-");
        let Some(at) = name.find("claude") else { return OTHERS };
        let found = MODELS.iter().find(|(start, _)| name[at..].starts_with(start));
        found.map_or(OTHERS, |(_, limits)| *limits)
    }

    /// The limit to send, which this protocol never does without: what is asked for as far as the model
    /// goes, or enough for a long answer and the thoughts before it.
    pub fn max_tokens(self, asked: Option<u64>) -> u64 {
        asked.unwrap_or(32_000).min(self.most_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_rows() {
        for (name, most, forced, sampling, formats) in [
            ("claude-3-haiku-20240307", 4_096, true, true, false),
            ("claude-3-5-sonnet-latest", 8_192, true, true, false),
            ("claude-sonnet-4-20250514", 64_000, true, true, false),
            ("claude-sonnet-4-5-20250929", 64_000, true, true, true),
            ("anthropic/claude-opus-4.6", 128_000, true, true, true),
            ("us.anthropic.claude-opus-4-8-v1:0", 128_000, true, false, true),
            ("claude-opus-4-0", 32_000, true, true, false),
            ("claude-opus-5", 128_000, true, false, true),
            ("claude-opus-5-5", 128_000, false, false, true),
            ("claude-fable-5-1", 64_000, false, false, true),
            ("MiniMax-M3", 8_192, true, true, false),
        ] {
            assert_eq!(Limits::of(name), row(most, forced, sampling, formats), "{name}");
        }
        assert_eq!(Limits::of("claude-opus-5").max_tokens(None), 32_000);
        assert_eq!(Limits::of("claude-opus-5").max_tokens(Some(1_000_000)), 128_000);
        assert_eq!(Limits::of("claude-3-haiku").max_tokens(None), 4_096);
    }
}
