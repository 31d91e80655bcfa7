//! `wf completions` and `wf man`: what shells and manual readers know of the commands.
//!
//! Main functions: [`completions`] and [`man`]. Both are made from the same description of the arguments
//! that `--help` prints; knows no command's work.

use clap::CommandFactory as _;
use clap_complete::aot::generate;
use clap_mangen::Man;

use super::args::{Arguments, CompletionsArgs, ManArgs};
use super::{Exit, Streams, Trouble};

pub fn completions(args: &CompletionsArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let mut script = Vec::new();
    generate(args.shell, &mut Arguments::command(), "wf", &mut script);
    streams.stdout.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

pub fn man(args: &ManArgs, streams: &mut Streams) -> Result<Exit, Trouble> {
    let Some(folder) = &args.output else {
        let mut page = Vec::new();
        Man::new(Arguments::command().disable_help_subcommand(true)).render(&mut page)?;
        streams.stdout.text(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Success);
    };
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Arguments::command(), folder));
    written.map_err(|error| Trouble::unable(format!("cannot write into `{}`: {error}", folder.display())))?;
    streams.remark(&format!("wrote the page of each command into {}", folder.display()));
    Ok(Exit::Success)
}
