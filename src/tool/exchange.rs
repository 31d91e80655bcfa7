//! One HTTP request and its answer, redirects followed.
//!
//! Main type: [`Exchange`]. Headers a file declares may hold credentials: they stay with the host they
//! were written for. Knows no tool and no template.

use std::error::Error;
use std::io;
use std::sync::{Once, OnceLock};

use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};

use super::ToolFault;
use super::http::IDEMPOTENCY_KEY;

/// Most redirects that are followed.
const REDIRECTS: usize = 5;

/// The client all tools of a run share, made for the first request.
#[derive(Default)]
pub(super) struct Connector {
    client: OnceLock<Client>,
}

impl Connector {
    fn client(&self) -> Result<&Client, ToolFault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        install_provider();
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .user_agent(concat!("wf/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ToolFault::permanent(format!("no HTTP client can be made: {}", root(&error))))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// A request as it goes out.
pub(super) struct Exchange {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<String>,
}

impl Exchange {
    /// What it is called in a fault: method and url, without the query and what else may be secret.
    pub(super) fn name(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = self.url.host_str().unwrap_or_default();
        format!("{} {}://{host}{port}{}", self.method, self.url.scheme(), self.url.path())
    }

    /// Sends it, and follows where the answer leads.
    pub(super) async fn send(mut self, connector: &Connector) -> Result<Response, ToolFault> {
        let client = connector.client()?;
        let name = self.name();
        for _ in 0..=REDIRECTS {
            let mut request =
                client.request(self.method.clone(), self.url.clone()).headers(self.headers.clone());
            if let Some(body) = &self.body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| Self::fault(&name, error))?;
            let Some(location) = response.headers().get(LOCATION) else { return Ok(response) };
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            self.redirect(response.status(), &location, &name)?;
        }
        Err(ToolFault::permanent(format!("{name} was redirected more than {REDIRECTS} times")))
    }

    fn redirect(&mut self, status: StatusCode, location: &str, name: &str) -> Result<(), ToolFault> {
        let refused = |why: &str| ToolFault::permanent(format!("{name} was redirected {why}"));
        let next = self.url.join(location).map_err(|_| refused("to what is no url"))?;
        match (self.url.scheme(), next.scheme()) {
            ("https", "https") | ("http", "http" | "https") => {}
            (from, to) => return Err(refused(&format!("from {from} to {to}, which is not followed"))),
        }
        let becomes_get = match status.as_u16() {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            (self.method, self.body) = (Method::GET, None);
            self.headers.remove(CONTENT_TYPE);
            self.headers.remove(CONTENT_LENGTH);
            self.headers.remove(IDEMPOTENCY_KEY);
        }
        if next.origin() != self.url.origin() {
            if self.body.is_some() {
                let host = next.host_str().unwrap_or_default();
                return Err(refused(&format!("to {host}; what it sends stays with the host in the file")));
            }
            let accept = self.headers.remove(ACCEPT);
            self.headers.clear();
            self.headers.extend(accept.map(|accept| (ACCEPT, accept)));
        }
        self.url = next;
        Ok(())
    }

    /// The fault of a request that got no whole answer.
    pub(super) fn fault(name: &str, error: reqwest::Error) -> ToolFault {
        let error = error.without_url();
        let message = format!("{name} failed: {}", root(&error));
        if error.is_builder() || is_tls(&error) {
            return ToolFault::permanent(message);
        }
        ToolFault::transient(message)
    }
}

/// Every client needs it, plain HTTP too; whoever is first installs it.
fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Another part of the program may have installed it: then there is nothing to do.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// The innermost reason: the outer ones only say that a request failed.
fn root(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

fn is_tls(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| cause.is::<rustls::Error>())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        // An I/O error that wraps another one names the source of that, not the other one itself.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
        Some(error)
    })
}
