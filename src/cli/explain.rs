//! `wf explain CODE`: what a diagnostic means, why it is a mistake, and how to mend it.
//!
//! Main function: [`explain`]. The pages are in `pages`.

use super::args::ExplainArgs;
use super::pages::page;
use super::{Exit, Streams, Trouble};
use crate::diagnostic::{Code, nearest};

pub fn explain(args: &ExplainArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let Some(name) = &args.code else {
        let line =
            |code: &Code| format!("{:<24} {:<8} {}\n", code.as_str(), code.severity(), first_sentence(*code));
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

/// The first paragraph's first sentence: what the code means.
pub fn first_sentence(code: Code) -> String {
    let paragraph = page(code).lines().skip(1).skip_while(|line| line.trim().is_empty());
    let text = paragraph.take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ");
    text.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_first_sentence_of_one_line() {
        for code in Code::ALL {
            let sentence = first_sentence(*code);
            assert!(sentence.ends_with('.') && !sentence.contains('\n'), "{code}: {sentence}");
        }
    }
}
