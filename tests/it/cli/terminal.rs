//! What a terminal shows at the end of a run: nothing half-drawn, nothing switched off.
//!
//! The command line runs in this process, on a terminal that is a few lines of code. Everything is ASCII
//! here; wide characters are measured in `tests/data/screens`.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use wf::cli::{self, Output, Streams, Terminals};

use super::Place;

const STEPS: &str = "\
workflow_sequence:
  - {id: 1, type: tool_call, tool: add, args: {a: 1, b: 2}, description: First}
  - {id: 2, type: tool_call, tool: divide, args: {a: {step_result: 1}, b: 0}, description: A second one with a name longer than the line}
  - {id: 3, type: tool_call, tool: add, args: {a: {step_result: 2}, b: 2}, description: Third}
";

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the file on a terminal of 40 columns, and gives what was written to it.
fn on_a_terminal(place: &Place, variables: &[(&'static str, &'static str)]) -> String {
    let stderr = Buffer::default();
    let variables = variables.to_vec();
    let streams = Streams {
        stdin: Box::new(Cursor::new(Vec::new())),
        stdout: Output::new(Buffer::default()),
        stderr: Output::new(stderr.clone()),
        terminals: Terminals { stderr: true, ..Terminals::default() },
        size: || Some((10, 40)),
        variable: Arc::new(move |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }),
        supervisor: None,
        quiet: false,
    };
    let file = place.path("w.yaml").display().to_string();
    let args = ["wf", "run", &file, "--ephemeral"].map(Into::into);
    assert_eq!(cli::main(args, streams), 1);
    let bytes = stderr.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// The lines that a terminal shows of a text: it knows what the list uses and refuses anything else.
fn shown(text: &str) -> Vec<String> {
    let (mut lines, mut row, mut column) = (vec![String::new()], 0_usize, 0_usize);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '\r' => column = 0,
            '\n' => {
                (row, column) = (row + 1, 0);
                lines.resize(lines.len().max(row + 1), String::new());
            }
            '\x1b' => {
                let body = rest.strip_prefix('[').unwrap();
                let end = body.find(|it: char| it.is_ascii_alphabetic()).unwrap();
                match (&body[..end], &body[end..=end]) {
                    (count, "A") => row = row.checked_sub(count.parse().unwrap()).unwrap(),
                    ("", "K") => lines[row].truncate(column),
                    ("", "J") => {
                        lines[row].truncate(column);
                        lines.truncate(row + 1);
                    }
                    ("?7", "l" | "h") | (_, "m") => {}
                    other => panic!("{other:?}"),
                }
                rest = &body[end + 1..];
            }
            _ => {
                assert!(character.is_ascii() && !character.is_control(), "{character:?}");
                lines[row].truncate(column);
                lines[row].push(character);
                column += 1;
            }
        }
    }
    lines
}

#[test]
fn the_list_is_left_whole_and_everything_as_it_was() {
    let place = Place::with("w.yaml", STEPS);
    let written = on_a_terminal(&place, &[("TERM", "xterm")]);
    let lines = shown(&written);
    assert_eq!(
        lines[1..6],
        [
            "[x] Step 1: First  -> 3.0",
            "[!] Step 2: A seco...  -> cannot div...",
            "[-] Step 3: Third  -> step 2 failed",
            "step 2 failed: cannot divide 3 by zero",
            "cancelled because of it: step 3",
        ],
        "{lines:#?}"
    );
    assert!(lines[6].starts_with("1 of 3 steps done, 1 failed, 1 cancelled, "), "{lines:#?}");
    assert_eq!(lines[7..], [""], "the cursor stands below");
    // Long lines are allowed again, and the cursor was never hidden.
    assert!(written.rfind("\x1b[?7h") > written.rfind("\x1b[?7l") && !written.contains("\x1b[?25"));
}

#[test]
fn lines_where_nothing_can_be_redrawn_and_no_colours_where_none_are_wanted() {
    let place = Place::with("w.yaml", STEPS);
    let redrawn = |variables| on_a_terminal(&place, variables).contains("\x1b[J");
    assert!(redrawn(&[("TERM", "xterm")]));
    assert!(redrawn(&[("TERM", "xterm"), ("CI", "false")]));
    for variables in [&[][..], &[("TERM", "dumb")], &[("TERM", "xterm"), ("CI", "true")]] {
        let variables: &[(&str, &str)] = variables;
        assert!(!redrawn(variables), "{variables:?}");
    }
    let dumb = on_a_terminal(&place, &[("TERM", "dumb")]);
    assert!(!dumb.contains('\x1b') && dumb.contains("[>] Step 1: First\n"), "{dumb}");
    let red = |variables| on_a_terminal(&place, variables).contains("\x1b[1;31m");
    assert!(red(&[("TERM", "xterm")]));
    assert!(!red(&[("TERM", "xterm"), ("NO_COLOR", "1")]));
}
