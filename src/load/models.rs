//! Whether there is a provider for the model a document names, and a key for it.
//!
//! Main type: [`Provider`], a row of the table the scope brings. Asks none of them.

use super::Scope;
use super::names::{did_you_mean, written};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::document::Document;
use crate::id::ModelName;

/// A provider of models, as far as the checks need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// What stands before the `/` of a model's name.
    pub name: String,
    /// Whether a model must be named after the `/`.
    pub models: bool,
    /// The environment variable with its key, where it answers nothing without one.
    pub key: Option<String>,
    /// The environment variable that names another server, which may need no key.
    pub server: Option<String>,
}

/// Checks `model`.
pub(super) fn check_model(document: &Document, scope: &Scope, found: &mut Vec<Diagnostic>) {
    let Some(model) = document.model.get() else { return };
    let Some(name) = model.name.spanned().filter(|_| !scope.providers.is_empty()) else { return };
    // What a template gives is not known yet; its provider may still be.
    let fixed = name.value.find("{{").map_or(name.value.as_str(), |at| &name.value[..at]);
    let templated = fixed.len() < name.value.len();
    if templated && !fixed.contains('/') {
        return;
    }
    let parsed = ModelName::new(fixed);
    let report = |code: Code, message: String, help: Option<String>| {
        let mut one = Diagnostic::new(code, name.span, message).path("model");
        one.help = help;
        one
    };
    let Some(provider) = scope.providers.iter().find(|provider| provider.name == parsed.provider()) else {
        let names: Vec<&str> = scope.providers.iter().map(|provider| provider.name.as_str()).collect();
        let message = format!("there is no provider named `{}`", parsed.provider());
        let help = did_you_mean(parsed.provider(), &names, "providers")
            .map(|help| format!("{help} (a model is written `provider/model`)"));
        let mut one = report(Code::UnknownProvider, message, help);
        let serves = home(fixed).filter(|home| names.contains(home) && !templated);
        if let Some(home) = serves.filter(|_| !fixed.contains('/')) {
            let whole = format!("{home}/{fixed}");
            one.message = format!("`{fixed}` names no provider");
            one.help = Some(format!("did you mean `{whole}`? a model is written `provider/model`"));
            one = one.suggest(name.span, written(&whole));
        }
        found.push(one);
        return;
    };
    if provider.models && parsed.model().is_empty() && !templated {
        let message = format!("`{}` names a provider and no model", name.value);
        let help = format!("write `{}/MODEL`", provider.name);
        found.push(report(Code::UnknownProvider, message, Some(help)));
    }
    let Some(set) = &scope.credentials else { return };
    let has = |variable: &Option<String>| variable.as_ref().is_some_and(|name| set.contains(name));
    if let Some(key) = &provider.key
        && !has(&provider.key)
        && !has(&provider.server)
        && model.base_url.is_missing()
    {
        let message = format!("`{key}` is not set, so `{}` cannot be asked", name.value);
        let mut one = report(Code::MissingCredential, message, Some(format!("set `{key}` before a run")));
        one.severity = Severity::Warning;
        found.push(one);
    }
}

/// The provider that is meant by a model's name alone, as far as names tell.
fn home(model: &str) -> Option<&'static str> {
    let name = model.to_ascii_lowercase();
    let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    // `o3`, `o4-mini`
    let reasons = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if starts(&["gpt-", "chatgpt-"]) || reasons {
        Some("openai")
    } else if starts(&["claude-"]) {
        Some("anthropic")
    } else if starts(&["gemini-"]) {
        Some("gemini")
    } else if starts(&["grok-"]) {
        Some("xai")
    } else if name.contains(':') || starts(&["llama", "qwen", "gemma", "phi"]) {
        Some("ollama")
    } else {
        None
    }
}
