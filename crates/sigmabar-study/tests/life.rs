//! The life of a study through its public face.

use sigmabar_study::{AskRequest, Asked, RunEnd, RunOptions, Study, StudySpec, TrialResult};
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[test]
fn a_certified_run_of_a_builtin_function() {
    let directory = tempfile::tempdir().unwrap();
    let spec = StudySpec::from_toml(
        r#"
        budget = 60
        norm_bound = 3
        noise = { gaussian = 0.05 }
        kernel = { name = "matern", nu = 2.5, lengthscale = 0.3 }
        objective = { builtin = "branin", noise = 0.05 }
        [parameters.x]
        type = "float"
        low = 0
        high = 1
        [parameters.y]
        type = "float"
        low = 0.0
        high = 1.0
        "#,
        Path::new("."),
    )
    .unwrap();
    let study = Study::create(&directory.path().join("a.db"), "a", &spec).unwrap();
    let mut told = 0;
    let end = study.run(
        &RunOptions { parallel: 2, ..RunOptions::default() },
        &mut |event| {
            if matches!(event, sigmabar_study::RunEvent::Told { .. }) {
                told += 1
            }
        },
        &AtomicBool::new(false),
    );
    assert_eq!(end.unwrap(), RunEnd::Finished);
    assert_eq!(told, 60);
    let advice = study.recommend().unwrap().unwrap();
    println!("{advice:?}");
    println!("{:?}", study.status().unwrap());
    for batch in study.batches().unwrap() {
        println!("{:?} {:?}", batch.report, batch.survivors.map(|s| matches!(s, sigmabar_study::Survivors::Cells(c) if !c.is_empty())));
    }
    assert_eq!(study.ask(&AskRequest::new("w", 1)).unwrap(), Asked::Finished);
    assert!(study.tell(0, TrialResult::Value { value: 1.0, standard_error: None }).is_err());
    assert!(toml::from_str::<toml::Table>(&spec.to_toml()).is_ok());
}
