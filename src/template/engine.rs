//! The template engine behind [`super::Template`]: one environment for the whole program.
//!
//! Turns texts into what they read, and texts with a scope into values. Knows minijinja; nothing else
//! does. JSON goes in and JSON comes out: only the parts of the scope a text reads are converted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::machinery::{self, CodeGenerator, Instructions, ast};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use serde_json::Value;

use super::percent::percent_encode;
use super::reads::{Names, names_of_expression, names_of_template};
use super::{Read, TemplateError};

/// Most work one rendering may do, in the engine's unit (an instruction, or 64 bytes of text).
const FUEL: u64 = 10_000_000;

/// The name of a text that is a url: what is put into it is percent-encoded.
const URL: &str = "url";

/// The filters people use, for advice.
const FILTERS: &[&str] = &[
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "chain",
    "count",
    "default",
    "dictsort",
    "escape",
    "first",
    "float",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
    "zip",
];

/// The tests people use, for advice.
const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "equalto",
    "even",
    "false",
    "float",
    "in",
    "integer",
    "iterable",
    "lower",
    "mapping",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
    "upper",
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name {
        URL => AutoEscape::Custom(Cow::Borrowed(URL)),
        _ => AutoEscape::None,
    });
    environment.set_debug(true);
    environment.set_fuel(Some(FUEL));
    environment.set_syntax(syntax());
    // `debug()` would print the whole scope, whatever the text may read.
    environment.remove_global("debug");
    environment.set_formatter(|out, state, value| {
        let text = match value.as_str() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(
                serde_json::to_string(value)
                    .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?,
            ),
        };
        match state.auto_escape() {
            AutoEscape::Custom(name) if name == URL => Ok(out.write_str(&percent_encode(&text))?),
            _ => Ok(out.write_str(&text)?),
        }
    });
    environment
});

fn syntax() -> SyntaxConfig {
    // A text is a value, not a file: its last line end belongs to it.
    match SyntaxConfig::builder().keep_trailing_newline(true).build() {
        Ok(syntax) => syntax,
        Err(error) => panic!("bug: the template syntax is refused: {error}"),
    }
}

/// What a text reads, and whether it is exactly one `{{ expression }}`.
pub(super) fn read_template(text: &str) -> Result<(Vec<Read>, bool), TemplateError> {
    let tree = machinery::parse(text, "template", syntax()).map_err(|error| syntax_fault(text, &error))?;
    let reads = known(names_of_template(&tree))?;
    Ok((reads, whole_expression(text, &tree).is_some()))
}

/// What an expression reads.
pub(super) fn read_expression(text: &str) -> Result<Vec<Read>, TemplateError> {
    let tree = machinery::parse_expr(text).map_err(|error| syntax_fault(text, &error))?;
    known(names_of_expression(&tree))
}

/// The text with its templates filled in.
pub(super) fn render(text: &str, reads: &[Read], scope: &Value) -> Result<String, TemplateError> {
    let template = ENVIRONMENT.template_from_str(text).map_err(|error| syntax_fault(text, &error))?;
    template.render(context(reads, scope)).map_err(|error| fault(text, &error))
}

/// The url with its templates filled in, each value as one component.
pub(super) fn render_url(text: &str, reads: &[Read], scope: &Value) -> Result<String, TemplateError> {
    let template =
        ENVIRONMENT.template_from_named_str(URL, text).map_err(|error| syntax_fault(text, &error))?;
    template.render(context(reads, scope)).map_err(|error| fault(text, &error))
}

/// The value of a text that is exactly one `{{ expression }}`.
pub(super) fn evaluate_template(text: &str, reads: &[Read], scope: &Value) -> Result<Value, TemplateError> {
    let tree = machinery::parse(text, "template", syntax()).map_err(|error| syntax_fault(text, &error))?;
    let Some(expression) = whole_expression(text, &tree) else {
        panic!("bug: not a single expression: {text}");
    };
    to_json(text, &evaluate(text, expression, reads, scope)?)
}

/// Whether an expression holds.
pub(super) fn holds(text: &str, reads: &[Read], scope: &Value) -> Result<bool, TemplateError> {
    let tree = machinery::parse_expr(text).map_err(|error| syntax_fault(text, &error))?;
    let value = evaluate(text, &tree, reads, scope)?;
    if value.is_undefined() {
        return Err(no_value(text, 0..text.len()));
    }
    Ok(value.is_true())
}

fn whole_expression<'a, 't>(text: &str, tree: &'t ast::Stmt<'a>) -> Option<&'t ast::Expr<'a>> {
    let ast::Stmt::Template(template) = tree else { return None };
    match template.children.as_slice() {
        [ast::Stmt::EmitExpr(emit)] if text.starts_with("{{") && text.ends_with("}}") => Some(&emit.expr),
        _ => None,
    }
}

fn evaluate(
    text: &str,
    expression: &ast::Expr<'_>,
    reads: &[Read],
    scope: &Value,
) -> Result<minijinja::Value, TemplateError> {
    let mut generator = CodeGenerator::new("template", text);
    generator.compile_expr(expression);
    let instructions: Instructions<'_> = generator.finish().0;
    let mut nothing = String::new();
    let mut out = machinery::make_string_output(&mut nothing);
    let blocks = BTreeMap::new();
    let root = context(reads, scope);
    machinery::eval(&ENVIRONMENT, &instructions, root, &blocks, &mut out, AutoEscape::None)
        .map_err(|error| fault(text, &error))?
        .0
        .ok_or_else(|| no_value(text, 0..text.len()))
}

/// The roots a text reads, as the engine's values: of a root of which only named entries are read,
/// only those, so that a long run with large results does not pay for what is not used.
fn context(reads: &[Read], scope: &Value) -> minijinja::Value {
    let mut roots: BTreeMap<&str, Vec<&Read>> = BTreeMap::new();
    for read in reads {
        roots.entry(&read.root).or_default().push(read);
    }
    let pairs = roots.into_iter().filter_map(|(root, reads)| {
        let value = scope.get(root)?;
        let Some(object) = value.as_object().filter(|_| reads.iter().all(|read| !read.path.is_empty()))
        else {
            return Some((root, minijinja::Value::from(Serde(value))));
        };
        let mut entries: Vec<(minijinja::Value, minijinja::Value)> = Vec::new();
        let mut names: Vec<&str> = reads.iter().map(|read| read.path[0].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let Some(value) = object.get(name) else { continue };
            let value = minijinja::Value::from(Serde(value));
            // `steps[1]` means the step whose id is written `1`.
            if let Ok(number) = name.parse::<i64>() {
                entries.push((number.into(), value.clone()));
            }
            entries.push((name.into(), value));
        }
        Some((root, entries.into_iter().collect::<EntryMap>().0))
    });
    minijinja::Value::from_pairs(pairs)
}

/// Collects entries with keys of any kind.
struct EntryMap(minijinja::Value);

impl FromIterator<(minijinja::Value, minijinja::Value)> for EntryMap {
    fn from_iter<I: IntoIterator<Item = (minijinja::Value, minijinja::Value)>>(pairs: I) -> Self {
        Self(minijinja::Value::from_pairs(pairs))
    }
}

fn to_json(text: &str, value: &minijinja::Value) -> Result<Value, TemplateError> {
    let whole = Some(0..text.len());
    if value.is_undefined() {
        return Err(no_value(text, 0..text.len()));
    }
    if value.kind() == ValueKind::Number
        && f64::try_from(value.clone()).is_ok_and(|number| !number.is_finite())
    {
        return Err(TemplateError {
            message: "the value is not a finite number".to_owned(),
            range: whole,
            ..Default::default()
        });
    }
    serde_json::to_value(value).map_err(|error| TemplateError {
        message: format!("the value is not JSON: {error}"),
        range: whole,
        ..Default::default()
    })
}

fn no_value(text: &str, range: std::ops::Range<usize>) -> TemplateError {
    let what = text.get(range.clone()).unwrap_or(text).trim();
    let what = what.strip_prefix("{{").and_then(|what| what.strip_suffix("}}")).unwrap_or(what).trim();
    TemplateError { message: format!("`{what}` has no value"), range: Some(range), ..Default::default() }
}

/// A name that neither the text nor the engine has is a mistake that can be told now; all of them at once.
fn known(names: Names) -> Result<Vec<Read>, TemplateError> {
    let mut unknown = Vec::new();
    for (kind, name, range) in names.helpers {
        let test = ENVIRONMENT.compile_expression(match kind {
            "filter" => "name is filter",
            _ => "name is test",
        });
        let known = test.and_then(|test| test.eval(minijinja::context! { name => name.as_str() }));
        if !known.is_ok_and(|known| known.is_true()) {
            let message = format!("there is no {kind} named `{name}`");
            let known = if kind == "filter" { FILTERS } else { TESTS };
            unknown.push(TemplateError { message, range: Some(range), known, ..Default::default() });
        }
    }
    if unknown.is_empty() {
        return Ok(names.reads);
    }
    let first = unknown.remove(0);
    Err(TemplateError { more: unknown, reads: names.reads, ..first })
}

fn syntax_fault(text: &str, error: &Error) -> TemplateError {
    let mut fault = fault(text, error);
    // At the end of the text there is nothing to point at but the end itself.
    if fault.range.as_ref().is_some_and(|range| range.start > text.len()) {
        fault.range = None;
    }
    fault
}

fn fault(text: &str, error: &Error) -> TemplateError {
    let range = error.range().filter(|range| range.end <= text.len() && range.start <= range.end);
    match (error.kind(), &range) {
        (ErrorKind::UndefinedError, Some(range)) => no_value(text, range.clone()),
        (ErrorKind::OutOfFuel, _) => TemplateError {
            message: "the template does too much work".to_owned(),
            range,
            ..Default::default()
        },
        _ => {
            let message = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            TemplateError { message, range, ..Default::default() }
        }
    }
}
