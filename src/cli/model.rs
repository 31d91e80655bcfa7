//! Which model is asked: `--model`, else `WF_MODEL`, else the file's, else offline.
//!
//! Main function: [`choose`]. Says on stderr what was chosen and by what; asks nothing.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Exit, Streams, Trouble};
use crate::id::ModelName;
use crate::llm::{Model, connect, providers};
use crate::workflow::{ModelSettings, ResolvedModel};

/// A model, ready to be asked.
pub struct Chosen {
    pub model: Arc<dyn Model>,
    pub settings: ResolvedModel,
}

/// What is asked for, besides what the file says.
#[derive(Clone, Copy, Debug)]
pub enum Wish<'a> {
    /// `--model`, where it is given; else the variable, else the file, else offline.
    Flag(Option<&'a str>),
    /// The model a run was started with.
    Record(&'a ModelName),
}

/// Chooses and connects the model, and says so on stderr.
///
/// The file's other settings (temperature and so on) hold whichever model is chosen; its `base_url`
/// only for the model it names itself.
pub fn choose(
    wish: Wish<'_>,
    file: Option<&ModelSettings>,
    inputs: &Map<String, Value>,
    env: &Value,
    streams: &mut Streams,
) -> Result<Chosen, Trouble> {
    let variable =
        (streams.variable)("WF_MODEL").map(|name| name.trim().to_owned()).filter(|it| !it.is_empty());
    let scope = json!({"inputs": inputs, "env": env});
    let render = |what: &str, template: &crate::template::Template| {
        let fault =
            |error| Trouble::Said(Exit::Invalid, format!("{what} of the file cannot be filled in: {error}"));
        template.render_text(&scope).map_err(fault)
    };
    // Only a name that counts has to be one that can be filled in.
    let counts = matches!(wish, Wish::Record(_)) || (matches!(wish, Wish::Flag(None)) && variable.is_none());
    let named = file.filter(|_| counts).map(|file| render("`model`", &file.name)).transpose()?;
    let (name, from, by_file) = match (wish, variable, named) {
        (Wish::Record(name), _, named) => {
            (name.to_string(), "the record", named.is_some_and(|named| named == name.as_str()))
        }
        (Wish::Flag(Some(name)), _, _) => (name.trim().to_owned(), "--model", false),
        (Wish::Flag(None), Some(name), _) => (name, "WF_MODEL", false),
        (Wish::Flag(None), None, Some(named)) => (named, "the file", true),
        (Wish::Flag(None), None, None) => ("offline".to_owned(), "default", false),
    };
    let name = ModelName::new(name);
    let base_url = match file.filter(|_| by_file).and_then(|file| file.base_url.as_ref()) {
        Some(template) => Some(render("`base_url`", template)?),
        None => None,
    };
    let settings = ResolvedModel { base_url: base_url.clone(), ..settings(name.clone(), file) };
    let known = providers().iter().any(|provider| provider.name == name.provider());
    let variable = Arc::clone(&streams.variable);
    let model = connect(&name, base_url.as_deref(), &|name| variable(name)).map_err(|error| {
        let exit = if known { Exit::Unable } else { Exit::Usage };
        Trouble::Said(exit, format!("{error} (chosen by {from})"))
    })?;
    streams.remark(&announcement(&name, from, streams.look_err()));
    Ok(Chosen { model, settings })
}

/// What the file says about whichever model is asked.
pub fn settings(name: ModelName, file: Option<&ModelSettings>) -> ResolvedModel {
    let own = ResolvedModel::new(name);
    match file {
        Some(file) => ResolvedModel {
            temperature: file.temperature,
            max_tokens: file.max_tokens,
            seed: file.seed,
            timeout: file.timeout,
            ..own
        },
        None => own,
    }
}

fn announcement(name: &ModelName, from: &str, look: crate::report::Look) -> String {
    match (name.provider(), from) {
        ("offline", "default") => {
            "model: offline (rules, no language model; --model or WF_MODEL names one)".to_owned()
        }
        ("offline", _) => format!("model: offline (rules, no language model; chosen by {from})"),
        _ => format!("model: {} (chosen by {from})", look.shown(name.as_str())),
    }
}
