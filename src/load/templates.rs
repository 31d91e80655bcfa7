//! Checks of templates: their syntax, whether there may be one, and whether what they read exists.
//!
//! Main type: [`Texts`], which turns the strings of a document into templates and keeps the mistakes.
//! Knows which roots may be read where; does not know which steps exist (the graph checks do).

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Range;

use super::names::Names;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::document::{Gaps, Spanned};
use crate::source::{Source, Span};
use crate::template::{Condition, Read, Template, TemplateError};

/// Most searches for the places of one string's parts: each costs its whole length.
const SEARCHES: usize = 100;

/// Every root there is.
const ROOTS: [&str; 5] = ["inputs", "steps", "args", "env", "result"];

/// What may be read in one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readable<'a> {
    roots: &'static [&'static str],
    /// In words, for messages.
    place: &'static str,
    /// The arguments of the tool, if they are all known.
    args: Option<&'a HashSet<&'a str>>,
}

impl<'a> Readable<'a> {
    /// `task` and `system`.
    pub const PROMPT: Readable<'static> =
        Readable { roots: &["inputs"], place: "the task and the system prompt", args: None };
    /// `description`, `when` and `args` of a step.
    pub const STEP: Readable<'static> = Readable { roots: &["inputs", "steps"], place: "a step", args: None };
    /// `expect` of a step.
    pub const EXPECT: Readable<'static> =
        Readable { roots: &["inputs", "steps", "result"], place: "what is expected of a result", args: None };
    /// `model`.
    pub const MODEL: Readable<'static> =
        Readable { roots: &["inputs", "env"], place: "the model's settings", args: None };

    /// A tool's definition.
    pub fn tool(args: Option<&'a HashSet<&'a str>>) -> Self {
        Readable { roots: &["inputs", "args", "env"], place: "a tool's definition", args }
    }
}

/// Where the parts of a string stand in the source.
pub(super) struct Places<'t> {
    text: &'t str,
    raw: &'t str,
    span: Span,
    /// Where the text begins in what was written, if it was written as it is.
    offset: Option<usize>,
    searches: Cell<usize>,
}

impl Places<'_> {
    /// The place of a range; the whole string if it cannot be told.
    pub fn of(&self, range: &Range<usize>) -> Span {
        let start = self.span.start;
        if let Some(offset) = self.offset {
            return Span::new(start + offset + range.start, start + offset + range.end);
        }
        // Escapes, folded lines and block scalars: the place can be told where the part occurs once.
        let Some(part) = self.text.get(range.clone()).filter(|part| part.len() > 1) else { return self.span };
        if self.searches.get() == 0 {
            return self.span;
        }
        self.searches.set(self.searches.get() - 1);
        match self.raw.match_indices(part).take(2).collect::<Vec<_>>().as_slice() {
            [(at, _)] => Span::new(start + at, start + at + part.len()),
            _ => self.span,
        }
    }
}

/// How braces are written that are no template.
pub(super) const RAW: &str = "`{% raw %}` … `{% endraw %}` writes braces that are no template";

/// The strings of a document on their way to templates.
pub(super) struct Texts<'a> {
    source: &'a Source,
    inputs: HashSet<&'a str>,
    /// The inputs in the order of their declaration, for advice.
    names: Names<'a>,
    env: HashSet<&'a str>,
    /// Which of these are not whole: a name that is missing may have been among what was reported.
    gaps: Gaps,
    /// The inputs that something reads.
    read: HashSet<String>,
    /// Whether something reads the inputs as a whole, or by a name that is not a literal.
    all_read: bool,
    pub found: Vec<Diagnostic>,
}

impl<'a> Texts<'a> {
    pub fn new(source: &'a Source, inputs: &[&'a str], env: HashSet<&'a str>, gaps: Gaps) -> Self {
        Self {
            source,
            inputs: inputs.iter().copied().collect(),
            names: Names::of(inputs.iter().copied()),
            env,
            gaps,
            read: HashSet::new(),
            all_read: false,
            found: Vec::new(),
        }
    }

    /// Whether some template reads an input.
    pub fn reads_input(&self, name: &str) -> bool {
        self.all_read || self.read.contains(name)
    }

    /// The template in a string; `None` if it is none, which is reported.
    pub fn template(
        &mut self,
        text: &str,
        span: Span,
        trail: &Trail<'_>,
        may: Readable<'_>,
    ) -> Option<Template> {
        match Template::parse(text) {
            Ok(template) => {
                self.reads(template.reads(), text, span, trail, may);
                Some(template)
            }
            Err(error) => {
                self.wrong(&error, text, span, trail, may);
                None
            }
        }
    }

    /// The condition in a string; `None` if it is none, which is reported.
    pub fn condition(
        &mut self,
        text: &str,
        span: Span,
        trail: &Trail<'_>,
        may: Readable<'_>,
    ) -> Option<Condition> {
        match Condition::parse(text) {
            Ok(condition) => {
                self.reads(condition.reads(), text, span, trail, may);
                Some(condition)
            }
            Err(error) => {
                self.wrong(&error, text, span, trail, may);
                None
            }
        }
    }

    /// A string in which no template may be; whether there is one, which is reported.
    pub fn plain(&mut self, text: &Spanned<String>, trail: &Trail<'_>, why: &str, help: &str) -> bool {
        if let Ok(template) = Template::parse(&text.value)
            && let Some(read) = template.reads().first()
        {
            let place = self.place(&text.value, text.span, &read.range);
            self.refuse(Code::TemplateNotAllowed, place, trail, why.to_owned(), Some(help.to_owned()));
            return true;
        }
        false
    }

    /// The url of a tool: scheme and host stand as they are.
    pub fn url(&mut self, text: &Spanned<String>, trail: &Trail<'_>, may: Readable<'_>) {
        let Some(template) = self.template(&text.value, text.span, trail, may) else { return };
        if template.is_literal() {
            return;
        }
        let marker =
            ["{{", "{%", "{#"].iter().filter_map(|marker| text.value.find(marker)).min().unwrap_or(0);
        let fixed = &text.value[..marker];
        let host_ends = fixed.find("://").is_some_and(|at| fixed[at + 3..].contains(['/', '?', '#']));
        if !host_ends {
            let end = text.value[marker..].find("}}").map_or(marker + 2, |length| marker + length + 2);
            let place = self.place(&text.value, text.span, &(marker..end));
            let message = "the scheme and host of a url cannot come from a template".to_owned();
            let help = "write them out: a template may stand after the first `/` that follows the host";
            self.refuse(Code::TemplateNotAllowed, place, trail, message, Some(help.to_owned()));
        }
    }

    /// Where a range of a string's text stands in the source; the whole string if it cannot be told.
    pub fn place(&self, text: &str, span: Span, range: &Range<usize>) -> Span {
        self.places(text, span).of(range)
    }

    /// The places of ranges of a string's text.
    pub fn places<'t>(&self, text: &'t str, span: Span) -> Places<'t>
    where
        'a: 't,
    {
        let raw = self.source.slice(span);
        let quoted = ['"', '\''].iter().find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote));
        let offset = if raw == text {
            Some(0)
        } else if quoted == Some(text) {
            Some(1)
        } else {
            None
        };
        Places { text, raw, span, offset, searches: Cell::new(SEARCHES) }
    }

    /// Everything that is wrong in a text that is no template.
    fn wrong(&mut self, error: &TemplateError, text: &str, span: Span, trail: &Trail<'_>, may: Readable<'_>) {
        self.syntax(error, text, span, trail);
        for more in &error.more {
            self.syntax(more, text, span, trail);
        }
        self.reads(&error.reads, text, span, trail, may);
    }

    fn syntax(&mut self, error: &TemplateError, text: &str, span: Span, trail: &Trail<'_>) {
        let place = error.range.as_ref().map_or(span, |range| self.place(text, span, range));
        let help = "braces that are no template are written `{% raw %}{{ … }}{% endraw %}`";
        let braces = text.contains("{{").then(|| help.to_owned());
        let name = error.range.as_ref().and_then(|range| text.get(range.clone())).unwrap_or_default();
        let near = nearest(name, error.known.iter().copied());
        let help = match (near, error.known) {
            (Some(near), _) => Some(format!("did you mean `{near}`?")),
            (None, []) => braces,
            (None, known) => Some(format!("known: {}", known.join(", "))),
        };
        self.refuse(Code::TemplateSyntax, place, trail, error.message.clone(), help);
    }

    fn reads(&mut self, reads: &[Read], text: &str, span: Span, trail: &Trail<'_>, may: Readable<'_>) {
        if reads.is_empty() {
            return;
        }
        let places = self.places(text, span);
        for read in reads {
            let place = || places.of(&read.range);
            let shown = &text[read.range.clone()];
            if !may.roots.contains(&read.root.as_str()) {
                self.unreadable(read, shown, place(), trail, may);
                continue;
            }
            let name = read.path.first().map(String::as_str);
            match (read.root.as_str(), name) {
                ("inputs", None) => self.all_read = true,
                ("inputs", Some(name)) => {
                    if !self.read.contains(name) {
                        self.read.insert(name.to_owned());
                    }
                    if !self.inputs.contains(name) && !self.gaps.inputs {
                        let help = self.names.advice(name, "inputs");
                        self.unknown("input", name, help, place(), trail);
                    }
                }
                ("args", Some(name)) => {
                    if let Some(known) = may.args.filter(|known| !known.contains(name)) {
                        let help = Names::of(known.iter().copied()).advice(name, "arguments");
                        self.unknown("argument", name, help, place(), trail);
                    }
                }
                ("args", None) => {}
                ("result", _) => {}
                ("env", _) => self.variable(read, shown, span, &place, trail),
                _ => self.step(read, shown, &place, trail),
            }
        }
    }

    fn unreadable(&mut self, read: &Read, shown: &str, place: Span, trail: &Trail<'_>, may: Readable<'_>) {
        let listed = may.roots.iter().map(|root| format!("`{root}`")).collect::<Vec<_>>().join(", ");
        if ROOTS.contains(&read.root.as_str()) {
            let message = format!("`{}` cannot be read in {} (only {listed})", read.root, may.place);
            let help = (read.root == "env").then(|| {
                "environment variables may be read in tool definitions and `model`, so that no secret reaches a prompt"
                    .to_owned()
            });
            return self.refuse(Code::TemplateNotAllowed, place, trail, message, help);
        }
        let message = format!("there is nothing named `{}` (templates here may read {listed})", read.root);
        let help = if self.inputs.contains(read.root.as_str()) && may.roots.contains(&"inputs") {
            Some(format!("did you mean `inputs.{shown}`?"))
        } else {
            nearest(&read.root, may.roots.iter().copied()).map(|name| format!("did you mean `{name}`?"))
        };
        self.refuse(Code::UnknownVariable, place, trail, message, help);
    }

    fn unknown(&mut self, what: &str, name: &str, help: Option<String>, place: Span, trail: &Trail<'_>) {
        let message = format!("there is no {what} named `{name}`");
        let help = help.or_else(|| Some(format!("no {what}s are declared")));
        self.refuse(Code::UnknownVariable, place, trail, message, help);
    }

    fn variable(
        &mut self,
        read: &Read,
        shown: &str,
        span: Span,
        place: &dyn Fn() -> Span,
        trail: &Trail<'_>,
    ) {
        let Some(name) = read.path.first() else {
            let message = format!("`{shown}` does not name one environment variable");
            let help = Some("write `env.NAME`, with `NAME` listed under `env`".to_owned());
            return self.refuse(Code::TemplateNotAllowed, place(), trail, message, help);
        };
        if !self.env.contains(name.as_str()) && !self.gaps.env {
            let message = format!("the environment variable `{name}` is not declared");
            let near = nearest(name, self.env.iter().copied());
            let help = near.map_or_else(
                || format!("list it at the top of the file: `env: [{name}]`"),
                |near| {
                    format!("did you mean `{near}`? another one is listed under `env` at the top of the file")
                },
            );
            self.refuse(Code::UndeclaredEnv, span, trail, message, Some(help));
        }
    }

    /// Whether the step exists is checked with the graph; here only the form.
    fn step(&mut self, read: &Read, shown: &str, place: &dyn Fn() -> Span, trail: &Trail<'_>) {
        match read.path.as_slice() {
            [] => {
                let message = format!("`{shown}` does not name one step");
                let help = "the name of a step must be a literal: `steps[\"1\"].result`".to_owned();
                self.refuse(Code::TemplateNotAllowed, place(), trail, message, Some(help));
            }
            [id, part, ..] if part != "result" => {
                let message = format!("a step has no `{part}`, only a `result`");
                let help = Some(format!("write `steps[\"{id}\"].result`"));
                self.refuse(Code::UnknownVariable, place(), trail, message, help);
            }
            _ => {}
        }
    }

    fn refuse(&mut self, code: Code, span: Span, trail: &Trail<'_>, message: String, help: Option<String>) {
        let mut found = Diagnostic::new(code, span, message).path(trail.to_string());
        found.help = help;
        self.found.push(found);
    }
}
