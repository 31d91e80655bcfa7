//! A drawing in DOT, the language of Graphviz.
//!
//! Solid arrows where a result is read, dotted ones where only the order counts. The one place that knows
//! DOT's quoting.

use std::fmt::Write as _;

use super::{Drawing, Kind, colours};
use crate::report::look::Look;
use crate::workflow::Dependency;

impl Drawing {
    /// A directed graph of that name.
    pub fn dot(&self, name: &str) -> String {
        let mut out = format!("digraph {} {{\n", quoted(name));
        out.push_str("    node [shape=box, fontname=\"sans-serif\"];\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let label = match node.status {
                // Colours alone say nothing to some, so the mark is there too.
                Some(status) => format!("{} {}", Look::default().mark(status), node.label),
                None => node.label.clone(),
            };
            let mut style = Vec::new();
            if node.kind == Kind::Reasoning {
                style.push("rounded");
            }
            if node.status.is_some() {
                style.push("filled");
            }
            let _ = write!(out, "    s{at} [label={}", quoted(&label));
            if !style.is_empty() {
                let _ = write!(out, ", style=\"{}\"", style.join(","));
            }
            if node.kind == Kind::Aggregate {
                out.push_str(", peripheries=2");
            }
            if let Some(status) = node.status {
                let (fill, border) = colours(status);
                let _ = write!(out, ", fillcolor=\"{fill}\", color=\"{border}\"");
            }
            out.push_str("];\n");
        }
        for (at, node) in self.nodes.iter().enumerate() {
            for (before, why) in &node.waits_for {
                let style = match why {
                    Dependency::Data => "",
                    Dependency::Order => " [style=dotted]",
                };
                let _ = writeln!(out, "    s{before} -> s{at}{style};");
            }
        }
        out.push_str("}\n");
        out
    }
}

/// A text in quotes. A backslash would begin an escape of labels, as `\N` for the node's name.
fn quoted(text: &str) -> String {
    let line = |it: char| if it.is_control() { ' ' } else { it };
    let text = text.chars().map(line).collect::<String>();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
