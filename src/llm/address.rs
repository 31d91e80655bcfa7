//! Addresses of servers: read from settings, in the forms people write them, and what proxy lies before
//! them.
//!
//! Pure functions over texts and [`Url`]s. Asks nobody and knows no key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use super::endpoint::AddressFrom;
use super::{ModelError, ModelErrorKind};

/// The address a setting names.
pub(super) fn parse(text: &str, from: AddressFrom) -> Result<Url, ModelError> {
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
pub(super) fn ollama_host(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        // Ollama's own client does the same with its service's name.
        None if text == "ollama.com" => return "https://ollama.com".to_owned(),
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
    url.as_str().trim_end_matches('/').to_owned()
}

/// An address that means Ollama's root: `/v1` is where its OpenAI protocol lies, and what people who
/// used that have in their settings.
pub(super) fn ollama_root(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/');
    if let Some(root) = path.strip_suffix("/v1").map(str::to_owned) {
        url.set_path(&root);
    }
    url
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

/// The environment variable whose proxy a request to this address goes through, if there is one.
pub(super) fn proxy(url: &Url, env: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    if is_loopback(url) {
        return None;
    }
    let set = |name: &str| env(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let host = url.host_str().unwrap_or_default();
    let around = set("NO_PROXY").or_else(|| set("no_proxy")).unwrap_or_default();
    let goes_around = around.split(',').map(|entry| entry.trim().trim_start_matches('.')).any(|entry| {
        entry == "*" || host == entry || (!entry.is_empty() && host.ends_with(&format!(".{entry}")))
    });
    let names: &[&str] = match url.scheme() {
        "https" => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    names.iter().find(|name| !goes_around && set(name).is_some()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_the_one_that_is_used() {
        let through = |url: &str, env: &[(&str, &str)]| {
            let env = |wanted: &str| env.iter().find(|(name, _)| *name == wanted).map(|(_, it)| (*it).into());
            proxy(&Url::parse(url).unwrap(), &env)
        };
        let https = ("HTTPS_PROXY", "http://proxy:3128");
        assert_eq!(through("https://api.test/v1", &[https]), Some("HTTPS_PROXY"));
        assert_eq!(through("http://api.test/v1", &[https]), None);
        assert_eq!(through("http://api.test/v1", &[("all_proxy", "http://p")]), Some("all_proxy"));
        assert_eq!(through("https://127.0.0.1:1/v1", &[https]), None);
        assert_eq!(through("https://api.test/v1", &[("HTTPS_PROXY", " ")]), None);
        for around in ["*", "api.test", ".test", "other, test"] {
            assert_eq!(through("https://api.test/v1", &[https, ("NO_PROXY", around)]), None, "{around}");
        }
        assert_eq!(
            through("https://api.test/v1", &[https, ("no_proxy", "est,pi.test")]),
            Some("HTTPS_PROXY")
        );
    }
}
