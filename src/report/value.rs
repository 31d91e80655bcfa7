//! JSON values on one line, as people read them: a space after `:` and `,`, and never longer than asked.
//!
//! Main function: [`brief`]. Knows nothing of steps; a value of any size costs only what is shown.

use std::io;

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// The value as JSON on one line, at most about `limit` bytes of it, and whether that is all.
pub fn brief(value: &Value, limit: usize) -> (String, bool) {
    let mut out = Bounded { bytes: Vec::new(), limit };
    let whole = value.serialize(&mut Serializer::with_formatter(&mut out, Spaced)).is_ok();
    let mut bytes = out.bytes;
    // The cut may fall inside a character.
    if let Err(error) = std::str::from_utf8(&bytes) {
        bytes.truncate(error.valid_up_to());
    }
    (String::from_utf8(bytes).unwrap_or_default(), whole)
}

struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        if room < bytes.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(room) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_read_like_the_articles_and_are_cut_at_a_character() {
        let value = json!({"Electronics": 142000, "Apparel": [1.0, null, "a\nb"]});
        let text = r#"{"Electronics": 142000, "Apparel": [1.0, null, "a\nb"]}"#;
        assert_eq!(brief(&value, 100), (text.to_owned(), true));
        assert_eq!(brief(&value, 20), (text[..20].to_owned(), false));
        assert_eq!(brief(&json!("ñññ"), 4), ("\"ñ".to_owned(), false));
    }
}
