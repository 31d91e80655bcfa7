//! The one HTTP transport: a request is sent once, and its answer is read as it comes or as a whole.
//!
//! Main types: [`Transport`] and [`Incoming`]. It follows no redirects and tries nothing again. It knows
//! addresses, deadlines and sizes, and no provider's format; a status of 500 is an answer here, not an
//! error.

use std::sync::Once;
use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout_at};

use super::address::is_loopback;
use super::providers::Codec;
use super::unreachable::{root_cause, unreachable};
use super::{Answer, Endpoint, ModelError, ModelErrorKind};

/// Longest time to open a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time from sending a request to the end of its answer, where the request names none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest silence in the middle of a stream. Models that think say nothing for minutes.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
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

    /// Sends a JSON body and reads the head of the answer, within the deadline.
    pub async fn send<'a>(
        &self,
        endpoint: &'a Endpoint,
        url: Url,
        body: String,
        deadline: Deadline,
    ) -> Result<Incoming<'a>, ModelError> {
        let sending = self.client.post(url).body(body).send();
        let response = timeout_at(deadline.until, sending)
            .await
            .map_err(|_| deadline.missed(endpoint))?
            .map_err(|error| unreachable(endpoint, &error))?;
        let headers = response.headers();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let head = Answer::new(response.status().as_u16(), header, SystemTime::now(), Vec::new());
        Ok(Incoming { endpoint, head, response, deadline, length: 0 })
    }
}

/// When an answer must have come.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    until: Instant,
    allowed: Duration,
}

impl Deadline {
    /// This much time from now on.
    pub fn within(allowed: Duration) -> Self {
        let now = Instant::now();
        // A deadline beyond what a clock can hold is none.
        let until = now.checked_add(allowed).unwrap_or_else(|| now + Duration::from_secs(1 << 30));
        Self { until, allowed }
    }

    fn missed(&self, endpoint: &Endpoint) -> ModelError {
        let what = format!(
            "at {} did not answer within {:?}; `timeout` under `model` allows more",
            endpoint.host(),
            self.allowed
        );
        endpoint.fault(ModelErrorKind::Timeout, what)
    }
}

/// An answer of which the head has come.
pub struct Incoming<'a> {
    endpoint: &'a Endpoint,
    head: Answer,
    response: Response,
    deadline: Deadline,
    /// How much of the body was read.
    length: usize,
}

impl Incoming<'_> {
    /// Status and headers; no body yet.
    pub fn head(&self) -> &Answer {
        &self.head
    }

    /// The next bytes of the body, at most this long after those before; nothing at its end.
    pub async fn chunk(&mut self, idle: Option<Duration>) -> Result<Option<Vec<u8>>, ModelError> {
        let patience = idle.and_then(|idle| Some((Instant::now().checked_add(idle)?, idle)));
        let until = patience.map_or(self.deadline.until, |(patience, _)| patience.min(self.deadline.until));
        let chunk = timeout_at(until, self.response.chunk()).await.map_err(|_| match patience {
            Some((patience, idle)) if patience < self.deadline.until => self.silent(idle),
            _ => self.deadline.missed(self.endpoint),
        })?;
        match chunk {
            Ok(Some(chunk)) => {
                self.length += chunk.len();
                if self.length > MAX_ANSWER_BYTES {
                    let most = MAX_ANSWER_BYTES >> 20;
                    let setting = self.endpoint.address_setting();
                    let what = format!("sent an answer of more than {most} MiB; {setting}");
                    return Err(self.endpoint.fault(ModelErrorKind::Protocol, what));
                }
                Ok(Some(chunk.to_vec()))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                let reason = self.endpoint.quote(&root_cause(&error));
                let what =
                    format!("at {} broke off in the middle of its answer ({reason})", self.endpoint.host());
                Err(self.endpoint.fault(ModelErrorKind::Transient, what))
            }
        }
    }

    /// The whole answer, of which this much was read already.
    pub async fn whole(mut self, mut body: Vec<u8>) -> Result<Answer, ModelError> {
        let is_success = (200..300).contains(&self.head.status);
        loop {
            match self.chunk(None).await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                // The status of a refusal says enough without its text.
                Err(_) if !is_success => {
                    body.clear();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Answer { body, ..self.head })
    }

    fn silent(&self, idle: Duration) -> ModelError {
        let what = format!(
            "at {} fell silent for {idle:?} in the middle of its answer; WF_STREAM_IDLE (in seconds) allows \
             more, WF_STREAM=0 asks for answers in one piece",
            self.endpoint.host()
        );
        self.endpoint.fault(ModelErrorKind::Timeout, what)
    }
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let (name, scheme) = match endpoint.provider.codec {
        Codec::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            (HeaderName::from_static("x-api-key"), "")
        }
        Codec::OpenAi(_) | Codec::Ollama | Codec::Offline => (AUTHORIZATION, "Bearer "),
    };
    if let Some(key) = &endpoint.key {
        let value = HeaderValue::try_from(format!("{scheme}{}", key.reveal().trim()));
        let mut value = value.map_err(|_| {
            let variable = endpoint.provider.key_variable.unwrap_or("the key");
            let message = format!(
                "{variable} cannot be sent: it holds a line break or another character that no key has; set \
                 it again without"
            );
            ModelError::new(ModelErrorKind::Refused, message)
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
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
