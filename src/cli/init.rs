//! `wf init`: a first workflow that runs as it is, without a key and without a network.
//!
//! Main function: [`init`]. Asks nothing and never touches a file that is there. What is written lies in the
//! folder beside, as it is written.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::args::InitArgs;
use super::open::{WORKFLOWS, is_workflow};
use super::{Exit, Streams, Trouble};
use crate::report::escape::escape;

const WORKFLOW: &str = include_str!("init/first.yaml");
const DATA: &str = include_str!("init/first.sql");

/// What the workflow calls its data, which is named after the workflow.
const DATA_NAME: &str = "first.sql";

pub fn init(args: &InitArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let path = named(&args.path)?;
    let data = path.with_extension("sql");
    for path in [&path, &data] {
        // Also a link that leads nowhere is something of somebody's.
        if path.symlink_metadata().is_ok() {
            let message = format!(
                "`{}` is there already, and nothing was written; name another: wf init {WORKFLOWS}/NAME.yaml",
                path.display()
            );
            return Err(Trouble::usage(message));
        }
    }
    let data_name = data.file_name().unwrap_or_default().to_string_lossy();
    let text =
        WORKFLOW.replace(DATA_NAME, &data_name).replace("wf run first", &format!("wf run {}", word(&path)));
    let fault = |path: &Path, error| Trouble::unable(format!("cannot write `{}`: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| fault(folder, error))?;
    }
    write_new(&data, DATA).map_err(|error| fault(&data, error))?;
    if let Err(error) = write_new(&path, &text) {
        // One without the other is of no use to anyone.
        let _ = std::fs::remove_file(&data);
        return Err(fault(&path, error));
    }
    let name = word(&path);
    let shown = streams.look_err().shown(&name).into_owned();
    for line in [
        format!("wrote {} and its data, {}", path.display(), data.display()),
        "next:".to_owned(),
        format!("  wf run {shown}                       runs it: no key, no network"),
        format!("  wf run {shown} -i team=shipping      with another input"),
        format!("  wf graph {shown} --format ascii      draws its steps"),
        "  wf doctor                          says what is set up for a language model".to_owned(),
    ] {
        streams.remark(&line);
    }
    Ok(Exit::Success)
}

/// The file that is meant: a folder gets `first.yaml`, a name without an end gets one.
fn named(path: &Path) -> Result<PathBuf, Trouble> {
    let text = path.to_string_lossy();
    let path = if path.is_dir() || text.ends_with('/') { path.join("first.yaml") } else { path.to_owned() };
    let path = if path.extension().is_none() { path.with_extension("yaml") } else { path };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // The name stands in the file too, and on the command lines that are said.
    let plain = stem.chars().all(|it| it.is_alphanumeric() || "_-.".contains(it)) && !stem.starts_with('-');
    match is_workflow(&path) && plain {
        true => Ok(path),
        false => Err(Trouble::usage(format!(
            "`{}` cannot be the name of a workflow: letters, digits, - and _, and .yaml at the end; as wf init {WORKFLOWS}/NAME.yaml",
            path.display()
        ))),
    }
}

/// How the workflow is named on a command line.
fn word(path: &Path) -> String {
    let short = path.strip_prefix(WORKFLOWS).ok().filter(|rest| rest.components().count() == 1);
    let name = short.map(|rest| rest.with_extension("")).unwrap_or_else(|| path.to_owned());
    let name = escape(&name.display().to_string()).into_owned();
    let plain = |it: char| it.is_alphanumeric() || "_-./".contains(it);
    if name.chars().all(plain) { name } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes()).inspect_err(|error| {
        // What is half-written would be in the way of the next try.
        if error.kind() != ErrorKind::AlreadyExists {
            let _ = std::fs::remove_file(path);
        }
    })
}
