//! A declared tool that is one of the program's own, with some arguments fixed.
//!
//! Main type: [`Fixed`]. The fixed arguments win over given ones; together they must fit what the
//! built-in takes. Does not know what the built-in does.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::declared::{Surroundings, unfilled};
use super::form::Form;
use super::{CallContext, Tool, ToolFault};
use crate::spec::{Schema, ToolSpec};
use crate::template::TemplateError;

/// A built-in with some arguments fixed.
pub(super) struct Fixed {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
    arguments: Schema,
    with: Form,
    surroundings: Arc<Surroundings>,
}

impl Fixed {
    /// Fixes arguments of a built-in.
    pub(super) fn new(
        spec: ToolSpec,
        inner: Arc<dyn Tool>,
        arguments: Schema,
        with: &Map<String, Value>,
        surroundings: Arc<Surroundings>,
    ) -> Result<Self, TemplateError> {
        let with = Form::parse(&Value::Object(with.clone()))?;
        Ok(Self { spec, inner, arguments, with, surroundings })
    }
}

#[async_trait]
impl Tool for Fixed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, args: &Map<String, Value>, context: &CallContext<'_>) -> Result<Value, ToolFault> {
        let scope = if self.with.is_ready() { Value::Null } else { self.surroundings.scope(args) };
        let with = self.with.fill(&scope).map_err(|error| unfilled("`with`", &error))?;
        let mut merged = args.clone();
        if let Value::Object(with) = with {
            merged.extend(with);
        }
        let merged = Value::Object(merged);
        if let Some(mismatch) = self.arguments.check(&merged).into_iter().next() {
            let name = &self.inner.spec().name;
            return Err(ToolFault::permanent(format!("the arguments do not fit `{name}`: {mismatch}")));
        }
        match merged {
            Value::Object(merged) => self.inner.call(&merged, context).await,
            other => panic!("bug: arguments are {other}"),
        }
    }
}
