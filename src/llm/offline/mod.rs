//! The embedded default: rules instead of a model, so that everything runs without key and network.
//!
//! Main type: [`Offline`]. It plans arithmetic, fills in arguments from what has their name, and writes
//! digests computed from results. It answers from a request's facts, never from its prompts, and the
//! same facts always give the same answer. What it cannot do it says in one sentence.

mod arguments;
mod arithmetic;
mod digest;
mod expression;
mod markdown;
mod table;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::{Call, Choice, Facts, Finish, Model, ModelError, ModelErrorKind, NamedResult, Reply, Request};
use crate::event::Usage;
use crate::id::{ModelName, StepId};
use crate::spec::ToolSpec;
use arguments::Unfilled;

/// The model without a model.
#[derive(Clone, Debug)]
pub struct Offline {
    name: ModelName,
}

impl Offline {
    /// The model of the name `offline`.
    pub fn new() -> Self {
        Self { name: ModelName::new("offline") }
    }
}

impl Default for Offline {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Model for Offline {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, ModelError> {
        answer(request).map_err(|sentence| ModelError::new(ModelErrorKind::Unable, sentence))
    }
}

/// The answer, or a sentence that says what it cannot do: asking again would not change that.
fn answer(request: &Request) -> Result<Reply, String> {
    Ok(match &request.facts {
        Facts::Plan { task, tools } => text(arithmetic::plan(task, tools).map_err(|reason| {
            format!(
                "the offline model only plans arithmetic, and this task is not one plain expression ({reason}); \
                 name a language model with `--model` to plan anything else"
            )
        })?),
        // No rule speaks against a plan whose step is done.
        Facts::Revision { failed: false } => {
            text(json!({"decision": "continue", "reason": "The step is done."}).to_string())
        }
        Facts::Revision { failed: true } => return Err(NO_REVISION.to_owned()),
        Facts::Arguments { tool, inputs, results } => {
            let filled = arguments::fill(&tool.parameters, inputs, results);
            call(tool, &filled.map_err(|unfilled| cannot_fill(tool, &unfilled))?, &request.choice)
        }
        Facts::Text { task, description, results, of } => {
            let chosen: Vec<&NamedResult> = results.iter().filter(|result| is_chosen(result, of)).collect();
            // A summary stands alone and carries the goal; a thought on the way needs no title.
            let title = of.is_some().then(|| task.as_deref().unwrap_or(description));
            let digest = digest::write(title, &chosen);
            match (&request.format, digest) {
                (None, Some(digest)) => text(digest),
                (None, None) => text(NOTHING_TO_DIGEST.to_owned()),
                (Some(format), digest) => match fitting(&format.schema, digest, &chosen) {
                    Some(value) => text(value.to_string()),
                    None => return Err(NO_FIT.to_owned()),
                },
            }
        }
    })
}

const NOTHING_TO_DIGEST: &str = "The offline model only writes digests of earlier results, and there is none \
     to write of; name a language model with `--model`.";

const NO_REVISION: &str = "the offline model cannot mend a plan whose step has failed; name a language model with \
     `--model`";

const NO_FIT: &str = "the offline model only writes digests of earlier results, and none of them fits the \
     output schema; name a language model with `--model`";

fn is_chosen(result: &NamedResult, of: &Option<Vec<StepId>>) -> bool {
    of.as_ref().is_none_or(|ids| ids.contains(&result.step))
}

fn call(tool: &ToolSpec, filled: &Map<String, Value>, choice: &Choice) -> Reply {
    let arguments = Value::Object(filled.clone()).to_string();
    match choice {
        Choice::Tool(_) => {
            let call = Call { id: "offline_1".to_owned(), name: tool.name.clone(), arguments };
            Reply { calls: vec![call], ..text(String::new()) }
        }
        Choice::None => text(arguments),
    }
}

fn cannot_fill(tool: &ToolSpec, unfilled: &Unfilled) -> String {
    let tool = &tool.name;
    let why = match unfilled {
        Unfilled::Missing(name) => {
            format!("there is no input, earlier result or default for the argument `{name}` of `{tool}`")
        }
        Unfilled::Unfit(name) => {
            format!("no input, earlier result or default fits the argument `{name}` of `{tool}`")
        }
        Unfilled::Whole(reason) => {
            format!("what was found for the arguments of `{tool}` does not fit: {reason}")
        }
    };
    format!(
        "the offline model only takes over values of the same name, and {why}; \
         give the step `args`, or name a language model with `--model`"
    )
}

/// JSON that fits a schema and says something: values of the same names, the digest as structure, its
/// rows, or its text.
fn fitting(schema: &Value, digest: Option<String>, results: &[&NamedResult]) -> Option<Value> {
    let validator = jsonschema::validator_for(schema).ok()?;
    let owned: Vec<NamedResult> = results.iter().map(|result| (*result).clone()).collect();
    let filled = arguments::fill(schema, &Map::new(), &owned).ok().filter(|filled| !filled.is_empty());
    let structure = digest::structure(results);
    let rows = structure.as_ref().and_then(|structure| structure.get("rows").cloned());
    // The structure has names of its own: it is no answer where others were asked for.
    let structure = structure.filter(|_| schema.get("properties").is_none());
    let candidates = [filled.map(Value::Object), structure, rows, digest.map(Value::String)];
    candidates.into_iter().flatten().find(|value| validator.is_valid(value))
}

fn text(text: String) -> Reply {
    Reply { text, calls: Vec::new(), finish: Finish::Stop, usage: Usage::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Offline;
    use crate::event::Usage;
    use crate::llm::{
        Choice, Facts, Model, ModelError, ModelErrorKind, NamedResult, Reply, Request, ResponseFormat,
    };
    use crate::spec::{Effect, Output, ToolKind, ToolSpec};

    fn ask(facts: Facts, choice: Choice, format: Option<Value>) -> Reply {
        let reply = outcome(facts, choice, format).unwrap();
        assert_eq!(reply.usage, Usage::default());
        reply
    }

    /// What it says it cannot do.
    fn refusal(facts: Facts, choice: Choice, format: Option<Value>) -> String {
        let error = outcome(facts, choice, format).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Unable);
        error.message
    }

    fn outcome(facts: Facts, choice: Choice, format: Option<Value>) -> Result<Reply, ModelError> {
        let request = Request {
            step: None,
            messages: Vec::new(),
            tools: Vec::new(),
            choice,
            format: format.map(|schema| ResponseFormat { name: "answer".into(), schema }),
            temperature: None,
            max_tokens: None,
            seed: None,
            timeout: None,
            facts,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let model = Offline::new();
        let outcome = runtime.block_on(model.ask(&request));
        assert_eq!(runtime.block_on(model.ask(&request)), outcome, "the same question, the same answer");
        outcome
    }

    fn tool(properties: Value, required: &[&str]) -> ToolSpec {
        ToolSpec {
            name: "find".into(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": properties, "required": required}),
            returns: None,
            effect: Effect::Read,
            output: Output::Auto,
            timeout: None,
            kind: ToolKind::Command { argv: vec!["true".into()] },
        }
    }

    fn is_one_sentence(text: &str) -> bool {
        !text.contains(". ") && !text.contains('\n') && text.contains("`--model`")
    }

    #[test]
    fn what_is_no_arithmetic_is_answered_with_a_sentence_that_is_no_plan() {
        for task in ["write a poem", "solve 2+3 and email it", "{\"steps\": []}", "2 + ", ""] {
            let facts = Facts::Plan { task: task.into(), tools: Vec::new() };
            let said = refusal(facts, Choice::None, None);
            assert!(is_one_sentence(&said) && !said.contains('{'), "{task}: {said}");
        }
    }

    #[test]
    fn arguments_are_a_call_or_text_where_no_call_may_be() {
        let tool = tool(json!({"week": {"type": "string"}}), &["week"]);
        let facts = |inputs: Value| Facts::Arguments {
            tool: tool.clone(),
            inputs: inputs.as_object().cloned().unwrap(),
            results: Vec::new(),
        };
        let reply = ask(facts(json!({"week": "W1"})), Choice::Tool("find".into()), None);
        assert_eq!(reply.calls.len(), 1);
        assert_eq!((reply.calls[0].id.as_str(), reply.calls[0].name.as_str()), ("offline_1", "find"));
        assert_eq!(reply.calls[0].arguments, r#"{"week":"W1"}"#);
        let reply = ask(facts(json!({"week": "W1"})), Choice::None, None);
        assert_eq!((reply.text.as_str(), reply.calls.len()), (r#"{"week":"W1"}"#, 0));
        for inputs in [json!({}), json!({"week": 3})] {
            let said = refusal(facts(inputs), Choice::Tool("find".into()), None);
            assert!(is_one_sentence(&said) && said.contains("`week`") && said.contains("`find`"), "{said}");
        }
    }

    fn results() -> Vec<NamedResult> {
        let result = |step: i64, value| NamedResult {
            step: step.into(),
            title: format!("Part {step}"),
            tool: Some("part".into()),
            value,
        };
        vec![
            result(1, json!([{"name": "a", "n": 1}, {"name": "b", "n": 2}, {"name": "c", "n": 9}])),
            result(2, json!({"total": 12})),
        ]
    }

    fn facts(of: Option<Vec<i64>>, results: Vec<NamedResult>) -> Facts {
        let of = of.map(|ids| ids.into_iter().map(Into::into).collect());
        Facts::Text { task: Some("The goal".into()), description: "Sum it up".into(), results, of }
    }

    fn digest(of: Option<Vec<i64>>, results: Vec<NamedResult>, format: Option<Value>) -> String {
        ask(facts(of, results), Choice::None, format).text
    }

    #[test]
    fn a_text_is_a_digest_of_the_named_results() {
        let all = digest(None, results(), None);
        assert!(
            all.contains("| c | 9 |") && all.contains("total: 12") && !all.contains("# The goal"),
            "{all}"
        );
        let second = digest(Some(vec![2]), results(), None);
        assert!(second.starts_with("# The goal") && !second.contains("| c |"), "{second}");
        for text in [&all, &second] {
            assert!(text.contains("computed offline, without a language model"), "{text}");
        }
        assert!(is_one_sentence(&digest(None, Vec::new(), None)));
    }

    #[test]
    fn a_schema_is_answered_with_json_that_fits_or_a_sentence() {
        let fits =
            |schema: Value| serde_json::from_str::<Value>(&digest(None, results(), Some(schema))).unwrap();
        let total =
            json!({"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]});
        assert_eq!(fits(total), json!({"total": 12}));
        assert_eq!(fits(json!({"type": "object"}))["stands_out"], json!(["c"]));
        assert_eq!(fits(json!({"type": "array"}))[2], json!({"name": "c", "n": 9}));
        assert!(fits(json!({"type": "string"})).as_str().unwrap().contains("| c | 9 |"));
        for schema in [
            json!({"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}),
            json!({"type": "object", "properties": {"why": {"type": "string"}}}),
            json!({"type": "integer"}),
        ] {
            assert!(is_one_sentence(&refusal(facts(None, results()), Choice::None, Some(schema))));
        }
    }
}
