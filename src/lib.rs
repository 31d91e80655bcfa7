//! Plan-and-execute workflows for LLM agents, driven by YAML.
//!
//! A text goes one way through these modules: `document` reads it, `load` checks it and gives a
//! [`workflow::Workflow`], `executor` runs that and records events, `report` shows them. See
//! ARCHITECTURE.md for the whole street.

pub mod cli;
pub mod diagnostic;
pub mod document;
pub mod event;
pub mod executor;
pub mod id;
pub mod journal;
pub mod llm;
pub mod load;
pub mod planner;
pub mod report;
pub mod run;
pub mod source;
pub mod spec;
pub mod step;
pub mod template;
pub mod tool;
pub mod workflow;
