//! The tools of one run, by name: the built-ins, and those a file declares.
//!
//! Main type: [`Catalog`]. Builds tools from their specs; knows no step and calls nothing.

use std::sync::Arc;

use indexmap::IndexMap;

use super::Tool;
use super::builtin::Fixed;
use super::command::Program;
use super::declared::{Declared, Surroundings};
use super::exchange::Connector;
use super::http::Endpoint;
use super::math::math_tools;
use super::sql::Query;
use crate::id::ToolName;
use crate::spec::{Schema, ToolKind, ToolSpec};

/// The tools of one run, by name, each with its argument schema compiled.
#[derive(Clone, Default)]
pub struct Catalog {
    tools: IndexMap<ToolName, Entry>,
}

/// A tool with its compiled argument schema.
#[derive(Clone)]
pub struct Entry {
    pub tool: Arc<dyn Tool>,
    pub arguments: Schema,
}

/// A tool spec nothing can be made of: a mistake `load` reports, unless the spec comes from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool `{tool}` cannot be made: {message}")]
pub struct BuildError {
    pub tool: ToolName,
    pub message: String,
}

impl Catalog {
    /// The built-in tools.
    pub fn builtin() -> Self {
        let mut catalog = Self::default();
        math_tools().for_each(|tool| catalog.add(Arc::new(tool)));
        catalog
    }

    /// The built-in tools and the declared ones, in this order.
    pub fn build(specs: &[ToolSpec], surroundings: Surroundings) -> Result<Self, BuildError> {
        let builtin = Self::builtin();
        let mut catalog = builtin.clone();
        let (surroundings, connector) = (Arc::new(surroundings), Arc::new(Connector::default()));
        for spec in specs {
            let fault = |message: String| BuildError { tool: spec.name.clone(), message };
            let tool = declared(spec, &builtin, &surroundings, &connector).map_err(fault)?;
            let arguments = Schema::parse(&spec.parameters).map_err(|error| fault(error.to_string()))?;
            catalog.tools.insert(spec.name.clone(), Entry { tool, arguments });
        }
        Ok(catalog)
    }

    /// The tool of that name.
    pub fn get(&self, name: &ToolName) -> Option<&Entry> {
        self.tools.get(name)
    }

    /// What the tools are, in order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| entry.tool.spec())
    }

    /// Adds a tool.
    ///
    /// # Panics
    /// If its argument schema is no schema: `load` has checked it.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        let arguments = match Schema::parse(&tool.spec().parameters) {
            Ok(schema) => schema,
            Err(mismatch) => panic!("bug: unchecked schema of {}: {mismatch}", tool.spec().name),
        };
        self.tools.insert(tool.spec().name.clone(), Entry { tool, arguments });
    }
}

fn declared(
    spec: &ToolSpec,
    builtin: &Catalog,
    surroundings: &Arc<Surroundings>,
    connector: &Arc<Connector>,
) -> Result<Arc<dyn Tool>, String> {
    let (own, around) = (spec.clone(), Arc::clone(surroundings));
    let mask = surroundings.mask();
    match &spec.kind {
        ToolKind::Builtin { name, with } => {
            let entry = builtin.get(name).ok_or_else(|| format!("there is no built-in `{name}`"))?;
            let inner = Arc::clone(&entry.tool);
            Fixed::new(own, inner, entry.arguments.clone(), with, around)
                .map(|tool| bounded(Declared { tool, mask }))
        }
        ToolKind::Sql { database: Some(_), init: Some(_), .. } => {
            return Err("`init` makes a database in memory, `database` names a file".to_owned());
        }
        ToolKind::Sql { database, init, query } => {
            Query::new(own, database.as_deref(), init.as_deref(), query, around)
                .map(|tool| bounded(Declared { tool, mask }))
        }
        ToolKind::Command { argv } if argv.is_empty() => return Err("`command` is empty".to_owned()),
        ToolKind::Command { argv } => {
            Program::new(own, argv, around).map(|tool| bounded(Declared { tool, mask }))
        }
        ToolKind::Http { .. } => {
            return Endpoint::new(own, around, Arc::clone(connector))
                .map(|tool| bounded(Declared { tool, mask }));
        }
    }
    .map_err(|error| error.to_string())
}

fn bounded<T: Tool + 'static>(tool: Declared<T>) -> Arc<dyn Tool> {
    Arc::new(tool)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::spec::Effect;
    use crate::tool::probe::{Probe, spec};

    fn double(with: Value) -> ToolSpec {
        let with: Map<String, Value> = serde_json::from_value(with).expect("an object");
        spec(ToolKind::Builtin { name: "multiply".into(), with }, Effect::Read)
    }

    #[tokio::test]
    async fn fixed_arguments_win() {
        let mut surroundings = Surroundings::default();
        surroundings.inputs.insert("factor".to_owned(), json!(2));
        let probe = Probe::default();
        let tool = double(json!({"b": "{{ inputs.factor }}"}));
        assert_eq!(
            probe.declared(tool.clone(), surroundings.clone(), json!({"a": 21})).await,
            Ok(json!(42.0))
        );
        assert_eq!(probe.declared(tool, surroundings, json!({"a": 21, "b": 5})).await, Ok(json!(42.0)));
        let wrong =
            probe.declared(double(json!({"b": "two"})), Surroundings::default(), json!({"a": 1})).await;
        let message = wrong.expect_err("is no number").message;
        assert!(message.starts_with("the arguments do not fit `multiply`: "), "{message}");
    }

    #[test]
    fn what_cannot_be_made_names_its_tool() {
        let kind = ToolKind::Builtin { name: "fly".into(), with: Map::new() };
        let error = Catalog::build(&[spec(kind, Effect::Read)], Surroundings::default()).err();
        assert_eq!(
            error.map(|error| error.to_string()).as_deref(),
            Some("the tool `probe` cannot be made: there is no built-in `fly`")
        );
    }

    #[test]
    fn math_is_always_there() {
        let catalog = Catalog::build(&[], Surroundings::default()).expect("nothing can fail");
        assert_eq!(catalog.specs().map(|spec| spec.name.as_str()).collect::<Vec<_>>().len(), 5);
        assert!(catalog.get(&"power".into()).is_some());
    }
}
