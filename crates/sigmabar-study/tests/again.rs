//! What may have been measured a second time: the first value may be why.

use crate::changes::{batch, begun, from_rows, tell};
use crate::support::{ask, certified, spec, truth};

use sigmabar::{Collected, Origin};
use sigmabar_study::{AskRequest, Asked, AskedTrial, EventKind, FilledSheet, ImportedRow, Study, TrialResult, Value, mean_of};
use std::collections::BTreeMap;
use std::time::Duration;

/// A worker that keeps unwelcome results to itself until its lease has run out has the setting measured again.
#[test]
fn a_result_of_a_second_attempt_is_a_loss_that_somebody_must_vouch_for() {
    for (failures, label) in [("", "estimated"), ("failures = \"unrelated\"\n", "certified")] {
        let (_directory, study) = begun(&spec(&format!("{failures}{}", certified().to_toml())));
        let Asked::Trials(kept) = study.ask(&AskRequest::new("choosy", 1).with_lease(Duration::ZERO)).unwrap() else { panic!() };
        assert_eq!(study.reap().unwrap(), [kept[0].id]);
        batch(&study);
        let advice = study.recommend().unwrap().unwrap();
        assert_eq!((advice.label().to_string().as_str(), advice.certificate.premises.losses.value), (label, 1));
        let first = study.batches().unwrap()[0].report.certificate.clone().unwrap();
        assert_eq!(first.premises.losses, advice.certificate.premises.losses);
    }
}

/// A worker that dies of what it measured, and is started again under its name or has what ran it give the setting back, has it measured again without a word.
#[test]
fn a_setting_that_is_handed_out_again_is_a_loss_that_somebody_must_vouch_for() {
    for (failures, label) in [("", "estimated"), ("failures = \"unrelated\"\n", "certified")] {
        for is_given_back in [false, true] {
            let (_directory, study) = begun(&spec(&format!("{failures}{}", certified().to_toml())));
            let id = ask(&study, "worker", 1)[0].id;
            if is_given_back {
                study.release(id, "worker").unwrap();
            }
            tell(&study, &ask(&study, "worker", 1));
            batch(&study);
            let advice = from_rows(&study);
            let said = (advice.label().to_string(), advice.certificate.premises.losses.value);
            assert_eq!(said, (label.to_owned(), 1), "given back: {is_given_back}");
        }
    }
}

/// What is only looked at again is not measured again: that nothing was left out is a person's word, and where nobody saw the settings it needs none.
#[test]
fn what_is_shown_again_is_somebodys_word_and_what_nobody_saw_needs_none() {
    let end = |first: &AskRequest, again: &dyn Fn(&Study, u64)| {
        let (_directory, study) = begun(&certified());
        let Asked::Trials(trials) = study.ask(first).unwrap() else { panic!() };
        again(&study, trials[0].id);
        tell(&study, &trials);
        batch(&study);
        let advice = from_rows(&study);
        assert_eq!((advice.label().to_string().as_str(), advice.certificate.premises.losses.value), ("certified", 0));
        let premises = advice.certificate.premises.list();
        let losses = premises.into_iter().find(|premise| premise.name == "losses").unwrap();
        (losses.origin, losses.statement)
    };
    let shown = AskRequest::new("by-hand", 2).to_be_shown();
    let (origin, said) = end(&shown, &|study, _| drop(study.ask(&shown).unwrap()));
    assert_eq!(origin, Origin::Declared);
    assert!(said.contains("nothing was left out of settings that were shown again"), "{said}");
    // Nobody saw a sheet that could not be written.
    let unseen = |study: &Study, id: u64| {
        study.release_unseen(id, "by-hand").unwrap();
        assert_eq!(ask(study, "worker", 1)[0].id, id);
    };
    assert_eq!(end(&shown, &unseen).0, Origin::Guaranteed);
    // An answer was lost on its way, and the same request comes again: it is known by its key, and by nothing else.
    let sent = AskRequest::new("far", 2).with_key(Some("k1".to_owned()));
    assert_eq!(end(&sent, &|study, _| drop(study.ask(&sent).unwrap())).0, Origin::Guaranteed);
    let (_directory, study) = begun(&certified());
    for key in ["k1", "k2", "k2"] {
        study.ask(&AskRequest::new("far", 1).with_key(Some(key.to_owned()))).unwrap();
    }
    let kinds: Vec<EventKind> = study.events_after(0).unwrap().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Planned, EventKind::Asked, EventKind::AskedAgain]);
}

/// A list lies on the bench after its time ran out: whoever was shown it and asks again has measured nothing twice. In other hands it is a loss, as what a worker had is.
#[test]
fn a_list_whose_time_ran_out_is_shown_again_to_its_owner() {
    let losses = |first: AskRequest, second: AskRequest, is_reaped: bool| {
        let (_directory, study) = begun(&certified());
        let Asked::Trials(trials) = study.ask(&first.with_lease(Duration::ZERO)).unwrap() else { panic!() };
        if is_reaped {
            study.reap().unwrap();
        }
        let Asked::Trials(again) = study.ask(&second).unwrap() else { panic!() };
        assert!(trials.iter().map(|trial| trial.id).eq(again.iter().map(|trial| trial.id)));
        batch_and(&study, &again);
        let advice = from_rows(&study);
        (advice.certificate.premises.losses.value, advice.label().is_certified())
    };
    let shown = |name: &str| AskRequest::new(name, 2).to_be_shown();
    for is_reaped in [false, true] {
        assert_eq!(losses(shown("by-hand"), shown("by-hand"), is_reaped), (0, true));
        assert_eq!(losses(shown("by-hand"), shown("another"), is_reaped), (2, false));
        assert_eq!(losses(shown("by-hand"), AskRequest::new("by-hand", 2), is_reaped), (2, false));
        assert_eq!(losses(AskRequest::new("worker", 2), AskRequest::new("worker", 2), is_reaped), (2, false));
    }
    // Told from the list that lies there, without asking again.
    let (_directory, study) = begun(&certified());
    let Asked::Trials(trials) = study.ask(&shown("by-hand").with_lease(Duration::ZERO)).unwrap() else { panic!() };
    study.reap().unwrap();
    batch_and(&study, &trials);
    assert!(from_rows(&study).label().is_certified());
}

/// Tells these, and then the rest of the batch.
fn batch_and(study: &Study, trials: &[AskedTrial]) {
    tell(study, trials);
    batch(study);
}

/// Such a study is refused today: an older version took it, and wrote down no attempt but the last. Its results are there all the same.
#[test]
fn a_study_of_before_that_retries_in_silence_opens_and_certifies_nothing() {
    let retried = format!("failures = \"unrelated\"\n{}\n[objective]\ncommand = \"echo 1\"\nretries = 3\n", certified().to_toml());
    let (_directory, study) = begun(&spec(&retried));
    batch(&study);
    assert!(study.recommend().unwrap().unwrap().label().is_certified());
    let silent = "UPDATE sb_studies SET spec = json_remove(spec, '$.failures')";
    rusqlite::Connection::open(study.file()).unwrap().execute(silent, []).unwrap();
    let advice = from_rows(&study);
    assert!(!advice.label().is_certified());
    assert!(advice.certificate.premises.losses.value > 0);
}

/// A sheet that is told to a second study of the file, begun when its results were known, proves nothing of premises that were changed meanwhile; results of its own do, and under the same
/// premises nothing was changed.
#[test]
fn results_that_were_known_before_premises_were_changed_prove_nothing_of_them() {
    let (_directory, first) = begun(&certified());
    batch(&first);
    assert_eq!(first.recommend().unwrap().unwrap().label().to_string(), "certified");
    for (norm, by, label) in [(2, 0.0, "certified"), (3, 0.0, "estimated"), (3, 1e-3, "certified")] {
        let text = certified().to_toml().replace("norm_bound = 2", &format!("norm_bound = {norm}"));
        let second = Study::create(first.file(), &format!("{norm}, {by}"), &spec(&text)).unwrap();
        for trial in ask(&second, "worker", usize::MAX) {
            let TrialResult::Value { value, .. } = truth(&trial) else { panic!() };
            second.tell(trial.id, TrialResult::Value { value: value + by, standard_error: None, replicates: None }).unwrap();
        }
        assert_eq!(second.recommend().unwrap().unwrap().label().to_string(), label, "{norm}, {by}");
    }
    // What is told later has changed nothing that was declared before.
    assert_eq!(first.recommend().unwrap().unwrap().label().to_string(), "certified");
}

const PREMISES: &str = r#"
    budget = 36
    batches = [24, 12]
    norm_bound = 2
    noise = { gaussian = 0.1 }
    kernel = { name = "matern", nu = 2.5, lengthscale = 0.3 }
    parameters.x = { type = "int", low = 0, high = 30 }
"#;

/// What was measured at each place, so far untold.
type Known = BTreeMap<i64, Vec<f64>>;

fn place(trial: &AskedTrial) -> i64 {
    trial.values[0].1.as_number().unwrap() as i64
}

fn told(value: f64) -> TrialResult {
    TrialResult::Value { value, standard_error: None, replicates: None }
}

fn truth_at(x: i64, seed: u64) -> f64 {
    let uniform = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 53) as f64;
    (x as f64 / 10.0).sin() + 0.15 * (uniform - 0.5)
}

/// Tells what is known of each place, and new measurements where nothing is: those of each study are its own.
fn tell_known(study: &Study, mut known: Known) -> usize {
    let own: u64 = study.name().bytes().map(u64::from).sum();
    let mut used = 0;
    while let Asked::Trials(trials) = study.ask(&AskRequest::new("worker", usize::MAX)).unwrap() {
        for trial in trials {
            let x = place(&trial);
            let old = known.get_mut(&x).and_then(Vec::pop);
            used += usize::from(old.is_some());
            study.tell(trial.id, told(old.unwrap_or_else(|| truth_at(x, trial.seed + own)))).unwrap();
        }
    }
    used
}

fn results_of(study: &Study) -> Known {
    let mut known = Known::new();
    for trial in study.trials().unwrap() {
        known.entry(trial.values[0].as_number().unwrap() as i64).or_default().push(trial.value.unwrap());
    }
    known
}

fn label_of(study: &Study) -> String {
    Study::open(study.file(), Some(study.name())).unwrap().recommend().unwrap().unwrap().label().to_string()
}

/// A study, its results, and a second one of the same file under other premises which is told them.
fn told_again(changes: &[(&str, &str)], meanwhile: impl Fn(&Study)) -> (usize, String, String) {
    let (_directory, first) = begun(&spec(PREMISES));
    tell_known(&first, Known::new());
    let known = results_of(&first);
    meanwhile(&first);
    // Times have milliseconds.
    std::thread::sleep(Duration::from_millis(3));
    let text = changes.iter().fold(PREMISES.to_owned(), |text, (old, new)| text.replacen(old, new, 1));
    assert!(changes.is_empty() || text != PREMISES);
    let begin = |name: &str| Study::create(first.file(), name, &spec(&text)).unwrap();
    let (second, own) = (begin("second"), begin("own"));
    let used = tell_known(&second, known);
    tell_known(&own, Known::new());
    (used, label_of(&second), label_of(&own))
}

/// Premises are compared as numbers, however a file says them: those of a kernel as it is between the settings that were known.
#[test]
fn premises_changed_are_noticed_and_premises_said_otherwise_are_the_same() {
    let nothing = |_: &Study| {};
    let natural = ("lengthscale = 0.3", "lengthscale = 9, natural = true");
    for (changes, label) in [
        (&[][..], "certified"),
        (&[("norm_bound = 2", "norm_bound = 3")], "estimated"),
        (&[("high = 30", "high = 25")], "estimated"),
        (&[("high = 30", "high = 60")], "estimated"),
        (&[("nu = 2.5", "nu = 1.5")], "estimated"),
        (&[("lengthscale = 0.3", "lengthscale = 0.3, at_least = 0.2")], "estimated"),
        (&[("budget", "tau = 0.2\n    budget")], "estimated"),
        (&[("budget", "unit = 1.1\n    budget")], "estimated"),
        (&[("budget", "prior_mean = 0\n    budget")], "certified"),
        (&[("\"matern\", nu = 2.5", "\"matern-2.5\"")], "certified"),
        (&[("nu = 2.5, ", "")], "certified"),
        (&[natural], "certified"),
        (&[natural, ("high = 30", "high = 40")], "certified"),
    ] {
        let (used, again, own) = told_again(changes, nothing);
        assert_eq!((again.as_str(), own.as_str()), (label, "certified"), "{changes:?}, {used} told again");
    }
}

/// What stood there before a correction was known too, and is in the book of events; a correction that repeats the result makes it no newer.
#[test]
fn a_result_that_was_replaced_was_known_when_it_was_told() {
    let changes = [("norm_bound = 2", "norm_bound = 3")];
    let replaced = |by: f64| {
        move |first: &Study| {
            for trial in first.trials().unwrap() {
                first.replace(trial.id, &told(trial.value.unwrap() + by), "read again").unwrap();
            }
        }
    };
    for by in [0.0, 0.01] {
        let (used, again, own) = told_again(&changes, replaced(by));
        assert_eq!((again.as_str(), own.as_str()), ("estimated", "certified"), "{used} told again");
        // The second was begun before the results of the first were corrected.
        let (_directory, first) = begun(&spec(PREMISES));
        tell_known(&first, Known::new());
        std::thread::sleep(Duration::from_millis(3));
        let second = Study::create(first.file(), "second", &spec(&PREMISES.replace("norm_bound = 2", "norm_bound = 3"))).unwrap();
        tell_known(&second, results_of(&first));
        std::thread::sleep(Duration::from_millis(3));
        replaced(by)(&first);
        assert_eq!(label_of(&second), "estimated", "{by}");
    }
}

/// Wells of a study that measured each setting twice, and results that another study imported, were known as well.
#[test]
fn wells_and_imports_of_another_study_were_known() {
    for norm in [2, 3] {
        let (_directory, first) = begun(&spec(&PREMISES.replacen("budget", "replicates = 2\nbudget", 1)));
        let mut wells = Known::new();
        while let Asked::Trials(trials) = first.ask(&AskRequest::new("worker", usize::MAX)).unwrap() {
            let mut sheet = FilledSheet::default();
            for trial in trials {
                let pair = [2 * trial.seed, 2 * trial.seed + 341].map(|seed| truth_at(place(&trial), seed));
                wells.entry(place(&trial)).or_default().extend(pair);
                let named = vec![("A1".to_owned(), Some(pair[0])), ("B1".to_owned(), Some(pair[1]))];
                sheet.results.push((trial.id, mean_of(&named, None).unwrap()));
                sheet.wells.insert(trial.id, named);
            }
            first.tell_sheet(&sheet).unwrap();
        }
        std::thread::sleep(Duration::from_millis(3));
        let text = PREMISES.replace("norm_bound = 2", &format!("norm_bound = {norm}"));
        let second = Study::create(first.file(), "second", &spec(&text)).unwrap();
        let rows: Vec<ImportedRow> =
            wells.iter().flat_map(|(x, values)| values.iter().map(|value| ImportedRow::new(vec![Value::Int(*x)], told(*value)))).collect();
        assert!(tell_known(&second, wells) > 12);
        // A mean of two is less noisy than one: the second study says so of none of its own.
        let label = if norm == 2 { "certified" } else { "estimated" };
        assert_eq!(label_of(&second), label);

        // Told as results from before the study, whose points were fixed: they are in its claim.
        for (collected, label) in [(Collected::DeclaredFixed, label), (Collected::Undeclared, "certified")] {
            let third = Study::create(first.file(), &format!("third {collected:?}"), &spec(&text)).unwrap();
            third.import_as(&rows, collected).unwrap();
            tell_known(&third, Known::new());
            assert_eq!(label_of(&third), label, "{collected:?}");
        }
        // Nobody told them to the first study of this file, which imported them.
        let (_directory, first) = begun(&spec(PREMISES));
        first.import_as(&rows, Collected::Undeclared).unwrap();
        std::thread::sleep(Duration::from_millis(3));
        let second = Study::create(first.file(), "second", &spec(&text)).unwrap();
        let mut known = Known::new();
        rows.iter().for_each(|row| {
            let (TrialResult::Value { value, .. }, Some(x)) = (&row.result, row.values[0].as_number()) else { panic!() };
            known.entry(x as i64).or_default().push(*value);
        });
        tell_known(&second, known);
        assert_eq!(label_of(&second), label);
    }
}
