//! `wf tools`: the tools a step may call, with their arguments and what calling them does.
//!
//! Main function: [`tools`]. Knows how a schema reads as a short list of arguments.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::args::ToolsArgs;
use super::open::{FileModel, open};
use super::{Exit, Streams, Trouble};
use crate::report::Look;
use crate::report::look::Paint;
use crate::spec::{Effect, ToolSpec};
use crate::tool::builtin_specs;

pub fn tools(args: &ToolsArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let declared = match &args.file {
        Some(file) => open(file, FileModel::Unasked, streams)?.workflow.tools,
        None => Vec::new(),
    };
    let builtins = builtin_specs();
    if args.json {
        let all = declared.iter().chain(&builtins).map(in_full).collect::<Vec<_>>();
        streams.stdout.line(&format!("{:#}", Value::from(all)))?;
        return Ok(Exit::Success);
    }
    let look = streams.look_out();
    let mut out = String::new();
    for tool in declared.iter().chain(&builtins) {
        describe(&mut out, tool, look);
    }
    streams.stdout.text(&out)?;
    Ok(Exit::Success)
}

/// Everything a caller has to know about a tool; how it is carried out is the file's own business.
fn in_full(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description.trim(),
        "kind": tool.kind.as_str(),
        "effect": tool.effect,
        "parameters": tool.parameters,
        "returns": tool.returns,
    })
}

fn describe(out: &mut String, tool: &ToolSpec, look: Look) {
    let effect = match tool.effect {
        Effect::Read => "read",
        Effect::Idempotent => "idempotent",
        Effect::Once => "once",
    };
    let head = format!("{}({})", tool.name, arguments(&tool.parameters));
    let head = look.paint(Paint::Strong, &look.shown(&head));
    let _ = writeln!(out, "{head}  {}, {effect}", tool.kind.as_str());
    let _ = writeln!(out, "    {}", look.shown(tool.description.trim()));
}

/// `a: number, b?: number`.
fn arguments(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let one = |(name, property): (&String, &Value)| {
        let kind = match property.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
            }
            _ => "any".to_owned(),
        };
        format!("{name}{}: {kind}", if is_required(name) { "" } else { "?" })
    };
    properties.into_iter().flatten().map(one).collect::<Vec<_>>().join(", ")
}
