//! From a name on the command line to a checked workflow, or to diagnostics on stderr.
//!
//! Main types: [`Opened`] and [`Located`]. Knows where files are looked up; the checks are `load`'s.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Streams;
use crate::diagnostic::{Code, Diagnostic, Severity, nearest};
use crate::document::{MAX_BYTES, source_from_bytes};
use crate::llm::{self, providers};
use crate::load::{self, Scope};
use crate::report::diagnostics::{Checked, text};
use crate::source::{Source, Span};
use crate::tool::{builtin_specs, math_specs};
use crate::workflow::{Origin, Workflow};

/// The folder workflows are kept in.
pub const WORKFLOWS: &str = "workflows";

const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// A workflow that can run, and the file it came from.
pub struct Opened {
    pub source: Source,
    /// The folder of the file.
    pub base: PathBuf,
    pub workflow: Workflow,
}

/// Why there is no workflow.
pub enum Refused {
    /// The diagnostics were shown.
    Shown,
    /// They could not be.
    Output(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Whether the model a file names will be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileModel {
    /// Then there must be a key for it.
    Asked,
    /// Another one is, or none.
    Unasked,
}

/// Whether a command that asks a model asks the file's: nothing else names one.
pub fn asked(flag: Option<&str>, streams: &Streams) -> FileModel {
    let variable = (streams.variable)("WF_MODEL").is_some_and(|name| !name.trim().is_empty());
    if flag.is_none() && !variable { FileModel::Asked } else { FileModel::Unasked }
}

/// Reads and checks a file, and shows what is wrong with it on stderr.
pub fn open(name: &str, model: FileModel, streams: &mut Streams) -> Result<Opened, Refused> {
    let checked = match read(name, streams) {
        Ok(source) => {
            let loaded = load::load(&source, &scope(streams), Origin::Person);
            let mut diagnostics = loaded.diagnostics;
            match model {
                FileModel::Unasked => diagnostics.retain(|it| it.code != Code::MissingCredential),
                // A file can be checked without the key; a run would fail at its first question, and a
                // comment does not change that.
                FileModel::Asked => {
                    let missing = |it: &Diagnostic| it.code == Code::MissingCredential;
                    diagnostics.extend(loaded.silenced.into_iter().filter(missing));
                    let missing = diagnostics.iter_mut().filter(|it| missing(it));
                    missing.for_each(|it| it.severity = Severity::Error);
                }
            }
            let refused = diagnostics.iter().any(Diagnostic::is_error);
            let checked = Checked { source, diagnostics };
            match loaded.workflow.filter(|_| !refused) {
                Some(workflow) => {
                    show(&checked, streams);
                    let base = folder(checked.source.name());
                    return Ok(Opened { source: checked.source, base, workflow });
                }
                None => checked,
            }
        }
        Err(checked) => *checked,
    };
    show(&checked, streams);
    Err(Refused::Shown)
}

/// Shows diagnostics on stderr.
pub fn show(checked: &Checked, streams: &mut Streams) {
    let look = streams.look_err();
    let source = checked.shown();
    for diagnostic in &checked.diagnostics {
        let shown = text(&source, diagnostic, look);
        if diagnostic.is_error() { streams.tell(&shown) } else { streams.remark(&shown) }
    }
}

/// What a file may use: the built-in tools, the providers there are, and the keys that are set.
pub fn scope(streams: &Streams) -> Scope {
    let tools = math_specs();
    let named = builtin_specs().into_iter().filter(|tool| tools.iter().all(|it| it.name != tool.name));
    let variables = providers().iter().flat_map(|it| [it.key_variable, it.base_url_variable]).flatten();
    let set = |name: &&str| (streams.variable)(name).is_some_and(|value| !value.trim().is_empty());
    Scope {
        named: named.collect(),
        tools,
        providers: providers().iter().map(known).collect(),
        credentials: Some(variables.filter(set).map(str::to_owned).collect()),
        ..Scope::default()
    }
}

fn known(provider: &llm::Provider) -> load::Provider {
    load::Provider {
        name: provider.name.to_owned(),
        models: provider.base_url.is_some(),
        key: provider.key_variable.filter(|_| provider.key_required).map(str::to_owned),
        server: provider.base_url_variable.map(str::to_owned),
    }
}

/// The text of a workflow: `-` is stdin, a name is looked up as given and then in `workflows/`.
pub fn read(name: &str, streams: &mut Streams) -> Result<Source, Box<Checked>> {
    if name == "-" {
        return read_stdin(streams);
    }
    let tried = candidates(name);
    match tried.iter().find(|path| path.is_file()) {
        Some(path) => read_file(path),
        None if Path::new(name).is_dir() => {
            let message = format!("`{name}` is a folder, and one file is wanted");
            Err(unreadable(name, message, neighbour(name)))
        }
        None => {
            let looked = match tried.len() {
                0..=1 => String::new(),
                _ => format!("looked for it here and in `{WORKFLOWS}/`, with and without `.yaml`"),
            };
            let help = [neighbour(name), Some(looked)].into_iter().flatten().filter(|it| !it.is_empty());
            let help = Some(help.collect::<Vec<_>>().join(" ")).filter(|it| !it.is_empty());
            Err(unreadable(name, format!("there is no file `{name}`"), help))
        }
    }
}

/// The text of a file.
pub fn read_file(path: &Path) -> Result<Source, Box<Checked>> {
    let name = path.display().to_string();
    match File::open(path).and_then(bounded) {
        Ok(bytes) => decode(&name, bytes),
        Err(error) => Err(unreadable(&name, format!("the file cannot be read: {error}"), None)),
    }
}

/// The text on stdin.
pub fn read_stdin(streams: &mut Streams) -> Result<Source, Box<Checked>> {
    read_stdin_as("<stdin>", streams)
}

/// The text on stdin, under another name.
pub fn read_stdin_as(name: &str, streams: &mut Streams) -> Result<Source, Box<Checked>> {
    match bounded(&mut streams.stdin) {
        Ok(bytes) => decode(name, bytes),
        Err(error) => Err(unreadable(name, format!("stdin cannot be read: {error}"), None)),
    }
}

/// One byte more than allowed is enough to know that it is too much.
fn bounded(stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn decode(name: &str, bytes: Vec<u8>) -> Result<Source, Box<Checked>> {
    source_from_bytes(name, bytes).map_err(|fault| {
        let (source, diagnostic) = *fault;
        Box::new(Checked { source, diagnostics: vec![diagnostic] })
    })
}

fn unreadable(name: &str, message: String, help: Option<String>) -> Box<Checked> {
    let mut diagnostic = Diagnostic::new(Code::UnreadableFile, Span::at(0), message);
    diagnostic.help = help;
    Box::new(Checked { source: Source::new(name, ""), diagnostics: vec![diagnostic] })
}

/// The places a name may mean, in the order they are tried.
fn candidates(name: &str) -> Vec<PathBuf> {
    let given = PathBuf::from(name);
    let mut roots = vec![given.clone()];
    if given.is_relative() && !given.starts_with(WORKFLOWS) {
        roots.push(Path::new(WORKFLOWS).join(&given));
    }
    let mut all = Vec::new();
    for root in roots {
        all.push(root.clone());
        if !root.extension().is_some_and(|it| it == "yaml" || it == "yml" || it == "json") {
            for extension in EXTENSIONS {
                all.push(PathBuf::from(format!("{}.{extension}", root.display())));
            }
        }
    }
    all
}

/// Advice to take the file that was probably meant.
fn neighbour(name: &str) -> Option<String> {
    let path = Path::new(name);
    let stem = path.file_stem()?.to_str()?;
    let own = folder(name);
    for dir in [own.as_path(), Path::new(WORKFLOWS)] {
        let files = workflow_files(dir).unwrap_or_default();
        let stems = files.iter().filter_map(|file| file.file_stem()?.to_str()).collect::<Vec<_>>();
        if let Some(found) = nearest(stem, stems) {
            let file = files.iter().find(|file| file.file_stem().is_some_and(|it| it == found))?;
            return Some(format!("did you mean `{}`?", file.display()));
        }
    }
    None
}

/// The workflow files of a folder itself, sorted.
fn workflow_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir)?.filter_map(Result::ok).map(|entry| entry.path());
    let mut files = entries.filter(|path| is_workflow(path)).collect::<Vec<_>>();
    files.sort();
    Ok(files)
}

/// Whether a file's name is that of a workflow.
pub fn is_workflow(path: &Path) -> bool {
    path.extension().is_some_and(|it| EXTENSIONS.iter().any(|known| it == *known))
}

/// The folder a file lies in; the current one for stdin.
pub fn folder(name: &str) -> PathBuf {
    match Path::new(name).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
