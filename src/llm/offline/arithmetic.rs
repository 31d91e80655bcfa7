//! A plan for an arithmetic expression, in BODMAS order.
//!
//! Main function: [`plan`]. A bracket is worked out when it closes, so inner ones come first; inside
//! one, powers come first, then × and ÷ from left to right, then + and −. Works on a stack of its own,
//! in one pass, so neither depth nor length matters. Computes nothing: steps refer to earlier steps.

use std::fmt::Write;

use serde_json::Value;

use super::expression::{Bracket, Operator, Token, find};
use crate::spec::ToolSpec;

/// Most steps a plan may have.
const MAX_STEPS: usize = 10_000;

/// The plan for the expression in a task as JSON text, using only these tools; else in a few words why
/// there is none.
pub(super) fn plan(task: &str, tools: &[ToolSpec]) -> Result<String, String> {
    let mut plan = Plan { tools, steps: Vec::new() };
    plan.read(&find(task)?)?;
    if plan.steps.is_empty() {
        return Err("there is nothing to compute in a single number".to_owned());
    }
    Ok(plan.to_json())
}

/// A value of the expression.
#[derive(Clone, Debug)]
enum Operand {
    /// A number as JSON writes it.
    Number(String),
    /// The result of the step with this id.
    Step(usize),
}

struct Step {
    operator: Operator,
    a: Operand,
    b: Operand,
}

/// A value with the minus signs before it.
struct Term {
    negative: bool,
    value: Operand,
}

/// An open bracket, or the whole: what was read of it.
#[derive(Default)]
struct Group {
    terms: Vec<Term>,
    /// What stands between the terms; as many as terms while a value is awaited.
    operators: Vec<Operator>,
    /// An odd number of minus signs stands before the awaited value.
    negative: bool,
}

impl Group {
    fn awaits_value(&self) -> bool {
        self.terms.len() == self.operators.len()
    }

    fn push(&mut self, value: Operand) {
        let negative = std::mem::take(&mut self.negative);
        self.terms.push(Term { negative, value });
    }
}

struct Plan<'a> {
    tools: &'a [ToolSpec],
    steps: Vec<Step>,
}

impl Plan<'_> {
    fn read(&mut self, tokens: &[Token]) -> Result<(), String> {
        let mut outer: Vec<(Bracket, Group)> = Vec::new();
        let mut group = Group::default();
        for token in tokens {
            match (token, group.awaits_value()) {
                (Token::Number(text), true) => group.push(Operand::Number(text.clone())),
                (Token::Open(bracket), true) => outer.push((*bracket, std::mem::take(&mut group))),
                (Token::Operator(Operator::Minus), true) => group.negative = !group.negative,
                (Token::Operator(Operator::Plus), true) => {}
                (Token::Operator(operator), false) => group.operators.push(*operator),
                (Token::Close(bracket), false) => {
                    let Some((_, before)) = outer.pop().filter(|(opened, _)| opened == bracket) else {
                        return Err("its brackets do not match".to_owned());
                    };
                    let value = self.reduce(std::mem::replace(&mut group, before))?;
                    group.push(value);
                }
                (Token::Number(_) | Token::Open(_), false) => {
                    return Err("two values stand side by side without an operator".to_owned());
                }
                (Token::Operator(_) | Token::Close(_), true) => {
                    return Err("a value is missing in it".to_owned());
                }
            }
        }
        match (outer.is_empty(), group.awaits_value()) {
            (_, true) => Err("a value is missing at its end".to_owned()),
            (false, false) => Err("its brackets do not match".to_owned()),
            (true, false) => self.reduce(group).map(drop),
        }
    }

    /// The steps of one bracket whose inner ones are worked out already.
    fn reduce(&mut self, group: Group) -> Result<Operand, String> {
        let (mut terms, operators) = self.reduce_powers(group)?;
        for term in &mut terms {
            if std::mem::take(&mut term.negative) {
                let value = std::mem::replace(&mut term.value, Operand::Step(0));
                term.value = self.negate(value)?;
            }
        }
        let values = terms.into_iter().map(|term| term.value).collect();
        let product = |operator| matches!(operator, Operator::Times | Operator::Over);
        let (values, operators) = self.reduce_left(values, operators, product)?;
        let (mut values, _) = self.reduce_left(values, operators, |_| true)?;
        match values.pop() {
            Some(value) => Ok(value),
            None => panic!("bug: a bracket without a value was let through"),
        }
    }

    /// Powers bind to the right, and a minus before the base is left for after them.
    fn reduce_powers(&mut self, group: Group) -> Result<(Vec<Term>, Vec<Operator>), String> {
        let mut done = Vec::new();
        let mut rest = Vec::new();
        let mut chain: Vec<Term> = Vec::new();
        let mut operators = group.operators.into_iter();
        for term in group.terms {
            match operators.next() {
                Some(Operator::Power) => {
                    chain.push(term);
                    continue;
                }
                next => rest.extend(next),
            }
            let mut last = term;
            while let Some(base) = chain.pop() {
                let value = if last.negative { self.negate(last.value)? } else { last.value };
                let value = self.step(Operator::Power, base.value, value)?;
                last = Term { negative: base.negative, value };
            }
            done.push(last);
        }
        Ok((done, rest))
    }

    /// Carries out, from left to right, the operators of one rank.
    fn reduce_left(
        &mut self,
        values: Vec<Operand>,
        operators: Vec<Operator>,
        rank: impl Fn(Operator) -> bool,
    ) -> Result<(Vec<Operand>, Vec<Operator>), String> {
        let mut values = values.into_iter();
        let mut done: Vec<Operand> = values.by_ref().take(1).collect();
        let mut rest = Vec::new();
        for (operator, right) in operators.into_iter().zip(values) {
            match done.pop() {
                Some(left) if rank(operator) => done.push(self.step(operator, left, right)?),
                left => {
                    done.extend(left);
                    done.push(right);
                    rest.push(operator);
                }
            }
        }
        Ok((done, rest))
    }

    fn negate(&mut self, value: Operand) -> Result<Operand, String> {
        match value {
            Operand::Number(text) => Ok(Operand::Number(match text.strip_prefix('-') {
                Some(positive) => positive.to_owned(),
                None => format!("-{text}"),
            })),
            step => self.step(Operator::Times, step, Operand::Number("-1".to_owned())),
        }
    }

    fn step(&mut self, operator: Operator, a: Operand, b: Operand) -> Result<Operand, String> {
        let name = tool_name(operator);
        let takes = |tool: &ToolSpec, argument| {
            tool.parameters.get("properties").and_then(|all| all.get(argument)).is_some()
        };
        let tool = self.tools.iter().find(|tool| tool.name.as_str() == name);
        if tool.is_none_or(|tool| !takes(tool, "a") || !takes(tool, "b")) {
            return Err(format!("no tool `{name}` with arguments `a` and `b` may be used"));
        }
        if self.steps.len() == MAX_STEPS {
            return Err(format!("it needs more than {MAX_STEPS} steps"));
        }
        self.steps.push(Step { operator, a, b });
        Ok(Operand::Step(self.steps.len()))
    }

    /// Written by hand, because numbers stay as the task wrote them.
    fn to_json(&self) -> String {
        let mut text = String::from("{\"steps\":[");
        for (at, step) in self.steps.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let description = Value::String(step.describe());
            let tool = tool_name(step.operator);
            let (a, b) = (step.a.to_json(), step.b.to_json());
            let id = at + 1;
            let written = write!(
                text,
                "{comma}\n  {{\"id\":{id},\"description\":{description},\"tool\":\"{tool}\",\
                 \"args\":{{\"a\":{a},\"b\":{b}}},\"status\":\"pending\",\"result\":null}}"
            );
            debug_assert!(written.is_ok(), "a string takes any text");
        }
        text.push_str("\n]}");
        text
    }
}

impl Step {
    fn describe(&self) -> String {
        let (verb, sign) = match self.operator {
            Operator::Plus => ("Add", '+'),
            Operator::Minus => ("Subtract", '\u{2212}'),
            Operator::Times => ("Multiply", '\u{d7}'),
            Operator::Over => ("Divide", '\u{f7}'),
            Operator::Power => ("Raise", '^'),
        };
        format!("{verb} {} {sign} {}", self.a.describe(), self.b.describe())
    }
}

impl Operand {
    fn describe(&self) -> String {
        match self {
            Self::Number(text) => text.clone(),
            Self::Step(id) => format!("result of step {id}"),
        }
    }

    fn to_json(&self) -> String {
        match self {
            Self::Number(text) => text.clone(),
            Self::Step(id) => format!("{{\"step_result\":{id}}}"),
        }
    }
}

fn tool_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Plus => "add",
        Operator::Minus => "subtract",
        Operator::Times => "multiply",
        Operator::Over => "divide",
        Operator::Power => "power",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{
        Just, ProptestConfig, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };
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
                30.0 * -1.0,
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
}
