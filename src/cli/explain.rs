//! `wf explain CODE`: what a diagnostic means, why it is a mistake, and how to mend it.
//!
//! Main function: [`explain`]. The pages are in `pages`.

use super::args::ExplainArgs;
use super::pages::{book, page, summary};
use super::{Exit, Streams, Trouble};
use crate::diagnostic::{Code, nearest};

pub fn explain(args: &ExplainArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    if args.all {
        streams.stdout.text(&book())?;
        return Ok(Exit::Success);
    }
    let Some(name) = &args.code else {
        let line = |code: &Code| format!("{:<24} {:<8} {}\n", code.as_str(), code.severity(), summary(*code));
        streams.stdout.text(&Code::ALL.iter().map(line).collect::<String>())?;
        return Ok(Exit::Success);
    };
    let Some(code) = Code::from_name(name.trim()) else {
        let advice = match nearest(name, Code::ALL.iter().map(|code| code.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`wf explain` lists them all".to_owned(),
        };
        return Err(Trouble::usage(format!("there is no code `{name}`; {advice}")));
    };
    streams.stdout.text(page(code))?;
    Ok(Exit::Success)
}
