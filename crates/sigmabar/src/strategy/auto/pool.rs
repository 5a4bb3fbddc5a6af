//! Candidates refreshed inside the survivors (algorithm notes 5.9).

use super::hills::Hill;
use super::model::{Data, Model, Outlook};
use crate::domain::{CandidateKind, Column, Domain, SpaceDomain};
use crate::error::Result;
use crate::kernel::{Kernel, Lengthscale};
use crate::points::Points;
use crate::strategy::run::ledger::Proposal;
use crate::strategy::run::problem::Problem;
use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::collections::HashSet;

/// Candidates kept.
const KEPT: usize = 4096;
/// Perturbed survivors a round.
const PERTURBED: usize = 4096;
/// Fresh Sobol points a round.
const FRESH: usize = 2048;
const ROUNDS: usize = 3;
/// On a finite domain, at least this many new points remain for each evaluation of the next batch, while $\beta$ stays below the second number.
const CHOICE: usize = 6;
const WIDEST: f64 = 6.0;
/// Steps of a perturbation, in length-scales.
const STEPS: [f64; 4] = [0.02, 0.05, 0.15, 0.4];
/// The share of categorical columns that a perturbation draws anew.
const REDRAWN: f64 = 0.2;

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
    pub domain: &'a Domain,
    pub model: &'a Model,
    /// Points that were measured already.
    pub measured: &'a Points,
    pub beta: f64,
    /// Evaluations of the next batch.
    pub count: usize,
    /// The only hill whose points count, where the domain [can be divided](Sieve::is_divisible).
    pub hill: Option<Hill<'a>>,
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
    pub fn new(problem: &'a Problem, model: &'a Model, data: &'a Data, seed: u64) -> Self {
        Self { domain: problem.domain(), model, measured: &data.points, beta: 1.0, count: 1, hill: None, seed }
    }

    pub fn pool(&self) -> Result<Pool> {
        match self.whole()? {
            Some(points) => self.of_whole(&points, matches!(self.domain, Domain::List(_))),
            None => self.refreshed(),
        }
    }

    /// Whether the domain has hills: it is not looked at whole, and there are points between any two. Between two categories there is nothing.
    pub fn is_divisible(&self) -> Result<bool> {
        let has_categories =
            matches!(self.domain, Domain::Space(space) if space.columns().iter().any(|c| matches!(c, Column::Categorical { .. })));
        Ok(!has_categories && self.whole()?.is_none())
    }

    /// All points of a domain that is small enough to look at whole.
    fn whole(&self) -> Result<Option<Points>> {
        if let Domain::List(list) = self.domain {
            return Ok(Some(list.points().to_points()));
        }
        let candidates = self.domain.candidates(KEPT, self.seed)?;
        if candidates.kind() == CandidateKind::Whole { candidates.range(0, candidates.len()).map(Some) } else { Ok(None) }
    }

    /// All points of a finite domain are looked at. Where the model is so sure of itself that too few points are left to measure, it is trusted
    /// less: $\beta$ grows. Points measured already come second: repeating them is left to where nothing else remains.
    fn of_whole(&self, points: &Points, numbered: bool) -> Result<Pool> {
        let outlook = self.model.outlook(points.view())?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let survivors = self.survivors(&outlook, self.beta);
        let share = survivors.len() as f64 / points.len() as f64;
        let bits = |row: &[f64]| row.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
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
        let kept = thinned(kept, &outlook, &mut rng);
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
        let steps = Steps::new(self.domain, &self.model.kernel);
        let first = self.domain.candidates(KEPT, rng.random())?;
        let mut points = first.range(0, first.len())?;
        for row in self.measured.view().rows() {
            points.push(row)?;
        }
        self.confine(&mut points)?;
        let mut outlook = self.model.outlook(points.view())?;
        let mut share = 1.0;
        for round in 0..=ROUNDS {
            let survivors = self.survivors(&outlook, self.beta);
            if round == 0 {
                share = survivors.len() as f64 / points.len() as f64;
            }
            let kept = thinned(survivors, &outlook, &mut rng);
            points = points.view().select(&kept)?;
            if round < ROUNDS {
                self.extend(&mut points, &steps, &mut rng)?;
                self.confine(&mut points)?;
            }
            outlook = self.model.outlook(points.view())?;
        }
        Ok(Pool { points, indices: None, outlook, share, survivors: None })
    }

    /// Leaves only the points of the hill. Never empty: its top was measured.
    fn confine(&self, points: &mut Points) -> Result<()> {
        if let Some(hill) = self.hill {
            let inside: Vec<usize> = (0..points.len()).filter(|&i| hill.contains(points.row(i))).collect();
            *points = points.view().select(&inside)?;
        }
        Ok(())
    }

    /// Adds perturbed survivors and fresh points.
    fn extend(&self, points: &mut Points, steps: &Steps<'_>, rng: &mut ChaCha8Rng) -> Result<()> {
        let survivors = points.len();
        let fresh = self.domain.candidates(FRESH, rng.random())?;
        let fresh = fresh.range(0, fresh.len())?;
        for _ in 0..PERTURBED {
            let source = points.row(rng.random_range(0..survivors)).to_vec();
            let other = rng.random_range(0..survivors);
            if let Some(moved) = steps.moved(&source, points.row(other), rng) {
                points.push(&moved)?;
            }
        }
        for row in fresh.view().rows() {
            points.push(row)?;
        }
        Ok(())
    }
}

/// At most [`KEPT`] of the survivors: a quarter of them the most promising, the rest at random.
fn thinned(mut survivors: Vec<usize>, outlook: &Outlook, rng: &mut ChaCha8Rng) -> Vec<usize> {
    if survivors.len() <= KEPT {
        return survivors;
    }
    let promise = |i: usize| outlook.mean[i] + outlook.variance[i].sqrt();
    survivors.sort_by(|&a, &b| promise(b).total_cmp(&promise(a)).then(a.cmp(&b)));
    let rest = survivors.split_off(KEPT / 4);
    survivors.extend(index::sample(rng, rest.len(), KEPT - KEPT / 4).into_iter().map(|i| rest[i]));
    survivors.sort_unstable();
    survivors
}

/// How far a perturbation goes in each column, and where it must stay.
struct Steps<'a> {
    domain: &'a Domain,
    lengths: Vec<f64>,
}

impl<'a> Steps<'a> {
    /// A length-scale, but no more than the column's range.
    fn new(domain: &'a Domain, kernel: &Kernel) -> Self {
        let mut lengths: Vec<f64> = match domain {
            Domain::Box(b) => b.low().iter().zip(b.high()).map(|(low, high)| high - low).collect(),
            _ => vec![1.0; domain.dim()],
        };
        let all: Vec<usize> = (0..domain.dim()).collect();
        shorten(kernel, &all, &mut lengths);
        Self { domain, lengths }
    }

    fn moved(&self, point: &[f64], other: &[f64], rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let step = STEPS[rng.random_range(0..STEPS.len())];
        match self.domain {
            Domain::Box(domain) => {
                let mut moved = self.stepped(point, step, rng);
                moved.iter_mut().enumerate().for_each(|(c, v)| *v = v.clamp(domain.low()[c], domain.high()[c]));
                Some(moved)
            }
            Domain::Space(space) if space.constraints().is_empty() => {
                let mut moved = self.stepped(point, step, rng);
                moved.iter_mut().zip(space.columns()).for_each(|(v, column)| redraw(v, column, rng));
                self.rounded(space, moved)
            }
            Domain::Space(space) => {
                // On the line to another survivor, linear constraints that hold at both ends hold.
                let moved = point.iter().zip(other).map(|(p, o)| p + step * (o - p)).collect();
                self.rounded(space, moved)
            }
            Domain::List(_) => None,
        }
    }

    fn stepped(&self, point: &[f64], step: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut one = |(value, length): (&f64, &f64)| {
            let normal: f64 = StandardNormal.sample(rng);
            value + step * length * normal
        };
        point.iter().zip(&self.lengths).map(&mut one).collect()
    }

    /// To the nearest point that exists, if it is feasible.
    fn rounded(&self, space: &SpaceDomain, moved: Vec<f64>) -> Option<Vec<f64>> {
        let encoded = Points::new(moved, space.dim()).ok()?;
        let natural = self.domain.decode(encoded.view()).ok()?;
        if !self.domain.contains(natural.row(0)) {
            return None;
        }
        Some(self.domain.encode(natural.view()).ok()?.row(0).to_vec())
    }
}

fn redraw(value: &mut f64, column: &Column, rng: &mut ChaCha8Rng) {
    match column {
        Column::Categorical { choices } => {
            if rng.random::<f64>() < REDRAWN {
                *value = rng.random_range(0..*choices) as f64;
            } else {
                *value = value.round().clamp(0.0, (*choices - 1) as f64);
            }
        }
        // Steps shorter than half a level would never move: now and then, one level up or down.
        Column::Float { .. } => {}
        _ => {
            if let Some(levels) = column.levels().filter(|&l| l > 1)
                && rng.random::<f64>() < REDRAWN
            {
                *value += if rng.random::<bool>() { 1.0 } else { -1.0 } / (levels - 1) as f64;
            }
        }
    }
}

/// Takes each column's length-scale where it is shorter than what is there.
fn shorten(kernel: &Kernel, seen: &[usize], lengths: &mut [f64]) {
    match kernel {
        Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().for_each(|part| shorten(part, seen, lengths)),
        Kernel::Columns { columns, kernel } => {
            let inner: Vec<usize> = columns.iter().map(|&c| seen[c]).collect();
            shorten(kernel, &inner, lengths);
        }
        _ => {}
    }
    let Some(values) = kernel.lengthscale().map(Lengthscale::values) else { return };
    for (position, &column) in seen.iter().enumerate() {
        let length = values.get(position).or(values.first()).copied().unwrap_or(f64::INFINITY);
        lengths[column] = lengths[column].min(length);
    }
}
