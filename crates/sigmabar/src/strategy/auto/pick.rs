//! What a batch measures: what teaches most about the maximum, what may be better, or where least is known.

use super::maximisers::Maximisers;
use super::model::{Model, Shrinking};
use super::pool::Pool;
use crate::error::{Error, Result};
use crate::points::bits;
use sigmabar_linalg::{Matrix, argmax};

/// A batch being chosen among the points of [`Maximisers`].
pub(super) struct Picking<'a> {
    found: &'a Maximisers,
    shrinking: Shrinking<'a>,
    /// Covariances of all points with the maximisers, given all that was picked.
    covariance: Matrix,
    barred: Vec<bool>,
    reached: Vec<f64>,
    pub chosen: Vec<usize>,
}

impl<'a> Picking<'a> {
    /// Knows the points that are about to be measured. Cost O(P·T·n) for P points and T maximisers.
    pub fn new(model: &'a Model, found: &'a Maximisers) -> Result<Self> {
        let shrinking = Shrinking::new(model, found.points.view(), &found.outlook)?;
        let covariance = found.outlook.cross(model, found.points.view(), &found.tops)?;
        let (barred, reached) = (found.barred.clone(), found.reached.clone());
        let mut picking = Self { found, shrinking, covariance, barred, reached, chosen: Vec::new() };
        (found.pending..found.points.len()).try_for_each(|i| picking.condition(i))?;
        Ok(picking)
    }

    /// As if the point had been measured: $c(x,t)\leftarrow c(x,t)-u_xu_t$.
    fn condition(&mut self, point: usize) -> Result<()> {
        let column = self.shrinking.pick(point)?;
        let at_tops: Vec<f64> = self.found.tops.iter().map(|&t| column[t]).collect();
        for (i, &u) in column.iter().enumerate() {
            self.covariance.row_mut(i).iter_mut().zip(&at_tops).for_each(|(c, t)| *c -= u * t);
        }
        Ok(())
    }

    fn take(&mut self, point: usize) -> Result<()> {
        self.condition(point)?;
        self.chosen.push(point);
        let own = bits(self.found.points.row(point));
        for (i, row) in self.found.points.view().rows().enumerate() {
            self.barred[i] |= bits(row) == own;
        }
        self.reached.iter_mut().enumerate().for_each(|(draw, r)| *r = r.max(self.found.values[(draw, point)]));
        Ok(())
    }

    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.found.pending).filter(|&i| !self.barred[i])
    }

    /// Points that greedily raise $\mathbb E\max_{x\in\text{batch}}f(x)$ above what the functions reach. Fewer than asked for where no further one raises it.
    /// Cost O(count·P·draws).
    pub fn improve(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            let mut gains = vec![0.0; self.found.points.len()];
            for (draw, &bar) in self.reached.iter().enumerate() {
                self.found.values.row(draw).iter().zip(&mut gains).for_each(|(v, g)| *g += (v - bar).max(0.0));
            }
            let Some(top) = argmax(self.open().map(|i| (i, gains[i]))).filter(|&t| gains[t] > 0.0) else { break };
            self.take(top)?;
        }
        Ok(())
    }

    /// Points that greedily lower the summed variance at the maximisers: the largest $\sum_tc(x,t)^2/(\sigma^2(x)+\tau^2)$. Cost O(count·P·T).
    pub fn learn(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            let score =
                |i: usize| self.covariance.row(i).iter().map(|c| c * c).sum::<f64>() / self.shrinking.total(i).max(f64::MIN_POSITIVE);
            let Some(top) = argmax(self.open().map(|i| (i, score(i)))) else { break };
            if self.shrinking.total(top) <= 0.0 {
                break;
            }
            self.take(top)?;
        }
        Ok(())
    }
}

/// `count` points of a pool where the variance is largest, given all data, what is about to be measured (the points from `pending` on), and the picks made.
/// Cost O(count·A·n).
pub(super) fn by_variance(model: &Model, pool: &Pool, pending: usize, count: usize) -> Result<Vec<usize>> {
    let mut shrinking = Shrinking::new(model, pool.points.view(), &pool.outlook)?;
    (pending..pool.points.len()).try_for_each(|i| shrinking.pick(i).map(drop))?;
    let mut picks = Vec::new();
    while picks.len() < count {
        let open = shrinking.variance[..pending].iter().copied().enumerate();
        let pick = argmax(open).ok_or(Error::Empty { what: "the list of survivors" })?;
        shrinking.pick(pick)?;
        picks.push(pick);
    }
    Ok(picks)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::data::Data;
    use super::super::fit::Fit;
    use super::super::scale::Scale;
    use super::*;
    use crate::kernel::Kernel;
    use crate::points::Points;

    fn spread(count: usize, shift: f64) -> Points {
        let at = |i: usize, golden: f64| (shift + i as f64 * golden).fract();
        Points::new((0..count).flat_map(|i| [at(i, 0.618_033_988_7), at(i, 0.414_213_562_4)]).collect(), 2).unwrap()
    }

    fn parts() -> (Data, Fit) {
        let points = spread(9, 0.1);
        let raw = points.view().rows().map(|x| (5.0 * x[0]).sin() + x[1]).collect();
        let data = Data { points, raw, errors: vec![None; 9], spread: 9, failed: None };
        (data, Fit::plain(Kernel::matern(2.5, 0.4, 1.0).unwrap(), 0.2, Scale::IDENTITY))
    }

    fn found(model: &Model, values: Matrix, tops: Vec<usize>, pending: usize) -> Maximisers {
        let points = spread(values.cols(), 0.37);
        let outlook = model.outlook(points.view()).unwrap();
        let floor = values.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        let (reached, barred) = (vec![floor; values.rows()], vec![false; points.len()]);
        Maximisers { points, indices: None, outlook, values, tops, pending, reached, barred }
    }

    /// The expected largest value of a batch, by plain loops.
    fn expected(values: &Matrix, batch: &[usize]) -> f64 {
        let draws = values.rows();
        (0..draws).map(|d| batch.iter().map(|&j| values[(d, j)]).fold(f64::NEG_INFINITY, f64::max)).sum::<f64>() / draws as f64
    }

    #[test]
    fn improving_is_greedy_in_the_expected_maximum() {
        let (data, fit) = parts();
        let model = fit.model(&data).unwrap();
        let values = Matrix::from_fn(40, 12, |d, j| ((d * 7 + j * 13) as f64 * 0.37).sin() + 0.1 * ((d + 3 * j) as f64 * 1.7).cos());
        let found = found(&model, values.clone(), vec![0, 1], 12);
        let mut picking = Picking::new(&model, &found).unwrap();
        picking.improve(5).unwrap();
        let mut batch: Vec<usize> = Vec::new();
        for &pick in &picking.chosen {
            let of = |j: usize| expected(&values, &[batch.clone(), vec![j]].concat());
            let best = (0..12).map(of).fold(f64::NEG_INFINITY, f64::max);
            assert!((of(pick) - best).abs() < 1e-12);
            batch.push(pick);
        }
        assert_eq!(batch.len(), 5);
    }

    #[test]
    fn two_basins_both_get_a_share_and_useless_points_none() {
        // Draws agree that the maximum is at point 0 or at point 1; point 2 is never best.
        let (data, fit) = parts();
        let model = fit.model(&data).unwrap();
        let values = Matrix::from_fn(10, 3, |d, j| [1.0 + (d % 2) as f64, 2.0 - (d % 2) as f64, 0.5][j]);
        let found = found(&model, values, vec![0, 1], 3);
        let mut picking = Picking::new(&model, &found).unwrap();
        picking.improve(3).unwrap();
        picking.chosen.sort_unstable();
        assert_eq!(picking.chosen, [0, 1]);
    }

    /// Each pick is the one after which models that know it have the smallest summed variance at the maximisers.
    #[test]
    fn learning_lowers_the_variance_at_the_maximisers_most() {
        let (data, fit) = parts();
        let model = fit.model(&data).unwrap();
        let found = found(&model, Matrix::zeros(1, 14), vec![2, 5, 7], 13);
        let mut picking = Picking::new(&model, &found).unwrap();
        picking.learn(3).unwrap();
        let mut known = data.clone();
        let add = |known: &Data, i: usize| {
            let mut more = known.clone();
            more.points.push(found.points.row(i)).unwrap();
            more.raw.push(0.0);
            more.errors.push(None);
            more
        };
        known = add(&known, 13);
        let targets = found.points.view().select(&found.tops).unwrap();
        let left = |known: &Data| fit.model(known).unwrap().outlook(targets.view()).unwrap().variance.iter().sum::<f64>();
        for (step, &pick) in picking.chosen.iter().enumerate() {
            let open = (0..13).filter(|i| !picking.chosen[..step].contains(i));
            let best = open.map(|i| left(&add(&known, i))).fold(f64::INFINITY, f64::min);
            known = add(&known, pick);
            assert!((left(&known) - best).abs() < 1e-9);
        }
    }
}
