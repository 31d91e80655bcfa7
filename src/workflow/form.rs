//! A plan written out again: as JSON in the form models give it, and as a workflow file that runs.
//!
//! What is written here loads by the same door and means the same. Knows no status of a run: steps are
//! pending.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{Action, Arg, Origin, Plan, Reference, Step, Workflow};
use crate::id::ToolName;
use crate::spec::{Output, ToolKind, ToolSpec};
use crate::template::Template;

/// The plan as JSON: `{"steps": [{id, type, description, tool, args, status, result}]}`.
pub fn plan_json(plan: &Plan) -> Value {
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| {
            let mut json = step_json(step, |template| template.text().to_owned());
            json.insert("status".to_owned(), json!("pending"));
            json.insert("result".to_owned(), Value::Null);
            Value::Object(json)
        })
        .collect();
    json!({ "steps": steps })
}

/// A workflow file that does what the plan does.
///
/// A plan of a model holds no templates, so its texts are escaped. Its order is kept: what may overlap
/// there may overlap in the file.
///
/// # Panics
/// If a JSON value cannot be written as YAML: that cannot be.
pub fn workflow_yaml(workflow: &Workflow, task: &str, plan: &Plan) -> String {
    let escape = |template: &Template| match plan.origin {
        Origin::Model => Template::escape(template.text()),
        Origin::Person => template.text().to_owned(),
    };
    let mut file = Map::new();
    file.insert("name".to_owned(), json!(workflow.name));
    if let Some(description) = &workflow.description {
        file.insert("description".to_owned(), json!(description));
    }
    file.insert("task".to_owned(), json!(Template::escape(task)));
    if let Some(system) = &workflow.system {
        file.insert("system".to_owned(), json!(system.text()));
    }
    if !workflow.inputs.is_empty() {
        file.insert("inputs".to_owned(), inputs(workflow));
    }
    let called: HashSet<&ToolName> = plan.steps.iter().filter_map(Step::tool).collect();
    let tools: Vec<&ToolSpec> = workflow.tools.iter().filter(|tool| called.contains(&tool.name)).collect();
    if !workflow.env.is_empty() && !tools.is_empty() {
        file.insert("env".to_owned(), json!(workflow.env));
    }
    if !tools.is_empty() {
        let tools: Map<String, Value> =
            tools.into_iter().map(|tool| (tool.name.to_string(), declaration(tool))).collect();
        file.insert("tools".to_owned(), Value::Object(tools));
    }
    let after = waits(plan);
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| {
            let mut json = step_json(step, escape);
            json.shift_remove("depends_on");
            if let Some(ids) = &after[at] {
                json.insert("depends_on".to_owned(), json!(ids));
            }
            if plan.origin == Origin::Model
                && let Some(args) = json.get_mut("args")
            {
                escape_strings(args);
            }
            Value::Object(json)
        })
        .collect();
    file.insert("workflow_sequence".to_owned(), Value::Array(steps));
    match serde_yaml::to_string(&Value::Object(file)) {
        Ok(text) => text,
        Err(error) => panic!("bug: JSON that is no YAML: {error}"),
    }
}

/// Per step, what it waits for, where the file must say so: a step that does not wait for all those
/// above it.
fn waits(plan: &Plan) -> Vec<Option<Vec<Value>>> {
    let steps = plan.steps.iter().enumerate();
    steps
        .map(|(at, step)| match plan.origin {
            Origin::Person => step.depends_on.as_ref().map(|ids| ids.iter().map(|id| id.to_json()).collect()),
            Origin::Model => {
                let ancestors = plan.graph.ancestors(at);
                (ancestors.len() != at)
                    .then(|| ancestors.iter().map(|before| plan.steps[*before].id.to_json()).collect())
            }
        })
        .collect()
}

fn step_json(step: &Step, text: impl Fn(&Template) -> String) -> Map<String, Value> {
    let mut json = Map::new();
    json.insert("id".to_owned(), step.id.to_json());
    json.insert("type".to_owned(), json!(step.kind()));
    if let Some(description) = &step.description {
        json.insert("description".to_owned(), json!(text(description)));
    }
    match &step.action {
        Action::ToolCall { tool, args } => {
            json.insert("tool".to_owned(), json!(tool));
            if let Some(args) = args {
                let args = args.iter().map(|(name, arg)| (name.clone(), arg_json(arg)));
                json.insert("args".to_owned(), Value::Object(args.collect()));
            }
        }
        Action::Reasoning { output_schema } => push_schema(&mut json, output_schema.as_ref()),
        Action::Aggregate { inputs, output_schema } => {
            json.insert("inputs".to_owned(), json!(inputs));
            push_schema(&mut json, output_schema.as_ref());
        }
    }
    if let Some(ids) = &step.depends_on {
        json.insert("depends_on".to_owned(), json!(ids));
    }
    json
}

fn push_schema(json: &mut Map<String, Value>, schema: Option<&Value>) {
    if let Some(schema) = schema {
        json.insert("output_schema".to_owned(), schema.clone());
    }
}

fn arg_json(arg: &Arg) -> Value {
    match arg {
        Arg::Value(value) => value.clone(),
        Arg::Template(template) => json!(template.text()),
        Arg::Reference(Reference { step, pointer: None }) => json!({"step_result": step}),
        Arg::Reference(Reference { step, pointer: Some(pointer) }) => {
            json!({"step_result": step, "pointer": pointer})
        }
        Arg::List(items) => Value::Array(items.iter().map(arg_json).collect()),
        Arg::Object(entries) => {
            Value::Object(entries.iter().map(|(name, arg)| (name.clone(), arg_json(arg))).collect())
        }
    }
}

/// A model's strings are literal, and stay so in a file. A reference's own strings are no text.
fn escape_strings(value: &mut Value) {
    match value {
        Value::String(text) => *text = Template::escape(text),
        Value::Array(items) => items.iter_mut().for_each(escape_strings),
        Value::Object(entries) if !entries.contains_key("step_result") => {
            entries.values_mut().for_each(escape_strings);
        }
        _ => {}
    }
}

fn inputs(workflow: &Workflow) -> Value {
    let inputs = workflow.inputs.iter().map(|(name, input)| {
        let mut json = input.schema.as_object().cloned().unwrap_or_default();
        if let Some(default) = &input.default {
            json.insert("default".to_owned(), default.clone());
        }
        if let Some(description) = &input.description {
            json.insert("description".to_owned(), json!(description));
        }
        (name.clone(), Value::Object(json))
    });
    Value::Object(inputs.collect())
}

/// A tool as a file declares it.
fn declaration(tool: &ToolSpec) -> Value {
    let mut json = Map::new();
    json.insert("description".to_owned(), json!(tool.description));
    if !tool.takes_none() {
        json.insert("parameters".to_owned(), tool.parameters.clone());
    }
    if let Some(returns) = &tool.returns {
        json.insert("returns".to_owned(), returns.clone());
    }
    json.insert("effect".to_owned(), json!(tool.effect));
    if tool.output != Output::Auto {
        json.insert("output".to_owned(), json!(tool.output));
    }
    if let Some(timeout) = tool.timeout {
        json.insert("timeout".to_owned(), json!(format!("{}ms", timeout.as_millis())));
    }
    match &tool.kind {
        ToolKind::Builtin { name, with } => {
            json.shift_remove("parameters");
            json.shift_remove("effect");
            json.insert("builtin".to_owned(), json!(name));
            if !with.is_empty() {
                json.insert("with".to_owned(), json!(with));
            }
        }
        ToolKind::Command { argv } => {
            json.insert("command".to_owned(), json!(argv));
        }
        ToolKind::Sql { database, init, query } => {
            let sql = [("database", database.as_ref()), ("init", init.as_ref()), ("query", Some(query))];
            json.insert(
                "sql".to_owned(),
                present(sql.map(|(key, value)| (key, value.map(|value| json!(value))))),
            );
        }
        ToolKind::Http { method, url, headers, query, json: body_json, body } => {
            let http = [
                ("method", Some(json!(method))),
                ("url", Some(json!(url))),
                ("headers", (!headers.is_empty()).then(|| json!(headers))),
                ("query", (!query.is_empty()).then(|| json!(query))),
                ("json", body_json.clone()),
                ("body", body.as_ref().map(|body| json!(body))),
            ];
            json.insert("http".to_owned(), present(http));
        }
    }
    Value::Object(json)
}

/// The entries that have a value.
fn present<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let entries = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(entries.collect())
}
