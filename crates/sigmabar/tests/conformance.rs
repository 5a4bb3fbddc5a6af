//! What every policy promises, tested once for all of them.
//!
//! A new policy is one line of [`policies`].

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::domain::{Column, Constraint, ListDomain, SpaceDomain};
use sigmabar::simulated::SimulatedNoise;
use sigmabar::strategy::{
    AdaBkb, BatchRule, Bbkb, Bkb, BkbWidth, Bpe, BpeSchedule, BpeWidth, DecoupledThompson, Direction, EkUcb, ExpectedImprovement, GpThreds,
    GpUcb, Incumbent, LargestVariance, MetaIndex, MiniMeta, ProbabilityOfImprovement, Random, Rips, Rules, SampleScale, Sbpe, Schedule,
    Sequential, Sobol, SupKernelUcb, SupWidth, ThompsonSampling, Trial, TrialState, UcbWidth,
};
use sigmabar::{Ask, BoxDomain, Domain, Error, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};

/// All policies, small enough for budgets of two dozen.
#[rustfmt::skip]
fn policies(direction: Direction) -> Vec<(&'static str, Policy)> {
    // The believed interval of the best value is in the data's scale.
    let (low, high) = if direction == Direction::Maximize { (-1.0, 2.0) } else { (-2.0, 1.0) };
    let one = Sequential::default().with_box_candidates(64);
    let four = one.with_batch_len(4);
    let actions = Points::on_line(list_values()).unwrap();
    vec![
        ("ada-bkb", Policy::AdaBkb(AdaBkb::default())),
        ("bbkb", Policy::Bbkb(Bbkb::default().with_sequential(one))),
        ("bbkb, local rule", Policy::Bbkb(Bbkb::new(BatchRule::Local, 1.5).unwrap().with_sequential(one))),
        ("bkb, paper, batches", Policy::Bkb(Bkb::new(BkbWidth::Paper { epsilon: 0.5 }).with_sequential(four))),
        ("bkb", Policy::Bkb(Bkb::default().with_sequential(one))),
        ("bpe", Policy::Bpe(Bpe::default().with_sequential(one))),
        ("bpe, three batches", Policy::Bpe(Bpe::new(BpeSchedule::Even(3), BpeWidth::Constant(2.0)).keeping_data().with_sequential(one))),
        ("ei", Policy::ExpectedImprovement(ExpectedImprovement::default().with_sequential(one))),
        ("ei, batches", Policy::ExpectedImprovement(ExpectedImprovement::default().with_sequential(four))),
        ("ek-ucb", Policy::EkUcb(EkUcb::new(actions))),
        ("gp-threds", Policy::GpThreds(GpThreds::new(low, high).unwrap().with_grid(6))),
        ("gp-ts", Policy::ThompsonSampling(ThompsonSampling::default().with_sequential(four))),
        ("gp-ts, theory", Policy::ThompsonSampling(ThompsonSampling::new(SampleScale::Theory).with_sequential(one))),
        ("gp-ucb", Policy::GpUcb(GpUcb::default().with_sequential(one))),
        ("gp-ucb, batches", Policy::GpUcb(GpUcb::new(UcbWidth::Srinivas).with_sequential(four))),
        ("max-variance", Policy::LargestVariance(LargestVariance::default().with_sequential(four))),
        ("mini-meta", Policy::MiniMeta(MiniMeta::new(MetaIndex::default(), 1.5).unwrap().with_sequential(one))),
        ("pi", Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default().with_sequential(one))),
        ("random", Policy::Random(Random::default())),
        ("rips", Policy::Rips(Rips::default().with_sequential(one))),
        ("rips, short phases", Policy::Rips(Rips::default().with_effort(0.001).with_sequential(one))),
        ("s-bpe", Policy::Sbpe(Box::new(Sbpe::default().with_candidates(64).unwrap()))),
        ("s-bpe, three batches", Policy::Sbpe(Box::new(Sbpe::default().with_schedule(Schedule::Even(3)).with_candidates(64).unwrap()))),
        ("s-bpe, paper", Policy::Sbpe(Box::new(Sbpe::new(Rules::Paper).with_candidates(64).unwrap()))),
        ("s-gp-ts", Policy::DecoupledThompson(DecoupledThompson::default().with_sequential(four))),
        ("sobol", Policy::Sobol(Sobol::default())),
        ("supkernelucb", Policy::SupKernelUcb(SupKernelUcb::default().with_sequential(one))),
        ("supkernelucb, constant", Policy::SupKernelUcb(SupKernelUcb::new(SupWidth::Constant(0.5)).with_sequential(one))),
        ("pi, last step", Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default().with_incumbent(Incumbent::LastStep).with_sequential(one))),
    ]
}

const BUDGET: usize = 24;

fn list() -> Domain {
    let grid = Domain::Box(BoxDomain::unit(2).unwrap()).grid(6).unwrap();
    Domain::List(ListDomain::new(grid.range(0, grid.len()).unwrap()).unwrap())
}

fn square() -> Domain {
    Domain::Box(BoxDomain::unit(2).unwrap())
}

fn space() -> Domain {
    let columns = vec![Column::float(0.0, 2.0), Column::integer(0, 4)];
    Domain::Space(SpaceDomain::new(columns, vec![Constraint::less(0, 1)]).unwrap())
}

/// Everything a policy may need is given.
fn problem(domain: Domain) -> Problem {
    Problem::new(domain, BUDGET)
        .unwrap()
        .with_seed(7)
        .with_kernel(Kernel::squared_exponential(0.4, 1.0).unwrap())
        .unwrap()
        .with_norm_bound(2.0)
        .unwrap()
        .with_noise(Noise::gaussian(0.1).unwrap())
        .unwrap()
}

/// Every policy on every domain it knows.
fn strategies() -> Vec<(String, Strategy)> {
    strategies_for(Direction::Maximize)
}

fn strategies_for(direction: Direction) -> Vec<(String, Strategy)> {
    let domains = [("list", list as fn() -> Domain), ("box", square), ("space", space)];
    let mut all = Vec::new();
    for (name, policy) in policies(direction) {
        let before = all.len();
        for (place, domain) in domains {
            match Strategy::new(problem(domain()).with_direction(direction), policy.clone()) {
                Ok(strategy) => all.push((format!("{name} on a {place}"), strategy)),
                Err(error) => assert!(matches!(error, Error::Premise { .. } | Error::Missing { .. }), "{name} on a {place}: {error:?}"),
            }
        }
        assert!(all.len() > before, "{name} works nowhere");
    }
    all
}

/// The simulated result of a trial, whatever was asked before.
fn result(trial: &Trial) -> f64 {
    let bowl: f64 = trial.point.iter().map(|x| (x - 0.6).powi(2)).sum();
    0.8 - bowl + SimulatedNoise::Gaussian { std_dev: 0.1 }.draw(3, trial.id)
}

/// The values of a column of [`list`], to the bit.
fn list_values() -> Vec<f64> {
    let Domain::List(list) = list() else { unreachable!() };
    (0..6).map(|i| list.points().row(i)[1]).collect()
}

/// Asks; a contextual policy gets a context that depends on the number of trials alone, and with which some action is open on every domain.
fn ask(strategy: &mut Strategy, at_most: usize) -> sigmabar::Result<Ask> {
    if is_contextual(strategy) {
        let step = strategy.ledger().trials().len() % 5;
        strategy.set_context(&[list_values()[step]])?;
    }
    strategy.ask(at_most)
}

fn is_contextual(strategy: &Strategy) -> bool {
    matches!(strategy.policy(), Policy::EkUcb(_))
}

fn trials(ask: Ask) -> Vec<Trial> {
    match ask {
        Ask::Trials(trials) => trials,
        _ => Vec::new(),
    }
}

/// Tells everything until the run is over.
fn finish(strategy: &mut Strategy) {
    finish_with(strategy, usize::MAX, |s, trial| s.tell(trial.id, Outcome::Value(result(&trial))).unwrap());
}

fn finish_with(strategy: &mut Strategy, at_most: usize, mut act: impl FnMut(&mut Strategy, Trial)) {
    for _ in 0..10 * BUDGET {
        match ask(strategy, at_most).unwrap() {
            Ask::Trials(trials) => trials.into_iter().for_each(|trial| act(strategy, trial)),
            Ask::Finished => return,
            _ => strategy.close_batch().unwrap(),
        }
    }
    panic!("the run does not end");
}

type Bits = Vec<u64>;
type Future = (Vec<Bits>, Vec<TrialState>, Option<(Bits, u64, u64, u64)>);

/// Points and states of a run and what it recommends, to the bit.
fn future(strategy: &Strategy) -> Future {
    let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
    let points = strategy.ledger().trials().iter().map(|t| bits(&t.point)).collect();
    let recommended = strategy.recommend().unwrap().map(|r| (bits(&r.point), r.lower.to_bits(), r.upper.to_bits(), r.gap.to_bits()));
    (points, strategy.ledger().states().to_vec(), recommended)
}

#[test]
fn ask_gives_at_most_what_is_asked_for_then_waits_then_finishes() {
    for (name, mut strategy) in strategies() {
        let (mut asked, mut batches) = (0, 0);
        while let Ask::Trials(mut open) = ask(&mut strategy, 3).unwrap() {
            batches += 1;
            assert!(!open.is_empty() && open.len() <= 3, "{name}");
            while let Ask::Trials(more) = ask(&mut strategy, 3).unwrap() {
                assert!(!more.is_empty() && more.len() <= 3, "{name}");
                open.extend(more);
            }
            assert_eq!(ask(&mut strategy, 1).unwrap(), Ask::Wait, "{name} waits while all is handed out");
            assert_eq!(ask(&mut strategy, usize::MAX).unwrap(), Ask::Wait, "{name}");
            for trial in &open {
                assert_eq!((trial.id, trial.batch), (asked, batches - 1), "{name} numbers trials and batches from 0");
                let natural = strategy.problem().domain().decode(Points::new(trial.point.clone(), 2).unwrap().view()).unwrap();
                assert!(strategy.problem().domain().contains(natural.row(0)), "{name} asks at {:?}, outside", trial.point);
                if let Domain::List(list) = strategy.problem().domain() {
                    assert_eq!(list.points().row(trial.candidate.unwrap()), trial.point, "{name}");
                }
                asked += 1;
            }
            for trial in open {
                strategy.tell(trial.id, Outcome::Value(result(&trial))).unwrap();
            }
            assert_eq!(strategy.ledger().closed(), batches, "{name} closes a batch with its last result");
        }
        assert_eq!(asked, BUDGET as u64, "{name} spends its budget");
        assert_eq!(ask(&mut strategy, 5).unwrap(), Ask::Finished, "{name}");
        assert_eq!(ask(&mut strategy, 5).unwrap(), Ask::Finished, "{name}");
        let reports = strategy.batches().unwrap();
        assert_eq!(reports.len(), batches, "{name}");
        assert_eq!(reports.iter().map(|r| r.planned).sum::<usize>(), BUDGET, "{name}");
        assert_eq!(reports.iter().map(|r| r.measured).sum::<usize>(), BUDGET, "{name}");
    }
}

#[test]
fn asking_for_nothing_gives_nothing_and_costs_nothing() {
    for (name, mut strategy) in strategies() {
        let mut plain = strategy.clone();
        assert_eq!(ask(&mut strategy, 0).unwrap(), Ask::Wait, "{name}");
        finish(&mut strategy);
        finish(&mut plain);
        assert_eq!(future(&strategy), future(&plain), "{name}");
    }
}

#[test]
fn wrong_results_are_refused_and_change_nothing() {
    for (name, mut strategy) in strategies() {
        assert_eq!(strategy.recommend().unwrap(), None, "{name} knows nothing at first");
        let first = trials(ask(&mut strategy, 1).unwrap()).remove(0);
        let before = strategy.to_bytes();
        let unknown = [BUDGET as u64 + 5, u64::MAX];
        for id in unknown {
            assert_eq!(strategy.tell(id, Outcome::Value(0.0)), Err(Error::UnknownTrial { id }), "{name}");
        }
        if strategy.ledger().trials().len() > 1 {
            assert_eq!(strategy.tell(1, Outcome::Value(0.0)), Err(Error::NotAsked { id: 1 }), "{name}");
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refused = strategy.tell(first.id, Outcome::Value(value));
            assert!(matches!(refused, Err(Error::NotFinite { row: 0, .. })), "{name}: {refused:?}");
            assert!(strategy.tell(first.id, Outcome::Mean { mean: value, standard_error: 0.1, replicates: None }).is_err(), "{name}");
            assert!(strategy.tell(first.id, Outcome::Mean { mean: 0.1, standard_error: value, replicates: None }).is_err(), "{name}");
        }
        for standard_error in [0.0, -0.1] {
            let refused = strategy.tell(first.id, Outcome::Mean { mean: 0.0, standard_error, replicates: None });
            assert!(matches!(refused, Err(Error::Parameter { name: "standard error", .. })), "{name}: {refused:?}");
        }
        assert!(strategy.to_bytes() == before, "{name}: a refused result changes nothing");
        strategy.tell(first.id, Outcome::Value(0.3)).unwrap();
        let before = strategy.to_bytes();
        for outcome in [Outcome::Value(0.3), Outcome::Failed] {
            assert_eq!(strategy.tell(first.id, outcome), Err(Error::AlreadyTold { id: first.id }), "{name}");
        }
        assert!(strategy.to_bytes() == before, "{name}");
    }
}

#[test]
fn failures_count_as_spent_and_are_never_recommended() {
    for (name, mut strategy) in strategies() {
        let mut failed = Vec::new();
        finish_with(&mut strategy, 4, |s, trial| {
            let fails = trial.id % 3 == 1;
            s.tell(trial.id, if fails { Outcome::Failed } else { Outcome::Value(result(&trial)) }).unwrap();
            failed.extend(fails.then_some(trial.id));
        });
        let ledger = strategy.ledger();
        assert!(ledger.trials().len() <= BUDGET, "{name} stays within its budget");
        assert_eq!((0..ledger.closed()).map(|b| ledger.lost(b)).sum::<usize>(), failed.len(), "{name}");
        assert!((0..ledger.closed()).flat_map(|b| ledger.measured(b)).all(|m| !failed.contains(&m.id.unwrap())), "{name}");
        assert!(strategy.recommend().unwrap().is_some(), "{name}");
    }
}

#[test]
fn a_run_in_which_everything_fails_ends_without_a_value() {
    for (name, mut strategy) in strategies() {
        finish_with(&mut strategy, usize::MAX, |s, trial| s.tell(trial.id, Outcome::Failed).unwrap());
        assert!(strategy.ledger().trials().len() <= BUDGET, "{name}");
        assert!((0..strategy.ledger().closed()).all(|b| strategy.ledger().measured(b).count() == 0), "{name}");
        if let Some(r) = strategy.recommend().unwrap() {
            assert!(r.lower <= r.upper && !r.lower.is_nan() && !r.gap.is_nan(), "{name} makes nothing up: {r:?}");
        }
    }
}

#[test]
fn means_with_standard_errors_are_taken() {
    for (name, mut strategy) in strategies() {
        finish_with(&mut strategy, 5, |s, trial| {
            let standard_error = 0.02 + 0.01 * (trial.id % 4) as f64;
            s.tell(trial.id, Outcome::Mean { mean: result(&trial), standard_error, replicates: None }).unwrap();
        });
        assert_eq!(strategy.ledger().trials().len(), BUDGET, "{name}");
        let errors: Vec<f64> =
            (0..strategy.ledger().closed()).flat_map(|b| strategy.ledger().measured(b)).map(|m| m.standard_error.unwrap()).collect();
        assert_eq!(errors.len(), BUDGET, "{name}");
        let r = strategy.recommend().unwrap().unwrap();
        assert!(r.lower.is_finite() && r.lower <= r.upper, "{name}: {r:?}");
    }
}

#[test]
fn a_batch_is_closed_without_what_is_missing() {
    for (name, mut strategy) in strategies() {
        strategy.close_batch().unwrap();
        assert_eq!(strategy.ledger().closed(), 0, "{name}: nothing is open yet");
        finish_with(&mut strategy, usize::MAX, |s, trial| {
            if trial.id % 4 != 2 {
                s.tell(trial.id, Outcome::Value(result(&trial))).unwrap();
            }
        });
        let missing = strategy.ledger().states().iter().filter(|s| **s == TrialState::Missing).count();
        assert!(missing > 0, "{name}");
        assert_eq!((0..strategy.ledger().closed()).map(|b| strategy.ledger().lost(b)).sum::<usize>(), missing, "{name}");
        assert!(strategy.ledger().trials().len() <= BUDGET, "{name}");
        assert!(strategy.recommend().unwrap().is_some(), "{name}");
    }
}

#[test]
fn late_results_are_kept_and_change_nothing() {
    for (name, strategy) in strategies() {
        let run = |tell_late: bool| {
            let mut run = strategy.clone();
            let mut late: Vec<Trial> = Vec::new();
            for _ in 0..10 * BUDGET {
                let Ask::Trials(open) = ask(&mut run, usize::MAX).unwrap() else { break };
                for trial in open {
                    if trial.id % 3 == 0 {
                        late.push(trial);
                    } else {
                        run.tell(trial.id, Outcome::Value(result(&trial))).unwrap();
                    }
                }
                run.close_batch().unwrap();
                for trial in late.drain(..).filter(|_| tell_late) {
                    run.tell(trial.id, Outcome::Value(1e3)).unwrap();
                    assert_eq!(run.tell(trial.id, Outcome::Value(1e3)), Err(Error::AlreadyTold { id: trial.id }), "{name}");
                }
            }
            run
        };
        let (with, without) = (run(true), run(false));
        let ((points, states, recommended), (plain_points, _, plain_recommended)) = (future(&with), future(&without));
        assert!(points == plain_points && recommended == plain_recommended, "{name}: a late result is not used");
        assert!(states.contains(&TrialState::Late(Outcome::Value(1e3))), "{name} keeps it");
        assert_eq!(with.batches().unwrap(), without.batches().unwrap(), "{name}");
    }
}

#[test]
fn saving_after_every_event_changes_nothing() {
    for (name, strategy) in strategies() {
        let restored = |s: &Strategy| Strategy::from_bytes(&s.to_bytes()).unwrap();
        let mut plain = strategy.clone();
        finish_with(&mut plain, 2, |s, trial| s.tell(trial.id, Outcome::Value(result(&trial))).unwrap());
        let expected = future(&plain);
        let events = 2 * BUDGET;
        // Restored after every event, and after one event alone.
        for only in std::iter::once(None).chain((0..events).step_by(5).map(Some)) {
            let mut run = strategy.clone();
            let mut event = 0;
            let save = |run: &mut Strategy, event: &mut usize| {
                if only.is_none_or(|only| only == *event) {
                    *run = restored(run);
                }
                *event += 1;
            };
            save(&mut run, &mut event);
            while let Ask::Trials(open) = ask(&mut run, 2).unwrap() {
                save(&mut run, &mut event);
                for trial in open {
                    run.tell(trial.id, Outcome::Value(result(&trial))).unwrap();
                    save(&mut run, &mut event);
                }
            }
            assert!(future(&run) == expected, "{name}, restored at {only:?}");
            assert!(run.to_bytes() == plain.to_bytes(), "{name}: the same bytes, restored at {only:?}");
            assert_eq!(run.survivors(), plain.survivors(), "{name}");
            assert_eq!(run.batches().unwrap(), plain.batches().unwrap(), "{name}");
        }
    }
}

#[test]
fn damaged_runs_are_refused() {
    for (name, mut strategy) in strategies() {
        trials(ask(&mut strategy, 2).unwrap());
        let bytes = strategy.to_bytes();
        for at in (0..bytes.len()).step_by(bytes.len() / 37 + 1) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(matches!(Strategy::from_bytes(&damaged), Err(Error::Saved(_))), "{name}, byte {at}");
            assert!(matches!(Strategy::from_bytes(&bytes[..at]), Err(Error::Saved(_))), "{name}, cut at {at}");
        }
    }
}

#[test]
fn the_order_of_telling_does_not_matter() {
    for (name, strategy) in strategies() {
        let mut forward = strategy.clone();
        finish(&mut forward);
        let mut shuffled = strategy;
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        loop {
            let mut open = Vec::new();
            while let Ask::Trials(more) = ask(&mut shuffled, 1 + open.len()).unwrap() {
                open.extend(more);
            }
            if open.is_empty() {
                break;
            }
            for i in (1..open.len()).rev() {
                open.swap(i, rng.random_range(0..=i));
            }
            for trial in open {
                shuffled.tell(trial.id, Outcome::Value(result(&trial))).unwrap();
            }
        }
        assert!(future(&shuffled) == future(&forward), "{name}");
        assert!(shuffled.to_bytes() == forward.to_bytes(), "{name}");
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for (name, strategy) in strategies() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut run = strategy.clone();
                finish(&mut run);
                (future(&run), run.to_bytes())
            })
        };
        assert!(run(1) == run(3), "{name}");
    }
}

#[test]
fn the_seed_decides() {
    for (name, policy) in policies(Direction::Maximize) {
        let run = |seed| {
            let mut run = Strategy::new(problem(square()).with_seed(seed), policy.clone()).ok()?;
            finish(&mut run);
            Some(future(&run))
        };
        let Some(first) = run(11) else { continue };
        assert!(Some(first) == run(11), "{name}: the same seed gives the same run");
    }
}

#[test]
fn minimising_is_maximising_the_negative() {
    for ((name, mut maximise), (_, mut minimise)) in strategies().into_iter().zip(strategies_for(Direction::Minimize)) {
        finish(&mut maximise);
        finish_with(&mut minimise, usize::MAX, |s, trial| s.tell(trial.id, Outcome::Value(-result(&trial))).unwrap());
        let points = |s: &Strategy| s.ledger().trials().iter().map(|t| t.point.clone()).collect::<Vec<_>>();
        assert_eq!(points(&maximise), points(&minimise), "{name}");
        assert_eq!(maximise.survivors(), minimise.survivors(), "{name}");
        let (a, b) = (maximise.recommend().unwrap().unwrap(), minimise.recommend().unwrap().unwrap());
        assert_eq!((a.point, a.candidate, a.lower, a.upper, a.gap), (b.point, b.candidate, -b.upper, -b.lower, b.gap), "{name}");
    }
}

fn refused(problem: Problem, policy: Policy) -> Error {
    Strategy::new(problem, policy).expect_err("it must be refused")
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let bare = || Problem::new(list(), 10).unwrap();
    let needless = ["random", "sobol", "ei", "pi", "gp-ucb", "gp-ts"];
    for (name, policy) in
        policies(Direction::Maximize).into_iter().filter(|(name, _)| !needless.iter().any(|n| name.split(',').next() == Some(n)))
    {
        let error = refused(bare(), policy);
        assert!(matches!(error, Error::Missing { what: "a kernel" | "a ridge", .. } | Error::Premise { .. }), "{name}: {error:?}");
    }
    let calm = || bare().with_kernel(Kernel::squared_exponential(0.3, 1.0).unwrap()).unwrap().with_ridge(0.1).unwrap();
    for policy in [Policy::GpUcb(GpUcb::default()), Policy::Bpe(Bpe::default()), Policy::Bkb(Bkb::default()), Policy::Bbkb(Bbkb::default())]
    {
        assert!(matches!(refused(calm(), policy), Error::Missing { what: "a norm bound" | "a noise model", .. }));
    }
    assert!(Strategy::new(calm(), Policy::ExpectedImprovement(ExpectedImprovement::default())).is_ok());
    let full = || problem(list());
    let zero = Sequential::default().with_batch_len(0);
    assert!(matches!(
        refused(full(), Policy::GpUcb(GpUcb::default().with_sequential(zero))),
        Error::Parameter { name: "batch length", .. }
    ));
    assert!(matches!(refused(full(), Policy::GpUcb(GpUcb::new(UcbWidth::Constant(f64::NAN)))), Error::Parameter { .. }));
    assert!(matches!(refused(full(), Policy::GpUcb(GpUcb::new(UcbWidth::SrinivasBox { a: 1.0, b: 1.0 }))), Error::Premise { .. }));
    assert!(matches!(
        refused(full(), Policy::ExpectedImprovement(ExpectedImprovement::default().with_margin(-1.0))),
        Error::Parameter { .. }
    ));
    assert!(matches!(refused(full(), Policy::Bpe(Bpe::default().keeping_data())), Error::Premise { .. }));
    assert!(matches!(refused(full(), Policy::Bkb(Bkb::new(BkbWidth::Paper { epsilon: 1.0 }))), Error::Parameter { name: "epsilon", .. }));
    assert!(matches!(refused(full(), Policy::AdaBkb(AdaBkb::default())), Error::Premise { what: "Ada-BKB", .. }));
    assert!(matches!(refused(full(), Policy::GpThreds(GpThreds::new(0.0, 1.0).unwrap())), Error::Premise { what: "GP-ThreDS", .. }));
    assert!(matches!(refused(full(), Policy::EkUcb(EkUcb::new(Points::new(vec![0.0, 1.0], 2).unwrap()))), Error::Premise { .. }));
    let straight = bare().with_kernel(Kernel::linear(0.0, 1.0, 1.0).unwrap()).unwrap().with_ridge(0.1).unwrap();
    assert!(matches!(refused(straight, Policy::DecoupledThompson(DecoupledThompson::default())), Error::Premise { .. }));
    assert!(Bbkb::new(BatchRule::Global, 0.5).is_err() && MiniMeta::new(MetaIndex::default(), f64::NAN).is_err());
    assert!(GpThreds::new(1.0, 1.0).is_err() && DecoupledThompson::new(0, 5).is_err());

    let mut strategy = Strategy::new(full(), Policy::GpUcb(GpUcb::default())).unwrap();
    assert!(matches!(strategy.set_context(&[1.0]), Err(Error::Premise { .. })));
}

#[test]
fn problems_without_a_solution_are_refused() {
    assert!(matches!(Problem::new(list(), 0), Err(Error::Parameter { name: "budget", .. })));
    assert!(matches!(problem(list()).with_budget(0), Err(Error::Parameter { name: "budget", .. })));
    assert!(matches!(Points::new(Vec::new(), 2), Err(Error::Empty { .. })), "an empty list has no points to begin with");
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert!(matches!(BoxDomain::new(vec![0.0, low], vec![1.0, high]), Err(Error::Interval { column: 1, .. })), "{low} {high}");
    }
    let columns = vec![Column::float(0.0, 1.0), Column::float(0.0, 1.0)];
    assert!(matches!(SpaceDomain::new(columns.clone(), vec![Constraint::sum(&[0, 1], 3.0)]), Err(Error::Infeasible { .. })));
    // Each constraint alone can be met, both together cannot: that shows when points are looked for.
    let circle = vec![Constraint::less(0, 1), Constraint::less(1, 0)];
    if let Ok(space) = SpaceDomain::new(columns, circle) {
        for (name, policy) in policies(Direction::Maximize) {
            let refused = Strategy::new(problem(Domain::Space(space.clone())), policy);
            assert!(matches!(refused, Err(Error::NoFeasiblePoint { .. } | Error::Premise { .. })), "{name}: {refused:?}");
        }
    }
}
