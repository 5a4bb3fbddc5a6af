//! Batched pure exploration with sparse models: S-BPE, certified and as in the paper (algorithm notes 5.2 and 5.3).

mod candidates;
mod cells;
#[cfg(test)]
mod cells_test;
mod confined;
mod elimination;
mod level;
#[cfg(test)]
mod level_test;
mod noise_form;
mod pairs;
mod paper;
mod paper_box;
mod pilot;
mod premises;
mod quantile;
mod replay;
mod ridges;
mod schedule;
mod shares;
mod standing;
mod state;
#[cfg(test)]
mod work_test;

pub(super) use candidates::SetOfCandidates;
pub(super) use premises::Arrived;
pub use schedule::Schedule;

use crate::certificate::{Certificate, Contradiction, Spent, Theorem};
use crate::design::{DictionarySize, MaxVariance};
use crate::domain::{CellTree, Domain};
use crate::error::{Error, Result, at_least_one, positive};
use crate::noise::NOISE_SHARE;
use crate::points::{Locations, Points};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::recommendation::{BatchReport, Recommendation, StillPossible};
use crate::strategy::run::standing::Repeats;
use crate::strategy::run::survivors::Survivors;
use cells::Cells;
use elimination::Batch;
use pairs::Setting;
use paper::Paper;
use premises::{Premises, fixed_locations};
use replay::Replay;
use serde::{Deserialize, Serialize};
use shares::Budget;
use shares::SHARES;
use state::State;
use std::sync::Arc;

/// Inducing points at most, unless said.
const MAX_INDUCING: usize = 600;
/// Declared candidates of boxes and spaces, unless said.
const CANDIDATES: usize = 1 << 14;
/// Cells of a box at most, unless said.
const CELLS: usize = 50_000;
/// Plans go by this many times the declared norm bound, unless said: whoever declares a norm has guessed it.
const PLAN_FACTOR: f64 = 1.5;
/// Boxes of up to this many columns are cut into cells.
const CELL_DIM: usize = 3;

/// Which rules a run of [`Sbpe`] follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Rules {
    /// One dictionary a batch, $\lambda$ certified after the design, direct widths, pairwise elimination with challengers, intersection with earlier batches.
    #[default]
    Certified,
    /// The paper's, to the letter: inducing points drawn anew for every point, $\beta = 3C+(R/\tau)\sqrt{2\ln(4B|X|/\delta)}$, one batch at a time, nothing ruled
    /// out after a last batch that was cut short. Meant for budgets up to some 2000.
    Paper,
}

/// Batched pure exploration with sparse models (S-BPE; Vakili, Scarlett, Shiu and Bernacchia, ICML 2022; algorithm notes 5.3).
///
/// Each batch measures where the variance among the survivors is largest, without looking at a value, and then rules out every candidate that is certainly
/// worse than another. With probability $1-\delta$ over the whole run the maximiser is never ruled out and the reported gap holds after every batch.
///
/// Needs a kernel, a norm bound and a noise model ([`Problem::with_kernel`], [`Problem::with_norm_bound`], [`Problem::with_noise`]). Boxes of up to three
/// columns are cut into cells, and the claims speak of every point (algorithm notes 9.3–9.6); other boxes and spaces are replaced by a declared
/// set of scrambled Sobol candidates; the gap among these comes beside the claims, which speak of the whole domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sbpe {
    rules: Rules,
    schedule: Schedule,
    max_inducing: usize,
    share: f64,
    candidates: Option<usize>,
    cells: usize,
    simulated: bool,
    plan_factor: f64,
    pilot: Option<usize>,
    state: Option<State>,
}

impl Default for Sbpe {
    fn default() -> Self {
        Self::new(Rules::Certified)
    }
}

impl Sbpe {
    /// A run by these rules, with the paper's batch lengths.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            schedule: Schedule::Recursion,
            max_inducing: MAX_INDUCING,
            share: DictionarySize::default().share,
            candidates: None,
            cells: CELLS,
            simulated: false,
            plan_factor: PLAN_FACTOR,
            pilot: None,
            state: None,
        }
    }

    /// Other batch lengths.
    #[must_use]
    pub fn with_schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// At most this many inducing points (600 unless said): fewer cost less and widen the intervals, which stay valid.
    ///
    /// # Errors
    /// [`Error::Parameter`] for 0.
    pub fn with_max_inducing(self, max_inducing: usize) -> Result<Self> {
        Ok(Self { max_inducing: at_least_one("max_inducing", max_inducing)?, ..self })
    }

    /// That many declared candidates stand for a box or a space, also for a box of few columns (16384 unless said, in more than three).
    ///
    /// # Errors
    /// [`Error::Parameter`] for 0.
    pub fn with_candidates(self, candidates: usize) -> Result<Self> {
        Ok(Self { candidates: Some(at_least_one("the number of candidates", candidates)?), ..self })
    }

    /// At most this many cells of a box are held (50000 unless said); coarser cells are still correct ones.
    ///
    /// # Errors
    /// [`Error::Parameter`] for 0.
    pub fn with_max_cells(self, cells: usize) -> Result<Self> {
        Ok(Self { cells: at_least_one("the number of cells", cells)?, ..self })
    }

    /// $\theta$ in the rule for the number of inducing points, $\frac{N_i}{|X_i|}\hat\lambda\le\theta\tau^2$ (0.1 unless said).
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and positive.
    pub fn with_share(self, share: f64) -> Result<Self> {
        Ok(Self { share: positive("share", share)?, ..self })
    }

    /// Batches are planned, and settings given up, as if the norm were bounded by this many times what was declared (1.5 unless said, at least 1);
    /// what is claimed is claimed under the declared bound (algorithm notes 13.1). It moves $C^\dagger$ outwards and costs evaluations. The paper's rules go by the declared bound.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and at least 1.
    pub fn with_plan_factor(self, factor: f64) -> Result<Self> {
        if !(factor.is_finite() && factor >= 1.0) {
            return Err(Error::Parameter { name: "plan_factor", value: factor, requirement: "finite and at least 1" });
        }
        Ok(Self { plan_factor: factor, ..self })
    }

    /// For normal noise on a finite set of candidates: quantiles of the largest difference by simulation instead of a union bound. Somewhat narrower, and slower.
    #[must_use]
    pub fn with_simulated_quantiles(self) -> Self {
        Self { simulated: true, ..self }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The lengths of the batches for a budget, the pilot's first where there is one: the number of the others enters every claim.
    ///
    /// # Errors
    /// As [`Schedule::lengths`].
    pub fn batch_lengths(&self, budget: usize) -> Result<Vec<usize>> {
        Ok(self.pilot.into_iter().chain(self.lengths(budget)?).collect())
    }

    /// What is left of a box, once a batch was planned.
    #[must_use]
    pub fn surviving_cells(&self) -> Option<&CellTree> {
        self.state.as_ref()?.cells.as_ref().map(|cells| &cells.tree)
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        self.check_pilot()?;
        self.lengths(problem.budget())?;
        if self.rules == Rules::Paper && problem.unknown_level().is_some() {
            return Err(Error::Premise {
                what: "the paper's rules",
                reason: "they need the level of the noise: declare it, or use the certified rules",
            });
        }
        let cells = if self.awaits_premises(problem) { None } else { self.cells_of(problem, &self.planning(problem)?)? };
        if cells.is_none() {
            // Whether there are candidates is known without making them: a run is checked whenever it is restored.
            problem.domain().candidates(self.declared_candidates(), problem.seed())?;
        }
        Ok(())
    }

    /// The premises that batches are planned and judged with.
    fn planning<'p>(&self, problem: &'p Problem) -> Result<Premises<'p>> {
        let declared = Premises::new(problem)?;
        let factor = if self.rules == Rules::Paper { 1.0 } else { self.plan_factor };
        Ok(Premises { norm_bound: factor * declared.norm_bound, ..declared })
    }

    /// What the elimination may spend of $\delta$.
    fn spendable(&self, problem: &Problem) -> f64 {
        problem.delta() * (1.0 - level::share(problem))
    }

    pub(super) fn repeats(&self, problem: &Problem, ledger: &Ledger) -> Option<Repeats> {
        level::repeats(problem, ledger, self.counted(problem).ok()?)
    }

    /// The box to be cut into cells, if that is how this run goes.
    fn cells_of(&self, problem: &Problem, premises: &Premises<'_>) -> Result<Option<Cells>> {
        let Domain::Box(domain) = problem.domain() else { return Ok(None) };
        let kernel = &premises.kernel.value;
        let halves: Vec<f64> = domain.sides().iter().map(|side| 0.5 * side).collect();
        if self.candidates.is_some() || domain.dim() > CELL_DIM || kernel.metric_over_cell(&halves).is_none() {
            return Ok(None);
        }
        match self.rules {
            Rules::Certified => Cells::new(domain, kernel, self.cells).map(Some),
            Rules::Paper => Cells::halved(domain, kernel, paper_box::HALVINGS).map(Some),
        }
    }

    fn candidates(&self, problem: &Problem) -> Result<SetOfCandidates> {
        SetOfCandidates::new(problem, self.declared_candidates())
    }

    fn declared_candidates(&self) -> usize {
        self.candidates.unwrap_or(CANDIDATES)
    }

    fn fresh(&self, problem: &Problem, premises: &Premises<'_>) -> Result<State> {
        if let Some(cells) = self.cells_of(problem, premises)? {
            return Ok(State { cells: Some(cells), ..State::new(0, Some(0.0)) });
        }
        let candidates = self.candidates(problem)?;
        let between = if candidates.is_whole() {
            Some(0.0)
        } else {
            let declared = problem.domain().candidates(self.declared_candidates(), problem.seed())?;
            declared.cover_radius(&premises.kernel.value).zip(problem.norm_bound()).map(|(radius, bound)| bound * radius)
        };
        Ok(State::new(candidates.len(), between))
    }

    pub(super) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if self.is_pilot(ledger.closed()) {
            return self.pilot_design(problem);
        }
        let (lengths, counted) = (self.lengths(problem.budget())?, self.counted(problem)?);
        let Some(&count) = lengths.get(ledger.closed() - counted.first) else { return Ok(Vec::new()) };
        let premises = self.planning(problem).map_err(|error| self.without_premises(error))?;
        let mut state = self.state.clone().map_or_else(|| self.fresh(problem, &premises), Ok)?;
        let growth = DictionarySize { share: self.share, max_size: self.max_inducing };
        let paper = Paper::new(&premises, problem, ledger.closed(), lengths.len());
        let known = fixed_locations(ledger, problem.domain().dim())?;
        let proposals = match (&state.cells, self.rules) {
            (Some(cells), Rules::Certified) => {
                let (points, inducing) = cells.design(&premises, growth, known, count)?;
                state.inducing = Some(inducing);
                points.view().rows().map(|row| Proposal::anywhere(row.to_vec())).collect()
            }
            (Some(cells), Rules::Paper) => {
                let centres = cells.centres()?;
                let chosen = paper.design(centres.view(), count)?;
                chosen.into_iter().map(|i| Proposal::anywhere(centres.row(i).to_vec())).collect()
            }
            (None, rules) => {
                let survivors = self.candidates(problem)?.select(&state.survivors)?;
                let chosen = match rules {
                    Rules::Paper => paper.design(survivors.view(), count)?,
                    Rules::Certified => design(&premises, growth, &survivors, known, count, &mut state)?,
                };
                chosen.into_iter().map(|i| Proposal::candidate(state.survivors[i], survivors.row(i))).collect()
            }
        };
        self.state = Some(state);
        level::with_repeats(problem, ledger, counted, proposals)
    }

    pub(super) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        let batch = ledger.closed() - 1;
        if self.is_pilot(batch) {
            return Ok(false);
        }
        let (lengths, counted) = (self.lengths(problem.budget())?, self.counted(problem)?);
        let premises = self.planning(problem)?;
        let mut state = self.state.clone().map_or_else(|| self.fresh(problem, &premises), Ok)?;
        let planned = state.inducing.as_ref().map(Points::len);
        match self.rules {
            Rules::Paper => {
                let paper = Paper::new(&premises, problem, batch, lengths.len());
                match state.cells.take() {
                    Some(mut cells) => {
                        paper.learn_box(&lengths, ledger, &mut cells, &mut state)?;
                        state.cells = Some(cells);
                    }
                    None => paper.learn(&lengths, ledger, &self.candidates(problem)?, &mut state)?,
                }
            }
            Rules::Certified => {
                let budget = Budget::of_batch(self.spendable(problem), batch, counted);
                let batch = Batch { settings: self, problem, ledger, premises, index: batch, counted, budget };
                self.digest(&batch, &mut state)?;
                self.claim(problem, ledger, &mut state)?;
                contradict_beyond_reach(problem, &mut state);
            }
        }
        let (gap, candidate_gap) = gaps(problem, &state);
        let whole = || StillPossible::Candidates(state.survivors.len());
        let survivors = Some(state.cells.as_ref().map_or_else(whole, |cells| StillPossible::Share(cells.tree.surviving_share())));
        let certificate = gap.map(|_| self.certificate(problem, &state));
        let inducing = state.kept.last().filter(|kept| kept.index == batch).map(|kept| kept.inducing.len()).or(planned);
        state.reports.push(BatchReport { survivors, gap, candidate_gap, certificate, inducing, ..BatchReport::plain(ledger, batch) });
        self.state = Some(state);
        Ok(problem.is_reached(gap, candidate_gap) || ledger.closed() - counted.first >= lengths.len())
    }

    /// The gap under the declared norm bound, where plans go by a larger one.
    fn claim(&self, problem: &Problem, ledger: &Ledger, state: &mut State) -> Result<()> {
        let (Some(kernel), Some(norm_bound), Some(best)) = (problem.kernel(), problem.norm_bound(), &state.best) else { return Ok(()) };
        if self.plan_factor == 1.0 || state.facts.contradiction.is_some() {
            return Ok(());
        }
        let replay = Replay::new((self, problem, ledger), state, kernel, &best.point)?;
        state.claimed = replay.gaps(&[Setting { norm_bound, scale: 1.0 }])?[0].map(|gap| gap.min(best.gap));
        if state.claimed.is_none() {
            state.contradict(None, norm_bound);
        }
        Ok(())
    }

    fn digest(&self, batch: &Batch<'_>, state: &mut State) -> Result<()> {
        let Some(evidence) = batch.evidence(state)? else { return Ok(()) };
        state.facts.judge(batch.above(&evidence.noise), evidence.posterior.information().rounding());
        match state.cells.take() {
            Some(mut cells) => {
                let learnt = cells.learn(batch, &evidence, state);
                state.cells = Some(cells);
                learnt
            }
            None => batch.learn(&self.candidates(batch.problem)?, &evidence, state),
        }
    }

    /// The gap that is claimed, and that among the candidates, in the data's scale.
    fn claimed_gaps(&self, problem: &Problem, state: &State) -> Option<(f64, Option<f64>)> {
        let (gap, candidate_gap) = gaps(problem, state);
        gap.map(|gap| (gap, candidate_gap))
    }

    pub(super) fn recommend(&self, problem: &Problem) -> Result<Option<Recommendation>> {
        let Some(state) = &self.state else { return Ok(None) };
        let Some(best) = state.claim() else { return Ok(None) };
        // f(x̂) ≥ f(x*) − gap ≥ max l − gap, and f(x̂) ≤ f(x*) ≤ max u.
        // Neither end says less than |f| ≤ C√k does.
        let reach = reach(problem, &best.point);
        let lower = best.lower.max(state.floor - state.claimed.unwrap_or(best.gap)).max(-reach);
        let (a, b) = (problem.to_data(lower), problem.to_data(state.ceiling.min(reach).max(lower)));
        let (gap, candidate_gap) = gaps(problem, state);
        Ok(Some(Recommendation {
            point: best.point.clone(),
            candidate: best.candidate,
            lower: a.min(b),
            upper: a.max(b),
            gap: gap.unwrap_or(f64::INFINITY),
            candidate_gap,
            certificate: self.certificate(problem, state),
        }))
    }

    fn certificate(&self, problem: &Problem, state: &State) -> Certificate {
        let theorem = match self.rules {
            Rules::Certified => Theorem::Elimination,
            Rules::Paper => Theorem::PaperElimination,
        };
        let certificate = state.facts.certificate(problem, theorem, self.spent(problem));
        match self.pilot {
            Some(evaluations) => Certificate { premises: certificate.premises.after_pilot(evaluations), ..certificate },
            None => certificate,
        }
    }

    /// How δ is spent over all batches.
    fn spent(&self, problem: &Problem) -> Vec<Spent> {
        let share = |on, part: f64| Spent::new(on, part * self.spendable(problem), None);
        let level = problem.unknown_level().map(|_| Spent::new(Spent::NOISE_LEVEL, NOISE_SHARE * problem.delta(), None));
        let mut spent = match self.rules {
            Rules::Certified => vec![
                share("pairs with the best setting", SHARES.pairs),
                share("the ellipsoid that confines the function", SHARES.ellipsoid),
                share("the upper bounds of the best setting", SHARES.above),
                share("lower bounds", SHARES.below),
                share("the check of the premises", SHARES.alarm),
            ],
            Rules::Paper => vec![share("all candidates, both sides", 0.5), share("the check of the premises", 0.5)],
        };
        spent.extend(level);
        spent
    }

    /// That the data contradict the premises, if they do.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        self.state.as_ref()?.facts.contradiction
    }

    pub(super) fn reports(&self, ledger: &Ledger) -> Vec<BatchReport> {
        let pilot = (self.pilot.is_some() && ledger.closed() > 0).then(|| BatchReport::plain(ledger, 0));
        pilot.into_iter().chain(self.state.iter().flat_map(|s| s.reports.clone())).collect()
    }

    pub(super) fn survivors(&self, problem: &Problem) -> Result<Option<Survivors>> {
        let Some(state) = &self.state else { return Ok(None) };
        Ok(Some(match &state.cells {
            Some(cells) => Survivors::of_tree(&cells.tree, cells.whole_cells()),
            None => Survivors::among(problem, self.candidates(problem)?.points(), &state.survivors)?,
        }))
    }
}

/// $C\sqrt{k(x,x)}$, beyond which no function of the declared norm goes.
fn reach(problem: &Problem, point: &[f64]) -> f64 {
    problem.kernel().zip(problem.norm_bound()).map_or(f64::INFINITY, |(k, c)| c * k.value.value(point, point).sqrt())
}

/// A lower end that is proved and lies beyond the reach of the norm bound refutes it; clipped there it would be an interval of no width.
fn contradict_beyond_reach(problem: &Problem, state: &mut State) {
    let (Some(best), Some(norm_bound)) = (&state.best, problem.norm_bound()) else { return };
    let beyond = best.lower / reach(problem, &best.point);
    if beyond > 1.0 + 1e-9 {
        state.contradict(Some(beyond * norm_bound), norm_bound);
    }
}

/// One dictionary for the batch by the rule of algorithm notes 5.3, then the points of largest variance under it.
fn design(
    premises: &Premises<'_>,
    growth: DictionarySize,
    survivors: &Points,
    known: Option<Arc<Locations>>,
    count: usize,
    state: &mut State,
) -> Result<Vec<usize>> {
    let total = count + known.as_ref().map_or(0, |known| known.len());
    let features = Arc::new(growth.start(premises.kernel, premises.ridge, survivors.clone(), total)?);
    let mut design = MaxVariance::new(Arc::clone(&features), premises.ridge)?.spreading();
    if let Some(known) = known {
        design = design.after(known);
    }
    let design = design.choose(survivors.view(), count)?;
    state.inducing = Some(features.inducing().to_points());
    Ok(design.indices().to_vec())
}

/// The gap of the declared domain, and that among the candidates that stand for it where they do, in the data's scale; none where nothing is proved, or where
/// the data contradict the premises. Between candidates the function rises by $C\sup_x\min_cd_k(x,c)$ at most, and nowhere is it farther from the best than
/// $2C\sqrt{k_{\max}}$ (algorithm notes 12, P3).
fn gaps(problem: &Problem, state: &State) -> (Option<f64>, Option<f64>) {
    let Some(best) = state.claim() else { return (None, None) };
    let unit = problem.prior().unit();
    let largest = problem.kernel().and_then(|k| k.value.max_variance()).zip(problem.norm_bound());
    let trivial = largest.map_or(f64::INFINITY, |(k_max, c)| 2.0 * c * k_max.sqrt());
    let gap = state.claimed.unwrap_or(best.gap);
    match state.facts.between {
        Some(0.0) => (Some(unit * gap.min(trivial)), None),
        between => (Some(unit * between.map_or(trivial, |b| (gap + b).min(trivial))), Some(unit * gap.min(trivial))),
    }
}
