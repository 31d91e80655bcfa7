//! A stream of bytes cut into its pieces: server-sent events, or JSON a line.
//!
//! Main type: [`Frames`]. Fed with bytes as they come, however they are cut. It follows the standard of
//! event streams where servers do not: lines of unknown fields and comments are passed over. Knows no
//! provider and no network.

use std::collections::VecDeque;

use super::Framing;

/// One piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// The name of the event, where it has one.
    pub event: String,
    pub data: String,
}

/// A line that is not UTF-8.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotText;

/// Bytes on the way to pieces.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    /// The line so far.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed after it ends no further line.
    returned: bool,
    begun: bool,
    event: Frame,
    has_data: bool,
    ready: VecDeque<Frame>,
}

impl Frames {
    pub fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            returned: false,
            begun: false,
            event: Frame::default(),
            has_data: false,
            ready: VecDeque::new(),
        }
    }

    /// Takes in more bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), NotText> {
        for byte in bytes {
            match byte {
                b'\n' if std::mem::take(&mut self.returned) => {}
                b'\n' | b'\r' => {
                    self.returned = *byte == b'\r';
                    self.end_line()?;
                }
                _ => {
                    self.returned = false;
                    self.line.push(*byte);
                }
            }
        }
        Ok(())
    }

    /// The bytes are over: a last line needs no end. An event does: without the empty line after it
    /// nobody knows whether it is whole.
    pub fn finish(&mut self) -> Result<(), NotText> {
        match self.framing {
            Framing::Lines => self.end_line(),
            Framing::Events => Ok(()),
        }
    }

    /// The next piece that is whole.
    pub fn next(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) -> Result<(), NotText> {
        let line = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&line).map_err(|_| NotText)?;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.trim_start_matches('\u{feff}');
        }
        match self.framing {
            Framing::Lines if line.trim().is_empty() => {}
            Framing::Lines => {
                self.ready.push_back(Frame { event: String::new(), data: line.trim().to_owned() });
            }
            Framing::Events => self.field(line),
        }
        Ok(())
    }

    fn field(&mut self, line: &str) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                self.ready.push_back(event);
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.event.event = value.to_owned(),
            // llama.cpp reports faults in a field of its own.
            "data" | "error" => {
                if name == "error" {
                    self.event.event = name.to_owned();
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(framing: Framing, bytes: &[u8], size: usize) -> Vec<(String, String)> {
        let mut frames = Frames::new(framing);
        for chunk in bytes.chunks(size.max(1)) {
            frames.push(chunk).unwrap();
        }
        frames.finish().unwrap();
        std::iter::from_fn(|| frames.next()).map(|frame| (frame.event, frame.data)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(event, data)| ((*event).to_owned(), (*data).to_owned())).collect()
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = "\u{feff}: hello\r\nevent: a\r\ndata: {\"x\":\r\ndata:  1}\r\n\r\n\
                    id: 7\nretry: soon\nwhatever\n\ndata:é\n\ndata\n\nerror: {}\n\n\r\rdata: [DONE]\r\rdata: lost";
        let expected = pairs(&[("a", "{\"x\":\n 1}"), ("", "é"), ("", ""), ("error", "{}"), ("", "[DONE]")]);
        for size in 1..=text.len() {
            assert_eq!(cut(Framing::Events, text.as_bytes(), size), expected, "{size}");
        }
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = "\u{feff}{\"a\":1}\r\n\n  {\"é\":2} \n{\"last\":3}";
        let expected = pairs(&[("", "{\"a\":1}"), ("", "{\"é\":2}"), ("", "{\"last\":3}")]);
        for size in 1..=text.len() {
            assert_eq!(cut(Framing::Lines, text.as_bytes(), size), expected, "{size}");
        }
    }

    #[test]
    fn what_is_no_text_is_said() {
        for framing in [Framing::Events, Framing::Lines] {
            assert_eq!(Frames::new(framing).push(b"data: \xff\n"), Err(NotText));
        }
    }
}
