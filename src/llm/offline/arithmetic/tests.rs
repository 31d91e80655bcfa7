//! Plans against a table of known ones, and against a calculator of another make: random expressions
//! are worked out by recursive descent, and the steps must give the same bits.
//!
//! Knows no model and no step that runs: the plan is worked out here.

use proptest::prelude::{Just, ProptestConfig, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::plan;
use crate::spec::{Effect, Output, ToolKind, ToolSpec};

fn math(names: &[&str]) -> Vec<ToolSpec> {
    let spec = |name: &&str| ToolSpec {
        name: (**name).into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}),
        returns: None,
        effect: Effect::Read,
        output: Output::Auto,
        timeout: None,
        kind: ToolKind::Builtin { name: (**name).into(), with: serde_json::Map::new() },
    };
    names.iter().map(spec).collect()
}

fn all() -> Vec<ToolSpec> {
    math(&["add", "subtract", "multiply", "divide", "power"])
}

/// One line a step, and the value of the last.
fn run(task: &str) -> Result<(Vec<String>, f64), String> {
    let text = plan(task, &all())?;
    let plan: Value = serde_json::from_str(&text).expect("plans are JSON");
    let mut results = Vec::new();
    let mut lines = Vec::new();
    for (at, step) in plan["steps"].as_array().unwrap().iter().enumerate() {
        assert_eq!(step["id"], at + 1);
        let value = |name: &str| match &step["args"][name] {
            Value::Number(number) => number.as_f64().unwrap(),
            reference => results[reference["step_result"].as_u64().unwrap() as usize - 1],
        };
        let (a, b) = (value("a"), value("b"));
        let tool = step["tool"].as_str().unwrap();
        results.push(match tool {
            "add" => a + b,
            "subtract" => a - b,
            "multiply" => a * b,
            "divide" => a / b,
            "power" => a.powf(b),
            other => panic!("no tool {other}"),
        });
        let shown = |name: &str| match &step["args"][name] {
            Value::Number(number) => number.to_string(),
            reference => format!("#{}", reference["step_result"]),
        };
        lines.push(format!("{tool} {} {}", shown("a"), shown("b")));
    }
    Ok((lines, *results.last().unwrap()))
}

#[test]
fn steps_come_in_the_order_of_the_article() {
    for (task, want, value) in [
        ("solve 2+3*4-6/2", "multiply 3 4; divide 6 2; add 2 #1; subtract #3 #2", 11.0),
        ("2 + 3 × 4 − 6 ÷ 2", "multiply 3 4; divide 6 2; add 2 #1; subtract #3 #2", 11.0),
        (
            "((1+2)^2 - 4) * -3 / 0.5",
            "add 1 2; power #1 2; subtract #2 4; multiply #3 -3; divide #4 0.5",
            -30.0,
        ),
        ("2^3^2", "power 3 2; power 2 #1", 512.0),
        ("-2^2", "power 2 2; multiply #1 -1", -4.0),
        ("(-2)**2", "power -2 2", 4.0),
        ("2^-1", "power 2 -1", 0.5),
        ("2^-2^2", "power 2 2; multiply #1 -1; power 2 #2", 0.0625),
        ("2 * -3^2", "power 3 2; multiply #1 -1; multiply 2 #2", -18.0),
        ("8 / 4 * 2", "divide 8 4; multiply #1 2", 4.0),
        ("10 – 4 – 3", "subtract 10 4; subtract #1 3", 3.0),
        ("-(1+2)", "add 1 2; multiply #1 -1", -3.0),
        ("2 - --3", "subtract 2 3", -1.0),
        ("[1 + {2 + (3 + 4)}] · 2", "add 3 4; add 2 #1; add 1 #2; multiply #3 2", 20.0),
        ("(1+2)*(3+4)", "add 1 2; add 3 4; multiply #1 #2", 21.0),
    ] {
        let (lines, result) = run(task).expect(task);
        assert_eq!(lines.join("; "), want, "{task}");
        assert_eq!(result, value, "{task}");
    }
}

#[test]
fn a_plan_is_written_like_the_article_s_with_numbers_as_they_stand() {
    let text = plan("2.50 + 3 × 4", &all()).unwrap();
    let want = r#"{"steps":[
  {"id":1,"description":"Multiply 3 × 4","tool":"multiply","args":{"a":3,"b":4},"status":"pending","result":null},
  {"id":2,"description":"Add 2.50 + result of step 1","tool":"add","args":{"a":2.50,"b":{"step_result":1}},"status":"pending","result":null}
]}"#;
    assert_eq!(text, want);
}

#[test]
fn what_is_no_expression_is_refused() {
    for (task, reason) in [
        ("solve 5", "single number"),
        ("-(5)", "single number"),
        ("2 +", "missing"),
        ("* 2 + 3", "dash"),
        ("2 * / 3", "missing"),
        ("(2 + 3", "brackets"),
        ("2 + 3)", "brackets"),
        ("(2 + 3]", "brackets"),
        ("() + 1", "missing"),
        ("2(3 + 4)", "side by side"),
        ("2 + 3 4", "side by side"),
    ] {
        let found = run(task).expect_err(task);
        assert!(found.contains(reason), "{task}: {found}");
    }
}

#[test]
fn only_tools_that_are_there_are_used() {
    assert!(plan("2 + 3", &math(&["add"])).is_ok());
    assert!(plan("2 + 3 * 4", &math(&["add"])).unwrap_err().contains("`multiply`"));
    let mut other = math(&["add"]);
    other[0].parameters = json!({"type": "object", "properties": {"x": {}, "y": {}}});
    assert!(plan("2 + 3", &other).is_err());
}

#[test]
fn long_and_deep_ones_are_planned_or_refused_at_once() {
    let long = format!("1{}", " + 2 * 3".repeat(1000));
    assert_eq!(run(&long).unwrap().1, 6001.0);
    let deep = format!("{}1{}", "(".repeat(5000), " + 1)".repeat(5000));
    assert_eq!(run(&deep).unwrap().1, 5001.0);
    let powers = format!("1{}", "^1".repeat(5000));
    assert_eq!(run(&powers).unwrap().1, 1.0);
    let bare = format!("{}1 + 1{}", "(".repeat(200_000), ")".repeat(200_000));
    assert_eq!(run(&bare).unwrap().1, 2.0);
    assert!(run(&format!("1{}", "+1".repeat(10_001))).unwrap_err().contains("10000"));
}

/// Reads and computes by recursive descent, straight from the text.
struct Reference<'a> {
    rest: &'a [u8],
}

impl Reference<'_> {
    fn take(&mut self, wanted: &[u8]) -> Option<u8> {
        while self.rest.first() == Some(&b' ') {
            self.rest = &self.rest[1..];
        }
        let first = *self.rest.first()?;
        wanted.contains(&first).then(|| {
            self.rest = &self.rest[1..];
            first
        })
    }

    fn sum(&mut self) -> f64 {
        let mut value = self.product();
        while let Some(sign) = self.take(b"+-") {
            let right = self.product();
            value = if sign == b'+' { value + right } else { value - right };
        }
        value
    }

    fn product(&mut self) -> f64 {
        let mut value = self.signed();
        while let Some(sign) = self.take(b"*/") {
            let right = self.signed();
            value = if sign == b'*' { value * right } else { value / right };
        }
        value
    }

    fn signed(&mut self) -> f64 {
        match self.take(b"-") {
            Some(_) => -self.signed(),
            None => self.power(),
        }
    }

    fn power(&mut self) -> f64 {
        let base = self.atom();
        match self.take(b"^") {
            Some(_) => base.powf(self.signed()),
            None => base,
        }
    }

    fn atom(&mut self) -> f64 {
        if self.take(b"(").is_some() {
            let value = self.sum();
            assert_eq!(self.take(b")"), Some(b')'));
            return value;
        }
        let end = self.rest.iter().position(|byte| !b"0123456789.".contains(byte));
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        std::str::from_utf8(number).unwrap().parse().unwrap()
    }
}

fn expression() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0u32..1000).prop_map(|number| number.to_string()),
        (0u32..100, 0u32..1000).prop_map(|(whole, part)| format!("{whole}.{part:03}")),
    ];
    number.prop_recursive(5, 64, 6, |inner| {
        let operator =
            prop_oneof![Just("+"), Just("-"), Just("*"), Just("/"), Just("^"), Just(" - "), Just(" * ")];
        let signed = (inner.clone(), prop_oneof![4 => Just(""), 1 => Just("-"), 1 => Just("--")])
            .prop_map(|(text, sign)| format!("{sign}{text}"));
        let chain = proptest::collection::vec((operator, signed), 1..6);
        prop_oneof![
            (inner.clone(), chain).prop_map(|(first, rest)| {
                rest.into_iter().fold(first, |text, (operator, next)| text + operator + &next)
            }),
            inner.clone().prop_map(|text| format!("({text})")),
            inner.prop_map(|text| format!("-({text})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_steps_give_what_the_expression_gives(text in expression()) {
        let want = Reference { rest: text.as_bytes() }.sum();
        match run(&format!("solve {text}")) {
            Ok((_, got)) => prop_assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{}: {} is not {}", text, got, want
            ),
            Err(reason) => prop_assert_eq!(reason, "there is nothing to compute in a single number"),
        }
    }

    #[test]
    fn no_text_brings_it_down(text in "[-+*/^(){}\\[\\]0-9.e, =\n\\PC]{0,60}") {
        if let Ok(text) = plan(&text, &all()) {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
        }
    }
}
