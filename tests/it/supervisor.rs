//! Commands under a supervisor, as the library calls them: the same results and the same messages as
//! without one.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use wf::id::{RunId, StepId};
use wf::spec::{Effect, Output, ToolKind, ToolSpec};
use wf::tool::{CallContext, Catalog, Surroundings, ToolFault, ToolFaultKind};

/// A call of one command.
struct Call {
    surroundings: Surroundings,
    timeout: Option<Duration>,
    max_output_bytes: usize,
    stop: CancellationToken,
}

impl Call {
    fn within(folder: &Path, supervised: bool) -> Self {
        let supervisor = supervised.then(|| env!("CARGO_BIN_EXE_wf").into());
        let (base, workspace) = (folder.to_owned(), folder.to_owned());
        let surroundings = Surroundings { base, workspace, supervisor, ..Surroundings::default() };
        Self { surroundings, timeout: None, max_output_bytes: 4 << 20, stop: CancellationToken::new() }
    }

    async fn run(&self, argv: &[&str], args: Value) -> Result<Value, ToolFault> {
        let spec = ToolSpec {
            name: "probe".into(),
            description: "A tool under test".to_owned(),
            parameters: json!({"type": "object"}),
            returns: None,
            effect: Effect::Once,
            output: Output::Auto,
            timeout: None,
            kind: ToolKind::Command { argv: argv.iter().map(|item| (*item).to_owned()).collect() },
        };
        let catalog = Catalog::build(&[spec], self.surroundings.clone()).unwrap();
        let (run, step, lines) = (RunId::generate(), StepId::integer(1), Mutex::new(Vec::new()));
        let context = CallContext {
            run: &run,
            step: &step,
            attempt: 1,
            key: "run:1",
            stop: &self.stop,
            timeout: self.timeout,
            max_output_bytes: self.max_output_bytes,
            progress: &|line| lines.lock().unwrap().push(line),
        };
        let args: Map<String, Value> = serde_json::from_value(args).unwrap();
        catalog.get(&"probe".into()).unwrap().tool.call(&args, &context).await
    }

    async fn shell(&self, script: &str) -> Result<Value, ToolFault> {
        self.run(&["sh", "-c", script], json!({})).await
    }
}

#[tokio::test]
async fn results_and_faults_are_the_same_under_a_supervisor() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("plain.txt"), "no program").unwrap();
    fs::write(folder.path().join("odd.sh"), "#!/no/such/interpreter\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path().join("odd.sh"), executable).unwrap();
    let long = "x".repeat(200_000);
    let megabyte = json!({"a": "x".repeat(1 << 20)});
    let scripts = ["echo '{\"a\": 1}'", "printf 'a\\377b'", "pwd; echo $WF_STEP_ID", "exit 4", "kill -9 $$"];
    let mut calls: Vec<(Vec<&str>, Value)> =
        scripts.iter().map(|script| (vec!["sh", "-c", script], json!({}))).collect();
    calls.push((vec!["cat"], json!({"a": [1, "ä"]})));
    calls.push((vec!["wc", "-c"], megabyte.clone()));
    calls.push((vec!["true"], megabyte.clone()));
    calls.push((vec!["sh", "-c", "exec <&-; echo done"], megabyte));
    calls.push((vec!["no-such-program-here"], json!({})));
    calls.push((vec!["./nowhere"], json!({})));
    calls.push((vec!["./plain.txt"], json!({})));
    calls.push((vec!["./odd.sh"], json!({})));
    calls.push((vec!["echo", &long], json!({})));
    for (argv, args) in calls {
        let plain = Call::within(folder.path(), false).run(&argv, args.clone()).await;
        let supervised = Call::within(folder.path(), true).run(&argv, args).await;
        assert_eq!(supervised, plain, "{:?}", argv.first());
    }
    let mut nowhere = Call::within(folder.path(), true);
    nowhere.surroundings.workspace = folder.path().join("missing");
    let fault = nowhere.shell("true").await.unwrap_err();
    assert!(fault.message.starts_with("the folder to run `sh` in is missing: "), "{fault}");
}

#[tokio::test]
async fn a_supervisor_that_is_none_is_named_as_what_is_wrong() {
    let folder = TempDir::new().unwrap();
    for (path, kind, why) in [
        ("/no/such/wf", ToolFaultKind::Permanent, "No such file"),
        ("/bin/true", ToolFaultKind::Transient, "it ended before it had started anything"),
    ] {
        let mut call = Call::within(folder.path(), true);
        call.surroundings.supervisor = Some(path.into());
        let fault = call.shell("true").await.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.starts_with("the process that holds `sh` cannot be started: "), "{fault}");
        assert!(fault.message.contains(why), "{fault}");
    }
}

#[tokio::test]
async fn a_flood_of_output_goes_by_within_bounds() {
    let folder = TempDir::new().unwrap();
    let call = Call { max_output_bytes: 1000, ..Call::within(folder.path(), true) };
    let script = "echo first; head -c 67108864 /dev/zero | tr '\\0' 'x'; echo; echo last";
    let result = call.shell(script).await.unwrap();
    let text = result.as_str().unwrap();
    assert!(text.len() < 1100 && text.starts_with("first\nxxx") && text.ends_with("xxx\nlast"), "{text}");
    assert!(text.contains("… [67107876 bytes left out] …"), "{text}");
}

#[tokio::test]
async fn a_call_that_is_stopped_says_so_in_both_ways_of_holding() {
    let folder = TempDir::new().unwrap();
    for supervised in [false, true] {
        let call = Call::within(folder.path(), supervised);
        let start = Instant::now();
        let ready = folder.path().join("ready");
        let stop = async {
            while !ready.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            call.stop.cancel();
        };
        let (result, ()) = tokio::join!(call.shell("echo > ready; sleep 300 & wait"), stop);
        let fault = result.unwrap_err();
        assert_eq!(fault.kind, ToolFaultKind::Stopped);
        assert_eq!(fault.message, "`sh` was ended because the run was stopped");
        assert!(start.elapsed() < Duration::from_secs(9), "it was not asked, but killed");
        fs::remove_file(&ready).unwrap();
        // One that would be started after the wish is not started at all, or ended at once.
        assert_eq!(call.shell("sleep 300").await.unwrap_err().kind, ToolFaultKind::Stopped);
    }
}
