//! What only models get wrong: references written as prose, and results written out beforehand.
//!
//! Main functions: [`prose_references`] (errors) and [`hardcoded_values`] (warnings). Both read the
//! arguments as written; neither knows how a plan is run.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Scope;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::node::{Kind, Node, ScalarValue};
use crate::document::{Document, StepDoc};
use crate::workflow::Workflow;

/// Longest text that may be a reference in prose, in bytes.
const LONGEST: usize = 80;

/// Words references in prose are made of, besides the ids of steps.
const WORDS: [&str; 24] = [
    "the", "of", "from", "for", "in", "by", "s", "e", "id", "step", "steps", "task", "result", "results",
    "output", "outputs", "value", "answer", "response", "return", "returned", "previous", "prior", "last",
];

/// Words that say a result is meant.
const RESULTS: [&str; 8] =
    ["result", "results", "output", "outputs", "value", "answer", "response", "returned"];

/// Texts that look like references, as a whole, to steps that exist.
pub(super) fn prose_references(document: &Document, scope: &Scope) -> Vec<Diagnostic> {
    let steps = document.steps.get().map(Vec::as_slice).unwrap_or_default();
    let ids = Ids::of(steps);
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let schema = parameters(step, scope);
        if let Some(args) = step.args.get() {
            let root = Trail::root(document.steps_key);
            let root = root.index(at);
            walk(args, schema, &root.key("args"), &mut |node, schema, trail| {
                let Some(text) = node.as_str() else { return };
                let takes_text = schema.is_none_or(allows_text);
                if let Some(id) = ids.meant_by(text, takes_text, at) {
                    let message = format!("`{}` is a text, not the result of a step", text.trim());
                    let help = match id {
                        Some(id) => format!("write the reference as {{\"step_result\": {id}}}"),
                        None => "name the step: {\"step_result\": its id}".to_owned(),
                    };
                    let one = Diagnostic::new(Code::ProseReference, node.span, message);
                    found.push(one.path(trail.to_string()).help(help));
                }
            });
        }
    }
    found
}

/// Numbers in later steps that nobody gave.
pub(super) fn hardcoded_values(document: &Document, workflow: &Workflow, scope: &Scope) -> Vec<Diagnostic> {
    let (Some(task), Some(plan)) = (&scope.task, &workflow.plan) else { return Vec::new() };
    let given = Given::of(task, &Value::Object(scope.inputs.clone()));
    let steps = document.steps.get().map(Vec::as_slice).unwrap_or_default();
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let place = step.id.get().and_then(|id| plan.position(id)).unwrap_or_default();
        let Some(args) = step.args.get().filter(|_| place > 0) else { continue };
        let root = Trail::root(document.steps_key);
        let root = root.index(at);
        walk(args, parameters(step, scope), &root.key("args"), &mut |node, schema, trail| {
            let Some(number) = number(node) else { return };
            if given.has(number) || schema.is_some_and(|schema| names_value(schema, number)) {
                return;
            }
            let written = node.as_scalar().map(|scalar| scalar.text.to_string()).unwrap_or_default();
            let message = format!(
                "{written} is neither in the task nor in the inputs, and there are results of earlier steps"
            );
            let help = "if it is the result of a step, write {\"step_result\": its id} instead";
            let one = Diagnostic::new(Code::HardcodedValue, node.span, message);
            found.push(one.path(trail.to_string()).help(help));
        });
    }
    found
}

/// Visits the scalars of arguments, but not what is inside a reference.
fn walk<'n>(
    node: &'n Node,
    schema: Option<&Value>,
    trail: &Trail<'_>,
    visit: &mut dyn FnMut(&'n Node, Option<&Value>, &Trail<'_>),
) {
    match &node.kind {
        Kind::Scalar(_) => visit(node, schema, trail),
        Kind::List(items) => {
            let schema = schema.and_then(|schema| schema.get("items"));
            items.iter().enumerate().for_each(|(at, item)| walk(item, schema, &trail.index(at), visit));
        }
        Kind::Map(_) if node.get("step_result").is_some() => {}
        Kind::Map(entries) => {
            for entry in entries {
                let schema = schema.and_then(|schema| schema.get("properties")?.get(&*entry.key));
                walk(&entry.value, schema, &trail.key(&entry.key), visit);
            }
        }
        Kind::Reported => {}
    }
}

fn parameters<'s>(step: &StepDoc, scope: &'s Scope) -> Option<&'s Value> {
    let name = step.tool.get()?;
    scope.tools.iter().find(|tool| tool.name.as_str() == name).map(|tool| &tool.parameters)
}

fn allows_text(schema: &Value) -> bool {
    match schema.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        Some(kind) => kind == "string",
    }
}

/// Whether a schema itself names the number.
fn names_value(schema: &Value, number: f64) -> bool {
    let is = |value: &Value| value.as_f64() == Some(number);
    ["default", "const", "minimum", "maximum"].iter().any(|key| schema.get(key).is_some_and(is))
        || ["enum", "examples"]
            .iter()
            .any(|key| schema.get(key).and_then(Value::as_array).is_some_and(|values| values.iter().any(is)))
}

fn number(node: &Node) -> Option<f64> {
    match &node.as_scalar()?.value {
        ScalarValue::Number(number) => number.as_f64(),
        _ => None,
    }
}

/// The ids of a plan as words.
struct Ids<'d> {
    /// Each id as JSON, by its words.
    words: HashMap<Vec<String>, String>,
    longest: usize,
    steps: &'d [StepDoc],
}

impl<'d> Ids<'d> {
    fn of(steps: &'d [StepDoc]) -> Self {
        let ids = steps.iter().filter_map(|step| step.id.get());
        let words: HashMap<_, _> = ids.map(|id| (split(id.as_str()), id.to_json().to_string())).collect();
        let longest = words.keys().map(Vec::len).max().unwrap_or_default();
        Self { words, longest, steps }
    }

    /// The step a text means, if it can only mean the result of one: `Some(None)` where it says no more
    /// than "the previous".
    fn meant_by(&self, text: &str, takes_text: bool, at: usize) -> Option<Option<&str>> {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST || !text.is_ascii() {
            return None;
        }
        let (inside, marked) = unwrap(text);
        let words = split(inside);
        let (mut id, mut at_word, mut others) = (None, 0, Vec::new());
        while at_word < words.len() {
            let longest = self.longest.min(words.len() - at_word);
            let known = (1..=longest).rev().find_map(|length| {
                let found = self.words.get(&words[at_word..at_word + length])?;
                Some((length, found.as_str()))
            });
            match known {
                Some((length, found)) => {
                    id = id.or(Some(found));
                    at_word += length;
                }
                None if WORDS.contains(&words[at_word].as_str()) => {
                    others.push(words[at_word].as_str());
                    at_word += 1;
                }
                None => return None,
            }
        }
        let result = others.iter().any(|word| RESULTS.contains(word));
        let step = others.iter().any(|word| matches!(*word, "step" | "steps" | "task"));
        let plain = inside.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        match id {
            // `[1]` and `#1` are ordinary texts, `$1`, `#E1`, `{{1}}` and `<1>` are not.
            Some(id) if marked == Marked::Strongly || !takes_text && marked == Marked::Weakly => {
                Some(Some(id))
            }
            Some(id) if result && (step || inside.contains(['.', '[', '_', '(']) || marked != Marked::No) => {
                Some(Some(id))
            }
            Some(id) if marked == Marked::Weakly && (step || others.contains(&"e")) => Some(Some(id)),
            // "Step 1" may be a title, `step_1` is a name for a result.
            Some(id) if step && (plain || !takes_text) => Some(Some(id)),
            None if at > 0 && others.iter().any(|word| matches!(*word, "previous" | "prior" | "last")) => {
                let means = marked != Marked::No && (result || step) || !takes_text || result && step;
                means.then(|| self.steps.get(at - 1).and_then(|step| step.id.get())).map(|_| None)
            }
            _ => None,
        }
    }
}

/// How a text is set off from prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marked {
    No,
    Weakly,
    Strongly,
}

/// A text without the brackets and signs around it.
fn unwrap(text: &str) -> (&str, Marked) {
    let mut inside = text;
    let mut marked = Marked::No;
    loop {
        let pair = [("{", "}"), ("<", ">"), ("[", "]"), ("(", ")"), ("`", "`"), ("%", "%")]
            .iter()
            .find_map(|(open, close)| Some((*open, inside.strip_prefix(open)?.strip_suffix(close)?.trim())));
        let (sign, rest) = match (pair, inside.chars().next()) {
            (Some((sign, rest)), _) => (sign, rest),
            (None, Some('$')) => ("$", &inside[1..]),
            (None, Some('#' | '@')) => ("#", &inside[1..]),
            _ => return (inside, marked),
        };
        inside = rest;
        if matches!(sign, "{" | "<" | "$" | "%") {
            marked = Marked::Strongly;
        } else if marked == Marked::No {
            marked = Marked::Weakly;
        }
    }
}

/// The words of a text in lower case; letters and digits side by side are two words.
fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for c in text.chars() {
        let kind = if c.is_alphabetic() {
            'a'
        } else if c.is_numeric() {
            '1'
        } else {
            ' '
        };
        if kind != ' ' {
            match words.last_mut().filter(|_| last == Some(kind)) {
                Some(word) => word.extend(c.to_lowercase()),
                None => words.push(c.to_lowercase().collect()),
            }
        }
        last = Some(kind);
    }
    words
}

/// The numbers a task and its inputs give, and those their words stand for.
struct Given {
    numbers: HashSet<u64>,
    percent: bool,
}

impl Given {
    fn of(task: &str, inputs: &Value) -> Self {
        let mut this = Self { numbers: HashSet::new(), percent: false };
        // Neutral elements and signs: no result is hidden in them.
        [0.0, 1.0].into_iter().for_each(|number| this.add(number));
        this.text(task);
        this.value(inputs);
        this
    }

    fn has(&self, number: f64) -> bool {
        let known = |number: f64| self.numbers.contains(&key(number));
        known(number) || self.percent && (known(number * 100.0) || number.abs() == 100.0)
    }

    fn add(&mut self, number: f64) {
        self.numbers.insert(key(number));
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Number(number) => self.add(number.as_f64().unwrap_or_default()),
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(entries) => entries.values().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '_' | '\'');
        for piece in text.split(|c: char| !is_part(c)) {
            let piece = piece.trim_matches(['.', ',', '_', '\'']);
            // `142,000`, `2,5` and `3,4` (a list): each reading is one a person may have meant.
            let joined: String = piece.chars().filter(|c| !matches!(c, ',' | '_' | '\'')).collect();
            let readings = [joined, piece.replace(',', "."), piece.to_owned()];
            let parts = piece.split([',', '_', '\'', '.']).map(str::to_owned);
            for reading in readings.into_iter().chain(parts) {
                if let Ok(number) = reading.parse::<f64>() {
                    self.add(number);
                }
            }
        }
        for (at, _) in text.match_indices(['e', 'E', 'k', 'K', 'm', 'M']) {
            self.scaled(text, at);
        }
        self.percent |= text.contains('%');
        for word in text.to_lowercase().split(|c: char| !c.is_alphabetic()) {
            self.percent |= word.starts_with("percent");
            word_numbers(word).iter().for_each(|number| self.add(*number));
        }
    }

    /// `1e6`, `10k`, `2M`.
    fn scaled(&mut self, text: &str, at: usize) {
        let start = text[..at]
            .rfind(|c: char| !(c.is_ascii_digit() || c == '.'))
            .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
        let Ok(number) = text[start..at].parse::<f64>() else { return };
        let rest = &text[at + 1..];
        match text.as_bytes()[at].to_ascii_lowercase() {
            b'k' => self.add(number * 1e3),
            b'm' => self.add(number * 1e6),
            _ => {
                let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+')));
                let exponent = rest[..end.unwrap_or(rest.len())].parse::<i32>();
                exponent.into_iter().for_each(|exponent| self.add(number * 10_f64.powi(exponent)));
            }
        }
    }
}

/// The value without its sign, as a key: 3, 3.0 and -3 are one.
fn key(number: f64) -> u64 {
    // Twelve digits are enough to tell numbers of a task apart, and `0.07 * 100` is 7.
    format!("{:.11e}", number.abs()).parse::<f64>().unwrap_or(number.abs()).to_bits()
}

fn word_numbers(word: &str) -> &'static [f64] {
    match word {
        "two" | "twice" | "double" | "doubled" | "square" | "squared" | "pair" | "both" => &[2.0],
        "half" | "halve" | "halved" => &[2.0, 0.5],
        "average" | "mean" | "midpoint" => &[2.0],
        "three" | "triple" | "cube" | "cubed" | "thrice" => &[3.0],
        "third" | "thirds" => &[3.0],
        "four" | "quarter" | "quarters" | "quadruple" => &[4.0, 0.25],
        "five" | "fifth" => &[5.0],
        "six" => &[6.0],
        "seven" | "week" | "weeks" | "weekly" => &[7.0],
        "eight" => &[8.0],
        "nine" => &[9.0],
        "ten" | "tenth" => &[10.0],
        "eleven" => &[11.0],
        "twelve" | "dozen" | "year" | "years" | "monthly" => &[12.0],
        "root" => &[2.0, 0.5],
        "twenty" => &[20.0],
        "thirty" => &[30.0],
        "forty" => &[40.0],
        "fifty" => &[50.0],
        "hundred" => &[100.0],
        "thousand" => &[1e3],
        "million" => &[1e6],
        "hour" | "hours" | "minute" | "minutes" => &[60.0],
        _ => &[],
    }
}
