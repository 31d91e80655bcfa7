//! Whole files through the one door: every handed case gives exactly the errors it should, and what is
//! right gives nothing.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use wf::diagnostic::Diagnostic;
use wf::document::source_from_bytes;
use wf::id::ToolName;
use wf::load::{Loaded, Provider, Scope, load};
use wf::source::Source;
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::workflow::{Dependency, GraphNode, Origin};

/// The scope of a program with two tools that are always there and one that is there when named.
fn scope() -> Scope {
    let tool = |name: &str, parameters| ToolSpec {
        name: name.into(),
        description: format!("the {name} tool"),
        parameters,
        returns: None,
        effect: Effect::Read,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Builtin { name: ToolName::new(name), with: serde_json::Map::new() },
    };
    let numbers = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"], "additionalProperties": false});
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"], "additionalProperties": false});
    Scope {
        tools: ["add", "subtract", "multiply", "divide", "power"]
            .map(|name| tool(name, numbers.clone()))
            .to_vec(),
        named: vec![tool("read_file", path)],
        providers: [("offline", false), ("openai", true), ("ollama", true)].map(provider).to_vec(),
        ..Scope::default()
    }
}

fn provider((name, network): (&str, bool)) -> Provider {
    let key = (name == "openai").then(|| "OPENAI_API_KEY".to_owned());
    let server = (name == "openai").then(|| "OPENAI_BASE_URL".to_owned());
    Provider { name: name.to_owned(), models: network, key, server }
}

fn load_file(path: &Path) -> (Source, Loaded) {
    let name = path.to_string_lossy().into_owned();
    match source_from_bytes(&name, fs::read(path).unwrap()) {
        Ok(source) => {
            let loaded = load(&source, &scope(), Origin::Person);
            (source, loaded)
        }
        Err(refused) => {
            let (source, diagnostic) = *refused;
            (source, Loaded { diagnostics: vec![diagnostic], ..Loaded::default() })
        }
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

/// What is missing and what is too much, as `LINE:COLUMN CODE`.
fn compare(source: &Source, found: &[Diagnostic], expected: &str) -> Vec<String> {
    let mut left: Vec<(usize, usize, &str)> = found
        .iter()
        .filter(|one| one.is_error())
        .map(|one| {
            let at = source.position(one.span.start);
            (at.line, at.column, one.code.as_str())
        })
        .collect();
    let mut wrong = Vec::new();
    for line in expected.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (at, column) = words[0].split_once(':').unwrap_or((words[0], ""));
        let matches = |one: &(usize, usize, &str)| {
            one.2 == words[2]
                && (at == "*" || at.parse() == Ok(one.0))
                && (column.is_empty() || column.parse() == Ok(one.1))
        };
        match left.iter().position(matches) {
            Some(at) => {
                left.remove(at);
            }
            None => wrong.push(format!("missing {line}")),
        }
    }
    wrong.extend(left.into_iter().map(|(line, column, code)| format!("unexpected {line}:{column} {code}")));
    wrong
}

#[test]
fn every_case_gives_exactly_its_errors() {
    let files = files("tests/data/cases/validate");
    assert!(files.len() >= 30);
    let mut wrong = Vec::new();
    for path in files {
        let expected = fs::read_to_string(path.with_extension("expect")).unwrap();
        let (source, loaded) = load_file(&path);
        let mut problems = compare(&source, &loaded.diagnostics, &expected);
        if loaded.workflow.is_some() != expected.trim().is_empty() {
            problems.push("a workflow where there are errors, or none where there are none".to_owned());
        }
        wrong.extend(problems.into_iter().map(|problem| format!("{}: {problem}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn load_text(text: &str, origin: Origin) -> (Source, Loaded) {
    let source = Source::new("plans/test.yaml", text);
    let loaded = load(&source, &scope(), origin);
    (source, loaded)
}

/// The errors of a file as `LINE:COLUMN code`.
fn found(text: &str) -> Vec<String> {
    let (source, loaded) = load_text(text, Origin::Person);
    let show = |one: &Diagnostic| {
        let at = source.position(one.span.start);
        format!("{}:{} {}", at.line, at.column, one.code)
    };
    loaded.diagnostics.iter().filter(|one| one.is_error()).map(show).collect()
}

/// Who waits for whom, and why: `3<1 data`.
fn edges(text: &str, origin: Origin) -> String {
    let (_, loaded) = load_text(text, origin);
    let problems: Vec<_> = loaded.diagnostics.iter().map(|one| &one.message).collect();
    let plan = loaded.workflow.unwrap_or_else(|| panic!("{problems:?}")).plan.unwrap();
    let mut edges = Vec::new();
    for (at, step) in plan.steps.iter().enumerate() {
        let mut before: Vec<String> = Vec::new();
        for (node, why) in plan.graph.dependencies(plan.graph.node(at)) {
            let GraphNode::Step(other) = plan.graph.kind(node) else { panic!("a barrier") };
            let mark = if why == Dependency::Data { "!" } else { "" };
            before.push(format!("{}{mark}", plan.steps[other].id));
        }
        before.sort();
        edges.push(format!("{}<{}", step.id, before.join(",")));
    }
    edges.join(" ")
}

#[test]
fn the_order_of_a_person_costs_one_edge_a_step() {
    let plan = |steps: &str| format!("task: t\nworkflow_sequence:\n{steps}");
    for (steps, expected) in [
        (
            "  - {id: a, type: reasoning, description: x}\n  - {id: b, type: reasoning, description: x}\n  - {id: c, type: reasoning, description: x}\n",
            "a< b<a c<b",
        ),
        (
            "  - {id: a, type: reasoning, description: x, depends_on: []}\n  - {id: b, type: reasoning, description: x, depends_on: []}\n  - {id: c, type: aggregate, inputs: [a], description: x}\n  - {id: d, type: reasoning, description: x}\n",
            "a< b< c<a!,b d<c",
        ),
        (
            "  - {id: a, type: reasoning, description: x}\n  - {id: b, type: tool_call, tool: add, args: {a: {step_result: a}, b: 1}, depends_on: []}\n  - {id: c, type: reasoning, description: \"{{ steps['a'].result }}\", depends_on: [b]}\n",
            "a< b<a! c<a!,b",
        ),
        (
            "  - {id: a, type: reasoning, description: x, depends_on: [b], when: \"steps.b.result\"}\n  - {id: b, type: reasoning, description: x, depends_on: []}\n",
            "a<b! b<",
        ),
    ] {
        assert_eq!(edges(&plan(steps), Origin::Person), expected);
    }
}

#[test]
fn a_models_steps_are_sorted_and_only_reads_overlap() {
    let reads = r#"{"steps": [
        {"id": 3, "type": "tool_call", "tool": "add", "args": {"a": {"step_result": 1}, "b": {"step_result": 2}}},
        {"id": 1, "type": "tool_call", "tool": "add", "args": {"a": 1, "b": 2}},
        {"id": 2, "type": "tool_call", "tool": "add", "args": {"a": 1, "b": 2}},
        {"id": 4, "type": "reasoning", "description": "say {{ it }}"},
        {"id": 5, "type": "tool_call", "tool": "add", "args": {"a": 1, "b": 2}},
        {"id": 6, "type": "tool_call", "tool": "add", "description": "what was found"}]}"#;
    assert_eq!(edges(reads, Origin::Model), "1< 2< 3<1!,2! 4<1,2,3 5<4 6<5");
    let (_, loaded) = load_text(reads, Origin::Model);
    let plan = loaded.workflow.unwrap().plan.unwrap();
    assert!(plan.steps[3].description.as_ref().unwrap().is_literal());
}

#[test]
fn a_model_may_say_only_what_steps_there_are() {
    let text = r#"{"task": "{{ inputs.x }}", "env": ["TOKEN"], "tools": {"sh": {"description": "d", "command": ["sh"]}},
        "limits": {"max_steps": 1}, "steps": [{"id": 1, "type": "reasoning", "description": "d", "timeout": "2s", "when": "{{"}]}"#;
    let (_, loaded) = load_text(text, Origin::Model);
    let workflow = loaded.workflow.unwrap();
    assert!(workflow.tools.is_empty() && workflow.env.is_empty() && workflow.limits.max_steps.is_none());
    let step = &workflow.plan.unwrap().steps[0];
    assert!(step.timeout.is_none() && step.when.is_none());
    assert_eq!(
        loaded.repairs,
        [
            "dropped `task` beside the steps",
            "dropped `env` beside the steps",
            "dropped `tools` beside the steps",
            "dropped `limits` beside the steps",
            "dropped `timeout` of step 1",
            "dropped `when` of step 1"
        ]
    );
    let text = r#"{"steps": [{"id": 1, "type": "tool_call", "tool": "read_file", "args": {"path": "x"}}]}"#;
    assert_eq!(load_text(text, Origin::Model).1.diagnostics[0].code.as_str(), "unknown-tool");
    assert!(load_text(text, Origin::Person).1.diagnostics.is_empty());
}

#[test]
fn cycles_are_told_once_with_the_way_round() {
    let text = "task: t\nworkflow_sequence:\n  - {id: a, type: reasoning, description: x, depends_on: [b]}\n  - {id: b, type: reasoning, description: x}\n";
    let (_, loaded) = load_text(text, Origin::Person);
    let [one] = loaded.diagnostics.as_slice() else { panic!("{:?}", loaded.diagnostics) };
    assert_eq!(one.message, "steps wait for each other: a → b → a");
    assert!(one.help.as_ref().unwrap().contains("step `b` has no `depends_on`"));
    assert_eq!(one.path, "workflow_sequence[0].depends_on[0]");
}

#[test]
fn templates_may_read_what_their_place_allows() {
    let file = |line: &str, step: &str| {
        format!(
            "task: t\ninputs: {{n: {{type: integer, default: 1}}}}\nenv: [TOKEN]\ntools:\n  t:\n    description: d\n    parameters: {{type: object, properties: {{x: {{type: string}}}}}}\n    {line}\nworkflow_sequence:\n  - {{id: 1, type: reasoning, description: d}}\n  - {{id: 2, type: reasoning, description: \"{step}\"}}\n"
        )
    };
    for (line, step, expected) in [
        (
            "command: [cat, '{{ args.x }}', '{{ env.TOKEN }}', '{{ inputs.n }}']",
            "{{ steps[1].result }} {{ inputs.n }}",
            vec![],
        ),
        ("command: ['{{ args.x }}']", "x", vec!["8:19 template-not-allowed"]),
        ("command: [cat, '{{ args.y }}']", "x", vec!["8:24 unknown-variable"]),
        ("command: [cat, '{{ steps.a.result }}']", "x", vec!["8:24 template-not-allowed"]),
        ("command: [cat, '{{ env.OTHER }}']", "x", vec!["8:20 undeclared-env"]),
        ("command: [cat, '{{ env }}']", "x", vec!["8:24 template-not-allowed"]),
        ("sql: {database: d, query: 'SELECT {{ args.x }}'}", "x", vec!["8:42 template-not-allowed"]),
        ("http: {url: 'https://example.com/{{ args.x }}'}", "x", vec![]),
        ("http: {url: 'https://{{ args.x }}/y'}", "x", vec!["8:26 template-not-allowed"]),
        ("http: {url: '{{ env.TOKEN }}'}", "x", vec!["8:18 template-not-allowed"]),
        ("command: [cat]", "{{ args.x }}", vec!["11:47 template-not-allowed"]),
        ("command: [cat]", "{{ steps[inputs.n].result }}", vec!["11:47 template-not-allowed"]),
        ("command: [cat]", "{{ steps['1'].output }}", vec!["11:47 unknown-variable"]),
        ("command: [cat]", "{{ steps['9'].result }}", vec!["11:47 unknown-step"]),
        ("command: [cat]", "{{ steps['2'].result }}", vec!["11:47 self-reference"]),
        ("command: [cat]", "{{ n }}", vec!["11:47 unknown-variable"]),
        ("command: [cat]", "{{ inputs.n | nope }}", vec!["11:58 template-syntax"]),
        ("command: [cat]", "{% for i in range(2) %}{{ i }}{% endfor %}", vec![]),
    ] {
        assert_eq!(found(&file(line, step)), expected, "{line} {step}");
    }
}

#[test]
fn arguments_are_checked_as_far_as_they_are_known() {
    let file = |args: &str| {
        format!(
            "task: t\ntools:\n  t:\n    description: d\n    parameters:\n      type: object\n      required: [a]\n      properties: {{a: {{type: integer}}, word: {{enum: [x, y]}}, list: {{type: array, items: {{type: string}}}}}}\n    command: [cat]\n  f:\n    builtin: read_file\n    with: {{path: notes.md}}\nworkflow_sequence:\n  - {{id: 1, type: reasoning, description: d}}\n  - {{id: 2, type: tool_call, {args}}}\n"
        )
    };
    for (args, expected) in [
        ("tool: t, args: {a: 1, other: 2}", vec![]),
        ("tool: t, args: {a: 1, wrod: x}", vec!["15:52 unknown-argument"]),
        ("tool: t, args: {a: {step_result: 1}, word: '{{ steps[1].result }}'}", vec![]),
        ("tool: t, args: {a: 1, list: [{step_result: 1}, b, 3]}", vec!["15:80 argument-type"]),
        ("tool: t, args: {word: z}", vec!["15:45 missing-argument", "15:52 argument-type"]),
        ("tool: t, args: {a: {step_result: 1, ponter: /x}}", vec!["15:66 unknown-key"]),
        ("tool: t, args: {a: {step_result: 1, pointer: x}}", vec!["15:75 invalid-pointer"]),
        ("tool: t, args: {a: {step_result: [1]}}", vec!["15:63 wrong-type"]),
        ("tool: t, args: {a: '{{ inputs. }}'}", vec!["15:61 template-syntax"]),
        ("tool: f, args: {}", vec![]),
        ("tool: f, args: {lines: 3}", vec![]),
        ("tool: f, args: {path: x}", vec!["15:46 unknown-argument"]),
    ] {
        assert_eq!(found(&file(args)), expected, "{args}");
    }
}

#[test]
fn models_have_a_provider() {
    let file = |model: &str| format!("task: t\nenv: [M]\nmodel: {model}\n");
    for (model, expected) in [
        ("offline", vec![]),
        ("openai/gpt-5-mini", vec![]),
        ("\"{{ env.M }}\"", vec![]),
        ("opnai/gpt-5-mini", vec!["3:8 unknown-provider"]),
        ("openai", vec!["3:8 unknown-provider"]),
        ("\"openai/{{ env.M }}\"", vec![]),
        ("gpt-5", vec!["3:8 unknown-provider"]),
    ] {
        assert_eq!(found(&file(model)), expected, "{model}");
    }
    for (model, expected) in [
        ("gpt-5-mini", Some("openai/gpt-5-mini")),
        ("\"llama3.2:3b\"", Some("\"ollama/llama3.2:3b\"")),
        ("mine", None),
        ("gpt-5/x", None),
    ] {
        let loaded = load_text(&file(model), Origin::Person).1;
        let replacement = loaded.diagnostics[0].suggestion.as_ref().map(|mend| mend.replacement.as_str());
        assert_eq!(replacement, expected, "{model}");
    }
    let source = Source::new("t", file("openai/x"));
    let codes = |set: &[&str]| {
        let set = set.iter().map(|name| (*name).to_owned()).collect();
        let scope = Scope { credentials: Some(set), ..scope() };
        load(&source, &scope, Origin::Person)
            .diagnostics
            .iter()
            .map(|one| one.code.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&[]), ["missing-credential"]);
    assert_eq!(codes(&["OPENAI_API_KEY"]), [""; 0]);
    assert_eq!(codes(&["OPENAI_BASE_URL"]), [""; 0]);
}

/// Twice the steps may not cost much more than twice the time; counted in edges, which are exact.
#[test]
fn a_long_plan_has_a_linear_number_of_edges() {
    let mut text = String::from("task: t\nworkflow_sequence:\n");
    for at in 0..5000 {
        let step = match at % 5 {
            0 => format!("  - {{id: s{at}, type: reasoning, description: d}}\n"),
            4 => format!("  - {{id: s{at}, type: aggregate, inputs: [s0, s{}], description: d}}\n", at - 1),
            _ => format!("  - {{id: s{at}, type: reasoning, description: d, depends_on: []}}\n"),
        };
        text.push_str(&step);
    }
    let (_, loaded) = load_text(&text, Origin::Person);
    let plan = loaded.workflow.unwrap().plan.unwrap();
    assert!(plan.graph.as_petgraph().edge_count() <= 2 * 5000);
    assert_eq!(plan.graph.ancestors(4999).len(), 4999);
}

/// What one place names wrongly is said with the name that was meant, and put right by `--fix` only
/// where nothing else can be meant.
#[test]
fn mends_are_offered_where_only_one_thing_can_be_meant() {
    let file = |step: &str| {
        format!(
            "task: t\nworkflow_sequence:\n  - {{id: plan, type: reasoning, description: d}}\n  - {{id: 11, type: reasoning, description: d}}\n  - {{id: z, {step}}}\n"
        )
    };
    for (step, expected) in [
        ("type: tool_call, tool: ad, args: {a: 1, b: 2}", Some("add")),
        ("type: tool_call, tool: Multiply, args: {a: 1, b: 2}", Some("multiply")),
        ("type: tool_call, tool: something, description: d", None),
        ("type: aggregate, inputs: [plna], description: d", Some("plan")),
        ("type: aggregate, inputs: [12], description: d", None),
        ("type: reasoning, description: \"{{ steps.plna.result }}\"", None),
    ] {
        let loaded = load_text(&file(step), Origin::Person).1;
        let [one] = loaded.diagnostics.as_slice() else { panic!("{step}: {:?}", loaded.diagnostics) };
        let replacement = one.suggestion.as_ref().map(|mend| mend.replacement.as_str());
        assert_eq!(replacement, expected, "{step}");
    }
}

#[test]
fn known_results_are_used_as_what_they_are() {
    let file = |args: &str| {
        format!(
            "task: \"{{{{ inputs.word }}}} {{{{ inputs.n }}}}\"\ninputs: {{word: {{type: string, default: a}}, n: {{type: number, default: 1}}}}\ntools:\n  rows: {{description: d, effect: read, returns: {{type: array, items: {{type: object, properties: {{name: {{type: string}}, price: {{type: number}}}}}}}}, command: [x]}}\n  text: {{description: d, effect: read, output: text, command: [x]}}\n  any: {{description: d, effect: read, command: [x]}}\n  take: {{description: d, parameters: {{type: object, properties: {{n: {{type: integer}}, names: {{type: array, items: {{type: string}}}}, free: {{}}}}}}, command: [x]}}\nworkflow_sequence:\n  - {{id: r, type: tool_call, tool: rows, args: {{}}}}\n  - {{id: t, type: tool_call, tool: text, args: {{}}}}\n  - {{id: u, type: tool_call, tool: any, args: {{}}}}\n  - {{id: o, type: reasoning, description: d, output_schema: {{type: object, properties: {{n: {{type: integer}}}}}}}}\n  - {{id: z, type: tool_call, tool: take, args: {args}}}\n"
        )
    };
    for (args, expected) in [
        ("{n: {step_result: r, pointer: /0/price}}", vec![]),
        ("{n: {step_result: o, pointer: /n}}", vec![]),
        ("{n: {step_result: u, pointer: /a/b}}", vec![]),
        ("{free: {step_result: r}}", vec![]),
        ("{n: \"{{ inputs.n }}\"}", vec![]),
        ("{names: [\"{{ inputs.n }} x\"]}", vec![]),
        ("{names: [\"{{ inputs.word }}\", {step_result: t}]}", vec![]),
        ("{n: \"{{ inputs.word | length }}\"}", vec![]),
        ("{n: {step_result: r}}", vec!["13:52 argument-type"]),
        ("{n: {step_result: t}}", vec!["13:52 argument-type"]),
        ("{n: {step_result: r, pointer: /0/name}}", vec!["13:52 argument-type"]),
        ("{names: [a, {step_result: o}]}", vec!["13:60 argument-type"]),
        ("{n: \"{{ inputs.word }}\"}", vec!["13:52 argument-type"]),
        ("{n: \"{{ steps.t.result }}\"}", vec!["13:52 argument-type"]),
        ("{n: {step_result: r, pointer: /0/prise}}", vec!["13:78 invalid-pointer"]),
        ("{n: {step_result: r, pointer: /first}}", vec!["13:78 invalid-pointer"]),
        ("{n: {step_result: o, pointer: /m}}", vec!["13:78 invalid-pointer"]),
        ("{n: {step_result: t, pointer: /0}}", vec!["13:78 invalid-pointer"]),
        ("{n: {step_result: u, pointer: \"0\"}}", vec!["13:78 invalid-pointer"]),
        ("{n: {step_result: t, pointer: \"0\"}}", vec!["13:78 invalid-pointer"]),
        ("{n: {step_result: zz, pointer: /0}}", vec!["13:66 unknown-step"]),
        ("{n: {step_result: z}}", vec!["13:66 self-reference"]),
    ] {
        assert_eq!(found(&file(args)), expected, "{args}");
    }
    let loaded = load_text(&file("{n: {step_result: r, pointer: /0/prise}}"), Origin::Person).1;
    let one = &loaded.diagnostics[0];
    assert_eq!(one.help.as_deref(), Some("did you mean `price`? known fields: name, price"));
    assert_eq!(one.suggestion.as_ref().map(|mend| mend.replacement.as_str()), Some("\"/0/price\""));
    assert_eq!(one.path, "workflow_sequence[4].args.n.pointer");
}

/// The warnings of a file as `LINE:COLUMN code`.
fn warnings(text: &str) -> Vec<String> {
    let (source, loaded) = load_text(text, Origin::Person);
    assert!(loaded.workflow.is_some(), "{:?}", loaded.diagnostics);
    let show = |one: &Diagnostic| {
        let at = source.position(one.span.start);
        format!("{}:{} {}", at.line, at.column, one.code)
    };
    loaded.diagnostics.iter().map(show).collect()
}

#[test]
fn what_may_be_cancelled_is_told_where_it_is_read() {
    let file = |steps: &str| {
        format!(
            "task: \"{{{{ inputs.n }}}}\"\ninputs: {{n: {{type: integer, default: 1}}}}\nworkflow_sequence:\n{steps}"
        )
    };
    let a = "  - {id: a, type: reasoning, description: d, when: inputs.n > 1}\n";
    for (steps, expected) in [
        ("  - {id: b, type: aggregate, inputs: [a], description: d}\n", vec!["5:39 may-be-cancelled"]),
        // Ordered after it, or run under the same condition.
        ("  - {id: b, type: reasoning, description: d, depends_on: [a]}\n", vec![]),
        ("  - {id: b, type: aggregate, inputs: [a], description: d, when: inputs.n > 1}\n", vec![]),
        ("  - {id: b, type: aggregate, inputs: [a], description: d, when: \"inputs.n  >  1\"}\n", vec![]),
        (
            "  - {id: b, type: aggregate, inputs: [a], description: d, when: inputs.n > 1 and inputs.n < 9}\n",
            vec![],
        ),
        (
            "  - {id: b, type: aggregate, inputs: [a], description: d, when: inputs.n > 1 or inputs.n < 9}\n",
            vec!["5:39 may-be-cancelled"],
        ),
        (
            "  - {id: b, type: aggregate, inputs: [a], description: d, when: inputs.n > 0}\n",
            vec!["5:39 may-be-cancelled"],
        ),
        // Cancelled along, at each place.
        (
            "  - {id: b, type: reasoning, description: \"{{ steps.a.result }}\"}\n  - {id: c, type: aggregate, inputs: [b], description: d}\n",
            vec!["5:47 may-be-cancelled", "6:39 may-be-cancelled"],
        ),
        (
            "  - {id: b, type: aggregate, inputs: [a], description: d, when: inputs.n > 1}\n  - {id: c, type: aggregate, inputs: [b, a], description: d}\n",
            vec!["6:39 may-be-cancelled", "6:42 may-be-cancelled"],
        ),
        // Twice in one step is one place.
        (
            "  - {id: b, type: tool_call, tool: add, args: {a: {step_result: a}, b: {step_result: a}}}\n",
            vec!["5:65 may-be-cancelled"],
        ),
        // A condition that reads the result.
        (
            "  - {id: b, type: reasoning, description: d, when: steps.a.result > 1}\n",
            vec!["5:52 may-be-cancelled"],
        ),
    ] {
        assert_eq!(warnings(&file(&format!("{a}{steps}"))), expected, "{steps}");
    }
    // Further down in the file, with `depends_on`.
    let forward = "  - {id: b, type: aggregate, inputs: [a], description: d, depends_on: []}\n  - {id: a, type: reasoning, description: d, when: inputs.n > 1, depends_on: []}\n  - {id: c, type: reasoning, description: d}\n";
    assert_eq!(warnings(&file(forward)), ["4:39 may-be-cancelled"]);
}

#[test]
fn results_are_read_in_many_ways() {
    let file = |steps: &str| {
        format!(
            "task: t\ntools:\n  look: {{description: d, effect: read, parameters: {{type: object, properties: {{x: {{}}}}}}, command: [x]}}\n  push: {{description: d, command: [x]}}\nworkflow_sequence:\n  - {{id: l, type: tool_call, tool: look, args: {{}}}}\n  - {{id: p, type: tool_call, tool: push, args: {{}}}}\n{steps}"
        )
    };
    for (steps, expected) in [
        ("  - {id: z, type: tool_call, tool: add, args: {a: 1, b: 1}}\n", vec!["6:10 unread-result"]),
        ("  - {id: z, type: tool_call, tool: look, description: d}\n", vec![]),
        ("  - {id: z, type: reasoning, description: d}\n", vec![]),
        ("  - {id: z, type: reasoning, description: d, depends_on: []}\n", vec!["6:10 unread-result"]),
        ("  - {id: z, type: tool_call, tool: push, description: d}\n", vec!["6:10 unread-result"]),
        // It stops what waits for it when it fails.
        ("  - {id: z, type: tool_call, tool: push, args: {}, depends_on: [l]}\n", vec![]),
        ("  - {id: z, type: tool_call, tool: push, args: {}, when: steps.l.result}\n", vec![]),
        ("  - {id: z, type: tool_call, tool: add, args: {a: {step_result: l}, b: 1}}\n", vec![]),
        // Seen through others, and the last one that is done gives the result.
        (
            "  - {id: y, type: tool_call, tool: add, args: {a: 1, b: 1}}\n  - {id: z, type: reasoning, description: d}\n",
            vec![],
        ),
        (
            "  - {id: y, type: tool_call, tool: add, args: {a: 1, b: 1}}\n  - {id: z, type: tool_call, tool: push, args: {}, when: 1 > 2}\n",
            vec!["6:10 unread-result"],
        ),
    ] {
        assert_eq!(warnings(&file(steps)), expected, "{steps}");
    }
}

#[test]
fn what_is_declared_is_used() {
    for (text, expected) in [
        ("task: t\ninputs: {a: {type: string, default: x}}\n", vec!["2:10 unused-input"]),
        ("task: \"{{ inputs.a }}\"\ninputs: {a: {type: string, default: x}}\n", vec![]),
        ("task: \"{{ inputs | tojson }}\"\ninputs: {a: {type: string, default: x}}\n", vec![]),
        (
            "task: \"{% for name in inputs %}{{ inputs[name] }}{% endfor %}\"\ninputs: {a: {type: string, default: x}}\n",
            vec![],
        ),
        ("task: \"{{ inputs['a'] }}\"\ninputs: {a: {type: string, default: x}}\n", vec![]),
        ("task: t\ninputs: {a: {type: string, default: offline}}\nmodel: \"{{ inputs.a }}\"\n", vec![]),
        (
            "task: t\ninputs: {a: {type: string, default: x}}\ntools: {x: {description: d, command: [x, \"{{ inputs.a }}\"]}}\n",
            vec![],
        ),
        (
            "task: t\ninputs: {a: {type: number, default: 1}}\nworkflow_sequence:\n  - {id: 1, type: reasoning, description: d, when: inputs.a > 1}\n",
            vec![],
        ),
        (
            "task: t\ninputs: {a: {type: number, default: 1}}\nworkflow_sequence:\n  - {id: 1, type: tool_call, tool: add, description: d}\n",
            vec!["2:10 unused-input"],
        ),
        // `offline` fills arguments from inputs of their name.
        (
            "task: t\nmodel: offline\ninputs: {a: {type: number, default: 1}}\nworkflow_sequence:\n  - {id: 1, type: tool_call, tool: add, description: d}\n",
            vec![],
        ),
        ("task: t\ntools: {x: {description: d, command: [x]}}\n", vec![]),
        (
            "task: t\ntools: {x: {description: d, command: [x]}}\nworkflow_sequence:\n  - {id: 1, type: reasoning, description: d}\n",
            vec!["2:9 unused-tool"],
        ),
    ] {
        assert_eq!(warnings(text), expected, "{text}");
    }
    // A mistake that may hide a use: no second word about it.
    let text = "task: t\ninputs: {a: {type: string, default: x}}\ntools: {x: {description: d, command: [x]}}\nworkflow_sequence:\n  - {id: 1, type: reasoning, descriptoin: \"{{ inputs.a }}\"}\n  - {id: 2, type: tool_call, tool: xx, args: {}}\n";
    let loaded = load_text(text, Origin::Person).1;
    assert!(loaded.diagnostics.iter().all(Diagnostic::is_error), "{:?}", loaded.diagnostics);
}

/// Thousands of mistakes among thousands of names cost no more than their number.
#[test]
fn many_mistakes_are_answered_at_once() {
    let mut text = String::from("task: t\nworkflow_sequence:\n");
    for at in 0..5000 {
        text.push_str(&format!(
            "  - {{id: step{at}, type: tool_call, tool: tool{at}, args: {{a: {{step_result: stop{at}}}}}}}\n"
        ));
    }
    let began = std::time::Instant::now();
    assert_eq!(load_text(&text, Origin::Person).1.diagnostics.len(), 10_000);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
