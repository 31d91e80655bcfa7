//! The commands that help people: drawings, a first workflow, what is set up, tools, completions, pages.
//!
//! Drawings are written out; a server is a listener on this machine, or an address where nobody listens.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{Place, Ran, nobody};

/// Two roots, a fork and a join; one step fails.
const FORK: &str = "\
name: fork \"it\"
workflow_sequence:
  - {id: 1, type: tool_call, tool: add, args: {a: 1, b: 2}, description: First}
  - {id: 2, type: tool_call, tool: add, args: {a: {step_result: 1}, b: 1}, depends_on: [], description: \"Left <&> \\\"x\\\"\"}
  - {id: 3, type: tool_call, tool: divide, args: {a: {step_result: 1}, b: 0}, depends_on: [], retry: {max_attempts: 1}}
  - {id: 4, type: tool_call, tool: add, args: {a: 4, b: 4}, depends_on: [], description: Alone}
  - {id: 5, type: aggregate, inputs: [2, 3], depends_on: [], description: Both}
  - {id: 6, type: reasoning, description: Last}
";

#[test]
fn a_plan_is_drawn_in_three_languages() {
    let place = Place::with("fork.yaml", FORK);
    assert_eq!(
        place.ok(&["graph", "fork.yaml", "--format", "ascii"]),
        "\
*    1: First
|-.
* |  2: Left <&> \"x\"
| |
| *  3: Call divide
+-'
| *  4: Alone
| :
* :  5: Both
'-+
  *  6: Last
"
    );
    let mermaid = place.ok(&["graph", "fork.yaml"]);
    assert!(mermaid.contains("    s1[\"2: Left #lt;#amp;#gt; #quot;x#quot;\"]\n"), "{mermaid}");
    assert!(mermaid.contains("    s0 --> s1\n") && mermaid.contains("    s4 -.-> s5\n"), "{mermaid}");
    assert!(!mermaid.contains("classDef"), "{mermaid}");
    let dot = place.ok(&["graph", "fork.yaml", "--format", "dot"]);
    assert!(dot.starts_with("digraph \"fork \\\"it\\\"\" {\n") && dot.ends_with("}\n"), "{dot}");
    assert!(dot.contains("    s1 [label=\"2: Left <&> \\\"x\\\"\"];\n"), "{dot}");
    assert!(dot.contains("    s0 -> s1;\n") && dot.contains("    s4 -> s5 [style=dotted];\n"), "{dot}");
}

#[test]
fn a_run_is_drawn_with_how_its_steps_stand() {
    let place = Place::with("fork.yaml", FORK);
    place.fails(&["run", "fork.yaml"], 1);
    // What is drawn is what ran, not what the file says by now.
    place.file("fork.yaml", "task: something else");
    let text = place.ok(&["graph", "--run", "last", "--format", "ascii"]);
    for line in ["✅ 1: First", "❌ 3: Call divide", "✅ 4: Alone", "🚫 5: Both", "🚫 6: Last"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let mermaid = place.ok(&["graph", "--run", "last"]);
    assert!(mermaid.contains("\"❌ 3: Call divide\"]:::failed\n"), "{mermaid}");
    assert!(
        mermaid.contains("    classDef failed fill:#") && !mermaid.contains("classDef pending"),
        "{mermaid}"
    );
    let dot = place.ok(&["graph", "--run", "last", "--format", "dot"]);
    assert!(dot.contains("label=\"🚫 5: Both\", style=\"filled\", peripheries=2, fillcolor="), "{dot}");
    let plain = Place { env: vec![("LC_ALL".to_owned(), "C".to_owned())], ..place };
    let text = plain.ok(&["graph", "--run", "last", "--format", "ascii"]);
    assert!(text.is_ascii() && text.contains("[!] 3: Call divide"), "{text}");
}

#[test]
fn a_models_plan_is_drawn_from_the_record() {
    let place = Place::new();
    place.ok(&["run", "--task", "2+3*4-6/2"]);
    let text = place.ok(&["graph", "--run", "last", "--format", "ascii"]);
    assert_eq!(text.matches('✅').count(), 4, "{text}");
    let said = place.fails(&["graph", "--run", "0000"], 2);
    assert!(said.contains("no run has an id that begins with `0000`"), "{said}");
    let said = place.fails(&["graph"], 2);
    assert!(said.contains("a FILE, or --run RUN"), "{said}");
    place.file("task.yaml", "task: anything");
    assert!(place.fails(&["graph", "task.yaml"], 3).contains("wf graph --run last"));
}

#[test]
fn a_drawing_nobody_could_follow_is_refused_in_text_alone() {
    let step = |id: usize| {
        format!(
            "  - {{id: {id}, type: tool_call, tool: add, args: {{a: {{step_result: 1}}, b: 1}}, depends_on: []}}\n"
        )
    };
    let mut text =
        String::from("workflow_sequence:\n  - {id: 1, type: tool_call, tool: add, args: {a: 1, b: 1}}\n");
    for id in 2..=80 {
        text.push_str(&step(id));
    }
    let place = Place::with("wide.yaml", &text);
    let said = place.fails(&["graph", "wide.yaml", "--format", "ascii"], 5);
    assert!(said.contains("more than 60 lines") && said.contains("--format dot"), "{said}");
    assert_eq!(place.ok(&["graph", "wide.yaml", "--format", "dot"]).matches("->").count(), 79);
}

#[test]
fn the_first_workflow_is_right_runs_and_is_never_written_over() {
    let place = Place::new();
    let ran = place.wf(&["init"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("wrote workflows/first.yaml") && ran.stderr.contains("  wf run first "),
        "{}",
        ran.stderr
    );
    place.ok(&["validate", "--deny", "warnings"]);
    let digest = place.ok(&["run", "first"]);
    assert!(digest.contains("Invoice shows the old address") && digest.contains('3'), "{digest}");
    assert!(place.ok(&["run", "first", "-i", "team=shipping"]).contains("Parcel"));

    let before = place.text("workflows/first.yaml");
    place.file("workflows/first.yaml", "mine");
    let said = place.fails(&["init"], 2);
    assert!(
        said.contains("`workflows/first.yaml` is there already")
            && said.contains("wf init workflows/NAME.yaml")
    );
    assert_eq!(place.text("workflows/first.yaml"), "mine");

    // Elsewhere, under another name, and with what it needs in the way.
    place.ok(&["init", "sub folder/week_1"]);
    let moved = place.text("sub folder/week_1.yaml");
    assert!(
        moved.contains("init: week_1.sql") && moved.contains("#     wf run 'sub folder/week_1.yaml'\n"),
        "{moved}"
    );
    assert_eq!(moved.lines().count(), before.lines().count());
    place.ok(&["validate", "sub folder", "--deny", "warnings"]);
    place.ok(&["run", "sub folder/week_1.yaml"]);
    place.file("taken.sql", "");
    assert!(place.fails(&["init", "taken.yaml"], 2).contains("`taken.sql` is there already"));
    assert!(!place.path("taken.yaml").exists());
    assert!(place.fails(&["init", "notes.txt"], 2).contains("wf init workflows/NAME.yaml"));
}

fn checks(ran: &Ran) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = ran.json()["checks"].as_array().unwrap().clone();
    all.iter().map(|it| (text(&it["area"]), text(&it["name"]), text(&it["state"]))).collect()
}

fn state(ran: &Ran, area: &str, name: &str) -> String {
    let found = checks(ran).into_iter().find(|it| it.0 == area && it.1 == name);
    found.unwrap_or_else(|| panic!("{area} {name}: {}", ran.stdout)).2
}

#[test]
fn the_doctor_says_what_is_set_up_and_shows_no_key() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://user:hidden-word@{}/v1", listener.local_addr().unwrap());
    let place = Place::shipped().env("OPENAI_API_KEY", "sk-very-secret").env("OPENAI_BASE_URL", &address);
    let ran = place.wf(&["doctor", "--json"]);
    assert_eq!((ran.code, &ran.json()["result"]), (0, &json!("ok")), "{}{}", ran.stdout, ran.stderr);
    for (area, name, expected) in [
        ("key", "OPENAI_API_KEY", "ok"),
        ("key", "GROQ_API_KEY", "missing"),
        ("server", "OPENAI_BASE_URL", "ok"),
        ("model", "offline", "ok"),
        ("sqlite", "", "ok"),
        ("terminal", "", "ok"),
        ("workflows", "workflows", "ok"),
    ] {
        assert_eq!(state(&ran, area, name), expected, "{area} {name}: {}", ran.stdout);
    }
    let expected = if cfg!(target_os = "linux") { "ok" } else { "missing" };
    assert_eq!(state(&ran, "supervisor", ""), expected);
    let ran = place.wf(&["doctor"]);
    assert!(!(ran.stdout.clone() + &ran.stderr).contains("secret"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hidden-word"), "{}", ran.stdout);
    assert!(ran.stdout.contains("ok       key         OPENAI_API_KEY: it is set\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("export GROQ_API_KEY=KEY"), "{}", ran.stdout);
}

#[test]
fn what_is_set_up_and_does_not_work_is_a_problem() {
    let place = Place::with(
        "workflows/w.yaml",
        "tools:\n  gone: {description: Nothing, command: [no-such-program-here]}\n  own: {description: Own, command: [./own.sh]}\n\
         workflow_sequence:\n  - {id: 1, type: tool_call, tool: gone, args: {}}\n  - {id: 2, type: tool_call, tool: own, args: {}}\n",
    )
    .env("OPENAI_BASE_URL", &nobody())
    .env("XAI_API_KEY", "two words")
    .env("WF_MODEL", "mistral/small");
    place.file("workflows/broken.yaml", "task: [");
    std::fs::create_dir_all(place.state.path().join("runs")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.state.path().join("runs"), mode).unwrap();
    let ran = place.wf(&["doctor", "--json"]);
    assert_eq!((ran.code, &ran.json()["result"]), (5, &json!("problem")), "{}", ran.stdout);
    let runs = place.state.path().join("runs").display().to_string();
    for (area, name) in [
        ("server", "OPENAI_BASE_URL"),
        ("key", "XAI_API_KEY"),
        ("model", "mistral/small"),
        ("records", &runs),
        ("workflows", "workflows"),
        ("program", "no-such-program-here"),
        ("program", "workflows/./own.sh"),
    ] {
        assert_eq!(state(&ran, area, name), "problem", "{area} {name}: {}", ran.stdout);
    }
    let ran = place.wf(&["doctor"]);
    assert!(ran.stdout.contains(&format!("chmod 700 {runs}")), "{}", ran.stdout);
    assert!(ran.stderr.contains("7 problems"), "{}", ran.stderr);
}

#[test]
fn the_doctor_asks_a_model_only_when_told_to() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(wiremock::MockServer::start());
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "length"}],
                        "usage": {"prompt_tokens": 9, "completion_tokens": 1}});
    let mock = wiremock::Mock::given(wiremock::matchers::body_partial_json(json!({"model": "small"})))
        .respond_with(wiremock::ResponseTemplate::new(200).set_body_json(answer));
    runtime.block_on(mock.mount(&server));
    let place = Place::new()
        .env("OPENAI_BASE_URL", &format!("{}/v1", server.uri()))
        .env("OPENAI_API_KEY", "sk-test-0000")
        .env("WF_MODEL", "openai/small");
    let asked = || runtime.block_on(server.received_requests()).unwrap().len();
    let ran = place.wf(&["doctor", "--json"]);
    assert_eq!((ran.code, asked()), (0, 0), "{}", ran.stdout);
    let ran = place.wf(&["doctor", "--online", "--json"]);
    assert_eq!((ran.code, asked()), (0, 1), "{}", ran.stdout);
    assert_eq!(state(&ran, "online", "openai/small"), "ok");
    let ran = place.wf(&["doctor", "--online", "--model", "openai/other", "--json"]);
    assert_eq!(ran.code, 5, "{}", ran.stdout);
    assert_eq!(state(&ran, "online", "openai/other"), "problem");
}

#[test]
fn tools_are_listed_with_their_schemas() {
    let place = Place::shipped();
    let text = place.ok(&["tools", "weekly_report"]);
    assert!(text.contains("fetch_inventory_levels(week: string, categories: array)  sql, read\n"), "{text}");
    let list: Value = serde_json::from_str(&place.ok(&["tools", "weekly_report", "--json"])).unwrap();
    let names =
        list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(names[..4], ["fetch_sales_data", "fetch_return_rates", "fetch_inventory_levels", "add"]);
    assert_eq!(list[0]["parameters"]["properties"]["week"]["type"], "string");
    assert_eq!((&list[0]["effect"], &list[0]["kind"]), (&json!("read"), &json!("sql")));
    for tool in list.as_array().unwrap() {
        wf::spec::Schema::parse(&tool["parameters"]).unwrap();
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let place = Place::new();
    let help = place.ok(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands =
        commands.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let commands = commands.filter(|name| *name != "help").map(str::to_owned).collect::<Vec<_>>();
    assert!(commands.len() > 12, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.ok(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
    }
    assert!(place.ok(&["man"]).contains(".TH wf 1"));
    place.ok(&["man", "-o", "pages"]);
    for command in &commands {
        let page = place.text(&format!("pages/wf-{command}.1"));
        assert!(page.contains(&format!("wf\\-{command}")), "{command}: {page}");
    }
    assert!(place.path("pages/wf.1").is_file() && place.path("pages/wf-runs-prune.1").is_file());
}
