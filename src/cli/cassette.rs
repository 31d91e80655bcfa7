//! A recording as a file: readable, the same each time it is made, and without anything of this machine.
//!
//! Main type: [`Cassette`]. One entry a question or call, in the order of the steps. Knows the form; what is
//! done with it is told in `replay`.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::open::{read_file, show};
use super::output_file::write_whole;
use super::{Exit, Streams, Trouble};
use crate::diagnostic::{Code, Diagnostic};
use crate::event::{Failure, Outcome, Usage};
use crate::id::{StepId, ToolName};
use crate::run::{Came, Exchange, Recording};
use crate::source::{Source, Span};

/// Version of the form.
const VERSION: u32 = 1;

const HEAD: &str = "# A recording of a run, made with `wf run FILE --record`: `wf run FILE --replay` and `wf test` \
                    do the run again with it.\n";

/// A recording to keep beside a workflow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cassette {
    cassette: u32,
    /// The workflow's name.
    pub workflow: String,
    /// The model that answered.
    pub model: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// A goal that took the place of the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    exchanges: Vec<Entry>,
    /// Whether the run succeeded; a failed one is done again to the same failure.
    pub outcome: End,
}

/// How the recorded run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Succeeded,
    Failed,
}

/// A question (`ask`) or a call (`call`). Without a step it is about the plan.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<StepId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<ToolName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<Vec<Value>>,
    /// Hash of the whole request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// The text, or an object where there is more to it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    answer: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

/// `null` is a value too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Cassette {
    /// A recording as a cassette; `None` if the run did not come to an end of its own.
    pub fn of(recording: &Recording) -> Option<Self> {
        let started = recording.started.as_ref()?;
        let outcome = match recording.outcome {
            Some(Outcome::Succeeded { .. }) => End::Succeeded,
            Some(Outcome::Failed { .. }) => End::Failed,
            _ => return None,
        };
        let exchanges = recording.exchanges.iter();
        let exchanges = exchanges.flat_map(|(step, all)| all.iter().map(|one| Entry::of(step.clone(), one)));
        Some(Self {
            cassette: VERSION,
            workflow: started.workflow.clone(),
            model: started.model.to_string(),
            inputs: started.inputs.clone(),
            task: started.task.clone(),
            exchanges: exchanges.collect(),
            outcome,
        })
    }

    /// Its text.
    pub fn text(&self) -> String {
        let text = serde_yaml::to_string(self).unwrap_or_else(|error| panic!("bug: no YAML: {error}"));
        format!("{HEAD}{text}")
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(source: &Source) -> Result<Self, Box<Diagnostic>> {
        let mistake = |at: usize, message: String| {
            let mut diagnostic = Diagnostic::new(Code::InvalidValue, Span::at(at), message);
            diagnostic.help =
                Some("a cassette is not written by hand: `wf run FILE --record` makes it anew".to_owned());
            Box::new(diagnostic)
        };
        let cassette: Self = serde_yaml::from_str(source.text()).map_err(|error| {
            let at = error.location().map_or(0, |place| place.index().min(source.text().len()));
            mistake(at, format!("the cassette cannot be read: {error}"))
        })?;
        if cassette.cassette > VERSION {
            let at = source.text().find("cassette:").unwrap_or(0);
            let message =
                format!("the cassette is of version {}, and this wf knows {VERSION}", cassette.cassette);
            return Err(mistake(at, message));
        }
        match cassette.exchanges.iter().position(|entry| entry.exchange().is_none()) {
            None => Ok(cassette),
            Some(at) => {
                let number = at + 1;
                let message = format!(
                    "entry {number} of `exchanges` is neither an `ask` with its `request` nor a `call` with its `args`"
                );
                Err(mistake(source.text().find("exchanges:").unwrap_or(0), message))
            }
        }
    }

    /// What went to and fro.
    pub fn exchanges(&self) -> impl Iterator<Item = (Option<StepId>, Exchange)> + '_ {
        self.exchanges.iter().filter_map(|entry| Some((entry.step.clone(), entry.exchange()?)))
    }
}

impl Entry {
    fn of(step: Option<StepId>, exchange: &Exchange) -> Self {
        match exchange {
            Exchange::Ask { request, new, came } => {
                let (came, failure) = parts(came);
                let (answer, usage) = came.unzip();
                let usage = usage.filter(|usage| *usage != Usage::default());
                let (ask, request) = (Some(new.clone()), Some(request.clone()));
                Self {
                    step,
                    ask,
                    request,
                    answer: answer.as_ref().map(brief),
                    usage,
                    failure,
                    ..Self::default()
                }
            }
            Exchange::Call { tool, args, came } => {
                let (result, failure) = parts(came);
                let (call, args) = (Some(tool.clone()), Some(args.clone()));
                Self { step, call, args, result, failure, ..Self::default() }
            }
        }
    }

    fn exchange(&self) -> Option<Exchange> {
        match (&self.call, &self.ask) {
            (Some(tool), None) => {
                let came = came_of(self.result.clone(), &self.failure);
                Some(Exchange::Call { tool: tool.clone(), args: self.args.clone()?, came })
            }
            (None, Some(new)) => {
                let answer =
                    self.answer.as_ref().map(|answer| (whole(answer), self.usage.unwrap_or_default()));
                let came = came_of(answer, &self.failure);
                Some(Exchange::Ask { request: self.request.clone()?, new: new.clone(), came })
            }
            _ => None,
        }
    }
}

/// What came of an exchange, as it is written.
fn parts<T: Clone>(came: &Came<T>) -> (Option<T>, Option<Failure>) {
    match came {
        Came::Result(result) => (Some(result.clone()), None),
        Came::Failure(failure) => (None, Some(failure.clone())),
        Came::Nothing => (None, None),
    }
}

fn came_of<T>(result: Option<T>, failure: &Option<Failure>) -> Came<T> {
    match (result, failure) {
        (Some(result), None) => Came::Result(result),
        (None, Some(failure)) => Came::Failure(failure.clone()),
        _ => Came::Nothing,
    }
}

/// An answer that is nothing but text, as this text.
fn brief(answer: &Value) -> Value {
    match answer["text"].as_str() {
        Some(text) if *answer == whole(&json!(text)) => json!(text),
        _ => answer.clone(),
    }
}

fn whole(answer: &Value) -> Value {
    match answer.as_str() {
        Some(text) => json!({"text": text, "calls": [], "finish": "stop"}),
        None => answer.clone(),
    }
}

/// Whether a text is a cassette, by its name or by what it begins with.
pub fn is_cassette(source: &Source) -> bool {
    let name = Path::new(source.name()).file_name().unwrap_or_default().to_string_lossy();
    let mut lines = source.text().lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    name.contains(".cassette.") || lines.next().is_some_and(|line| line.starts_with("cassette:"))
}

/// The cassette in a file.
pub fn read_cassette(path: &Path, streams: &mut Streams) -> Result<Cassette, Trouble> {
    let source = read_file(path).map_err(|checked| {
        show(&checked, streams);
        Trouble::Shown(Exit::Invalid)
    })?;
    Cassette::read(&source).map_err(|mistake| {
        let place = source.position(mistake.span.start);
        let message = format!("{}:{}:{}: {}", source.name(), place.line, place.column, mistake.message);
        Trouble::Said(Exit::Invalid, message)
    })
}

/// Writes the recording of a run, if it can be done again.
pub fn write_cassette(path: &Path, recording: &Recording, streams: &mut Streams) -> Result<(), Trouble> {
    match Cassette::of(recording) {
        Some(cassette) => {
            let fault = |error| Trouble::unable(format!("cannot write `{}`: {error}", path.display()));
            write_whole(path, &cassette.text()).map_err(fault)?;
            streams.remark(&format!("wrote {}", path.display()));
        }
        None => streams.remark(&format!(
            "`{}` was not written: the run came to no end that could be done again",
            path.display()
        )),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[-+]?[0-9._]{1,4}([eE][0-9]{1,3})?".prop_map(Value::from),
            "(yes|no|on|off|null|~|true|0x1f|0o7|1:30|2026-12-01|- a|a: b|\\{|\\[|# x|\\||>)\n?"
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_comes_back_as_it_was(value in any_value(), text in any::<String>()) {
            let call = Exchange::Call {
                tool: "probe".into(),
                args: Map::from_iter([("x".to_owned(), value.clone())]),
                came: Came::Result(value),
            };
            let ask = Exchange::Ask {
                request: "a.b".to_owned(),
                new: vec![json!({"role": "user", "text": text})],
                came: Came::Result((json!({"text": text, "calls": [], "finish": "stop"}), Usage::default())),
            };
            let exchanges = vec![
                Entry::of(Some(StepId::integer(1)), &call),
                Entry::of(Some(StepId::string("a")), &ask),
            ];
            let cassette = Cassette {
                cassette: VERSION,
                workflow: "w".to_owned(),
                model: "offline".to_owned(),
                inputs: Map::new(),
                task: None,
                exchanges,
                outcome: End::Succeeded,
            };
            let source = Source::new("w.cassette.yaml", cassette.text());
            let back = Cassette::read(&source).map_err(|it| TestCaseError::fail(format!("{}: {}", it.message, source.text())))?;
            let back = back.exchanges().map(|(_, exchange)| exchange).collect::<Vec<_>>();
            prop_assert_eq!(back, vec![call, ask]);
        }
    }
}
