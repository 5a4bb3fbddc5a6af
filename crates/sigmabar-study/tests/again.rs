//! What may have been measured a second time: the first value may be why.

use crate::changes::{batch, begun, from_rows, tell};
use crate::support::{ask, certified, spec, truth};

use sigmabar::Origin;
use sigmabar_study::{AskRequest, Asked, EventKind, Study, TrialResult};
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
fn batch_and(study: &Study, trials: &[sigmabar_study::AskedTrial]) {
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
