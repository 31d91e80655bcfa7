//! Runs with models behind servers: the same run in every wire format, text that is heard while it
//! comes, and what people are told when a server does not do what is hoped.

use std::time::{Duration, Instant};

use serde_json::Value;
use wf::event::Event;

use super::fake::{Fake, MODELS, Said, Wanted, arguments, variables};
use super::{Place, nobody};

/// A workflow whose one step asks a model, and tries again without waiting long.
const THINK: &str = "\
task: Count
workflow_sequence:
  - {id: 1, type: reasoning, description: Think, retry: {delay: 1ms, max_delay: 1ms}}
";

/// The lines of the record and those of what passed, apart.
fn lines(text: &str) -> (Vec<Value>, Vec<Value>) {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.partition(|line| line.get("progress").is_none())
}

/// Events without what differs from run to run and from model to model.
fn compared(events: &[Value]) -> Vec<Value> {
    let strip = |event: &Value| {
        let mut event = event.clone();
        serde_json::from_value::<Event>(event.clone()).unwrap();
        let map = event.as_object_mut().unwrap();
        for key in ["at", "run", "model", "base", "workspace", "file"] {
            map.remove(key);
        }
        event
    };
    events.iter().map(strip).collect()
}

#[test]
fn the_weekly_report_is_the_same_run_in_every_format_whole_and_streamed() {
    let mut runs = Vec::new();
    for model in MODELS {
        for stream in ["0", "1"] {
            let fake = Fake::start(model);
            let place = fake.place(Place::shipped()).env("WF_STREAM", stream);
            let (events, progress) = lines(&place.ok(&["run", "weekly_report", "--events"]));
            let result = place.ok(&["run", "weekly_report"]);
            let asked = fake.asked();
            assert_eq!(asked.len(), 10, "{model}");
            for body in asked {
                assert_eq!(body["stream"] == true, stream == "1", "{model}");
                assert!(!body.to_string().contains("sk-secret"), "{body}");
            }
            let of_step = |step: i64| {
                let texts = progress.iter().filter(|line| line["step"] == step);
                texts.map(|line| line["text"].as_str().unwrap()).collect::<Vec<_>>()
            };
            if stream == "0" {
                assert_eq!(progress, Vec::<Value>::new(), "{model}");
            } else {
                assert!(progress.iter().all(|line| line.get("seq").is_none() && line.get("type").is_none()));
                assert_eq!(of_step(5).concat(), result.trim_end(), "{model}");
                assert_eq!((of_step(1).len(), of_step(3).len(), of_step(4).len()), (0, 2, 0), "{model}");
            }
            runs.push((model, stream, compared(&events), result));
        }
    }
    let (_, _, first, result) = &runs[0];
    assert!(result.contains("Apparel"), "{result}");
    for (model, stream, events, other) in &runs {
        assert_eq!(events, first, "{model}, WF_STREAM={stream}");
        assert_eq!(other, result, "{model}, WF_STREAM={stream}");
    }
}

#[test]
fn pieces_are_shown_before_what_comes_of_them() {
    let fake = Fake::start(MODELS[1]);
    let place = fake.place(Place::with("w.yaml", THINK));
    let out = place.ok(&["run", "w.yaml", "--events"]);
    let names = out.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line.get("progress").or(line.get("type")).unwrap().as_str().unwrap().to_owned()
    });
    let names = names.collect::<Vec<_>>();
    let end = ["model_asked", "model_text", "model_text", "model_answered", "step_succeeded", "run_finished"];
    assert_eq!(&names[names.len() - end.len()..], end);
}

#[test]
fn a_plan_is_made_by_every_format() {
    for model in MODELS {
        let fake = Fake::start(model);
        let place = fake.place(Place::new());
        let ran = place.wf(&["run", "--task", "solve 2+3*4", "--yes"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "14.0\n"), "{model}: {}", ran.stderr);
        let (_, progress) = lines(&place.ok(&["run", "--task", "solve 2+3*4", "--yes", "--events"]));
        assert!(progress.iter().all(|line| line["step"].is_null()) && progress.len() == 2, "{progress:?}");
    }
}

#[test]
fn a_server_without_tools_gets_the_report_in_words() {
    for model in MODELS {
        let says = |wanted: Wanted| match wanted {
            Wanted::Call(_) => Said::Fault(400, "this model does not support tools"),
            Wanted::Text(text) if text.contains("the arguments for the tool") => {
                let inventory = text.contains("tool `fetch_inventory_levels` (");
                Said::Text(arguments(if inventory { "fetch_inventory_levels" } else { "" }).to_string())
            }
            Wanted::Text(_) | Wanted::Plan => Said::Text("Apparel is weak.".to_owned()),
        };
        let fake = Fake::answering(model, says);
        let place = fake.place(Place::shipped());
        let result = place.ok(&["run", "weekly_report"]);
        assert_eq!(result, "Apparel is weak.\n", "{model}");
        let asked = fake.asked();
        let last = asked.last().unwrap().to_string();
        assert!(last.contains("38000"), "{model}: the figures are in the last question: {last}");
        // What was refused is refused again when the run is done once more from a recording.
        place.ok(&["run", "weekly_report", "--record", "cassette.json"]);
        let count = fake.asked().len();
        assert_eq!(place.ok(&["run", "weekly_report", "--replay", "cassette.json"]), result, "{model}");
        assert_eq!(fake.asked().len(), count);
    }
}

#[test]
fn half_an_answer_is_none() {
    for model in MODELS {
        let fake = Fake::answering(model, |_| Said::Half("Apparel is"));
        let place = fake.place(Place::with("w.yaml", THINK));
        let ran = place.wf(&["run", "w.yaml", "--events"]);
        assert_eq!((ran.code, fake.asked().len()), (5, 3), "{model}: {}", ran.stderr);
        assert!(
            !ran.stdout.contains("model_answered") && !ran.stdout.contains("step_succeeded"),
            "{}",
            ran.stdout
        );
        assert!(ran.stdout.contains("in the middle of its answer"), "{}", ran.stdout);
        // Nothing of it is a result.
        assert_eq!(place.wf(&["run", "w.yaml"]).stdout, "");
    }
}

/// Each of the words is in what is said, and the key is not.
fn told(said: &str, words: &[&str]) {
    for words in words {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    assert!(!said.contains("sk-secret"), "{said}");
}

#[test]
fn nobody_listens_and_people_are_told_three_things() {
    let address = nobody();
    let began = Instant::now();
    let place = Place::shipped().env("OLLAMA_HOST", &address);
    let said = place.fails(&["run", "workflows/weekly_report.yaml", "--model", "ollama/x"], 5);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let host = address.trim_end_matches("/v1");
    told(&said, &["step 1 failed after 3 attempts: cannot reach 127.0.0.1:", "Connection refused"]);
    told(&said, &[&format!("OLLAMA_HOST is {host}"), "`ollama serve`", "`--model offline`"]);
    assert_eq!(said.matches("is tried again in").count(), 2, "{said}");
}

#[test]
fn servers_that_refuse_are_told_with_the_setting_and_the_next_command() {
    let cases: &[(u16, &str, &[&str])] = &[
        (401, "invalid key", &["refused the key (401): invalid key", "check KEY"]),
        (403, "not for you", &["does not allow this (403): not for you", "KEY"]),
        (
            404,
            "model not found",
            &["knows no model `MODEL`", "(404): model not found", "--model", "BASE is http://127.0.0.1:"],
        ),
        (402, "pay first", &["out of quota or credit (402): pay first", "KEY", "another model with --model"]),
        (
            400,
            "exceeds the maximum context length",
            &["cannot read a conversation this long", "limits.max_result_chars", "--model"],
        ),
        (400, "no idea", &["refused the request (400): no idea", "--model", "BASE is http://127.0.0.1:"]),
    ];
    for model in MODELS {
        let (base, key) = variables(model);
        for (status, words, told_of) in cases {
            let (status, words) = (*status, *words);
            let fake = Fake::answering(model, move |_| Said::Fault(status, words));
            let said = fake.place(Place::with("w.yaml", THINK)).fails(&["run", "w.yaml"], 5);
            let name = model.split('/').nth(1).unwrap();
            let told_of =
                told_of.iter().map(|it| it.replace("KEY", key).replace("BASE", base).replace("MODEL", name));
            let told_of = told_of.collect::<Vec<_>>();
            told(&said, &told_of.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(fake.asked().len(), 1, "{model}: a refusal is not tried again");
        }
    }
    let fake = Fake::answering("ollama/llama3.2", |_| Said::Fault(404, "model 'llama3.2' not found"));
    let said = fake.place(Place::with("w.yaml", THINK)).fails(&["run", "w.yaml"], 5);
    told(&said, &["`ollama pull llama3.2`"]);
}

#[test]
fn what_is_missing_on_this_side_is_told_before_anything_is_sent() {
    let place = Place::with("w.yaml", THINK);
    for (model, words) in [
        (
            "openai/gpt-5-mini",
            [
                "OPENAI_API_KEY is not set",
                "export OPENAI_API_KEY=KEY",
                "https://platform.openai.com/api-keys",
            ],
        ),
        (
            "anthropic/claude-opus-5",
            [
                "ANTHROPIC_API_KEY is not set",
                "export ANTHROPIC_API_KEY=KEY",
                "https://platform.claude.com/settings/keys",
            ],
        ),
        ("groq/llama", ["GROQ_API_KEY is not set", "export GROQ_API_KEY=KEY", "--model offline"]),
    ] {
        told(&place.fails(&["run", "w.yaml", "--model", model], 5), &words);
    }
    let place = place.env("OPENAI_API_KEY", "sk-secret-1234").env("OPENAI_BASE_URL", "localhost:1/v1");
    let said = place.fails(&["run", "w.yaml", "--model", "openai/m"], 5);
    told(&said, &["OPENAI_BASE_URL does not begin with http://", "http://localhost:8080/v1"]);
}

#[test]
fn hosts_and_proxies_that_are_not_there() {
    // A name too long to be asked for: nothing leaves the machine.
    let host = "m".repeat(64);
    let address = format!("http://{host}/v1");
    let place = Place::with("w.yaml", THINK).env("OPENAI_BASE_URL", &address);
    let said = place.fails(&["run", "w.yaml", "--model", "openai/m"], 5);
    told(
        &said,
        &[
            &format!("cannot reach {host}: no such host"),
            &format!("OPENAI_BASE_URL is {address}"),
            "--model offline",
        ],
    );

    let proxy = nobody();
    let place = Place::with("w.yaml", THINK)
        .env("OPENAI_BASE_URL", "http://model.invalid/v1")
        .env("HTTP_PROXY", proxy.trim_end_matches("/v1"));
    let said = place.fails(&["run", "w.yaml", "--model", "openai/m"], 5);
    told(&said, &["cannot reach model.invalid through the proxy that HTTP_PROXY names", "NO_PROXY"]);
}
