//! From a model's name to something that answers: the providers, their addresses and keys.
//!
//! Main type: [`Provider`], a row of a table; a new service is a new row. Reads the environment only
//! through the function it is given and asks nothing over the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use reqwest::Url;

use super::endpoint::{AddressFrom, Endpoint, Secret};
use super::openai::{Dialect, OpenAi};
use super::{Model, ModelError, ModelErrorKind, Offline};
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
}

/// What a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// OpenAI Chat Completions.
    OpenAi(Dialect),
    /// Nothing: rules inside this program.
    Offline,
}

const PROVIDERS: &[Provider] = &[
    Provider {
        base_url_variable: Some("OPENAI_BASE_URL"),
        codec: Codec::OpenAi(Dialect::OPENAI),
        ..service("openai", "https://api.openai.com/v1", "OPENAI_API_KEY")
    },
    Provider {
        base_url_variable: Some("OLLAMA_HOST"),
        key_required: false,
        ..service("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY")
    },
    service("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    service("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider {
        codec: Codec::OpenAi(Dialect::MISTRAL),
        ..service("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY")
    },
    service("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    service("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    service("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    Provider {
        name: "offline",
        base_url: None,
        base_url_variable: None,
        key_variable: None,
        key_required: false,
        codec: Codec::Offline,
    },
];

const fn service(name: &'static str, base_url: &'static str, key: &'static str) -> Provider {
    Provider {
        name,
        base_url: Some(base_url),
        base_url_variable: None,
        key_variable: Some(key),
        key_required: true,
        codec: Codec::OpenAi(Dialect::COMPATIBLE),
    }
}

/// The providers there are.
pub fn providers() -> &'static [Provider] {
    PROVIDERS
}

/// The model of that name, ready to be asked. `base_url` is the file's, and wins over the environment;
/// `env` looks a variable up. Nothing is sent yet.
pub fn connect(
    name: &ModelName,
    base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Model>, ModelError> {
    let provider = find(name)?;
    match provider.codec {
        Codec::OpenAi(_) => Ok(Arc::new(OpenAi::new(name.clone(), resolve(name, base_url, env)?)?)),
        Codec::Offline => Ok(Arc::new(Offline::new())),
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
        let text = if variable == "OLLAMA_HOST" { ollama_address(text.trim()) } else { text };
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

    let endpoint = Endpoint { provider, model: model.to_owned(), base_url: base, from, key: None };
    let by_person =
        environment.is_some_and(|parsed| parsed.is_ok_and(|url| url.origin() == endpoint.base_url.origin()));
    let trusted = endpoint.is_own() || by_person || is_loopback(&endpoint.base_url);
    let key = provider.key_variable.and_then(set).filter(|_| trusted).map(Secret::new);
    if key.is_none() && provider.key_required && endpoint.is_own() {
        let variable = provider.key_variable.unwrap_or_default();
        let other = match provider.base_url_variable {
            Some(base) => format!("; for a server that needs no key, set {base}"),
            None => String::new(),
        };
        return Err(refused(format!(
            "{variable} is not set, and {} answers nothing without a key{other}; `--model offline` needs \
             neither",
            provider.name
        )));
    }
    Ok(Endpoint { key, ..endpoint })
}

fn find(name: &ModelName) -> Result<&'static Provider, ModelError> {
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

/// Whether an address is this machine: a key does not leave it, and no proxy is needed.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback()),
        None => false,
    }
}

fn parse(text: &str, from: AddressFrom) -> Result<Url, ModelError> {
    let setting = match from {
        AddressFrom::Provider => "the provider's address",
        AddressFrom::File => "`base_url` under `model`",
        AddressFrom::Variable(name) => name,
    };
    let fault = |what: &str| {
        // The text itself may hold a password; it is not repeated.
        let message = format!("{setting} {what}; write it as https://host/v1 or http://localhost:8080/v1");
        Err(ModelError::new(ModelErrorKind::Refused, message))
    };
    match Url::parse(text.trim()) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            fault("does not begin with http:// or https://")
        }
        Ok(mut url) if url.host_str().is_some() => {
            url.set_fragment(None);
            Ok(url)
        }
        Ok(_) => fault("names no host"),
        Err(error) => fault(&format!("is not a URL ({error})")),
    }
}

/// `OLLAMA_HOST` is what Ollama's own server and client read: often only a host, or the address the
/// server listens on.
fn ollama_address(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => ("http", text),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let bare = authority.starts_with(':') || authority.is_empty();
    let authority = if bare { format!("127.0.0.1{authority}") } else { authority.to_owned() };
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if has_port || text.contains("://") { "" } else { ":11434" };
    let Ok(mut url) = Url::parse(&format!("{scheme}://{authority}{port}/{path}")) else {
        return text.to_owned();
    };
    let unspecified = match url.host_str().unwrap_or_default() {
        "0.0.0.0" => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
        "[::]" => Some(IpAddr::from(Ipv6Addr::LOCALHOST)),
        _ => None,
    };
    if let Some(address) = unspecified {
        // An http URL takes any address.
        let _ = url.set_ip_host(address);
    }
    let base = url.as_str().trim_end_matches('/');
    if base.ends_with("/v1") { base.to_owned() } else { format!("{base}/v1") }
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
            ("", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("[::]:80", "http://[::1]/v1"),
            (":9000", "http://127.0.0.1:9000/v1"),
            ("box", "http://box:11434/v1"),
            ("box:9000", "http://box:9000/v1"),
            ("http://box", "http://box/v1"),
            ("https://box/ollama/", "https://box/ollama/v1"),
            ("http://box:1/v1", "http://box:1/v1"),
        ] {
            let found = endpoint("ollama/m", None, &[("OLLAMA_HOST", text)]).unwrap();
            assert_eq!(found.shown_address(), expected, "{text:?}");
        }
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
        for provider in providers() {
            assert_eq!(provider.base_url.is_none(), provider.codec == Codec::Offline);
            assert!(!provider.key_required || provider.key_variable.is_some(), "{}", provider.name);
            if let Some(base) = provider.base_url {
                assert!(parse(base, AddressFrom::Provider).is_ok(), "{base}");
            }
        }
    }
}
