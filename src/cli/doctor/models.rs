//! What is set up for language models: keys, servers, the model that would be asked.
//!
//! Main functions: [`keys`], [`servers`] and [`model`]. A key is never shown, nor anything of it.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use super::{Check, State};
use crate::cli::args::DoctorArgs;
use crate::cli::signals::{block_on, until_signal};
use crate::cli::{Streams, Trouble};
use crate::id::ModelName;
use crate::llm::{
    AddressFrom, Choice, Endpoint, Facts, Message, Model, Request, connect, providers, resolve,
};

/// Longest time to open a connection.
const CONNECT: Duration = Duration::from_secs(3);

/// Longest time to wait for one token.
const ANSWER: Duration = Duration::from_secs(60);

const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// The keys there could be, and which are set.
pub(super) fn keys(streams: &Streams) -> Vec<Check> {
    let mut checks = Vec::new();
    for provider in providers() {
        let Some(variable) = provider.key_variable else { continue };
        let check = |state, message: &str| Check::new("key", variable, state, message);
        checks.push(match (streams.variable)(variable).filter(|key| !key.trim().is_empty()) {
            Some(key) if key.trim().chars().any(|it| it.is_whitespace() || it.is_control()) => {
                check(State::Problem, "it is set, and has a blank or a line end in it")
                    .advice(format!("set {variable} to the key alone"))
            }
            Some(_) => check(State::Ok, "it is set"),
            None if provider.key_required => check(State::Missing, "it is not set")
                .advice(format!("export {variable}=KEY to ask {}/MODEL", provider.name)),
            None => check(State::Missing, "it is not set, and mostly not needed"),
        });
    }
    checks
}

/// The servers that somebody named, and the one that may be on this machine.
pub(super) fn servers(streams: &Streams) -> Vec<Check> {
    let env = |name: &str| (streams.variable)(name);
    let mut checks = Vec::new();
    for provider in providers() {
        let Some(variable) = provider.base_url_variable else { continue };
        let set = env(variable).is_some_and(|value| !value.trim().is_empty());
        let any = ModelName::new(format!("{}/any", provider.name));
        match resolve(&any, None, &env) {
            Err(error) if set => {
                checks.push(Check::new("server", variable, State::Problem, error.to_string()));
            }
            // There is no key for the provider's own address; that is said where the keys are.
            Err(_) => {}
            Ok(endpoint) if matches!(endpoint.from, AddressFrom::Variable(_)) => {
                checks.push(named(variable, &endpoint, streams));
            }
            Ok(endpoint) if is_here(&endpoint) => {
                let place = place(&endpoint);
                checks.push(match reach(&endpoint) {
                    Ok(()) => {
                        Check::new("server", provider.name, State::Ok, format!("it is there, at {place}"))
                    }
                    Err(_) => Check::new(
                        "server",
                        provider.name,
                        State::Missing,
                        format!("nothing listens at {place}"),
                    )
                    .advice(format!("{variable} names another address")),
                });
            }
            Ok(_) => {}
        }
    }
    checks
}

fn named(variable: &str, endpoint: &Endpoint, streams: &Streams) -> Check {
    let place = place(endpoint);
    let proxy = PROXIES.iter().find(|name| (streams.variable)(name).is_some_and(|it| !it.trim().is_empty()));
    if let (Some(proxy), false) = (proxy, is_here(endpoint)) {
        let message = format!("{place} is asked through {proxy}, and was not tried");
        return Check::new("server", variable, State::Ok, message)
            .advice("wf doctor --online asks the model");
    }
    match reach(endpoint) {
        Ok(()) => Check::new("server", variable, State::Ok, format!("something listens at {place}")),
        Err(error) => {
            Check::new("server", variable, State::Problem, format!("nothing listens at {place} ({error})"))
                .advice(format!("start the server, or set {variable} to where it is"))
        }
    }
}

/// Host and port alone: the rest of an address may hold a password.
fn place(endpoint: &Endpoint) -> String {
    let url = &endpoint.base_url;
    let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

fn is_here(endpoint: &Endpoint) -> bool {
    match endpoint.base_url.host_str().unwrap_or_default().trim_matches(['[', ']']) {
        "localhost" => true,
        host => host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback()),
    }
}

fn reach(endpoint: &Endpoint) -> std::io::Result<()> {
    let mut last = std::io::Error::other("the name has no address");
    for address in endpoint.base_url.socket_addrs(|| None)? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The model that would be asked, and with `--online` whether it answers.
pub(super) fn model(args: &DoctorArgs, streams: &Streams) -> Result<Vec<Check>, Trouble> {
    let variable =
        (streams.variable)("WF_MODEL").map(|name| name.trim().to_owned()).filter(|it| !it.is_empty());
    let (name, from) = match (&args.model, variable) {
        (Some(name), _) => (name.trim().to_owned(), "--model"),
        (None, Some(name)) => (name, "WF_MODEL"),
        (None, None) => ("offline".to_owned(), "default"),
    };
    let name = ModelName::new(name);
    let check = |state, message: String| Check::new("model", name.as_str(), state, message);
    if name.provider() == "offline" {
        let check = check(State::Ok, format!("rules, no language model ({from})"));
        let advice = if args.online {
            "nothing to ask: wf doctor --online --model PROVIDER/NAME"
        } else {
            "WF_MODEL or --model names one"
        };
        return Ok(vec![check.advice(advice)]);
    }
    let env = Arc::clone(&streams.variable);
    let model = match connect(&name, None, &|name| env(name)) {
        Ok(model) => model,
        Err(error) => return Ok(vec![check(State::Problem, format!("{error} (chosen by {from})"))]),
    };
    let chosen = check(State::Ok, format!("chosen by {from}"));
    if !args.online {
        return Ok(vec![chosen.advice("not asked; wf doctor --online does")]);
    }
    Ok(vec![chosen, ask(model.as_ref(), &name)?])
}

/// One question for one token.
fn ask(model: &dyn Model, name: &ModelName) -> Result<Check, Trouble> {
    let text = "Say ok.".to_owned();
    let request = Request {
        step: None,
        messages: vec![Message::User { text: text.clone() }],
        tools: Vec::new(),
        choice: Choice::None,
        format: None,
        temperature: None,
        max_tokens: Some(1),
        seed: None,
        timeout: Some(ANSWER),
        facts: Facts::Text { task: None, description: text, results: Vec::new(), of: None },
    };
    let check = |state, message: String| Check::new("online", name.as_str(), state, message);
    Ok(match block_on(until_signal(model.ask(&request)))? {
        Ok(Ok(reply)) => {
            let tokens = reply.usage.input + reply.usage.output;
            check(State::Ok, format!("it answered ({tokens} tokens)"))
        }
        Ok(Err(error)) => check(State::Problem, error.to_string()),
        Err(signal) => check(State::Problem, format!("interrupted by {}", signal.as_str())),
    })
}
