//! Where functions drawn from the posterior have their maxima (algorithm notes 5.10).

use super::data::Data;
use super::draws::Functions;
use super::ground::Ground;
use super::model::{Model, Outlook};
use super::pool::Pool;
use crate::error::Result;
use crate::points::{Points, PointsRef, bits};
use crate::posterior::sample_coarsely;
use crate::strategy::run::ledger::Proposal;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sigmabar_linalg::{Matrix, argmax, parallel};
use std::collections::HashSet;

/// Random frequencies of the joint term.
const FREQUENCIES: usize = 384;
/// Candidates: of a Sobol sequence, around the best, recombined from maximisers.
const GLOBAL: usize = 1024;
const LOCAL: usize = 512;
const RECOMBINED: usize = 768;
/// Starts of a climb for each draw, and its steps.
const STARTS: usize = 2;
const ASCENT: usize = 15;
/// A recombined point this much below the maximum, as a share of its size, is climbed too.
const NEAR: f64 = 0.1;
/// Candidates on which functions are drawn jointly where the domain is looked at whole, or the kernel was given.
const JOINT: usize = 1024;
/// Joint draws leave out directions of smaller variance than this share of the largest, a ten-thousandth of its deviation.
pub(super) const COARSE: f64 = 1e-8;
/// Candidates are drawn where $\mu+2\sigma$ is largest.
const PROMISE: f64 = 2.0;

/// Points to choose from, functions drawn at them, and where each function is largest.
pub(super) struct Maximisers {
    pub points: Points,
    /// Their numbers on a list.
    pub indices: Option<Vec<usize>>,
    pub outlook: Outlook,
    /// One row a function.
    pub values: Matrix,
    /// For each function the point where it is largest.
    pub tops: Vec<usize>,
    /// The first point that is no candidate: it is about to be measured already.
    pub pending: usize,
    /// What each function reaches at the points measured or about to be.
    pub reached: Vec<f64>,
    /// Points that may not be picked: they were measured.
    pub barred: Vec<bool>,
}

impl Maximisers {
    pub fn proposal(&self, i: usize) -> Proposal {
        match &self.indices {
            Some(indices) => Proposal::candidate(indices[i], self.points.row(i)),
            None => Proposal::anywhere(self.points.row(i).to_vec()),
        }
    }

    /// Functions drawn and climbed over the whole domain. None for a kernel that was given. `known` are the points measured, `pending` those about to be.
    pub fn climbed(ground: &Ground<'_>, model: &Model, data: &Data, pending: &[Vec<f64>], draws: usize, seed: u64) -> Result<Option<Self>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let Some(functions) = Functions::new(model, draws, FREQUENCIES, &mut rng)? else { return Ok(None) };
        let known: HashSet<Vec<u64>> = data.points.view().rows().map(bits).chain(pending.iter().map(|row| bits(row))).collect();
        let mut points = candidates(ground, model, data, GLOBAL, &mut rng)?;
        let first = functions.values(points.view())?;
        let starts: Vec<(usize, usize)> =
            (0..draws).flat_map(|draw| largest(first.row(draw), STARTS).into_iter().map(move |at| (draw, at))).collect();
        let mut tops = best_of_each(draws, &climbs(ground, &functions, &points, points.view(), &starts));
        let recombined = recombined(ground, &tops, points.view(), &mut rng)?;
        if !recombined.is_empty() {
            let values = functions.values(recombined.view())?;
            let again: Vec<(usize, usize)> = (0..draws)
                .map(|draw| (draw, largest(values.row(draw), 1)[0]))
                .filter(|&(draw, at)| values[(draw, at)] > tops[draw].1 - NEAR * tops[draw].1.abs())
                .collect();
            for (draw, x, value) in climbs(ground, &functions, &recombined, points.view(), &again) {
                if value > tops[draw].1 {
                    tops[draw] = (x, value);
                }
            }
            recombined.view().rows().try_for_each(|row| points.push(row))?;
        }
        // Points that were measured are no candidates on a discrete domain; elsewhere they never come up.
        let mut all = Points::from_rows(&tops.iter().map(|(x, _)| x).collect::<Vec<_>>())?;
        let mut seen = known.clone();
        for row in points.view().rows() {
            if seen.insert(bits(row)) {
                all.push(row)?;
            }
        }
        let count = all.len();
        pending.iter().try_for_each(|row| all.push(row))?;
        let outlook = model.outlook(all.view())?;
        let values = functions.values(all.view())?;
        let mut reached = highest(&functions.values(data.points.view())?, 0);
        reached.iter_mut().zip(highest(&values, count)).for_each(|(r, v)| *r = r.max(v));
        let barred = all.view().rows().map(|row| known.contains(&bits(row))).collect();
        Ok(Some(Self { points: all, indices: None, outlook, values, tops: (0..draws).collect(), pending: count, reached, barred }))
    }

    /// Functions drawn jointly at the most promising candidates of a pool.
    pub fn drawn(model: &Model, pool: &Pool, pending: &[Vec<f64>], draws: usize, seed: u64) -> Result<Self> {
        let at = promising(&pool.outlook, JOINT);
        let mut points = pool.points.view().select(&at)?;
        pending.iter().try_for_each(|row| points.push(row))?;
        let outlook = model.outlook(points.view())?;
        let all: Vec<usize> = (0..points.len()).collect();
        let covariance = outlook.covariance(model, points.view(), &all)?;
        let values = sample_coarsely(&outlook.mean, &covariance, COARSE, draws, seed)?;
        let tops = (0..draws).map(|draw| largest(&values.row(draw)[..at.len()], 1)[0]).collect();
        let indices = pool.indices.as_ref().map(|indices| at.iter().map(|&i| indices[i]).collect());
        let floor = values.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        let reached = highest(&values, at.len()).into_iter().map(|v| v.max(floor)).collect();
        let barred = vec![false; points.len()];
        Ok(Self { points, indices, outlook, values, tops, pending: at.len(), reached, barred })
    }
}

/// A Sobol sequence, and points around the best tenth of those measured.
pub(super) fn candidates(ground: &Ground<'_>, model: &Model, data: &Data, global: usize, rng: &mut ChaCha8Rng) -> Result<Points> {
    let spread = ground.domain.candidates(global, rng.random())?;
    let mut points = spread.range(0, spread.len())?;
    let mean = model.outlook(data.points.view())?.mean;
    let top = largest(&mean, (mean.len() / 10).max(8).min(mean.len()));
    for _ in 0..LOCAL {
        let (at, other) = (top[rng.random_range(0..top.len())], top[rng.random_range(0..top.len())]);
        if let Some(moved) = ground.moved(data.points.row(at), data.points.row(other), rng) {
            points.push(&moved)?;
        }
    }
    Ok(points)
}

/// Climbs functions from points: (function, where it ended, value).
fn climbs(
    ground: &Ground<'_>,
    functions: &Functions<'_>,
    points: &Points,
    others: PointsRef<'_>,
    starts: &[(usize, usize)],
) -> Vec<(usize, Vec<f64>, f64)> {
    let one = |&(draw, at): &(usize, usize)| {
        let (x, value) = ground.climb(&|x: &[f64]| functions.with_slope(draw, x), points.row(at), others, ASCENT);
        (draw, x, value)
    };
    parallel(|watch| starts.par_iter().inspect(|_| watch.check()).map(one).collect())
}

fn best_of_each(draws: usize, ends: &[(usize, Vec<f64>, f64)]) -> Vec<(Vec<f64>, f64)> {
    let best = |draw: usize| ends.iter().filter(|end| end.0 == draw).max_by(|a, b| a.2.total_cmp(&b.2));
    (0..draws).filter_map(best).map(|(_, x, value)| (x.clone(), *value)).collect()
}

/// Maximisers of different functions crossed: one coordinate, or about half of them, from another; where constraints hold, points between two.
fn recombined(ground: &Ground<'_>, tops: &[(Vec<f64>, f64)], some: PointsRef<'_>, rng: &mut ChaCha8Rng) -> Result<Points> {
    let mut rows = some.range(0, 0).to_points();
    for _ in 0..RECOMBINED {
        let (a, b) = (&tops[rng.random_range(0..tops.len())].0, &tops[rng.random_range(0..tops.len())].0);
        let (one, column) = (rng.random::<bool>(), rng.random_range(0..a.len()));
        let mixed: Vec<f64> =
            (0..a.len()).map(|c| if if one { c == column } else { rng.random::<bool>() } { b[c] } else { a[c] }).collect();
        if let Some(row) = ground.settled(mixed) {
            rows.push(&row)?;
        }
    }
    Ok(rows)
}

/// The largest value of each row from this column on.
fn highest(values: &Matrix, from: usize) -> Vec<f64> {
    (0..values.rows()).map(|i| values.row(i)[from..].iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect()
}

/// The numbers of the largest entries, the largest first.
pub(super) fn largest(values: &[f64], count: usize) -> Vec<usize> {
    if count == 1 {
        return argmax(values.iter().copied().enumerate()).into_iter().collect();
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by = |&a: &usize, &b: &usize| values[b].total_cmp(&values[a]).then(a.cmp(&b));
    if count < order.len() {
        order.select_nth_unstable_by(count, by);
        order.truncate(count);
    }
    order.sort_by(by);
    order
}

/// Points with the largest $\mu+2\sigma$, at most `count`.
pub(super) fn promising(outlook: &Outlook, count: usize) -> Vec<usize> {
    let promise: Vec<f64> = outlook.mean.iter().zip(&outlook.variance).map(|(m, v)| m + PROMISE * v.sqrt()).collect();
    largest(&promise, count)
}
