//! Declared tools: their keys, and the one way in which each is carried out.
//!
//! From the tree to the fields of a declared tool; knows no tool that is built in.

use std::sync::Arc;

use super::Lowering;
use super::fields::Fields;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::keys::{HTTP, SQL, TOOL, TOOL_KINDS};
use crate::document::node::{Entry, Node};
use crate::document::path::Path;
use crate::document::types::{Field, HttpDoc, Spanned, ToolDoc, ToolKindDoc};
use crate::spec::{Effect, Output};

const EFFECTS: &[(&str, Effect)] =
    &[("read", Effect::Read), ("idempotent", Effect::Idempotent), ("once", Effect::Once)];

const OUTPUTS: &[(&str, Output)] = &[("auto", Output::Auto), ("json", Output::Json), ("text", Output::Text)];

const METHODS: &[(&str, &str)] = &[
    ("GET", "GET"),
    ("HEAD", "HEAD"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("OPTIONS", "OPTIONS"),
];

impl Lowering {
    pub(super) fn tools(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<Vec<ToolDoc>> {
        let Some(entries) = node.as_map() else {
            let help =
                "write each tool under its name: `word_count: {command: [wc, -w, file.txt]}`".to_owned();
            self.wrong_type(node, path, "a mapping of names to tools belongs here", Some(help));
            return None;
        };
        Some(entries.iter().map(|entry| self.tool(entry, &Path::Key(path, &entry.key))).collect())
    }

    fn tool(&mut self, entry: &Entry, path: &Path<'_>) -> ToolDoc {
        let name = Spanned { value: entry.key.to_string(), span: entry.key_span };
        if entry.key.trim().is_empty() || entry.key.chars().any(char::is_control) {
            self.diagnostics.push(
                Diagnostic::new(Code::InvalidValue, entry.key_span, "this is no name for a tool")
                    .path(path.to_string())
                    .help("write a short name on one line"),
            );
        }
        let Some(fields) = self.fields(&entry.value, path, &TOOL, |_| false) else {
            return ToolDoc {
                name,
                span: entry.value.span,
                description: Field::Reported,
                parameters: Field::Reported,
                returns: Field::Reported,
                effect: Field::Reported,
                output: Field::Reported,
                timeout: Field::Reported,
                kind: Field::Reported,
            };
        };
        ToolDoc {
            name,
            span: entry.value.span,
            description: self.field(&fields, "description", Self::text),
            parameters: self.field(&fields, "parameters", Self::whole_object),
            returns: self.field(&fields, "returns", Self::whole_object),
            effect: self
                .field(&fields, "effect", |this, node, path| this.word(node, path, "effect", EFFECTS)),
            output: self.field(&fields, "output", |this, node, path| {
                this.word(node, path, "way to read output", OUTPUTS)
            }),
            timeout: self.field(&fields, "timeout", Self::time_limit),
            kind: self.tool_kind(&fields),
        }
    }

    fn tool_kind(&mut self, fields: &Fields<'_>) -> Field<ToolKindDoc> {
        let with = self.field(fields, "with", Self::whole_object);
        let present: Vec<&Entry> = fields
            .entries
            .iter()
            .filter(|entry| TOOL_KINDS.contains(&&*entry.key) && !entry.value.is_null())
            .collect();
        if let [first, others @ ..] = &present[..]
            && !others.is_empty()
        {
            for other in others {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::ConflictingKeys,
                        other.key_span,
                        format!("`{}` and `{}` both say how the tool is carried out", first.key, other.key),
                    )
                    .path(Path::Key(fields.path, &other.key).to_string())
                    .help(format!("keep exactly one of {}", TOOL_KINDS.join(", ")))
                    .related(first.key_span, "the other one is here"),
                );
            }
        }
        let sql = self.field(fields, "sql", Self::sql);
        let command = self.field(fields, "command", Self::command);
        let http = self.field(fields, "http", Self::http);
        let builtin = self.field(fields, "builtin", |this, node, path| {
            let value = this.line(node, path)?;
            Some(ToolKindDoc::Builtin { name: Spanned { value, span: node.span }, with: Field::Missing })
        });
        if let (Some(entry), Field::Missing, false) = (fields.entry("with"), &builtin, present.is_empty()) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::KeyNotForType,
                    entry.key_span,
                    "`with` fixes arguments of a built-in tool only",
                )
                .path(Path::Key(fields.path, "with").to_string())
                .help("take it away, or name the tool with `builtin:`"),
            );
        }
        let meant = TOOL_KINDS.iter().any(|kind| fields.is_meant(kind));
        match present.len() {
            0 if meant => Field::Reported,
            0 => {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::MissingKey,
                        fields.start(),
                        "nothing says how the tool is carried out",
                    )
                    .path(fields.path.to_string())
                    .help(format!("add one of {}", TOOL_KINDS.join(", "))),
                );
                Field::Reported
            }
            1 => match [sql, command, http, builtin].into_iter().find(|kind| !kind.is_missing()) {
                Some(Field::Present { key, mut value }) => {
                    if let ToolKindDoc::Builtin { with: own, .. } = &mut value.value {
                        *own = with;
                    }
                    Field::Present { key, value }
                }
                _ => Field::Reported,
            },
            _ => Field::Reported,
        }
    }

    fn sql(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<ToolKindDoc> {
        let fields = self.fields(node, path, &SQL, |_| false)?;
        let mut database = self.field(&fields, "database", Self::line);
        let init = self.field(&fields, "init", Self::line);
        let mut query = self.field(&fields, "query", Self::text);
        if init.is_missing() {
            self.require(
                &fields,
                "database",
                &mut database,
                "name the file, or with `init` a script that makes a database in memory",
            );
        }
        self.require(&fields, "query", &mut query, "write the SQL: `query: \"SELECT … WHERE week = :week\"`");
        Some(ToolKindDoc::Sql { database, init, query })
    }

    fn command(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<ToolKindDoc> {
        if let Some(line) = node.as_str() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let help =
                format!("write program and arguments as a list: `[{}]`; there is no shell", words.join(", "));
            self.wrong_type(node, path, "a list of strings belongs here", Some(help));
            return None;
        }
        let argv = self.texts(node, path)?;
        if argv.is_empty() || argv[0].value.trim().is_empty() {
            let help = "the first item is the program: `[wc, -w, file.txt]`".to_owned();
            self.invalid(Code::InvalidValue, node, path, "the command names no program".to_owned(), help);
            return None;
        }
        Some(ToolKindDoc::Command { argv })
    }

    fn http(&mut self, node: &Arc<Node>, path: &Path<'_>) -> Option<ToolKindDoc> {
        let fields = self.fields(node, path, &HTTP, |_| false)?;
        let method =
            self.field(&fields, "method", |this, node, path| this.word(node, path, "HTTP method", METHODS));
        let mut url = self.field(&fields, "url", Self::line);
        self.require(&fields, "url", &mut url, "write the address: `url: \"https://example.com/api\"`");
        let headers = self.field(&fields, "headers", Self::text_map);
        let query = self.field(&fields, "query", Self::text_map);
        let mut json =
            self.field(&fields, "json", |_, node, _| Some(node.clone()).filter(|node| !node.has_reported()));
        let mut body = self.field(&fields, "body", Self::text);
        if let (Some(first), Some(second)) = (fields.entry("json"), fields.entry("body")) {
            let (first, second) =
                if first.key_span <= second.key_span { (first, second) } else { (second, first) };
            self.diagnostics.push(
                Diagnostic::new(
                    Code::ConflictingKeys,
                    second.key_span,
                    "`json` and `body` are both the body of the request",
                )
                .path(Path::Key(path, &second.key).to_string())
                .help("keep one of the two")
                .related(first.key_span, "the other one is here"),
            );
            (json, body) = (Field::Reported, Field::Reported);
        }
        let pairs = |field: Field<Vec<_>>| match field {
            Field::Present { value, .. } => value.value,
            Field::Missing | Field::Reported => Vec::new(),
        };
        Some(ToolKindDoc::Http(HttpDoc {
            method: owned(method),
            url,
            headers: pairs(headers),
            query: pairs(query),
            json,
            body,
        }))
    }
}

fn owned(field: Field<&str>) -> Field<String> {
    match field {
        Field::Missing => Field::Missing,
        Field::Reported => Field::Reported,
        Field::Present { key, value } => {
            Field::Present { key, value: Spanned { value: value.value.to_owned(), span: value.span } }
        }
    }
}
