//! What a program or a server printed, kept within a bound, and the value it becomes.
//!
//! Main type: [`Capture`]: the head and the tail of a stream, however long it is. Does not know where
//! the bytes come from.

use serde_json::Value;

use super::ToolFault;
use super::mask::Mask;
use crate::spec::Output;

/// Most bytes of output that stand in a fault's message.
pub(super) const EXCERPT: usize = 4096;

/// The head and the tail of a stream of bytes.
pub(super) struct Capture {
    head: Vec<u8>,
    head_limit: usize,
    /// A ring once it is full: the oldest byte is at `oldest`.
    tail: Vec<u8>,
    tail_limit: usize,
    oldest: usize,
    total: u64,
}

impl Capture {
    /// Keeps at most `limit` bytes: the first and the last half.
    pub(super) fn new(limit: usize) -> Self {
        let head_limit = limit / 2;
        Self::with_limits(head_limit, limit - head_limit)
    }

    /// Keeps the last `limit` bytes.
    pub(super) fn tail(limit: usize) -> Self {
        Self::with_limits(0, limit)
    }

    fn with_limits(head_limit: usize, tail_limit: usize) -> Self {
        Self { head: Vec::new(), head_limit, tail: Vec::new(), tail_limit, oldest: 0, total: 0 }
    }

    /// Takes in what came next.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, mut rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(head);
        // Of a chunk longer than the tail only its end can stay.
        rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let (grows, wraps) = rest.split_at(rest.len().min(self.tail_limit - self.tail.len()));
        self.tail.extend_from_slice(grows);
        let (first, second) = wraps.split_at(wraps.len().min(self.tail.len() - self.oldest));
        self.tail[self.oldest..self.oldest + first.len()].copy_from_slice(first);
        self.oldest += first.len();
        if self.oldest == self.tail.len() {
            self.tail[..second.len()].copy_from_slice(second);
            self.oldest = second.len();
        }
    }

    /// How many bytes came.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Whether bytes between head and tail were left out.
    pub(super) fn is_cut(&self) -> bool {
        self.left_out() > 0
    }

    /// Whether what was kept is UTF-8, but for characters that were cut.
    pub(super) fn is_utf8(&self) -> bool {
        let mut bytes = self.head.clone();
        // Of a stream that was cut the head is evidence enough.
        if !self.is_cut() {
            bytes.extend_from_slice(&self.tail);
        }
        let end = if self.is_cut() { bytes.len() - unfinished(&bytes) } else { bytes.len() };
        std::str::from_utf8(&bytes[..end]).is_ok()
    }

    /// The bytes, if none was left out.
    pub(super) fn whole(self) -> Option<Vec<u8>> {
        if self.is_cut() {
            return None;
        }
        let (mut bytes, tail) = self.into_parts();
        bytes.extend_from_slice(&tail);
        Some(bytes)
    }

    /// The text, with a mark where bytes were left out; what is no UTF-8 is replaced.
    pub(super) fn text(self, mask: &Mask) -> String {
        let left_out = self.left_out();
        let (mut head, mut tail) = self.into_parts();
        if left_out == 0 {
            head.append(&mut tail);
            return mask.owned(lossy(head));
        }
        let split_end = unfinished(&head);
        head.truncate(head.len() - split_end);
        let split_start = tail.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
        tail.drain(..split_start);
        let left_out = left_out + (split_end + split_start) as u64;
        let mut text = mask.cut_end(lossy(head));
        let tail = mask.cut_start(lossy(tail));
        if text.is_empty() {
            return tail;
        }
        text.push_str(&format!("\n… [{left_out} bytes left out] …\n"));
        text.push_str(&tail);
        text
    }

    fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    fn into_parts(mut self) -> (Vec<u8>, Vec<u8>) {
        self.tail.rotate_left(self.oldest);
        (self.head, self.tail)
    }
}

/// Makes a value of what was captured, as the tool's `output` says. `what` names the output in a
/// fault: "the output of `wc`".
pub(super) fn value(capture: Capture, output: Output, what: &str, mask: &Mask) -> Result<Value, ToolFault> {
    let (cut, total) = (capture.is_cut(), capture.total());
    if cut && output == Output::Json {
        return Err(ToolFault::permanent(format!(
            "{what} is {total} bytes long, more than is kept (limits.max_output_bytes), so it cannot be \
             read as JSON"
        )));
    }
    if cut || output == Output::Text {
        return Ok(Value::String(strip_newline(capture.text(mask))));
    }
    let text = strip_newline(lossy(capture.whole().unwrap_or_default()));
    match (serde_json::from_str::<Value>(&text), output) {
        (Ok(value), Output::Json) => Ok(mask.value(value)),
        (Ok(value), _) if keeps_its_digits(&value, &text) => Ok(mask.value(value)),
        (Err(error), Output::Json) => {
            let excerpt = excerpt(&mask.owned(text), 200);
            Err(ToolFault::permanent(format!("{what} is not JSON: {error}; it is: {excerpt}")))
        }
        _ => Ok(Value::String(mask.owned(text))),
    }
}

/// The beginning of a text, for a message.
pub(super) fn excerpt(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "(nothing)".to_owned();
    }
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A number too long for 64 bits is an identifier more often than a quantity: it stays text, so that
/// no digit is lost.
fn keeps_its_digits(value: &Value, text: &str) -> bool {
    let is_integer = !text.contains(['.', 'e', 'E']);
    !(value.is_f64() && is_integer)
}

fn strip_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// How many bytes at the end are the beginning of a character that was cut.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(4).position(|byte| byte & 0b1100_0000 != 0b1000_0000);
    match last {
        Some(after) => {
            let length = match bytes[bytes.len() - 1 - after].leading_ones() {
                ones @ 2..=4 => ones as usize,
                _ => 1,
            };
            if after + 1 < length { after + 1 } else { 0 }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use serde_json::json;

    use super::*;

    fn captured(text: &str, limit: usize) -> Capture {
        let mut capture = Capture::new(limit);
        text.as_bytes().chunks(3).for_each(|chunk| capture.push(chunk));
        capture
    }

    #[test]
    fn head_and_tail_stay() {
        let mask = Mask::default();
        assert_eq!(captured("0123456789", 10).text(&mask), "0123456789");
        assert_eq!(captured("0123456789", 4).text(&mask), "01\n… [6 bytes left out] …\n89");
        assert_eq!(captured("aäöüb", 4).text(&mask), "a\n… [6 bytes left out] …\nb");
    }

    #[test]
    fn a_secret_at_the_cut_is_hidden() {
        let mask = Mask::new(["hunter2hunter2"]);
        let text = captured("x hunter2hunter2 and much more after that", 16).text(&mask);
        assert!(text.starts_with("x ***\n"), "{text}");
    }

    #[test]
    fn text_becomes_a_value() {
        let table = [
            ("12\n", Output::Auto, json!(12)),
            ("{\"a\": [1]}\r\n", Output::Auto, json!({"a": [1]})),
            ("12\n", Output::Text, json!("12")),
            ("007", Output::Auto, json!("007")),
            ("1e999", Output::Auto, json!("1e999")),
            ("123456789012345678901234567890", Output::Auto, json!("123456789012345678901234567890")),
            ("", Output::Auto, json!("")),
            ("a\n\n", Output::Auto, json!("a\n")),
            ("null", Output::Json, json!(null)),
            ("NaN", Output::Auto, json!("NaN")),
        ];
        for (text, output, expected) in table {
            assert_eq!(value(captured(text, 100), output, "the output", &Mask::default()), Ok(expected));
        }
    }

    #[test]
    fn what_must_be_json_and_is_not_is_a_fault() {
        let fault = value(captured("oops", 100), Output::Json, "the output of `x`", &Mask::default());
        let message = fault.expect_err("is no JSON").message;
        assert!(
            message.starts_with("the output of `x` is not JSON: ") && message.ends_with("oops"),
            "{message}"
        );
        let fault = value(captured("[1,2,3,4]", 4), Output::Json, "the output of `x`", &Mask::default());
        assert!(fault.expect_err("is cut").message.contains("9 bytes"));
    }

    #[test]
    fn cut_output_is_never_read_as_json() {
        let cut = value(captured("1234567890", 4), Output::Auto, "the output", &Mask::default());
        assert!(cut.expect("is text").is_string());
    }

    proptest! {
        #[test]
        fn any_chunks_keep_head_and_tail(chunks in vec(vec(any::<u8>(), 0..40), 0..20), limit in 0usize..64) {
            let mut capture = Capture::new(limit);
            chunks.iter().for_each(|chunk| capture.push(chunk));
            let whole = chunks.concat();
            prop_assert_eq!(capture.is_cut(), whole.len() > limit);
            let (head, tail) = capture.into_parts();
            prop_assert!(head.len() + tail.len() <= limit);
            prop_assert!(whole.starts_with(&head) && whole.ends_with(&tail));
            prop_assert_eq!(head.len() + tail.len(), whole.len().min(limit));
        }
    }
}
