//! Everything below a process, however deep and in whatever group or session: found and signalled.
//!
//! Main type: [`Descendants`]. Reads `/proc`. Does not wait for anybody's end: that is for their parent.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Most times the tree is gone through to stop all of it, before what is known of it is killed.
const PASSES: usize = 64;

/// What is below a process.
pub(in crate::tool) struct Descendants {
    root: Pid,
    /// Whether the system lists the children of a process; else all processes are asked for their parent.
    listed: bool,
}

impl Descendants {
    pub(in crate::tool) fn of(root: Pid) -> Self {
        Self { root, listed: fs::exists("/proc/thread-self/children").unwrap_or(false) }
    }

    /// Asks all of them to end.
    pub(super) fn ask_to_end(&self) {
        // One that ends gives its children to somebody else, so they are all found first.
        let mut found = Vec::new();
        self.meet(|pid| found.push(pid));
        for pid in found {
            // It may be gone already. What was stopped can only end once it goes on.
            let _ = kill_process(pid, Signal::TERM);
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// Whether one of them does not ignore that it is asked to end.
    pub(super) fn may_end(&self) -> bool {
        let mut any = false;
        self.meet(|pid| any |= !ignores_term(pid));
        any
    }

    /// Kills all of them. Tells how many could be reached.
    ///
    /// They are stopped first, each before its children are looked for, until no new one is found: what
    /// is stopped starts nothing more.
    pub(super) fn end(&self) -> usize {
        let mut known = HashSet::new();
        for _ in 0..PASSES {
            let before = known.len();
            self.meet(|pid| {
                if known.insert(pid) {
                    let _ = kill_process(pid, Signal::STOP);
                }
            });
            if known.len() == before {
                break;
            }
        }
        known.into_iter().filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
    }

    /// Kills all of them, and the process itself.
    pub(in crate::tool) fn end_with_root(&self) {
        let _ = kill_process(self.root, Signal::STOP);
        self.end();
        let _ = kill_process(self.root, Signal::KILL);
    }

    /// Goes through all of them, parents first.
    fn meet(&self, mut each: impl FnMut(Pid)) {
        let by_parent = if self.listed { HashMap::new() } else { by_parent() };
        let mut met = HashSet::from([self.root]);
        let mut queue = VecDeque::from([self.root]);
        while let Some(parent) = queue.pop_front() {
            let children = match self.listed {
                true => listed_children(parent),
                false => by_parent.get(&parent).cloned().unwrap_or_default(),
            };
            for child in children {
                if met.insert(child) {
                    each(child);
                    queue.push_back(child);
                }
            }
        }
    }
}

/// The children of a process, which belong to its threads; none, if it is gone.
fn listed_children(parent: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>()).collect()
}

/// All processes, by their parent.
fn by_parent() -> HashMap<Pid, Vec<Pid>> {
    let mut found: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(child) = name.to_str().and_then(pid) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // After the name, which may hold anything: the state, then the parent.
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)).and_then(pid);
        if let Some(parent) = parent {
            found.entry(parent).or_default().push(child);
        }
    }
    found
}

/// Whether a process ignores TERM; true of one that is gone.
fn ignores_term(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim();
    let ignored = u64::from_str_radix(field("SigIgn:"), 16);
    let is_over = field("State:").starts_with(['Z', 'X']);
    is_over
        || ignored.is_ok_and(|ignored| ignored & 1 << (Signal::TERM.as_raw() - 1) != 0)
        || status.is_empty()
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    /// A shell with a child in a session of its own, and a grandchild.
    fn tree() -> Child {
        let script = "setsid sh -c 'sleep 100 & wait' & sleep 100 & wait";
        Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().expect("a shell")
    }

    fn found(by: &Descendants) -> Vec<Pid> {
        let mut found = Vec::new();
        by.meet(|pid| found.push(pid));
        found
    }

    #[test]
    fn both_ways_find_the_same_and_all_of_it_is_ended() {
        for wanted in [true, false] {
            let mut shell = tree();
            let root = Pid::from_child(&shell);
            let by_scan = Descendants { root, listed: false };
            let start = Instant::now();
            while found(&by_scan).len() < 3 {
                assert!(start.elapsed() < Duration::from_secs(20), "there are {:?}", found(&by_scan));
                sleep(Duration::from_millis(2));
            }
            // Not every system lists children.
            let below = Descendants { listed: wanted && Descendants::of(root).listed, root };
            let all = found(&by_scan);
            assert_eq!(found(&below).into_iter().collect::<HashSet<_>>(), all.iter().copied().collect());
            assert!(below.may_end());
            below.end_with_root();
            shell.wait().expect("it was started here");
            let runs = |pid: &Pid| {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
            };
            while all.iter().any(runs) {
                assert!(start.elapsed() < Duration::from_secs(20), "still there: {all:?}");
                sleep(Duration::from_millis(2));
            }
        }
    }
}
