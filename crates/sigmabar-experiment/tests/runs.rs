//! Runs against a plain loop, tidy rows read back, summaries against plain formulas.

use sigmabar::simulated::{Classic, SimulatedNoise};
use sigmabar::strategy::{Direction, GpUcb, Random, Sobol};
use sigmabar::{Ask, Error, Kernel, Outcome, Points, Policy, Strategy};
use sigmabar_experiment::{
    Benchmark, Evaluation, Experiment, Mean, Measure, RecommendAt, TestFunction, log_log_slope, mean_curve, paired_difference, summaries,
    write_csv,
};
use std::sync::atomic::{AtomicU64, Ordering};

fn random() -> Policy {
    Policy::Random(Random::default())
}

fn hills(seed: u64) -> sigmabar::Result<Benchmark> {
    let kernel = Kernel::squared_exponential(0.3, 1.0)?;
    let noise = SimulatedNoise::Gaussian { std_dev: 0.05 };
    let norm = 1.5;
    let benchmark = Benchmark::known_norm(kernel.clone(), 2, norm, noise, 40, seed)?;
    Benchmark::new(benchmark.function().clone().on_grid(9)?, noise, 40)?.assuming_kernel(kernel)?.assuming(|p| p.with_norm_bound(norm))
}

fn branin(_: u64) -> sigmabar::Result<Benchmark> {
    Benchmark::new(TestFunction::classic(Classic::Branin)?, SimulatedNoise::Laplace { scale: 0.05 }, 25)
}

/// The same run without the runner.
fn plain(benchmark: &Benchmark, policy: Policy, seed: u64) -> (Vec<f64>, Vec<(usize, f64)>) {
    let function = benchmark.function();
    let value = |x: &[f64]| function.values(Points::from_rows(&[x]).unwrap().view()).unwrap()[0];
    let mut strategy = Strategy::new(benchmark.problem().clone().with_seed(seed), policy).unwrap();
    let (mut cumulative, mut simple) = (vec![], vec![]);
    let mut sum = 0.0;
    while let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() {
        for trial in trials {
            sum += function.best() - value(&trial.point);
            cumulative.push(sum);
            let noisy = value(&trial.point) + benchmark.noise().draw(seed, trial.id);
            strategy.tell(trial.id, Outcome::Value(noisy)).unwrap();
        }
        let recommended = strategy.recommend().unwrap().unwrap();
        simple.push((cumulative.len(), function.best() - value(&recommended.point)));
    }
    (cumulative, simple)
}

#[test]
fn rows_are_those_of_a_plain_loop() {
    type Case = (fn(u64) -> sigmabar::Result<Benchmark>, fn() -> Policy);
    let cases: [Case; 4] = [
        (hills, random),
        (hills, || Policy::Sbpe(Box::default())),
        (hills, || Policy::GpUcb(GpUcb::default())),
        (branin, || Policy::Sobol(Sobol::default())),
    ];
    for (benchmark, policy) in cases {
        let name = policy().name();
        let rows = Experiment::new(name, benchmark, |_| Ok(policy()), [3, 8]).unwrap().run(&|| 0.0).unwrap();
        let mut expected = 0;
        for seed in [3, 8] {
            let instance = benchmark(seed).unwrap();
            let run: Vec<&Evaluation> = rows.iter().filter(|row| row.seed == seed).collect();
            let (cumulative, simple) = plain(&instance, policy(), seed);
            assert_eq!(run.iter().map(|row| row.cumulative_regret).collect::<Vec<f64>>(), cumulative, "{name}");
            let looks: Vec<(usize, f64)> = run.iter().filter_map(|row| Some((row.evaluation, row.simple_regret?))).collect();
            assert_eq!(looks, simple, "{name}");
            assert!(run.iter().enumerate().all(|(i, row)| row.evaluation == i + 1 && row.strategy == name));
            expected += cumulative.len();
        }
        assert_eq!(rows.len(), expected);
    }
}

#[test]
fn s_bpe_tells_gap_survivors_and_inducing_points_at_ends_of_batches() {
    let rows = Experiment::new("s-bpe", hills, |_| Ok(Policy::Sbpe(Box::default())), 0..6).unwrap().run(&|| 0.0).unwrap();
    let ends: Vec<&Evaluation> = rows.iter().filter(|row| row.simple_regret.is_some()).collect();
    assert!(ends.len() > 6);
    for row in &rows {
        assert_eq!(row.survivors.is_some(), row.simple_regret.is_some());
    }
    for row in ends {
        assert!(row.inducing.unwrap() >= 1 && (1.0..=81.0).contains(&row.survivors.unwrap()));
        assert!(row.certified_gap.unwrap() >= row.simple_regret.unwrap(), "{row:?}");
    }
    let summary = &summaries(&rows)[0];
    assert_eq!((summary.exceeded_gaps, summary.certified_gap.count, summary.evaluations), (0, 6, 40));
    // Random points certify nothing.
    let rows = Experiment::new("random", hills, |_| Ok(random()), 0..2).unwrap().run(&|| 0.0).unwrap();
    assert!(rows.iter().all(|row| row.certified_gap.is_none() && row.survivors.is_none() && row.inducing.is_none()));
}

#[test]
fn threads_workers_and_company_do_not_matter() {
    let run = |threads: usize, workers: usize, seeds: Vec<u64>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let experiment = Experiment::new("s-bpe", hills, |_| Ok(Policy::Sbpe(Box::default())), seeds).unwrap();
        let experiment = experiment.with_workers(workers).unwrap();
        pool.install(|| experiment.run(&|| 0.0).unwrap())
    };
    let all = run(1, usize::MAX, vec![5, 1, 2]);
    assert_eq!(all, run(3, 2, vec![5, 1, 2]));
    assert_eq!(all.iter().filter(|row| row.seed == 1).cloned().collect::<Vec<_>>(), run(2, 7, vec![1]));
    assert_eq!(all.iter().map(|row| row.seed).collect::<Vec<u64>>()[0], 5, "seeds keep their order");
}

#[test]
fn looks_are_where_they_were_asked_for() {
    let looks = |looks| {
        let experiment = Experiment::new("gp-ucb", hills, |_| Ok(Policy::GpUcb(GpUcb::default())), [1]).unwrap();
        let rows = experiment.recommending(looks).unwrap().run(&|| 0.0).unwrap();
        rows.iter().filter(|row| row.simple_regret.is_some()).map(|row| row.evaluation).collect::<Vec<usize>>()
    };
    assert_eq!(looks(RecommendAt::EveryBatch), (1..=40).collect::<Vec<usize>>());
    assert_eq!(looks(RecommendAt::Last), [40]);
    assert_eq!(looks(RecommendAt::Growing(2.0)), [1, 2, 4, 8, 16, 32, 40]);
    let refused = Experiment::new("random", branin, |_| Ok(random()), [1]).unwrap().recommending(RecommendAt::Growing(0.5));
    assert!(matches!(refused.err(), Some(Error::Parameter { .. })));
}

#[test]
fn seconds_come_from_the_clock_that_is_given() {
    let ticks = AtomicU64::new(0);
    let clock = || ticks.fetch_add(1, Ordering::Relaxed) as f64;
    let rows = Experiment::new("random", branin, |_| Ok(random()), [1]).unwrap().run(&clock).unwrap();
    // One ask before all, then two looks at the clock for each telling: one tick each.
    let expected: Vec<f64> = (0..25).map(|i| f64::from(i + 2)).collect();
    assert_eq!(rows.iter().map(|row| row.seconds).collect::<Vec<f64>>(), expected);
}

#[test]
fn errors_of_benchmarks_and_policies_come_back() {
    assert!(matches!(Experiment::new("random", branin, |_| Ok(random()), []).err(), Some(Error::Empty { .. })));
    assert!(Experiment::new("random", branin, |_| Ok(random()), [1]).unwrap().with_workers(0).is_err());
    // Nothing is told about Branin's kernel: S-BPE says what it lacks.
    let lacking = Experiment::new("s-bpe", branin, |_| Ok(Policy::Sbpe(Box::default())), 0..3).unwrap().run(&|| 0.0);
    assert!(matches!(lacking, Err(Error::Missing { .. })), "{lacking:?}");
    let failing = |seed| if seed == 0 { branin(seed) } else { Err(Error::UnknownTrial { id: seed }) };
    let first = Experiment::new("random", failing, |_| Ok(random()), [0, 4, 2]).unwrap().run(&|| 0.0);
    assert_eq!(first, Err(Error::UnknownTrial { id: 4 }), "of the first seed in their order");
}

#[test]
fn tables_are_minimised_by_looking_up() {
    let points: Vec<[f64; 1]> = (0..30).map(|i| [f64::from(i)]).collect();
    let values: Vec<f64> = points.iter().map(|x| (x[0] - 11.0).powi(2) / 100.0).collect();
    let table = |_| {
        let points = Points::from_rows(&points)?;
        Benchmark::new(TestFunction::table("table", points, &values, Direction::Minimize)?, SimulatedNoise::None, 30)
    };
    let rows = Experiment::new("sobol", table, |_| Ok(Policy::Sobol(Sobol::default())), 0..3).unwrap().run(&|| 0.0).unwrap();
    for run in rows.chunks(30) {
        assert_eq!(run[29].simple_regret, Some(0.0), "every row was looked up once");
        assert!((run[29].cumulative_regret - values.iter().sum::<f64>()).abs() < 1e-12);
    }
}

fn row(strategy: &str, seed: u64, evaluation: usize, simple: Option<f64>, cumulative: f64) -> Evaluation {
    Evaluation {
        problem: "p".into(),
        strategy: strategy.into(),
        seed,
        evaluation,
        batch: evaluation - 1,
        simple_regret: simple,
        cumulative_regret: cumulative,
        certified_gap: simple.map(|s| if seed == 2 { 0.5 * s } else { 2.0 * s }),
        seconds: 1e-7 * cumulative,
        inducing: Some(evaluation),
        survivors: None,
    }
}

#[test]
fn rows_survive_the_way_through_csv() {
    let mut rows = vec![row("a, \"quoted\"", 3, 1, Some(1.0 / 3.0), 1e-300), row("b", u64::MAX, 2, None, 2.0 / 7.0)];
    rows[1].survivors = Some(12.5);
    let mut text = Vec::new();
    write_csv(&rows, &mut text).unwrap();
    let mut reader = csv::Reader::from_reader(&text[..]);
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let names = "problem strategy seed evaluation batch simple_regret cumulative_regret certified_gap seconds inducing_points survivors";
    assert_eq!(header.join(" "), names);
    for (record, row) in reader.records().map(Result::unwrap).zip(&rows) {
        let number = |i: usize| (!record[i].is_empty()).then(|| record[i].parse::<f64>().unwrap());
        assert_eq!((&record[0], &record[1]), (&*row.problem, &*row.strategy));
        assert_eq!(record[2].parse::<u64>().unwrap(), row.seed);
        assert_eq!((record[3].parse::<usize>().unwrap(), record[4].parse::<usize>().unwrap()), (row.evaluation, row.batch));
        assert_eq!((number(5), number(6), number(7)), (row.simple_regret, Some(row.cumulative_regret), row.certified_gap));
        assert_eq!((number(8), number(9), number(10)), (Some(row.seconds), row.inducing.map(|m| m as f64), row.survivors));
    }
    // A writer that fails is an error, not a panic.
    assert!(write_csv(&rows, &mut [0_u8; 40][..]).is_err());
}

#[test]
fn summaries_are_plain_formulas() {
    let mut rows = Vec::new();
    let (a, b) = ([0.5, 0.2, 0.8], [0.4, 0.3, 0.1]);
    for seed in 0..3 {
        let i = seed as usize;
        rows.extend([row("a", seed, 1, Some(9.0), 1.0), row("a", seed, 2, Some(a[i]), 10.0 * a[i]), row("a", seed, 3, None, 10.0 * a[i])]);
        rows.push(row("b", seed + 1, 1, Some(b[i]), 5.0));
    }
    let all = summaries(&rows);
    assert_eq!(all.iter().map(|s| &*s.strategy).collect::<Vec<_>>(), ["a", "b"]);
    let mean = 1.5 / 3.0;
    let error = ((0.0_f64.powi(2) + 0.3_f64.powi(2) + 0.3_f64.powi(2)) / 2.0 / 3.0).sqrt();
    assert!((all[0].simple_regret.mean - mean).abs() < 1e-15 && (all[0].simple_regret.standard_error - error).abs() < 1e-15);
    assert!((all[0].cumulative_regret.mean - 5.0).abs() < 1e-14);
    assert_eq!((all[0].evaluations, all[0].batches, all[0].exceeded_gaps, all[0].certified_gap.count), (3, 3, 1, 0));
    assert!((all[1].certified_gap.mean - (0.8 + 0.15 + 0.2) / 3.0).abs() < 1e-15);
    // Seeds 1 and 2 are common: 0.2 − 0.4 and 0.8 − 0.3.
    let paired = paired_difference(&rows, "p", "a", "b", Measure::SimpleRegret).unwrap();
    assert_eq!(paired.count, 2);
    assert!((paired.mean - 0.15).abs() < 1e-15 && (paired.standard_error - 0.35).abs() < 1e-15);
    assert_eq!(paired_difference(&rows, "p", "a", "c", Measure::SimpleRegret), None);
    let curve = mean_curve(&rows, "p", "a", Measure::CumulativeRegret);
    assert_eq!(curve.iter().map(|p| p.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert!((curve[1].1 - 5.0).abs() < 1e-14);
    assert_eq!(mean_curve(&rows, "p", "a", Measure::SimpleRegret).len(), 2);
    assert!(Mean::of(&[1.0]).standard_error.is_nan() && Mean::of(&[]).mean.is_nan());
}

#[test]
fn the_slope_is_that_of_the_last_decade() {
    let curve: Vec<(usize, f64)> = (1..=1000).map(|n| (n, if n < 100 { 50.0 } else { 3.0 * (n as f64).powf(0.62) })).collect();
    assert!((log_log_slope(&curve).unwrap() - 0.62).abs() < 1e-12);
    assert_eq!(log_log_slope(&[]), None);
    assert_eq!(log_log_slope(&[(100, 1.0)]), None);
    assert_eq!(log_log_slope(&[(100, 1.0), (100, 2.0)]), None);
    assert_eq!(log_log_slope(&[(1, 5.0), (100, 2.0)]), None, "the other point is two decades away");
    assert_eq!(log_log_slope(&[(50, 0.0), (100, 2.0)]), None);
}
