//! The services that run models: names, addresses, keys, and what helps when one of them does not answer.
//!
//! Main type: [`Provider`], a row of a table; a new service that speaks a known protocol is a new row.
//! Asks nobody.

use super::openai::Dialect;
use super::{ModelError, ModelErrorKind};
use crate::id::ModelName;

/// A service that runs models.
#[derive(Debug, PartialEq, Eq)]
pub struct Provider {
    /// What stands before the `/` of a model's name.
    pub name: &'static str,
    /// Its own address; missing for what needs no network.
    pub base_url: Option<&'static str>,
    /// The environment variable that moves the address.
    pub base_url_variable: Option<&'static str>,
    /// The environment variable that holds the key.
    pub key_variable: Option<&'static str>,
    /// Whether its own address answers nothing without a key.
    pub key_required: bool,
    pub codec: Codec,
    pub help: Help,
}

/// What a person types next.
#[derive(Debug, PartialEq, Eq)]
pub struct Help {
    /// Where keys are made.
    pub keys: Option<&'static str>,
    /// The command that starts the server on this machine.
    pub start: Option<&'static str>,
    /// The command that fetches a model that is not there; its name follows.
    pub fetch: Option<&'static str>,
    /// The setting that makes room for longer conversations.
    pub room: Option<&'static str>,
}

/// What a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// OpenAI Chat Completions.
    OpenAi(Dialect),
    /// Anthropic Messages.
    Anthropic,
    /// Ollama's own chat.
    Ollama,
    /// Nothing: rules inside this program.
    Offline,
}

const PROVIDERS: &[Provider] = &[
    Provider {
        base_url_variable: Some("OPENAI_BASE_URL"),
        codec: Codec::OpenAi(Dialect::OPENAI),
        ..service(
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "https://platform.openai.com/api-keys",
        )
    },
    Provider {
        base_url_variable: Some("ANTHROPIC_BASE_URL"),
        codec: Codec::Anthropic,
        ..service(
            "anthropic",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            "https://platform.claude.com/settings/keys",
        )
    },
    Provider {
        base_url_variable: Some("OLLAMA_HOST"),
        key_required: false,
        codec: Codec::Ollama,
        help: Help {
            keys: Some("https://ollama.com/settings/keys"),
            start: Some("ollama serve"),
            fetch: Some("ollama pull"),
            room: Some("OLLAMA_CONTEXT_LENGTH"),
        },
        ..service("ollama", "http://127.0.0.1:11434", "OLLAMA_API_KEY", "")
    },
    service("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "https://console.groq.com/keys"),
    service("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "https://openrouter.ai/keys"),
    Provider {
        codec: Codec::OpenAi(Dialect::MISTRAL),
        ..service(
            "mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            "https://console.mistral.ai/api-keys",
        )
    },
    service(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "https://aistudio.google.com/apikey",
    ),
    service(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        "https://platform.deepseek.com/api_keys",
    ),
    service("xai", "https://api.x.ai/v1", "XAI_API_KEY", "https://console.x.ai"),
    Provider {
        name: "offline",
        base_url: None,
        base_url_variable: None,
        key_variable: None,
        key_required: false,
        codec: Codec::Offline,
        help: Help { keys: None, start: None, fetch: None, room: None },
    },
];

const fn service(
    name: &'static str,
    base_url: &'static str,
    key: &'static str,
    keys: &'static str,
) -> Provider {
    Provider {
        name,
        base_url: Some(base_url),
        base_url_variable: None,
        key_variable: Some(key),
        key_required: true,
        codec: Codec::OpenAi(Dialect::COMPATIBLE),
        help: Help { keys: Some(keys), start: None, fetch: None, room: None },
    }
}

/// The providers there are.
pub fn providers() -> &'static [Provider] {
    PROVIDERS
}

/// The provider of a model.
pub(super) fn find(name: &ModelName) -> Result<&'static Provider, ModelError> {
    let wanted = name.provider();
    if let Some(provider) = PROVIDERS.iter().find(|provider| provider.name == wanted) {
        return Ok(provider);
    }
    let nearest = PROVIDERS
        .iter()
        .map(|provider| (strsim::damerau_levenshtein(provider.name, &wanted.to_lowercase()), provider.name))
        .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
        .min();
    let known: Vec<_> = PROVIDERS.iter().map(|provider| provider.name).collect();
    let mut message = format!("no provider named `{wanted}`");
    match nearest {
        Some((_, nearest)) => message.push_str(&format!("; did you mean `{nearest}`?")),
        None if name.model().is_empty() => message
            .push_str(&format!("; a model is written provider/model, as `openai/{}`", name.as_str().trim())),
        None => {}
    }
    message.push_str(&format!(" (known providers: {})", known.join(", ")));
    Err(ModelError::new(ModelErrorKind::Refused, message))
}
