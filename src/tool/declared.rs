//! What surrounds the tools a file declares: where it lies, where commands run, what templates read.
//!
//! Main types: [`Surroundings`], and [`Declared`], which holds every declared tool to its time and
//! masks secrets in all that leaves it. Does not know how a tool does its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::mask::Mask;
use super::{CallContext, Tool, ToolFault};
use crate::spec::ToolSpec;
use crate::template::TemplateError;

/// Longest line of progress that is shown, in characters.
const LINE: usize = 500;

/// What a file's tools work in. It holds secrets, so it cannot be printed.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The folder of the workflow file: paths in tool definitions start here.
    pub base: PathBuf,
    /// The folder commands run in.
    pub workspace: PathBuf,
    /// The environment variables the file declares, with their values. Values of 8 characters or more
    /// are masked in what the tools give back.
    pub env: BTreeMap<String, String>,
    /// The inputs of the run.
    pub inputs: Map<String, Value>,
    /// What scripts held when the run started, by their paths as the file names them.
    pub scripts: BTreeMap<String, String>,
    /// The program that holds commands, on Linux: started with `SUPERVISE` as its argument, it calls
    /// `supervise`. Without it a command is held by its process group.
    pub supervisor: Option<PathBuf>,
}

impl Surroundings {
    /// What a tool's templates read when it is called with `args`.
    pub(super) fn scope(&self, args: &Map<String, Value>) -> Value {
        json!({"inputs": self.inputs, "args": args, "env": self.env})
    }

    /// A path of a tool definition.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    /// The mask of its secrets.
    pub(super) fn mask(&self) -> Mask {
        Mask::new(self.env.values().map(String::as_str))
    }
}

/// A path as a person knows it: as the file wrote it, with the folder it starts in.
pub(super) fn place(written: &str, base: &Path) -> String {
    if Path::new(written).is_absolute() || base.as_os_str().is_empty() {
        return format!("`{written}`");
    }
    format!("`{written}` (in {})", base.display())
}

/// The fault of a template that could not be filled in.
pub(super) fn unfilled(part: &str, error: &TemplateError) -> ToolFault {
    ToolFault::permanent(format!("{part} of the tool cannot be filled in: {error}"))
}

/// A declared tool within its bounds.
pub(super) struct Declared<T> {
    pub tool: T,
    pub mask: Mask,
}

#[async_trait]
impl<T: Tool> Tool for Declared<T> {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault> {
        let progress = |line: String| {
            // Masked before it is cut: a cut could leave half a secret.
            let mut line = self.mask.owned(line);
            if let Some((at, _)) = line.char_indices().nth(LINE) {
                line.truncate(at);
                line.push('…');
            }
            (context.progress)(line);
        };
        let timeout = [context.timeout, self.spec().timeout].into_iter().flatten().min();
        let context = CallContext { timeout, progress: &progress, ..*context };
        match self.tool.call(args, &context).await {
            Ok(value) => Ok(self.mask.value(value)),
            Err(fault) => Err(ToolFault { message: self.mask.owned(fault.message), ..fault }),
        }
    }
}
