//! The one HTTP transport: a request is sent once, and whatever comes back is an [`Answer`].
//!
//! Main type: [`Transport`]. It follows no redirects and tries nothing again. It knows addresses,
//! deadlines and sizes, and no provider's format; a status of 500 is an answer here, not an error.

use std::error::Error;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout_at};

use super::connect::is_loopback;
use super::{Answer, Endpoint, ModelError, ModelErrorKind};

/// Longest time to open a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time from sending a request to the end of its answer, where the request names none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest answer that is read.
pub const MAX_ANSWER_BYTES: usize = 32 << 20;

/// A client for one endpoint; keeps idle connections open.
pub struct Transport {
    client: Client,
}

impl Transport {
    /// A client that carries the endpoint's key. Proxies are those of the environment (`HTTPS_PROXY`,
    /// `NO_PROXY` …), except that this machine is asked directly.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let headers = headers(endpoint)?;
        let client = build(endpoint, headers.clone(), false).or_else(|error| {
            // Without any certificates on the machine TLS cannot be set up, and http does not need it.
            if endpoint.base_url.scheme() == "http" { build(endpoint, headers, true) } else { Err(error) }
        });
        let client = client.map_err(|error| {
            let reason = endpoint.quote(&root_cause(&error));
            let what = format!("cannot be asked: TLS cannot be set up on this machine ({reason})");
            endpoint.fault(ModelErrorKind::Refused, what)
        })?;
        Ok(Self { client })
    }

    /// Sends a JSON body and reads the whole answer, within `deadline`.
    pub async fn post(
        &self,
        endpoint: &Endpoint,
        url: Url,
        body: String,
        deadline: Duration,
    ) -> Result<Answer, ModelError> {
        let now = Instant::now();
        // A deadline beyond what a clock can hold is none.
        let until = now.checked_add(deadline).unwrap_or_else(|| now + Duration::from_secs(1 << 30));
        let late = |_| late(endpoint, deadline);
        let sending = self.client.post(url).body(body).send();
        let response =
            timeout_at(until, sending).await.map_err(late)?.map_err(|error| sent(endpoint, &error))?;

        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = match timeout_at(until, read(endpoint, response)).await.map_err(late) {
            Ok(Ok(body)) => body,
            // The status of a refusal says enough without its text.
            Ok(Err(_)) | Err(_) if !(200..300).contains(&status) => Vec::new(),
            Ok(Err(error)) | Err(error) => return Err(error),
        };
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Ok(Answer::new(status, header, SystemTime::now(), body))
    }
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(key) = &endpoint.key {
        let value = HeaderValue::try_from(format!("Bearer {}", key.reveal()));
        let mut value = value.map_err(|_| {
            let variable = endpoint.provider.key_variable.unwrap_or("the key");
            let message = format!(
                "{variable} cannot be sent: it holds a line break or another character that no key has; set \
                 it again without"
            );
            ModelError::new(ModelErrorKind::Refused, message)
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn build(endpoint: &Endpoint, headers: HeaderMap, no_roots: bool) -> Result<Client, reqwest::Error> {
    static CRYPTO: Once = Once::new();
    CRYPTO.call_once(|| {
        // An error means that whoever uses this library has installed one: theirs is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = Client::builder()
        .user_agent(concat!("wf/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    if is_loopback(&endpoint.base_url) {
        builder = builder.no_proxy();
    }
    if no_roots {
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

async fn read(endpoint: &Endpoint, mut response: Response) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > MAX_ANSWER_BYTES => {
                let most = MAX_ANSWER_BYTES >> 20;
                let what = format!("sent an answer of more than {most} MiB; {}", endpoint.address_setting());
                return Err(endpoint.fault(ModelErrorKind::Protocol, what));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => {
                let reason = endpoint.quote(&root_cause(&error));
                let what = format!("at {} broke off in the middle of its answer ({reason})", endpoint.host());
                return Err(endpoint.fault(ModelErrorKind::Transient, what));
            }
        }
    }
}

fn late(endpoint: &Endpoint, deadline: Duration) -> ModelError {
    let what = format!(
        "at {} did not answer within {deadline:?}; `timeout` under `model` allows more",
        endpoint.host()
    );
    endpoint.fault(ModelErrorKind::Timeout, what)
}

/// Why a request got no answer.
fn sent(endpoint: &Endpoint, error: &reqwest::Error) -> ModelError {
    let (host, setting, reason) =
        (endpoint.host(), endpoint.address_setting(), endpoint.quote(&root_cause(error)));
    if is_tls(error) {
        let message = format!(
            "cannot speak TLS with {host} ({reason}); {setting}: check it, and whether the server wants \
             http:// instead"
        );
        return ModelError::new(ModelErrorKind::Refused, message);
    }
    if error.is_builder() {
        return ModelError::new(ModelErrorKind::Refused, format!("cannot ask {host} ({reason}); {setting}"));
    }
    let message = if error.is_dns() {
        format!("cannot reach {host}: no such host is known ({reason}); {setting}")
    } else if error.is_connect() {
        format!("cannot reach {host} ({reason}); is the server running? {setting}")
    } else {
        format!("{host} broke the connection off before it answered ({reason}); {setting}")
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
fn root_cause(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}
