//! Runs with a small real model: recorded once, done again everywhere, and by one command made anew.
//!
//! What counts is not that the answers are good but that a plan is right or refused, that arguments fit or
//! the step fails, and that `wf` ends cleanly whatever comes. `tests/real/run` starts the model.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// A small model on a slow machine takes its time; nothing may take longer.
const PATIENCE: Duration = Duration::from_secs(900);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/real")
}

fn scenarios() -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let is_scenario = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".yaml") && !name.contains(".cassette.")
    };
    let mut files = files.filter(is_scenario).collect::<Vec<_>>();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    files
}

fn wf(args: &[&str], server: Option<&str>) -> Output {
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wf"));
    command
        .args(args)
        .env_clear()
        .env("WF_STATE_DIR", state.path())
        .env("PATH", std::env::var_os("PATH").unwrap());
    if let Some(server) = server {
        command.env("OPENAI_BASE_URL", server);
    }
    assert_cmd::Command::from_std(command).timeout(PATIENCE).output().unwrap()
}

fn replayed(file: &Path, cassette: &Path) -> Output {
    wf(&["run", file.to_str().unwrap(), "--replay", cassette.to_str().unwrap(), "--ephemeral"], None)
}

#[test]
fn what_a_real_model_answered_comes_to_the_same_again() {
    for file in scenarios() {
        let cassette = file.with_extension("cassette.yaml");
        let recorded = std::fs::read_to_string(&cassette).unwrap();
        let came = replayed(&file, &cassette);
        let said = String::from_utf8_lossy(&came.stderr).into_owned();
        match recorded.contains("\noutcome: succeeded") {
            true => assert!(came.status.success() && !came.stdout.is_empty(), "{}: {said}", file.display()),
            false => assert!(matches!(came.status.code(), Some(1 | 3)), "{}: {said}", file.display()),
        }
        assert!(!said.contains("than was recorded"), "{}: {said}", file.display());
    }
}

/// With a model at `WF_REAL`; what it answers replaces the recordings.
#[test]
#[ignore = "needs a model: tests/real/run starts one"]
fn a_real_model_is_asked() {
    let server = std::env::var("WF_REAL").expect("WF_REAL is the base url of a model's server");
    for file in scenarios() {
        let cassette = file.with_extension("cassette.yaml");
        let name = file.to_str().unwrap();
        let args =
            ["run", name, "--yes", "--model", "openai/smollm2", "--record", cassette.to_str().unwrap()];
        let live = wf(&args, Some(&server));
        let said = String::from_utf8_lossy(&live.stderr).into_owned();
        // Done, failed, or refused; never a panic, a hang, or a call with arguments that do not fit.
        assert!(matches!(live.status.code(), Some(0 | 1 | 3)), "{name}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        let again = replayed(&file, &cassette);
        assert_eq!(
            (again.status.code(), &again.stdout),
            (live.status.code(), &live.stdout),
            "{name}: {said}"
        );
    }
}
