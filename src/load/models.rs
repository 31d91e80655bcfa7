//! Whether there is a provider for the model a document names, and a key for it.
//!
//! Knows the table of providers; asks none of them.

use super::Scope;
use super::templates::did_you_mean;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::document::Document;
use crate::id::ModelName;

/// A provider: its name, whether a model must be named after `/`, the variable with its key, and the
/// variable that names another server, which may need no key.
struct Provider {
    name: &'static str,
    models: bool,
    key: Option<&'static str>,
    server: Option<&'static str>,
}

const PROVIDERS: [Provider; 2] = [
    Provider { name: "offline", models: false, key: None, server: None },
    Provider { name: "openai", models: true, key: Some("OPENAI_API_KEY"), server: Some("OPENAI_BASE_URL") },
];

/// Checks `model`.
pub(super) fn check_model(document: &Document, scope: &Scope, found: &mut Vec<Diagnostic>) {
    let Some(model) = document.model.get() else { return };
    let Some(name) = model.name.spanned() else { return };
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
    let Some(provider) = PROVIDERS.iter().find(|provider| provider.name == parsed.provider()) else {
        let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
        let message = format!("there is no provider named `{}`", parsed.provider());
        let help = did_you_mean(parsed.provider(), &names, "providers")
            .map(|help| format!("{help} (a model is written `provider/model`)"));
        found.push(report(Code::UnknownProvider, message, help));
        return;
    };
    if provider.models && parsed.model().is_empty() && !templated {
        let message = format!("`{}` names a provider and no model", name.value);
        let help = format!("write `{}/MODEL`", provider.name);
        found.push(report(Code::UnknownProvider, message, Some(help)));
    }
    let Some(set) = &scope.credentials else { return };
    let has = |variable: Option<&str>| variable.is_some_and(|name| set.iter().any(|set| set == name));
    if let Some(key) = provider.key
        && !has(Some(key))
        && !has(provider.server)
        && model.base_url.is_missing()
    {
        let message = format!("`{key}` is not set, so `{}` cannot be asked", name.value);
        let mut one = report(Code::MissingCredential, message, Some(format!("set `{key}` before a run")));
        one.severity = Severity::Warning;
        found.push(one);
    }
}
