//! The article's workflow against a server that speaks OpenAI's protocol: what each request carries, and
//! that each step's conversation begins with that of the step before, byte for byte.

use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::Place;

const FILE: &str = r#"
task: "Product health report for week {{ inputs.week }}"
system: You are a product analyst.
model: openai/gpt-5-mini
inputs: {week: {type: string, default: "2026-W48"}}
tools:
  fetch_sales_data:
    description: Sales per category in a week
    parameters: {type: object, properties: {week: {type: string}}, required: [week]}
    command: [echo, '[{"category": "Electronics", "sales": 142000}, {"category": "Apparel", "sales": 38000}]']
  fetch_return_rates:
    description: Return rates per category in a week
    parameters: {type: object, properties: {week: {type: string}}, required: [week]}
    command: [echo, '[{"category": "Apparel", "rate": "18%"}]']
  fetch_inventory_levels:
    description: Stock of some categories
    parameters: {type: object, properties: {categories: {type: array, items: {type: string}}}, required: [categories]}
    command: [echo, '{"Apparel": 4200}']
workflow_sequence:
  - id: 1
    type: tool_call
    tool: fetch_sales_data
    description: "Fetch this week's sales figures for all product categories"
  - id: 2
    type: tool_call
    tool: fetch_return_rates
    description: "Fetch return rates for the same period"
  - id: 3
    type: reasoning
    description: "Identify which categories are underperforming and why"
  - id: 4
    type: tool_call
    tool: fetch_inventory_levels
    description: "Fetch inventory levels for the underperforming categories"
  - id: 5
    type: aggregate
    inputs: [1, 2, 3, 4]
    description: "Compile a concise executive summary"
"#;

/// Calls the tool that is forced, and writes text where none is.
struct Model;

impl Respond for Model {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let message = match body["tool_choice"]["function"]["name"].as_str() {
            Some(name) => {
                let args = match name {
                    "fetch_inventory_levels" => json!({"categories": ["Apparel"]}),
                    _ => json!({"week": "2026-W48"}),
                };
                let call = json!({"id": "call_x", "type": "function",
                    "function": {"name": name, "arguments": args.to_string()}});
                json!({"role": "assistant", "content": null, "tool_calls": [call]})
            }
            None => json!({"role": "assistant", "content": "Apparel: 18 % come back, sales are lowest."}),
        };
        ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }))
    }
}

/// What stands between two marks of a body: quotes inside strings are escaped, so no text looks like one.
fn between<'a>(body: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = body.split_once(start).unwrap_or_else(|| panic!("no {start} in {body}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {body}")).0
}

#[tokio::test]
async fn each_request_extends_the_one_before() {
    let server = MockServer::start().await;
    let mock = Mock::given(method("POST")).and(path("/v1/chat/completions"));
    mock.respond_with(Model).mount(&server).await;
    let place = Place::with("report.yaml", FILE)
        .env("OPENAI_BASE_URL", &format!("{}/v1", server.uri()))
        .env("OPENAI_API_KEY", "sk-test-0123456789");
    let ran = place.wf(&["run", "report.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout, "Apparel: 18 % come back, sales are lowest.\n");
    assert!(!ran.stderr.contains("sk-test"), "{}", ran.stderr);
    assert!(ran.stderr.contains("75 tokens (50 in, 25 out)"), "{}", ran.stderr);

    let requests = server.received_requests().await.unwrap();
    let bodies = requests.iter().map(|it| String::from_utf8(it.body.clone()).unwrap()).collect::<Vec<_>>();
    assert_eq!(bodies.len(), 5, "one request a step");
    let parsed = bodies.iter().map(|it| serde_json::from_str::<Value>(it).unwrap()).collect::<Vec<_>>();
    for request in &requests {
        assert_eq!(request.headers["authorization"], "Bearer sk-test-0123456789");
    }

    let forced = |name: &str| json!({"type": "function", "function": {"name": name}});
    let choices = parsed.iter().map(|it| it["tool_choice"].clone()).collect::<Vec<_>>();
    let expected = [
        forced("fetch_sales_data"),
        forced("fetch_return_rates"),
        json!("none"),
        forced("fetch_inventory_levels"),
        json!("none"),
    ];
    assert_eq!(choices, expected);

    let tools = bodies.iter().map(|it| between(it, "\"tools\":", ",\"tool_choice\":")).collect::<Vec<_>>();
    assert!(tools.iter().all(|it| *it == tools[0]), "{tools:#?}");
    let names = parsed[0]["tools"].as_array().unwrap().iter().map(|it| &it["function"]["name"]);
    assert!(names.eq(["fetch_sales_data", "fetch_return_rates", "fetch_inventory_levels"]));

    let messages = bodies.iter().map(|it| between(it, "\"messages\":[", "],\"tools\":")).collect::<Vec<_>>();
    for pair in messages.windows(2) {
        assert!(pair[1].starts_with(&format!("{},", pair[0])), "{}\n\n{}", pair[0], pair[1]);
    }
    let first = parsed[0]["messages"].as_array().unwrap();
    assert_eq!(first[0], json!({"role": "system", "content": "You are a product analyst."}));
    assert_eq!(first[1], json!({"role": "user", "content": "Product health report for week 2026-W48"}));
    let last = messages[4];
    for seen in ["142000", "18%", "4200", "Identify which categories", "\"tool_call_id\""] {
        assert!(last.contains(seen), "{seen}: {last}");
    }
}

#[tokio::test]
async fn a_key_does_not_go_where_a_file_says() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(Model).mount(&server).await;
    let steps = "workflow_sequence: [{id: 1, type: reasoning, description: Think}]\n";
    let file = format!("model: {{name: openai/m, base_url: \"{}/v1\"}}\n{steps}", server.uri());
    let place = Place::with("w.yaml", &file).env("OPENAI_API_KEY", "sk-test-0123456789");
    // This machine is trusted with the key, another one that only the file names is not.
    place.ok(&["run", "w.yaml"]);
    assert!(server.received_requests().await.unwrap()[0].headers.contains_key("authorization"));
}
