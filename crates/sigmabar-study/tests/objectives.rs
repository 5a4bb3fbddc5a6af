//! Evaluating: commands and processes that work, fail, hang and talk nonsense.

use sigmabar_study::{Error, RunEnd, RunEvent, RunOptions, Study, StudySpec, TrialRow, TrialStatus};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A study of 12 random points of two parameters with this objective, in a fresh directory.
struct Stage {
    directory: tempfile::TempDir,
    study: Study,
}

impl Stage {
    fn new(objective: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let text = format!(
            "budget = 12\nstrategy = \"random\"\n[objective]\n{objective}\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n\
             [parameters.kind]\ntype = \"categorical\"\nchoices = [\"a b\", \"it's\"]\n"
        );
        let spec = StudySpec::from_toml(&text, directory.path()).unwrap_or_else(|error| panic!("{error}"));
        let study = Study::create(&directory.path().join("study.db"), "a", &spec).unwrap();
        Self { directory, study }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).unwrap();
    }

    fn run(&self, parallel: usize) -> (sigmabar_study::Result<RunEnd>, Vec<RunEvent>) {
        let mut events = Vec::new();
        let end = self.study.run(
            &RunOptions { parallel, ..RunOptions::default() },
            &mut |event| events.push(event),
            &sigmabar::linalg::Interrupt::default(),
        );
        (end, events)
    }

    fn rows(&self) -> Vec<TrialRow> {
        self.study.trials().unwrap()
    }
}

/// Whether the process whose number stands in the file runs; one that is dead and not yet collected does not.
fn is_running(file: &Path) -> bool {
    let number = std::fs::read_to_string(file).unwrap();
    let Ok(line) = std::fs::read_to_string(format!("/proc/{}/stat", number.trim())) else { return false };
    !line.rsplit_once(')').unwrap().1.trim_start().starts_with('Z')
}

#[test]
fn a_command_gets_its_values_by_place_and_by_environment() {
    let stage = Stage::new(
        r#"command = '''printf '%s\n' {kind} "$SIGMABAR_PARAM_kind" > out-{id}; test {x} = $SIGMABAR_PARAM_x && echo noise && echo {x}'''"#,
    );
    assert_eq!(stage.run(3).0.unwrap(), RunEnd::Finished);
    for row in stage.rows() {
        assert_eq!((row.state, row.value), (TrialStatus::Done, row.values[0].as_number()));
        let said = std::fs::read_to_string(stage.directory.path().join(format!("out-{}", row.id))).unwrap();
        let kind = row.values[1].to_string();
        assert_eq!(said.lines().collect::<Vec<_>>(), [kind.as_str(), kind.as_str()]);
    }
}

#[test]
fn failures_say_why_and_are_tried_again() {
    let stage = Stage::new(
        r#"command = '''test -e seen-{id} || {{ touch seen-{id}; echo "first time" >&2; exit 3; }}; test $(({id} % 2)) = 0 && echo 1.5 || echo "no number"'''
retries = 1"#,
    );
    let (end, events) = stage.run(4);
    assert_eq!(end.unwrap(), RunEnd::Finished);
    let retried: Vec<&String> =
        events.iter().filter_map(|event| if let RunEvent::Retried { reason, .. } = event { Some(reason) } else { None }).collect();
    assert_eq!(retried.len(), 12);
    assert!(retried.iter().all(|reason| reason.contains("exit code 3") && reason.contains("first time")), "{retried:?}");
    for row in stage.rows() {
        if row.id % 2 == 0 {
            assert_eq!(row.value, Some(1.5));
        } else {
            assert_eq!(row.state, TrialStatus::Failed);
            assert!(row.reason.unwrap().contains("\"no number\", not a number"));
        }
    }
}

/// A value too large to be squared is none: in few digits, and with what would be right.
#[test]
fn a_value_beyond_what_is_kept_says_what_is() {
    let stage = Stage::new("command = '''test $(({id} % 2)) = 0 && echo -1e200 || echo 1'''");
    stage.run(1).0.unwrap();
    let reasons: Vec<String> = stage.rows().into_iter().filter_map(|row| row.reason).collect();
    assert!(reasons.len() == 6 && reasons.iter().all(|reason| reason == "the value is -1e200: the largest are ±1e100"), "{reasons:?}");
}

/// Two names that are one variable: a command would take the value of one for the other's, unless it has places for both. What an older version began can be read, and is not run so.
#[test]
fn parameters_that_a_command_cannot_tell_apart_are_refused() {
    let one = |name: &str| format!("[parameters.\"{name}\"]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let text = |objective: &str| format!("budget = 2\nstrategy = \"random\"\n{objective}{}{}", one("pool size"), one("pool-size"));
    let directory = tempfile::tempdir().unwrap();
    let read = |objective: &str| StudySpec::from_toml(&text(objective), directory.path());
    let variables = "[objective]\ncommand = \"echo $SIGMABAR_PARAM_pool_size\"\n";
    for refused in [variables, "[objective]\ncommand = \"echo {pool size}\"\n"] {
        let said = read(refused).unwrap_err().to_string();
        assert!(said.contains("\"pool size\" and \"pool-size\" would both be $SIGMABAR_PARAM_pool_size"), "{said}");
    }
    for taken in ["", "[objective]\nprocess = [\"cat\"]\n", "[objective]\ncommand = \"echo {pool size} {pool-size}\"\n"] {
        read(taken).unwrap();
    }
    // Neither is an older study run so, nor what a worker is told on its own machine.
    let told = read("").unwrap().with_command("echo $SIGMABAR_PARAM_pool_size");
    let study = Study::create(&directory.path().join("study.db"), "a", &told).unwrap();
    let run = study.run(&RunOptions::default(), &mut |_| {}, &sigmabar::linalg::Interrupt::default());
    assert!(run.unwrap_err().to_string().contains("would both be $SIGMABAR_PARAM_pool_size"));
    assert!(Study::open(&directory.path().join("study.db"), None).unwrap().trials().unwrap().is_empty(), "it can be read");
}

#[test]
fn a_command_that_hangs_is_killed_with_everything_it_started() {
    let stage = Stage::new("command = 'sleep 60 & echo $! > pid-{id}; wait; echo 1'\ntimeout = 0.3");
    let begin = Instant::now();
    assert!(matches!(stage.run(12).0, Err(Error::NothingMeasured { failures: 12, .. })));
    assert!(begin.elapsed() < Duration::from_secs(20));
    for row in stage.rows() {
        assert!(row.reason.unwrap().contains("killed after 0.3 seconds"));
        std::thread::sleep(Duration::from_millis(10));
        assert!(!is_running(&stage.directory.path().join(format!("pid-{}", row.id))), "the child of trial {} still runs", row.id);
    }
}

#[test]
fn a_command_that_leaves_something_running_does_not_hold_the_study() {
    let stage = Stage::new("command = 'sleep 60 & echo 2'");
    let begin = Instant::now();
    assert_eq!(stage.run(12).0.unwrap(), RunEnd::Finished);
    assert!(begin.elapsed() < Duration::from_secs(20) && stage.rows().iter().all(|row| row.value == Some(2.0)));
}

#[test]
fn a_command_that_does_not_exist_uses_up_no_trial() {
    let stage = Stage::new("command = './missing.sh {x}'");
    let error = stage.run(2).0.unwrap_err();
    assert!(matches!(&error, Error::ObjectiveBroken { .. }) && error.to_string().contains("missing.sh"), "{error}");
    assert!(stage.rows().iter().all(|row| row.state == TrialStatus::Queued));
}

#[test]
fn a_stopped_run_gives_its_trials_back_and_goes_on_later() {
    let stage = Stage::new("command = 'test -e go || sleep 60; echo 1'");
    let (stop, started) = (sigmabar::linalg::Interrupt::default(), AtomicUsize::new(0));
    let begin = Instant::now();
    let mut observer = |event| {
        if matches!(event, RunEvent::Started { .. }) && started.fetch_add(1, Ordering::Relaxed) == 3 {
            stop.trigger();
        }
    };
    assert_eq!(stage.study.run(&RunOptions { parallel: 4, ..RunOptions::default() }, &mut observer, &stop).unwrap(), RunEnd::Stopped);
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(stage.rows().iter().all(|row| row.state == TrialStatus::Queued));
    stage.write("go", "");
    assert_eq!(stage.run(4).0.unwrap(), RunEnd::Finished);
}

/// Ctrl-C may reach a program before it has a group of its own, and the run a moment later: its trial has not failed. A program that ends itself so has.
#[test]
#[cfg(unix)]
fn a_program_that_the_interrupt_reached_first_has_not_failed() {
    let stage = Stage::new("command = 'kill -INT $$'");
    let stop = sigmabar::linalg::Interrupt::default();
    let mut observer = |event| {
        if matches!(event, RunEvent::Started { .. }) {
            std::thread::sleep(Duration::from_millis(200));
            stop.trigger();
        }
    };
    assert_eq!(stage.study.run(&RunOptions { parallel: 2, ..RunOptions::default() }, &mut observer, &stop).unwrap(), RunEnd::Stopped);
    assert!(stage.rows().iter().all(|row| row.state == TrialStatus::Queued), "{:?}", stage.rows());
    let alone = RunOptions { at_most: Some(1), ..RunOptions::default() };
    let _ = stage.study.run(&alone, &mut |_| {}, &sigmabar::linalg::Interrupt::default());
    assert_eq!(stage.rows().iter().filter(|row| row.state == TrialStatus::Failed).count(), 1);
}

const SERVER: &str = r#"
import json, sys
held = None
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    reply = {"id": request["id"], "value": request["params"]["x"], "std": 0.5, "note": "ignored"}
    if request["params"]["kind"] == "it's":
        reply = {"id": request["id"], "error": "bad kind"}
    # Answers in pairs, the later one first.
    if held is None and number < 10:
        held = reply
        continue
    print(json.dumps(reply), flush=True)
    if held is not None:
        print(json.dumps(held), flush=True)
        held = None
if held is not None:
    print(json.dumps(held), flush=True)
"#;

#[test]
fn a_process_answers_in_any_order() {
    let stage = Stage::new("process = ['python3', 'server.py']");
    stage.write("server.py", SERVER);
    assert_eq!(stage.run(2).0.unwrap(), RunEnd::Finished);
    for row in stage.rows() {
        if row.values[1].to_string() == "it's" {
            assert_eq!((row.state, row.reason.as_deref()), (TrialStatus::Failed, Some("bad kind")));
        } else {
            assert_eq!((row.value, row.standard_error), (row.values[0].as_number(), Some(0.5)));
        }
    }
}

#[test]
fn a_process_that_talks_nonsense_is_restarted_and_the_line_is_named() {
    let stage = Stage::new("process = 'python3 server.py'\nretries = 3");
    // Good for two answers, then a line that is none; the next process does the same.
    stage.write(
        "server.py",
        "import json, sys\nfor number, line in enumerate(sys.stdin):\n    request = json.loads(line)\n    \
         print('{\"id\": %d, \"value\": 2.0}' % request['id'] if number < 2 else 'Segmentation fault?', flush=True)\n",
    );
    let (end, events) = stage.run(1);
    assert_eq!(end.unwrap(), RunEnd::Finished);
    assert!(stage.rows().iter().all(|row| row.value == Some(2.0)));
    let reasons: Vec<String> =
        events.iter().filter_map(|event| if let RunEvent::Retried { reason, .. } = event { Some(reason.clone()) } else { None }).collect();
    assert!(
        !reasons.is_empty() && reasons.iter().all(|reason| reason.contains("line 3") && reason.contains("Segmentation fault?")),
        "{reasons:?}"
    );
}

#[test]
fn a_process_that_never_works_uses_up_no_trial() {
    for (server, words) in [
        ("print('Welcome!', flush=True)\nimport time; time.sleep(60)", "line 1 of its output (\"Welcome!\")"),
        ("import sys; sys.exit('no licence')", "no licence"),
        ("print('{\"id\": 99, \"value\": 1}', flush=True)\nimport time; time.sleep(60)", "which it was not asked for"),
        ("print('{\"id\": 0}', flush=True)\nimport time; time.sleep(60)", "exactly one of \"value\" and \"error\""),
    ] {
        let stage = Stage::new("process = ['python3', 'server.py']");
        stage.write("server.py", server);
        let error = stage.run(2).0.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(stage.rows().iter().all(|row| row.state == TrialStatus::Queued));
    }
}

#[test]
fn a_process_that_hangs_on_one_trial_is_killed_and_the_others_are_asked_again() {
    let stage = Stage::new("process = ['python3', 'server.py']\ntimeout = 3.0");
    stage.write(
        "server.py",
        "import json, sys, time\nfor line in sys.stdin:\n    request = json.loads(line)\n    \
         time.sleep(60 if request['id'] == 4 else 0)\n    print(json.dumps({'id': request['id'], 'value': 3.0}), flush=True)\n",
    );
    assert_eq!(stage.run(3).0.unwrap(), RunEnd::Finished);
    for row in stage.rows() {
        if row.id == 4 {
            assert!(row.reason.unwrap().contains("no answer within 3 seconds"));
        } else {
            assert_eq!((row.id, row.value), (row.id, Some(3.0)));
        }
    }
}

#[test]
fn a_spoilt_line_fails_its_own_trial_and_no_other() {
    let stage = Stage::new("process = ['python3', 'server.py']");
    // Four requests are in flight; NaN for trial 5, a cut line for 6, and for 9 a line that names nobody.
    stage.write(
        "server.py",
        "import json, os, sys\nheld, second = [], os.path.exists('seen')\nopen('seen', 'w').close()\nfor line in sys.stdin:\n    \
         held.append(json.loads(line)['id'])\n    if len(held) < 4 and not second: continue\n    \
         for id in sorted(held):\n        spoilt = {5: '{\"id\": 5, \"value\": NaN}', 6: '{\"id\": 6, \"value\": 1.', 9: 'Traceback'} if not second else {}\n        \
         print(spoilt.get(id, json.dumps({'id': id, 'value': 2.0})), flush=True)\n    held = []\n",
    );
    let begin = Instant::now();
    let (end, _) = stage.run(4);
    assert_eq!(end.unwrap(), RunEnd::Finished);
    assert!(begin.elapsed() < Duration::from_secs(30));
    let failed: Vec<(u64, String)> = stage.rows().into_iter().filter_map(|row| Some((row.id, row.reason?))).collect();
    let ids: Vec<u64> = failed.iter().map(|(id, _)| *id).collect();
    assert!(ids[..2] == [5, 6] && ids.len() == 3 && ids[2] >= 9, "{failed:?}");
    assert!(failed[0].1.contains("not a finite number") && failed[1].1.contains("it is not a reply"), "{failed:?}");
}

#[test]
#[cfg(unix)]
fn what_left_the_group_does_not_hold_the_study() {
    let stage = Stage::new("command = 'setsid sleep 40 & echo 2'");
    let begin = Instant::now();
    assert_eq!(stage.run(12).0.unwrap(), RunEnd::Finished);
    assert!(begin.elapsed() < Duration::from_secs(20) && stage.rows().iter().all(|row| row.value == Some(2.0)));
}

#[test]
fn a_run_makes_no_more_evaluations_than_it_may_and_gives_up_where_nothing_works() {
    let stage = Stage::new("command = 'echo 1'");
    let options = RunOptions { parallel: 8, at_most: Some(3), ..RunOptions::default() };
    assert_eq!(stage.study.run(&options, &mut |_| {}, &sigmabar::linalg::Interrupt::default()).unwrap(), RunEnd::Stopped);
    assert_eq!(stage.rows().iter().filter(|row| row.value.is_some()).count(), 3);
    let broken = Stage::new("command = 'exit 2'");
    let error = broken.run(1).0.unwrap_err();
    assert!(matches!(&error, Error::NothingMeasured { failures: 5, .. }) && error.to_string().contains("exit code 2"), "{error}");
    assert_eq!(broken.rows().iter().filter(|row| row.state == TrialStatus::Failed).count(), 5);
}
