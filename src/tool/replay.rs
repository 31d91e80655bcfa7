//! A tool that gives what was recorded of its calls, and is never run.
//!
//! Main types: [`Replayed`], and [`RecordedCalls`], which all tools of a run share. A call that differs from
//! the recorded one is a fault that shows both.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{CallContext, Catalog, Tool, ToolFault};
use crate::id::{StepId, ToolName};
use crate::spec::ToolSpec;

/// A call as it was recorded.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    pub tool: ToolName,
    pub args: Map<String, Value>,
    pub came: Result<Value, ToolFault>,
}

/// The calls that are still to come, by step.
#[derive(Clone, Default)]
pub struct RecordedCalls(Arc<Mutex<HashMap<StepId, VecDeque<RecordedCall>>>>);

impl RecordedCalls {
    /// Calls in the order they were made.
    pub fn new(calls: impl IntoIterator<Item = (StepId, RecordedCall)>) -> Self {
        let mut left: HashMap<_, VecDeque<_>> = HashMap::new();
        for (step, call) in calls {
            left.entry(step).or_default().push_back(call);
        }
        Self(Arc::new(Mutex::new(left)))
    }

    /// Tools that do nothing but this, in the place of those of a catalog.
    pub fn catalog(&self, of: &Catalog) -> Catalog {
        let mut catalog = Catalog::default();
        for spec in of.specs() {
            catalog.add(Arc::new(Replayed { spec: spec.clone(), calls: self.clone() }));
        }
        catalog
    }

    /// For which steps there are recorded calls that were not made, and how many.
    pub fn unmade(&self) -> Vec<(StepId, usize)> {
        let left = self.left();
        let open = left.iter().filter(|(_, calls)| !calls.is_empty());
        open.map(|(step, calls)| (step.clone(), calls.len())).collect()
    }

    fn left(&self) -> MutexGuard<'_, HashMap<StepId, VecDeque<RecordedCall>>> {
        // A panic elsewhere cannot leave a queue half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The recording of a tool, in its place.
struct Replayed {
    spec: ToolSpec,
    calls: RecordedCalls,
}

#[async_trait]
impl Tool for Replayed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault> {
        let (step, tool) = (context.step, &self.spec.name);
        let next = self.calls.left().get_mut(step).and_then(VecDeque::pop_front);
        let Some(next) = next else {
            let message = format!("step {step} calls `{tool}`, which was not recorded: record the run again");
            return Err(ToolFault::permanent(message));
        };
        if next.tool == *tool && next.args == *args {
            return next.came;
        }
        let call = |tool: &ToolName, args: &Map<String, Value>| {
            format!("{tool} {:#}\n", Value::Object(args.clone()))
        };
        let (then, now) = (call(&next.tool, &next.args), call(tool, args));
        let diff = similar::TextDiff::from_lines(&then, &now);
        let diff = diff.unified_diff().context_radius(1).header("recorded", "now").to_string();
        let message = format!("step {step} makes another call than was recorded:\n{}", diff.trim_end());
        Err(ToolFault::permanent(message))
    }
}
