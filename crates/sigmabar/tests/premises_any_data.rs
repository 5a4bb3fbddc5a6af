//! The claim as a function of its premises for runs that look at results before they choose: by the band that holds whatever chose the points.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, Known, finish, sbpe, solve};
use sigmabar::certificate::Theorem;
use sigmabar::strategy::{Auto, ExpectedImprovement, Failures, GpUcb, Random, Sbpe, Standing};
use sigmabar::{Ask, BoxDomain, Collected, Domain, Kernel, Label, Noise, Origin, Outcome, Policy, Problem, Sourced, Strategy};

const PLANNED: (f64, f64) = (1.0, 0.25);

fn policies() -> [Policy; 4] {
    [
        Policy::GpUcb(GpUcb::default()),
        Policy::ExpectedImprovement(ExpectedImprovement::default()),
        Policy::Auto(Auto::new(4).unwrap()),
        Policy::Random(Random::default()),
    ]
}

fn measured(problem: Problem, policy: Policy, truth: &Known, seed: u64) -> Strategy {
    noisy(problem, policy, truth, Drawn::Gaussian, seed)
}

fn noisy(problem: Problem, policy: Policy, truth: &Known, drawn: Drawn, seed: u64) -> Strategy {
    let mut run = Strategy::new(problem, policy).unwrap();
    run.go_on_despite_contradiction();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    finish(&mut run, |i| truth.values[i] + drawn.draw(truth.level, &mut rng));
    run
}

/// Norms from 0.3 to 4 times what was declared, length-scales from half to twice: the row of the map about the truth is true.
#[test]
fn statements_at_the_true_premise_hold_whatever_chose_the_points() {
    let outcomes: Vec<(bool, bool)> = (0..500_u64)
        .into_par_iter()
        .map(|i| {
            let (norm, factor) = (0.3 * (4.0_f64 / 0.3).powf((i % 10) as f64 / 9.0), 0.5 * 4.0_f64.powf((i / 10 % 5) as f64 / 4.0));
            let kernel = |length: f64| Kernel::matern(2.5, length, 1.0).unwrap();
            let truth = Known::random(kernel(factor * PLANNED.1), 1, 24, norm * PLANNED.0, 0.02, 50 + i);
            let declared = Known { kernel: kernel(PLANNED.1), norm: PLANNED.0, ..truth.clone() };
            let policy = policies()[i as usize % 4].clone();
            let run = measured(declared.problem(40, Drawn::Gaussian, i), policy, &truth, i);
            let advice = run.recommend().unwrap().unwrap();
            let regret = truth.best() - truth.values[advice.candidate.unwrap()];
            let curve = run.premise_map(&[factor]).unwrap().pop().unwrap().curve;
            let mut above = curve.iter().filter(|point| point.norm_bound >= norm * PLANNED.0);
            assert!(above.clone().next().is_some(), "run {i}: a row about the truth");
            let says_something = above.clone().next().is_some_and(|point| point.gap.is_some_and(|gap| gap < norm));
            (above.any(|point| point.gap.is_none_or(|gap| regret > gap)), says_something)
        })
        .collect();
    let (wrong, useful) = (outcomes.iter().filter(|o| o.0).count(), outcomes.iter().filter(|o| o.1).count());
    println!("{wrong} of {} maps are false at the truth or above; {useful} say something", outcomes.len());
    assert!(wrong as f64 <= DELTA * outcomes.len() as f64);
    assert!(useful * 2 > outcomes.len(), "{useful}");
}

/// `√(C² + Γ²/s² − yᵀ(K+s²I)⁻¹y) · √(σ_s² − p) + C√p` around the mean, `p` what the measured points leave of the variance, for every ridge of a grid: dense loops that share
/// no code with the band.
fn literal_gap(known: &Known, run: &Strategy, chosen: usize, norm_bound: f64) -> Option<f64> {
    let rows: Vec<(Vec<f64>, f64)> = run.ledger().all_measured().map(|m| (m.point.to_vec(), m.value)).collect();
    let n = rows.len();
    let tail = ((n * (n + 1)) as f64 / (0.95 * DELTA)).ln();
    let gamma = known.level * (n as f64 + 2.0 * (n as f64 * tail).sqrt() + 2.0 * tail).sqrt();
    let k = |a: &[f64], b: &[f64]| known.kernel.value(a, b);
    let mut distinct: Vec<Vec<f64>> = rows.iter().map(|r| r.0.clone()).collect();
    distinct.sort_by(|a, b| a[0].total_cmp(&b[0]));
    distinct.dedup();
    let jitter = |i: usize, j: usize| if i == j { 1e-12 } else { 0.0 };
    let among: Vec<Vec<f64>> =
        (0..distinct.len()).map(|i| (0..distinct.len()).map(|j| k(&distinct[i], &distinct[j]) + jitter(i, j)).collect()).collect();
    let unexplained = |x: &[f64]| {
        let k_x: Vec<f64> = distinct.iter().map(|z| k(z, x)).collect();
        let weights = solve(among.clone(), k_x.clone());
        (k(x, x) - weights.iter().zip(&k_x).map(|(w, k)| w * k).sum::<f64>()).max(0.0)
    };
    let mut ends = vec![(-norm_bound, norm_bound); known.points.len()];
    for step in -30..=40 {
        let s = gamma / norm_bound * 10f64.powf(0.05 * f64::from(step));
        let gram: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| k(&rows[i].0, &rows[j].0) + if i == j { s * s } else { 0.0 }).collect()).collect();
        let y: Vec<f64> = rows.iter().map(|r| r.1).collect();
        let alpha = solve(gram.clone(), y.clone());
        let quadratic: f64 = alpha.iter().zip(&y).map(|(a, b)| a * b).sum();
        let radicand = norm_bound * norm_bound + (gamma / s).powi(2) - quadratic;
        if radicand < 0.0 {
            return None;
        }
        for (q, end) in ends.iter_mut().enumerate() {
            let x = known.points.row(q);
            let k_x: Vec<f64> = rows.iter().map(|r| k(&r.0, x)).collect();
            let weights = solve(gram.clone(), k_x.clone());
            let variance = k(x, x) - weights.iter().zip(&k_x).map(|(w, k)| w * k).sum::<f64>();
            let mean = alpha.iter().zip(&k_x).map(|(a, k)| a * k).sum::<f64>();
            let left = unexplained(x);
            let half = (radicand * (variance - left).max(0.0)).sqrt() + norm_bound * left.sqrt();
            *end = (end.0.max(mean - half), end.1.min(mean + half));
        }
    }
    Some(ends.iter().map(|e| e.1 - ends[chosen].0).fold(0.0, f64::max))
}

#[test]
fn the_curve_is_the_printed_band_and_breaks_where_it_says() {
    let found: Vec<bool> = (0..24_u64)
        .into_par_iter()
        .map(|i| {
            let known = Known::random(Kernel::squared_exponential(0.3, 1.0).unwrap(), 1, 12, 1.0, 0.02, i);
            // Declared as sub-Gaussian, and never twice the same.
            let run = noisy(known.problem(20, Drawn::Rademacher, i), policies()[i as usize % 2].clone(), &known, Drawn::Uniform, i);
            let standing: Standing = run.standing().unwrap().unwrap();
            let chosen = run.recommend().unwrap().unwrap().candidate.unwrap();
            for norm_bound in [0.8, 1.0, 2.0, 4.0] {
                let (code, literal) = (run.gap_under(norm_bound, 1.0).unwrap(), literal_gap(&known, &run, chosen, norm_bound));
                if let (Some(code), Some(literal)) = (code, literal) {
                    assert!((0.97..1.35).contains(&(code / literal)), "run {i}, norm {norm_bound}: {code} for {literal}");
                } else {
                    assert!(code.is_some() || literal.is_none(), "run {i}, norm {norm_bound}");
                }
            }
            let (gap, norm) = (standing.range.gap.unwrap(), standing.range.norm_breakdown.unwrap());
            let stands = |norm_bound: f64| run.gap_under(norm_bound, 1.0).unwrap().is_some_and(|g| g <= gap);
            assert!(stands(norm));
            let inside = norm > 1.001 && norm < 7.9;
            assert!(!inside || !stands(1.02 * norm), "run {i}");
            assert_eq!(run.recommend_with_range().unwrap().unwrap().certificate.range, Some(standing.range));
            inside
        })
        .collect();
    assert!(found.iter().filter(|inside| **inside).count() >= 14, "{found:?}");
}

#[test]
fn its_certificate_names_what_it_rests_on() {
    let known = Known::random(Kernel::squared_exponential(0.3, 1.0).unwrap(), 1, 12, 1.0, 0.05, 3);
    let problem = known.problem(12, Drawn::Gaussian, 3);
    let run = measured(problem.clone(), policies()[0].clone(), &known, 3);
    let standing = run.standing().unwrap().unwrap();
    let certificate = &standing.certificate;
    assert_eq!((certificate.label(), certificate.theorem), (Label::Certified, Theorem::Energy), "{:?}", certificate.weak_premises());
    assert_eq!((certificate.premises.points.value, certificate.premises.observations.value), (Collected::Adaptive, 12));
    // What the run itself recommends stays the model's word.
    let advice = run.recommend_with_range().unwrap().unwrap();
    assert_eq!(advice.label(), Label::Estimated);
    assert!(advice.certificate.stands().unwrap().starts_with("proved whatever chose the points: under this kernel and noise it is within"));
    // A result that failed may have failed because of its value; one attached twice is one.
    let spoilt = |failures: Failures, twice: bool, fails: bool| {
        let mut run = Strategy::new(problem.clone().with_failures(failures), policies()[0].clone()).unwrap();
        for _ in 0..if twice { 2 } else { 1 } {
            run.attach(known.points.row(0), Outcome::Value(known.values[0]), Collected::Undeclared).unwrap();
        }
        let mut count = 0;
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            for trial in trials {
                count += 1;
                let value = known.values[trial.candidate.unwrap()];
                run.tell(trial.id, if fails && count == 2 { Outcome::Failed } else { Outcome::Value(value) }).unwrap();
            }
        }
        (run.standing().unwrap().is_some(), run.recommend_with_range().unwrap().unwrap().certificate.range.is_some())
    };
    assert_eq!(spoilt(Failures::Undeclared, false, false), (true, true));
    assert_eq!(spoilt(Failures::Undeclared, false, true), (false, false));
    assert_eq!(spoilt(Failures::Unrelated, false, true), (true, true));
    assert_eq!(spoilt(Failures::Unrelated, true, false), (false, false));
    // While a batch is open, what has failed in it counts, and nothing beyond the first that is still to come: who tells the best first has chosen.
    let mut open = Strategy::new(problem.clone(), policies()[2].clone()).unwrap();
    let Ask::Trials(trials) = open.ask(usize::MAX).unwrap() else { panic!("nothing to do") };
    open.tell(trials[0].id, Outcome::Value(known.values[trials[0].candidate.unwrap()])).unwrap();
    let first = open.standing().unwrap().unwrap();
    open.tell(trials[2].id, Outcome::Value(9.0)).unwrap();
    let skipped = open.standing().unwrap().unwrap();
    assert_eq!((skipped.certificate.premises.observations.value, skipped.range.least_norm), (1, first.range.least_norm));
    open.tell(trials[1].id, Outcome::Failed).unwrap();
    assert!(open.standing().unwrap().is_none());
    // Without premises there is nothing to turn.
    let bare = measured(problem.clone().without_premises(), policies()[2].clone(), &known, 4);
    assert!(bare.standing().unwrap().is_none() && bare.premise_map(&[1.0]).unwrap().is_empty());
    let guessed = measured(problem.with_unknown_level(0.05, 1).unwrap(), policies()[0].clone(), &known, 4);
    assert!(guessed.standing().unwrap().is_none());
}

/// On a box candidates stand for the rest, and between them the function rises by what the kernel's metric allows.
#[test]
fn on_a_box_the_gap_covers_what_lies_between_candidates() {
    let problem =
        Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 30).unwrap().with_kernel(Kernel::squared_exponential(0.3, 1.0).unwrap());
    let problem = problem.and_then(|p| p.with_norm_bound(2.0)?.with_noise(Noise::gaussian(0.02)?)).unwrap();
    let gap = |problem: Problem| {
        let mut run = Strategy::new(problem, policies()[0].clone()).unwrap();
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            for trial in trials {
                run.tell(trial.id, Outcome::Value((4.0 * trial.point[0]).sin())).unwrap();
            }
        }
        let standing = run.standing().unwrap().unwrap();
        (standing.among_candidates, standing.gap_at(2.0).unwrap())
    };
    let (among, whole) = (gap(problem.clone()), gap(problem.with_wanted_gap(1e-9).unwrap()));
    assert_eq!((among.0, whole.0), (true, false));
    assert!(among.1 < whole.1 && whole.1 < 1.2 * among.1, "{among:?} {whole:?}");
}

/// A claim about everything measured at once is made of what was given, and only where nothing measured can have taught it or be there because of its value.
#[test]
fn a_claim_about_all_data_rests_on_no_guess_and_on_nothing_that_taught_it() {
    let known = Known::random(Kernel::squared_exponential(0.3, 1.0).unwrap(), 1, 12, 1.0, 0.05, 3);
    let declared = || known.problem(40, Drawn::Gaussian, 3);
    let learnt = || declared().with_kernel(Sourced::new(known.kernel.clone(), Origin::LearntElsewhere)).unwrap();
    let ends = |problem: Problem, policy: Policy, attached: usize| {
        let mut run = Strategy::new(problem, policy).unwrap();
        (0..attached).for_each(|i| run.attach(known.points.row(i), Outcome::Value(known.values[i]), Collected::Undeclared).unwrap());
        finish(&mut run, |i| known.values[i] + 0.01 * i as f64);
        let has_range = run.recommend_with_range().unwrap().unwrap().certificate.range.is_some();
        (run.posterior().unwrap().unwrap().claim().is_some(), has_range)
    };
    let ucb = || Policy::GpUcb(GpUcb::default());
    assert_eq!(ends(declared(), ucb(), 4), (true, true));
    assert_eq!(ends(learnt(), ucb(), 0), (true, true));
    assert_eq!(ends(learnt(), ucb(), 4), (false, false), "what was there before may have taught the kernel");
    assert!(!ends(declared().with_unknown_level(0.05, 1).unwrap(), sbpe(Sbpe::default()), 0).0, "the level is a guess");
    assert!(ends(declared(), sbpe(Sbpe::default()), 0).0);
    assert!(!ends(learnt(), sbpe(Sbpe::default().with_pilot(8).unwrap()), 0).0, "the pilot is among the data");
    // Of an open batch, those may have arrived whose values were welcome.
    let mut open = Strategy::new(declared(), sbpe(Sbpe::default())).unwrap();
    let Ask::Trials(trials) = open.ask(2).unwrap() else { panic!("a batch is open") };
    open.tell(trials[1].id, Outcome::Value(0.1)).unwrap();
    assert!(open.posterior().unwrap().unwrap().claim().is_none());
    open.tell(trials[0].id, Outcome::Value(0.1)).unwrap();
    assert!(open.posterior().unwrap().unwrap().claim().is_some());
}

/// Results that were told as failures because they were unwelcome leave nothing to judge, wherever it would be shown.
#[test]
fn nothing_is_judged_where_results_may_have_been_withheld() {
    let known = Known::random(Kernel::squared_exponential(0.3, 1.0).unwrap(), 1, 12, 1.0, 0.05, 3);
    for (policy, failures) in [sbpe(Sbpe::default()), Policy::GpUcb(GpUcb::default())]
        .into_iter()
        .flat_map(|policy| [Failures::Undeclared, Failures::Unrelated].map(|failures| (policy.clone(), failures)))
    {
        let mut run = Strategy::new(known.problem(40, Drawn::Gaussian, 3).with_failures(failures), policy).unwrap();
        let mut count = 0;
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            for trial in trials {
                count += 1;
                let value = known.values[trial.candidate.unwrap()];
                run.tell(trial.id, if count % 7 == 0 { Outcome::Failed } else { Outcome::Value(value + 0.01 * f64::from(count % 3)) })
                    .unwrap();
            }
        }
        let is_judged = failures == Failures::Unrelated;
        assert_eq!(run.standing().unwrap().is_some(), is_judged);
        assert_eq!(!run.premise_map(&[1.0]).unwrap().is_empty(), is_judged);
        assert_eq!(run.gap_under(1.0, 1.0).unwrap().is_some(), is_judged);
    }
}
