//! `wf validate`: every mistake of workflow files, in one pass, and nothing run.
//!
//! Main function: [`validate`]. Finds the files; checks are `load`'s, rendering is `report`'s.

use std::io;
use std::path::{Path, PathBuf};

use super::args::{Deny, DiagnosticFormat, ValidateArgs};
use super::open::{is_workflow, read_file, read_stdin, scope};
use super::{Exit, Streams, Trouble};
use crate::load::load;
use crate::report::diagnostics::{Checked, Counts, json, short, summary, text};
use crate::report::look::Paint;
use crate::source::Source;
use crate::workflow::Origin;

pub fn validate(args: &ValidateArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let mut texts = Vec::new();
    for path in &args.paths {
        if path == "-" {
            texts.push(read_stdin(streams));
            continue;
        }
        let path = Path::new(path);
        if !path.is_dir() {
            texts.push(read_file(path));
            continue;
        }
        let mut files = Vec::new();
        walk(path, &mut files).map_err(|error| {
            Trouble::unable(format!("cannot read the folder `{}`: {error}", path.display()))
        })?;
        files.sort();
        texts.extend(files.iter().map(|file| read_file(file)));
    }
    // `workflows` was not asked for: that it is not there is not a file that cannot be read.
    if texts.is_empty() || (args.paths == ["workflows"] && !Path::new("workflows").exists()) {
        let paths = args.paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        let message = format!("nothing to validate: there is no .yaml or .yml file in {paths}");
        return Err(Trouble::usage(message));
    }
    let scope = scope(streams);
    let check = |text: Result<Source, Box<Checked>>| match text {
        Ok(source) => {
            let diagnostics = load(&source, &scope, Origin::Person).diagnostics;
            Checked { source, diagnostics }
        }
        Err(checked) => *checked,
    };
    let checked = texts.into_iter().map(check).collect::<Vec<_>>();
    let deny = args.deny == Some(Deny::Warnings);
    print(&checked, args.format, deny, streams)?;
    let counts = Counts::of(&checked);
    let invalid = counts.errors > 0 || (deny && counts.warnings > 0);
    Ok(if invalid { Exit::Invalid } else { Exit::Success })
}

fn print(checked: &[Checked], format: DiagnosticFormat, deny: bool, streams: &mut Streams) -> io::Result<()> {
    let look = streams.look_out();
    let all = checked.iter().flat_map(|file| file.diagnostics.iter().map(|it| (&file.source, it)));
    match format {
        DiagnosticFormat::Json => return streams.stdout.line(&format!("{:#}", json(checked, deny))),
        DiagnosticFormat::Short => {
            let lines = all.map(|(source, it)| short(source, it, look) + "\n").collect::<String>();
            streams.stdout.text(&lines)?;
        }
        DiagnosticFormat::Text => {
            let texts = all.map(|(source, it)| text(source, it, look) + "\n").collect::<String>();
            streams.stdout.text(&texts)?;
        }
    }
    let counts = Counts::of(checked);
    let paint = match (counts.errors, counts.warnings) {
        (0, 0) => Paint::Good,
        (0, _) => Paint::Warning,
        _ => Paint::Error,
    };
    let line = streams.look_err().paint(paint, &summary(checked));
    streams.remark(&line);
    Ok(())
}

/// All workflow files below a folder. Hidden folders are left out, and links to folders, which may go
/// in circles.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if entry.file_type()?.is_dir() {
            if !hidden {
                walk(&path, files)?;
            }
        } else if is_workflow(&path) && !path.is_dir() {
            files.push(path);
        }
    }
    Ok(())
}
