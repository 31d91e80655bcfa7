//! The one door: a text becomes a [`Workflow`] if every check holds, else diagnostics.
//!
//! A person's file, a model's plan and a revised plan all enter here. Checks run nothing and need no
//! network.

use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::spec::ToolSpec;
use crate::workflow::{Origin, Workflow};

/// What a document may use besides what it declares.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Tools in scope everywhere (math), and for a model's plan those its file declares.
    pub tools: Vec<ToolSpec>,
    /// Tools in scope only where something names them: the other built-ins.
    pub named: Vec<ToolSpec>,
}

/// What came of a text.
#[derive(Debug, Default)]
pub struct Loaded {
    /// There if no diagnostic is an error.
    pub workflow: Option<Workflow>,
    /// Sorted by place.
    pub diagnostics: Vec<Diagnostic>,
    /// Honest repairs made to a model's text, each in a short phrase.
    pub repairs: Vec<String>,
}

/// Reads and checks a text.
pub fn load(source: &Source, scope: &Scope, origin: Origin) -> Loaded {
    let _ = (source, scope, origin);
    unimplemented!()
}
