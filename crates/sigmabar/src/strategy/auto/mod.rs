//! Optimisation for users who know neither kernel, norm nor noise: S-BPE's shape without its premises (algorithm notes 5.9).

mod advice;
mod alternatives;
mod assumed;
mod data;
mod draws;
mod fit;
mod ground;
mod hills;
mod maximisers;
mod model;
pub(super) mod one_by_one;
mod pick;
mod pool;
mod scale;
mod structure;
mod survivors;
mod unexplained;

pub use assumed::{Assumed, Quantity};
pub use scale::Scale;

use crate::certificate::{Certificate, Contradiction};
use crate::error::{Result, at_least_one};
use crate::points::Points;
use crate::strategy::baselines::Sobol;
use crate::strategy::run::ledger::{Ledger, Outcome, Proposal, TrialState};
use crate::strategy::run::problem::{Failures, Problem};
use crate::strategy::run::recommendation::{self, BatchReport, Recommendation, StillPossible};
use crate::theory::even_batch_lengths;
use advice::{Advice, Evidence};
use data::Data;
use fit::{Fit, Fitting};
use ground::Ground;
use hills::Hills;
use maximisers::Maximisers;
use model::Model;
use pick::Picking;
use pool::{Pool, Sieve};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Batches unless said otherwise.
const BATCHES: usize = 5;
/// Survivors satisfy $\mu+\beta\sigma\ge\max(\mu-\beta\sigma)$; $\beta$ for the second to the last of five batches, read off in between for other numbers.
const BETAS: [f64; 4] = [1.5, 1.0, 0.7, 0.5];
/// And for what is reported as still possible.
const REPORTED: f64 = 2.0;
/// The share of a batch that goes where least is known among the survivors, if the model predicts no better than a constant does.
const SURVIVORS: [f64; 4] = [0.6, 0.5, 0.4, 0.2];
/// Nats per value by which a model must predict better than a constant to be trusted fully.
const TRUSTED: f64 = 1.0;
/// Hills that are searched by themselves, the highest included; the share of the batch that those besides the highest get at most; and how much of its part the
/// first of them keeps, however few of the functions drawn on it reach the highest.
const HILLS: [f64; 4] = [3.0, 3.0, 2.0, 2.0];
const HILL_SHARE: [f64; 4] = [0.5, 0.5, 0.5, 0.35];
const HILL_LEAST: [f64; 4] = [0.8, 0.8, 0.4, 0.0];
/// Batches smaller than this have no room for other hills.
const HILLY: usize = 4;
/// The share of the search that learns the maximisers' values; the rest improves greedily.
const LEARNING: f64 = 0.75;
/// The share of the search that goes by a scale with a tail drawn in, where that explains the values better.
const BENT: f64 = 0.75;
/// Functions drawn at most, and for each evaluation of a small batch.
const DRAWS: usize = 192;
const DRAWS_EACH: usize = 4;
const FEWEST_DRAWS: usize = 32;
/// Below this ridge, in standard deviations of the values, repeated measurements say nothing.
const NOISELESS: f64 = 1e-3;

/// Few equal batches, all data, everything that is not given refitted after each (algorithm notes 5.9 and 5.10).
///
/// The first batch is a scrambled Sobol sequence. After every batch the values are put on a common scale, and a kernel with a joint and an additive part is fitted by
/// maximum a posteriori; where a scale with a tail drawn in explains the values better, both are kept. Functions are then drawn from the posterior and climbed to their
/// maxima: most of the next batch goes where it teaches most about the values there, some of it where it may improve on what is known. Once most was measured on one
/// hill, the model is too sure about the others: other hills of the mean are searched by themselves. Where leave-one-out says that the model predicts badly, a
/// share goes where the variance is largest among the survivors $\{x:\mu+\beta\sigma\ge\max(\mu-\beta\sigma)\}$ instead.
/// One evaluation of every later batch repeats the best point so far, unless the noise is given or there is none: whether repeated values scatter as much as the
/// model says tells noise from structure that the model is too smooth to see.
///
/// What the problem gives (kernel, noise, norm bound) is used as it is; what is estimated is listed in [`Auto::assumed`], and checked when
/// the next batch has arrived. All claims are estimates, none is certified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auto {
    batches: usize,
    rounds: Vec<Round>,
}

/// What a closed batch taught.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Round {
    /// The batch.
    batch: usize,
    /// By which the policy goes, the best first.
    fits: Vec<Fit>,
    assumed: Assumed,
    /// The share of the domain that survived.
    share: f64,
    advice: Advice,
    /// The surviving candidates of a list.
    survivors: Option<Vec<usize>>,
}

impl Round {
    fn report(&self, problem: &Problem, ledger: &Ledger, batch: usize) -> BatchReport {
        let premises = self.assumed.premises(problem, ledger.all_measured().count());
        let certificate =
            Certificate { contradiction: self.assumed.contradiction(), ..recommendation::model_certificate(problem, premises) };
        let survivors = self.survivors.as_ref().map_or(StillPossible::Share(self.share), |list| StillPossible::Candidates(list.len()));
        BatchReport {
            survivors: Some(survivors),
            gap: Some(problem.prior().unit() * self.advice.gap),
            certificate: Some(certificate),
            ..BatchReport::plain(ledger, batch)
        }
    }
}

impl Default for Auto {
    fn default() -> Self {
        Self { batches: BATCHES, rounds: Vec::new() }
    }
}

impl Auto {
    /// This many batches of equal length; as many as there are evaluations where those are fewer.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for no batch at all.
    pub fn new(batches: usize) -> Result<Self> {
        Ok(Self { batches: at_least_one("batches", batches)?, rounds: Vec::new() })
    }

    /// What the policy went by after each batch that brought values: what was given, and what was estimated with its safety factor.
    pub fn assumed(&self) -> impl ExactSizeIterator<Item = &Assumed> {
        self.rounds.iter().map(|round| &round.assumed)
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        self.lengths(problem)?;
        problem.domain().candidates(1, problem.seed()).map(drop)
    }

    /// Equal batches; the first is large enough to see every column move.
    fn lengths(&self, problem: &Problem) -> Result<Vec<usize>> {
        let (budget, batches) = (problem.budget(), self.batches.min(problem.budget()));
        let even = even_batch_lengths(budget, batches)?;
        let wanted = (problem.domain().dim() + 1).min(budget / 2).min(budget - (batches - 1));
        if batches < 2 || even[0] >= wanted {
            return Ok(even);
        }
        Ok([vec![wanted], even_batch_lengths(budget - wanted, batches - 1)?].concat())
    }

    /// A row of settings for batches two to five, at batch `batch` of the run's own number of batches.
    fn setting(&self, problem: &Problem, row: [f64; 4], batch: usize) -> f64 {
        let last = self.batches.min(problem.budget()).max(2) - 1;
        let steps = (row.len() - 1) as f64;
        let position = if last == 1 { steps } else { steps * (batch.clamp(1, last) - 1) as f64 / (last - 1) as f64 };
        let below = (position as usize).min(row.len() - 2);
        row[below] + (position - below as f64) * (row[below + 1] - row[below])
    }

    pub(super) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let batch = ledger.batches();
        let Some(&count) = self.lengths(problem)?.get(batch) else { return Ok(Vec::new()) };
        let seed = seed_of(problem, batch);
        // One by one, the first look takes as long as elsewhere.
        let few = (problem.domain().dim() + 1).min(problem.budget() / 5);
        let (data, fits) = match (self.rounds.last(), Data::of(problem, ledger)?) {
            (Some(round), Some(data)) if data.raw.len() >= few => (data, round.fits.clone()),
            // Results from before the run stand for a first look, if there are enough of them to fit a kernel to.
            (None, Some(data)) if data.raw.len() > problem.domain().dim() + 1 => {
                let fits = Fitting::new(problem, &data, seed)?.views(&data, &[])?;
                (data, fits)
            }
            _ => {
                let all = Sobol::default().plan(problem, &Ledger::default())?;
                return Ok(all.into_iter().skip(ledger.trials().len()).take(count).collect());
            }
        };
        let models = fits.par_iter().map(|fit| fit.model(&data)).collect::<Result<Vec<Model>>>()?;
        let mut plan = Batch { auto: self, problem, data: &data, fits: &fits, models: &models, batch, count, seed, chosen: Vec::new() };
        plan.repeat_best(ledger);
        plan.search_hills()?;
        plan.search()?;
        plan.explore()?;
        Ok(plan.chosen)
    }

    /// Refits, checks what was assumed before, and looks at what survives.
    pub(super) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        let spent = ledger.trials().len() >= problem.budget();
        let Some(data) = Data::of(problem, ledger)? else { return Ok(spent) };
        let batch = ledger.closed() - 1;
        let seed = seed_of(problem, batch);
        let last = self.rounds.last();
        // Without a new value the round stands: with the seed of another batch the same values would give another gap, and a wanted one would be met by luck.
        if last.is_some_and(|round| (round.batch + 1..=batch).all(|batch| ledger.measured(batch).next().is_none())) {
            return Ok(spent || self.is_reached(problem));
        }
        let fitting = Fitting::new(problem, &data, seed)?;
        let fits = fitting.views(&data, last.map_or(&[], |round| &round.fits))?;
        // The search goes by the rougher kernel, which rules out less; the choice, and what is said of it, by the smoother one where that explains more.
        let (model, fit) = (fits[0].model(&data)?, fitting.smoothest(&data, &fits[0])?);
        let smooth = fit.model(&data)?;
        let mut assumed = Assumed::new(problem, &fit, &smooth);
        let delta = problem.delta() / self.batches as f64;
        // What was given holds from the first batch on; estimates are checked by the data that came after them.
        let before = last.map_or(&assumed, |round| &round.assumed);
        assumed.least_norm = before.contradicted_by(&data, delta)?;
        let ground = Ground::new(problem.domain(), &model);
        let pool = Sieve { beta: REPORTED, ..Sieve::new(&ground, &model, &data, seed) }.pool()?;
        let ground = Ground::new(problem.domain(), &smooth);
        let evidence = Evidence { problem, ground: &ground, data: &data, fitting: &fitting, fit: &fit, model: &smooth, pool: &pool, seed };
        let advice = evidence.advice()?;
        let Pool { share, survivors, .. } = pool;
        self.rounds.push(Round { batch, fits, assumed, share, advice, survivors });
        Ok(spent || self.is_reached(problem))
    }

    fn is_reached(&self, problem: &Problem) -> bool {
        self.rounds.last().zip(problem.wanted_gap()).is_some_and(|(round, wanted)| problem.prior().unit() * round.advice.gap <= wanted)
    }

    /// That the data contradict what the user gave, if they do.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        self.rounds.last()?.assumed.contradiction()
    }

    pub(super) fn recommend(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Recommendation>> {
        let Some(Round { advice, assumed, .. }) = self.rounds.last() else { return Ok(None) };
        let candidate = advice.measured.and_then(|i| ledger.all_measured().nth(i)).and_then(|m| m.candidate);
        let (a, b) = (problem.to_data(advice.lower), problem.to_data(advice.upper));
        let premises = assumed.premises(problem, ledger.all_measured().count());
        Ok(Some(Recommendation {
            point: advice.point.clone(),
            candidate,
            lower: a.min(b),
            upper: a.max(b),
            gap: problem.prior().unit() * advice.gap,
            candidate_gap: None,
            certificate: Certificate { contradiction: assumed.contradiction(), ..recommendation::model_certificate(problem, premises) },
        }))
    }

    pub(super) fn reports(&self, problem: &Problem, ledger: &Ledger) -> Vec<BatchReport> {
        let report = |batch| {
            // A batch without a value leaves what the one before it taught.
            let standing = self.rounds.iter().rfind(|round| round.batch <= batch);
            standing.map_or_else(|| BatchReport::plain(ledger, batch), |round| round.report(problem, ledger, batch))
        };
        (0..ledger.closed()).map(report).collect()
    }
}

/// What a model goes by where nobody gave a kernel and a noise level: both learnt from everything measured so far, a batch that is still open included.
pub(super) fn first_look(problem: &Problem, ledger: &Ledger) -> Result<Option<Assumed>> {
    let Some(data) = Data::of(problem, ledger)? else { return Ok(None) };
    let fit = Fitting::new(problem, &data, seed_of(problem, 0))?.views(&data, &[])?.remove(0);
    let model = fit.model(&data)?;
    Ok(Some(Assumed::new(problem, &fit, &model)))
}

impl Data {
    /// Everything measured in time; `None` if nothing was.
    fn of(problem: &Problem, ledger: &Ledger) -> Result<Option<Self>> {
        let (rows, raw) = recommendation::measurements(problem, ledger);
        if rows.is_empty() {
            return Ok(None);
        }
        let errors = ledger.all_measured().map(|m| m.standard_error.map(|e| e / problem.prior().unit())).collect();
        // Results from before the run, or else the first batch that brought values, a Sobol sequence: both come first, and this run did not gather them around the best.
        let first = || (0..ledger.batches()).map(|b| ledger.measured(b).count()).find(|&n| n > 0).unwrap_or(0);
        let spread = match ledger.measured_before().count() {
            0 => first(),
            before => before,
        };
        let says_nothing = |state: &TrialState| !matches!(state, TrialState::Told(Outcome::Failed));
        let failed: Vec<&[f64]> =
            ledger.trials().iter().zip(ledger.states()).filter(|(_, s)| !says_nothing(s)).map(|(t, _)| &t.point[..]).collect();
        let failed = if failed.is_empty() || problem.failures() == Failures::Unrelated { None } else { Some(Points::from_rows(&failed)?) };
        Ok(Some(Self { points: Points::from_rows(&rows)?, raw, errors, spread, failed }))
    }
}

/// A batch being planned.
struct Batch<'a> {
    auto: &'a Auto,
    problem: &'a Problem,
    data: &'a Data,
    fits: &'a [Fit],
    models: &'a [Model],
    batch: usize,
    count: usize,
    seed: u64,
    chosen: Vec<Proposal>,
}

impl Batch<'_> {
    fn setting(&self, row: [f64; 4]) -> f64 {
        self.auto.setting(self.problem, row, self.batch)
    }

    fn pending(&self) -> Vec<Vec<f64>> {
        self.chosen.iter().map(|proposal| proposal.point.clone()).collect()
    }

    fn is_whole(&self) -> Result<bool> {
        Ok(pool::whole(self.problem.domain(), self.seed)?.is_some())
    }

    fn share_of(&self, share: f64) -> usize {
        (share * self.count as f64).round() as usize
    }

    /// The best point measured so far once more: only repeated measurements tell noise from fine structure.
    fn repeat_best(&mut self, ledger: &Ledger) {
        let noiseless = self.fits[0].ridge < NOISELESS;
        if self.count < 2 || self.problem.noise().is_some() || noiseless {
            return;
        }
        let model = &self.models[0];
        let Ok(outlook) = model.outlook(self.data.points.view()) else { return };
        let score: Vec<f64> = outlook.mean.iter().zip(&outlook.variance).map(|(m, v)| m - 0.5 * v.sqrt()).collect();
        let best = maximisers::largest(&score, 1)[0];
        let candidate = ledger.all_measured().nth(best).and_then(|m| m.candidate);
        self.chosen.push(Proposal { candidate, point: self.data.points.row(best).to_vec() });
    }

    /// Other hills than the highest, each by itself.
    fn search_hills(&mut self) -> Result<()> {
        let model = &self.models[0];
        let ground = Ground::new(self.problem.domain(), model);
        let Some(structure) = model.structure.as_ref().filter(|_| self.count >= HILLY && ground.is_divisible()) else { return Ok(()) };
        if self.is_whole()? {
            return Ok(());
        }
        let hills = Hills::new(&ground, model, self.data)?;
        let others = hills.tops.len().min(self.setting(HILLS).round() as usize) - 1;
        let total = self.share_of(self.setting(HILL_SHARE) * (2.0 * structure.jointness()).min(1.0));
        let mut known: Vec<Vec<f64>> = self.data.points.view().rows().map(<[f64]>::to_vec).collect();
        for hill in 1..=others {
            let part = total * hill / others - total * (hill - 1) / others;
            let (mut found, reaching) = hills.search(&ground, model, &known, hill, part, self.seed.wrapping_add(hill as u64))?;
            // Once most was measured elsewhere, the model is too sure that a hill is low: the first one gets its chance all the same.
            let least = if hill == 1 { self.setting(HILL_LEAST) } else { 0.0 };
            found.truncate(((2.0 * reaching).clamp(least, 1.0) * part as f64).round() as usize);
            known.extend(found.iter().cloned());
            self.chosen.extend(found.into_iter().map(Proposal::anywhere));
        }
        Ok(())
    }

    /// Points that teach most about the maximum, or may improve on what is known, in each view of the values.
    fn search(&mut self) -> Result<()> {
        let trusted = (self.fits[0].trust.gain / TRUSTED).clamp(0.0, 1.0);
        let left = self.count.saturating_sub(self.chosen.len());
        let surviving = (self.setting(SURVIVORS) * (1.0 - trusted) * left as f64).round() as usize;
        let main = left - surviving.min(left);
        let draws = (DRAWS_EACH * self.count).clamp(FEWEST_DRAWS, DRAWS);
        let draws = if self.models.len() > 1 { draws * 2 / 3 } else { draws };
        let mut done = 0;
        for (view, model) in self.models.iter().enumerate() {
            let count = if view + 1 == self.models.len() { main - done } else { (BENT * main as f64).round() as usize };
            if count == 0 {
                continue;
            }
            let seed = self.seed.wrapping_add(0x5ea7 * (view + 1) as u64);
            let found = self.maximisers(model, draws, seed)?;
            let mut picking = Picking::new(model, &found)?;
            picking.improve(count - (LEARNING * count as f64).round() as usize)?;
            picking.learn(count - picking.chosen.len())?;
            done += count;
            self.chosen.extend(picking.chosen.iter().map(|&i| found.proposal(i)));
        }
        Ok(())
    }

    fn maximisers(&self, model: &Model, draws: usize, seed: u64) -> Result<Maximisers> {
        let ground = Ground::new(self.problem.domain(), model);
        if !self.is_whole()?
            && let Some(found) = Maximisers::climbed(&ground, model, self.data, &self.pending(), draws, seed)?
        {
            return Ok(found);
        }
        Maximisers::drawn(model, &self.pool(model, &ground)?, &self.pending(), draws, seed)
    }

    fn pool(&self, model: &Model, ground: &Ground<'_>) -> Result<Pool> {
        Sieve { beta: self.setting(BETAS), count: self.count, ..Sieve::new(ground, model, self.data, self.seed) }.pool()
    }

    /// What is left goes where least is known among the survivors.
    fn explore(&mut self) -> Result<()> {
        let Some(left) = self.count.checked_sub(self.chosen.len()).filter(|&left| left > 0) else { return Ok(()) };
        let model = &self.models[0];
        let mut pool = self.pool(model, &Ground::new(self.problem.domain(), model))?;
        let pending = pool.points.len();
        self.pending().iter().try_for_each(|row| pool.points.push(row))?;
        pool.outlook = model.outlook(pool.points.view())?;
        let picks = pick::by_variance(model, &pool, pending, left)?;
        self.chosen.extend(picks.into_iter().map(|i| pool.proposal(i)));
        Ok(())
    }
}

/// Randomness of a batch that no other batch or seed has.
fn seed_of(problem: &Problem, batch: usize) -> u64 {
    problem.seed().wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(batch as u64)
}
