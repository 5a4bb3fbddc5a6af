//! A study under attack: workers and the main process are killed with SIGKILL at random moments, at least 200 times. No acknowledged result is lost, none is
//! counted twice, and the recommendation is that of a run that nobody disturbed. Meanwhile the strategy that is kept beside the rows is deleted or spoilt, again
//! and again: the rows are the truth.

#![cfg(unix)]

use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const WORKERS: usize = 8;
const KILLS: usize = 200;

/// A certified search of a line: batches are planned from what was told, so a lost or doubled result changes everything after it.
const STUDY: &str = r#"
budget = 160
batches = 4
norm_bound = 2.0
noise = { gaussian = 0.1 }
failures = "unrelated"
kernel = { name = "matern", lengthscale = 0.3 }

[parameters.x]
type = "float"
low = 0.0
high = 1.0

[objective]
command = "sh value.sh {x} {seed}"
retries = 20
"#;

/// The value of a trial depends on its setting and seed alone.
const SCRIPT: &str = "awk -v x=\"$1\" -v s=\"$2\" 'BEGIN { print sin(6 * x) + 0.1 * ((s * 7919 % 1000) / 500 - 1) }'\n";

/// SplitMix64: the moments of the kills.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

fn sigmabar(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(arguments).current_dir(directory).env("SIGMABAR_NUM_THREADS", "1").stdin(Stdio::null());
    command
}

fn begin() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("study.toml"), STUDY).unwrap();
    std::fs::write(directory.path().join("value.sh"), SCRIPT).unwrap();
    directory
}

fn json(directory: &Path, verb: &str) -> Value {
    let output = sigmabar(directory, &[verb, "study.db", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a run that nobody disturbs comes to: the recommendation and the value of every trial.
fn undisturbed() -> (Value, HashMap<u64, f64>) {
    let directory = begin();
    let run = sigmabar(directory.path(), &["run", "study.toml", "--parallel", "8", "--no-report"]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    (json(directory.path(), "recommend"), values(directory.path()))
}

fn values(directory: &Path) -> HashMap<u64, f64> {
    let trials = json(directory, "trials");
    let told = trials.as_array().unwrap().iter().filter_map(|trial| Some((trial["trial"].as_u64()?, trial["value"].as_f64()?)));
    told.collect()
}

/// Deletes the strategy that is kept beside the rows, or spoils it, or leaves it. Where there is no study yet, there is nothing to forget.
fn forget(directory: &Path, dice: &mut Dice) {
    let file = directory.join("study.db");
    let spoil = ["DELETE FROM sb_strategies", "UPDATE sb_strategies SET bytes = zeroblob(300)", "SELECT 1"][dice.below(3) as usize];
    if let Ok(connection) = rusqlite::Connection::open_with_flags(file, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE) {
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        // A kill may have come before the tables were made.
        drop(connection.execute_batch(spoil));
    }
}

/// Waits for the end, or kills at a random moment; the output if it ended by itself.
fn end_or_kill(mut child: Child, dice: &mut Dice, kills: &AtomicUsize, one_in: u64) -> Option<std::process::Output> {
    if dice.below(one_in) == 0 {
        std::thread::sleep(Duration::from_micros(dice.below(40_000)));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills.fetch_add(1, Ordering::Relaxed);
        }
    }
    let output = child.wait_with_output().unwrap();
    // Killed processes have no exit code: whether their last step was written down is not known.
    output.status.code().is_some().then_some(output)
}

/// One worker that asks and tells by the command line until the study is over.
fn work(directory: &Path, worker: usize, expected: &HashMap<u64, f64>, acknowledged: &Mutex<HashMap<u64, f64>>, kills: &AtomicUsize) {
    let mut dice = Dice(worker as u64 + 1);
    let name = format!("worker-{worker}");
    let deadline = Instant::now() + Duration::from_secs(240);
    while Instant::now() < deadline {
        let ask = sigmabar(directory, &["ask", "study.db", "--worker", &name, "--format", "jsonl"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Some(output) = end_or_kill(ask.unwrap(), &mut dice, kills, 4) else {
            forget(directory, &mut dice);
            continue;
        };
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}");
        if words.contains("the study is over") {
            return;
        }
        let Some(line) = output.stdout.split(|byte| *byte == b'\n').find(|line| !line.is_empty()) else {
            std::thread::sleep(Duration::from_millis(30));
            continue;
        };
        let id = serde_json::from_slice::<Value>(line).unwrap()["trial"].as_u64().unwrap();
        let value = expected[&id];
        let tell = sigmabar(directory, &["tell", &id.to_string(), &value.to_string(), "--study", "study.db"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Some(output) = end_or_kill(tell.unwrap(), &mut dice, kills, 4) else { continue };
        // Another life of this worker may have told it before it was killed: the same again is a success.
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        acknowledged.lock().unwrap().insert(id, value);
    }
    panic!("the study did not come to its end");
}

fn check(directory: &Path, acknowledged: &HashMap<u64, f64>, recommended: &Value, expected: &HashMap<u64, f64>) {
    let found = values(directory);
    for (id, value) in acknowledged {
        assert_eq!(found.get(id), Some(value), "acknowledged result of trial {id}");
    }
    assert_eq!(found.len(), 160, "every trial has one value");
    assert_eq!(found, *expected);
    // What was lost on the way and measured again is said, and nothing else differs.
    let [mut found, mut expected] = [json(directory, "recommend"), recommended.clone()];
    for advice in [&mut found, &mut expected] {
        advice["certificate"]["premises"]["losses"].take();
    }
    assert_eq!(found, expected);
}

#[test]
fn workers_that_ask_and_tell_are_killed() {
    let (recommended, expected) = undisturbed();
    let kills = AtomicUsize::new(0);
    let mut round = 0;
    while kills.load(Ordering::Relaxed) < KILLS / 2 {
        let directory = begin();
        assert!(sigmabar(directory.path(), &["new", "study.toml"]).output().unwrap().status.success());
        let acknowledged = Mutex::new(HashMap::new());
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                let (directory, expected, acknowledged, kills) = (directory.path(), &expected, &acknowledged, &kills);
                scope.spawn(move || work(directory, 100 * round + worker, expected, acknowledged, kills));
            }
        });
        check(directory.path(), &acknowledged.into_inner().unwrap(), &recommended, &expected);
        round += 1;
    }
    println!("{} kills in {round} studies", kills.into_inner());
}

#[test]
fn the_main_process_and_its_workers_are_killed() {
    let (recommended, expected) = undisturbed();
    let (mut kills, mut studies, mut dice) = (0, 0, Dice(99));
    while kills < KILLS / 2 {
        let directory = begin();
        // What stands in the file after a kill was acknowledged: it must still stand there after the next.
        let (mut standing, mut patience) = (HashMap::new(), 1);
        'study: loop {
            let mut main = sigmabar(directory.path(), &["run", "study.toml", "--parallel", "8", "--no-report", "--quiet"]).spawn().unwrap();
            loop {
                std::thread::sleep(Duration::from_millis(10 + dice.below(80 * patience)));
                if let Some(status) = main.try_wait().unwrap() {
                    assert!(status.success(), "{status}");
                    break 'study;
                }
                if dice.below(2) == 0 {
                    main.kill().unwrap();
                    main.wait().unwrap();
                    kills += 1;
                    forget(directory.path(), &mut dice);
                    if is_begun(directory.path()) {
                        let found = values(directory.path());
                        assert!(standing.iter().all(|(id, value)| found.get(id) == Some(value)), "a result was lost");
                        // A slow machine gets more time before the next kill, so that the study comes to its end.
                        patience = if found.len() > standing.len() { 1 } else { patience + 1 };
                        standing = found;
                    }
                    break;
                }
                kills += kill_an_evaluation(main.id(), &mut dice);
            }
        }
        studies += 1;
        check(directory.path(), &standing, &recommended, &expected);
    }
    println!("{kills} kills in {studies} studies");
}

/// Whether the study is in the file: a kill may come before that.
fn is_begun(directory: &Path) -> bool {
    let output = sigmabar(directory, &["status", "study.db"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || words.contains("has not begun"), "{words}");
    output.status.success()
}

/// SIGKILL for one of the processes that a process has started: it is tried again. How many there were to kill: none or one.
fn kill_an_evaluation(parent: u32, dice: &mut Dice) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> = lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    if children.is_empty() {
        return 0;
    }
    let child = &children[dice.below(children.len() as u64) as usize];
    usize::from(Command::new("kill").args(["-9", child]).stderr(Stdio::null()).status().unwrap().success())
}
