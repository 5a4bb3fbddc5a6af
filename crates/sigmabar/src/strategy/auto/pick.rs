//! Which of the survivors a batch measures: where least is known, or where the best may be.

use super::model::{Model, Shrinking};
use super::pool::Pool;
use crate::error::Result;
use crate::posterior::sample_gaussian;

/// Candidates on which functions are drawn jointly.
const DRAWN_AT: usize = 1024;
/// Functions drawn.
const DRAWS: usize = 512;

/// Joint draws of the function at the most promising candidates.
pub(super) struct Draws {
    /// The candidates.
    pub at: Vec<usize>,
    /// One row a draw.
    pub values: sigmabar_linalg::Matrix,
}

impl Draws {
    pub fn new(model: &Model, pool: &Pool, always: Option<usize>, seed: u64) -> Result<Self> {
        let promise = |i: usize| pool.outlook.mean[i] + 2.0 * pool.outlook.variance[i].sqrt();
        let mut at: Vec<usize> = (0..pool.points.len()).collect();
        at.sort_by(|&a, &b| promise(b).total_cmp(&promise(a)).then(a.cmp(&b)));
        at.truncate(DRAWN_AT);
        if let Some(always) = always.filter(|a| !at.contains(a)) {
            at.push(always);
        }
        let mean: Vec<f64> = at.iter().map(|&i| pool.outlook.mean[i]).collect();
        let covariance = pool.outlook.covariance(model, pool.points.view(), &at)?;
        Ok(Self { values: sample_gaussian(&mean, &covariance, DRAWS, seed)?, at })
    }

    /// Candidates that greedily raise the expected best value among them: every basin in which draws have their maximum gets its share.
    pub fn cover(&self, count: usize, incumbent: Option<usize>) -> Vec<usize> {
        let draws = self.values.rows();
        let start = incumbent.and_then(|i| self.at.iter().position(|&a| a == i));
        let mut best: Vec<f64> = (0..draws).map(|s| start.map_or(f64::NEG_INFINITY, |j| self.values[(s, j)])).collect();
        if start.is_none() {
            let floor = self.values.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
            best.iter_mut().for_each(|b| *b = floor);
        }
        let mut chosen = Vec::new();
        let mut gains = vec![0.0; self.at.len()];
        while chosen.len() < count {
            gains.iter_mut().for_each(|g| *g = 0.0);
            for s in 0..draws {
                let bar = best[s];
                self.values.row(s).iter().zip(&mut gains).for_each(|(v, g)| *g += (v - bar).max(0.0));
            }
            let top = (0..gains.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b]).then(b.cmp(&a)));
            let Some(top) = top.filter(|&t| gains[t] > 0.0) else { break };
            chosen.push(self.at[top]);
            best.iter_mut().enumerate().for_each(|(s, b)| *b = b.max(self.values[(s, top)]));
        }
        chosen
    }
}

/// Picks by the largest score of mean and remaining deviation, each pick shrinking the deviations; `chosen` are taken first.
pub(super) fn sequential(model: &Model, pool: &Pool, chosen: Vec<usize>, count: usize, score: impl Fn(f64, f64) -> f64) -> Result<Vec<usize>> {
    let mut shrinking = Shrinking::new(model, pool.points.view(), &pool.outlook);
    for &pick in &chosen {
        shrinking.pick(pick)?;
    }
    let mut picks = chosen;
    while picks.len() < count {
        let value = |i: usize| score(pool.outlook.mean[i], shrinking.variance[i].sqrt());
        let values: Vec<f64> = (0..pool.points.len()).map(value).collect();
        let best = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a))).unwrap_or(0);
        shrinking.pick(best)?;
        picks.push(best);
    }
    Ok(picks)
}
