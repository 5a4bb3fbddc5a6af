//! Batched pure exploration with sparse models: S-BPE, certified and as in the paper (algorithm notes 5.2 and 5.3).

mod candidates;
mod elimination;
mod level;
mod pairs;
mod paper;
mod premises;
mod quantile;
mod schedule;
mod state;

pub use schedule::Schedule;

use super::ledger::{Ledger, Proposal};
use super::problem::Problem;
use super::recommendation::{BatchReport, Recommendation};
use crate::certificate::{Label, Reason};
use crate::design::{Growth, MaxVariance};
use crate::error::{Error, Result};
use candidates::SetOfCandidates;
use elimination::Batch;
use paper::Paper;
use premises::Premises;
use serde::{Deserialize, Serialize};
use state::State;
use std::sync::Arc;

/// Inducing points at most, unless said.
const MAX_INDUCING: usize = 600;
/// Declared candidates of boxes and spaces, unless said.
const CANDIDATES: usize = 1 << 14;

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
/// Needs a kernel, a norm bound and a noise model ([`Problem::with_kernel`], [`Problem::with_norm_bound`], [`Problem::with_noise`]). Boxes and spaces are
/// replaced by a declared set of scrambled Sobol candidates, and the claims then speak of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sbpe {
    rules: Rules,
    schedule: Schedule,
    max_inducing: usize,
    share: f64,
    candidates: usize,
    simulated: bool,
    width_factor: f64,
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
            share: Growth::default().share,
            candidates: CANDIDATES,
            simulated: false,
            width_factor: 1.0,
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

    /// How many candidates stand for a box or a space (16384 unless said).
    ///
    /// # Errors
    /// [`Error::Parameter`] for 0.
    pub fn with_candidates(self, candidates: usize) -> Result<Self> {
        Ok(Self { candidates: at_least_one("the number of candidates", candidates)?, ..self })
    }

    /// For normal noise: quantiles of the largest difference by simulation instead of a union bound. Somewhat narrower, and slower.
    #[must_use]
    pub fn with_simulated_quantiles(self) -> Self {
        Self { simulated: true, ..self }
    }

    /// Multiplies every width. Only for showing that tests of the guarantee can fail.
    #[doc(hidden)]
    #[must_use]
    pub fn with_width_factor(self, width_factor: f64) -> Self {
        Self { width_factor, ..self }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> Rules {
        self.rules
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        Premises::new(problem)?;
        self.schedule.lengths(problem.budget())?;
        SetOfCandidates::new(problem, self.candidates).map(drop)
    }

    pub(super) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let lengths = self.schedule.lengths(problem.budget())?;
        let Some(&count) = lengths.get(ledger.closed()) else { return Ok(Vec::new()) };
        let premises = Premises::new(problem)?;
        let candidates = SetOfCandidates::new(problem, self.candidates)?;
        let mut state = match self.state.take() {
            Some(state) => state,
            None => fresh(problem, &premises, &candidates),
        };
        let survivors = candidates.select(&state.survivors)?;
        let chosen = match self.rules {
            Rules::Paper => Paper::new(&premises, problem, ledger.closed(), lengths.len()).design(survivors.view(), count),
            Rules::Certified => self.design(&premises, &survivors, count, &mut state),
        };
        let proposals = chosen.map(|chosen| {
            let candidate = |i: usize| state.survivors[i];
            chosen.into_iter().map(|i| Proposal::candidate(candidate(i), survivors.row(i))).collect()
        });
        self.state = Some(state);
        proposals
    }

    /// One dictionary for the batch by the rule of algorithm notes 5.3, then the points of largest variance under it.
    fn design(&self, premises: &Premises<'_>, survivors: &crate::points::Points, count: usize, state: &mut State) -> Result<Vec<usize>> {
        let growth = Growth { share: self.share, max_size: self.max_inducing };
        let features = Arc::new(growth.start(premises.kernel, premises.ridge, survivors.clone(), count)?);
        let design = MaxVariance::new(Arc::clone(&features), premises.ridge)?.choose(survivors.view(), count)?;
        state.inducing = Some(features.inducing().to_points());
        Ok(design.indices().to_vec())
    }

    pub(super) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        let lengths = self.schedule.lengths(problem.budget())?;
        let batch = ledger.closed() - 1;
        let premises = Premises::new(problem)?;
        let candidates = SetOfCandidates::new(problem, self.candidates)?;
        let mut state = match &self.state {
            Some(state) => state.clone(),
            None => fresh(problem, &premises, &candidates),
        };
        let inducing = state.inducing.as_ref().map(crate::points::Points::len);
        match self.rules {
            Rules::Paper => Paper::new(&premises, problem, batch, lengths.len()).learn(&lengths, ledger, &candidates, &mut state)?,
            Rules::Certified => {
                let batches = lengths.len() as f64;
                Batch { settings: self, problem, ledger, premises, index: batch, batches }.learn(&candidates, &mut state)?;
            }
        }
        let gap = certified_gap(problem, &state);
        let survivors = Some(state.survivors.len() as f64);
        state.reports.push(BatchReport { survivors, gap, inducing, ..BatchReport::plain(ledger, batch) });
        self.state = Some(state);
        let enough = gap.is_some_and(|gap| problem.wanted_gap().is_some_and(|wanted| gap <= wanted));
        Ok(enough || ledger.closed() >= lengths.len())
    }

    pub(super) fn recommend(&self, problem: &Problem) -> Result<Option<Recommendation>> {
        let Some(state) = &self.state else { return Ok(None) };
        let Some(best) = state.best else { return Ok(None) };
        let candidates = SetOfCandidates::new(problem, self.candidates)?;
        // f(x̂) ≥ f(x*) − gap ≥ max l − gap, and f(x̂) ≤ f(x*) ≤ max u.
        let (a, b) = (problem.to_data(best.lower.max(state.floor - best.gap)), problem.to_data(state.ceiling));
        Ok(Some(Recommendation {
            point: candidates.points().row(best.candidate).to_vec(),
            candidate: Some(best.candidate),
            lower: a.min(b),
            upper: a.max(b),
            gap: certified_gap(problem, state).unwrap_or(f64::INFINITY),
            label: Label::from_reasons(&state.reasons),
            reasons: state.reasons.clone(),
        }))
    }

    pub(super) fn reports(&self) -> Vec<BatchReport> {
        self.state.as_ref().map_or_else(Vec::new, |s| s.reports.clone())
    }

    pub(super) fn survivors(&self) -> Option<Vec<usize>> {
        self.state.as_ref().map(|s| s.survivors.clone())
    }
}

fn fresh(problem: &Problem, premises: &Premises<'_>, candidates: &SetOfCandidates) -> State {
    let mut reasons = premises.reasons(problem);
    reasons.extend((!candidates.is_whole()).then_some(Reason::DeclaredCandidates));
    State::new(candidates.len(), reasons)
}

/// The gap in the data's scale; none where nothing is proved, or where the data contradict the premises.
fn certified_gap(problem: &Problem, state: &State) -> Option<f64> {
    state.best.filter(|_| !state.is_contradicted()).map(|best| problem.prior().unit() * best.gap)
}

fn at_least_one(name: &'static str, value: usize) -> Result<usize> {
    if value == 0 { Err(Error::Parameter { name, value: 0.0, requirement: "at least 1" }) } else { Ok(value) }
}
