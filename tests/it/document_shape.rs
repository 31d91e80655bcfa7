//! What the reading says of files whose syntax is right and whose shape is not; and that the schema
//! says the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use wf::document::{self, Document};
use wf::source::Source;

/// Codes, the text they are placed at and the path, one a line.
fn found(text: &str) -> String {
    let source = Source::new("t", text);
    let (_, diagnostics) = document::read(&source);
    diagnostics.iter().fold(String::new(), |mut all, one| {
        let _ = writeln!(all, "{} `{}` {}", one.code, source.slice(one.span), one.path);
        all
    })
}

fn read(text: &str) -> Document {
    let (document, diagnostics) = document::read(&Source::new("t", text));
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    document.unwrap()
}

/// Whether the schema takes the text.
fn fits(text: &str) -> bool {
    let (node, diagnostics) = document::tree(&Source::new("t", text));
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    jsonschema::validator_for(&document::schema::workflow()).unwrap().is_valid(&node.unwrap().to_json())
}

/// Mistakes of shape: the text, and what is found.
const WRONG: &[(&str, &str)] = &[
    ("- a\n", "not-a-mapping `- a` \n"),
    ("just text\n", "not-a-mapping `just text` \n"),
    ("tsak: x\n", "unknown-key `tsak` tsak\n"),
    ("verify: x\n", "unknown-key `verify` verify\n"),
    ("task: 12\n", "wrong-type `12` task\n"),
    ("task: [a]\n", "wrong-type `[a]` task\n"),
    ("model: {temperature: hot}\n", "missing-key `` model\nwrong-type `hot` model.temperature\n"),
    ("model: {nmae: x}\n", "unknown-key `nmae` model.nmae\n"),
    ("model: [a]\n", "wrong-type `[a]` model\n"),
    (
        "limits: {max_steps: 0, timeout: 10}\n",
        "invalid-value `0` limits.max_steps\ninvalid-duration `10` limits.timeout\n",
    ),
    ("env: {A: b}\n", "wrong-type `{A: b}` env\n"),
    ("env: [A, $B, 3]\n", "wrong-type `3` env[2]\n"),
    ("env: [A, $B]\n", "invalid-value `$B` env[1]\n"),
    ("inputs: {week: string}\n", "wrong-type `string` inputs.week\n"),
    ("inputs: [week]\n", "wrong-type `[week]` inputs\n"),
    ("tools: {a: {}}\n", "missing-key `` tools.a\n"),
    ("tools: {a: {comand: [b]}}\n", "unknown-key `comand` tools.a.comand\n"),
    ("tools: {a: {command: [b], builtin: c}}\n", "conflicting-keys `builtin` tools.a.builtin\n"),
    ("tools: {a: {command: []}}\n", "invalid-value `[]` tools.a.command\n"),
    ("tools: {a: {command: wc -w}}\n", "wrong-type `wc -w` tools.a.command\n"),
    (
        "tools: {a: {command: [wc, 1, true]}}\n",
        "wrong-type `1` tools.a.command[1]\nwrong-type `true` tools.a.command[2]\n",
    ),
    ("tools: {a: {command: [b], with: {}}}\n", "key-not-for-type `with` tools.a.with\n"),
    ("tools: {a: {sql: {query: x}}}\n", "missing-key `` tools.a.sql\n"),
    ("tools: {a: {sql: {database: x}}}\n", "missing-key `` tools.a.sql\n"),
    ("tools: {a: {http: {url: x, json: 1, body: x}}}\n", "conflicting-keys `body` tools.a.http.body\n"),
    ("tools: {a: {http: {method: FETCH, url: x}}}\n", "invalid-value `FETCH` tools.a.http.method\n"),
    ("tools: {a: {http: {url: x, headers: {a: [b]}}}}\n", "wrong-type `[b]` tools.a.http.headers.a\n"),
    ("tools: {a: {command: [b], effect: raed}}\n", "invalid-value `raed` tools.a.effect\n"),
    ("tools: {a: {command: [b], parameters: none}}\n", "wrong-type `none` tools.a.parameters\n"),
    ("workflow_sequence: []\n", "empty-sequence `[]` workflow_sequence\n"),
    ("workflow_sequence: [think]\n", "wrong-type `think` workflow_sequence[0]\n"),
    (
        "steps: [{id: 1, tool: a, args: {}}]\nworkflow_sequence: [{id: 1, type: reasoning, description: d}]\n",
        "conflicting-keys `workflow_sequence` workflow_sequence\n",
    ),
    ("steps: [{id: 1, tool: a}]\n", "missing-key `` steps[0]\n"),
    ("steps: [{tool: a, args: {}}]\n", "missing-key `` steps[0]\n"),
    ("workflow_sequence: [{id: 1, description: d}]\n", "missing-key `` workflow_sequence[0]\n"),
    (
        "workflow_sequence: [{id: 1, type: reasoning, description: d, status: done}]\n",
        "unknown-key `status` workflow_sequence[0].status\n",
    ),
    ("steps: [{id: 1.5, tool: a, args: {}}]\n", "invalid-id `1.5` steps[0].id\n"),
    ("steps: [{id: true, tool: a, args: {}}]\n", "invalid-id `true` steps[0].id\n"),
    ("steps: [{id: [1], tool: a, args: {}}]\n", "invalid-id `[1]` steps[0].id\n"),
    ("steps: [{id: '', tool: a, args: {}}]\n", "invalid-id `''` steps[0].id\n"),
    ("steps: [{id: 1, tool: a, args: [1]}]\n", "wrong-type `[1]` steps[0].args\n"),
    ("steps: [{id: 1, type: aggregate, description: d}]\n", "missing-key `` steps[0]\n"),
    (
        "steps: [{id: 1, type: aggregate, description: d, inputs: []}]\n",
        "invalid-value `[]` steps[0].inputs\n",
    ),
    ("steps: [{id: 1, type: aggregate, description: d, inputs: 2}]\n", "wrong-type `2` steps[0].inputs\n"),
    (
        "steps: [{id: 1, type: aggregate, description: d, inputs: [2.5]}]\n",
        "invalid-id `2.5` steps[0].inputs[0]\n",
    ),
    (
        "steps: [{id: 1, type: reasoning, description: d, args: {}, inputs: [1]}]\n",
        "key-not-for-type `args` steps[0].args\nkey-not-for-type `inputs` steps[0].inputs\n",
    ),
    (
        "steps: [{id: 1, tool: a, args: {}, output_schema: {}}]\n",
        "key-not-for-type `output_schema` steps[0].output_schema\n",
    ),
    ("steps: [{id: 1, type: agent, description: d}]\n", "invalid-value `agent` steps[0].type\n"),
    ("steps: [{id: 1, tool: a, args: {}, for_each: x}]\n", "unknown-key `for_each` steps[0].for_each\n"),
    ("steps: [{id: 1, tool: a, args: {}, when: true}]\n", "wrong-type `true` steps[0].when\n"),
    ("steps: [{id: 1, tool: a, args: {}, retry: 3}]\n", "wrong-type `3` steps[0].retry\n"),
    (
        "steps: [{id: 1, tool: a, args: {}, retry: {max_attempts: 2.5, delay: 2 s}}]\n",
        "wrong-type `2.5` steps[0].retry.max_attempts\ninvalid-duration `2 s` steps[0].retry.delay\n",
    ),
    ("steps: [{di: 1, tool: a, args: {}}]\n", "unknown-key `di` steps[0].di\n"),
];

/// Files with every key there is.
const RIGHT: &[&str] = &[
    "task: x\n",
    "task: x\nworkflow_sequence:\n",
    "task: x\nsteps: ~\n",
    "name: n\ndescription: d\ntask: t\nsystem: s\nx-own: [1]\n\
     model: {name: ollama/x, base_url: 'http://localhost', temperature: 0, max_tokens: 10, seed: -1, timeout: 1m}\n\
     inputs: {week: {type: string, default: a, description: b}, any: }\nenv: [A_1]\n\
     limits: {timeout: 1h, max_tokens: 1, max_steps: 1, max_result_chars: 1, max_output_bytes: 1}\n\
     tools:\n  q: {description: d, parameters: {type: object}, returns: {}, effect: read, output: json, timeout: 1s,\n\
     \x20     sql: {database: a, query: b}}\n  i: {sql: {init: a, query: b}}\n  c: {command: [a, '1']}\n  \
     b: {builtin: read_file, with: {path: a}}\n  h: {http: {method: POST, url: u, headers: {a: 1}, query: {b: true}, json: [1]}}\n\
     workflow_sequence:\n  - {id: 1, type: tool_call, tool: q, description: d, depends_on: [], when: a, timeout: 1s,\n\
     \x20    retry: {max_attempts: 2, delay: 0s, max_delay: 1.5s}}\n  \
     - {id: two, type: reasoning, description: d, output_schema: {}}\n  - {id: 3, type: aggregate, inputs: [1, two], description: d}\n",
    r#"{"steps": [{"id": 1, "type": "tool_call", "description": "d", "tool": "add", "args": {"a": {"step_result": 2}},
        "status": "pending", "result": null}, {"id": 2, "tool": "add", "args": {}},
        {"id": 3, "type": "reasoning", "description": "d", "tool": null, "args": null}]}"#,
];

#[test]
fn every_mistake_of_shape_is_found_where_it_stands_and_once() {
    for (text, expected) in WRONG {
        assert_eq!(found(text), *expected, "{text}");
    }
}

#[test]
fn the_schema_refuses_what_the_reading_refuses_and_takes_what_it_takes() {
    for (text, _) in WRONG {
        assert!(!fits(text), "{text}");
    }
    for text in RIGHT {
        read(text);
        assert!(fits(text), "{text}");
    }
}

#[test]
fn siblings_of_a_mistake_are_still_read() {
    let source = Source::new(
        "t",
        "task: 1\nnmae: x\ntools: {a: {command: [b]}, c: 4}\nworkflow_sequence:\n  - {id: 1, type: reasonin, descripton: d, timeout: x}\n  - 5\n  - {id: 2, type: reasoning, description: e}\n",
    );
    let (document, diagnostics) = document::read(&source);
    let document = document.unwrap();
    let codes: Vec<&str> = diagnostics.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(
        codes,
        [
            "wrong-type",
            "unknown-key",
            "wrong-type",
            "invalid-value",
            "unknown-key",
            "invalid-duration",
            "wrong-type"
        ]
    );
    assert!(document.task.is_reported() && document.name.is_reported());
    assert_eq!(document.tools.len(), 2);
    let steps = document.steps.get().unwrap();
    assert!(
        steps[0].kind.is_reported() && steps[0].description.is_reported() && steps[0].timeout.is_reported()
    );
    assert_eq!(steps[0].id.get().unwrap().as_str(), "1");
    assert!(steps[1].id.is_reported());
    assert_eq!(steps[2].description.get().unwrap(), "e");
}

#[test]
fn mends_can_be_put_in_as_they_are() {
    for (text, mended) in [
        ("tsak: x\n", "task: x\n"),
        ("{\"tsak\": \"x\"}", "{\"task\": \"x\"}"),
        ("task: 12\n", "task: \"12\"\n"),
        ("limits: {timeout: 10}\n", "limits: {timeout: 10s}\n"),
        ("limits: {timeout: '10 m'}\n", "limits: {timeout: 10m}\n"),
        ("task: {{ inputs.x }}\n", "task: \"{{ inputs.x }}\"\n"),
        ("task: a: b\n", "task: \"a: b\"\n"),
        ("task:x\nname: y\n", "task: x\nname: y\n"),
        ("inputs:\n\tx: {}\n", "inputs:\n  x: {}\n"),
        ("inputs: {1: {}}\n", "inputs: {\"1\": {}}\n"),
        (
            "steps: [{id: 1, type: toolcall, tool: a, args: {}}]\n",
            "steps: [{id: 1, type: tool_call, tool: a, args: {}}]\n",
        ),
    ] {
        let (_, diagnostics) = document::read(&Source::new("t", text));
        let [one] = &diagnostics[..] else { panic!("{text}: {diagnostics:#?}") };
        let mend = one.suggestion.as_ref().unwrap_or_else(|| panic!("{one:#?}"));
        let new = format!("{}{}{}", &text[..mend.span.start], mend.replacement, &text[mend.span.end..]);
        assert_eq!(new, mended);
        read(&new);
    }
}

#[test]
fn what_several_steps_share_is_wrong_once() {
    let text = "x-c: &c {type: reasonin, description: d}\nworkflow_sequence:\n  - {<<: *c, id: 1}\n  - {<<: *c, id: 2}\n";
    assert_eq!(found(text), "invalid-value `reasonin` workflow_sequence[0].type\n");
}

#[test]
fn an_id_that_looks_otherwise_than_it_is_is_told() {
    assert_eq!(found("steps: [{id: 007, tool: a, args: {}}]\n"), "ambiguous-scalar `007` steps[0].id\n");
    assert_eq!(found("steps: [{id: yes, tool: a, args: {}}]\n"), "ambiguous-scalar `yes` steps[0].id\n");
    let document = read("steps: [{id: 'yes', tool: a, args: {}}, {id: '007', tool: a, args: {}}]\n");
    let ids: Vec<&str> =
        document.steps.get().unwrap().iter().map(|step| step.id.get().unwrap().as_str()).collect();
    assert_eq!(ids, ["yes", "007"]);
    assert_eq!(document.steps_key, "steps");
}

#[test]
fn the_schema_of_a_plan_takes_plans_and_nothing_else() {
    let schema = jsonschema::validator_for(&document::schema::plan()).unwrap();
    let plan: serde_json::Value = serde_json::from_str(
        r#"{"steps": [{"id": 1, "type": "tool_call", "description": "d", "tool": "add", "args": {"a": 1, "b": {"step_result": 2}}},
            {"id": 2, "type": "aggregate", "description": "d", "inputs": [1]}]}"#,
    )
    .unwrap();
    assert!(schema.is_valid(&plan));
    for wrong in [
        r#"{"steps": []}"#,
        r#"{"steps": [{"id": 1}]}"#,
        r#"[]"#,
        r#"{"steps": [{"id": 1, "description": "d", "name": "x"}]}"#,
    ] {
        assert!(!schema.is_valid(&serde_json::from_str(wrong).unwrap()), "{wrong}");
    }
}
