//! The certificate as a function of its premises, under attack: each row is true under its own premise, and the breakdown point is where the claim breaks.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, Known, PLAN_FACTOR, exact_weights, finish, planned, sbpe, uniform};
use sigmabar::domain::BoxDomain;
use sigmabar::strategy::{Sbpe, Schedule, Standpoint};
use sigmabar::{Ask, Domain, Expansion, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};

/// The norm bound and the length-scale that runs are planned with.
const PLANNED: (f64, f64) = (1.0, 0.25);

fn kernel(which: usize, lengthscale: f64) -> Kernel {
    match which % 3 {
        0 => Kernel::squared_exponential(lengthscale, 1.0).unwrap(),
        1 => Kernel::matern(1.5, lengthscale, 1.0).unwrap(),
        _ => Kernel::matern(2.5, lengthscale, 1.0).unwrap(),
    }
}

/// A run planned with other premises than the truth's, and what is true.
struct Attacked {
    /// The true norm over the planned one, and the same for the length-scale.
    norm: f64,
    factor: f64,
    curve: Vec<Standpoint>,
    /// Gaps from the declared noise on, where the length-scale is the planned one.
    noise: Vec<Option<f64>>,
    /// How far the recommended candidate really is from the best; none where nothing was recommended.
    regret: Option<f64>,
}

impl Attacked {
    /// Whether the statement at the next norm bound of the curve above `norm` is false, and whether one at any larger is.
    fn is_false(&self, norm: f64) -> (bool, bool) {
        let wrong = |point: &Standpoint| point.gap.is_none_or(|gap| self.regret.is_none_or(|regret| regret > gap));
        let mut above = self.curve.iter().filter(|point| point.norm_bound >= norm * PLANNED.0);
        let first = above.next().is_some_and(wrong);
        (first, first || above.any(wrong))
    }

    /// Whether nothing was recommended, or nothing is said about the true norm: then nothing can be false.
    fn is_vacuous(&self) -> bool {
        self.regret.is_none() || !self.curve.iter().any(|point| point.norm_bound >= self.norm * PLANNED.0)
    }
}

/// Plans with [`PLANNED`], measures the truth, and asks for the row of the map that is about the truth's kernel. `width` is what the declared noise is of the true one.
fn attack(truth: &Known, which: usize, (norm, factor, width): (f64, f64, f64), policy: Policy, budget: usize, seed: u64) -> Attacked {
    let drawn = Drawn::ALL[seed as usize % 3];
    let declared = Known { kernel: kernel(which, PLANNED.1), norm: PLANNED.0, level: width * truth.level, ..truth.clone() };
    let problem = declared.problem(budget, drawn, seed).with_ridge(4.0 * truth.level).unwrap();
    let mut run = Strategy::new(problem, policy).unwrap();
    run.go_on_despite_contradiction();
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xd1a1);
    finish(&mut run, |i| truth.values[i] + drawn.draw(truth.level, &mut rng));
    let advice = run.recommend().unwrap();
    let curve = run.premise_map(&[factor]).unwrap().pop().map_or(Vec::new(), |row| row.curve);
    let standing = if factor == 1.0 { run.standing().unwrap() } else { None };
    let noise = standing.map_or(Vec::new(), |standing| {
        standing.noise_curve.iter().filter(|point| Some(point.noise_level) >= standing.noise_level).map(|point| point.gap).collect()
    });
    let regret = advice.map(|a| truth.best() - truth.values[a.candidate.unwrap()]);
    Attacked { norm, factor, curve, noise, regret }
}

/// Premises all over: norms from 0.3 to 4 times the planned one, length-scales from half to twice.
fn premises(i: u64) -> (f64, f64) {
    (0.3 * (4.0_f64 / 0.3).powf((i % 10) as f64 / 9.0), 0.5 * 4.0_f64.powf((i / 10 % 5) as f64 / 4.0))
}

fn random(i: u64, plan: f64) -> Attacked {
    let (norm, factor) = premises(i);
    let which = i as usize / 3;
    let truth = Known::random(kernel(which, factor * PLANNED.1), 1 + i as usize % 2, 24, norm * PLANNED.0, 0.1, i);
    attack(&truth, which, (norm, factor, 1.0), planned(Sbpe::default(), plan), 40, i)
}

/// Where nothing is measured there is a hill that the data say nothing about: $f = C\,r/\lVert r\rVert$ with $r = k_x-\sum V_ik(x_i,\cdot)$, for which the bias is all of $Cb$.
fn hidden(i: u64, (norm, factor): (f64, f64), width: f64, factor_of_plan: f64) -> Option<Attacked> {
    let (which, level) = (i as usize, 0.01);
    let (points, kernel_of_truth) = (uniform(10, 1, 77 * i + 3), kernel(which, factor * PLANNED.1));
    let plan = || planned(Sbpe::default().with_schedule(Schedule::Lengths(vec![5])), factor_of_plan);
    let mut truth = Known { kernel: kernel_of_truth.clone(), values: vec![0.0; 10], points: points.clone(), norm, level };
    let measured: Vec<Vec<f64>> = {
        let mut rows = Vec::new();
        let blank = Known { kernel: kernel(which, PLANNED.1), norm: PLANNED.0, ..truth.clone() };
        let problem = blank.problem(5, Drawn::Gaussian, i).with_ridge(4.0 * level).unwrap();
        finish(&mut Strategy::new(problem, plan()).unwrap(), |c| {
            rows.push(points.row(c).to_vec());
            0.0
        });
        rows
    };
    // Within so small a ridge the weights are all but those that interpolate.
    let residual = |x: &[f64]| {
        let weights = exact_weights(&kernel_of_truth, 4.0 * level, &measured, x);
        let mut centres = measured.clone();
        centres.push(x.to_vec());
        let coefficients = weights.iter().map(|w| -w).chain([1.0]).collect();
        Expansion::new(kernel_of_truth.clone(), Points::from_rows(&centres).unwrap(), coefficients).unwrap()
    };
    let functions = (0..10).map(|c| residual(points.row(c)));
    let widest = functions.max_by(|a, b| a.norm().unwrap().total_cmp(&b.norm().unwrap()))?;
    truth.values = widest.with_norm(norm * PLANNED.0).ok()?.values(points.view()).unwrap();
    Some(attack(&truth, which, (norm, factor, width), plan(), 5, i))
}

#[test]
fn statements_at_the_true_premise_are_false_in_at_most_a_delta_share() {
    [1.0, PLAN_FACTOR].into_iter().for_each(hold_at_the_true_premise);
}

/// Under plans by so many times the norm bound.
fn hold_at_the_true_premise(plan: f64) {
    // A run that its data contradict claims nothing, and is none of the five hundred.
    let open = (0..600_u64).into_par_iter().map(|i| random(i, plan));
    let runs: Vec<Attacked> = open.chain((0..160_u64).into_par_iter().filter_map(|i| hidden(i, premises(i), 1.0, plan))).collect();
    let vacuous = runs.iter().filter(|run| run.is_vacuous()).count();
    let speaking = runs.len() - vacuous;
    assert!(speaking >= 500, "{} functions, {vacuous} of them without a statement", runs.len());
    let share = |which: fn((bool, bool)) -> bool| runs.iter().filter(|r| which(r.is_false(r.norm))).count() as f64 / speaking as f64;
    let (at_truth, anywhere) = (share(|f| f.0), share(|f| f.1));
    let useful = runs.iter().filter(|r| r.curve.iter().any(|p| p.gap.is_some_and(|g| g < r.norm))).count();
    println!(
        "plans by {plan}: false at the true premise {at_truth}, at any norm above it {anywhere}; {useful} of {} curves say something",
        runs.len()
    );
    assert!(at_truth <= DELTA && anywhere <= DELTA);
    assert!(useful > runs.len() / 2);
    assert!(runs.iter().any(|r| r.factor < 0.6) && runs.iter().any(|r| r.norm > 3.9));
}

/// Six tenths of norm and noise are six tenths of every width.
#[test]
fn six_tenths_of_the_width_are_not_enough() {
    [1.0, PLAN_FACTOR].into_iter().for_each(break_at_six_tenths);
}

fn break_at_six_tenths(plan: f64) {
    // Norms of which six tenths are a norm bound of the curve, a quarter power of two.
    let at_six_tenths = |(norm, factor): (f64, f64)| ((0.25 * (4.0 * (0.6 * norm).log2()).round()).max(-2.0).exp2() / 0.6, factor);
    let runs: Vec<Attacked> = (0..200_u64).into_par_iter().filter_map(|i| hidden(i, at_six_tenths(premises(i)), 0.6, plan)).collect();
    let exceeded = |r: &&Attacked| {
        let wanted = 0.6 * r.norm * PLANNED.0;
        let at = r.curve.iter().find(|point| (point.norm_bound / wanted - 1.0).abs() < 1e-9);
        let at = at.unwrap_or_else(|| panic!("no row at {wanted} of {:?}", r.curve));
        at.gap.zip(r.regret).is_some_and(|(gap, regret)| regret > gap)
    };
    let share = runs.iter().filter(exceeded).count() as f64 / runs.len() as f64;
    println!("false at six tenths: {share} of {}", runs.len());
    assert!(share > 3.0 * DELTA);
}

/// Along the noise as along the norm: with hills that the data say nothing about it is true from the true level on, and at six tenths of norm and noise it is not.
#[test]
fn along_the_noise_six_tenths_of_the_width_are_not_enough() {
    let share = |width: f64| {
        let runs: Vec<Attacked> = (0..200_u64).into_par_iter().filter_map(|i| hidden(i, (1.0 / width, 1.0), width, 1.0)).collect();
        let said: Vec<&Attacked> = runs.iter().filter(|run| !run.noise.is_empty() && run.regret.is_some()).collect();
        assert!(said.len() >= 150, "{} speak", said.len());
        // The declared level is the true one, or six tenths of it.
        let gaps = |run: &Attacked| if width < 1.0 { run.noise[..1].to_vec() } else { run.noise.clone() };
        let is_false = |run: &&&Attacked| gaps(run).iter().any(|gap| gap.zip(run.regret).is_none_or(|(gap, regret)| regret > gap));
        said.iter().filter(is_false).count() as f64 / said.len() as f64
    };
    let (whole, narrow) = (share(1.0), share(0.6));
    println!("false along the noise: {whole}, at six tenths {narrow}");
    assert!(whole <= DELTA && narrow > 3.0 * DELTA);
}

fn ordinary(i: u64, budget: usize, policy: Policy) -> (Strategy, Known, Vec<f64>) {
    let known = Known::random(kernel(i as usize, 0.2), 1 + i as usize % 2, 30, 1.5, 0.1, 4000 + i);
    // With this ridge the estimates do not depend on the norm bound.
    let mut run = Strategy::new(known.problem(budget, Drawn::Gaussian, i).with_ridge(0.6).unwrap(), policy).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(i);
    let mut told = Vec::new();
    finish(&mut run, |c| {
        told.push(known.values[c] + Drawn::Gaussian.draw(known.level, &mut rng));
        told[told.len() - 1]
    });
    (run, known, told)
}

/// Just below the breakdown points the claim stands, just above it does not, each judged by itself instead of along a chain.
#[test]
fn the_claim_breaks_at_its_breakdown_points() {
    [(1.0, 103), (PLAN_FACTOR, 130)].into_iter().for_each(|(plan, problems)| break_at_the_breakdown_points(plan, problems));
}

fn break_at_the_breakdown_points(plan: f64, problems: u64) {
    let looked: Vec<bool> = (0..problems)
        .into_par_iter()
        .map(|i| {
            let (run, known, _) = ordinary(i, 50, planned(Sbpe::default(), plan));
            let range = run.recommend_with_range().unwrap().unwrap().certificate.range.unwrap();
            let (gap, norm, noise) = (range.gap.unwrap(), range.norm_breakdown.unwrap(), range.noise_breakdown.unwrap());
            let stands = |norm_bound: f64, scale: f64| run.gap_under(norm_bound, scale).unwrap().is_some_and(|g| g <= gap);
            let inside = |end: f64, declared: f64| end > 1.001 * declared && end < 7.9 * declared;
            let (by_norm, by_noise) = (inside(norm, known.norm), inside(noise, known.level));
            if by_norm {
                assert!(stands(0.999 * norm, 1.0) && !stands(1.01 * norm, 1.0), "run {i}");
            }
            if by_noise {
                let scale = noise / known.level;
                assert!(stands(known.norm, 0.999 * scale) && !stands(known.norm, 1.01 * scale), "run {i}");
            }
            by_norm && by_noise
        })
        .collect();
    let found = looked.iter().filter(|&&l| l).count();
    println!("plans by {plan}: {found} of {} runs have both ends inside", looked.len());
    assert!(found >= 100);
}

/// What a range says of itself comes from its run: where the search ended is no end, and few measurements are not none.
#[test]
fn a_range_says_where_no_farther_was_looked() {
    let range = |level: f64, budget: usize, wanted: Option<f64>| {
        let known = Known::random(kernel(0, 0.2), 1, 30, 1.5, level, 5);
        let problem = known.problem(budget, Drawn::Gaussian, 5).with_ridge(0.6).unwrap();
        let problem = if let Some(gap) = wanted { problem.with_wanted_gap(gap).unwrap() } else { problem };
        let mut run = Strategy::new(problem, sbpe(Sbpe::default())).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        finish(&mut run, |c| known.values[c] + Drawn::Gaussian.draw(level, &mut rng));
        let certificate = run.recommend_with_range().unwrap().unwrap().certificate;
        (certificate.range.unwrap(), certificate.stands().unwrap())
    };
    let (plain, words) = range(0.1, 60, None);
    assert!(!plain.is_trivial && !plain.norm_is_open && !words.contains("no farther") && !words.contains("alone"), "{plain:?}: {words}");
    let (open, words) = range(0.1, 60, Some(1000.0));
    assert!(open.norm_is_open && open.noise_is_open && !open.is_trivial, "{open:?}");
    assert_eq!(words.matches("(no farther was looked)").count(), 2, "{words}");
    assert!((open.norm_breakdown, open.noise_breakdown) == (Some(12.0), Some(0.8)), "{open:?}");
    // In little noise measurements tell something, however few.
    let (few, words) = range(1e-6, 4, None);
    assert!(!few.is_trivial && !words.contains("alone"), "{few:?}: {words}");
}

/// The norm by itself bounds the gap by its value times the kernel distance to the farthest place: of a claim that is no smaller the words say so, and of no other. By elimination on lists and
/// boxes, and by the band for runs that look at results.
#[test]
fn a_range_says_where_the_norm_alone_makes_the_claim() {
    let judged: Vec<(usize, bool)> = (0..72_u64)
        .into_par_iter()
        .filter_map(|i| {
            let (how, level, budget) = (i as usize % 3, 0.02 * 2.0_f64.powi((i / 3 % 8) as i32), 3 + i as usize / 24 * 6);
            let known = Known::random(kernel(i as usize / 3, 0.2), 1, 30, 1.5, level, 300 + i);
            let listed = || known.problem(budget, Drawn::Gaussian, i);
            let boxed = || {
                let problem =
                    Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), budget).unwrap().with_kernel(known.kernel.clone()).unwrap();
                problem.with_norm_bound(1.5).unwrap().with_noise(Noise::gaussian(level).unwrap()).unwrap()
            };
            let mut run = match how {
                0 => Strategy::new(listed(), sbpe(Sbpe::default())),
                1 => Strategy::new(boxed(), sbpe(Sbpe::default().with_max_cells(400).unwrap())),
                _ => Strategy::new(listed(), Policy::GpUcb(sigmabar::strategy::GpUcb::default())),
            }
            .unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(i);
            while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
                for trial in trials {
                    let value = trial.candidate.map_or_else(|| 0.3 * (3.0 * trial.point[0]).sin(), |c| known.values[c]);
                    run.tell(trial.id, Outcome::Value(value + Drawn::Gaussian.draw(level, &mut rng))).unwrap();
                }
            }
            let advice = run.recommend_with_range().unwrap()?;
            let (range, words) = (advice.certificate.range?, advice.certificate.stands()?);
            let ends = Points::on_line(vec![0.0, 1.0]).unwrap();
            let places = if how == 1 { ends.view() } else { known.points.view() };
            let farthest = places.rows().map(|x| known.kernel.metric(x, &advice.point)).fold(0.0, f64::max);
            assert_eq!(range.is_trivial, range.claimed? >= 1.5 * farthest * (1.0 - 1e-9), "run {i}: {range:?} for {farthest}");
            assert_eq!(range.is_trivial, words.contains("follows from the norm alone: the data rule nothing out yet"), "run {i}: {words}");
            Some((how, range.is_trivial))
        })
        .collect();
    for how in 0..3 {
        let (alone, more) = [true, false].map(|is_trivial| judged.iter().filter(|j| **j == (how, is_trivial)).count()).into();
        println!("way {how}: {alone} claims by the norm alone, {more} by more");
        assert!(alone >= 4 && more >= 4, "way {how}: {alone} and {more}");
    }
}

/// A range is found once for each batch: asked for again it is the same, and never that of an earlier batch.
#[test]
fn a_range_is_that_of_the_last_batch() {
    let known = Known::random(kernel(2, 0.2), 1, 30, 1.5, 0.1, 9);
    let mut run = Strategy::new(known.problem(120, Drawn::Gaussian, 9).with_ridge(0.6).unwrap(), sbpe(Sbpe::default())).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut seen = Vec::new();
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        for trial in trials {
            let value = known.values[trial.candidate.unwrap()] + Drawn::Gaussian.draw(known.level, &mut rng);
            run.tell(trial.id, Outcome::Value(value)).unwrap();
        }
        let range = run.recommend_with_range().unwrap().unwrap().certificate.range;
        let afresh = Strategy::from_bytes(&run.to_bytes()).unwrap();
        assert_eq!(range, afresh.recommend_with_range().unwrap().unwrap().certificate.range);
        assert_eq!(range, run.standing().unwrap().map(|standing| standing.range));
        seen.push(range);
    }
    assert!(seen.len() > 1 && seen.windows(2).any(|two| two[0] != two[1]), "{seen:?}");
}

/// A run of one batch that had declared the norm bound from the start comes to the same claim: the ridge, the design and the challengers are the same, only the slices of
/// the ellipsoid are chosen for another norm.
#[test]
fn a_run_that_had_declared_it_agrees() {
    let ratios: Vec<f64> = (0..40_u64)
        .into_par_iter()
        .map(|i| {
            let plan = || Sbpe::default().with_schedule(Schedule::Lengths(vec![40]));
            let (run, known, told) = ordinary(i, 40, sbpe(plan()));
            let declared = Known { norm: 1.5 * known.norm, ..known.clone() };
            let mut again = Strategy::new(declared.problem(40, Drawn::Gaussian, i).with_ridge(0.6).unwrap(), sbpe(plan())).unwrap();
            let mut values = told.iter().copied();
            finish(&mut again, |_| values.next().unwrap());
            assert_eq!(run.ledger().trials(), again.ledger().trials());
            // Both judge their own recommendation: the smallest gap of all is no larger than that of the other's.
            run.gap_under(declared.norm, 1.0).unwrap().unwrap() / again.recommend().unwrap().unwrap().gap
        })
        .collect();
    let near = ratios.iter().filter(|r| (0.98..1.1).contains(*r)).count();
    println!("{near} of {} within a tenth; {ratios:.2?}", ratios.len());
    assert!(near * 10 >= ratios.len() * 7 && ratios.iter().all(|&r| r > 0.95));
}
