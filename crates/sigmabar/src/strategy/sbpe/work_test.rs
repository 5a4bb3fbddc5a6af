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
fn analysed(domain: Domain, budget: usize, settings: Sbpe) -> (Strategy, usize) {
    let kernel = Kernel::matern(2.5, 0.3, 1.0).expect("valid");
    let dim = domain.dim();
    let centres = Points::new((0..20 * dim as u32).map(|i| (0.37 * f64::from(i * i + 1)).fract()).collect(), dim).expect("valid");
    let function = Expansion::random(kernel.clone(), centres, 2.0, 5).expect("valid");
    let problem = Problem::new(domain, budget)
        .and_then(|p| p.with_kernel(kernel))
        .and_then(|p| p.with_norm_bound(2.0))
        .and_then(|p| p.with_noise(Noise::gaussian(0.1)?))
        .expect("a complete problem");
    // Planned by the norm that is claimed: else analysing a batch contains a replay, and more would be allowed.
    let policy = Policy::Sbpe(Box::new(settings.with_plan_factor(1.0).expect("a factor")));
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
        let (run, analysis) = analysed(domain, budget, Sbpe::default());
        // What a claim's range costs is spent once, when it is recommended: on a box ten analyses with ends that are five per cent off, and little more with ends within half a per cent.
        let (range, spent) = work::of(|| run.recommend_with_range().expect("replays").and_then(|advice| advice.certificate.range));
        let spent = spent as f64 / analysis as f64;
        println!("{name}: {range:?} for {spent:.2} × the analysis");
        assert!(range.is_some() && spent <= 13.0, "{name}: {spent:.2} × the analysis");
        let (map, curve) = work::of(|| run.premise_map(&[1.0]).expect("replays"));
        let norms: Vec<f64> = map[0].curve.iter().map(|point| point.norm_bound).collect();
        assert_eq!(norms.len(), 20);
        let ratio = curve as f64 / analysis as f64;
        assert!(ratio <= 3.0, "{name}: {ratio:.2} × the {analysis} multiplications of the analysis");
        // One norm bound after the other shares nothing: a third of them would be refused.
        let (_, apart) = work::of(|| norms.iter().step_by(3).map(|&norm| run.gap_under(norm, 1.0).expect("replays")).collect::<Vec<_>>());
        assert!(apart > 3 * analysis, "{name}: {apart} of {analysis}");
        println!("{name}: curve {ratio:.2}, a third of it one by one {:.2} × the analysis", apart as f64 / analysis as f64);
    }
}

/// The plan's inducing points stand for the whole list; claims need no more than the points that were measured, which lose nothing.
#[test]
fn a_short_batch_on_a_long_list_is_analysed_through_its_own_points() {
    let (candidates, dictionary) = (2048, 600);
    let settings = Sbpe::default().with_candidates(candidates).and_then(|s| s.with_max_inducing(dictionary)).expect("valid");
    let (run, cost) = analysed(Domain::Box(BoxDomain::unit(5).expect("valid")), 96, settings);
    let reports = run.batches().expect("analysed");
    assert!(reports.iter().all(|report| report.gap.is_some() && report.inducing.is_some_and(|m| m <= report.planned)), "{reports:?}");
    let lambda = reports.last().and_then(|report| report.certificate.clone()).and_then(|c| c.bounds.residual_norm).expect("certified");
    assert!(lambda.value < 1e-6, "nothing of the data is lost: {}", lambda.value);
    // With the plan's 600 each of four ridges takes twice this, in every batch.
    assert!(cost < 2 * candidates * dictionary * dictionary, "{cost}");
}
