//! What is set up on this machine: records, SQLite, terminal, workflows and their programs, supervisor.
//!
//! One function each. Looks and tries; leaves nothing behind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;
use rustix::fs::{Access, access};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{Check, State};
use crate::cli::cassette::is_cassette;
use crate::cli::ground::{catalog, surroundings};
use crate::cli::open::{WORKFLOWS, folder, read_file, scope};
use crate::cli::signals::block_on;
use crate::cli::store::store;
use crate::cli::validate::paths::{Place as Text, find};
use crate::cli::{Streams, Trouble};
use crate::event::Place;
use crate::id::{RunId, StepId, ToolName};
use crate::journal::sqlite_version;
use crate::load::load;
use crate::report::list::plural;
use crate::spec::{Effect, Output, ToolKind, ToolSpec};
use crate::tool::CallContext;
use crate::workflow::{Origin, Workflow};

/// Longest time for a program that does nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where records are kept, and whether they can be, and by whom they can be read.
pub(super) fn records(streams: &Streams) -> Check {
    let store = match store(streams) {
        Ok(store) => store,
        Err(_) => {
            return Check::new("records", "", State::Problem, "neither WF_STATE_DIR nor HOME is set")
                .advice("export WF_STATE_DIR=FOLDER");
        }
    };
    let path = store.folder();
    let check = |state, message: &str| Check::new("records", path.display().to_string(), state, message);
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let above = path.ancestors().skip(1).find(|it| it.exists()).unwrap_or(Path::new("."));
            return match access(above, Access::WRITE_OK | Access::EXEC_OK) {
                Ok(()) => check(State::Ok, "not there yet; the first run makes it"),
                Err(error) => check(State::Problem, &format!("it cannot be made ({error})"))
                    .advice("WF_STATE_DIR names another folder"),
            };
        }
        Err(error) => {
            return check(State::Problem, &format!("it cannot be looked at ({error})"))
                .advice("WF_STATE_DIR names another folder");
        }
    };
    if !metadata.is_dir() {
        return check(State::Problem, "it is no folder").advice("WF_STATE_DIR names another");
    }
    if let Err(error) = access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        return check(State::Problem, &format!("nothing can be written there ({error})"))
            .advice("WF_STATE_DIR names another folder");
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return check(State::Problem, "others on this machine can look into it")
            .advice(format!("chmod 700 {}", path.display()));
    }
    match store.runs() {
        Ok(runs) => check(State::Ok, &format!("{}, private, writable", plural(runs.len() as u64, "run"))),
        Err(error) => check(State::Problem, &error.to_string()),
    }
}

pub(super) fn sqlite() -> Check {
    Check::new("sqlite", "", State::Ok, format!("{}, built in", sqlite_version()))
}

/// What the terminal can show.
pub(super) fn terminal(streams: &Streams) -> Check {
    let look = streams.look_err();
    let place = match streams.terminals.stderr {
        true => format!("{} columns, {} lines", look.width, look.height),
        false => "stderr is none: a line is written for each event".to_owned(),
    };
    let colours = if look.colour { "colours" } else { "no colours" };
    let check =
        |state, signs: &str| Check::new("terminal", "", state, format!("{place}, {signs}, {colours}"));
    match look.unicode {
        true => check(State::Ok, "UTF-8"),
        false => check(State::Missing, "ASCII only").advice("export LANG=C.UTF-8, if it can show more"),
    }
}

/// The workflows here, and the programs they name.
pub(super) fn workflows(streams: &Streams) -> Vec<Check> {
    if !Path::new(WORKFLOWS).is_dir() {
        let message = format!("there is no folder {WORKFLOWS}/ here");
        return vec![
            Check::new("workflows", "", State::Missing, message).advice("wf init writes a first workflow"),
        ];
    }
    let found = match find(&[WORKFLOWS.to_owned()]) {
        Ok(found) => found,
        Err(Trouble::Said(_, message)) => {
            return vec![
                Check::new("workflows", "", State::Missing, message)
                    .advice("wf init writes a first workflow"),
            ];
        }
        Err(_) => return Vec::new(),
    };
    let scope = scope(streams);
    let (mut files, mut wrong) = (0, 0);
    let mut programs = IndexMap::new();
    for place in found {
        let Text::File(path) = place else { continue };
        let Ok(source) = read_file(&path) else {
            (files, wrong) = (files + 1, wrong + 1);
            continue;
        };
        if is_cassette(&source) {
            continue;
        }
        files += 1;
        match load(&source, &scope, Origin::Person).workflow {
            Some(workflow) => name_programs(&workflow, source.name(), &mut programs),
            None => wrong += 1,
        }
    }
    let all = plural(files, "workflow");
    let mut checks = vec![match wrong {
        0 => Check::new("workflows", WORKFLOWS, State::Ok, format!("{all}, no mistakes")),
        _ => Check::new("workflows", WORKFLOWS, State::Problem, format!("{wrong} of {all} cannot run"))
            .advice("wf validate says why"),
    }];
    checks.extend(programs.into_iter().map(|(program, user)| look_up(&program, &user, streams)));
    checks
}

/// The programs of a workflow: as a path from here, or a bare name, each with who names it first.
fn name_programs(workflow: &Workflow, file: &str, programs: &mut IndexMap<String, String>) {
    for tool in &workflow.tools {
        let ToolKind::Command { argv } = &tool.kind else { continue };
        let Some(name) = argv.first() else { continue };
        let program = match name.contains('/') {
            true => folder(file).join(name).display().to_string(),
            false => name.clone(),
        };
        programs.entry(program).or_insert_with(|| format!("the tool `{}` in {file}", tool.name));
    }
}

fn look_up(program: &str, user: &str, streams: &Streams) -> Check {
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    let path = (streams.variable)("PATH").unwrap_or_default();
    let place = match program.contains('/') {
        true => Some(PathBuf::from(program)).filter(runs),
        false => std::env::split_paths(&path).map(|folder| folder.join(program)).find(runs),
    };
    let check = |state, message: String| Check::new("program", program, state, message);
    match place {
        Some(place) => check(State::Ok, place.display().to_string()),
        None if program.contains('/') => {
            check(State::Problem, format!("no program is there, and {user} starts it"))
                .advice("put it there and chmod +x it")
        }
        None => check(State::Problem, format!("it is not on PATH, and {user} starts it"))
            .advice("install it, or name it by its path"),
    }
}

/// Whether a program can be started and held, by starting one that does nothing.
pub(super) fn supervisor(streams: &Streams) -> Result<Check, Trouble> {
    let check = |state, message: &str| Check::new("supervisor", "", state, message);
    if streams.supervisor.is_none() {
        let message =
            "there is none on this system: of what a command starts, only its process group is ended";
        return Ok(check(State::Missing, message));
    }
    let here = Place { base: ".".to_owned(), workspace: ".".to_owned(), ..Place::default() };
    let probe = ToolSpec {
        name: ToolName::new("probe"),
        description: String::new(),
        parameters: ToolSpec::no_parameters(),
        returns: None,
        effect: Effect::Read,
        output: Output::Text,
        timeout: None,
        kind: ToolKind::Command { argv: vec!["true".to_owned()] },
    };
    let around = surroundings(&here, &Map::new(), &Value::Null, streams);
    let workflow = Workflow { tools: vec![probe], ..Workflow::default() };
    let catalog = catalog(&workflow, around)?;
    let Some(entry) = catalog.get(&ToolName::new("probe")) else {
        panic!("bug: a tool is not in the catalog that was made of it")
    };
    let (run, step, stop) = (RunId::generate(), StepId::integer(1), CancellationToken::new());
    let context = CallContext {
        run: &run,
        step: &step,
        attempt: 1,
        key: "",
        stop: &stop,
        timeout: Some(PATIENCE),
        max_output_bytes: 1024,
        progress: &|_| {},
    };
    Ok(match block_on(entry.tool.call(&Map::new(), &context))? {
        Ok(_) => check(State::Ok, "it holds and ends programs"),
        Err(fault) => check(State::Problem, &format!("a program could not be run: {fault}")),
    })
}
