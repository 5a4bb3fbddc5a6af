//! A contextual policy in the runner.

use sigmabar::simulated::SimulatedNoise;
use sigmabar::strategy::EkUcb;
use sigmabar::{BoxDomain, Expansion, Kernel, Points, Policy, Problem};
use sigmabar_experiment::{Benchmark, Experiment, TestFunction};

fn actions() -> Points {
    Points::on_line((0..6).map(|i| f64::from(i) / 5.0).collect()).unwrap()
}

fn context(step: usize) -> f64 {
    (step * 7 % 10) as f64 / 10.0
}

#[test]
fn the_runner_gives_contexts_and_counts_regret_against_the_best_open_action() {
    let kernel = Kernel::squared_exponential(0.4, 1.0).unwrap();
    let centres = Points::from_rows(&[vec![0.2, 0.9], vec![0.8, 0.1], vec![0.5, 0.5]]).unwrap();
    let expansion = Expansion::new(kernel.clone(), centres, vec![1.0, 1.0, -0.5]).unwrap();
    let benchmark = |_| {
        let function = TestFunction::expansion("contextual", expansion.clone(), BoxDomain::unit(2)?)?;
        Benchmark::new(function, SimulatedNoise::Gaussian { std_dev: 0.05 }, 60)?.assuming_kernel(kernel.clone())
    };
    let policy = |_: &Problem| Ok(Policy::EkUcb(EkUcb::new(actions())));
    let experiment = Experiment::new("ek-ucb", benchmark, policy, 0..6).unwrap();
    let rows = experiment.with_contexts(|_, step| vec![context(step)]).run(&|| 0.0).unwrap();
    assert_eq!(rows.len(), 6 * 60);
    let mut late = 0.0;
    for seed in 0..6_u64 {
        let regret: Vec<f64> = rows.iter().filter(|r| r.seed == seed).map(|r| r.cumulative_regret).collect();
        assert!(regret.windows(2).all(|w| w[1] >= w[0] - 1e-12), "the best open action is never beaten");
        late += (regret[59] - regret[39]) / (6.0 * 20.0);
    }
    let value = |c: f64, a: f64| expansion.value(&[c, a]);
    let average = |c: f64| {
        let values: Vec<f64> = (0..6).map(|i| value(c, f64::from(i) / 5.0)).collect();
        values.iter().copied().fold(f64::MIN, f64::max) - values.iter().sum::<f64>() / 6.0
    };
    let random = (0..10).map(|s| average(context(s))).sum::<f64>() / 10.0;
    assert!(late < 0.25 * random, "{late} against {random} at random");
    assert!(rows.iter().all(|r| r.simple_regret.is_none()));
}
