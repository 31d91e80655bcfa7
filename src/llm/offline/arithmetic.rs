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
mod tests;
