//! The keys of the format, in one table: what each is called, holds and means.
//!
//! Main type: [`Table`]. Both the reading of documents and the JSON Schemas are driven by these
//! tables, so the two cannot drift apart.

use super::types::StepType;

/// The keys of one kind of mapping.
#[derive(Debug)]
pub struct Table {
    /// What the mapping is, for messages: "a step".
    pub what: &'static str,
    pub keys: &'static [Key],
    /// Keys of which the mapping must have at least one; empty for no such rule.
    pub any_of: &'static [&'static str],
    /// Keys that exclude each other.
    pub not_both: &'static [&'static str],
    /// Keys that later versions will have.
    pub later: &'static [&'static str],
}

/// One key.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub shape: Shape,
    /// Whether the mapping must have it; what depends on other keys is not said here.
    pub required: bool,
    /// What it means, in a sentence for editors.
    pub about: &'static str,
    /// For a key of a step: the types that have it; empty for all.
    pub types: &'static [StepType],
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number with a unit: `2s`.
    Duration,
    /// An integer from this on.
    Integer(i64),
    /// A number from this on.
    Number(f64),
    Id,
    Ids,
    /// The same, and at least one.
    SomeIds,
    /// Names of environment variables.
    EnvNames,
    /// A program and its arguments.
    Command,
    /// Names with strings.
    TextMap,
    /// A mapping with any keys.
    Object,
    /// A JSON Schema.
    Schema,
    Any,
    /// A mapping with the keys of a table.
    Table(&'static Table),
    /// Names, each with a tool.
    Tools,
    /// A model's name, or a mapping.
    Model,
    /// One of the words of a table's first key, or a mapping with its keys.
    WordOr(&'static Table),
    /// Declared inputs.
    Inputs,
    /// Steps, of a file or of a plan.
    Steps {
        plan: bool,
    },
}

impl Table {
    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: false, about, types: &[] }
}

const fn required(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: true, about, types: &[] }
}

const fn of(types: &'static [StepType], name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: false, about, types }
}

/// The types of steps.
pub const STEP_TYPES: &[StepType] = &[StepType::ToolCall, StepType::Reasoning, StepType::Aggregate];

/// The words for them.
pub const STEP_TYPE_WORDS: &[&str] = &["tool_call", "reasoning", "aggregate"];

/// The keys that say how a tool is carried out; a tool has exactly one.
pub const TOOL_KINDS: &[&str] = &["sql", "command", "http", "builtin"];

/// The whole file.
pub static FILE: Table = Table {
    what: "a workflow file",
    keys: &[
        key("name", Shape::Text, "The name of the workflow; by default that of the file."),
        key("description", Shape::Text, "What the workflow does, for people."),
        key("task", Shape::Text, "The goal: the first message to the model. Templates may read `inputs`."),
        key("system", Shape::Text, "The system prompt. Templates may read `inputs`."),
        key(
            "model",
            Shape::Model,
            "The model to ask: `openai/gpt-5-mini`, `ollama/…`, `offline`; or a mapping with more settings.",
        ),
        key("inputs", Shape::Inputs, "Declared parameters of the workflow, by name."),
        key(
            "env",
            Shape::EnvNames,
            "Environment variables this file may read; their values are masked in results.",
        ),
        key("tools", Shape::Tools, "Declared tools, by name."),
        key("limits", Shape::Table(&LIMITS), "Bounds of a run."),
        key(
            "replan",
            Shape::WordOr(&REPLAN),
            "When the model may revise the plan while it runs: `on_failure`, `after_each`; or a mapping with more.",
        ),
        key(
            "workflow_sequence",
            Shape::Steps { plan: false },
            "The steps, in order. Without them the model plans the task.",
        ),
        key(
            "steps",
            Shape::Steps { plan: true },
            "The steps of a plan, as a model writes them; `type` is `tool_call` unless given.",
        ),
    ],
    any_of: &[],
    not_both: &["workflow_sequence", "steps"],
    later: &["mcp_servers", "permissions", "workspace", "verify"],
};

/// `model` as a mapping.
pub static MODEL: Table = Table {
    what: "a model",
    keys: &[
        required("name", Shape::Text, "Provider and model: `openai/gpt-5-mini`."),
        key("base_url", Shape::Text, "Where the provider's API is, if not at its usual place."),
        key("temperature", Shape::Number(0.0), "How freely the model words its answers; 0 is the least."),
        key("max_tokens", Shape::Integer(1), "The longest answer, in tokens."),
        key(
            "seed",
            Shape::Integer(i64::MIN),
            "A number that makes answers repeatable, where the provider can.",
        ),
        key("timeout", Shape::Duration, "The longest time of one request: `60s`."),
    ],
    any_of: &[],
    not_both: &[],
    later: &[],
};

/// `limits`.
pub static LIMITS: Table = Table {
    what: "`limits`",
    keys: &[
        key("timeout", Shape::Duration, "The longest time of a run: `10m`."),
        key("max_tokens", Shape::Integer(1), "Most tokens a run may use."),
        key("max_steps", Shape::Integer(1), "Most steps a run may have."),
        key(
            "max_result_chars",
            Shape::Integer(1),
            "Longest part of a result that is shown to the model, in characters; 50000 unless given.",
        ),
        key(
            "max_output_bytes",
            Shape::Integer(1),
            "Longest output of a tool that is kept, in bytes; 4 MiB unless given.",
        ),
    ],
    any_of: &[],
    not_both: &[],
    later: &[],
};

/// `replan`.
pub static REPLAN: Table = Table {
    what: "`replan`",
    keys: &[
        required(
            "when",
            Shape::Word(REPLAN_WORDS),
            "`on_failure`: when a step has failed for good; `after_each`: also after each step whose result is not known to be as expected.",
        ),
        key("limit", Shape::Integer(1), "How often the plan may be changed in a run; 3 unless given."),
    ],
    any_of: &[],
    not_both: &[],
    later: &[],
};

/// When a plan may be revised.
pub const REPLAN_WORDS: &[&str] = &["on_failure", "after_each"];

/// One tool under `tools`.
pub static TOOL: Table = Table {
    what: "a tool",
    keys: &[
        key("description", Shape::Text, "What the tool does, for the model."),
        key(
            "parameters",
            Shape::Schema,
            "JSON Schema of the arguments, of type object; without it the tool takes none.",
        ),
        key("returns", Shape::Schema, "JSON Schema of the result."),
        key(
            "effect",
            Shape::Word(&["read", "idempotent", "once"]),
            "What calling again would do: `read` changes nothing, `idempotent` gives the same end state, `once` must not be repeated (the default).",
        ),
        key(
            "output",
            Shape::Word(&["auto", "json", "text"]),
            "How output becomes a value: `auto` (JSON if it is JSON, else text), `json`, `text`.",
        ),
        key("timeout", Shape::Duration, "The longest time of one call: `30s`."),
        key("sql", Shape::Table(&SQL), "A query on a SQLite database; `:name` stands for an argument."),
        key(
            "command",
            Shape::Command,
            "A program and its arguments, never a shell line; the arguments of the call also arrive as JSON on standard input.",
        ),
        key("http", Shape::Table(&HTTP), "An HTTP request."),
        key("builtin", Shape::Text, "The name of a built-in tool."),
        key("with", Shape::Object, "Arguments that are fixed for a built-in tool."),
    ],
    any_of: &[],
    not_both: &[],
    later: &[],
};

/// `sql` of a tool.
pub static SQL: Table = Table {
    what: "`sql`",
    keys: &[
        key("database", Shape::Text, "The database file, relative to the workflow file."),
        key("init", Shape::Text, "A script that makes a database in memory, relative to the workflow file."),
        required("query", Shape::Text, "The query; `:name` stands for an argument. Never a template."),
    ],
    any_of: &["database", "init"],
    not_both: &[],
    later: &[],
};

/// `http` of a tool.
pub static HTTP: Table = Table {
    what: "`http`",
    keys: &[
        key(
            "method",
            Shape::Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
            "The method; `GET` unless given.",
        ),
        required(
            "url",
            Shape::Text,
            "The address. Templates may stand behind the host; their values are percent-encoded.",
        ),
        key("headers", Shape::TextMap, "Headers, by name."),
        key("query", Shape::TextMap, "Parameters added to the address, by name."),
        key("json", Shape::Any, "The body, sent as JSON."),
        key("body", Shape::Text, "The body, sent as text."),
    ],
    any_of: &[],
    not_both: &["json", "body"],
    later: &[],
};

/// One step.
pub static STEP: Table = Table {
    what: "a step",
    keys: &[
        required("id", Shape::Id, "An integer or a string; `1` and `\"1\"` are the same."),
        key(
            "type",
            Shape::Word(STEP_TYPE_WORDS),
            "`tool_call` calls a tool, `reasoning` asks the model, `aggregate` asks it about the results of `inputs`.",
        ),
        of(&[StepType::ToolCall], "tool", Shape::Text, "The name of the tool to call."),
        key(
            "description",
            Shape::Text,
            "What the step is for: the instruction to the model. Templates may read `inputs` and `steps`.",
        ),
        of(
            &[StepType::ToolCall],
            "args",
            Shape::Object,
            "Given arguments, so that the model is not asked; `{\"step_result\": ID}` stands for the result of another step, with `pointer` for a part of it.",
        ),
        of(
            &[StepType::Aggregate],
            "inputs",
            Shape::SomeIds,
            "The ids of the steps whose results are put together.",
        ),
        key("depends_on", Shape::Ids, "The ids of the steps to wait for, instead of all steps above."),
        key(
            "when",
            Shape::Text,
            "A condition, without braces: `inputs.week != ''`. If it is false the step is cancelled.",
        ),
        key("retry", Shape::Table(&RETRY), "How often and when a failed attempt is tried again."),
        key("timeout", Shape::Duration, "The longest time of one attempt: `60s`."),
        key(
            "expect",
            Shape::Text,
            "What must be true of the result, without braces: `result > 0`. If it is not, the step has failed; with `replan: after_each` the model decides.",
        ),
        of(
            &[StepType::Reasoning, StepType::Aggregate],
            "output_schema",
            Shape::Schema,
            "JSON Schema that the result must fit.",
        ),
    ],
    any_of: &[],
    not_both: &[],
    later: &["approval", "verify", "for_each", "tools", "max_turns"],
};

/// `retry` of a step.
pub static RETRY: Table = Table {
    what: "`retry`",
    keys: &[
        key("max_attempts", Shape::Integer(1), "How often a step is tried in all, the first time included."),
        key("delay", Shape::Duration, "The first pause; it doubles each time. `1s` unless given."),
        key("max_delay", Shape::Duration, "The longest pause. `30s` unless given."),
    ],
    any_of: &[],
    not_both: &[],
    later: &[],
};

/// Keys that steps of a plan may have besides, and that say nothing to a new run.
pub const PLAN_ONLY: &[&str] = &["status", "result"];

/// The keys a model may write in a step of its plan, in the order it should write them.
pub const MODEL_STEP_KEYS: &[&str] = &["id", "type", "description", "tool", "args", "inputs", "depends_on"];
