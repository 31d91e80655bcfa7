//! The program itself: what it prints on which stream, and the code it ends with.
//!
//! Main type: [`Place`], a folder of its own in which the built binary runs with a bare environment.

mod aids;
mod article;
mod codes;
mod fake;
mod kills;
mod models;
mod pages;
mod plans;
mod records;
mod replays;
mod runs;
mod shown;
mod signals;
mod terminal;
#[cfg(target_os = "linux")]
mod trees;
mod voices;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than any of this takes, so that a hang is a failed test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder in which `wf` runs.
struct Place {
    folder: TempDir,
    /// Where its records are.
    state: TempDir,
    env: Vec<(String, String)>,
}

/// What came of a command.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap(), env: Vec::new() }
    }

    /// With a file in it.
    fn with(name: &str, text: &str) -> Self {
        let place = Self::new();
        place.file(name, text);
        place
    }

    /// With the shipped workflows in it.
    fn shipped() -> Self {
        let place = Self::new();
        for name in ["weekly_report.yaml", "bodmas.yaml", "data/shop.sql"] {
            let text = std::fs::read_to_string(root().join("workflows").join(name)).unwrap();
            place.file(&format!("workflows/{name}"), &text);
        }
        place
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with nothing of the environment but what it cannot do without.
    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_wf"));
        command.args(args).current_dir(self.folder.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("WF_STATE_DIR", self.state.path().join("runs"));
        command.env("HOME", self.folder.path()).env("LANG", "C.UTF-8");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program to its end, with nothing on stdin.
    fn wf(&self, args: &[&str]) -> Ran {
        self.wf_with(args, "")
    }

    fn wf_with(&self, args: &[&str], stdin: &str) -> Ran {
        let mut command = assert_cmd::Command::from_std(self.command(args));
        let output = command.write_stdin(stdin).timeout(PATIENCE).output().unwrap();
        Ran {
            code: output.status.code().unwrap_or_else(|| panic!("{args:?}: {output:?}")),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the program, which must succeed, and gives its stdout.
    fn ok(&self, args: &[&str]) -> String {
        let ran = self.wf(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// Runs the program, which must end with the code, and gives its stderr.
    fn fails(&self, args: &[&str], code: i32) -> String {
        let ran = self.wf(args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stderr
    }
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// An address where nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

/// Waits until something holds, as briefly as can be.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The process whose number a tool wrote into a file, once it is there.
fn pid_in(path: &Path) -> i32 {
    let read = || std::fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'));
    until("the tool has written its process number", || read().is_some());
    read().unwrap().trim().parse().unwrap()
}

/// Whether a process runs; one that ended and was not yet collected does not.
fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}
