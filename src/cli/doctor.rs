//! `wf doctor`: what is set up here and works, a line each, and what to type about the rest.
//!
//! Main type: [`Check`]. What is looked at is told in the files beside; here it is gathered and printed.
//! Changes nothing, and sends nothing to a model unless `--online` says so.

mod machine;
mod models;

use serde::Serialize;
use serde_json::json;

use super::args::DoctorArgs;
use super::{Exit, Streams, Trouble};
use crate::report::Look;
use crate::report::list::plural;
use crate::report::look::Paint;

/// What was found about one thing.
#[derive(Debug, Serialize)]
struct Check {
    area: &'static str,
    /// The variable, folder, program or whatever it is about.
    name: String,
    state: State,
    message: String,
    /// What to type, or to do.
    advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Nobody set it up, and nothing that is set up needs it.
    Missing,
    /// It is set up, or needed by what is, and does not work.
    Problem,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Problem => "problem",
        }
    }
}

impl Check {
    fn new(area: &'static str, name: impl Into<String>, state: State, message: impl Into<String>) -> Self {
        Self { area, name: name.into(), state, message: message.into(), advice: None }
    }

    fn advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    fn line(&self, look: Look) -> String {
        let paint = match self.state {
            State::Ok => Paint::Good,
            State::Missing => Paint::Faint,
            State::Problem => Paint::Error,
        };
        let state = look.paint(paint, &format!("{:8}", self.state.as_str()));
        let about = if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
        let advice = self.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
        let text = format!("{about}{}{advice}", self.message);
        format!("{state} {:11} {}", self.area, look.shown(&text))
    }
}

pub fn doctor(args: &DoctorArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let mut checks = models::keys(streams);
    checks.extend(models::servers(streams));
    checks.extend(models::model(args, streams)?);
    checks.push(machine::records(streams));
    checks.push(machine::sqlite());
    checks.push(machine::terminal(streams));
    checks.extend(machine::workflows(streams));
    checks.push(machine::supervisor(streams)?);
    let problems = checks.iter().filter(|check| check.state == State::Problem).count();
    if args.json {
        let result = if problems == 0 { "ok" } else { "problem" };
        let all = json!({"version": 1, "result": result, "checks": checks});
        streams.stdout.line(&format!("{all:#}"))?;
    } else {
        let look = streams.look_out();
        let lines = checks.iter().map(|check| check.line(look) + "\n").collect::<String>();
        streams.stdout.text(&lines)?;
    }
    if problems == 0 {
        return Ok(Exit::Success);
    }
    streams.remark(&plural(problems as u64, "problem"));
    Ok(Exit::Unable)
}
