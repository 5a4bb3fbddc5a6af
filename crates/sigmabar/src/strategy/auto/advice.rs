//! What to do if the run ended now, and how far from the best it may be.

use super::data::Data;
use super::fit::{Fit, Fitting};
use super::ground::Ground;
use super::maximisers::{COARSE, largest, promising};
use super::model::{Model, Outlook};
use super::pool::{self, Pool};
use super::unexplained::Unexplained;
use crate::error::Result;
use crate::points::Points;
use crate::posterior::sample_coarsely;
use crate::strategy::run::problem::Problem;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{argmax, parallel};
use statrs::distribution::{ContinuousCDF, Normal};

/// Measured points from which the mean is climbed, and steps of a climb.
const STARTS: usize = 12;
const ASCENT: usize = 30;
/// One measured point in so many, the best, and no fewer than are climbed from, between which a climb stays.
const SPAN: usize = 5;
/// Deviations by which the mean counts for less in the choice between tops and measured points.
const CAUTION: f64 = 2.0;
/// Hyper-parameters drawn for a statement, and for each functions at candidates: the most promising, and others spread over the ranks behind them.
const ALTERNATIVES: usize = 8;
const PROMISING: usize = 160;
const OTHERS: usize = 96;
const FUNCTIONS: usize = 64;
/// Deviations are this much wider than leave-one-out asks for: at a point chosen for its large mean the mean is too large more often than elsewhere.
const CHOSEN: f64 = 1.5;

/// The recommended point and what is said about it, in the problem's unit where larger is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Advice {
    pub point: Vec<f64>,
    /// Its number among the measurements, if it was measured.
    pub measured: Option<usize>,
    pub lower: f64,
    pub upper: f64,
    pub gap: f64,
}

/// What advice is made from.
pub(super) struct Evidence<'a> {
    pub problem: &'a Problem,
    pub ground: &'a Ground<'a>,
    pub data: &'a Data,
    pub fitting: &'a Fitting,
    pub fit: &'a Fit,
    pub model: &'a Model,
    pub pool: &'a Pool,
    pub seed: u64,
}

impl Evidence<'_> {
    pub fn advice(&self) -> Result<Advice> {
        let mut outlook = self.model.outlook(self.data.points.view())?;
        let cell = self.ground.cell();
        let unexplained = match self.problem.noise() {
            None => Unexplained::of(self.data, self.fit, &cell)?,
            Some(_) => Unexplained { noise: self.fit.ridge.powi(2), structure: 0.0 },
        };
        unexplained.settle(self.data, self.fit, &cell, &mut outlook)?;
        let (point, measured) = self.best(&outlook, unexplained)?;
        let mean = match measured {
            Some(i) => outlook.mean[i],
            None => self.model.outlook(Points::from_rows(&[&point])?.view())?.mean[0],
        };
        self.stated(point, measured, mean, unexplained)
    }

    /// The largest $\mu-2\sigma$ of the best measured points and of the tops of the posterior mean climbed from them, without leaving the span of the better ones: beyond it
    /// a model that is too smooth goes on rising, and is as sure of it as it is wrong. The measured point of largest $\hat f-\sigma/2$ where the domain is looked at
    /// whole, or where repeated measurements say that the function is rougher than the model. $\hat f$ is the mean, moved towards what was measured as far as
    /// [`Unexplained`] says.
    fn best(&self, outlook: &Outlook, unexplained: Unexplained) -> Result<(Vec<f64>, Option<usize>)> {
        let score: Vec<f64> = outlook.mean.iter().zip(&outlook.variance).map(|(m, v)| m - 0.5 * v.sqrt()).collect();
        let order = largest(&score, STARTS.min(score.len()).max(2));
        if unexplained.structure > 0.0 || pool::whole(self.ground.domain, self.seed)?.is_some() {
            return Ok((self.data.points.row(order[0]).to_vec(), Some(order[0])));
        }
        let ranges = self.ground.ranges();
        let best = largest(&score, (score.len() / SPAN).max(order.len()));
        let near = self.ground.spanned(self.data.points.view().select(&best)?.view());
        let climb = |&at: &usize| {
            let mean = |x: &[f64]| self.model.mean_with_slope(x, &ranges);
            near.climb(&mean, self.data.points.row(at), self.data.points.view(), ASCENT)
        };
        let ends: Vec<(Vec<f64>, f64)> = parallel(|watch| order.par_iter().inspect(|_| watch.check()).map(climb).collect());
        let there = self.model.outlook(Points::from_rows(&ends.iter().map(|(x, _)| x).collect::<Vec<_>>())?.view())?;
        let low = |of: &Outlook, i: usize| of.mean[i] - CAUTION * of.variance[i].sqrt();
        // Of two hills, the one that is the surer to be high; and a guess only where even that is more than what was measured.
        let top = argmax((0..ends.len()).map(|i| (i, low(&there, i))));
        let at = argmax(order.iter().map(|&i| (i, low(outlook, i)))).unwrap_or(order[0]);
        Ok(match top {
            Some(i) if low(&there, i) > low(outlook, at) => (ends[i].0.clone(), None),
            _ => (self.data.points.row(at).to_vec(), Some(at)),
        })
    }

    /// Interval and gap are quantiles over functions drawn from the posteriors of several hyper-parameters, their deviations from the mean widened by how far
    /// leave-one-out predictions miss (algorithm notes 5.11): right as often as the model is.
    fn stated(&self, point: Vec<f64>, measured: Option<usize>, mean: f64, unexplained: Unexplained) -> Result<Advice> {
        let mut fits = self.fitting.alternatives(self.data, self.fit, ALTERNATIVES)?;
        if fits.is_empty() {
            fits.push(self.fit.clone());
        }
        let candidates = self.pool.points.view().select(&looked_at(&self.pool.outlook))?;
        let drawn = fits.par_iter().enumerate().map(|(k, fit)| self.drawn(fit, &candidates, &point, self.seed.wrapping_add(k as u64)));
        let drawn: Vec<(f64, f64)> = drawn.collect::<Result<Vec<_>>>()?.concat();
        let scale = &self.fit.scale;
        // The mean may have been moved towards what was measured, and the truth may differ from any smooth function.
        let centre = drawn.iter().map(|(_, own)| own).sum::<f64>() / drawn.len() as f64;
        let shift = if unexplained.structure > 0.0 { mean - centre } else { 0.0 };
        let delta = self.problem.delta();
        let z = Normal::standard().inverse_cdf(1.0 - 0.5 * delta);
        let rough = z * unexplained.structure.sqrt();
        let reach = self.reach(&point);
        let real = |value: f64| scale.to_problem(value.clamp(-reach, reach));
        let loss = |pair: &(f64, f64)| {
            let (top, own) = lifted(*pair, rough, shift);
            (real(top) - real(own)).max(0.0)
        };
        let gap = quantile(drawn.iter().map(loss).collect(), 1.0 - delta);
        let own: Vec<f64> = drawn.iter().map(|(_, own)| own + shift).collect();
        let (lower, upper) = (quantile(own.clone(), 0.5 * delta), quantile(own, 1.0 - 0.5 * delta));
        Ok(Advice { point, measured, lower: real(lower - rough), upper: real(upper + rough), gap })
    }

    /// Pairs of the largest value and the value at the point in functions drawn from one posterior.
    fn drawn(&self, fit: &Fit, candidates: &Points, point: &[f64], seed: u64) -> Result<Vec<(f64, f64)>> {
        let model = fit.model(self.data)?;
        let mut points = candidates.clone();
        points.push(point)?;
        let outlook = model.outlook(points.view())?;
        let all: Vec<usize> = (0..points.len()).collect();
        let covariance = outlook.covariance(&model, points.view(), &all)?;
        let draws = sample_coarsely(&vec![0.0; all.len()], &covariance, COARSE, FUNCTIONS, seed)?;
        let wide = CHOSEN * fit.trust.miss.max(1.0);
        let pair = |draw: usize| {
            let value = |i: usize| outlook.mean[i] + wide * draws[(draw, i)];
            (all.iter().map(|&i| value(i)).fold(f64::NEG_INFINITY, f64::max), value(all.len() - 1))
        };
        Ok((0..FUNCTIONS).map(pair).collect())
    }

    /// How large a function of the given norm can be at a point.
    fn reach(&self, point: &[f64]) -> f64 {
        match self.problem.norm_bound() {
            Some(bound) => bound * self.model.kernel.value(point, point).sqrt(),
            None => f64::INFINITY,
        }
    }
}

/// The candidates at which functions are drawn. In few dimensions the most promising crowd around one top, and no function could be seen to have its own
/// elsewhere.
fn looked_at(outlook: &Outlook) -> Vec<usize> {
    let mut order = promising(outlook, outlook.mean.len());
    let rest = order.split_off(PROMISING.min(order.len()));
    let others = OTHERS.min(rest.len());
    order.extend((0..others).map(|i| rest[i * rest.len() / others]));
    order
}

/// The largest value and the value at the point, where the point is known to be this much above the model and all others may be as much above it as it is, and
/// rougher still: a function that is larger than a smooth model here by chance is so elsewhere.
fn lifted((top, own): (f64, f64), rough: f64, shift: f64) -> (f64, f64) {
    (top + rough + shift.max(0.0), own + shift)
}

fn quantile(mut values: Vec<f64>, level: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let position = (level * values.len() as f64).ceil() as usize;
    values[position.clamp(1, values.len()) - 1]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{BoxDomain, Domain};
    use crate::kernel::Kernel;
    use crate::strategy::auto::pool::Sieve;
    use crate::strategy::auto::scale::Scale;
    use crate::strategy::{Ask, Auto, Direction, Outcome, Policy, Strategy};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// Four bumps of random places, widths and heights on the line.
    fn bumps(seed: u64) -> impl Fn(f64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut between = |low: f64, high: f64| low + (high - low) * rng.random::<f64>();
        let all: Vec<[f64; 3]> = (0..4).map(|_| [between(0.3, 1.2), between(0.0, 1.0), between(2.0, 7.0)]).collect();
        move |x| all.iter().map(|[height, at, steep]| height * (-(steep * (x - at)).powi(2)).exp()).sum()
    }

    /// Whether gap and interval of a run with noise are false.
    fn falsehoods(seed: u64, budget: usize) -> (bool, bool) {
        let f = bumps(seed);
        let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), budget).unwrap();
        let problem = problem.with_direction(Direction::Maximize).with_seed(seed);
        let mut strategy = Strategy::new(problem, Policy::Auto(Auto::default())).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
        while let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() {
            for trial in trials {
                let normal: f64 = StandardNormal.sample(&mut rng);
                strategy.tell(trial.id, Outcome::Value(f(trial.point[0]) + 0.1 * normal)).unwrap();
            }
        }
        let said = strategy.recommend().unwrap().unwrap();
        let (value, best) = (f(said.point[0]), (0..=10_000).map(|i| f(f64::from(i) / 1e4)).fold(f64::NEG_INFINITY, f64::max));
        (best - value > said.gap + 1e-6, !(said.lower..=said.upper).contains(&value))
    }

    #[test]
    fn on_the_line_with_noise_gaps_and_intervals_are_seldom_false() {
        let all: Vec<(bool, bool)> = (0..20).into_par_iter().map(|seed| falsehoods(seed, 60)).collect();
        let count = |of: fn(&(bool, bool)) -> bool| all.iter().filter(|one| of(one)).count();
        assert!(count(|f| f.0) <= 2 && count(|f| f.1) <= 2, "{} gaps and {} intervals", count(|f| f.0), count(|f| f.1));
    }

    /// What is recommended on the line under a given model, of Matérn kernel of this length.
    fn recommended(x: &[f64], f: impl Fn(f64) -> f64, length: f64) -> f64 {
        let (n, raw) = (x.len(), x.iter().map(|&v| f(v)).collect());
        let data = Data { points: Points::on_line(x.to_vec()).unwrap(), errors: vec![None; n], spread: n, raw, failed: None };
        let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 60).unwrap();
        let fit = Fit::plain(Kernel::matern(2.5, length, 1.0).unwrap(), 0.02, Scale::IDENTITY);
        let (fitting, model) = (Fitting::new(&problem, &data, 1).unwrap(), fit.model(&data).unwrap());
        let ground = Ground::new(problem.domain(), &model);
        let pool = Sieve::new(&ground, &model, &data, 1).pool().unwrap();
        let evidence =
            Evidence { problem: &problem, ground: &ground, data: &data, fitting: &fitting, fit: &fit, model: &model, pool: &pool, seed: 1 };
        let noise = Unexplained { noise: 4e-4, structure: 0.0 };
        evidence.best(&model.outlook(data.points.view()).unwrap(), noise).unwrap().0[0]
    }

    fn even(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |i| low + (high - low) * i as f64 / (count - 1) as f64)
    }

    /// A cone measured on one side of its top: a smooth model rises on the other side, and is sure of it.
    #[test]
    fn no_place_beyond_the_best_measured_points_is_recommended() {
        let x: Vec<f64> = even(0.0, 0.19, 8).chain(even(0.2, 0.3, 14)).chain(even(0.75, 1.0, 6)).collect();
        let found = recommended(&x, |v| -10.0 * (v - 0.3).abs(), 1.0);
        assert!((0.29..=0.3).contains(&found), "{found}");
    }

    /// A top between two far points may be higher than the hill that was measured well, or lower; and the hill's own top is found between its points.
    #[test]
    fn a_guess_is_not_recommended_before_a_hill_that_is_known() {
        let x: Vec<f64> = even(0.05, 0.35, 10).chain([0.55, 0.7, 0.95]).collect();
        let found = recommended(&x, |v| if v < 0.4 { 1.0 - 10.0 * (v - 0.2).powi(2) } else { 0.8 * f64::from(u8::from(v > 0.6)) }, 0.3);
        assert!((found - 0.2).abs() < 0.01 && !x.contains(&found), "{found}");
    }

    /// 2000 candidates in a thousandth of the line, and 200 on the rest of it.
    #[test]
    fn functions_are_looked_at_beyond_the_crowd_at_the_top() {
        let x: Vec<f64> = (0..30).map(|i| f64::from(i) / 29.0).collect();
        let raw = x.iter().map(|v| -(v - 0.5).powi(2)).collect();
        let data = Data { points: Points::on_line(x).unwrap(), errors: vec![None; 30], spread: 30, raw, failed: None };
        let model = Fit::plain(Kernel::matern(2.5, 0.3, 1.0).unwrap(), 0.01, Scale::IDENTITY).model(&data).unwrap();
        let crowd = (0..2000).map(|i| 0.5 + 5e-7 * f64::from(i));
        let pool = Points::on_line(crowd.chain((0..200).map(|i| f64::from(i) / 199.0)).collect()).unwrap();
        let outlook = model.outlook(pool.view()).unwrap();
        let chosen = looked_at(&outlook);
        assert!(chosen.len() == PROMISING + OTHERS && chosen.iter().all(|i| chosen.iter().filter(|j| *j == i).count() == 1));
        assert!(chosen.contains(&promising(&outlook, 1)[0]));
        let beyond = chosen.iter().filter(|&&i| i >= 2000).count();
        assert!(beyond >= 5 && !promising(&outlook, PROMISING + OTHERS).iter().any(|&i| (pool.row(i)[0] - 0.5).abs() > 0.1), "{beyond}");
    }

    #[test]
    fn luck_at_a_point_may_be_had_elsewhere_too() {
        let (top, own) = lifted((1.0, 1.0), 0.2, 0.7);
        assert!(top - own >= 0.2 - 1e-12);
        assert_eq!(lifted((1.5, 1.0), 0.0, 0.0), (1.5, 1.0));
        // A point below the model loses by that.
        assert!((lifted((1.0, 1.0), 0.2, -0.3).0 - lifted((1.0, 1.0), 0.2, -0.3).1 - 0.5).abs() < 1e-12);
    }
}
