//! Reading numbers, and what was meant to be one: quoted, with `_` between its digits, with zeros before it.
//!
//! Each function gives `None` after it reported what is wrong. Knows no key.

use std::sync::Arc;

use super::Lowering;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::node::{Node, ScalarValue};
use crate::document::path::Path;

impl Lowering {
    /// An integer from `least` on.
    pub(super) fn integer(&mut self, node: &Arc<Node>, path: &Path<'_>, least: i64) -> Option<i64> {
        let number = match node.as_scalar().map(|scalar| &scalar.value) {
            Some(ScalarValue::Number(number)) if !number.is_f64() => number,
            _ => {
                self.no_number(node, path, "an integer belongs here", |text| text.parse::<i64>().is_ok());
                return None;
            }
        };
        match number.as_i64() {
            Some(value) if value >= least => {
                self.leading_zero(node, value, path);
                Some(value)
            }
            found => {
                let help = match found {
                    Some(_) => format!("write {least} or more"),
                    None => format!("write at most {}", i64::MAX),
                };
                let bound = if found.is_some() { "small" } else { "large" };
                self.invalid(Code::InvalidValue, node, path, format!("{number} is too {bound}"), help);
                None
            }
        }
    }

    /// A number from `least` on.
    pub(super) fn number(&mut self, node: &Arc<Node>, path: &Path<'_>, least: f64) -> Option<f64> {
        let value = match node.as_scalar().map(|scalar| &scalar.value) {
            Some(ScalarValue::Number(number)) => number.as_f64()?,
            _ => {
                self.no_number(node, path, "a number belongs here", |text| text.parse::<f64>().is_ok());
                return None;
            }
        };
        if value < least {
            self.invalid(
                Code::InvalidValue,
                node,
                path,
                format!("{value} is too small"),
                format!("write {least} or more"),
            );
            return None;
        }
        Some(value)
    }

    /// Reports what is no number; a quoted one, and one with `_` between its digits, can be mended.
    fn no_number(&mut self, node: &Node, path: &Path<'_>, expected: &str, is: fn(&str) -> bool) {
        let digits = node.as_str().map(|text| text.replace('_', ""));
        let Some(digits) = digits.filter(|digits| is(digits) && !digits.starts_with(['+', 'i', 'n', 'N']))
        else {
            self.wrong_type(node, path, expected, None);
            return;
        };
        let quoted = node.as_str() == Some(&digits);
        let help = match quoted {
            true => "take the quotes away".to_owned(),
            false => format!("YAML 1.2 has no `_` in numbers: write `{digits}`"),
        };
        self.wrong_type(node, path, expected, Some(help));
        if let Some(last) = self.diagnostics.last_mut().filter(|_| node.is_inline()) {
            *last = last.clone().suggest(node.span, digits);
        }
    }

    /// Warns of `010`, which others read as 8.
    fn leading_zero(&mut self, node: &Node, value: i64, path: &Path<'_>) {
        let zero = |text: &str| {
            let digits = text.trim_start_matches(['+', '-']);
            digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        if let Some(scalar) = node.as_scalar().filter(|scalar| zero(&scalar.text)) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::AmbiguousScalar,
                    node.span,
                    format!("`{}` is the integer {value}, and looks like an octal one", scalar.text),
                )
                .path(path.to_string())
                .help(format!("write `{value}`"))
                .suggest(node.span, value.to_string()),
            );
        }
    }
}
