//! Other models that explain the data nearly as well as the best: statements rest on several, not on a point estimate (algorithm notes 5.11).

use super::data::Data;
use super::fit::{FITTED, Fit, Fitting, STEPS, TOLERANCE, Target};
use super::structure::Smoothness;
use crate::error::Result;
use crate::evidence::{Effort, maximise};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use sigmabar_linalg::dot;

/// Parameters drawn for each that is kept.
const DRAWN: usize = 3;
/// Steps of the differences behind their spread.
const DIFFERENCE: f64 = 0.15;

impl Fitting {
    /// Models with other parameters, in proportion to evidence and prior. Where the best is the smoother of the two kernels, half of them have the rougher one:
    /// values tell little about derivatives of high order, and the smoother model is the surer of itself.
    pub fn alternatives(&self, data: &Data, best: &Fit, count: usize) -> Result<Vec<Fit>> {
        let data = &data.for_fitting(FITTED);
        let smoothness = best.structure.as_ref().map_or(Smoothness::Twice, |s| s.smoothness);
        let target = Target::new(self, data, best.scale, smoothness).with_levels_of(&best.kernel, best.ridge)?;
        if smoothness == Smoothness::Twice {
            return self.drawn(&target, &best.theta, count);
        }
        let mut fits = self.drawn(&target, &best.theta, count - count / 2)?;
        let rougher = Target { smoothness: Smoothness::Twice, ..target };
        let effort = Effort { steps: STEPS.0, tolerance: TOLERANCE };
        let ascent = maximise(|theta: &[f64]| rougher.with_slope(theta), &best.theta, &self.bounds(&best.scale), effort)?;
        fits.extend(self.drawn(&rougher, &ascent.point, count / 2)?);
        Ok(fits)
    }

    /// Parameters drawn from a normal law around the best, from the curvature along each parameter, made right by weights.
    fn drawn(&self, target: &Target<'_>, best: &[f64], count: usize) -> Result<Vec<Fit>> {
        let bounds = self.bounds(&target.scale);
        let n = target.values.len() as f64;
        let top = target.value(best)? * n;
        let at = |theta: &[f64]| target.value(theta).map_or(f64::NEG_INFINITY, |v| v * n - top);
        let spread: Vec<f64> = (0..best.len())
            .into_par_iter()
            .map(|p| {
                let (low, high) = bounds[p];
                if low >= high {
                    return 0.0;
                }
                let moved = |step: f64| {
                    let mut theta = best.to_vec();
                    theta[p] += step;
                    at(&theta)
                };
                let curvature = -(moved(DIFFERENCE) + moved(-DIFFERENCE)) / DIFFERENCE.powi(2);
                let widest = self.space.width(p);
                if curvature.is_finite() { curvature.max(widest.powi(-2)).sqrt().recip() } else { DIFFERENCE }
            })
            .collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ 0xa17e);
        let mut drawn: Vec<(f64, Vec<f64>)> = Vec::new();
        for _ in 0..DRAWN * count {
            let normal: Vec<f64> = spread.iter().map(|_| StandardNormal.sample(&mut rng)).collect();
            let theta: Vec<f64> = (0..spread.len()).map(|p| (best[p] + spread[p] * normal[p]).clamp(bounds[p].0, bounds[p].1)).collect();
            drawn.push((0.5 * dot(&normal, &normal), theta));
        }
        let weights: Vec<f64> = drawn.par_iter().map(|(extra, theta)| at(theta) + extra).collect();
        let chosen = resampled(&weights, count);
        Ok(chosen.into_iter().filter_map(|i| self.fit(target, drawn[i].1.clone()).ok()).collect())
    }
}

/// Systematic resampling by log weights: as many of each as its weight says. No draw counts more than e³ times the typical one: a single one would be a point
/// estimate again.
fn resampled(weights: &[f64], count: usize) -> Vec<usize> {
    let mut sorted = weights.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(most) = sorted.last() else { return Vec::new() };
    let cap = (sorted[sorted.len() / 2] + 3.0).min(*most);
    let weights: Vec<f64> = weights.iter().map(|w| (w.min(cap) - cap).exp()).collect();
    let total: f64 = weights.iter().sum();
    let (mut chosen, mut sum, mut next) = (Vec::new(), 0.0, 0.5 * total / count as f64);
    for (i, weight) in weights.iter().enumerate() {
        sum += weight;
        while next < sum && chosen.len() < count {
            chosen.push(i);
            next += total / count as f64;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{BoxDomain, Domain};
    use crate::points::Points;
    use crate::strategy::run::problem::Problem;

    fn parts(f: fn(&[f64]) -> f64) -> (Fitting, Data) {
        let problem = Problem::new(Domain::Box(BoxDomain::unit(2).unwrap()), 40).unwrap();
        let at = |i: usize, golden: f64| (0.3 + i as f64 * golden).fract();
        let points = Points::new((0..24).flat_map(|i| [at(i, 0.618_033_988_7), at(i, 0.414_213_562_4)]).collect(), 2).unwrap();
        let raw = points.view().rows().map(f).collect();
        let data = Data { points, raw, errors: vec![None; 24], spread: 24, failed: None };
        (Fitting::new(&problem, &data, 1).unwrap(), data)
    }

    fn rougher_ones(f: fn(&[f64]) -> f64) -> usize {
        let (fitting, data) = parts(f);
        let best = fitting.smoothest(&data, fitting.views(&data, &[]).unwrap().last().unwrap()).unwrap();
        let others = fitting.alternatives(&data, &best, 6).unwrap();
        assert_eq!(others.len(), 6);
        assert!(others.iter().any(|fit| fit.theta != others[0].theta) && others.iter().all(|fit| fit.value <= best.value + 1.0));
        others.iter().filter(|fit| fit.structure.as_ref().unwrap().smoothness == Smoothness::Twice).count()
    }

    #[test]
    fn alternatives_differ_and_half_of_those_to_the_smoother_kernel_are_rougher() {
        assert_eq!(rougher_ones(|x| (4.0 * x[0]).cos() * (-x[1] * x[1]).exp()), 3);
        assert_eq!(rougher_ones(|x| (x[0] - 0.4).abs() * (1.0 + (x[1] - 0.6).abs())), 6);
    }
}
