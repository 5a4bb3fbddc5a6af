//! A server that is killed without warning while workers work: they go on by themselves, and nothing that was acknowledged is lost or counted twice.

use sigmabar::linalg::Interrupt;
use sigmabar_serve::Remote;
use sigmabar_study::{AskRequest, Asked, Exchange, Study, TrialResult};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const WORKERS: usize = 8;
const PAIRS: usize = 240;
const KILLS: usize = 4;

/// A server on a port (0 for any), and the address that it prints.
fn start(directory: &Path, port: &str) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_sigmabar"))
        .args(["serve", "study.toml", "--port", port])
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (server, address.trim().to_owned())
}

/// Asks and tells until the study is over; the trials whose results were acknowledged.
fn work(name: usize, remote: &Remote, done: &AtomicUsize) -> Vec<u64> {
    let request = AskRequest::new(format!("w{name}"), 1).with_lease(Duration::from_secs(600));
    let mut acknowledged = Vec::new();
    loop {
        match remote.ask(&request).unwrap() {
            Asked::Finished => return acknowledged,
            Asked::Wait => {}
            Asked::Trials(trials) => {
                for trial in trials {
                    remote.tell(trial.id, TrialResult::Value { value: trial.seed as f64, standard_error: None, replicates: None }).unwrap();
                    acknowledged.push(trial.id);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

#[test]
fn workers_go_on_when_the_server_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("budget = {PAIRS}\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    std::fs::write(directory.path().join("study.toml"), text).unwrap();
    let (mut server, address) = start(directory.path(), "0");
    let port = address.trim_start_matches("http://127.0.0.1:").split('/').next().unwrap().to_owned();
    let done = AtomicUsize::new(0);
    let mut acknowledged: Vec<u64> = std::thread::scope(|scope| {
        let one = |name: usize| {
            let remote = Remote::connect(&address, None, None, &Interrupt::default(), Arc::new(|_| {})).unwrap();
            let (remote, _) = remote.with_outbox(&directory.path().join(format!("outbox-{name}"))).unwrap();
            let done = &done;
            scope.spawn(move || work(name, &remote, done))
        };
        let workers: Vec<_> = (0..WORKERS).map(one).collect();
        for kill in 1..=KILLS {
            while done.load(Ordering::Relaxed) < kill * PAIRS / (KILLS + 1) {
                std::thread::sleep(Duration::from_millis(2));
            }
            server.kill().unwrap();
            server.wait().unwrap();
            server = start(directory.path(), &port).0;
        }
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    server.kill().unwrap();
    server.wait().unwrap();
    acknowledged.sort_unstable();
    assert_eq!(acknowledged, (0..PAIRS as u64).collect::<Vec<_>>(), "each was acknowledged once");
    let rows = Study::open(&directory.path().join("study.db"), None).unwrap().trials().unwrap();
    assert!(rows.len() == PAIRS && rows.iter().all(|row| row.value == Some(row.seed as f64)), "what was acknowledged is in the file");
}

#[test]
fn the_command_that_a_server_prints_keeps_its_token_out_of_the_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 4\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    std::fs::write(directory.path().join("study.toml"), text).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_sigmabar"))
        .args(["serve", "study.toml", "--port", "0"])
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (place, token) = address.trim().split_once("/?token=").unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
    let next = lines.find(|line| line.contains("sigmabar worker")).unwrap();
    assert!(next.contains(&format!("SIGMABAR_TOKEN={token} sigmabar worker --server {place} ")), "{next}");
    let work = |server: &str, variable: &str| {
        let mut worker = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
        worker.args(["worker", "--server", server, "--command", "echo {x}", "--at-most", "2"]).current_dir(directory.path());
        worker.env("SIGMABAR_TOKEN", variable).output().unwrap()
    };
    let done = work(place, token);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = work(address.trim(), "the-token-of-another-server");
    assert!(done.status.success(), "an address brings its own: {}", String::from_utf8_lossy(&done.stderr));
    server.kill().unwrap();
    server.wait().unwrap();
    let rows = Study::open(&directory.path().join("study.db"), None).unwrap().trials().unwrap();
    assert!(rows.len() == 4 && rows.iter().all(|row| row.value.is_some()));
}

/// `nohup` ignores one signal, and a script's `&` another: the rest are heard all the same, and no program is left running.
#[cfg(unix)]
#[test]
fn a_run_that_ignores_some_signals_hears_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 4\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo $$ > pid; exec sleep 300\"\n";
    std::fs::write(directory.path().join("study.toml"), text).unwrap();
    let script = format!("trap '' HUP INT; exec {} run study.toml", env!("CARGO_BIN_EXE_sigmabar"));
    let mut run =
        Command::new("sh").args(["-c", &script]).current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let send = |signal: &str, pid: &str| Command::new("kill").args([signal, pid]).stderr(Stdio::null()).status().unwrap().success();
    let pid = directory.path().join("pid");
    let begun = std::time::Instant::now();
    while !std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the first trial has begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    let program = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
    let own = run.id().to_string();
    assert!(send("-HUP", &own) && send("-INT", &own));
    std::thread::sleep(Duration::from_millis(500));
    assert!(run.try_wait().unwrap().is_none() && send("-0", &program), "what is ignored stays so");
    assert!(send("-TERM", &own));
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(!send("-0", &program), "nothing is left running");
}

/// What is printed can be typed: with the parameters of the one study that there is, also where its directory is served; with none where there are several.
#[test]
fn the_command_that_a_server_prints_names_the_parameters_of_the_one_study() {
    let directory = tempfile::tempdir().unwrap();
    let next = || {
        let mut server = Command::new(env!("CARGO_BIN_EXE_sigmabar"))
            .args(["serve", ".", "--port", "0"])
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let next =
            BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok).find(|line| line.contains("sigmabar worker"));
        server.kill().unwrap();
        server.wait().unwrap();
        next.unwrap()
    };
    let begin = |name: &str| {
        let text = format!("budget = 4\nstrategy = \"random\"\n[parameters.{name}]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
        let spec = sigmabar_study::StudySpec::from_toml(&text, directory.path()).unwrap();
        drop(Study::create(&directory.path().join(format!("{name}.db")), name, &spec).unwrap());
    };
    begin("dose");
    let one = next();
    assert!(one.ends_with("--command 'your program {dose}'"), "{one}");
    begin("time");
    let two = next();
    assert!(two.ends_with("--command 'your program {parameter}'"), "{two}");
}
