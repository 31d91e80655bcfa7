//! The built-in arithmetic: add, subtract, multiply, divide, power.
//!
//! Main type: [`Math`]. Two numbers in, a 64-bit floating-point number out; what has no such result is
//! a fault that says why. Knows nothing but numbers.

use async_trait::async_trait;
use serde_json::{Map, Number, Value, json};

use super::{CallContext, Tool, ToolFault};
use crate::id::ToolName;
use crate::spec::{Effect, Output, ToolKind, ToolSpec};

/// What the math built-ins are, in the order they are listed to people and models.
pub fn math_specs() -> Vec<ToolSpec> {
    Operation::ALL.into_iter().map(Operation::spec).collect()
}

/// The math built-ins, ready to be called.
pub(super) fn math_tools() -> impl Iterator<Item = Math> {
    Operation::ALL.into_iter().map(|operation| Math { operation, spec: operation.spec() })
}

/// One of the arithmetic tools.
pub(super) struct Math {
    operation: Operation,
    spec: ToolSpec,
}

#[async_trait]
impl Tool for Math {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, _: &CallContext<'_>) -> Result<Value, ToolFault> {
        let (a, b) = (number(args, "a")?, number(args, "b")?);
        self.operation.apply(a, b).map_err(ToolFault::permanent)
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

impl Operation {
    const ALL: [Self; 5] = [Self::Add, Self::Subtract, Self::Multiply, Self::Divide, Self::Power];

    fn spec(self) -> ToolSpec {
        let (name, description, a, b) = match self {
            Self::Add => ("add", "Add two numbers: a + b", "first summand", "second summand"),
            Self::Subtract => {
                ("subtract", "Subtract b from a: a - b", "what b is taken from", "what is taken")
            }
            Self::Multiply => ("multiply", "Multiply two numbers: a * b", "first factor", "second factor"),
            Self::Divide => ("divide", "Divide a by b: a / b", "dividend", "divisor, not zero"),
            Self::Power => ("power", "Raise a to the power of b: a ^ b", "base", "exponent"),
        };
        ToolSpec {
            name: name.into(),
            description: description.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "a": {"type": "number", "description": a},
                    "b": {"type": "number", "description": b},
                },
                "required": ["a", "b"],
                "additionalProperties": false,
            }),
            returns: Some(json!({"type": "number"})),
            effect: Effect::Read,
            output: Output::Auto,
            timeout: None,
            kind: ToolKind::Builtin { name: ToolName::from(name), with: Map::new() },
        }
    }

    fn apply(self, a: f64, b: f64) -> Result<Value, String> {
        let result = match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide if b == 0.0 => return Err(format!("cannot divide {} by zero", plain(a))),
            Self::Divide => a / b,
            Self::Power if a == 0.0 && b < 0.0 => {
                return Err(format!("cannot raise 0 to the power of {}: it divides by zero", plain(b)));
            }
            Self::Power => a.powf(b),
        };
        // Adding zero turns -0.0 into 0.0: nobody who multiplies 0 by -3 wants to read "-0.0".
        match Number::from_f64(result + 0.0) {
            Some(number) => Ok(Value::Number(number)),
            None if result.is_nan() => Err(format!("{} is not a real number", self.phrase(a, b))),
            None => Err(format!("{} is too large for a 64-bit floating-point number", self.phrase(a, b))),
        }
    }

    fn phrase(self, a: f64, b: f64) -> String {
        let words = match self {
            Self::Add => "plus",
            Self::Subtract => "minus",
            Self::Multiply => "times",
            Self::Divide => "divided by",
            Self::Power => "to the power of",
        };
        format!("{} {words} {}", plain(a), plain(b))
    }
}

fn number(args: &Map<String, Value>, name: &str) -> Result<f64, ToolFault> {
    match args.get(name) {
        Some(Value::Number(number)) => match number.as_f64() {
            Some(value) if value.is_finite() => Ok(value),
            _ => {
                Err(ToolFault::permanent(format!("{number} is too large for a 64-bit floating-point number")))
            }
        },
        Some(other) => Err(ToolFault::permanent(format!("`{name}` is {other}, not a number"))),
        None => Err(ToolFault::permanent(format!("the argument `{name}` is missing"))),
    }
}

/// A number as a person writes it: `6`, not `6.0`; very large and very small ones with an exponent.
fn plain(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-6..1e16).contains(&size) => value.to_string(),
        _ => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_floating_point() {
        let table = [
            (Operation::Add, 2.0, 9.0, "11.0"),
            (Operation::Add, 0.1, 0.2, "0.30000000000000004"),
            (Operation::Subtract, 2.0, 5.5, "-3.5"),
            (Operation::Multiply, 3.0, 4.0, "12.0"),
            (Operation::Multiply, 0.0, -3.0, "0.0"),
            (Operation::Divide, 6.0, 4.0, "1.5"),
            (Operation::Divide, 0.0, 5.0, "0.0"),
            (Operation::Power, 2.0, 10.0, "1024.0"),
            (Operation::Power, 4.0, 0.5, "2.0"),
            (Operation::Power, 0.0, 0.0, "1.0"),
        ];
        for (operation, a, b, expected) in table {
            let value = operation.apply(a, b).expect("has a result");
            assert_eq!(value.to_string(), expected, "{}", operation.phrase(a, b));
        }
    }

    #[test]
    fn what_has_no_result_says_why() {
        let table = [
            (Operation::Divide, 6.0, 0.0, "cannot divide 6 by zero"),
            (Operation::Divide, 0.0, -0.0, "cannot divide 0 by zero"),
            (
                Operation::Power,
                2.0,
                5000.0,
                "2 to the power of 5000 is too large for a 64-bit floating-point number",
            ),
            (Operation::Power, -8.0, 0.5, "-8 to the power of 0.5 is not a real number"),
            (Operation::Power, 0.0, -1.0, "cannot raise 0 to the power of -1: it divides by zero"),
            (
                Operation::Multiply,
                1e300,
                1e10,
                "1e300 times 10000000000 is too large for a 64-bit floating-point number",
            ),
        ];
        for (operation, a, b, expected) in table {
            assert_eq!(operation.apply(a, b), Err(expected.to_owned()));
        }
    }

    #[test]
    fn the_specs_are_the_five_of_the_article() {
        let names: Vec<_> = math_specs().iter().map(|spec| spec.name.to_string()).collect();
        assert_eq!(names, ["add", "subtract", "multiply", "divide", "power"]);
        assert!(math_specs().iter().all(|spec| spec.effect == Effect::Read));
    }
}
