//! The main story: a certified run of a function whose truth is known.

use crate::support;

use sigmabar::Label;
use sigmabar_study::{RunEnd, RunEvent, RunOptions, Study, Survivors, TrialStatus, Value};
use support::spec;

/// The built-in hills, written down once more.
fn hills(values: &[(String, Value)]) -> f64 {
    let [x, y] = [0, 1].map(|i| values[i].1.as_number().unwrap());
    let bump = |(a, b, height): (f64, f64, f64)| height * (-((x - a).powi(2) + (y - b).powi(2)) / 0.18).exp();
    [(0.7, 0.65, 1.2), (0.25, 0.3, 0.8), (0.8, 0.1, -0.7)].map(bump).iter().sum()
}

#[test]
fn a_certified_run_of_a_function_of_known_norm() {
    let spec = spec(
        r#"
        budget = 150
        batches = 3
        norm_bound = 2
        noise = { gaussian = 0.05 }
        kernel = { name = "squared-exponential", lengthscale = 0.3 }
        objective = { builtin = "hills", noise = 0.05 }
        [parameters.east]
        type = "float"
        low = 0
        high = 1
        [parameters.north]
        type = "float"
        low = 0
        high = 1
        "#,
    );
    let directory = tempfile::tempdir().unwrap();
    let study = Study::create(&directory.path().join("hills.db"), "hills", &spec).unwrap();
    let mut told = 0;
    let mut observer = |event| told += usize::from(matches!(event, RunEvent::Told { .. }));
    let end =
        study.run(&RunOptions { parallel: 2, ..RunOptions::default() }, &mut observer, &sigmabar::linalg::Interrupt::default()).unwrap();
    assert_eq!((end, told), (RunEnd::Finished, 150));

    let advice = study.recommend().unwrap().unwrap();
    assert_eq!(advice.label(), Label::Certified, "{}", advice.certificate);
    let truth = hills(&advice.values);
    let highest = (0..=100)
        .flat_map(|i| (0..=100).map(move |j| (i, j)))
        .map(|(i, j)| hills(&[("east".into(), Value::Float(f64::from(i) / 100.0)), ("north".into(), Value::Float(f64::from(j) / 100.0))]));
    let highest = highest.fold(f64::NEG_INFINITY, f64::max);
    assert!(advice.lower <= truth && truth <= advice.upper, "{} in [{}, {}]", truth, advice.lower, advice.upper);
    assert!(advice.gap.is_finite() && highest - truth <= advice.gap, "gap {}", advice.gap);
    assert_eq!(
        advice.best_observed.unwrap().id,
        study.trials().unwrap().iter().max_by(|a, b| a.value.partial_cmp(&b.value).unwrap()).unwrap().id
    );

    // The film of what is ruled out: cells in the parameters' own units, fewer from batch to batch.
    let batches = study.batches().unwrap();
    let shares: Vec<f64> = batches.iter().map(|batch| batch.report.survivors.unwrap().number()).collect();
    assert!(batches.len() == 3 && shares[2] < shares[0], "{shares:?}");
    let Some(Survivors::Cells(cells)) = &batches[2].survivors else { panic!("{:?}", batches[2].survivors) };
    let side = |low: &Value, high: &Value| high.as_number().unwrap() - low.as_number().unwrap();
    let area: f64 = cells.iter().map(|cell| side(&cell.low[0], &cell.high[0]) * side(&cell.low[1], &cell.high[1])).sum();
    assert!((area - shares[2]).abs() < 1e-9, "the cells cover {area}, the report says {}", shares[2]);
    assert_eq!(study.status().unwrap().count(TrialStatus::Done), 150);
}
