//! What a level that the responses bound may decide.

use super::Sbpe;
use super::elimination::{Batch, Evidence};
use super::premises::Premises;
use super::shares::{Budget, Counted};
use crate::certificate::{Claim, HalfWidth, Widths};
use crate::domain::{Domain, ListDomain};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::points::Points;
use crate::strategy::run::ledger::{Ledger, Outcome};
use crate::strategy::run::problem::Problem;
use std::collections::HashMap;
use std::sync::Arc;

fn problem() -> Problem {
    let points = Points::on_line((0..30).map(|i| f64::from(i) / 29.0).collect()).expect("valid");
    Problem::new(Domain::List(ListDomain::new(points).expect("distinct")), 40)
        .and_then(|p| p.with_kernel(Kernel::squared_exponential(0.2, 1.0)?))
        .and_then(|p| p.with_norm_bound(20.0))
        .and_then(|p| p.with_unknown_level(0.2, 1))
        .expect("a complete problem")
}

/// What one batch shows whose repeats are so far from their means; the means are the same whatever that is.
fn shown(problem: &Problem, scatter: f64) -> Evidence {
    let mut policy = Sbpe::default().with_schedule(super::Schedule::Lengths(vec![40]));
    let mut ledger = Ledger::default();
    ledger.open(policy.plan(problem, &ledger).expect("plans"));
    let trials = ledger.hand_out(usize::MAX);
    let mut times = HashMap::new();
    trials.iter().for_each(|trial| *times.entry(trial.candidate).or_insert(0) += 1);
    let mut told = HashMap::new();
    for trial in trials {
        let (so_far, of) = (told.entry(trial.candidate).or_insert(0), times[&trial.candidate]);
        // Up and down in turn; the last of an odd number is the mean itself.
        let away = if *so_far == of - 1 && of % 2 == 1 { 0.0 } else { scatter * f64::from(1 - 2 * (*so_far % 2)) };
        *so_far += 1;
        ledger.tell(trial.id, Outcome::Value((6.0 * trial.point[0]).sin() + away)).expect("asked for");
    }
    ledger.close();
    let counted = Counted { first: 0, count: 1 };
    let (premises, budget) = (Premises::new(problem).expect("complete"), Budget::of_batch(problem.delta(), 0, counted));
    let batch = Batch { settings: &policy, problem, ledger: &ledger, premises, index: 0, counted, budget };
    let mut state = policy.state.clone().expect("planned");
    batch.evidence(&mut state).expect("fits").expect("arrived")
}

/// The theorem is about weights that were fixed before the noise. A ridge chosen for a point by the noise level (algorithm notes 14.3) is that as long as the level was known before; a
/// level that replicates among the same responses bound (13.3) is a function of their noise, and so would be the weights that it chooses: 13.3 pays for the level by a union bound, which
/// needs that "V does not depend on the noise". (Pairs may look at it, see `ridges::others`: they are about normal noise, of which the scatter is independent of the means.)
#[test]
fn a_level_that_the_same_responses_bound_chooses_no_ridge_for_a_point() {
    let problem = problem();
    let queries = Points::on_line((0..60).map(|i| f64::from(i) / 59.0).collect()).expect("valid");
    let found = [0.01, 1.0].map(|scatter| shown(&problem, scatter));
    let levels = found.each_ref().map(|evidence| evidence.noise.level());
    assert!(levels[1] > 50.0 * levels[0], "the responses decide the level: {levels:?}");
    let [few, many] =
        found.each_ref().map(|evidence| evidence.posterior.centred_widths(&evidence.widths, queries.view()).expect("evaluates"));
    for (own, (means, halves)) in found.iter().map(|evidence| evidence.posterior.information().ridge()).zip([&few, &many]) {
        assert!(halves.iter().all(|half| half.ridge == own) && means.len() == 60, "another ridge than the one that was known before");
    }
    // So that the weights are the same: of equal means they make equal estimates, with equal biases.
    for i in 0..60 {
        let (a, b) = ((few.0[i], few.1[i].bias), (many.0[i], many.1[i].bias));
        assert!((a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9 * a.1, "{a:?} and {b:?}");
    }
    // The rule is not idle: a claim about single points by the default method would have let the level choose.
    let chosen = found.each_ref().map(|evidence| {
        let claim = Claim::new(0.05).and_then(|claim| claim.norm_bound(20.0)).expect("valid");
        let claim = claim.noise(Noise::gaussian(evidence.noise.level()).expect("valid"));
        let widths = Widths::new(Arc::clone(evidence.posterior.information()), &claim).expect("a claim");
        widths.half_widths(queries.view()).expect("evaluates").iter().map(|half: &HalfWidth| half.ridge).collect::<Vec<_>>()
    });
    assert_ne!(chosen[0], chosen[1], "the level decides which ridge serves a point best");
}
