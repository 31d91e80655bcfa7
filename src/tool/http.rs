//! A declared tool that is one HTTP request, and what of its answer becomes the result.
//!
//! Main type: [`Endpoint`]. Values are filled in where they cannot change whom the request goes to;
//! how it gets there (client, redirects, faults of the network) is for `exchange` to know.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Map, Value, json};

use super::declared::{Surroundings, unfilled};
use super::exchange::{Connector, Exchange};
use super::form::{Form, into_text};
use super::mask::Mask;
use super::output::{Capture, EXCERPT, excerpt, value};
use super::{CallContext, Tool, ToolFault, ToolFaultKind};
use crate::spec::{Output, ToolKind, ToolSpec};
use crate::template::{Template, TemplateError};

/// By it a server can tell a request that is made again from a new one.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longest time of a request where nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A request to be filled in.
pub(super) struct Endpoint {
    spec: ToolSpec,
    method: Method,
    url: Template,
    /// The part of the url that is literal: at least scheme and host.
    fixed: Url,
    headers: Vec<(HeaderName, Form)>,
    query: Vec<(String, Form)>,
    body: Body,
    surroundings: Arc<Surroundings>,
    mask: Mask,
    connector: Arc<Connector>,
}

enum Body {
    None,
    Json(Form),
    Text(Form),
}

impl Endpoint {
    /// Parses a request; the error is a sentence for the author.
    pub(super) fn new(
        spec: ToolSpec,
        surroundings: Arc<Surroundings>,
        connector: Arc<Connector>,
    ) -> Result<Self, String> {
        let ToolKind::Http { method, url, headers, query, json, body } = &spec.kind else {
            panic!("bug: {} is no request", spec.name);
        };
        let plain = |error: TemplateError| error.to_string();
        let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes())
            .map_err(|_| format!("`{method}` is no HTTP method"))?;
        let fixed = fixed_part(url)?;
        let url = Template::parse(url).map_err(plain)?;
        let headers = headers.iter().map(|(name, text)| {
            let header =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is no header name"))?;
            Ok((header, Form::text(text).map_err(plain)?))
        });
        let headers = headers.collect::<Result<_, String>>()?;
        let query = query.iter().map(|(name, text)| Ok((name.clone(), Form::text(text).map_err(plain)?)));
        let query = query.collect::<Result<_, String>>()?;
        let body = match (json, body) {
            (Some(_), Some(_)) => return Err("`json` and `body` are two bodies for one request".to_owned()),
            (Some(json), None) => Body::Json(Form::parse(json).map_err(plain)?),
            (None, Some(text)) => Body::Text(Form::text(text).map_err(plain)?),
            (None, None) => Body::None,
        };
        let mask = surroundings.mask();
        Ok(Self { spec, method, url, fixed, headers, query, body, surroundings, mask, connector })
    }

    fn exchange(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Exchange, ToolFault> {
        let scope = self.surroundings.scope(args);
        let mut url = self.url(&scope)?;
        for (name, form) in &self.query {
            let value =
                form.fill(&scope).map_err(|error| unfilled(&format!("`http.query.{name}`"), &error))?;
            // A parameter without a value is not sent, so that optional arguments can be left out.
            if !value.is_null() {
                url.query_pairs_mut().append_pair(name, &into_text(value));
            }
        }
        let mut headers = HeaderMap::new();
        for (name, form) in &self.headers {
            let part = format!("the header `{name}`");
            let text = form.fill_text(&scope).map_err(|error| unfilled(&part, &error))?;
            let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
                ToolFault::permanent(format!("{part} would hold a line break or a control character"))
            })?;
            headers.append(name, value);
        }
        if !matches!(self.method, Method::GET | Method::HEAD) {
            headers.entry(IDEMPOTENCY_KEY).or_insert_with(|| plain(context.key));
        }
        let body = match &self.body {
            Body::None => None,
            Body::Json(form) => {
                let value = form.fill(&scope).map_err(|error| unfilled("`http.json`", &error))?;
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
                Some(value.to_string())
            }
            Body::Text(form) => {
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
                Some(form.fill_text(&scope).map_err(|error| unfilled("`http.body`", &error))?)
            }
        };
        Ok(Exchange { method: self.method.clone(), url, headers, body })
    }

    fn url(&self, scope: &Value) -> Result<Url, ToolFault> {
        let text = self.url.render_url(scope).map_err(|error| unfilled("`http.url`", &error))?;
        let url = Url::parse(&text)
            .map_err(|error| ToolFault::permanent(format!("`http.url` becomes no url: {error}")))?;
        // Scheme and host are literal, so this holds unless the text was misread.
        if url.origin() != self.fixed.origin() {
            return Err(ToolFault::permanent("a value in `http.url` would change the host"));
        }
        // Reading a url resolves `..`, even encoded: a value must not climb out of its folder.
        if slashes(path_of(&text)) > slashes(url.path()) {
            return Err(ToolFault::permanent("a value in `http.url` is `.` or `..`, which is no name"));
        }
        Ok(url)
    }

    async fn result(&self, mut response: Response, limit: usize, name: &str) -> Result<Value, ToolFault> {
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            return Err(self.refused(response, name).await);
        }
        if self.method == Method::HEAD {
            let headers = response.headers().iter().map(|(name, value)| {
                (name.to_string(), Value::from(String::from_utf8_lossy(value.as_bytes())))
            });
            let headers: Map<String, Value> = headers.collect();
            return Ok(json!({"status": status.as_u16(), "headers": headers}));
        }
        if let Some(encoding) = response.headers().get(reqwest::header::CONTENT_ENCODING)
            && encoding != "identity"
        {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            return Err(ToolFault::permanent(format!(
                "{name} answered in the encoding `{encoding}`, unasked"
            )));
        }
        let kind = content_type(&response);
        let mut capture = Capture::new(limit);
        while let Some(chunk) = response.chunk().await.map_err(|error| Exchange::fault(name, error))? {
            capture.push(&chunk);
        }
        if capture.total() == 0 && self.spec.output != Output::Text {
            return Ok(Value::Null);
        }
        if !is_text(&kind) && !capture.is_utf8() {
            return Err(ToolFault::permanent(format!("{name} answered with `{kind}`, which is not text")));
        }
        value(capture, self.spec.output, &format!("the answer of {name}"), &self.mask)
    }

    async fn refused(&self, mut response: Response, name: &str) -> ToolFault {
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(retry_after);
        let mut body = Capture::new(EXCERPT);
        while body.total() < 16 * EXCERPT as u64
            && let Ok(Some(chunk)) = response.chunk().await
        {
            body.push(&chunk);
        }
        let said = match body.total() {
            0 => String::new(),
            _ => format!(": {}", excerpt(&body.text(&self.mask), EXCERPT)),
        };
        let kind = if may_pass(status) { ToolFaultKind::Transient } else { ToolFaultKind::Permanent };
        ToolFault { kind, message: format!("{name} answered {status}{said}"), retry_after }
    }
}

#[async_trait]
impl Tool for Endpoint {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault> {
        let exchange = self.exchange(args, context)?;
        let name = exchange.name();
        let timeout = context.timeout.unwrap_or(TIMEOUT);
        let call = async {
            let response = exchange.send(&self.connector).await?;
            self.result(response, context.max_output_bytes, &name).await
        };
        tokio::select! {
            biased;
            result = call => result,
            () = context.stop.cancelled() => Err(ToolFault::stopped(&name)),
            () = tokio::time::sleep(timeout) => Err(ToolFault::timeout(&name, timeout)),
        }
    }
}

/// What stands in a url before the first template: it must hold scheme and host.
fn fixed_part(url: &str) -> Result<Url, String> {
    let end = ["{{", "{%", "{#"].iter().filter_map(|marker| url.find(marker)).min();
    let fixed = &url[..end.unwrap_or(url.len())];
    let host_ends = fixed.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']));
    if end.is_some() && !host_ends {
        return Err(format!("the scheme and host of `{url}` must be written out, without a template"));
    }
    let parsed = Url::parse(fixed).map_err(|error| format!("`{url}` is no url: {error}"))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(format!("`{url}` has the scheme `{other}`; a request needs http or https")),
    }
}

/// A key as the value of a header: of what is not plain ASCII, the bytes with a percent sign.
fn plain(key: &str) -> HeaderValue {
    let mut text = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'!'..=b'$' | b'&'..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    HeaderValue::from_str(&text).unwrap_or_else(|_| panic!("bug: {text} is no header"))
}

fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    rest.find('/').map_or("", |at| &rest[at..])
}

fn slashes(path: &str) -> usize {
    path.matches('/').count()
}

fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 425 | 429) || status.is_server_error()
}

fn retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

fn is_text(kind: &str) -> bool {
    kind.starts_with("text/")
        || kind == "application/json"
        || kind.ends_with("+json")
        || kind.ends_with("xml")
}

#[cfg(test)]
mod tests;
