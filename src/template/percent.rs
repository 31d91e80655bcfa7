//! Percent-encoding of what is put into a url (RFC 3986).
//!
//! One function: [`percent_encode`]. Knows no url: a value is always one component.

/// The text as one component of a url: everything but letters, digits, `-`, `.`, `_` and `~` encoded.
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
