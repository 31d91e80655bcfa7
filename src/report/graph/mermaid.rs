//! A drawing as a Mermaid flowchart, for Markdown pages.
//!
//! Solid arrows where a result is read, dotted ones where only the order counts. The one place that knows
//! Mermaid's quoting.

use std::fmt::Write as _;

use super::{Drawing, Kind, colours};
use crate::report::look::Look;
use crate::run::Status;
use crate::workflow::Dependency;

impl Drawing {
    /// A Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        let mut out = String::from("flowchart TD\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let (open, close) = match node.kind {
                Kind::ToolCall => ("[", "]"),
                Kind::Reasoning => ("(", ")"),
                Kind::Aggregate => ("[[", "]]"),
            };
            // Colours alone say nothing to some, so the mark is there too.
            let (mark, class) = match node.status {
                Some(status) => {
                    (format!("{} ", Look::default().mark(status)), format!(":::{}", status.as_str()))
                }
                None => Default::default(),
            };
            let _ = writeln!(out, "    s{at}{open}\"{mark}{}\"{close}{class}", quoted(&node.label));
        }
        for (at, node) in self.nodes.iter().enumerate() {
            for (before, why) in &node.waits_for {
                let arrow = match why {
                    Dependency::Data => "-->",
                    Dependency::Order => "-.->",
                };
                let _ = writeln!(out, "    s{before} {arrow} s{at}");
            }
        }
        for status in Status::ALL {
            if self.nodes.iter().any(|node| node.status == Some(status)) {
                let (fill, border) = colours(status);
                let class = status.as_str();
                let _ = writeln!(out, "    classDef {class} fill:{fill},stroke:{border},color:#212529");
            }
        }
        out
    }
}

/// A text inside quotes in Mermaid, which knows entities but no escapes.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            _ => out.push(character),
        }
    }
    out
}
