//! A file that a command writes because it was told to.
//!
//! Main function: [`write_whole`]. Knows nothing of what is in it.

use std::io::Write as _;
use std::path::Path;

/// Writes a file so that nobody ever sees half of it.
pub fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    // What is not a file (a pipe, /dev/stdout) cannot be put in place by a rename.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let done = std::fs::File::create(&part)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&part, path));
    if done.is_err() {
        // The fault that counts is the one above.
        let _ = std::fs::remove_file(&part);
    }
    done
}
