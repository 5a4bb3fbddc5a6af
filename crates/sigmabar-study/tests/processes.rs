//! Many processes on one file, and processes that are killed.

use crate::support;

use sigmabar_study::{AskRequest, Asked, RunEvent, RunOptions, Study, TrialResult, TrialStatus};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use support::{certified, essence, plain, spec, truth, work};

const FILE: &str = "SIGMABAR_TEST_FILE";
const ROLE: &str = "SIGMABAR_TEST_ROLE";

/// Not a test of its own: the program that other tests start many times.
#[test]
fn child() {
    let (Ok(file), Ok(role)) = (std::env::var(FILE), std::env::var(ROLE)) else { return };
    let study = Study::open(Path::new(&file), None).unwrap();
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
    };
    // The harness has begun a line of its own.
    say(String::new());
    match role.as_str() {
        "run" => {
            let mut observer = |event| {
                if let RunEvent::Told { id, result: TrialResult::Value { value, .. }, .. } = event {
                    say(format!("told {id} {value}"));
                }
            };
            study
                .run(&RunOptions { parallel: 2, ..RunOptions::default() }, &mut observer, &sigmabar::linalg::Interrupt::default())
                .unwrap();
        }
        worker => loop {
            match study.ask(&AskRequest::new(worker, 2)).unwrap() {
                Asked::Finished => break,
                Asked::Wait => std::thread::sleep(Duration::from_millis(5)),
                Asked::Trials(trials) => {
                    for trial in trials {
                        say(format!("asked {}", trial.id));
                        study.tell(trial.id, truth(&trial)).unwrap();
                    }
                }
            }
        },
    }
    say("end".to_owned());
}

struct Running {
    child: Child,
    lines: Receiver<String>,
}

fn start(file: &Path, role: &str) -> Running {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let (sender, lines) = channel();
    std::thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    Running { child, lines }
}

fn asked(lines: &Receiver<String>) -> Vec<u64> {
    lines.iter().filter_map(|line| line.strip_prefix("asked ").map(|id| id.parse().unwrap())).collect()
}

#[test]
fn twenty_processes_get_every_trial_once_and_come_to_the_same_end() {
    for spec in [plain(400), certified()] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("study.db");
        Study::create(&file, "a", &spec).unwrap();
        let children: Vec<Running> = (0..20).map(|i| start(&file, &format!("w{i}"))).collect();
        let mut ids = Vec::new();
        for mut running in children {
            ids.extend(asked(&running.lines));
            assert!(running.child.wait().unwrap().success());
        }
        ids.sort_unstable();
        let study = Study::open(&file, None).unwrap();
        let rows = study.trials().unwrap();
        assert_eq!(ids, (0..rows.len() as u64).collect::<Vec<_>>(), "every trial was handed out exactly once");
        assert!(rows.iter().all(|row| row.state == TrialStatus::Done && row.attempts == 1));
        let alone = Study::create(&directory.path().join("alone.db"), "a", &spec).unwrap();
        work(&alone, 1000, |_| {});
        assert_eq!(essence(&rows), essence(&alone.trials().unwrap()));
        assert_eq!(study.recommend().unwrap(), alone.recommend().unwrap());
    }
}

#[test]
fn killed_processes_lose_nothing_that_was_acknowledged() {
    let spec = spec(
        r#"
        budget = 1500
        strategy = { name = "gp-ucb", batch_len = 10, width = 2.0, candidates = 200 }
        noise = 0.1
        kernel = { name = "matern", lengthscale = 0.3 }
        objective = { builtin = "branin", noise = 0.1 }
        [parameters.x]
        type = "float"
        low = 0
        high = 1
        [parameters.y]
        type = "float"
        low = 0
        high = 1
        "#,
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("study.db");
    Study::create(&file, "a", &spec).unwrap();
    let mut told: Vec<String> = Vec::new();
    let mut running: Vec<Running> = (0..4).map(|_| start(&file, "run")).collect();
    let (mut kills, begin) = (0_usize, Instant::now());
    while !Study::open(&file, None).unwrap().status().unwrap().is_finished {
        assert!(begin.elapsed() < Duration::from_secs(120), "the study does not end");
        std::thread::sleep(Duration::from_millis(10 + (kills as u64 * 37) % 40));
        let victim = kills % running.len();
        support::forget(&file, kills as u64);
        let mut old = std::mem::replace(&mut running[victim], start(&file, "run"));
        old.child.kill().unwrap();
        old.child.wait().unwrap();
        told.extend(old.lines.iter());
        kills += 1;
    }
    for mut last in running {
        told.extend(last.lines.iter());
        assert!(last.child.wait().unwrap().success());
    }
    let study = Study::open(&file, None).unwrap();
    let rows = study.trials().unwrap();
    let acknowledged: Vec<(usize, f64)> = told
        .iter()
        .filter_map(|line| line.strip_prefix("told "))
        .map(|line| line.split_once(' ').unwrap())
        .map(|(id, value)| (id.parse().unwrap(), value.parse().unwrap()))
        .collect();
    assert!(kills >= 5, "only {kills} kills: the run is too short to say anything");
    let mut counts = vec![0; rows.len()];
    for (id, value) in acknowledged {
        counts[id] += 1;
        assert_eq!(rows[id].value, Some(value), "trial {id}");
    }
    assert!(counts.iter().all(|&count| count <= 1), "no result is acknowledged twice");
    let alone = Study::create(&directory.path().join("alone.db"), "a", &spec).unwrap();
    alone.run(&RunOptions::default(), &mut |_| {}, &sigmabar::linalg::Interrupt::default()).unwrap();
    assert_eq!(essence(&rows), essence(&alone.trials().unwrap()), "{kills} kills");
    // What was lost on the way and measured again is said, and nothing else differs.
    let [mut killed, undisturbed] = [&study, &alone].map(|study| study.recommend().unwrap().unwrap());
    killed.certificate.premises.losses = undisturbed.certificate.premises.losses;
    assert_eq!(killed, undisturbed);
    println!("{kills} kills");
}
