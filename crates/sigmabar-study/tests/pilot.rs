//! A pilot as the first batch of a study: premises fixed after it, and no way to move them later.

use crate::support;

use sigmabar::certificate::Label;
use sigmabar::{Collected, Origin, Policy};
use sigmabar_study::{
    AskRequest, Asked, AskedTrial, Error, FilledSheet, ImportedRow, Pilot, RunOptions, Study, StudySpec, TrialResult, Value, mean_of,
};
use std::path::Path;
use support::{ask, spec, truth};

const PREMISES: &str = "norm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.3 }\n";

/// The list of [`support::certified`] with a pilot of 12, and whatever else is said.
fn file(said: &str) -> String {
    let rows: Vec<String> = (0..40).map(|i| format!("[{i}]")).collect();
    format!("budget = 60\nbatches = 3\npilot = 12\n{said}candidates = {{ columns = [\"x\"], rows = [{}] }}\n", rows.join(", "))
}

fn begun(said: &str) -> (tempfile::TempDir, Study) {
    let directory = tempfile::tempdir().unwrap();
    let study = Study::create(&directory.path().join("study.db"), "study", &spec(&file(said))).unwrap();
    (directory, study)
}

fn tell(study: &Study, trials: &[AskedTrial]) {
    trials.iter().for_each(|trial| {
        study.tell(trial.id, truth(trial)).unwrap();
    });
}

fn batch(study: &Study) -> Vec<AskedTrial> {
    let trials = ask(study, "worker", usize::MAX);
    tell(study, &trials);
    trials
}

fn finish(study: &Study) {
    while let Asked::Trials(trials) = study.ask(&AskRequest::new("worker", usize::MAX)).unwrap() {
        tell(study, &trials);
    }
}

/// Whether losses have to do with the noise is a premise like the others: it may be fixed after the pilot, and not after anything that a claim rests on.
#[test]
fn what_failures_say_may_be_declared_after_the_pilot() {
    let (_directory, mut study) = begun("");
    batch(&study);
    let unrelated = spec(&file(&format!("{PREMISES}failures = \"unrelated\"\n")));
    assert!(study.amend(&unrelated).unwrap().contains(&"failures".to_owned()));
    let first = ask(&study, "worker", usize::MAX);
    study.tell(first[0].id, TrialResult::Failed { reason: "dropped".to_owned() }).unwrap();
    tell(&study, &first[1..]);
    finish(&study);
    assert_eq!(study.recommend().unwrap().unwrap().label(), Label::Certified);
    assert!(matches!(study.amend(&spec(&file(PREMISES))), Err(Error::Unamendable { key, .. }) if key == "failures"));
}

fn refused(text: &str) -> String {
    StudySpec::from_toml(text, Path::new(".")).unwrap_err().to_string()
}

/// Simulated noise comes from the seeds of trials: a study whose premises were learnt from another of the same seed must not see that one's noise again.
#[test]
fn noise_that_taught_the_premises_does_not_come_again() {
    let results = |learnt: &str| {
        let text = format!(
            "budget = 30\nbatches = 2\nseed = 5\nnorm_bound = 2\nnoise = 0.1\n{learnt}kernel = {{ name = \"matern\", nu = 2.5, lengthscale = 0.3 }}\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[parameters.y]\ntype = \"float\"\nlow = 0\nhigh = 1\n\
             [objective]\nbuiltin = \"hills\"\nnoise = 0.1\n"
        );
        let directory = tempfile::tempdir().unwrap();
        let study = Study::create(&directory.path().join("study.db"), "study", &spec(&text)).unwrap();
        study.run(&RunOptions::default(), &mut |_| {}, &sigmabar::linalg::Interrupt::default()).unwrap();
        study
            .trials()
            .unwrap()
            .into_iter()
            .map(|row| (row.batch, format!("{:?}", row.values), row.seed, row.value.unwrap()))
            .collect::<Vec<_>>()
    };
    let (old, again) = (results(""), results(""));
    assert_eq!(old, again, "one seed, one run");
    for learnt in ["learnt_from = \"old.db\"\n", "learnt_from = \"older.db\"\n"] {
        let new = results(learnt);
        let same: Vec<_> = old.iter().zip(&new).filter(|(a, b)| a.0 == 0 && a.1 == b.1).collect();
        assert!(same.len() > 5, "the first batch is where it was");
        assert!(same.iter().all(|(a, b)| a.2 != b.2 && a.3 != b.3), "{same:?}");
    }
    assert_ne!(results("learnt_from = \"old.db\"\n"), results("learnt_from = \"older.db\"\n"));
}

#[test]
fn what_a_pilot_can_be_is_said_by_the_file() {
    let plain = spec(&file(""));
    let Policy::Sbpe(policy) = plain.policy() else { panic!("a pilot is for s-bpe") };
    assert_eq!(policy.batch_lengths(60).unwrap()[0], 12);
    assert_eq!((plain.pilot(), plain.problem().budget(), plain.batch_count()), (12, 60, Some(4)));
    let box_of = |said: &str| format!("{said}[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let lengths = spec(&box_of("pilot = 6\nbatches = [10, 20]\n"));
    assert_eq!((lengths.problem().budget(), lengths.batch_count()), (36, Some(3)));
    let plates = spec(&box_of("pilot = 20\nplate = 24\nplates = 2\ncontrols = 2\n"));
    assert_eq!((plates.problem().budget(), plates.batch_count()), (64, Some(3)));
    for (text, word) in [
        ("budget = 20\npilot = 20\n", "smaller than the budget"),
        ("budget = 20\npilot = 0\n", "at least 1"),
        ("budget = 20\npilot = 5\nstrategy = \"gp-ucb\"\n", "only s-bpe"),
        ("budget = 20\nstrategy = { name = \"s-bpe\", pilot = 5 }\n", "top of the file"),
        ("budget = 20\npilot = 5\nstrategy = { name = \"s-bpe\", rules = \"paper\" }\n", "no pilot"),
        ("pilot = 23\nplate = 24\nplates = 2\ncontrols = 2\n", "fit on a plate"),
        ("budget = 30\npilot = 6\nbatches = [10, 20]\n", "and of the pilot's"),
    ] {
        let error = refused(&box_of(text));
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn premises_are_fixed_after_the_pilot_and_then_stay() {
    let (_directory, mut study) = begun("");
    let pilot = batch(&study);
    assert_eq!((pilot.len(), study.status().unwrap().awaits_premises), (12, true));
    let error = study.ask(&AskRequest::new("worker", 1)).unwrap_err();
    assert!(matches!(error, Error::PremisesAwaited { .. }) && error.to_string().contains("sigmabar premises"), "{error}");
    assert_eq!(study.recommend().unwrap().unwrap().label(), Label::Estimated, "the pilot alone proves nothing");
    // Half of the premises are none.
    let half = spec(&file("norm_bound = 2\n"));
    assert_eq!(study.amend(&half).unwrap(), ["norm_bound"]);
    assert!(matches!(study.ask(&AskRequest::new("worker", 1)), Err(Error::PremisesAwaited { .. })));
    // One's mind may be changed as long as nothing was planned by them.
    study.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 7")))).unwrap();
    study.amend(&spec(&file(PREMISES))).unwrap();
    assert!(!study.status().unwrap().awaits_premises);
    let second = ask(&study, "worker", usize::MAX);
    for (said, key) in [
        (PREMISES.replace("bound = 2", "bound = 0.5"), "norm_bound"),
        (PREMISES.replace("gaussian = 0.1", "gaussian = 0.01"), "noise"),
        (PREMISES.replace("lengthscale = 0.3", "lengthscale = 0.9"), "kernel"),
        (format!("{PREMISES}prior_mean = 1\n"), "prior_mean"),
        (format!("{PREMISES}unit = 2\n"), "unit"),
        (format!("{PREMISES}tau = 0.2\n"), "tau"),
        (format!("{PREMISES}learnt_from = \"elsewhere\"\n"), "learnt_from"),
        (format!("{PREMISES}failures = \"unrelated\"\n"), "failures"),
    ] {
        match study.amend(&spec(&file(&said))) {
            Err(Error::Unamendable { key: found, reason }) => {
                assert!(found == key && reason.contains("after the pilot"), "{found}: {reason}")
            }
            other => panic!("{key}: {other:?}"),
        }
    }
    // Nor is the pilot made to vanish.
    let without = spec(&file(PREMISES).replace("pilot = 12\n", "").replace("60", "48"));
    assert!(matches!(study.amend(&without), Err(Error::Unamendable { .. })));
    tell(&study, &second);
    finish(&study);
    let advice = study.recommend().unwrap().unwrap();
    let premises = &advice.certificate.premises;
    assert_eq!(advice.label(), Label::Certified, "{:?}", advice.certificate.weak_premises());
    assert_eq!((premises.pilot.unwrap().value, premises.observations.value), (12, 48));
    assert_eq!((premises.kernel.origin, premises.noise.origin), (Origin::LearntElsewhere, Origin::LearntElsewhere));
    // Whoever starts again from the rows comes to the same.
    assert_eq!(Study::open(study.file(), None).unwrap().recommend().unwrap().unwrap(), advice);
    let batches = study.batches().unwrap();
    assert_eq!((batches[0].report.planned, batches[0].report.gap, batches.len()), (12, None, 4));
}

/// The pilot has taught: its results told once more prove nothing, however few they are. Short numbers that mostly differ are measurements on a coarse instrument.
#[test]
fn results_of_the_pilot_are_not_told_a_second_time() {
    let label = |copied: usize, decimals: i32| {
        let (_directory, mut study) = begun("");
        let rounded = |trial: &AskedTrial| {
            let TrialResult::Value { value, .. } = truth(trial) else { panic!("a value") };
            let scale = 10_f64.powi(decimals);
            TrialResult::Value { value: (value * scale).round() / scale, standard_error: None, replicates: None }
        };
        let pilot = ask(&study, "worker", usize::MAX);
        for trial in &pilot {
            study.tell(trial.id, rounded(trial)).unwrap();
        }
        study.amend(&spec(&file(PREMISES))).unwrap();
        let mut repeats = 0;
        while let Asked::Trials(trials) = study.ask(&AskRequest::new("worker", usize::MAX)).unwrap() {
            for trial in trials {
                let taught = pilot.iter().find(|old| old.values == trial.values);
                repeats += usize::from(taught.is_some());
                study.tell(trial.id, rounded(taught.filter(|_| repeats <= copied).unwrap_or(&trial))).unwrap();
            }
        }
        assert!(repeats >= 3, "{repeats}");
        let advice = study.recommend().unwrap().unwrap();
        (advice.label(), advice.certificate.premises.taught.map_or(0, |taught| taught.value) > 0)
    };
    for copied in [usize::MAX, 1] {
        assert_eq!(label(copied, 12), (Label::Estimated, true), "{copied}");
    }
    assert_eq!(label(usize::MAX, 2), (Label::Estimated, true));
    assert_eq!(label(0, 12), (Label::Certified, false));
    assert_eq!(label(0, 3), (Label::Certified, false));
}

#[test]
fn two_who_have_the_study_open_cannot_move_premises_under_a_batch() {
    let (_directory, mut study) = begun(PREMISES);
    batch(&study);
    let mut other = Study::open(study.file(), None).unwrap();
    ask(&study, "worker", 3);
    assert!(matches!(other.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 0.5")))), Err(Error::Unamendable { .. })));
    // And the other way round: who planned by premises that were changed meanwhile writes nothing.
    let (_directory, mut study2) = begun(PREMISES);
    batch(&study2);
    let other = Study::open(study2.file(), None).unwrap();
    study2.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 3")))).unwrap();
    assert!(matches!(other.ask(&AskRequest::new("worker", 1)), Err(Error::Amended { .. })));
    assert!(study.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 3")))).is_err());
}

#[test]
fn what_was_measured_before_the_premises_is_in_no_claim() {
    let row =
        |x: f64, y: f64| ImportedRow::new(vec![Value::Float(x)], TrialResult::Value { value: y, standard_error: None, replicates: None });
    let (_directory, study) = begun("");
    let fixed = study.import_as(&[row(3.0, 0.5)], Collected::DeclaredFixed).unwrap_err();
    assert!(fixed.to_string().contains("pilot"), "{fixed}");
    study.import(&[row(3.0, 0.5)]).unwrap();

    // The pilot may be corrected and tried again as one likes: nothing rests on it. What follows may not.
    let end = |spoil_pilot: bool, spoil_claim: bool| {
        let (directory, mut study) = begun("");
        let trials = ask(&study, "worker", usize::MAX);
        tell(&study, &trials[1..]);
        study.tell(trials[0].id, TrialResult::Failed { reason: "dropped".into() }).unwrap();
        if spoil_pilot {
            study.retry_failed().unwrap();
            tell(&study, &ask(&study, "worker", 1));
        }
        study.amend(&spec(&file(PREMISES))).unwrap();
        let second = batch(&study);
        let other = TrialResult::Value { value: 0.123, standard_error: None, replicates: None };
        if spoil_pilot {
            study.replace(2, &other, "misread").unwrap();
        }
        if spoil_claim {
            study.replace(second[0].id, &other, "misread").unwrap();
        }
        finish(&study);
        let advice = study.recommend().unwrap().unwrap();
        drop(directory);
        advice
    };
    let (plain, spoilt, broken) = (end(false, false), end(true, false), end(false, true));
    assert_eq!(plain.label(), Label::Certified, "{:?}", plain.certificate.weak_premises());
    assert_eq!((spoilt.label(), spoilt.gap, &spoilt.values), (Label::Certified, plain.gap, &plain.values));
    assert_eq!(broken.label(), Label::Estimated);
}

/// A budget that grows after the pilot lengthens the batches that follow, and leaves the pilot what it was.
#[test]
fn a_budget_may_grow_after_the_pilot() {
    let (_directory, mut study) = begun(PREMISES);
    batch(&study);
    study.amend(&spec(&file(PREMISES).replace("budget = 60", "budget = 84"))).unwrap();
    finish(&study);
    let planned: Vec<usize> = study.batches().unwrap().iter().map(|row| row.report.planned).collect();
    assert_eq!((planned[0], planned.len(), planned.iter().sum::<usize>()), (12, 4, 84));
    assert_eq!(study.recommend().unwrap().unwrap().label(), Label::Certified);
}

/// Of a long table a sample teaches, and all of it is named: a row that is told again was either noticed, or has taught nothing.
#[test]
fn every_row_that_teaches_is_named() {
    let text = "budget = 40\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let row = |i: u32| {
        let x = (0.618_033_988_75 * f64::from(i)).fract();
        let noise = (0.754_877_666 * f64::from(i + 1) * f64::from(i + 7)).fract() - 0.5;
        let result = TrialResult::Value { value: 50.0 + 10.0 * (6.0 * x).sin() + 3.0 * noise, standard_error: None, replicates: None };
        ImportedRow::new(vec![Value::Float(x)], result)
    };
    let table: Vec<ImportedRow> = (0..3000).map(row).collect();
    let learn = |rows: &[ImportedRow]| Pilot::new(&spec(text), rows, "table.csv").unwrap().learn(false, 1).unwrap();
    let learnt = learn(&table);
    let is_named = |row: &&ImportedRow| {
        let TrialResult::Value { value, .. } = row.result else { return false };
        learnt.rows.holds(&row.values, value, 0.0)
    };
    let named: Vec<ImportedRow> = table.iter().filter(is_named).cloned().collect();
    assert_eq!((named.len(), learnt.results), (1000, 1000), "as many as the file has room for");
    assert_eq!(learn(&named), learnt, "the others teach nothing");
    let written = format!("{}{text}", learnt.to_toml(Some(Path::new("table.csv"))));
    assert!(StudySpec::from_toml(&written, Path::new(".")).is_ok(), "and the file is read back");
    // A short table is named whole.
    assert_eq!(learn(&table[..300]).rows.len(), 300);
}

/// Each well of a setting is a measurement: one that is a row of the table was told there, though the mean of the wells was not.
#[test]
fn a_well_that_taught_is_noticed_in_the_mean_of_its_setting() {
    let text = "budget = 20\nreplicates = 2\nbatches = 2\nseed = 5\n[parameters.x]\ntype = \"int\"\nlow = 0\nhigh = 20\n";
    let value = |x: f64, i: u64| 50.0 + 10.0 * (0.3 * x).sin() + (0.754_877_666 * (i + 1) as f64 * (i + 7) as f64).fract();
    let told = |value: f64| TrialResult::Value { value, standard_error: None, replicates: None };
    let table: Vec<ImportedRow> =
        (0..=20).map(|x| ImportedRow::new(vec![Value::Int(x)], told(value(x as f64, x.unsigned_abs())))).collect();
    let learnt = Pilot::new(&spec(text), &table, "table.csv").unwrap().learn(false, 1).unwrap();
    let written = format!("{}{text}", learnt.to_toml(Some(Path::new("table.csv"))));
    for copied in [0, 2] {
        let directory = tempfile::tempdir().unwrap();
        let study = Study::create(&directory.path().join("s.db"), "s", &spec(&written)).unwrap();
        let mut left: usize = copied;
        while let Asked::Trials(trials) = study.ask(&AskRequest::new("worker", usize::MAX)).unwrap() {
            let mut sheet = FilledSheet::default();
            for trial in trials {
                let x = trial.values[0].1.as_number().unwrap();
                let first = if left > 0 { value(x, x as u64) } else { value(x, 100 + 2 * trial.id) };
                left = left.saturating_sub(1);
                let wells = vec![("A1".to_owned(), Some(first)), ("B1".to_owned(), Some(value(x, 101 + 2 * trial.id)))];
                sheet.results.push((trial.id, mean_of(&wells, None).unwrap()));
                sheet.wells.insert(trial.id, wells);
            }
            study.tell_sheet(&sheet).unwrap();
        }
        let taught = study.recommend().unwrap().unwrap().certificate.premises.taught.map_or(0, |taught| taught.value);
        assert_eq!(taught, copied);
    }
}

/// Yields over temperature and solvent: how much each solvent moves the optimum is said.
fn yields(count: u32, apart: f64, words: &[&str]) -> Vec<ImportedRow> {
    let row = |i: u32| {
        let (t, word) = ((0.618_033_988_75 * f64::from(i)).fract(), i as usize % words.len());
        let noise = (0.754_877_666 * f64::from(i + 1) * f64::from(i + 7)).fract() - 0.5;
        let value = 50.0 + 10.0 * (5.0 * t + apart * word as f64).sin() + noise;
        let values = vec![Value::Float(t), Value::Choice(words[word].into())];
        ImportedRow::new(values, TrialResult::Value { value, standard_error: None, replicates: None })
    };
    (0..count).map(row).collect()
}

/// A range and a solvent, as a product and as a list of all combinations on a grid.
fn with_solvent() -> String {
    "budget = 60\n[parameters.t]\ntype = \"float\"\nlow = 0\nhigh = 1\n[parameters.solvent]\ntype = \"categorical\"\nchoices = [\"dmso\", \"thf\", \"dmf\"]\n".into()
}

/// What is written is what was judged: read back from the file, the premises exclude the same norms and suggest the same, under the kernel that the study has for choices.
#[test]
fn choices_are_learnt_like_numbers() {
    let words = ["dmso", "thf", "dmf"];
    let learn = |text: &str, rows: &[ImportedRow]| {
        let pilot = Pilot::new(&spec(text), rows, "table.csv").unwrap();
        let learnt = pilot.learn(false, 1).unwrap();
        let written = spec(&format!("{}{text}", learnt.to_toml(Some(Path::new("table.csv")))));
        let verdict = pilot.judge(written.problem()).unwrap().unwrap();
        assert!(
            (verdict.least_norm, verdict.suggested > 0.999 * learnt.norm_bound) == (learnt.least_norm, true),
            "{verdict:?}: {learnt:?}"
        );
        assert!(verdict.suggested < 1.001 * learnt.norm_bound);
        (pilot, learnt, written)
    };
    let (pilot, same, written) = learn(&with_solvent(), &yields(36, 0.0, &words));
    let (_, apart, _) = learn(&with_solvent(), &yields(36, 2.0, &words));
    // Solvents that do the same are alike, and others are not.
    assert!(same.alike[0].1 > 0.8 && apart.alike[0].1 < 0.6, "{:?} and {:?}", same.alike, apart.alike);
    assert!(same.untaught.is_empty() && same.norm_bound < apart.norm_bound, "{} and {}", same.norm_bound, apart.norm_bound);
    // A result that taught is known by its solvent too.
    let TrialResult::Value { value, .. } = yields(1, 0.0, &words)[0].result else { panic!("a value") };
    let taught = |solvent: &str| same.rows.holds(&[Value::Float(0.0), Value::Choice(solvent.into())], value, 0.0);
    assert!(taught("dmso") && !taught("thf"));
    let shown = format!("{:?}", written.problem().kernel().unwrap().value);
    assert!(shown.contains("Matern") && shown.contains("Hamming"), "{shown}");
    // Functions to look at: one line for each solvent, and alike where solvents are.
    let drawn = pilot.functions(&same, 3).unwrap().unwrap();
    assert_eq!((drawn.along.as_str(), drawn.choices.as_slice()), ("t", &words.map(|word| format!("solvent = {word}"))[..]));
    let spread = |lines: &[Vec<f64>]| (0..201).map(|i| (lines[0][i] - lines[1][i]).abs()).sum::<f64>() / 201.0;
    let (_, other, _) = learn(&with_solvent(), &yields(36, 2.0, &words));
    let wide = pilot.functions(&other, 3).unwrap().unwrap();
    assert!(drawn.functions.len() == 3 && drawn.functions.iter().flatten().all(|line| line.len() == 201));
    assert!(drawn.functions.iter().map(|f| spread(f)).sum::<f64>() < wide.functions.iter().map(|f| spread(f)).sum::<f64>());
}

/// A list of words, choices alone, a choice that was never measured, and a number that never changed: none of them is refused, and what is a guess is called one.
#[test]
fn whatever_a_space_has_its_premises_are_learnt() {
    let rows: Vec<String> =
        (0..36).map(|i| format!("[{}, \"{}\"]", f64::from(i / 3) / 11.0, ["dmso", "thf", "dmf"][i as usize % 3])).collect();
    let list = format!("budget = 60\ncandidates = {{ columns = [\"t\", \"solvent\"], rows = [{}] }}\n", rows.join(", "));
    let result = |value: f64| TrialResult::Value { value, standard_error: None, replicates: None };
    let measured = |(i, effect): (u32, f64)| {
        ImportedRow::new(
            vec![Value::Float(f64::from(i / 3) / 11.0), Value::Choice(["dmso", "thf", "dmf"][i as usize % 3].into())],
            result((0.4 * f64::from(i / 3)).sin() + effect * f64::from(i % 3) + 0.1 * (0.7 * f64::from(i * i)).sin()),
        )
    };
    let learn = |text: &str, rows: &[ImportedRow]| {
        let pilot = Pilot::new(&spec(text), rows, "table.csv").unwrap();
        let learnt = pilot.learn(false, 1).unwrap();
        let lines = learnt.to_toml(Some(Path::new("table.csv")));
        let verdict = pilot.judge(spec(&format!("{lines}{text}")).problem()).unwrap().unwrap();
        assert!((verdict.suggested / learnt.norm_bound - 1.0).abs() < 1e-3, "{verdict:?}: {learnt:?}");
        (learnt, lines)
    };
    let (alike, _) = learn(&list, &(0..36).map(|i| measured((i, 0.0))).collect::<Vec<_>>());
    let (apart, lines) = learn(&list, &(0..36).map(|i| measured((i, 2.0))).collect::<Vec<_>>());
    assert!(alike.alike[0].1 > 0.8 && apart.alike[0].1 < alike.alike[0].1, "{:?} and {:?}", alike.alike, apart.alike);
    assert!(lines.contains("values under two choices of solvent correlate by"), "{lines}");

    let choices = "budget = 30\n[parameters.solvent]\ntype = \"categorical\"\nchoices = [\"dmso\", \"thf\", \"dmf\"]\n[parameters.base]\ntype = \"categorical\"\nchoices = [\"a\", \"b\"]\n";
    let pair = |i: u32| {
        let values =
            [["dmso", "thf", "dmf"][i as usize % 3], ["a", "b"][i as usize / 3 % 2]].map(|word| Value::Choice(word.into())).to_vec();
        ImportedRow::new(values, result(f64::from(i % 3) + 0.3 * (1.3 * f64::from(i)).sin()))
    };
    let (only, _) = learn(choices, &(0..18).map(pair).collect::<Vec<_>>());
    assert!(only.alike.len() == 2 && only.alike[0].1 < only.alike[1].1, "the base does nothing: {:?}", only.alike);

    let (untold, lines) = learn(&with_solvent(), &yields(30, 1.0, &["dmso", "thf"]));
    assert_eq!(untold.untaught, ["solvent = dmf is in none of them"]);
    assert!(lines.contains("# solvent = dmf is in none of them: what is assumed there is a guess"), "{lines}");
    let (one, _) = learn(&with_solvent(), &yields(30, 1.0, &["thf"]));
    assert_eq!(one.untaught, ["solvent was thf in all of them"]);
    let error = Pilot::new(&spec(&with_solvent()), &yields(30, 1.0, &["dmso", "water"]), "table.csv").unwrap_err().to_string();
    assert!(error.contains("solvent") && error.contains("water"), "{error}");
}

/// Premises that were learnt from results which the file does not name: that none of these is told again is somebody's word, and without it the answer is an estimate. What is certain to be
/// noticed is what is in the study's own records.
#[test]
fn premises_from_results_that_nobody_names_are_somebodys_word() {
    let end = |said: &str| {
        let directory = tempfile::tempdir().unwrap();
        let text = file(&format!("{said}{PREMISES}")).replace("pilot = 12\n", "").replace("budget = 60", "budget = 48");
        let mut study = Study::create(&directory.path().join("study.db"), "study", &spec(&text)).unwrap();
        finish(&study);
        let advice = study.recommend().unwrap().unwrap();
        // What was written when the study was made stays.
        let without = spec(&text.replace(said, ""));
        let kept = said.is_empty() || matches!(study.amend(&without), Err(Error::Unamendable { .. }));
        (advice, (study, directory), kept)
    };
    let (plain, ..) = end("");
    assert_eq!((plain.label(), plain.certificate.premises.taught), (Label::Certified, None));
    let (unnamed, (study, _directory), is_kept) = end("learnt_from = \"old.csv\"\n");
    assert!(is_kept && unnamed.certificate.range.is_none());
    let reasons = unnamed.certificate.weak_premises();
    assert!(unnamed.label() == Label::Estimated && reasons.len() == 1 && reasons[0].contains("which are not named"), "{reasons:?}");
    assert!(study.standing().unwrap().is_none(), "nor is there a range");
    let (declared, _, is_kept) = end("learnt_from = \"old.csv\"\ndistinct_rows = true\n");
    let taught = declared.certificate.premises.taught.unwrap();
    assert_eq!((declared.label(), taught.value, taught.origin), (Label::Certified, 0, Origin::Declared));
    assert!(is_kept && declared.certificate.to_string().contains("which are not named"), "{}", declared.certificate);
}

/// Results of which noise alone explains as much as a function teach no norm: one learnt from them is mostly chance, and too small.
#[test]
fn results_that_are_noise_alone_teach_nothing() {
    let text = "budget = 30\nbatches = 2\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let learnt = |amplitude: f64| {
        let row = |i: u32| {
            let x = (0.618_033_988_75 * f64::from(i)).fract();
            let noise = (0.754_877_666 * f64::from(i + 1) * f64::from(i + 7)).fract() - 0.5;
            let value = 50.0 + amplitude * (6.0 * x).sin() + 3.0 * noise;
            ImportedRow::new(vec![Value::Float(x)], TrialResult::Value { value, standard_error: None, replicates: None })
        };
        Pilot::new(&spec(text), &(0..24).map(row).collect::<Vec<_>>(), "table.csv").unwrap().learn(false, 1)
    };
    assert!(learnt(10.0).is_ok());
    let said = learnt(0.0).unwrap_err().to_string();
    assert!(said.contains("24 results that differ hardly more than noise alone makes them"), "{said}");
}
