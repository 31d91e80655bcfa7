//! A declared tool that runs a program: an argv, never a shell line.
//!
//! Main type: [`Program`]. The arguments of the call are filled into the argv and given as JSON on
//! stdin; what it prints is the result. How the process is held is for `process` to know.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::declared::{Surroundings, place, unfilled};
use super::form::Form;
use super::mask::Mask;
use super::output::{Capture, EXCERPT, excerpt, value};
use super::process::{Bounds, Ending, Fault, Order, Stream, run};
use super::{CallContext, Tool, ToolFault};
use crate::spec::ToolSpec;
use crate::template::TemplateError;

/// Time between asking a program to end and ending it, when its time is over.
const GRACE: Duration = Duration::from_secs(2);

/// The same when the run is stopped: a person waits, but nothing is wrong with the program.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// What a program finds of our own environment, besides what the file declares.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

/// A program and its arguments.
pub(super) struct Program {
    spec: ToolSpec,
    /// As the file wrote it: a name to look up in PATH, or a path.
    name: String,
    args: Vec<Form>,
    surroundings: Arc<Surroundings>,
    mask: Mask,
    grace: Duration,
}

impl Program {
    /// Parses an argv.
    pub(super) fn new(
        spec: ToolSpec,
        argv: &[String],
        surroundings: Arc<Surroundings>,
    ) -> Result<Self, TemplateError> {
        let name = argv.first().cloned().unwrap_or_default();
        let args = argv.iter().skip(1).map(|arg| Form::text(arg)).collect::<Result<_, _>>()?;
        let mask = surroundings.mask();
        Ok(Self { spec, name, args, surroundings, mask, grace: GRACE })
    }

    fn order(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Order, ToolFault> {
        let mut filled = Vec::with_capacity(self.args.len());
        if !self.args.is_empty() {
            let scope = self.surroundings.scope(args);
            for (at, form) in self.args.iter().enumerate() {
                let part = || format!("item {} of `command`", at + 1);
                let text = form.fill_text(&scope).map_err(|error| unfilled(&part(), &error))?;
                if text.contains('\0') {
                    let message = format!("{} holds a NUL character, which no program can be given", part());
                    return Err(ToolFault::permanent(message));
                }
                filled.push(text.into());
            }
        }
        let inherited = INHERITED.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
        let declared = self.surroundings.env.iter().map(|(name, value)| (name.into(), value.into()));
        let call = [
            ("WF_RUN_ID", context.run.to_string()),
            ("WF_STEP_ID", context.step.to_string()),
            ("WF_ATTEMPT", context.attempt.to_string()),
            ("WF_IDEMPOTENCY_KEY", context.key.to_owned()),
        ];
        let call = call.into_iter().map(|(name, value)| (name.into(), value.into()));
        Ok(Order {
            program: self.executable(),
            args: filled,
            env: inherited.chain(declared).chain(call).collect(),
            folder: self.surroundings.workspace.clone().into(),
        })
    }

    /// A bare name is looked up in PATH; a path starts in the folder of the workflow file.
    fn executable(&self) -> OsString {
        if !self.name.contains('/') {
            return self.name.clone().into();
        }
        let path = self.surroundings.path(&self.name);
        // The program starts in the workspace, so a relative path would start there too.
        std::path::absolute(&path).unwrap_or(path).into()
    }

    fn not_started(&self, error: &io::Error) -> ToolFault {
        let workspace = &self.surroundings.workspace;
        let program =
            place(&self.name, if self.name.contains('/') { &self.surroundings.base } else { Path::new("") });
        match error.kind() {
            io::ErrorKind::NotFound if !workspace.as_os_str().is_empty() && !workspace.is_dir() => {
                ToolFault::permanent(format!(
                    "the folder to run {program} in is missing: {}",
                    workspace.display()
                ))
            }
            io::ErrorKind::NotFound if self.name.contains('/') => ToolFault::permanent(format!(
                "there is no program {program}, or the interpreter its first line names is missing"
            )),
            io::ErrorKind::NotFound => ToolFault::permanent(format!("there is no program {program} on PATH")),
            io::ErrorKind::PermissionDenied => {
                ToolFault::permanent(format!("{program} may not be executed: {error}"))
            }
            io::ErrorKind::ArgumentListTooLong => ToolFault::permanent(format!(
                "the arguments are too long to start {program} with; a program can read them as JSON on stdin"
            )),
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
                ToolFault::transient(format!("{program} cannot be started now: {error}"))
            }
            _ => ToolFault::permanent(format!("{program} cannot be started: {error}")),
        }
    }

    fn fault(&self, fault: Fault) -> ToolFault {
        match fault {
            Fault::NotStarted(error) => self.not_started(&error),
            Fault::Unsupervised(error) => {
                let message = format!("the process that holds `{}` cannot be started: {error}", self.name);
                match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                        ToolFault::permanent(message)
                    }
                    _ => ToolFault::transient(message),
                }
            }
            Fault::Lost(error) => ToolFault::transient(format!("`{}` was lost sight of: {error}", self.name)),
        }
    }

    fn failed(&self, status: ExitStatus, output: Capture, errors: Capture) -> ToolFault {
        let printed = match (errors.text(&self.mask), output.total()) {
            (errors, _) if !errors.trim().is_empty() => format!(": {}", errors.trim()),
            (_, 0) => " and printed nothing".to_owned(),
            _ => format!(" and printed: {}", excerpt(&output.text(&self.mask), EXCERPT)),
        };
        ToolFault::transient(format!("`{}` {}{printed}", self.name, ending(status)))
    }
}

#[async_trait]
impl Tool for Program {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault> {
        let order = self.order(args, context)?;
        let mut input =
            serde_json::to_vec(args).unwrap_or_else(|error| panic!("bug: JSON is no JSON: {error}"));
        input.push(b'\n');
        let bounds = Bounds {
            deadline: context.timeout.map(|timeout| tokio::time::Instant::now() + timeout),
            grace: self.grace,
            stop: context.stop,
            stop_grace: STOP_GRACE,
            max_output: context.max_output_bytes,
            max_errors: EXCERPT,
        };
        let mut lines = Lines::new(context.progress);
        let supervisor = self.surroundings.supervisor.as_deref();
        let finished = run(order, supervisor, input, &bounds, |stream, chunk| lines.push(stream, chunk));
        let finished = finished.await.map_err(|fault| self.fault(fault))?;
        match finished.ending {
            Ending::OutOfTime => {
                let allowed = context.timeout.unwrap_or_default();
                Err(ToolFault::timeout(&format!("`{}`", self.name), allowed))
            }
            Ending::Stopped => Err(ToolFault::stopped(&format!("`{}`", self.name))),
            Ending::Itself(status) if !status.success() => {
                Err(self.failed(status, finished.output, finished.errors))
            }
            Ending::Itself(_) => {
                let what = format!("the output of `{}`", self.name);
                value(finished.output, self.spec.output, &what, &self.mask)
            }
        }
    }
}

fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("failed with exit code {code}"),
        None => "failed".to_owned(),
    }
}

/// Longest piece of a line that is kept for showing, in bytes.
const LINE: usize = 4096;

/// Most lines that are shown in a tenth of a second; nobody can read more.
const LINES_AT_ONCE: usize = 10;

/// Chunks of output, shown line by line; of a flood only some lines.
struct Lines<'a> {
    show: &'a (dyn Fn(String) + Send + Sync),
    /// What was begun on each of the two outputs.
    begun: [Vec<u8>; 2],
    window: Instant,
    shown: usize,
}

impl<'a> Lines<'a> {
    fn new(show: &'a (dyn Fn(String) + Send + Sync)) -> Self {
        Self { show, begun: Default::default(), window: Instant::now(), shown: 0 }
    }

    fn push(&mut self, stream: Stream, chunk: &[u8]) {
        let line = &mut self.begun[stream as usize];
        if self.window.elapsed() > Duration::from_millis(100) {
            (self.window, self.shown) = (Instant::now(), 0);
        }
        let mut rest = chunk;
        while self.shown < LINES_AT_ONCE
            && let Some(at) = rest.iter().position(|byte| *byte == b'\n')
        {
            keep(line, &rest[..at]);
            rest = &rest[at + 1..];
            let text = String::from_utf8_lossy(&std::mem::take(line)).trim_end().to_owned();
            if !text.is_empty() {
                (self.show)(text);
                self.shown += 1;
            }
        }
        // Of a flood, what was begun goes on after its last line break.
        if let Some(at) = rest.iter().rposition(|byte| *byte == b'\n') {
            line.clear();
            rest = &rest[at + 1..];
        }
        keep(line, rest);
    }
}

fn keep(line: &mut Vec<u8>, bytes: &[u8]) {
    let room = LINE.saturating_sub(line.len());
    line.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

#[cfg(test)]
mod tests;
