//! Many seeds of one strategy on one benchmark, in parallel.

use crate::benchmark::Benchmark;
use crate::evaluation::Evaluation;
use rayon::prelude::*;
use sigmabar::strategy::{StillPossible, Trial};
use sigmabar::{Ask, Error, Outcome, Policy, Problem, Result, Strategy};
use sigmabar_linalg::parallel;

/// At which ends of batches a recommendation is asked for. One may cost as much as a fit to all data: a strategy with batches of one would pay that
/// at every evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum RecommendAt {
    /// At all.
    #[default]
    EveryBatch,
    /// When there are this many times as many evaluations as at the last one, and at the end.
    Growing(f64),
    /// At the end alone.
    Last,
}

/// The benchmark of a seed.
type BenchmarkOf<'a> = Box<dyn Fn(u64) -> Result<Benchmark> + Send + Sync + 'a>;
/// The policy for what a run is told.
type PolicyFor<'a> = Box<dyn Fn(&Problem) -> Result<Policy> + Send + Sync + 'a>;

/// The context of an evaluation, from the seed and its number.
type ContextOf<'a> = Box<dyn Fn(u64, usize) -> Vec<f64> + Send + Sync + 'a>;

/// One strategy on one benchmark with many seeds.
///
/// A run is a function of its seed alone, its seconds apart: the seed chooses the instance of the benchmark, everything random in the strategy, and
/// with the number of the trial its noise. A contextual policy is given contexts by [`Experiment::with_contexts`]; its regret is against the best action that
/// the context leaves open.
///
/// ```
/// use sigmabar::Policy;
/// use sigmabar::simulated::{Classic, SimulatedNoise};
/// use sigmabar::strategy::Random;
/// use sigmabar_experiment::{Benchmark, Experiment, TestFunction, summaries, write_csv};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let branin = |_| Benchmark::new(TestFunction::classic(Classic::Branin)?, SimulatedNoise::Gaussian { std_dev: 0.1 }, 30);
/// let rows = Experiment::new("random", branin, |_| Ok(Policy::Random(Random::default())), 0..4)?.run(&|| 0.0)?;
/// assert_eq!(rows.len(), 4 * 30);
/// println!("simple regret {}", summaries(&rows)[0].simple_regret.mean);
/// write_csv(&rows, std::io::sink())?;
/// # Ok(())
/// # }
/// ```
pub struct Experiment<'a> {
    strategy: String,
    benchmark: BenchmarkOf<'a>,
    policy: PolicyFor<'a>,
    seeds: Vec<u64>,
    recommended: RecommendAt,
    workers: usize,
    contexts: Option<ContextOf<'a>>,
}

impl<'a> Experiment<'a> {
    /// The strategy's name in the rows, the benchmark of each seed, the policy for what a run is told, and the seeds.
    ///
    /// # Errors
    /// [`Error::Empty`] without seeds.
    pub fn new(
        strategy: impl Into<String>,
        benchmark: impl Fn(u64) -> Result<Benchmark> + Send + Sync + 'a,
        policy: impl Fn(&Problem) -> Result<Policy> + Send + Sync + 'a,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<Self> {
        let seeds: Vec<u64> = seeds.into_iter().collect();
        if seeds.is_empty() {
            return Err(Error::Empty { what: "the list of seeds" });
        }
        let (benchmark, policy) = (Box::new(benchmark), Box::new(policy));
        Ok(Self {
            strategy: strategy.into(),
            benchmark,
            policy,
            seeds,
            recommended: RecommendAt::EveryBatch,
            workers: usize::MAX,
            contexts: None,
        })
    }

    /// When recommendations are asked for.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a growth that is not finite or below 1.
    pub fn recommending(self, at: RecommendAt) -> Result<Self> {
        if let RecommendAt::Growing(value) = at
            && !(value.is_finite() && value >= 1.0)
        {
            return Err(Error::Parameter { name: "growth between recommendations", value, requirement: "finite and at least 1" });
        }
        Ok(Self { recommended: at, ..self })
    }

    /// How many trials are handed out at once; all of a batch without this.
    ///
    /// # Errors
    /// [`Error::Parameter`] for 0.
    pub fn with_workers(self, workers: usize) -> Result<Self> {
        if workers == 0 {
            return Err(Error::Parameter { name: "workers", value: 0.0, requirement: "at least 1" });
        }
        Ok(Self { workers, ..self })
    }

    /// The context of every evaluation, from the seed and the number of the evaluation from 0: for contextual policies. Recommendations, which are for no
    /// context, are not asked for then.
    #[must_use]
    pub fn with_contexts(self, contexts: impl Fn(u64, usize) -> Vec<f64> + Send + Sync + 'a) -> Self {
        Self { contexts: Some(Box::new(contexts)), recommended: RecommendAt::Last, ..self }
    }

    /// Runs all seeds, in parallel, and gives their rows in the order of the seeds. `clock` tells the seconds since any moment; runs share the machine, so
    /// that their seconds are comparable only if one runs at a time.
    ///
    /// # Errors
    /// The error of the first seed, in their order, that ran into one.
    pub fn run(&self, clock: &(dyn Fn() -> f64 + Sync)) -> Result<Vec<Evaluation>> {
        let runs: Vec<Result<Vec<Evaluation>>> = parallel(|_| self.seeds.par_iter().map(|&seed| self.run_seed(seed, clock)).collect());
        let runs: Vec<Vec<Evaluation>> = runs.into_iter().collect::<Result<_>>()?;
        Ok(runs.into_iter().flatten().collect())
    }

    fn run_seed(&self, seed: u64, clock: &(dyn Fn() -> f64 + Sync)) -> Result<Vec<Evaluation>> {
        let benchmark = (self.benchmark)(seed)?;
        let problem = benchmark.problem().clone().with_seed(seed);
        let policy = (self.policy)(&problem)?;
        let strategy = Strategy::new(problem, policy)?;
        let name = self.strategy.clone();
        let mut run = Run { name, benchmark, strategy, seed, seconds: 0.0, rows: Vec::new(), recommended_at: 0, best: None };
        while let Some(trials) = run.ask(self.workers, self.contexts.as_deref(), clock)? {
            for trial in trials {
                if run.evaluate(&trial, clock)? {
                    run.recommend_if_due(self.recommended)?;
                }
            }
        }
        run.finish()
    }
}

/// A run under way.
struct Run {
    name: String,
    benchmark: Benchmark,
    strategy: Strategy,
    seed: u64,
    seconds: f64,
    rows: Vec<Evaluation>,
    /// Evaluations at the last recommendation.
    recommended_at: usize,
    /// The best value that the context of the evaluation leaves open.
    best: Option<f64>,
}

impl Run {
    fn ask(
        &mut self,
        workers: usize,
        contexts: Option<&(dyn Fn(u64, usize) -> Vec<f64> + Send + Sync)>,
        clock: &(dyn Fn() -> f64 + Sync),
    ) -> Result<Option<Vec<Trial>>> {
        if let Some(contexts) = contexts {
            let context = contexts(self.seed, self.rows.len());
            self.strategy.set_context(&context)?;
            self.best = self.best_open(&context)?;
        }
        let start = clock();
        let ask = self.strategy.ask(workers)?;
        self.seconds += clock() - start;
        match ask {
            Ask::Trials(trials) => Ok(Some(trials)),
            Ask::Finished => Ok(None),
            // An experiment measures regret to its end, whatever its premises are worth.
            Ask::Contradicted(_) => {
                self.strategy.go_on_despite_contradiction();
                self.ask(workers, contexts, clock)
            }
            _ => unreachable!("everything handed out was told at once"),
        }
    }

    /// The best noise-free value among the actions that a context leaves open.
    fn best_open(&self, context: &[f64]) -> Result<Option<f64>> {
        let Policy::EkUcb(policy) = self.strategy.policy() else { return Ok(None) };
        let function = self.benchmark.function();
        let values =
            policy.open_states(self.strategy.problem(), context)?.into_iter().map(|(candidate, point)| function.at(candidate, &point));
        Ok(values.min_by(|&a, &b| function.regret(a).total_cmp(&function.regret(b))))
    }

    /// Evaluates a trial; whether that closed a batch.
    fn evaluate(&mut self, trial: &Trial, clock: &(dyn Fn() -> f64 + Sync)) -> Result<bool> {
        let function = self.benchmark.function();
        let value = function.of_trial(trial);
        let regret = function.regret(value) - self.best.map_or(0.0, |best| function.regret(best));
        let closed = self.strategy.ledger().closed();
        let start = clock();
        self.strategy.tell(trial.id, Outcome::Value(value + self.benchmark.noise().draw(self.seed, trial.id)))?;
        self.seconds += clock() - start;
        self.rows.push(Evaluation {
            problem: function.name().to_owned(),
            strategy: self.name.clone(),
            seed: self.seed,
            evaluation: self.rows.len() + 1,
            batch: trial.batch,
            simple_regret: None,
            cumulative_regret: self.rows.last().map_or(0.0, |row| row.cumulative_regret) + regret,
            certified_gap: None,
            seconds: self.seconds,
            inducing: None,
            survivors: None,
        });
        Ok(self.strategy.ledger().closed() > closed)
    }

    fn recommend_if_due(&mut self, at: RecommendAt) -> Result<()> {
        let due = match at {
            RecommendAt::EveryBatch => true,
            RecommendAt::Growing(factor) => self.rows.len() as f64 >= factor * self.recommended_at as f64,
            RecommendAt::Last => false,
        };
        if due { self.recommend() } else { Ok(()) }
    }

    /// Writes the recommendation into the last row.
    fn recommend(&mut self) -> Result<()> {
        let (Some(recommendation), Some(row)) = (self.strategy.recommend()?, self.rows.last_mut()) else { return Ok(()) };
        let function = self.benchmark.function();
        row.simple_regret = Some(function.regret(function.at(recommendation.candidate, &recommendation.point)));
        let certified = recommendation.label().is_certified();
        row.certified_gap = (certified && recommendation.gap.is_finite()).then_some(recommendation.gap);
        self.recommended_at = self.rows.len();
        Ok(())
    }

    /// The last recommendation, and what the strategy says about its batches.
    fn finish(mut self) -> Result<Vec<Evaluation>> {
        if self.recommended_at < self.rows.len() && self.best.is_none() {
            self.recommend()?;
        }
        for (batch, report) in self.strategy.batches()?.into_iter().enumerate() {
            let last = self.strategy.ledger().batch(batch).end;
            if let Some(row) = last.checked_sub(1).and_then(|i| self.rows.get_mut(i)) {
                (row.inducing, row.survivors) = (report.inducing, report.survivors.map(StillPossible::number));
            }
        }
        Ok(self.rows)
    }
}
