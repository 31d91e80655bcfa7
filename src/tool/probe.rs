//! For the tests of this folder: calls one tool the way a step does.
//!
//! Main type: [`Probe`]. Keeps the lines of progress the call shows.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{CallContext, Catalog, Surroundings, Tool, ToolFault};
use crate::id::{RunId, StepId};
use crate::spec::{Effect, Output, ToolKind, ToolSpec};

/// The bounds of a call, and what it showed.
pub(super) struct Probe {
    pub timeout: Option<Duration>,
    pub max_output_bytes: usize,
    pub stop: CancellationToken,
    pub lines: Mutex<Vec<String>>,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            timeout: None,
            max_output_bytes: 4 << 20,
            stop: CancellationToken::new(),
            lines: Mutex::default(),
        }
    }
}

impl Probe {
    /// Calls a tool.
    pub(super) async fn call(&self, tool: &dyn Tool, args: Value) -> Result<Value, ToolFault> {
        let (run, step) = (RunId::generate(), StepId::integer(1));
        let progress = |line| self.lines.lock().expect("no test panics in here").push(line);
        let context = CallContext {
            run: &run,
            step: &step,
            attempt: 1,
            key: "run:1",
            stop: &self.stop,
            timeout: self.timeout,
            max_output_bytes: self.max_output_bytes,
            progress: &progress,
        };
        tool.call(args.as_object().expect("arguments are an object"), &context).await
    }

    /// Calls the one tool that `spec` declares.
    pub(super) async fn declared(
        &self,
        spec: ToolSpec,
        surroundings: Surroundings,
        args: Value,
    ) -> Result<Value, ToolFault> {
        let name = spec.name.clone();
        let catalog = Catalog::build(&[spec], surroundings).expect("the tool can be made");
        self.call(&*catalog.get(&name).expect("it is there").tool, args).await
    }
}

/// A tool of that kind that takes any arguments, named `probe`.
pub(super) fn spec(kind: ToolKind, effect: Effect) -> ToolSpec {
    ToolSpec {
        name: "probe".into(),
        description: "A tool under test".to_owned(),
        parameters: json!({"type": "object"}),
        returns: None,
        effect,
        output: Output::Auto,
        timeout: None,
        kind,
    }
}
