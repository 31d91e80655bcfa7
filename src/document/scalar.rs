//! What a plain YAML scalar is, by the core schema of YAML 1.2.
//!
//! Main function: [`resolve`]. `yes`, `on`, `1_000` and `12:30` are strings here, as YAML 1.2 says;
//! whatever JSON has no form for is refused rather than changed. Knows no place and no key.

use serde_json::Number;

use super::node::ScalarValue;

/// Why a scalar cannot be kept: it is a number that JSON cannot hold exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// `.inf`, `.nan`.
    #[error("is not a number that JSON has")]
    NotFinite,
    /// An integer that would lose digits.
    #[error("is an integer that does not fit into 64 bits")]
    TooLarge,
    /// A floating-point number that would become infinite.
    #[error("is larger than a floating-point number can be")]
    TooFar,
    /// The tag says one thing, the text another.
    #[error("is not {0}, as its tag says")]
    NotAsTagged(&'static str),
}

/// What a plain scalar is.
pub fn resolve(text: &str) -> Result<ScalarValue, Unfit> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => ScalarValue::Null,
        "true" | "True" | "TRUE" => ScalarValue::Bool(true),
        "false" | "False" | "FALSE" => ScalarValue::Bool(false),
        _ => match number(text)? {
            Some(number) => ScalarValue::Number(number),
            None => ScalarValue::String,
        },
    })
}

/// What a scalar with a tag of the core schema is, whatever its style; `suffix` is what follows
/// `tag:yaml.org,2002:`. `None` where the tag is not one for scalars.
pub fn tagged(suffix: &str, text: &str) -> Option<Result<ScalarValue, Unfit>> {
    let fits = |expected: &'static str, is: fn(&ScalarValue) -> bool| match resolve(text) {
        Ok(value) if is(&value) => Ok(value),
        Err(unfit) if expected == "a number" || expected == "an integer" => Err(unfit),
        _ => Err(Unfit::NotAsTagged(expected)),
    };
    Some(match suffix {
        "str" => Ok(ScalarValue::String),
        "null" => fits("null", |value| matches!(value, ScalarValue::Null)),
        "bool" => fits("a boolean", |value| matches!(value, ScalarValue::Bool(_))),
        "int" => fits("an integer", |value| matches!(value, ScalarValue::Number(number) if !number.is_f64())),
        "float" => {
            fits("a number", |value| matches!(value, ScalarValue::Number(_))).map(|value| match value {
                ScalarValue::Number(number) => {
                    ScalarValue::Number(number.as_f64().and_then(Number::from_f64).unwrap_or(number))
                }
                other => other,
            })
        }
        _ => return None,
    })
}

fn number(text: &str) -> Result<Option<Number>, Unfit> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    if !matches!(digits.as_bytes().first(), Some(b'0'..=b'9' | b'.')) {
        return Ok(None);
    }
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(Unfit::NotFinite);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return integer(sign, digits, 10).map(Some);
    }
    // The core schema gives octal and hexadecimal no sign.
    if let Some(octal) = text.strip_prefix("0o").filter(|rest| all(rest, |byte| matches!(byte, b'0'..=b'7')))
    {
        return integer(1, octal, 8).map(Some);
    }
    if let Some(hex) = text.strip_prefix("0x").filter(|rest| all(rest, |byte| byte.is_ascii_hexdigit())) {
        return integer(1, hex, 16).map(Some);
    }
    if !is_float(digits) {
        return Ok(None);
    }
    let value: f64 = text.parse().map_err(|_| Unfit::TooFar)?;
    Number::from_f64(value).map(Some).ok_or(Unfit::TooFar)
}

fn integer(sign: i128, digits: &str, radix: u32) -> Result<Number, Unfit> {
    let value = sign * i128::from_str_radix(digits, radix).map_err(|_| Unfit::TooLarge)?;
    if let Ok(value) = i64::try_from(value) {
        return Ok(value.into());
    }
    u64::try_from(value).map(Number::from).map_err(|_| Unfit::TooLarge)
}

fn all(text: &str, is: fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(is)
}

/// `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa = match mantissa.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    mantissa
        && exponent.is_none_or(|exponent| {
            all(exponent.strip_prefix(['-', '+']).unwrap_or(exponent), |byte| byte.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_are_what_yaml_1_2_says() {
        let value = |text: &str| match resolve(text).unwrap() {
            ScalarValue::Null => json!(null),
            ScalarValue::Bool(value) => json!(value),
            ScalarValue::Number(number) => json!(number),
            ScalarValue::String => json!(text),
        };
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "1_000",
            "12:30",
            "0b1",
            "0o8",
            "0x",
            "-0x1",
            "1e",
            "e3",
            ".",
            "-",
            "+",
            "-.",
            "1.2.3",
            "2026-11-02",
            "nUll",
            "tRue",
            "inf",
            "nan",
            "+.nan",
            "0o",
            "1-2",
            "١",
        ] {
            assert_eq!(value(text), json!(text), "{text}");
        }
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(value(text), json!(null), "{text}");
        }
        assert_eq!(value("True"), json!(true));
        assert_eq!(value("FALSE"), json!(false));
        for (text, expected) in [
            ("0", json!(0)),
            ("-0", json!(0)),
            ("+12", json!(12)),
            ("007", json!(7)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1e3", json!(1000.0)),
            ("1.", json!(1.0)),
            (".5", json!(0.5)),
            ("-.5E-1", json!(-0.05)),
            ("1.0", json!(1.0)),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn what_json_cannot_hold_is_refused() {
        for text in [".inf", "-.INF", "+.Inf", ".nan", ".NaN"] {
            assert_eq!(resolve(text), Err(Unfit::NotFinite), "{text}");
        }
        assert_eq!(resolve("1e999"), Err(Unfit::TooFar));
        assert_eq!(resolve("18446744073709551616"), Err(Unfit::TooLarge));
        assert_eq!(resolve("-9223372036854775809"), Err(Unfit::TooLarge));
        assert_eq!(resolve(&"9".repeat(60)), Err(Unfit::TooLarge));
    }

    #[test]
    fn core_tags_are_applied() {
        assert_eq!(tagged("str", "12"), Some(Ok(ScalarValue::String)));
        assert_eq!(tagged("int", "12"), Some(Ok(ScalarValue::Number(12.into()))));
        assert_eq!(tagged("float", "12"), Some(Ok(ScalarValue::Number(Number::from_f64(12.0).unwrap()))));
        assert_eq!(tagged("null", ""), Some(Ok(ScalarValue::Null)));
        assert_eq!(tagged("int", "x"), Some(Err(Unfit::NotAsTagged("an integer"))));
        assert_eq!(tagged("bool", "yes"), Some(Err(Unfit::NotAsTagged("a boolean"))));
        assert_eq!(tagged("seq", "x"), None);
    }
}
