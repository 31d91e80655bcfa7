//! Why a request got no answer, for people: what happened, which setting matters, what to type next.
//!
//! Main function: [`unreachable`]. Sorts the faults of the HTTP library by who can mend them. Knows no
//! provider's format.

use std::error::Error;

use super::{Endpoint, ModelError, ModelErrorKind};

/// The error for a request that could not be sent, or was not answered.
pub(super) fn unreachable(endpoint: &Endpoint, error: &reqwest::Error) -> ModelError {
    let host = endpoint.host();
    let setting = endpoint.address_setting();
    let reason = endpoint.quote(&root_cause(error));
    let advice = endpoint.start_advice();
    if is_tls(error) {
        let issuer = reason.contains("UnknownIssuer").then_some(
            "; if a proxy of your network signs certificates itself, name its own in SSL_CERT_FILE",
        );
        let message = format!(
            "cannot speak TLS with {host} ({reason}); {setting}: check it, and whether the server wants \
             http:// instead{}",
            issuer.unwrap_or_default()
        );
        return ModelError::new(ModelErrorKind::Refused, message);
    }
    if error.is_builder() {
        return ModelError::new(ModelErrorKind::Refused, format!("cannot ask {host} ({reason}); {setting}"));
    }
    let message = match endpoint.proxy {
        Some(variable) if error.is_connect() => format!(
            "cannot reach {host} through the proxy that {variable} names ({reason}); check {variable}, or \
             name the host in NO_PROXY to go around the proxy, or use `--model offline`"
        ),
        _ if error.is_dns() => {
            format!("cannot reach {host}: no such host is known ({reason}); {setting}; {advice}")
        }
        _ if error.is_connect() => format!("cannot reach {host} ({reason}); {setting}; {advice}"),
        _ => format!("{host} broke the connection off before it answered ({reason}); {setting}; {advice}"),
    };
    ModelError::new(ModelErrorKind::Transient, message)
}

/// Whether TLS itself failed: a certificate, or a server that does not speak it.
fn is_tls(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        // An I/O error that wraps another error leaves it out of its chain of sources.
        let mut cause: &(dyn Error + 'static) = cause;
        while let Some(inner) = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            cause = inner;
        }
        cause.is::<rustls::Error>()
    })
}

fn causes<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&'e (dyn Error + 'static)| (*cause).source())
}

/// The innermost cause: the outer ones only say that a request failed, and repeat the address with
/// whatever secrets are in it.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}
