//! Where a model is asked: provider, address, name there, and key.
//!
//! Main type: [`Endpoint`]. It words what people read about addresses and keys, and keeps the key out of
//! it. Opens no connection.

use std::fmt;

use reqwest::Url;

use super::address::is_loopback;
use super::providers::Provider;
use super::{ModelError, ModelErrorKind};

/// A model at an address.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub provider: &'static Provider,
    /// The name the provider knows the model by.
    pub model: String,
    /// The address requests are sent under, as `http://127.0.0.1:11434/v1`.
    pub base_url: Url,
    pub from: AddressFrom,
    pub key: Option<Secret>,
    /// The environment variable whose proxy lies between here and the address.
    pub proxy: Option<&'static str>,
}

/// Where an address comes from: who has to mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFrom {
    /// The provider's own.
    Provider,
    /// `base_url` of the workflow file.
    File,
    /// This environment variable.
    Variable(&'static str),
}

/// A key. Never shown, not even by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A key from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key itself, for the header it is sent in.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A text without the key. Keys under 8 characters are dummies for local servers (`none`, `x`);
    /// taking them out would garble the text.
    pub fn scrub(&self, text: &str) -> String {
        let key = self.0.trim();
        if key.chars().count() < 8 { text.to_owned() } else { text.replace(key, "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl Endpoint {
    /// The address under which something is asked, as `chat/completions`. Of a base that ends with the
    /// beginning of it, or with all of it, that part is not said twice; a query of the base (Azure's
    /// `api-version`) stays.
    pub fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        let said = (1..=parts.len()).rev().map(|count| parts[..count].join("/"));
        let said = said.into_iter().find(|start| base.ends_with(&format!("/{start}")));
        let rest = path[said.map_or(0, |start| start.len())..].trim_start_matches('/');
        if !rest.is_empty() {
            url.set_path(&format!("{base}/{rest}"));
        }
        url
    }

    /// Whether the address is the provider's own: same scheme, host and port.
    pub fn is_own(&self) -> bool {
        self.provider
            .base_url
            .and_then(|own| Url::parse(own).ok())
            .is_some_and(|own| own.origin() == self.base_url.origin())
    }

    /// Host and port, for messages.
    pub fn host(&self) -> String {
        let host = self.base_url.host_str().unwrap_or_default();
        match self.base_url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The address without what may be secret in it: user, password, query.
    pub fn shown_address(&self) -> String {
        let mut url = self.base_url.clone();
        // Only addresses without a host refuse this, and those are not let in.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// What the address is and which setting decides it, as `OPENAI_BASE_URL is http://…`.
    pub fn address_setting(&self) -> String {
        let address = self.shown_address();
        match (self.from, self.provider.base_url_variable) {
            (AddressFrom::File, _) => format!("`base_url` under `model` is {address}"),
            (AddressFrom::Variable(name), _) => format!("{name} is {address}"),
            (AddressFrom::Provider, Some(name)) => format!("the address is {address}, {name} changes it"),
            (AddressFrom::Provider, None) => {
                format!("the address is {address}, `base_url` under `model` changes it")
            }
        }
    }

    /// What to do about a key that was refused or is missing.
    pub fn key_setting(&self) -> String {
        let made = self.provider.help.keys.filter(|_| self.is_own() || self.key.is_none());
        let made = made.map(|keys| format!(" (keys are made at {keys})")).unwrap_or_default();
        match (self.provider.key_variable, &self.key) {
            (Some(name), Some(_)) => format!("check {name}{made}"),
            (Some(name), None) if self.from == AddressFrom::File => match self.provider.base_url_variable {
                Some(base) => format!(
                    "no key was sent, because the file chose the address; set {base}={} to have {name} sent \
                     there",
                    self.shown_address()
                ),
                None => format!("no key was sent, because {name} is only sent to {}", self.provider.name),
            },
            (Some(name), None) => format!("no key was sent; set {name}{made}"),
            (None, _) => "no key was sent, and there is no setting for one".to_owned(),
        }
    }

    /// What to type when nothing answers at the address.
    pub fn start_advice(&self) -> String {
        match self.provider.help.start {
            Some(command) => format!("start the server with `{command}`, or use `--model offline`"),
            None if is_loopback(&self.base_url) => {
                "is the server running? start it, or use `--model offline`".to_owned()
            }
            None => "check the address and the network, or use `--model offline`".to_owned(),
        }
    }

    /// A text of the other side fit to be shown: without the key, without control characters, on one
    /// line, at most 400 characters.
    pub fn quote(&self, text: &str) -> String {
        const MOST: usize = 400;
        let text = match &self.key {
            Some(key) => key.scrub(text),
            None => text.to_owned(),
        };
        // Directional overrides are no control characters to Unicode, but reorder a terminal's line.
        let clean = |c: char| {
            let hidden = c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if hidden { ' ' } else { c }
        };
        let mut line = String::new();
        let mut count = 0;
        for word in text.chars().map(clean).collect::<String>().split_whitespace() {
            for c in (!line.is_empty()).then_some(' ').into_iter().chain(word.chars()) {
                if count == MOST {
                    line.push('…');
                    return line;
                }
                line.push(c);
                count += 1;
            }
        }
        line
    }

    /// An error of this endpoint.
    pub fn fault(&self, kind: ModelErrorKind, message: impl fmt::Display) -> ModelError {
        ModelError::new(kind, format!("{} {message}", self.provider.name))
    }
}
