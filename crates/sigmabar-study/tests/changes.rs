//! Changing one's mind: failures tried again, results corrected, study files amended, settings that can be made.

use crate::support;

use sigmabar::{Origin, Strategy};
use sigmabar_study::{
    AskRequest, Asked, AskedTrial, Corrected, Error, EventKind, FilledSheet, RunOptions, Study, StudySpec, TrialResult, TrialStatus, Value,
};
use std::path::Path;
use support::{ask, certified, plain, spec, truth};

pub fn begun(spec: &StudySpec) -> (tempfile::TempDir, Study) {
    let directory = tempfile::tempdir().unwrap();
    let study = Study::create(&directory.path().join("study.db"), "study", spec).unwrap();
    (directory, study)
}

fn value(value: f64) -> TrialResult {
    TrialResult::Value { value, standard_error: None, replicates: None }
}

fn sheet(results: &[(u64, TrialResult)], used: &[(u64, Vec<Value>)]) -> FilledSheet {
    FilledSheet { results: results.to_vec(), used: used.to_vec(), ..FilledSheet::default() }
}

pub fn tell(study: &Study, trials: &[AskedTrial]) {
    for trial in trials {
        study.tell(trial.id, truth(trial)).unwrap();
    }
}

/// Tells a whole batch.
pub fn batch(study: &Study) {
    tell(study, &ask(study, "worker", usize::MAX));
}

/// What a study says that was made from its rows alone.
pub fn from_rows(study: &Study) -> sigmabar_study::Advice {
    Study::open(study.file(), None).unwrap().recommend().unwrap().unwrap()
}

#[test]
fn of_many_who_begin_a_study_at_once_one_creates_it_and_all_have_it() {
    let directory = tempfile::tempdir().unwrap();
    let (file, spec) = (directory.path().join("study.db"), plain(8));
    let created: Vec<bool> = std::thread::scope(|scope| {
        let begin = || scope.spawn(|| Study::create_or_open(&file, "study", &spec).unwrap().1);
        let threads: Vec<_> = (0..8).map(|_| begin()).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(created.iter().filter(|created| **created).count(), 1);
}

#[test]
fn an_objective_that_only_fails_is_an_error_each_time_and_its_trials_can_be_tried_again() {
    let file = "budget = 6\nbatches = 3\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"sh value.sh {x}\"\n";
    let (directory, study) = begun(&spec(file));
    let script = directory.path().join("value.sh");
    std::fs::write(&script, "exit 3\n").unwrap();
    let run = || study.run(&RunOptions::default(), &mut |_| {}, &sigmabar::linalg::Interrupt::default());
    let refused = || match run() {
        Err(Error::NothingMeasured { failures, .. }) => failures,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(), 5);
    assert_eq!(refused(), 6, "the budget is spent");
    assert_eq!(refused(), 6, "and stays so: there is nothing to evaluate, and nothing was measured");
    std::fs::write(&script, "echo $1\n").unwrap();
    assert_eq!(study.retry_failed().unwrap(), [0, 1], "later batches were planned from nothing, and are planned again");
    run().unwrap();
    assert_eq!((study.status().unwrap().count(TrialStatus::Done), study.retry_failed().unwrap()), (6, vec![]));
    assert!(study.events_after(0).unwrap().iter().any(|event| event.kind == EventKind::Retried));
}

/// A host that is down does not burn the budget: the run ends with the batch that failed, and what was lost in it is evaluated again.
#[test]
fn an_outage_ends_the_run_and_its_batches_are_tried_again() {
    let file = "budget = 24\nbatches = 4\nstrategy = \"auto\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"sh value.sh {x}\"\n";
    let (directory, study) = begun(&spec(file));
    let (script, down) = (directory.path().join("value.sh"), directory.path().join("down"));
    std::fs::write(&script, "[ -e down ] && exit 9\necho $1\n").unwrap();
    let run = |at_most: Option<usize>| {
        study.run(&RunOptions { at_most, ..RunOptions::default() }, &mut |_| {}, &sigmabar::linalg::Interrupt::default())
    };
    run(Some(6)).unwrap();
    std::fs::write(&down, "").unwrap();
    let error = run(None).unwrap_err();
    assert!(matches!(error, Error::BatchFailed { batch: 2, .. }) && error.to_string().contains("run --retry-failed"), "{error}");
    assert_eq!(study.status().unwrap().planned, 12);
    // Whoever goes on all the same gets the next one.
    assert!(matches!(run(None).unwrap_err(), Error::BatchFailed { batch: 3, .. }));
    std::fs::remove_file(&down).unwrap();
    // A run that ends with a batch may have begun the next, and given it back.
    study.release(ask(&study, "late", 1)[0].id, "late").unwrap();
    assert_eq!(
        study.retry_failed().unwrap(),
        (6..12).collect::<Vec<u64>>(),
        "the third was planned from nothing new, and is planned again"
    );
    let events = study.events_after(0).unwrap();
    let details = events.iter().filter(|event| event.kind == EventKind::Retried).filter_map(|event| event.detail.as_deref());
    assert_eq!(details.filter(|detail| detail.contains("reason")).count(), 6, "why the third failed stays in the book");
    run(None).unwrap();
    let status = study.status().unwrap();
    assert_eq!((status.count(TrialStatus::Done), status.count(TrialStatus::Failed)), (24, 0));
}

/// Where settings are chosen one by one, a failure is a hidden constraint as often as an outage: the run goes on.
#[test]
fn failures_one_by_one_are_no_outage() {
    let file =
        "budget = 20\nstrategy = \"ei\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"sh value.sh {x}\"\n";
    let (directory, study) = begun(&spec(file));
    std::fs::write(directory.path().join("value.sh"), "[ -e once ] && exit 9\ntouch once\necho $1\n").unwrap();
    study.run(&RunOptions::default(), &mut |_| {}, &sigmabar::linalg::Interrupt::default()).unwrap();
    assert_eq!(study.status().unwrap().count(TrialStatus::Failed), 19);
}

/// A batch that was planned from nothing and waits is not a beginning: the one before it is tried again.
#[test]
fn a_first_batch_that_failed_is_tried_again_although_the_next_is_planned() {
    let (_directory, study) = begun(&spec("budget = 6\nbatches = 2\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"));
    let first = ask(&study, "worker", 3);
    for trial in &first {
        study.tell(trial.id, TrialResult::Failed { reason: "broken".to_owned() }).unwrap();
    }
    let next = ask(&study, "worker", 1);
    study.tell(next[0].id, TrialResult::Failed { reason: "broken".to_owned() }).unwrap();
    assert!(study.status().unwrap().count(TrialStatus::Queued) > 0);
    let failed: Vec<u64> = first.iter().map(|t| t.id).collect();
    assert_eq!(study.retry_failed().unwrap(), failed);
}

/// Numbers of trials that are given anew would put what somebody still measures at another setting.
#[test]
fn what_was_handed_out_of_a_later_batch_is_not_planned_anew() {
    let (_directory, study) = begun(&spec("budget = 6\nbatches = 2\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"));
    for trial in &ask(&study, "worker", 3) {
        study.tell(trial.id, TrialResult::Failed { reason: "broken".to_owned() }).unwrap();
    }
    let measured = ask(&study, "slow", 1).remove(0);
    study.close_batch().unwrap();
    assert_eq!(study.retry_failed().unwrap(), Vec::<u64>::new());
    let kept = study.trials().unwrap().into_iter().find(|trial| trial.id == measured.id).unwrap();
    assert!(kept.values.iter().eq(measured.values.iter().map(|(_, value)| value)));
}

/// A double of a telling that comes late, after its failure was put back, does not spoil what is measured again.
#[test]
fn a_failure_told_twice_is_one_failure() {
    let (_directory, study) = begun(&spec("budget = 6\nbatches = 2\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"));
    let id = ask(&study, "worker", 1)[0].id;
    let told = |result: TrialResult, key: &str| {
        study.tell_each(&[sigmabar_study::KeyedResult { id, result, key: Some(key.to_owned()) }]).unwrap().remove(0).unwrap()
    };
    let failed = || TrialResult::Failed { reason: "gpu gone".to_owned() };
    assert!(!told(failed(), "k1").is_again());
    assert_eq!(study.retry_failed().unwrap(), [id]);
    ask(&study, "another", 1);
    assert!(told(failed(), "k1").is_again());
    assert!(!told(value(0.31), "k2").is_again());
}

#[test]
fn a_correction_in_time_is_a_premise_on_the_word_of_whoever_made_it() {
    let (_directory, study) = begun(&certified());
    let trials = ask(&study, "worker", usize::MAX);
    study.tell(0, value(40.0)).unwrap();
    let note = "a decimal point was missing";
    assert_eq!(study.replace(0, &truth(&trials[0]), note).unwrap(), Corrected::InTime);
    tell(&study, &trials[1..]);
    let (_other, straight) = begun(&certified());
    batch(&straight);
    let mut corrected = study.recommend().unwrap().unwrap();
    let said = corrected.certificate.premises.corrected_in_time.take().unwrap();
    assert_eq!((said.value, said.origin), (1, Origin::Declared));
    assert_eq!(corrected, straight.recommend().unwrap().unwrap());
    assert_eq!(from_rows(&study).label().to_string(), "certified");
    let event = study.events_after(0).unwrap().into_iter().find(|event| event.kind == EventKind::Replaced).unwrap();
    let detail: serde_json::Value = serde_json::from_str(&event.detail.unwrap()).unwrap();
    assert_eq!((event.trial, &detail["value"], &detail["why"]), (Some(0), &serde_json::json!(40.0), &serde_json::json!(note)));
    assert_eq!(study.trials().unwrap()[0].note.as_deref(), Some(note));
}

/// Whoever tells unwelcome values as failures and gives them others afterwards has chosen among draws.
#[test]
fn a_failure_that_gets_a_value_was_measured_again() {
    for (failures, label) in [("", "estimated"), ("failures = \"unrelated\"\n", "certified")] {
        let (_directory, study) = begun(&spec(&format!("{failures}{}", certified().to_toml())));
        let trials = ask(&study, "worker", usize::MAX);
        study.tell(0, TrialResult::Failed { reason: "too low".to_owned() }).unwrap();
        assert_eq!(study.replace(0, &truth(&trials[0]), "second attempt").unwrap(), Corrected::InTime);
        tell(&study, &trials[1..]);
        let advice = study.recommend().unwrap().unwrap();
        assert_eq!((advice.label().to_string().as_str(), advice.certificate.premises.losses.value), (label, 1));
        // The strategy that is handed out, its copy and its claims say so too.
        let strategy = Strategy::from_bytes(&study.strategy().unwrap().to_bytes()).unwrap();
        assert_eq!(strategy.recommend_with_range().unwrap().unwrap().certificate, advice.certificate);
        assert_eq!(strategy.standing().unwrap().is_some(), label == "certified", "there is nothing to judge about an estimate");
        assert!(strategy.batches().unwrap().iter().all(|b| b.certificate.as_ref().is_some_and(|c| c.label().to_string() == label)));
        assert_eq!(advice.certificate.range.is_some(), label == "certified", "an estimate stands for no range");
    }
}

/// What took long is found out once: the next process reads it, and whoever deletes it changes nothing.
#[test]
fn an_analysis_is_kept_for_the_next_process_and_may_be_deleted() {
    let (_directory, study) = begun(&certified());
    batch(&study);
    let first = study.recommend().unwrap();
    study.remember();
    let bytes = || Study::open(study.file(), None).unwrap().strategy().unwrap().found_out();
    assert_eq!(bytes(), Some((1, true)));
    rusqlite::Connection::open(study.file()).unwrap().execute("DELETE FROM sb_strategies", []).unwrap();
    let again = Study::open(study.file(), None).unwrap();
    assert_eq!(again.strategy().unwrap().found_out(), Some((1, false)));
    assert_eq!(again.recommend().unwrap(), first);
    // What was corrected is found out anew.
    study.replace(0, &value(0.25), "misread").unwrap();
    assert_eq!(bytes(), Some((1, false)));
}

/// With noise near 0 the ridge follows from the budget: a budget chosen after looking must not choose the ridge of what was looked at.
#[test]
fn a_larger_budget_leaves_the_ridge_as_it_was() {
    let text = certified().to_toml().replace("gaussian = 0.1", "gaussian = 1e-9");
    let (_directory, mut study) = begun(&spec(&text));
    let ridge = study.spec().problem().ridge().unwrap();
    assert!(ridge > 1e-7, "rounding has the last word, not the noise: {ridge}");
    for trial in ask(&study, "worker", usize::MAX) {
        let x: f64 = trial.values.iter().filter_map(|(_, value)| value.as_number()).sum();
        study.tell(trial.id, value((x / 10.0).sin())).unwrap();
    }
    let before = study.recommend().unwrap();
    study.amend(&spec(&text.replace("budget = 48", "budget = 480"))).unwrap();
    assert_eq!((study.spec().problem().budget(), study.spec().problem().ridge()), (480, Some(ridge)));
    assert_eq!(study.recommend().unwrap(), before);
}

#[test]
fn a_correction_after_the_analysis_is_computed_anew_and_the_certificate_says_so() {
    for (failures, label) in [("", "estimated"), ("failures = \"unrelated\"\n", "certified")] {
        let declared = spec(&format!("{failures}{}", certified().to_toml()));
        let (_directory, study) = begun(&declared);
        batch(&study);
        let second = ask(&study, "worker", usize::MAX);
        let before = study.recommend().unwrap().unwrap();
        assert_eq!(before.label().to_string(), "certified");
        // The best place seen so far was a slip of the pen.
        let best = before.best_observed.clone().unwrap();
        assert_eq!(study.replace(best.id, &value(best.value - 0.9), "misread").unwrap(), Corrected::AfterAnalysis);
        let after = study.recommend().unwrap().unwrap();
        assert!(after.upper < before.upper || after.values != before.values, "the corrected value is the one that counts");
        assert_eq!((after.label().to_string().as_str(), after.certificate.premises.corrections.value), (label, 1));
        assert!(after.certificate.to_string().contains("1 results were corrected after their batch was analysed") || label == "certified");
        assert_eq!(from_rows(&study), after, "whoever has it at hand, and whoever makes it again");
        assert_eq!(study.trials().unwrap()[second[0].id as usize].state, TrialStatus::Leased, "what was planned stays planned");
        tell(&study, &second);
        batch(&study);
        let end = study.recommend().unwrap().unwrap();
        assert_eq!((end.label().to_string().as_str(), end.certificate.premises.corrections.value), (label, 1));
        let batches = study.batches().unwrap();
        assert!(batches.iter().all(|row| row.report.certificate.as_ref().is_some_and(|c| c.premises.corrections.value == 1)));
    }
}

#[test]
fn a_withdrawn_result_is_a_loss() {
    let (_directory, study) = begun(&certified());
    batch(&study);
    assert!(matches!(study.withdraw(99, "?"), Err(Error::UnknownTrial { .. })));
    assert_eq!(study.withdraw(3, "the wrong vial").unwrap(), Corrected::AfterAnalysis, "whoever looks has it analysed");
    let row = &study.trials().unwrap()[3];
    assert_eq!((row.state, row.value, row.reason.as_deref()), (TrialStatus::Failed, None, Some("withdrawn: the wrong vial")));
    assert_eq!(study.recommend().unwrap().unwrap().label().to_string(), "estimated", "a loss of which nobody said that it is unrelated");
    let next = ask(&study, "worker", 1);
    assert!(matches!(study.replace(next[0].id, &value(1.0), "?"), Err(Error::NotTold { .. })));
    assert_eq!(study.withdraw(4, "that one too").unwrap(), Corrected::AfterAnalysis);
}

const PREMISES: &str = "norm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = \"matern\", lengthscale = 0.3 }\n";
const LINE: &str = "norm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = \"matern\", lengthscale = 0.3 }\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";

#[test]
fn what_touches_no_claim_may_be_amended_and_the_rest_is_refused_by_its_key() {
    let file = |top: &str, end: &str| spec(&format!("{top}\n{LINE}{end}"));
    let (_directory, mut study) = begun(&file("budget = 30\nbatches = 3", "[objective]\ncommand = \"false\"\n"));
    batch(&study);
    let before = study.recommend().unwrap();
    let refused = |study: &mut Study, edited: StudySpec| match study.amend(&edited) {
        Err(Error::Unamendable { key, .. }) => key,
        other => panic!("{other:?}"),
    };
    for (key, text) in [("delta", "delta = 0.1"), ("seed", ""), ("direction", "direction = \"minimize\""), ("unit", "unit = 2")] {
        let edited = file(&format!("budget = 30\nbatches = 3\n{text}"), "[objective]\ncommand = \"false\"\n");
        if key == "seed" {
            assert_eq!(study.amend(&edited.with_seed(9)).unwrap(), Vec::<String>::new(), "the seed of a begun study is its own");
        } else {
            assert_eq!(refused(&mut study, edited), key);
        }
    }
    let wider = spec(&format!("budget = 30\nbatches = 3\n{}[objective]\ncommand = \"false\"\n", LINE.replace("high = 1", "high = 2")));
    assert_eq!(refused(&mut study, wider), "parameters");
    for (key, text) in [("kernel", ("0.3", "0.4")), ("noise", ("0.1", "0.2")), ("norm_bound", ("norm_bound = 2", "norm_bound = 3"))] {
        let line = LINE.replace(text.0, text.1);
        assert_eq!(refused(&mut study, spec(&format!("budget = 30\nbatches = 3\n{line}[objective]\ncommand = \"false\"\n"))), key);
    }
    assert_eq!(refused(&mut study, file("budget = 20\nbatches = 3", "[objective]\ncommand = \"false\"\n")), "budget");
    let in_grams =
        format!("budget = 30\nbatches = 3\n{}[objective]\ncommand = \"false\"\n", LINE.replace("high = 1", "high = 1\nunit = \"g\""));
    assert_eq!(study.amend(&spec(&in_grams)).unwrap(), ["units"], "a unit is a word about the space");
    assert_eq!(study.recommend().unwrap(), before);
    assert_eq!(study.amend(&file("budget = 30\nbatches = 3", "[objective]\ncommand = \"false\"\n")).unwrap(), ["units"]);
    let other = Study::open(study.file(), None).unwrap();
    let better = file("budget = 50\nbatches = 3\ndescription = \"better\"", "[objective]\ncommand = \"true\"\ntimeout = 9\n");
    let changed = study.amend(&better).unwrap();
    assert_eq!(changed, ["budget", "description", "objective.command", "objective.timeout"]);
    let (before, mut after) = (before.unwrap(), study.recommend().unwrap().unwrap());
    assert!(after.certificate.premises.objective.take().is_some(), "another program may measure another function");
    assert_eq!(after, before, "no claim is lost, and none changes");
    assert!(matches!(other.ask(&AskRequest::new("other", 1)), Err(Error::Amended { .. })), "a process that has the old file plans nothing");
    let study = Study::open(study.file(), None).unwrap();
    assert!(study.spec().declares_the_same(&better) && study.spec().problem().budget() == 50);
    while let Asked::Trials(trials) = study.ask(&AskRequest::new("w", usize::MAX)).unwrap() {
        tell(&study, &trials);
    }
    let status = study.status().unwrap();
    assert_eq!((status.planned, status.batches), (50, 3), "longer batches, not more of them: their number enters every claim");
    assert_eq!(study.recommend().unwrap().unwrap().label().to_string(), "certified");
    let mut study = study;
    let more = file("budget = 60\nbatches = 3\ndescription = \"better\"", "[objective]\ncommand = \"true\"\ntimeout = 9\n");
    assert_eq!(refused(&mut study, more), "budget", "no batch is left");
}

#[test]
fn a_study_that_promises_nothing_goes_on_for_as_long_as_one_likes() {
    let file = |budget: usize| spec(&format!("budget = {budget}\nbatches = 2\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"));
    let (_directory, mut study) = begun(&file(8));
    batch(&study);
    batch(&study);
    assert_eq!(study.ask(&AskRequest::new("w", 1)).unwrap(), Asked::Finished);
    study.amend(&file(14)).unwrap();
    batch(&study);
    batch(&study);
    assert_eq!(study.ask(&AskRequest::new("w", 1)).unwrap(), Asked::Finished);
    let lengths: Vec<usize> = study.batches().unwrap().iter().map(|row| row.report.planned).collect();
    assert_eq!((lengths.iter().sum::<usize>(), lengths.len(), &lengths[..2]), (14, 4, &[4, 4][..]));
}

/// Without premises too, what is said of a setting is said of it as it can be made: a whole degree on a function of a few degrees' width.
#[test]
fn an_estimate_allows_for_the_digits_that_are_cut() {
    let mut cut = 0;
    for seed in 0..6 {
        let line = "[parameters.t]\ntype = \"float\"\nlow = 0\nhigh = 10\ndigits = 0\n";
        let (_directory, study) = begun(&spec(&format!("direction = \"maximize\"\nbudget = 40\nbatches = 3\nseed = {seed}\n{line}")));
        while let Asked::Trials(trials) = study.ask(&AskRequest::new("w", usize::MAX)).unwrap() {
            for trial in trials {
                let (t, noise) = (trial.values[0].1.as_number().unwrap(), trial.seed as f64 / f64::from(u32::MAX) - 0.5);
                study.tell(trial.id, value((-(t - 4.5_f64).powi(2) / 9.0).exp() + 0.3 * noise)).unwrap();
            }
        }
        let (best, advice) = (study.strategy().unwrap().recommend().unwrap().unwrap(), study.recommend().unwrap().unwrap());
        if best.point != study.spec().space().point(&[advice.values[0].1.clone()]).unwrap() {
            cut += 1;
            let more = advice.gap - best.gap;
            assert!(more > 0.005 && more < 0.2 && advice.lower < best.lower && advice.upper > best.upper, "{more}");
            assert!((advice.lower..=advice.upper).contains(&(-0.25_f64 / 9.0).exp()));
        }
    }
    assert!(cut > 0, "no setting lost a digit");
}

/// Beside constraints and ends a setting goes to the nearest rounded one that is allowed; where none is near it keeps its digits. The model has what was measured.
#[test]
fn digits_are_kept_beside_constraints() {
    let line = |name: &str, low: f64| format!("[parameters.{name}]\ntype = \"float\"\nlow = {low}\nhigh = 1\ndigits = 1\n");
    let file =
        |constraints: &str, low: f64| format!("budget = 60\nbatches = 2\n{constraints}\n{PREMISES}{}{}", line("a", low), line("b", 0.0));
    let lengths = |text: &str| {
        let (_directory, study) = begun(&spec(text));
        let mut shown = Vec::new();
        while let Asked::Trials(trials) = study.ask(&AskRequest::new("w", usize::MAX)).unwrap() {
            for trial in trials {
                shown.extend(trial.values.iter().map(|(_, value)| value.to_string().len()));
                study.tell(trial.id, truth(&trial)).unwrap();
            }
        }
        let strategy = study.strategy().unwrap();
        for (trial, row) in strategy.ledger().trials().iter().zip(study.trials().unwrap()) {
            assert_eq!(trial.point, study.spec().space().point(&row.values).unwrap(), "the model has the point that was measured");
        }
        let advice = study.recommend().unwrap().unwrap();
        assert_eq!(from_rows(&study), advice);
        shown.extend(advice.values.iter().map(|(_, value)| value.to_string().len()));
        shown
    };
    let both = lengths(&file("constraints = [\"a >= 0.13\", \"a + b <= 0.75\"]", 0.0));
    assert!(both.len() == 122 && both.iter().all(|length| *length <= 3), "{both:?}");
    let end = lengths(&file("", 0.13));
    assert!(end.iter().all(|length| *length <= 3), "{end:?}");
    // Between 0.11 and 0.13 there is no tenth.
    let narrow = lengths(&file("constraints = [\"a >= 0.11\", \"a <= 0.13\"]", 0.0));
    assert!(narrow.iter().step_by(2).all(|length| *length > 3), "{narrow:?}");
}

#[test]
fn settings_have_the_digits_that_can_be_set_and_are_measured_there() {
    let file = format!(
        "budget = 30\nbatches = 3\n{LINE}digits = 2\n[parameters.dose]\ntype = \"float\"\nlow = 0.001\nhigh = 10\nlog = true\ndigits = 2\n"
    );
    let (_directory, study) = begun(&spec(&file));
    while let Asked::Trials(trials) = study.ask(&AskRequest::new("w", usize::MAX)).unwrap() {
        for trial in trials {
            let shown: Vec<String> = trial.values.iter().map(|(_, value)| value.to_string()).collect();
            assert!(shown[0].len() <= 4, "{shown:?}");
            assert!(shown[1].trim_start_matches(['0', '.']).replace('.', "").len() <= 2, "{shown:?}");
            study.tell(trial.id, truth(&trial)).unwrap();
        }
    }
    let strategy = study.strategy().unwrap();
    for (trial, row) in strategy.ledger().trials().iter().zip(study.trials().unwrap()) {
        assert_eq!(trial.point, study.spec().space().point(&row.values).unwrap(), "the model has the point that was measured");
    }
    let advice = study.recommend().unwrap().unwrap();
    assert!(advice.values[0].1.to_string().len() <= 4 && advice.label().to_string() == "certified");
    assert_eq!(from_rows(&study), advice);
    // The claim is about the setting as it can be made: moving there costs at most C·d_k.
    let best = strategy.recommend().unwrap().unwrap();
    assert!(advice.gap >= best.gap && advice.lower <= best.lower && advice.gap - best.gap < 0.2);
    // So are its range, the curve and the map: under a larger norm moving costs more.
    let (range, standing, bare) =
        (advice.certificate.range.unwrap(), study.standing().unwrap().unwrap(), strategy.standing().unwrap().unwrap());
    let gap = if range.among_candidates { advice.candidate_gap.unwrap() } else { advice.gap };
    assert!(range == standing.range && (range.claimed.unwrap() - gap).abs() <= 1e-12 * gap, "{range:?} {gap}");
    let (map, bare_map) = (study.premise_map(&[0.5]).unwrap(), strategy.premise_map(&[0.5]).unwrap());
    let slack = (advice.gap - best.gap) / bare.norm_bound;
    let rows = [(&standing.curve, &bare.curve), (&map[0].curve, &bare_map[0].curve)];
    for (moved, plain) in rows.into_iter().flat_map(|(moved, plain)| moved.iter().zip(plain)) {
        let by = moved.gap.unwrap_or(0.0) - plain.gap.unwrap_or(0.0);
        assert!(plain.gap.is_none() || by >= plain.norm_bound * slack - 1e-9, "at {}: {by}", plain.norm_bound);
    }
    let refused =
        |text: &str| StudySpec::from_toml(&format!("budget = 9\n[parameters.x]\n{text}\n"), Path::new(".")).unwrap_err().to_string();
    assert!(refused("type = \"int\"\nlow = 1\nhigh = 5\ndigits = 1").contains("a float parameter"));
    assert!(refused("type = \"float\"\nlow = 1\nhigh = 5\nstep = 1\ndigits = 1").contains("either digits or step"));
    assert!(refused("type = \"float\"\nlow = 0\nhigh = 0.5\ndigits = 0").contains("tell low from high"));
}

#[test]
fn values_that_were_used_enter_as_the_point_measured_where_that_is_declared() {
    let file = |top: &str| spec(&format!("{top}budget = 20\nbatches = 2\n{LINE}"));
    let used = |study: &Study| {
        let trials = ask(study, "w", usize::MAX);
        let x = trials[0].values[0].1.as_number().unwrap();
        let moved = if x < 0.5 { x + 0.03 } else { x - 0.03 };
        (trials, vec![(0, vec![Value::Float(moved)])])
    };
    let (_directory, study) = begun(&file(""));
    let (trials, moved) = used(&study);
    assert!(matches!(study.tell_sheet(&sheet(&[(0, truth(&trials[0]))], &moved)), Err(Error::UsedOtherwise { .. })));
    let (_directory, study) = begun(&file("used_values = true\n"));
    let (trials, moved) = used(&study);
    assert!(matches!(study.tell_sheet(&sheet(&[], &[(0, vec![Value::Float(1.5)])])), Err(Error::Setting { .. })));
    let _ = study.strategy().unwrap();
    study.tell_sheet(&sheet(&[(0, value(0.3))], &moved)).unwrap();
    tell(&study, &trials[1..]);
    let strategy = study.strategy().unwrap();
    assert_eq!(strategy.ledger().trials()[0].point, study.spec().space().point(&moved[0].1).unwrap());
    let again = Study::open(study.file(), None).unwrap();
    assert_eq!(again.strategy().unwrap(), strategy);
    let advice = again.recommend().unwrap().unwrap();
    let said = advice.certificate.premises.used_otherwise.unwrap();
    assert_eq!((advice.label().to_string().as_str(), said.value, said.origin), ("certified", 1, Origin::Declared));
    assert!(
        matches!(study.tell_sheet(&sheet(&[], &[(0, vec![Value::Float(0.9)])])), Err(Error::UsedOtherwise { .. })),
        "it has a result already"
    );
}

/// Another program may measure another function: that it does not is whose word it is, in every certificate from then on, whoever opens the file.
#[test]
fn a_program_that_is_exchanged_after_results_is_a_premise_from_then_on() {
    let file = |objective: &str| spec(&format!("budget = 30\nbatches = 3\n{LINE}[objective]\n{objective}\n"));
    let (_directory, mut study) = begun(&file("command = \"echo {x}\""));
    study.amend(&file("command = \"echo 2*{x}\"")).unwrap();
    batch(&study);
    assert_eq!(from_rows(&study).certificate.premises.objective, None, "there was no result before it");
    study.amend(&file("command = \"echo 2*{x}\"\ntimeout = 5\nlease = 60")).unwrap();
    assert_eq!(from_rows(&study).certificate.premises.objective, None, "how long one waits is not what is measured");
    let told = study.status().unwrap().count(TrialStatus::Done);
    study.amend(&file("builtin = \"levy\"")).unwrap();
    batch(&study);
    // What is kept to be quick does not matter: another process that made everything from the rows says the same.
    for study in [&study, &Study::open(study.file(), None).unwrap()] {
        let advice = study.recommend().unwrap().unwrap();
        let said = advice.certificate.premises.objective.clone().unwrap();
        assert_eq!((said.value.results, said.origin, advice.label().to_string().as_str()), (told, Origin::Declared, "certified"));
        assert_eq!(said.value.keys, ["objective.builtin", "objective.command"]);
        let sentence =
            format!("objective.builtin and objective.command amended after {told} results, declared to measure the same function");
        assert!(advice.certificate.label_in_words().contains(&sentence), "{}", advice.certificate.label_in_words());
        let certificates = study.batches().unwrap().into_iter().filter_map(|row| row.report.certificate);
        let standing = study.standing().unwrap().unwrap().certificate;
        for certificate in certificates.chain([standing]) {
            assert_eq!(certificate.premises.objective, Some(said.clone()));
        }
    }
}

/// Everything about how settings are evaluated may be changed, and the next run goes by it.
#[test]
fn every_key_of_the_objective_may_be_amended() {
    let file =
        |objective: &str| spec(&format!("budget = 4\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\n{objective}\n"));
    let (directory, mut study) = begun(&file("command = \"exit 3\""));
    let run = |study: &Study| study.run(&RunOptions::default(), &mut |_| {}, &sigmabar::linalg::Interrupt::default());
    assert!(run(&study).is_err());
    let elsewhere = directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("once.sh"), "test -e tried && echo $1 && exit 0; touch tried; exit 1\n").unwrap();
    let mended = "command = \"sh once.sh {x}\"\ntimeout = 20\nretries = 2\ndirectory = \"elsewhere\"";
    let changed = study.amend(&file(mended)).unwrap();
    assert_eq!(changed, ["objective.command", "objective.directory", "objective.retries", "objective.timeout"]);
    study.retry_failed().unwrap();
    run(&study).unwrap();
    assert_eq!(
        study.status().unwrap().count(TrialStatus::Done),
        4,
        "the script lies in the directory, and succeeds when it is tried again"
    );
}

/// What each replicate well came to stands in a note: a correction of the mean must not wipe it out.
#[test]
fn a_correction_keeps_what_was_remarked_before() {
    let (_directory, study) = begun(&spec(&format!("budget = 30\nbatches = 3\n{LINE}")));
    let Asked::Trials(trials) = study.ask(&AskRequest::new("w", 1)).unwrap() else { panic!() };
    let (id, note) = (trials[0].id, "bubbles; replicates A1 1, A2 3".to_owned());
    let mean = TrialResult::Value { value: 2.0, standard_error: Some(1.0), replicates: Some(2) };
    study.tell_sheet(&FilledSheet { notes: vec![(id, note.clone())], ..sheet(&[(id, mean)], &[]) }).unwrap();
    let noted = || study.trials().unwrap()[0].note.clone().unwrap();
    study.replace(id, &value(2.5), "a slip").unwrap();
    assert_eq!(noted(), format!("a slip; before: {note}"));
    study.withdraw(id, "the wrong vial").unwrap();
    assert_eq!(noted(), format!("the wrong vial; before: a slip; before: {note}"));
    let events = study.events_after(0).unwrap();
    let details: Vec<serde_json::Value> = events
        .iter()
        .filter_map(|event| serde_json::from_str(event.detail.as_deref()?).ok())
        .filter(|d: &serde_json::Value| d["why"].is_string())
        .collect();
    assert_eq!((details.len(), details[0]["note"].as_str(), details[0]["replicates"].as_u64()), (2, Some(note.as_str()), Some(2)));
}

/// Whoever asks next is told that the wanted gap is reached: so says the status, before anybody has asked.
#[test]
fn a_study_whose_wanted_gap_is_reached_is_finished() {
    let (_directory, study) = begun(&spec(&format!("stop_when = \"gap < 100\"\n{}", certified().to_toml())));
    batch(&study);
    let status = study.status().unwrap();
    assert!(status.is_gap_reached && status.is_finished && status.planned < status.budget);
    assert!(matches!(study.ask(&AskRequest::new("worker", 1)).unwrap(), Asked::Finished));
}
