//! The candidates a policy chooses among: a whole list, or a declared Sobol set of a box or space.

use super::model::{CandidateModel, Dictionary};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::points::{Points, bits};
use crate::strategy::run::ledger::{Ledger, Measured, Outcome, Proposal, Trial, TrialState};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::recommendation::weight;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;

/// Candidates, and which of them a trial evaluated. Points of results from before the run belong to them, last, where they are none of the others.
#[derive(Clone, Debug)]
pub(crate) struct CandidateSet {
    points: Points,
    is_list: bool,
    positions: HashMap<Vec<u64>, usize>,
}

/// One or more observations at a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measurement {
    pub candidate: usize,
    /// Their average, in the model's scale.
    pub value: f64,
    /// How many observations of the usual noise they are worth.
    pub weight: f64,
}

impl CandidateSet {
    /// The whole list, or `count` candidates from the problem's seed with the points of results from before the run.
    pub fn new(problem: &Problem, ledger: &Ledger, count: usize) -> Result<Self> {
        let candidates = problem.domain().candidates(count, problem.seed())?;
        let mut points = candidates.range(0, candidates.len())?;
        let mut positions: HashMap<Vec<u64>, usize> = points.view().rows().enumerate().map(|(i, row)| (bits(row), i)).collect();
        for attached in ledger.attached().iter().filter(|a| a.candidate.is_none()) {
            if let std::collections::hash_map::Entry::Vacant(place) = positions.entry(bits(&attached.point)) {
                place.insert(points.len());
                points.push(&attached.point)?;
            }
        }
        Ok(Self { points, is_list: matches!(problem.domain(), Domain::List(_)), positions })
    }

    pub fn points(&self) -> &Points {
        &self.points
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn proposal(&self, candidate: usize) -> Proposal {
        let point = self.points.row(candidate);
        if self.is_list { Proposal::candidate(candidate, point) } else { Proposal::anywhere(point.to_vec()) }
    }

    /// The posterior over these candidates with nothing measured.
    pub fn model(&self, problem: &Problem, kind: Dictionary) -> Result<CandidateModel> {
        CandidateModel::new(kernel(problem)?, ridge(problem)?, self.points.clone(), kind)
    }

    /// The candidate of a point. One that another version of this library had chosen need not be a candidate today: it counts for the nearest.
    fn position(&self, candidate: Option<usize>, point: &[f64]) -> usize {
        let distance = |row: &[f64]| row.iter().zip(point).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let rows = || self.points.view().rows().enumerate();
        let nearest = || rows().min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b))).map_or(0, |(i, _)| i);
        candidate.or_else(|| self.positions.get(&bits(point)).copied()).unwrap_or_else(nearest)
    }

    fn of_trial(&self, trial: &Trial) -> usize {
        self.position(trial.candidate, &trial.point)
    }

    /// What was measured before the run.
    pub fn measured_before(&self, problem: &Problem, ledger: &Ledger) -> Vec<Measurement> {
        ledger.measured_before().map(|m| self.measurement(problem, &m)).collect()
    }

    fn measurement(&self, problem: &Problem, m: &Measured<'_>) -> Measurement {
        Measurement { candidate: self.position(m.candidate, m.point), value: problem.to_model(m.value), weight: weight(problem, m) }
    }

    /// Whether each candidate failed before the run.
    pub fn barred_before(&self, ledger: &Ledger) -> Vec<bool> {
        let mut barred = vec![false; self.len()];
        for failed in ledger.attached().iter().filter(|a| a.outcome == Outcome::Failed) {
            barred[self.position(failed.candidate, &failed.point)] = true;
        }
        barred
    }

    /// The posterior over these candidates with what was measured before the run.
    pub fn model_before(&self, problem: &Problem, ledger: &Ledger, kind: Dictionary) -> Result<CandidateModel> {
        let mut model = self.model(problem, kind)?;
        for m in self.measured_before(problem, ledger) {
            model.observe(m.candidate, m.value, m.weight)?;
        }
        Ok(model)
    }

    /// What a closed batch measured, one entry for each evaluation in the order of the trials' ids.
    pub fn evaluations(&self, problem: &Problem, ledger: &Ledger, batch: usize) -> Vec<Measurement> {
        ledger.measured(batch).map(|m| self.measurement(problem, &m)).collect()
    }

    /// The same with repeats in a row joined into one, which is all that a posterior needs.
    pub fn measurements(&self, problem: &Problem, ledger: &Ledger, batch: usize) -> Vec<Measurement> {
        let mut joined: Vec<Measurement> = Vec::new();
        for new in self.evaluations(problem, ledger, batch) {
            match joined.last_mut() {
                Some(last) if last.candidate == new.candidate => {
                    let total = last.weight + new.weight;
                    last.value = (last.weight * last.value + new.weight * new.value) / total;
                    last.weight = total;
                }
                _ => joined.push(new),
            }
        }
        joined
    }

    /// Candidates of a closed batch whose evaluation failed.
    pub fn failures<'a>(&'a self, ledger: &'a Ledger, batch: usize) -> impl Iterator<Item = usize> + 'a {
        let failed = |&i: &usize| ledger.states()[i] == TrialState::Told(Outcome::Failed);
        ledger.batch(batch).filter(failed).map(|i| self.of_trial(&ledger.trials()[i]))
    }
}

/// The kernel a policy works with.
pub(crate) fn kernel(problem: &Problem) -> Result<&Kernel> {
    let missing = Error::Missing { what: "a kernel", purpose: "a policy with a posterior", remedy: "give one to the problem" };
    problem.kernel().map(|sourced| &sourced.value).ok_or(missing)
}

/// The ridge a policy works with.
pub(crate) fn ridge(problem: &Problem) -> Result<f64> {
    let remedy = "give the problem a noise level or a ridge";
    problem.ridge().ok_or(Error::Missing { what: "a ridge", purpose: "a policy with a posterior", remedy })
}

/// The norm bound $C$.
pub(crate) fn norm_bound(problem: &Problem) -> Result<f64> {
    let remedy = "give one to the problem, or choose a constant width";
    problem.norm_bound().ok_or(Error::Missing { what: "a norm bound", purpose: "the width of the confidence band", remedy })
}

/// The noise level $R$ of sub-Gaussian noise. There is none for light tails: a band with any number in its place would be no theorem.
pub(crate) fn noise_level(problem: &Problem) -> Result<f64> {
    match problem.noise() {
        None => Err(Error::Missing {
            what: "a noise model",
            purpose: "the width of the confidence band",
            remedy: "give the problem a noise model, or choose a constant width",
        }),
        Some(Noise::LightTailed { .. }) => Err(Error::Premise {
            what: "this width of the confidence band under light-tailed noise",
            reason: "its theorem is for sub-Gaussian noise: choose a constant width, or s-bpe, whose certificate covers light tails",
        }),
        Some(noise) => Ok(noise.level()),
    }
}

/// The random numbers of one step of a run: a stream of its own, so that a restored run draws the same ones.
pub(crate) fn random_numbers(problem: &Problem, step: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(problem.seed());
    rng.set_stream(step as u64 + 1);
    rng
}
