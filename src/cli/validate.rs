//! `wf validate`: every mistake of workflow files, in one pass, and nothing run.
//!
//! Main function: [`validate`]. Checks are `load`'s, rendering is `report`'s; which files there are and how
//! they are mended is told in the files beside.

mod fix;
pub(super) mod paths;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use self::fix::{Fixed, fix};
use self::paths::{Place, find};
use super::args::{Deny, DiagnosticFormat, ValidateArgs};
use super::cassette::{Cassette, is_cassette};
use super::open::{read_file, read_stdin_as, scope};
use super::pages::{page, summary as meaning};
use super::{Exit, Streams, Trouble};
use crate::diagnostic::{Code, Diagnostic};
use crate::load::load;
use crate::report::diagnostics::{Checked, Counts, json, short, summary, text};
use crate::report::escape::escape;
use crate::report::github::github;
use crate::report::look::{Look, Paint};
use crate::report::sarif::{Rule, sarif};
use crate::source::Source;
use crate::workflow::Origin;

pub fn validate(args: &ValidateArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let places = find(&args.paths)?;
    let scope = scope(streams);
    let check = |source: &Source| match is_cassette(source) {
        true => Cassette::read(source).err().map(|mistake| *mistake).into_iter().collect(),
        false => load(source, &scope, Origin::Person).diagnostics,
    };
    let mut checked = Vec::new();
    let mut unwritten = false;
    for place in &places {
        let text = match place {
            Place::Stdin => read_stdin_as(args.stdin_filename.as_deref().unwrap_or("<stdin>"), streams),
            Place::File(path) => read_file(path),
        };
        let file = match text {
            Ok(source) => {
                let diagnostics = check(&source);
                Checked { source, diagnostics }
            }
            Err(refused) => {
                checked.push(*refused);
                continue;
            }
        };
        if !args.fix {
            checked.push(file);
            continue;
        }
        let given = file.source.clone();
        let fixed = fix(file.source, file.diagnostics, &check);
        let written = match place {
            Place::Stdin => {
                streams.stdout.text(fixed.source.text())?;
                Ok(())
            }
            Place::File(_) if fixed.source.text() == given.text() => Ok(()),
            Place::File(path) => replace(path, given.text(), fixed.source.text()),
        };
        match written {
            Ok(()) => {
                tell(&fixed, streams);
                checked.push(Checked { source: fixed.source, diagnostics: fixed.diagnostics });
            }
            Err(error) => {
                streams.complain(&format!("cannot write `{}`: {error}", given.name()));
                unwritten = true;
                let diagnostics = check(&given);
                checked.push(Checked { source: given, diagnostics });
            }
        }
    }
    let deny = args.deny == Some(Deny::Warnings);
    let piped = args.fix && places.contains(&Place::Stdin);
    print(&checked, args.format, deny, piped, streams)?;
    let counts = Counts::of(&checked);
    let invalid = counts.errors > 0 || (deny && counts.warnings > 0);
    Ok(match (unwritten, invalid) {
        (true, _) => Exit::Unable,
        (false, true) => Exit::Invalid,
        (false, false) => Exit::Success,
    })
}

/// Prints what was found on stdout, or on stderr where a mended text is on stdout.
fn print(
    checked: &[Checked],
    format: DiagnosticFormat,
    deny: bool,
    piped: bool,
    streams: &mut Streams,
) -> io::Result<()> {
    let look = if piped { streams.look_err() } else { streams.look_out() };
    let lines = |one: &dyn Fn(&Source, &Diagnostic, Look) -> String| {
        let file = |file: &Checked| {
            let source = file.shown();
            file.diagnostics.iter().map(|it| one(&source, it, look) + "\n").collect::<String>()
        };
        checked.iter().map(file).collect::<String>()
    };
    let output = match format {
        DiagnosticFormat::Text => lines(&text),
        DiagnosticFormat::Short => lines(&short),
        DiagnosticFormat::Github => lines(&|source, it, _| github(source, it)),
        DiagnosticFormat::Json => format!("{:#}\n", json(checked, deny)),
        DiagnosticFormat::Sarif => {
            let base = std::env::current_dir().ok();
            format!("{:#}\n", sarif(checked, &rules(), base.as_deref()))
        }
    };
    if piped { &mut streams.stderr } else { &mut streams.stdout }.text(&output)?;
    if matches!(format, DiagnosticFormat::Json | DiagnosticFormat::Sarif) {
        return Ok(());
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

fn rules() -> Vec<Rule> {
    let rule = |code: &Code| Rule { code: *code, summary: meaning(*code), page: page(*code) };
    Code::ALL.iter().map(rule).collect()
}

/// Says what was mended, and what was not.
fn tell(fixed: &Fixed, streams: &mut Streams) {
    let name = escape(fixed.source.name()).into_owned();
    for done in &fixed.done {
        streams.remark(&format!("fixed {name}:{}", escape(done)));
    }
    for left in &fixed.left {
        streams.remark(&format!("not fixed, as other errors would follow: {name}:{}", escape(left)));
    }
}

/// Puts a new text in place of a file's, whole or not at all.
fn replace(path: &Path, old: &str, new: &str) -> io::Result<()> {
    // A link stays a link: what it leads to is replaced.
    let path = path.canonicalize()?;
    // The folder may allow what the file's own permissions do not.
    OpenOptions::new().write(true).open(&path)?;
    if fs::read(&path)? != old.as_bytes() {
        return Err(io::Error::other("it was changed by someone else meanwhile"));
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let write = || {
        let mut file = File::create_new(&beside)?;
        file.write_all(new.as_bytes())?;
        file.set_permissions(fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    };
    write().inspect_err(|_| {
        // What was begun is of no use to anyone; that it cannot be taken away changes nothing.
        let _ = fs::remove_file(&beside);
    })
}
