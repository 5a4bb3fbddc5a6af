//! Candidates refreshed inside the survivors (algorithm notes 5.9).

use super::data::Data;
use super::ground::Ground;
use super::model::{Model, Outlook};
use crate::domain::{CandidateKind, Domain};
use crate::error::Result;
use crate::points::{Points, bits};
use crate::strategy::run::ledger::Proposal;
use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// Candidates kept where the domain is looked at by samples, and where it is looked at whole.
const KEPT: usize = 2048;
const WHOLE: usize = 4096;
/// Perturbed survivors a round.
const PERTURBED: usize = 2048;
/// Fresh Sobol points a round.
const FRESH: usize = 1024;
const ROUNDS: usize = 3;
/// On a finite domain, at least this many new points remain for each evaluation of the next batch, while $\beta$ stays below the second number.
const CHOICE: usize = 6;
const WIDEST: f64 = 6.0;

/// Candidates with what the model says about them.
pub(super) struct Pool {
    pub points: Points,
    /// Their numbers, on a list.
    pub indices: Option<Vec<usize>>,
    pub outlook: Outlook,
    /// The share of the first look's candidates that survived.
    pub share: f64,
    /// All survivors of a list, before thinning.
    pub survivors: Option<Vec<usize>>,
}

/// What decides who survives: $\mu+\beta\sigma\ge\max(\mu-\beta\sigma)$.
#[derive(Clone, Copy)]
pub(super) struct Sieve<'a> {
    pub ground: &'a Ground<'a>,
    pub model: &'a Model,
    /// Points that were measured already.
    pub measured: &'a Points,
    pub beta: f64,
    /// Evaluations of the next batch.
    pub count: usize,
    pub seed: u64,
}

impl Pool {
    pub fn proposal(&self, i: usize) -> Proposal {
        match &self.indices {
            Some(indices) => Proposal::candidate(indices[i], self.points.row(i)),
            None => Proposal::anywhere(self.points.row(i).to_vec()),
        }
    }
}

impl<'a> Sieve<'a> {
    pub fn new(ground: &'a Ground<'a>, model: &'a Model, data: &'a Data, seed: u64) -> Self {
        Self { ground, model, measured: &data.points, beta: 1.0, count: 1, seed }
    }

    pub fn pool(&self) -> Result<Pool> {
        match self.whole()? {
            Some(points) => self.of_whole(&points, matches!(self.ground.domain, Domain::List(_))),
            None => self.refreshed(),
        }
    }

    /// All points of a domain that is small enough to look at whole.
    fn whole(&self) -> Result<Option<Points>> {
        whole(self.ground.domain, self.seed)
    }

    /// All points of a finite domain are looked at. Where the model is so sure of itself that too few points are left to measure, it is trusted
    /// less: $\beta$ grows. Points measured already come second: repeating them is left to where nothing else remains.
    fn of_whole(&self, points: &Points, numbered: bool) -> Result<Pool> {
        let outlook = self.model.outlook(points.view())?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let survivors = self.survivors(&outlook, self.beta);
        let share = survivors.len() as f64 / points.len() as f64;
        let measured: HashSet<Vec<u64>> = self.measured.view().rows().map(bits).collect();
        let is_new = |i: &usize| !measured.contains(&bits(points.row(*i)));
        let enough = (CHOICE * self.count).min((0..points.len()).filter(is_new).count());
        let (mut beta, mut kept) = (self.beta, survivors.clone());
        while kept.iter().filter(|i| is_new(i)).count() < enough && beta < WIDEST {
            beta *= 1.5;
            kept = self.survivors(&outlook, beta);
        }
        if kept.iter().filter(|i| is_new(i)).count() >= self.count {
            kept.retain(is_new);
        }
        let kept = thinned(kept, WHOLE, &outlook, &mut rng);
        let chosen = points.view().select(&kept)?;
        let outlook = self.model.outlook(chosen.view())?;
        let (indices, survivors) = if numbered { (Some(kept), Some(survivors)) } else { (None, None) };
        Ok(Pool { points: chosen, indices, outlook, share, survivors })
    }

    fn survivors(&self, outlook: &Outlook, beta: f64) -> Vec<usize> {
        let width = |i: usize| beta * outlook.variance[i].sqrt();
        let bar = (0..outlook.mean.len()).map(|i| outlook.mean[i] - width(i)).fold(f64::NEG_INFINITY, f64::max);
        (0..outlook.mean.len()).filter(|&i| outlook.mean[i] + width(i) >= bar).collect()
    }

    fn refreshed(&self) -> Result<Pool> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let first = self.ground.domain.candidates(KEPT, rng.random())?;
        let mut points = first.range(0, first.len())?;
        for row in self.measured.view().rows() {
            points.push(row)?;
        }
        let mut outlook = self.model.outlook(points.view())?;
        let mut share = 1.0;
        for round in 0..=ROUNDS {
            let survivors = self.survivors(&outlook, self.beta);
            if round == 0 {
                share = survivors.len() as f64 / points.len() as f64;
            }
            let kept = thinned(survivors, KEPT, &outlook, &mut rng);
            points = points.view().select(&kept)?;
            if round < ROUNDS {
                self.extend(&mut points, &mut rng)?;
            }
            outlook = self.model.outlook(points.view())?;
        }
        Ok(Pool { points, indices: None, outlook, share, survivors: None })
    }

    /// Adds perturbed survivors and fresh points.
    fn extend(&self, points: &mut Points, rng: &mut ChaCha8Rng) -> Result<()> {
        let survivors = points.len();
        let fresh = self.ground.domain.candidates(FRESH, rng.random())?;
        let fresh = fresh.range(0, fresh.len())?;
        for _ in 0..PERTURBED {
            let source = points.row(rng.random_range(0..survivors)).to_vec();
            let other = rng.random_range(0..survivors);
            if let Some(moved) = self.ground.moved(&source, points.row(other), rng) {
                points.push(&moved)?;
            }
        }
        for row in fresh.view().rows() {
            points.push(row)?;
        }
        Ok(())
    }
}

/// All points of a domain that is a list, or a discrete space small enough to look at whole.
pub(super) fn whole(domain: &Domain, seed: u64) -> Result<Option<Points>> {
    if let Domain::List(list) = domain {
        return Ok(Some(list.points().to_points()));
    }
    if domain.size().is_none() {
        return Ok(None);
    }
    let candidates = domain.candidates(WHOLE, seed)?;
    if candidates.kind() == CandidateKind::Whole { candidates.range(0, candidates.len()).map(Some) } else { Ok(None) }
}

/// At most `most` of the survivors: a quarter of them the most promising, the rest at random.
fn thinned(mut survivors: Vec<usize>, most: usize, outlook: &Outlook, rng: &mut ChaCha8Rng) -> Vec<usize> {
    if survivors.len() <= most {
        return survivors;
    }
    let promise = |i: usize| outlook.mean[i] + outlook.variance[i].sqrt();
    survivors.sort_by(|&a, &b| promise(b).total_cmp(&promise(a)).then(a.cmp(&b)));
    let rest = survivors.split_off(most / 4);
    survivors.extend(index::sample(rng, rest.len(), most - most / 4).into_iter().map(|i| rest[i]));
    survivors.sort_unstable();
    survivors
}
