//! Shows a model's plan before it runs, and asks a person where it calls tools that change something.
//!
//! Main type: [`Person`]. Knows whether there is anybody to ask; does not know how the plan was made.

use std::collections::HashMap;
use std::io::{self, BufRead};

use async_trait::async_trait;

use super::shape::listing;
use super::{Output, Streams};
use crate::executor::{Proposal, Review, Reviewer};
use crate::id::ToolName;
use crate::report::diagnostics::text;
use crate::report::live::Pause;
use crate::report::{Look, escape};
use crate::spec::Effect;
use crate::tool::Catalog;

/// Whoever sits at the terminal, if anybody does.
pub struct Person {
    out: Output,
    look: Look,
    effects: HashMap<ToolName, Effect>,
    can_ask: bool,
    yes: bool,
    /// Whether warnings are worth showing.
    warn: bool,
    pause: Option<Pause>,
}

impl Person {
    /// Asks on stderr; `yes` was said beforehand. `pause` takes a live list off the screen meanwhile.
    pub fn new(streams: &Streams, catalog: &Catalog, yes: bool, pause: Option<Pause>) -> Self {
        let effects = catalog.specs().map(|tool| (tool.name.clone(), tool.effect)).collect();
        let (out, look) = (streams.stderr.clone(), streams.look_err());
        Self { out, look, effects, can_ask: streams.can_ask(), yes, warn: !streams.quiet, pause }
    }

    fn show(&mut self, proposal: Proposal<'_>) {
        let planned = proposal.planned;
        let effects = &self.effects;
        let note = |step: &crate::workflow::Step| match effects.get(step.tool()?)? {
            Effect::Read => None,
            Effect::Idempotent => {
                Some("changes something; calling again would change nothing more".to_owned())
            }
            Effect::Once => Some("changes something".to_owned()),
        };
        let mut lines = Vec::new();
        for warning in &planned.warnings {
            lines.push(text(&planned.source, warning, self.look));
        }
        lines.extend(planned.repairs.iter().map(|it| format!("repaired the reply: {}", self.look.shown(it))));
        lines.push("the model's plan:".to_owned());
        lines.extend(listing(&planned.plan, self.look, note));
        // Whoever cannot be shown the plan cannot answer either.
        let _ = self.out.text(&(lines.join("\n") + "\n"));
    }

    async fn ask(&mut self) -> io::Result<Review> {
        self.out.text("run it? [y/N] ")?;
        let mut answer = String::new();
        // Reading blocks until somebody types; the clock and the signals must not wait for that.
        let read =
            tokio::task::spawn_blocking(move || io::stdin().lock().read_line(&mut answer).map(|_| answer));
        let answer = read.await.map_err(io::Error::other)??;
        let yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
        Ok(if yes { Review::Go } else { Review::Declined })
    }
}

#[async_trait]
impl Reviewer for Person {
    async fn review(&mut self, proposal: Proposal<'_>) -> Review {
        let asks = proposal.acts && !self.yes;
        let noteworthy = asks || (self.warn && !proposal.planned.warnings.is_empty());
        // Otherwise the reporter shows the plan, with its repairs, as its first list.
        if !noteworthy {
            return Review::Go;
        }
        if let Some(pause) = &self.pause {
            pause.pause();
        }
        self.show(proposal);
        let review = match (asks, self.can_ask) {
            (false, _) => Review::Go,
            (true, false) => Review::Unanswerable,
            (true, true) => self.ask().await.unwrap_or_else(|error| {
                let message = format!("cannot ask: {}", escape::escape(&error.to_string()));
                let _ = self.out.line(&message);
                Review::Unanswerable
            }),
        };
        if let Some(pause) = &self.pause {
            pause.resume();
        }
        review
    }
}
