//! The model of everything measured is learnt and fitted once for all who ask before the next result.

use sigmabar::strategy::{Ask, Outcome, Problem, Random};
use sigmabar::{BoxDomain, Domain, Points, Policy, Strategy};

fn measured() -> Strategy {
    let domain = Domain::Box(BoxDomain::new(vec![0.0], vec![1.0]).unwrap());
    let mut run = Strategy::new(Problem::new(domain, 30).unwrap(), Policy::Random(Random::default())).unwrap();
    let Ask::Trials(trials) = run.ask(30).unwrap() else { panic!("it plans") };
    for trial in &trials[..29] {
        run.tell(trial.id, Outcome::Value((6.0 * trial.point[0]).sin())).unwrap();
    }
    run
}

#[test]
fn recommendation_pictures_and_copies_share_one_model_until_something_is_told() {
    let run = measured();
    let points = Points::from_rows(&[[0.25], [0.75]]).unwrap();
    run.recommend().unwrap().expect("something was measured");
    let (first, copy) = (run.posterior().unwrap().unwrap(), run.clone());
    let second = copy.posterior().unwrap().unwrap();
    assert!(std::ptr::eq(first.posterior(), second.posterior()), "a copy of the run has the model too");
    run.forget_posterior();
    let third = copy.posterior().unwrap().unwrap();
    assert!(!std::ptr::eq(first.posterior(), third.posterior()), "what was forgotten is fitted again");
    assert_eq!(first.mean(points.view()).unwrap(), third.mean(points.view()).unwrap(), "and the same");
    // One more result, far from what the model says: neither it nor what was learnt may stay.
    let mut told = run.clone();
    let last = told.ledger().trials()[29].id;
    told.tell(last, Outcome::Value(25.0)).unwrap();
    let after = told.posterior().unwrap().unwrap();
    assert_ne!(first.mean(points.view()).unwrap(), after.mean(points.view()).unwrap());
    assert_eq!(told, Strategy::from_bytes(&told.to_bytes()).unwrap(), "what is kept to be quick is not saved");
    assert_eq!(first.mean(points.view()).unwrap(), run.posterior().unwrap().unwrap().mean(points.view()).unwrap());
}
