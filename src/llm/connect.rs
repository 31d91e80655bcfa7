//! From a model's name to something that answers: which provider, which address, which key.
//!
//! Main functions: [`connect`] and [`resolve`]. Reads the environment only through the function it is
//! given and asks nothing over the network.

use std::sync::Arc;
use std::time::Duration;

use super::address::{is_loopback, ollama_host, ollama_root, parse, proxy};
use super::anthropic::Messages;
use super::endpoint::{AddressFrom, Endpoint, Secret};
use super::ollama::Chat;
use super::openai::{ChatCompletions, Dialect};
use super::providers::{Codec, find};
use super::{IDLE_TIMEOUT, Model, ModelError, ModelErrorKind, Offline, Remote};
use crate::id::ModelName;

/// The model of that name, ready to be asked. `base_url` is the file's, and wins over the environment;
/// `env` looks a variable up. Nothing is sent yet.
pub fn connect(
    name: &ModelName,
    base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Model>, ModelError> {
    let codec = find(name)?.codec;
    if codec == Codec::Offline {
        return Ok(Arc::new(Offline::new()));
    }
    let endpoint = resolve(name, base_url, env)?;
    let remote = match codec {
        Codec::Anthropic => Remote::new(name.clone(), endpoint, Messages),
        Codec::Ollama => {
            let context = number(env, "OLLAMA_CONTEXT_LENGTH")?;
            Remote::new(name.clone(), endpoint, Chat { context })
        }
        Codec::OpenAi(_) | Codec::Offline => {
            let dialect = Dialect::of(&endpoint);
            Remote::new(name.clone(), endpoint, ChatCompletions { dialect })
        }
    };
    let idle = number(env, "WF_STREAM_IDLE")?.map_or(IDLE_TIMEOUT, Duration::from_secs);
    Ok(Arc::new(remote?.streaming(wants_streams(env)?).idle(idle)))
}

/// Whether answers are asked for piece by piece: yes, unless `WF_STREAM` says no.
fn wants_streams(env: &dyn Fn(&str) -> Option<String>) -> Result<bool, ModelError> {
    match env("WF_STREAM").unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "" | "1" | "true" | "on" | "yes" => Ok(true),
        "0" | "false" | "off" | "no" => Ok(false),
        _ => Err(ModelError::new(ModelErrorKind::Refused, "WF_STREAM is neither 0 nor 1")),
    }
}

/// A whole number above zero that the environment may hold.
fn number(env: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<u64>, ModelError> {
    let Some(text) = env(name).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    match text.trim().parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(ModelError::new(ModelErrorKind::Refused, format!("{name} is no whole number above 0"))),
    }
}

/// Where the model of that name is asked, and with which key. The key goes to the provider itself, to
/// the address a person put into the environment, and to this machine; never to another address that a
/// file names, for whoever wrote the file would get it.
pub fn resolve(
    name: &ModelName,
    base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Endpoint, ModelError> {
    let provider = find(name)?;
    let refused = |message: String| ModelError::new(ModelErrorKind::Refused, message);
    let Some(own) = provider.base_url else {
        return Err(refused(format!("`{}` is not asked over a network", provider.name)));
    };
    let model = name.model();
    if model.is_empty() {
        let own = provider.name;
        return Err(refused(format!("`{name}` names no model; write `{own}/` and the model's name there")));
    }
    let set = |variable: &str| env(variable).filter(|value| !value.trim().is_empty());
    let from_env = |variable: &'static str| {
        let text = set(variable)?;
        let text = if provider.codec == Codec::Ollama { ollama_host(text.trim()) } else { text };
        Some(parse(&text, AddressFrom::Variable(variable)))
    };
    let environment = provider.base_url_variable.and_then(from_env);
    let chosen = base_url.filter(|text| !text.trim().is_empty());
    let (base, from) = match (chosen, &environment) {
        (Some(text), _) => (parse(text, AddressFrom::File)?, AddressFrom::File),
        (None, Some(parsed)) => {
            let variable = provider.base_url_variable.unwrap_or_default();
            (parsed.clone()?, AddressFrom::Variable(variable))
        }
        (None, None) => (parse(own, AddressFrom::Provider)?, AddressFrom::Provider),
    };
    let base = if provider.codec == Codec::Ollama { ollama_root(base) } else { base };
    let proxy = proxy(&base, env);

    let endpoint = Endpoint { provider, model: model.to_owned(), base_url: base, from, key: None, proxy };
    let by_person =
        environment.is_some_and(|parsed| parsed.is_ok_and(|url| url.origin() == endpoint.base_url.origin()));
    let trusted = endpoint.is_own() || by_person || is_loopback(&endpoint.base_url);
    let key = provider.key_variable.and_then(set).filter(|_| trusted).map(Secret::new);
    if key.is_none() && provider.key_required && endpoint.is_own() {
        let variable = provider.key_variable.unwrap_or_default();
        let keys = provider.help.keys.map(|keys| format!(" (keys are made at {keys})")).unwrap_or_default();
        let other = match provider.base_url_variable {
            Some(base) => format!("; for a server that needs no key, set {base}"),
            None => String::new(),
        };
        return Err(refused(format!(
            "{variable} is not set, and {} answers nothing without a key: set it with `export \
             {variable}=KEY`{keys}{other}; `--model offline` needs neither",
            provider.name
        )));
    }
    Ok(Endpoint { key, ..endpoint })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(name: &str, base: Option<&str>, env: &[(&str, &str)]) -> Result<Endpoint, String> {
        let env =
            |wanted: &str| env.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned());
        resolve(&ModelName::new(name), base, &env).map_err(|error| {
            assert_eq!(error.kind, ModelErrorKind::Refused);
            error.message
        })
    }

    fn address(name: &str, base: Option<&str>, env: &[(&str, &str)]) -> (String, Option<String>) {
        let found = endpoint(name, base, env).unwrap();
        let key = found.key.as_ref().map(|key| key.reveal().to_owned());
        (found.url("chat/completions").to_string(), key)
    }

    #[test]
    fn the_file_wins_over_the_environment_over_the_provider() {
        let key = ("OPENAI_API_KEY", "sk-12345678");
        let moved = ("OPENAI_BASE_URL", "http://gateway.test:4000/openai/");
        let file = Some("http://127.0.0.1:9/v1");
        let sent = Some("sk-12345678".to_owned());
        let own = "https://api.openai.com/v1/chat/completions".to_owned();
        assert_eq!(address("openai/m", None, &[key]), (own, sent.clone()));
        let gateway = "http://gateway.test:4000/openai/chat/completions".to_owned();
        assert_eq!(address("openai/m", None, &[key, moved]), (gateway.clone(), sent.clone()));
        let local = "http://127.0.0.1:9/v1/chat/completions".to_owned();
        assert_eq!(address("openai/m", file, &[key, moved]), (local, sent));
        assert_eq!(address("openai/m", None, &[moved]), (gateway, None));
        let query = Some("https://x.test/a/chat/completions?api-version=1");
        let kept = "https://x.test/a/chat/completions?api-version=1".to_owned();
        assert_eq!(address("openai/m", query, &[]), (kept, None));
        assert_eq!(
            endpoint("openrouter/meta/llama", None, &[("OPENROUTER_API_KEY", "k")]).unwrap().model,
            "meta/llama"
        );
    }

    #[test]
    fn a_file_cannot_send_a_key_elsewhere() {
        let key = ("OPENAI_API_KEY", "sk-12345678");
        let elsewhere = Some("https://collect.test/v1");
        let found = endpoint("openai/m", elsewhere, &[key]).unwrap();
        assert_eq!(found.key, None);
        let advice = found.key_setting();
        assert!(advice.contains("set OPENAI_BASE_URL=https://collect.test/v1"), "{advice}");
        // The same host without TLS is another origin.
        assert_eq!(endpoint("openai/m", Some("http://api.openai.com/v1"), &[key]).unwrap().key, None);
        // What the person at the machine named is trusted, whoever repeats it.
        let named = ("OPENAI_BASE_URL", "https://collect.test");
        assert!(endpoint("openai/m", elsewhere, &[key, named]).unwrap().key.is_some());
    }

    #[test]
    fn what_is_missing_is_said() {
        let missing = endpoint("openai/m", None, &[("OPENAI_API_KEY", " ")]).unwrap_err();
        assert!(missing.contains("OPENAI_API_KEY is not set"), "{missing}");
        assert!(missing.contains("OPENAI_BASE_URL"), "{missing}");
        let missing = endpoint("groq/m", None, &[]).unwrap_err();
        assert!(missing.contains("GROQ_API_KEY is not set"), "{missing}");
        let unnamed = endpoint("openai/", None, &[]).unwrap_err();
        assert!(unnamed.contains("names no model"), "{unnamed}");
        let near = endpoint("opnai/m", None, &[]).unwrap_err();
        assert!(near.contains("did you mean `openai`?") && near.contains("ollama, groq"), "{near}");
        let bare = endpoint("gpt-5-mini", None, &[]).unwrap_err();
        assert!(bare.contains("openai/gpt-5-mini"), "{bare}");
        for (text, says) in [
            ("localhost:8080/v1", "does not begin with http://"),
            ("nonsense", "is not a URL"),
            ("http://", "is not a URL"),
            ("ftp://x.test", "does not begin with http://"),
        ] {
            let wrong = endpoint("openai/m", None, &[("OPENAI_BASE_URL", text)]).unwrap_err();
            assert!(wrong.starts_with("OPENAI_BASE_URL") && wrong.contains(says), "{wrong}");
            let wrong = endpoint("openai/m", Some(text), &[]).unwrap_err();
            assert!(wrong.starts_with("`base_url` under `model`"), "{wrong}");
        }
    }

    #[test]
    fn ollama_host_in_every_form() {
        for (text, expected) in [
            ("", "http://127.0.0.1:11434/api/chat"),
            ("0.0.0.0", "http://127.0.0.1:11434/api/chat"),
            ("[::]:80", "http://[::1]/api/chat"),
            (":9000", "http://127.0.0.1:9000/api/chat"),
            ("box", "http://box:11434/api/chat"),
            ("box:9000", "http://box:9000/api/chat"),
            ("http://box", "http://box/api/chat"),
            ("https://box/ollama/", "https://box/ollama/api/chat"),
            ("ollama.com", "https://ollama.com/api/chat"),
            // Where the OpenAI protocol of the same server lies.
            ("http://box:1/v1", "http://box:1/api/chat"),
            ("http://box:1/api", "http://box:1/api/chat"),
        ] {
            let found = endpoint("ollama/m", None, &[("OLLAMA_HOST", text)]).unwrap();
            assert_eq!(found.url("api/chat").as_str(), expected, "{text:?}");
        }
        let by_file = endpoint("ollama/m", Some("http://127.0.0.1:9/v1/"), &[]).unwrap();
        assert_eq!(by_file.url("api/chat").as_str(), "http://127.0.0.1:9/api/chat");
    }

    #[test]
    fn anthropic_base_url_in_every_form() {
        for (text, expected) in [
            ("", "https://api.anthropic.com/v1/messages"),
            ("https://gateway.test", "https://gateway.test/v1/messages"),
            ("https://gateway.test/anthropic/", "https://gateway.test/anthropic/v1/messages"),
            ("https://gateway.test/v1", "https://gateway.test/v1/messages"),
            ("https://gateway.test/x/v1/messages?a=1", "https://gateway.test/x/v1/messages?a=1"),
        ] {
            let env = [("ANTHROPIC_BASE_URL", text), ("ANTHROPIC_API_KEY", "k")];
            let found = endpoint("anthropic/m", None, &env).unwrap();
            assert_eq!(found.url("v1/messages").as_str(), expected, "{text:?}");
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_said() {
        let said = |name: &str, value: &str| {
            let env = |wanted: &str| (wanted == name).then(|| value.to_owned());
            connect(&ModelName::new("ollama/m"), None, &env).err().map(|error| error.message)
        };
        assert_eq!(said("WF_STREAM", "maybe").as_deref(), Some("WF_STREAM is neither 0 nor 1"));
        for name in ["WF_STREAM_IDLE", "OLLAMA_CONTEXT_LENGTH"] {
            assert_eq!(said(name, "0"), Some(format!("{name} is no whole number above 0")));
            assert_eq!(said(name, " 5 "), None);
        }
        assert_eq!(said("WF_STREAM", "off"), None);
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = ("OPENAI_API_KEY", "sk-12345678");
        let base = Some("http://user:password@127.0.0.1:9/v1?key=hidden");
        let found = endpoint("openai/m", base, &[key]).unwrap();
        let shown = format!(
            "{} {:?} {}",
            found.address_setting(),
            found.key,
            found.quote("a sk-12345678\u{1b}[2J b")
        );
        for secret in ["password", "hidden", "sk-1234", "\u{1b}"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert_eq!(found.quote(&"x".repeat(1000)).chars().count(), 401);
    }

    #[test]
    fn every_row_of_the_table_holds_together() {
        for provider in crate::llm::providers() {
            assert_eq!(provider.base_url.is_none(), provider.codec == Codec::Offline);
            assert!(!provider.key_required || provider.key_variable.is_some(), "{}", provider.name);
            if let Some(base) = provider.base_url {
                assert!(parse(base, AddressFrom::Provider).is_ok(), "{base}");
            }
        }
    }
}
