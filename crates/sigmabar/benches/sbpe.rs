//! S-BPE's own time against the budget: `cargo bench --bench sbpe`, or with the budgets wanted.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::domain::ListDomain;
use sigmabar::strategy::Sbpe;
use sigmabar::{Ask, Domain, Expansion, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};
use std::time::Instant;

/// 2500 candidates, d = 2, Matérn-5/2: time(N = 100 000) at most 14 × time(N = 10 000), at most 600 inducing points.
fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let budgets = if given.is_empty() { vec![10_000, 100_000] } else { given };
    println!("threads {}", sigmabar::linalg::threads());
    let times: Vec<f64> = budgets.iter().map(|&budget| run(budget)).collect();
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        println!("time ratio {:.1}   [at most 14 for ten times the budget]", last / first);
    }
}

fn run(budget: usize) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut uniform = |count: usize| Points::new((0..2 * count).map(|_| rng.random::<f64>()).collect(), 2).expect("valid");
    let (points, centres) = (uniform(2500), uniform(30));
    let kernel = Kernel::matern(2.5, 0.3, 1.0).expect("valid");
    let values = Expansion::random(kernel.clone(), centres, 2.0, 1).and_then(|f| f.values(points.view())).expect("valid");
    let problem = Problem::new(Domain::List(ListDomain::new(points).expect("distinct")), budget)
        .and_then(|p| p.with_kernel(kernel))
        .and_then(|p| p.with_norm_bound(2.0))
        .and_then(|p| p.with_noise(Noise::sub_gaussian(0.2)?))
        .expect("complete");
    // Planned by the norm that is claimed: else every batch has a replay of its own.
    let policy = Policy::Sbpe(Box::new(Sbpe::default().with_plan_factor(1.0).expect("a factor")));
    let mut strategy = Strategy::new(problem, policy).expect("complete");
    let (start, mut analysis) = (Instant::now(), 0.0);
    while let Ask::Trials(trials) = strategy.ask(usize::MAX).expect("plans") {
        for trial in trials {
            let noise: f64 = StandardNormal.sample(&mut rng);
            let value = values[trial.candidate.expect("a list")] + 0.2 * noise;
            // The last one of a batch closes it.
            let told = Instant::now();
            strategy.tell(trial.id, Outcome::Value(value)).expect("asked for");
            analysis += told.elapsed().as_secs_f64();
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let values = strategy.premise_map(&[1.0]).expect("replays").iter().map(|row| row.curve.len()).sum::<usize>();
    let ratio = start.elapsed().as_secs_f64() / analysis;
    println!("gap(C) at {values} values: {ratio:.2} × the analysis of the batches, {analysis:.2} s   [at most 3]");
    let reports = strategy.batches().expect("closed");
    let inducing = reports.iter().filter_map(|r| r.inducing).max().unwrap_or(0);
    let left: Vec<f64> = reports.iter().filter_map(|r| r.survivors.map(sigmabar::strategy::StillPossible::number)).collect();
    println!(
        "N = {budget}: {seconds:.2} s, at most {inducing} inducing points   [at most 600], survivors {left:?}, memory {} MB",
        peak_memory()
    );
    seconds
}

/// The largest resident size so far, in MB; 0 where the system does not tell.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
    line.unwrap_or(0) / 1024
}
