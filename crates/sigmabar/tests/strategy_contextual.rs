//! Contextual optimism on every kind of domain, and with results from before the run.

use sigmabar::domain::{Column, Constraint, ListDomain, SpaceDomain};
use sigmabar::strategy::EkUcb;
use sigmabar::{Ask, Collected, Domain, Error, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};

fn actions() -> Points {
    Points::on_line((0..6).map(|i| f64::from(i) / 5.0).collect()).unwrap()
}

fn problem(domain: Domain, budget: usize) -> Problem {
    let kernel = Kernel::squared_exponential(0.4, 1.0).unwrap();
    Problem::new(domain, budget).unwrap().with_kernel(kernel).unwrap().with_noise(Noise::gaussian(0.1).unwrap()).unwrap()
}

fn context(step: usize) -> f64 {
    (step * 7 % 10) as f64 / 10.0
}

#[test]
fn actions_that_a_constraint_forbids_are_never_chosen() {
    let columns = vec![Column::float(0.0, 1.0), Column::float(0.0, 2.0)];
    // Reward grows with the action, so that without the constraint the largest would be chosen.
    let space = SpaceDomain::new(columns, vec![Constraint::at_most([(0, 1.0), (1, 1.0)], 1.3)]).unwrap();
    let mut run = Strategy::new(problem(Domain::Space(space), 25), Policy::EkUcb(EkUcb::new(actions()))).unwrap();
    let mut largest = 0.0_f64;
    for step in 0..25 {
        run.set_context(&[context(step)]).unwrap();
        let Ask::Trials(trials) = run.ask(1).unwrap() else { panic!("a trial") };
        let point = Points::new(trials[0].point.clone(), 2).unwrap();
        let natural = run.problem().domain().decode(point.view()).unwrap();
        let state = natural.row(0);
        assert!((state[0] - context(step)).abs() < 1e-12 && state[0] + state[1] <= 1.3 + 1e-12, "{state:?}");
        assert!(run.problem().domain().contains(state) && trials[0].candidate.is_none());
        largest = largest.max(state[1]);
        run.tell(trials[0].id, Outcome::Value(state[1])).unwrap();
    }
    assert!(largest >= 0.8, "the largest allowed actions are found: {largest}");
    let mut fresh = Strategy::new(run.problem().clone(), Policy::EkUcb(EkUcb::new(Points::on_line(vec![1.9]).unwrap()))).unwrap();
    fresh.set_context(&[0.9]).unwrap();
    assert!(matches!(fresh.ask(1), Err(Error::Premise { .. })), "no action is open");
}

#[test]
fn on_a_list_the_candidate_is_the_state_s_own() {
    let rows: Vec<Vec<f64>> = (0..60).filter(|i| i % 7 != 0).map(|i| vec![f64::from(i / 6) / 10.0, f64::from(i % 6) / 5.0]).collect();
    let list = ListDomain::new(Points::from_rows(&rows).unwrap()).unwrap();
    let mut run = Strategy::new(problem(Domain::List(list), 15), Policy::EkUcb(EkUcb::new(actions()))).unwrap();
    for row in [3, 20, 41] {
        run.attach(&rows[row], Outcome::Value(rows[row][1]), Collected::Adaptive).unwrap();
    }
    for step in 0..15 {
        run.set_context(&[context(step)]).unwrap();
        let Ask::Trials(trials) = run.ask(1).unwrap() else { panic!("a trial") };
        let candidate = trials[0].candidate.unwrap();
        assert_eq!(trials[0].point, rows[candidate]);
        assert_eq!(rows[candidate][0], context(step));
        run.tell(trials[0].id, Outcome::Value(rows[candidate][1])).unwrap();
        run = Strategy::from_bytes(&run.to_bytes()).unwrap();
    }
    let Policy::EkUcb(policy) = run.policy() else { panic!("another policy") };
    assert!((3..=18).contains(&policy.dictionary_len()), "states from before the run are offered too: {}", policy.dictionary_len());
    assert!(run.batches().unwrap().windows(2).all(|w| w[0].inducing <= w[1].inducing));
}
