//! The tools a document declares: schemas, names, templates in their definitions.
//!
//! Main type: [`Tools`], every tool a step may name, each with its argument schema compiled. Knows
//! nothing of steps.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::arguments::{Keys, check_arguments, templates};
use super::effect::{effect_of_method, effect_of_query};
use super::names::{Names, did_you_mean};
use super::schemas::read_schema;
use super::templates::{RAW, Readable, Texts};
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::node::{Kind, Node, ScalarValue};
use crate::document::{Document, Field, HttpDoc, Spanned, ToolDoc, ToolKindDoc};
use crate::id::ToolName;
use crate::source::Span;
use crate::spec::{Effect, Output, Schema, ToolKind, ToolSpec};

/// A tool a step may name.
#[derive(Debug)]
pub(super) struct KnownTool {
    /// `None` where its declaration is wrong: then nothing more is said about its uses.
    pub effect: Option<Effect>,
    pub takes_none: bool,
    pub parameters: Option<Value>,
    /// The schema of its result, where it is known, and where that is declared.
    pub returns: Option<Value>,
    pub returns_at: Option<Span>,
    /// Compiled when the first step gives arguments: most tools of the program are not used by a file.
    arguments: OnceCell<Option<(Schema, Keys)>>,
}

/// Every tool a step may name.
#[derive(Debug, Default)]
pub(super) struct Tools<'n> {
    known: HashMap<String, KnownTool>,
    names: Vec<&'n str>,
    advice: OnceCell<Names<'n>>,
    /// Whether a declaration could not be read: a name that is missing may be the one it gave.
    pub incomplete: bool,
    /// What the document declares.
    pub declared: Vec<ToolSpec>,
}

impl<'n> Tools<'n> {
    /// The tools of the program alone.
    pub fn of_program(specs: impl IntoIterator<Item = &'n ToolSpec>) -> Self {
        let mut this = Self::default();
        for spec in specs {
            this.add(spec.name.as_str(), KnownTool::of(spec));
        }
        this
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&KnownTool> {
        self.known.get(name)
    }

    /// "did you mean …?", and what there is.
    pub fn advice(&self, name: &str) -> Option<String> {
        self.names().advice(name, "tools")
    }

    /// The tool that can only have been meant.
    pub fn meant(&self, name: &str) -> Option<&'n str> {
        self.names().meant(name)
    }

    fn names(&self) -> &Names<'n> {
        self.advice.get_or_init(|| Names::of(self.names.iter().copied()))
    }

    fn add(&mut self, name: &'n str, tool: KnownTool) {
        if self.known.insert(name.to_owned(), tool).is_none() {
            self.names.push(name);
        }
    }

    /// Adds what the document declares, and reports what is wrong with it.
    pub fn declare(&mut self, document: &'n Document, program: &[&ToolSpec], texts: &mut Texts<'_>) {
        for tool in &document.tools {
            let name = &tool.name.value;
            if program.iter().any(|spec| spec.name.as_str() == name) {
                let message = format!("`{name}` is a built-in tool");
                let found = Diagnostic::new(Code::DuplicateTool, tool.name.span, message);
                let help = "give the declared tool another name";
                texts.found.push(found.path(format!("tools.{name}")).help(help));
                Declaration { tool, program, texts }.check();
                // Which of the two a step means is not known.
                self.add(name, KnownTool::faulty());
                continue;
            }
            let spec = Declaration { tool, program, texts }.check();
            let known = match &spec {
                Some(spec) => {
                    let returns_at = tool.returns.spanned().map(|schema| schema.span);
                    KnownTool { returns_at, ..KnownTool::of(spec) }
                }
                None => KnownTool::faulty(),
            };
            self.add(name, known);
            self.declared.extend(spec);
        }
    }
}

impl KnownTool {
    fn of(spec: &ToolSpec) -> Self {
        Self {
            effect: Some(spec.effect),
            takes_none: spec.takes_none(),
            parameters: Some(spec.parameters.clone()),
            returns: spec.returns.clone().or_else(|| text_of(spec)),
            returns_at: None,
            arguments: OnceCell::new(),
        }
    }

    fn faulty() -> Self {
        Self {
            effect: None,
            takes_none: false,
            parameters: None,
            returns: None,
            returns_at: None,
            arguments: OnceCell::new(),
        }
    }

    /// The compiled schema of its arguments.
    pub fn arguments(&self) -> Option<&(Schema, Keys)> {
        let compile = || {
            let parameters = self.parameters.as_ref()?;
            Some((Schema::parse(parameters).ok()?, Keys::of(parameters)))
        };
        self.arguments.get_or_init(compile).as_ref()
    }
}

/// What a tool gives whose output stays text.
fn text_of(spec: &ToolSpec) -> Option<Value> {
    let prints = matches!(spec.kind, ToolKind::Command { .. } | ToolKind::Http { .. });
    (prints && spec.output == Output::Text).then(|| serde_json::json!({"type": "string"}))
}

/// One declared tool on its way to a [`ToolSpec`].
struct Declaration<'d, 't, 'a> {
    tool: &'d ToolDoc,
    program: &'d [&'d ToolSpec],
    texts: &'t mut Texts<'a>,
}

impl Declaration<'_, '_, '_> {
    fn check(&mut self) -> Option<ToolSpec> {
        let root = Trail::root("tools");
        let trail = root.key(&self.tool.name.value);
        let before = self.texts.found.len();
        let why = "the name and description of a tool are no templates";
        self.texts.plain(&self.tool.name, &trail, why, RAW);
        if let Some(description) = self.tool.description.spanned() {
            self.texts.plain(description, &trail.key("description"), why, RAW);
        }
        let parameters = read_schema(&self.tool.parameters, &trail.key("parameters"), &mut self.texts.found);
        let returns = read_schema(&self.tool.returns, &trail.key("returns"), &mut self.texts.found);
        let faulty = self.tool.parameters.is_reported()
            || (parameters.is_none() && !self.tool.parameters.is_missing())
            || self.tool.kind.is_reported();
        let kind = self.tool.kind.get()?;
        let base = self.base(kind);
        let parameters = parameters
            .or_else(|| base.as_ref().map(|(parameters, _)| parameters.clone()))
            .unwrap_or_else(ToolSpec::no_parameters);
        let keys = Keys::of(&parameters);
        let names = keys.declared().filter(|_| !faulty).map(|names| names.collect::<HashSet<_>>());
        let may = Readable::tool(names.as_ref());
        let default = match (kind, &base) {
            (_, Some((_, spec))) => spec.effect,
            (ToolKindDoc::Sql { query, .. }, _) => {
                query.get().map_or(Effect::Once, |query| effect_of_query(query))
            }
            (ToolKindDoc::Http(http), _) => effect_of_method(http.method.get().map_or("GET", String::as_str)),
            _ => Effect::Once,
        };
        let kind = self.kind(kind, &trail, may)?;
        if faulty || self.texts.found.len() > before {
            return None;
        }
        let from_base = |pick: fn(&ToolSpec) -> String| base.as_ref().map(|(_, spec)| pick(spec));
        Some(ToolSpec {
            name: ToolName::new(self.tool.name.value.as_str()),
            description: self
                .tool
                .description
                .get()
                .cloned()
                .or_else(|| from_base(|spec| spec.description.clone()))
                .unwrap_or_default(),
            parameters,
            returns: returns.or_else(|| base.as_ref().and_then(|(_, spec)| spec.returns.clone())),
            effect: self.tool.effect.get().copied().unwrap_or(default),
            output: self
                .tool
                .output
                .get()
                .copied()
                .unwrap_or_else(|| base.as_ref().map_or(Output::Auto, |(_, spec)| spec.output)),
            timeout: self.tool.timeout.get().copied().or(base.as_ref().and_then(|(_, spec)| spec.timeout)),
            kind,
        })
    }

    /// The built-in behind a tool, and what is left of its parameters.
    fn base(&self, kind: &ToolKindDoc) -> Option<(Value, ToolSpec)> {
        let ToolKindDoc::Builtin { name, with } = kind else { return None };
        let spec = self.program.iter().find(|spec| spec.name.as_str() == name.value)?;
        let fixed = with.get().and_then(|with| with.as_map()).unwrap_or_default();
        let mut parameters = spec.parameters.clone();
        for entry in fixed {
            if let Some(properties) = parameters.get_mut("properties").and_then(Value::as_object_mut) {
                properties.shift_remove(&*entry.key);
            }
            if let Some(required) = parameters.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|name| name.as_str() != Some(&entry.key));
            }
        }
        Some((parameters, (*spec).clone()))
    }

    fn kind(&mut self, kind: &ToolKindDoc, trail: &Trail<'_>, may: Readable<'_>) -> Option<ToolKind> {
        match kind {
            ToolKindDoc::Sql { database, init, query } => {
                let trail = trail.key("sql");
                self.text(database, &trail.key("database"), may);
                self.text(init, &trail.key("init"), may);
                let query = query.spanned()?;
                self.texts.plain(
                    query,
                    &trail.key("query"),
                    "there is no template in an sql query",
                    "a value of the call is written `:name`, with `name` among the tool's `parameters`; the database \
                     is given it as a value, so it cannot change the query",
                );
                Some(ToolKind::Sql {
                    database: database.get().cloned(),
                    init: init.get().cloned(),
                    query: query.value.clone(),
                })
            }
            ToolKindDoc::Command { argv } => {
                let trail = trail.key("command");
                for (at, part) in argv.iter().enumerate() {
                    if at == 0 {
                        self.texts.plain(
                            part,
                            &trail.index(0),
                            "the program itself cannot come from a template",
                            "write it out; the items after it may hold templates",
                        );
                    } else {
                        self.texts.template(&part.value, part.span, &trail.index(at), may);
                    }
                }
                Some(ToolKind::Command { argv: argv.iter().map(|part| part.value.clone()).collect() })
            }
            ToolKindDoc::Http(http) => self.http(http, &trail.key("http"), may),
            ToolKindDoc::Builtin { name, with } => self.builtin(name, with.get(), trail, may),
        }
    }

    fn http(&mut self, http: &HttpDoc, trail: &Trail<'_>, may: Readable<'_>) -> Option<ToolKind> {
        if let Some(method) = http.method.spanned() {
            self.texts.plain(
                method,
                &trail.key("method"),
                "the method of a request is no template",
                "write it out, as `POST`",
            );
        }
        if let Some(url) = http.url.spanned() {
            self.texts.url(url, &trail.key("url"), may);
        }
        let pairs =
            |texts: &mut Texts<'_>, pairs: &[(Spanned<String>, Spanned<String>)], trail: &Trail<'_>| {
                for (key, value) in pairs {
                    texts.plain(
                        key,
                        trail,
                        "the names of headers and parameters are no templates",
                        "write it out; its value may hold templates",
                    );
                    texts.template(&value.value, value.span, &trail.key(&key.value), may);
                }
                pairs.iter().map(|(key, value)| (key.value.clone(), value.value.clone())).collect()
            };
        let headers = pairs(self.texts, &http.headers, &trail.key("headers"));
        let query = pairs(self.texts, &http.query, &trail.key("query"));
        self.text(&http.body, &trail.key("body"), may);
        if let Some(json) = http.json.get() {
            self.strings(json, &trail.key("json"), may);
        }
        Some(ToolKind::Http {
            method: http.method.get().map_or_else(|| "GET".to_owned(), |method| method.to_uppercase()),
            url: http.url.get()?.clone(),
            headers,
            query,
            json: http.json.get().map(|json| json.to_json()),
            body: http.body.get().cloned(),
        })
    }

    fn builtin(
        &mut self,
        name: &Spanned<String>,
        with: Option<&std::sync::Arc<Node>>,
        trail: &Trail<'_>,
        may: Readable<'_>,
    ) -> Option<ToolKind> {
        let Some(spec) = self.program.iter().find(|spec| spec.name.as_str() == name.value) else {
            let names: Vec<&str> = self.program.iter().map(|spec| spec.name.as_str()).collect();
            let message = format!("there is no built-in tool named `{}`", name.value);
            let mut found =
                Diagnostic::new(Code::UnknownTool, name.span, message).path(trail.key("builtin").to_string());
            found.help = did_you_mean(&name.value, &names, "built-in tools");
            self.texts.found.push(found);
            return None;
        };
        let mut fixed = Map::new();
        if let Some(with) = with {
            let trail = trail.key("with");
            self.strings(with, &trail, may);
            if let Value::Object(object) = with.to_json() {
                fixed = object;
            }
            if let Ok(schema) = Schema::parse(&spec.parameters) {
                let mut found =
                    check_arguments(&schema, &Keys::of(&spec.parameters), with, &templates(with), &trail);
                found.retain(|one| one.code != Code::MissingArgument);
                self.texts.found.append(&mut found);
            }
        }
        Some(ToolKind::Builtin { name: ToolName::new(name.value.as_str()), with: fixed })
    }

    fn text(&mut self, field: &Field<String>, trail: &Trail<'_>, may: Readable<'_>) {
        if let Some(text) = field.spanned() {
            self.texts.template(&text.value, text.span, trail, may);
        }
    }

    fn strings(&mut self, node: &Node, trail: &Trail<'_>, may: Readable<'_>) {
        match &node.kind {
            Kind::Scalar(scalar) if scalar.value == ScalarValue::String => {
                self.texts.template(&scalar.text, node.span, trail, may);
            }
            Kind::Scalar(_) | Kind::Reported => {}
            Kind::List(items) => {
                items.iter().enumerate().for_each(|(at, item)| self.strings(item, &trail.index(at), may));
            }
            Kind::Map(entries) => {
                entries.iter().for_each(|entry| self.strings(&entry.value, &trail.key(&entry.key), may));
            }
        }
    }
}
