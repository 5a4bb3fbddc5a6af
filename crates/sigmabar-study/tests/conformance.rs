//! What every store of studies must do, whatever it is made of. A second store runs the same suite by giving another [`Maker`].

use crate::support;

use sigmabar_study::{
    AskRequest, Asked, Error, EventKind, FilledSheet, ImportedRow, Nearest, Page, Study, StudySpec, Told, TrialResult, TrialStatus, Value,
};
use std::time::Duration;
use support::{ask, certified, essence, plain, truth, work};

/// Makes studies in a fresh place, and opens them again as another process would.
struct Maker {
    create: fn(&std::path::Path, &str, &StudySpec) -> Result<Study, Error>,
    open: fn(&std::path::Path, Option<&str>) -> Result<Study, Error>,
}

const SQLITE: Maker = Maker { create: Study::create, open: Study::open };

struct Place {
    directory: tempfile::TempDir,
    maker: Maker,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), maker: SQLITE }
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("study.db")
    }

    fn create(&self, name: &str, spec: &StudySpec) -> Result<Study, Error> {
        (self.maker.create)(&self.file(), name, spec)
    }

    fn open(&self, name: Option<&str>) -> Result<Study, Error> {
        (self.maker.open)(&self.file(), name)
    }
}

fn value(value: f64) -> TrialResult {
    TrialResult::Value { value, standard_error: None, replicates: None }
}

#[test]
fn names_are_unique_and_found_again() {
    let place = Place::new();
    place.create("a", &plain(3)).unwrap();
    assert_eq!(place.open(None).unwrap().name(), "a");
    assert!(matches!(place.create("a", &plain(4)), Err(Error::StudyExists { .. })));
    place.create("b", &plain(4)).unwrap();
    assert_eq!(Study::names(&place.file()).unwrap(), ["a", "b"]);
    assert!(matches!(place.open(None), Err(Error::WhichStudy { names, .. }) if names == ["a", "b"]));
    assert!(matches!(place.open(Some("c")), Err(Error::NoSuchStudy { .. })));
    assert_eq!(place.open(Some("b")).unwrap().spec(), &plain(4));
}

#[test]
fn many_may_create_studies_in_one_new_file_at_once() {
    for _ in 0..5 {
        let place = Place::new();
        let names: Vec<String> = (0..16).map(|i| format!("study {i}")).collect();
        std::thread::scope(|scope| {
            let place = &place;
            let all: Vec<_> = names
                .iter()
                .map(|name| scope.spawn(move || place.create(name, &plain(2)).map(|study| ask(&study, "w", 1).len())))
                .collect();
            for one in all {
                assert_eq!(one.join().unwrap().unwrap_or_else(|error| panic!("{error}")), 1);
            }
        });
        let mut found = Study::names(&place.file()).unwrap();
        found.sort_by_key(|name| name[6..].parse::<usize>().unwrap());
        assert_eq!(found, names);
    }
}

#[test]
fn studies_of_one_file_do_not_see_each_other() {
    let place = Place::new();
    let (a, b) = (place.create("a", &plain(2)).unwrap(), place.create("b", &plain(2)).unwrap());
    let trial = ask(&a, "w", 2).remove(0);
    a.tell(trial.id, value(1.0)).unwrap();
    assert!(b.trials().unwrap().is_empty());
    assert_eq!(ask(&b, "w", 2).len(), 2);
    assert_eq!(b.trials().unwrap().iter().filter(|row| row.value.is_some()).count(), 0);
}

#[test]
fn a_worker_gets_its_own_pending_trials_first_and_nobody_elses() {
    let place = Place::new();
    let study = place.create("a", &plain(6)).unwrap();
    let first = ask(&study, "one", 2);
    let other = ask(&place.open(None).unwrap(), "two", 2);
    assert!(first.iter().all(|trial| other.iter().all(|o| o.id != trial.id)));
    let again: Vec<u64> = ask(&place.open(None).unwrap(), "one", 2).iter().map(|trial| trial.id).collect();
    assert_eq!(again, first.iter().map(|trial| trial.id).collect::<Vec<_>>());
    let more: Vec<u64> = ask(&study, "one", 3).iter().map(|trial| trial.id).collect();
    assert_eq!(more, [first[0].id, first[1].id, 4]);
    ask(&study, "three", 9);
    assert_eq!(study.ask(&AskRequest::new("four", 1)).unwrap(), Asked::Wait);
    assert_eq!(study.ask(&AskRequest::new("four", 0)).unwrap(), Asked::Trials(Vec::new()));
}

#[test]
fn an_expired_lease_goes_back_to_the_queue_and_a_late_result_is_welcome() {
    let place = Place::new();
    let study = place.create("a", &plain(2)).unwrap();
    let Asked::Trials(first) = study.ask(&AskRequest::new("slow", 1).with_lease(Duration::ZERO)).unwrap() else { panic!() };
    assert_eq!(study.trials().unwrap()[0].state, TrialStatus::Expired);
    assert_eq!(study.reap().unwrap(), [first[0].id]);
    assert_eq!(study.trials().unwrap()[0].state, TrialStatus::Queued);
    let second = ask(&study, "quick", 1);
    assert_eq!((second[0].id, &second[0].values, second[0].seed), (first[0].id, &first[0].values, first[0].seed));
    assert_eq!(study.trials().unwrap()[0].attempts, 2);
    // The slow one comes first after all; the quick one is then a second result.
    assert_eq!(study.tell(first[0].id, value(1.0)).unwrap(), Told::Counted);
    assert!(matches!(study.tell(second[0].id, value(2.0)), Err(Error::AlreadyTold { id: 0, .. })));
    assert_eq!(study.trials().unwrap()[0].value, Some(1.0));
    let events = study.events_after(0).unwrap();
    let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Planned, EventKind::Asked, EventKind::Expired, EventKind::Asked, EventKind::Told]);
    assert_eq!((events[2].trial, events[2].worker.as_deref()), (Some(0), Some("slow")));
    assert_eq!((events[3].trial, events[3].worker.as_deref()), (Some(0), Some("quick")));
    assert_eq!(study.events_after(events[3].number).unwrap(), events[4..], "a reader goes on where it was");
}

#[test]
fn the_same_result_told_again_is_a_success_and_another_is_refused() {
    let place = Place::new();
    let study = place.create("a", &certified()).unwrap();
    let trials = ask(&study, "w", usize::MAX);
    let noisy = |error| TrialResult::Value { value: 1.5, standard_error: error, replicates: None };
    let failed = |reason: &str| TrialResult::Failed { reason: reason.into() };
    assert_eq!(study.tell(0, noisy(Some(0.25))).unwrap(), Told::Counted);
    assert_eq!(study.tell(1, failed("no light")).unwrap(), Told::Counted);
    let before = (study.trials().unwrap(), study.events_after(0).unwrap());
    assert_eq!(study.tell(0, noisy(Some(0.25))).unwrap(), Told::Again { is_late: false });
    assert_eq!(study.tell(1, failed("whatever")).unwrap(), Told::Again { is_late: false });
    for (id, other) in [(0, noisy(None)), (0, noisy(Some(0.5))), (0, value(1.0)), (0, failed("x")), (1, value(1.0))] {
        assert!(matches!(study.tell(id, other), Err(Error::AlreadyTold { .. })));
    }
    assert_eq!((study.trials().unwrap(), study.events_after(0).unwrap()), before, "nothing was written");
    // All or nothing: what is new comes in with what is there already, and nothing with what contradicts it.
    assert!(study.tell_all(&[(2, truth(&trials[2])), (0, value(1.0))]).is_err());
    let told = study.tell_all(&[(2, truth(&trials[2])), (0, noisy(Some(0.25)))]).unwrap();
    assert_eq!(told, [Told::Counted, Told::Again { is_late: false }]);
    study.close_batch().unwrap();
    assert_eq!(study.tell(3, truth(&trials[3])).unwrap(), Told::Late);
    assert_eq!(study.tell(3, truth(&trials[3])).unwrap(), Told::Again { is_late: true });
}

#[test]
fn trials_are_read_page_by_page() {
    let place = Place::new();
    let study = place.create("a", &certified()).unwrap();
    let first = ask(&study, "w", usize::MAX);
    for trial in &first {
        study.tell(trial.id, if trial.id % 3 == 0 { TrialResult::Failed { reason: "x".into() } } else { truth(trial) }).unwrap();
    }
    ask(&study, "w", 2);
    let all = study.trials().unwrap();
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = study.trials_of(&Page { after, at_most: Some(5), ..Page::default() }).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        pages.extend(page);
    }
    assert_eq!(pages, all);
    for state in TrialStatus::ALL {
        let some = study.trials_of(&Page { state: Some(state), ..Page::default() }).unwrap();
        assert!(some.iter().eq(all.iter().filter(|row| row.state == state)), "{state}");
        assert_eq!(some.len(), study.status().unwrap().count(state));
    }
    let second = study.trials_of(&Page { batch: Some(1), state: Some(TrialStatus::Leased), ..Page::default() }).unwrap();
    assert_eq!(second.iter().map(|row| row.id as usize).collect::<Vec<_>>(), [first.len(), first.len() + 1]);
    assert!(study.trials_of(&Page { after: Some(u64::MAX), ..Page::default() }).unwrap().is_empty());
}

#[test]
fn a_paused_study_hands_nothing_out_and_takes_results() {
    let place = Place::new();
    let study = place.create("a", &plain(3)).unwrap();
    let mine = ask(&study, "w", 1);
    study.set_paused(true).unwrap();
    study.set_paused(true).unwrap();
    let other = place.open(None).unwrap();
    assert!(other.is_paused().unwrap());
    assert_eq!(other.ask(&AskRequest::new("x", 1)).unwrap(), Asked::Wait);
    let again: Vec<u64> = ask(&other, "w", 3).iter().map(|trial| trial.id).collect();
    assert_eq!(again, [mine[0].id], "what a worker has, it has");
    assert_eq!(other.tell(mine[0].id, truth(&mine[0])).unwrap(), Told::Counted);
    assert_eq!(other.ask(&AskRequest::new("w", 1)).unwrap(), Asked::Wait, "nothing is planned either");
    other.set_paused(false).unwrap();
    work(&study, 1, |_| {});
    study.set_paused(true).unwrap();
    assert_eq!(study.ask(&AskRequest::new("w", 1)).unwrap(), Asked::Finished);
    let paused = |event: &sigmabar_study::EventRow| matches!(event.kind, EventKind::Paused | EventKind::Resumed);
    assert_eq!(study.events_after(0).unwrap().iter().filter(|event| paused(event)).count(), 3, "each change once");
}

#[test]
fn a_study_may_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Study>();
}

#[test]
fn a_lease_that_holds_is_renewed_by_its_worker_only() {
    let place = Place::new();
    let study = place.create("a", &plain(2)).unwrap();
    let id = ask(&study, "one", 1)[0].id;
    assert!(study.renew(id, "one", Duration::from_secs(9000)).unwrap());
    assert!(!study.renew(id, "two", Duration::from_secs(9000)).unwrap());
    assert!(!study.renew(1, "one", Duration::from_secs(9000)).unwrap());
}

#[test]
fn results_are_refused_where_they_make_no_sense_and_nothing_changes() {
    let place = Place::new();
    let study = place.create("a", &plain(3)).unwrap();
    let trials = ask(&study, "w", 2);
    assert!(matches!(study.tell(2, value(1.0)), Err(Error::NotAsked { id: 2, .. })));
    assert!(matches!(study.tell(77, value(1.0)), Err(Error::UnknownTrial { id: 77, .. })));
    assert!(matches!(study.tell(u64::MAX, value(1.0)), Err(Error::UnknownTrial { .. })));
    assert!(matches!(study.tell(0, value(f64::NAN)), Err(Error::Result { id: 0, .. })));
    let noisy = TrialResult::Value { value: 1.0, standard_error: Some(0.0), replicates: None };
    assert!(matches!(study.tell(0, noisy), Err(Error::Result { what: "standard error", .. })));
    assert!(matches!(study.tell_all(&[(0, value(1.0)), (2, value(1.0))]), Err(Error::NotAsked { .. })));
    assert!(study.trials().unwrap().iter().all(|row| row.value.is_none()));
    let all: Vec<(u64, TrialResult)> = trials.iter().map(|trial| (trial.id, truth(trial))).collect();
    assert_eq!(study.tell_all(&all).unwrap(), [Told::Counted; 2]);
}

#[test]
fn what_is_told_is_there_for_everybody_at_once() {
    let place = Place::new();
    let study = place.create("a", &plain(3)).unwrap();
    ask(&study, "w", 3);
    study.tell(1, TrialResult::Value { value: 2.5, standard_error: Some(0.5), replicates: None }).unwrap();
    study.tell(2, TrialResult::Failed { reason: "no power".into() }).unwrap();
    study.set_wells(&[(1, "plate 1 A1".into())]).unwrap();
    let rows = place.open(None).unwrap().trials().unwrap();
    assert_eq!((rows[1].state, rows[1].value, rows[1].standard_error), (TrialStatus::Done, Some(2.5), Some(0.5)));
    assert_eq!((rows[1].worker.as_deref(), rows[1].well.as_deref()), (Some("w"), Some("plate 1 A1")));
    assert_eq!((rows[2].state, rows[2].reason.as_deref()), (TrialStatus::Failed, Some("no power")));
    assert!(rows[1].told_at.is_some() && rows[0].told_at.is_none());
    assert!(matches!(study.set_wells(&[(9, "A2".into())]), Err(Error::UnknownTrial { id: 9, .. })));
    assert!(matches!(study.set_notes(&[(0, "dropped".into()), (9, "late".into())]), Err(Error::UnknownTrial { id: 9, .. })));
    assert!(study.trials().unwrap().iter().all(|row| row.note.is_none()), "all notes or none");
    study.set_notes(&[(0, "dropped".into()), (1, "cloudy".into())]).unwrap();
    let notes: Vec<_> = place.open(None).unwrap().trials().unwrap().into_iter().map(|row| row.note).collect();
    assert_eq!(notes, [Some("dropped".into()), Some("cloudy".into()), None]);
}

#[test]
fn results_and_notes_are_written_together_or_not_at_all() {
    let place = Place::new();
    let study = place.create("a", &plain(3)).unwrap();
    let trials = ask(&study, "w", 3);
    let results = [(0, truth(&trials[0]))];
    let sheet = |notes: [(u64, String); 2]| FilledSheet { results: results.to_vec(), notes: notes.to_vec(), ..FilledSheet::default() };
    let refused = study.tell_sheet(&sheet([(0, "warm".into()), (9, "no such trial".into())]));
    assert!(matches!(refused, Err(Error::UnknownTrial { id: 9, .. })));
    assert!(study.trials().unwrap().iter().all(|row| row.note.is_none() && row.value.is_none()));
    assert_eq!(study.tell_sheet(&sheet([(0, "warm".into()), (1, "still running".into())])).unwrap(), [Told::Counted]);
    let rows = place.open(None).unwrap().trials().unwrap();
    assert!(rows[0].value.is_some() && rows[0].note.as_deref() == Some("warm") && rows[1].note.as_deref() == Some("still running"));
}

#[test]
fn a_closed_batch_goes_on_without_what_is_missing_and_keeps_what_comes_late() {
    let place = Place::new();
    let study = place.create("a", &certified()).unwrap();
    let trials = ask(&study, "w", usize::MAX);
    for trial in &trials[1..] {
        study.tell(trial.id, truth(trial)).unwrap();
    }
    assert_eq!(study.ask(&AskRequest::new("other", 1)).unwrap(), Asked::Wait);
    study.close_batch().unwrap();
    // Closed once too often: nobody has seen the next batch.
    assert!(matches!(study.close_batch(), Err(Error::NotHandedOut { batch: 1, .. })));
    assert_eq!(study.trials().unwrap()[0].state, TrialStatus::Missing);
    assert_eq!(study.tell(0, truth(&trials[0])).unwrap(), Told::Late);
    assert_eq!(study.trials().unwrap()[0].state, TrialStatus::Late);
    let batches = study.batches().unwrap();
    assert_eq!((batches[0].report.planned, batches[0].report.measured), (trials.len(), trials.len() - 1));
    work(&study, 5, |_| {});
    let advice = place.open(None).unwrap().recommend().unwrap().unwrap();
    assert_eq!((advice.certificate.premises.losses.value, advice.label()), (1, sigmabar::Label::Estimated), "nobody said why it was lost");
}

#[test]
fn a_batch_that_nobody_has_seen_is_closed_by_force_alone() {
    let place = Place::new();
    let study = place.create("a", &certified()).unwrap();
    assert!(matches!(study.close_batch(), Err(Error::NotHandedOut { batch: 0, .. })));
    ask(&study, "w", 1);
    study.close_batch().unwrap();
    assert!(study.close_batch().unwrap_err().to_string().contains("nothing of batch 2 of study \"a\" was handed out yet"));
    assert!(study.trials().unwrap().iter().filter(|row| row.batch == 1).all(|row| row.state == TrialStatus::Queued));
    study.close_batch_unseen().unwrap();
    assert!(study.trials().unwrap().iter().filter(|row| row.batch == 1).all(|row| row.state == TrialStatus::Missing));
}

#[test]
fn advice_tells_how_the_nearest_evaluations_ended() {
    let place = Place::new();
    let study = place.create("a", &plain(8)).unwrap();
    let old = |x: f64, result| ImportedRow::new(vec![Value::Float(x)], result);
    study.import(&[old(-1.0, TrialResult::Failed { reason: "old".into() })]).unwrap();
    let mut trials = ask(&study, "w", usize::MAX);
    trials.sort_by(|a, b| a.values[0].1.as_number().unwrap().total_cmp(&b.values[0].1.as_number().unwrap()));
    study.tell(trials[0].id, value(1.0)).unwrap();
    let nearest = |failed, of| Nearest { failed, of };
    assert_eq!(study.recommend().unwrap().unwrap().nearest, nearest(1, 2));
    assert!(!nearest(1, 2).is_risky());
    for trial in &trials[1..] {
        study.tell(trial.id, TrialResult::Failed { reason: "no light".into() }).unwrap();
    }
    let advice = study.recommend().unwrap().unwrap();
    assert_eq!(advice.nearest, nearest(4, 5));
    assert!(advice.nearest.is_risky());
}

#[test]
fn the_run_is_the_same_whatever_the_order_of_telling_and_the_portions() {
    let reference = {
        let place = Place::new();
        let study = place.create("a", &certified()).unwrap();
        work(&study, usize::MAX, |_| {});
        (essence(&study.trials().unwrap()), study.recommend().unwrap())
    };
    assert_eq!(reference.0.len(), 48);
    for (portion, seed) in [(1, 0_u64), (7, 1), (48, 2)] {
        let place = Place::new();
        place.create("a", &certified()).unwrap();
        // Every portion is worked by a study opened anew, as another process would.
        let shuffle = |trials: &mut Vec<sigmabar_study::AskedTrial>| {
            trials.sort_by_key(|t| (t.id + 1).wrapping_mul(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 7)
        };
        work(&place.open(None).unwrap(), portion, shuffle);
        let study = place.open(None).unwrap();
        assert_eq!(essence(&study.trials().unwrap()), reference.0, "portions of {portion}");
        assert_eq!(study.recommend().unwrap(), reference.1);
    }
}

#[test]
fn a_study_goes_on_where_it_was_left_at_any_point() {
    let whole = Place::new();
    let study = whole.create("a", &certified()).unwrap();
    work(&study, 1, |_| {});
    let broken = Place::new();
    broken.create("a", &certified()).unwrap();
    // Opened anew for every single step.
    while let Asked::Trials(trials) = broken.open(None).unwrap().ask(&AskRequest::new("w", 1)).unwrap() {
        broken.open(None).unwrap().tell(trials[0].id, truth(&trials[0])).unwrap();
    }
    let reopened = broken.open(None).unwrap();
    assert_eq!(essence(&reopened.trials().unwrap()), essence(&study.trials().unwrap()));
    assert_eq!(reopened.recommend().unwrap(), study.recommend().unwrap());
    assert_eq!(reopened.batches().unwrap().len(), 3);
    let status = reopened.status().unwrap();
    assert!(status.is_finished && status.closed == 3 && status.count(TrialStatus::Done) == 48);
}

#[test]
fn looking_at_a_study_changes_nothing() {
    let place = Place::new();
    let study = place.create("a", &certified()).unwrap();
    assert_eq!(study.recommend().unwrap(), None);
    assert!(study.batches().unwrap().is_empty() && study.trials().unwrap().is_empty());
    let trials = ask(&study, "w", 2);
    study.tell(trials[0].id, truth(&trials[0])).unwrap();
    for _ in 0..2 {
        assert!(study.status().is_ok() && study.recommend().is_ok() && study.batches().unwrap().is_empty());
    }
    study.tell(trials[1].id, truth(&trials[1])).unwrap();
    work(&study, 3, |_| {});
    let undisturbed = Place::new();
    let other = undisturbed.create("a", &certified()).unwrap();
    work(&other, 48, |_| {});
    let values = |study: &Study| study.trials().unwrap().into_iter().map(|row| row.values).collect::<Vec<_>>();
    assert_eq!(values(&study), values(&other));
}

#[test]
fn imported_results_are_checked_and_kept() {
    let place = Place::new();
    let study = place.create("a", &certified()).unwrap();
    let row = |x: i64, y: f64| ImportedRow::new(vec![Value::Int(x)], value(y));
    assert_eq!(study.import(&[row(3, 0.5), row(4, 0.25)]).unwrap(), 2);
    assert!(matches!(study.import(&[row(5, 1.0), row(99, 1.0)]), Err(Error::ImportedRow { row: 2, .. })));
    assert!(matches!(study.import(&[row(5, f64::INFINITY)]), Err(Error::ImportedRow { row: 1, .. })));
    let reopened = place.open(None).unwrap();
    assert_eq!(reopened.imported().unwrap(), [row(3, 0.5), row(4, 0.25)]);
    assert_eq!((reopened.status().unwrap().imported, reopened.status().unwrap().imported_in_time), (2, 2));
    // What comes after the first plan is kept, and the strategy goes on without it.
    ask(&study, "w", 1);
    study.import(&[row(7, 0.75)]).unwrap();
    assert_eq!((reopened.status().unwrap().imported, reopened.status().unwrap().imported_in_time), (3, 2));
    assert_eq!(reopened.strategy().unwrap().ledger().attached().len(), 2);
}

#[test]
fn results_from_before_the_study_reach_a_strategy_that_can_use_them() {
    let advice = |fixed: bool, import: bool| {
        let place = Place::new();
        let study = place.create("a", &certified()).unwrap();
        let rows: Vec<ImportedRow> = (0..20).map(|x| ImportedRow::new(vec![Value::Int(2 * x)], value((x as f64 / 5.0).sin()))).collect();
        if import {
            study.import_as(&rows, if fixed { sigmabar::Collected::DeclaredFixed } else { sigmabar::Collected::Adaptive }).unwrap();
        }
        work(&study, 48, |_| {});
        (study.recommend().unwrap().unwrap(), study.trials().unwrap())
    };
    let (plain, adaptive, fixed) = (advice(false, false), advice(false, true), advice(true, true));
    let used = |advice: &sigmabar_study::Advice| advice.certificate.premises.observations.value;
    assert_eq!((used(&adaptive.0), used(&fixed.0)), (used(&plain.0), used(&plain.0) + 20));
    assert_eq!(essence(&adaptive.1), essence(&plain.1), "points that may depend on responses change nothing in a certified run");
    assert_ne!(essence(&fixed.1), essence(&plain.1));
}
