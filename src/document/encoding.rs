//! From bytes to text, and the characters no text may hold.
//!
//! Main function: [`source_from_bytes`]. Knows bytes and characters; knows no syntax.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

/// Largest file, in bytes: 16 MiB.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// How many characters are reported one by one before the rest is left out.
const MAX_REPORTS: usize = 20;

/// The mistake of a text of that many bytes, if it is too large.
pub fn too_large(bytes: usize) -> Option<Diagnostic> {
    (bytes > MAX_BYTES).then(|| {
        Diagnostic::new(
            Code::FileTooLarge,
            Span::at(0),
            format!("the file has {bytes} bytes, more than the {MAX_BYTES} a workflow file may have"),
        )
        .help("keep data in files that a tool reads; a workflow file holds the steps")
    })
}

/// A source of the bytes of a file.
///
/// # Errors
/// Bytes that are too many or not UTF-8; the source then holds what can be shown of the text, with
/// the diagnostic's place in it.
pub fn source_from_bytes(name: &str, bytes: Vec<u8>) -> Result<Source, Box<(Source, Diagnostic)>> {
    if let Some(diagnostic) = too_large(bytes.len()) {
        return Err(Box::new((Source::new(name, ""), diagnostic)));
    }
    if let Some(encoding) = other_encoding(&bytes) {
        let diagnostic = Diagnostic::new(
            Code::InvalidUtf8,
            Span::at(0),
            format!("the file is written in {encoding}, and workflow files are UTF-8"),
        )
        .help("save it as UTF-8 in your editor");
        let text = String::from_utf8_lossy(&bytes).replace('\0', "");
        return Err(Box::new((Source::new(name, text), diagnostic)));
    }
    String::from_utf8(bytes).map(|text| Source::new(name, text)).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[at];
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let diagnostic = Diagnostic::new(
            Code::InvalidUtf8,
            Span::new(at, at + '\u{fffd}'.len_utf8()),
            match windows_1252(byte) {
                Some(letter) => {
                    format!("the byte 0x{byte:02X} here is not UTF-8; in Windows-1252 it is `{letter}`")
                }
                None => format!("the byte 0x{byte:02X} here is not UTF-8"),
            },
        )
        .help("save the file as UTF-8 in your editor; it was probably written in Windows-1252 or Latin-1");
        Box::new((Source::new(name, text), diagnostic))
    })
}

/// The character that a byte is in Windows-1252, where it is one that people write.
fn windows_1252(byte: u8) -> Option<char> {
    match byte {
        0x80 => Some('€'),
        0x85 => Some('…'),
        0x91 => Some('‘'),
        0x92 => Some('’'),
        0x93 => Some('“'),
        0x94 => Some('”'),
        0x96 => Some('–'),
        0x97 => Some('—'),
        0xA1.. => Some(char::from(byte)),
        _ => None,
    }
}

fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Some("UTF-32"),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => Some("UTF-16"),
        // Without a byte order mark, four ASCII letters in UTF-16 are letters and zeros in turn.
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] if a.is_ascii() && b.is_ascii() && *a != 0 && *b != 0 => {
            Some("UTF-16")
        }
        _ => None,
    }
}

/// Every control character and every mark that changes the direction of text, up to a bound.
pub fn control_characters(source: &Source) -> Vec<Diagnostic> {
    let mut found = source.text().char_indices().filter(|(_, character)| is_forbidden(*character));
    let mut diagnostics: Vec<Diagnostic> = found
        .by_ref()
        .take(MAX_REPORTS)
        .map(|(at, character)| {
            let code = u32::from(character);
            let (what, help) = match character {
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => (
                    "changes the direction of the text around it, so that the file reads otherwise than it runs",
                    "take it away, or write it as an escape in double quotes",
                ),
                _ => ("is a control character", "take it away, or write it as an escape in double quotes"),
            };
            Diagnostic::new(
                Code::ControlCharacter,
                Span::new(at, at + character.len_utf8()),
                format!("U+{code:04X} {what}"),
            )
            .help(format!("{help}: `\"\\u{code:04X}\"`"))
        })
        .collect();
    let left = found.count();
    if let (Some(last), true) = (diagnostics.last_mut(), left > 0) {
        last.message.push_str(&format!(", and {left} more characters of this kind follow"));
    }
    diagnostics
}

/// The text with each control character of one byte replaced, if it has any, so that reading can go on
/// behind it: to the parser a NUL is the end of the text. They were reported.
pub fn mask(text: &str) -> Option<String> {
    let is_masked = |character: char| character.is_ascii() && is_forbidden(character);
    // Byte by byte, for nearly every text has none.
    text.bytes().any(|byte| is_masked(char::from(byte))).then(|| text.replace(is_masked, "_"))
}

/// Whether no text may hold the character as such.
pub fn is_forbidden(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_byte_is_placed_in_the_text_that_can_be_shown() {
        let (source, diagnostic) =
            *source_from_bytes("f", b"a: \xc3\xa4\nname: caf\xe9\n".to_vec()).unwrap_err();
        assert_eq!(diagnostic.code, Code::InvalidUtf8);
        assert!(diagnostic.message.contains("0xE9"), "{}", diagnostic.message);
        let position = source.position(diagnostic.span.start);
        assert_eq!((position.line, position.column), (2, 10));
        assert_eq!(source.slice(diagnostic.span), "\u{fffd}");
    }

    #[test]
    fn other_encodings_are_named() {
        for bytes in [&b"\xff\xfea\0:\0"[..], b"\xfe\xff\0a\0:", b"a\0:\0 \0", b"\0a\0:\0 "] {
            let (_, diagnostic) = *source_from_bytes("f", bytes.to_vec()).unwrap_err();
            assert!(diagnostic.message.contains("UTF-16"), "{}", diagnostic.message);
        }
        assert!(source_from_bytes("f", b"\xef\xbb\xbfa: 1".to_vec()).is_ok());
    }

    #[test]
    fn control_and_direction_marks_are_found_and_bounded() {
        let source = Source::new("f", "a: \u{202e}x\u{0}y\tz\u{85}\u{1b}[0m\r\n");
        let found: Vec<&str> = control_characters(&source).iter().map(|one| source.slice(one.span)).collect();
        assert_eq!(found, ["\u{202e}", "\0", "\u{1b}"]);
        let many = control_characters(&Source::new("f", "\u{1}".repeat(50)));
        assert_eq!(many.len(), MAX_REPORTS);
        assert!(many[MAX_REPORTS - 1].message.contains("30 more"));
    }

    #[test]
    fn a_large_file_is_refused_before_it_is_read() {
        let (source, diagnostic) = *source_from_bytes("f", vec![0xff; MAX_BYTES + 1]).unwrap_err();
        assert_eq!((source.text(), diagnostic.code), ("", Code::FileTooLarge));
    }
}
