//! Which of the survivors a batch measures: where least is known, or where the best may be.

use super::model::{Model, Shrinking};
use super::pool::Pool;
use crate::error::{Error, Result};
use crate::posterior::sample_gaussian;
use sigmabar_linalg::{Matrix, argmax};

/// Candidates on which functions are drawn jointly, and functions drawn: to choose a batch, and for the gap.
const BATCH_DRAWS: (usize, usize) = (1024, 512);
const GAP_DRAWS: (usize, usize) = (512, 256);
/// Candidates are drawn where $\mu+2\sigma$ is largest.
const PROMISE: f64 = 2.0;

/// Joint draws of the function at the most promising candidates.
pub(super) struct Draws {
    /// The candidates.
    at: Vec<usize>,
    /// One row a draw.
    values: Matrix,
}

impl Draws {
    /// Cost O(q³ + q²·draws) for q candidates.
    pub fn new(model: &Model, pool: &Pool, seed: u64) -> Result<Self> {
        let at = promising(pool, BATCH_DRAWS.0);
        let mean: Vec<f64> = at.iter().map(|&i| pool.outlook.mean[i]).collect();
        let covariance = pool.outlook.covariance(model, pool.points.view(), &at)?;
        Ok(Self { values: sample_gaussian(&mean, &covariance, BATCH_DRAWS.1, seed)?, at })
    }

    /// Candidates that greedily raise $\mathbb E\max_{x\in\text{batch}}f(x)$: every basin in which draws have their maximum gets its share.
    /// Fewer than asked for where no further one raises it. Cost O(count·q·draws).
    pub fn cover(&self, count: usize) -> Vec<usize> {
        let floor = self.values.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        let mut best = vec![floor; self.values.rows()];
        let mut chosen = Vec::new();
        while chosen.len() < count {
            let mut gains = vec![0.0; self.at.len()];
            for (draw, &bar) in best.iter().enumerate() {
                self.values.row(draw).iter().zip(&mut gains).for_each(|(v, g)| *g += (v - bar).max(0.0));
            }
            let Some(top) = argmax(gains.iter().copied().enumerate()).filter(|&t| gains[t] > 0.0) else { break };
            chosen.push(self.at[top]);
            best.iter_mut().enumerate().for_each(|(draw, b)| *b = b.max(self.values[(draw, top)]));
        }
        chosen
    }
}

/// Pairs of the largest value and the value at `own` in functions drawn from the posterior.
pub(super) fn maxima(model: &Model, pool: &Pool, own: &[f64], seed: u64) -> Result<Vec<(f64, f64)>> {
    let mut points = pool.points.view().select(&promising(pool, GAP_DRAWS.0))?;
    points.push(own)?;
    let outlook = model.outlook(points.view())?;
    let all: Vec<usize> = (0..points.len()).collect();
    let covariance = outlook.covariance(model, points.view(), &all)?;
    let draws = sample_gaussian(&outlook.mean, &covariance, GAP_DRAWS.1, seed)?;
    let pair = |draw: usize| {
        let row = draws.row(draw);
        (row.iter().copied().fold(f64::NEG_INFINITY, f64::max), row[row.len() - 1])
    };
    Ok((0..draws.rows()).map(pair).collect())
}

/// Candidates with the largest $\mu+2\sigma$, at most `count`.
fn promising(pool: &Pool, count: usize) -> Vec<usize> {
    let promise: Vec<f64> = pool.outlook.mean.iter().zip(&pool.outlook.variance).map(|(m, v)| m + PROMISE * v.sqrt()).collect();
    let mut at: Vec<usize> = (0..promise.len()).collect();
    at.sort_by(|&a, &b| promise[b].total_cmp(&promise[a]).then(a.cmp(&b)));
    at.truncate(count);
    at
}

/// Fills a batch up to `count` where the variance is largest, given all data and the picks made; `chosen` are taken first. Cost O(count·A·n).
pub(super) fn by_variance(model: &Model, pool: &Pool, chosen: Vec<usize>, count: usize) -> Result<Vec<usize>> {
    let mut shrinking = Shrinking::new(model, pool.points.view(), &pool.outlook);
    let mut picks = chosen;
    if picks.len() < count {
        picks.iter().try_for_each(|&pick| shrinking.pick(pick))?;
    }
    while picks.len() < count {
        let pick = argmax(shrinking.variance.iter().copied().enumerate()).ok_or(Error::Empty { what: "the list of survivors" })?;
        shrinking.pick(pick)?;
        picks.push(pick);
    }
    Ok(picks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected largest value of a batch, by plain loops.
    fn expected(values: &Matrix, batch: &[usize]) -> f64 {
        let draws = values.rows();
        (0..draws).map(|d| batch.iter().map(|&j| values[(d, j)]).fold(f64::NEG_INFINITY, f64::max)).sum::<f64>() / draws as f64
    }

    #[test]
    fn covering_is_greedy_in_the_expected_maximum() {
        let values = Matrix::from_fn(40, 12, |d, j| ((d * 7 + j * 13) as f64 * 0.37).sin() + 0.1 * ((d + 3 * j) as f64 * 1.7).cos());
        let draws = Draws { at: (100..112).collect(), values: values.clone() };
        let chosen = draws.cover(5);
        let mut batch: Vec<usize> = Vec::new();
        for &pick in &chosen {
            let of = |j: usize| expected(&values, &[batch.clone(), vec![j]].concat());
            let best = (0..12).map(of).fold(f64::NEG_INFINITY, f64::max);
            assert!((of(pick - 100) - best).abs() < 1e-12);
            batch.push(pick - 100);
        }
        assert_eq!(chosen.len(), 5);
    }

    #[test]
    fn two_basins_both_get_a_share_and_useless_points_none() {
        // Draws agree that the maximum is in column 0 or in column 1; column 2 is never best.
        let values = Matrix::from_fn(10, 3, |d, j| [1.0 + (d % 2) as f64, 2.0 - (d % 2) as f64, 0.5][j]);
        let mut chosen = Draws { at: vec![0, 1, 2], values }.cover(3);
        chosen.sort_unstable();
        assert_eq!(chosen, [0, 1]);
    }
}
