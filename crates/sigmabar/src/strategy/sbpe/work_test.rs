//! What judging a run under other premises costs, in multiplications.

use super::Sbpe;
use crate::domain::{BoxDomain, Domain, ListDomain};
use crate::expansion::Expansion;
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::points::Points;
use crate::strategy::{Ask, Outcome, Policy, Problem, Strategy};
use crate::work;

/// A run to its end, and the multiplications that analysing its batches took: planning them is not counted.
fn analysed(domain: Domain, budget: usize) -> (Strategy, usize) {
    let kernel = Kernel::matern(2.5, 0.3, 1.0).expect("valid");
    let centres = Points::new((0..40).map(|i| (0.37 * f64::from(i * i + 1)).fract()).collect(), 2).expect("valid");
    let function = Expansion::random(kernel.clone(), centres, 2.0, 5).expect("valid");
    let problem = Problem::new(domain, budget)
        .and_then(|p| p.with_kernel(kernel))
        .and_then(|p| p.with_norm_bound(2.0))
        .and_then(|p| p.with_noise(Noise::gaussian(0.1)?))
        .expect("a complete problem");
    // Planned by the norm that is claimed: else analysing a batch contains a replay, and more would be allowed.
    let policy = Policy::Sbpe(Box::new(Sbpe::default().with_plan_factor(1.0).expect("a factor")));
    let (mut run, mut cost) = (Strategy::new(problem, policy).expect("complete"), 0);
    while let Ask::Trials(trials) = run.ask(usize::MAX).expect("plans") {
        for trial in trials {
            let value = function.value(&trial.point) + 0.1 * (7.0 * trial.id as f64).sin();
            let (told, spent) = work::of(|| run.tell(trial.id, Outcome::Value(value)));
            told.expect("asked for");
            cost += spent;
        }
    }
    (run, cost)
}

#[test]
fn a_curve_of_twenty_values_costs_three_analyses_at_most() {
    let grid = Points::new((0..225).flat_map(|i| [f64::from(i % 15) / 14.0, f64::from(i / 15) / 14.0]).collect(), 2).expect("valid");
    let list = Domain::List(ListDomain::new(grid).expect("distinct"));
    let square = Domain::Box(BoxDomain::unit(2).expect("valid"));
    for (name, domain, budget) in [("list", list, 120), ("box", square, 60)] {
        let (run, analysis) = analysed(domain, budget);
        let (map, curve) = work::of(|| run.premise_map(&[1.0]).expect("replays"));
        let norms: Vec<f64> = map[0].curve.iter().map(|point| point.norm_bound).collect();
        assert_eq!(norms.len(), 20);
        let ratio = curve as f64 / analysis as f64;
        assert!(ratio <= 3.0, "{name}: {ratio:.2} × the {analysis} multiplications of the analysis");
        // One norm bound after the other shares nothing, and would be refused.
        let (_, apart) = work::of(|| norms.iter().map(|&norm| run.gap_under(norm, 1.0).expect("replays")).collect::<Vec<_>>());
        assert!(apart > 3 * analysis, "{name}: {apart} of {analysis}");
        println!("{name}: curve {ratio:.2}, one by one {:.2} × the analysis", apart as f64 / analysis as f64);
    }
}
