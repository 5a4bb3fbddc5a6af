//! Hyper-parameters by maximum a posteriori, from several starts, on each scale of the values (algorithm notes 5.10).

use super::data::Data;
use super::model::Model;
use super::scale::Scale;
use super::structure::{Smoothness, Structure};
use crate::error::{Error, Result};
use crate::evidence::{Effort, Space, Variable, add_gradient, inverse, maximise};
use crate::kernel::Kernel;
use crate::points::{Collected, Observations, PointsRef, Prior};
use crate::strategy::run::problem::Problem;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix, dot};
use std::borrow::Cow;

/// Points of the domain whose spread sets the priors: those of the data shrink as the run closes in.
const SPREAD_POINTS: usize = 1024;
/// Random starts beside the prior's centre, a rough function, a mostly additive and a mostly joint one, and the last fit.
const STARTS: usize = 4;
/// Starts that are climbed at all, steps of each, and for the best of them.
const CLIMBED: usize = 2;
pub(super) const STEPS: (usize, usize) = (10, 30);
/// The same where little is new since the last fit.
const BRIEF: (usize, usize) = (0, 6);
pub(super) const TOLERANCE: f64 = 1e-5;
/// The ridge stays within these multiples of the values' standard deviation.
const RIDGE_LIMITS: (f64, f64) = (1e-5, 3.0);
/// Variances in squared units of the values: of the constant, and of the additive part before the data.
const CONSTANT: f64 = 4.0;
const ADDITIVE: f64 = 0.5;
/// Nats by which a scale with a tail drawn in, or the smoother kernel, must win.
const MARGIN: f64 = 2.0;
/// Parameters are fitted to at most this many values.
pub(super) const FITTED: usize = 400;

/// A fitted kernel with the scale on which it was fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fit {
    pub kernel: Kernel,
    /// What the kernel is made of, where it was learnt.
    pub structure: Option<Structure>,
    pub ridge: f64,
    pub scale: Scale,
    /// Log evidence of the values plus log prior of the parameters.
    pub value: f64,
    pub trust: Trust,
    pub theta: Vec<f64>,
    /// Values it was fitted to.
    pub seen: usize,
}

/// How well the model predicts each value from all others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trust {
    /// Mean log predictive density above that of a constant with noise.
    pub gain: f64,
    /// How far predictions miss, in units of their own deviation: 1 if the model is right.
    pub miss: f64,
}

impl Fit {
    /// A kernel and a ridge that nobody fitted.
    #[cfg(test)]
    pub fn plain(kernel: Kernel, ridge: f64, scale: Scale) -> Self {
        Self { kernel, structure: None, ridge, scale, value: 0.0, trust: Trust { gain: 0.0, miss: 1.0 }, theta: Vec::new(), seen: 0 }
    }

    pub fn model(&self, data: &Data) -> Result<Model> {
        Model::new(self, data)
    }
}

/// What is fixed and what is fitted.
pub(super) struct Fitting {
    shape: Shape,
    /// The ridge in the problem's unit, if it is given.
    ridge: Option<f64>,
    /// Whether values may be centred, stretched and warped: not where a kernel or a norm bound speaks of them as they are.
    scale_given: bool,
    pub seed: u64,
    pub space: Space,
}

/// Where the kernel comes from.
enum Shape {
    /// The user's own: it stays as it is.
    Given(Kernel),
    Learnt(Structure),
}

impl Fitting {
    pub fn new(problem: &Problem, data: &Data, seed: u64) -> Result<Self> {
        let domain = problem.domain();
        let candidates = domain.candidates(SPREAD_POINTS, problem.seed())?;
        let points = candidates.range(0, candidates.len().min(SPREAD_POINTS))?;
        let scale_given = problem.kernel().is_some() || problem.norm_bound().is_some();
        let mean_square = data.raw.iter().map(|v| v * v).sum::<f64>() / data.raw.len() as f64;
        let square = if scale_given && mean_square > 0.0 { mean_square } else { 1.0 };
        let shape = match problem.kernel() {
            Some(kernel) => Shape::Given(kernel.value.clone()),
            None => Shape::Learnt(Structure::new(domain, CONSTANT * square)),
        };
        let space = shape.space(points.view(), square)?;
        Ok(Self { shape, ridge: problem.ridge(), scale_given, seed, space })
    }

    /// The fits to go by, the best scale first: values as given, else standardised, and before it one with a tail drawn in if that explains them clearly better.
    pub fn views(&self, data: &Data, last: &[Fit]) -> Result<Vec<Fit>> {
        let like = |scale: &Scale| last.iter().find(|fit| fit.scale.is_like(scale));
        let data = &data.for_fitting(FITTED);
        if self.scale_given {
            return Ok(vec![self.best(data, Scale::IDENTITY, like(&Scale::IDENTITY))?]);
        }
        let plain = Scale::standard(&data.raw);
        // A noise level that is given holds in the problem's unit, also where the model leaves much unexplained.
        let lower = Scale::lower(&data.raw).filter(|_| self.ridge.is_none());
        let scales: Vec<Scale> = [Some(plain), lower, Scale::upper(&data.raw, &data.raw[..data.spread])].into_iter().flatten().collect();
        let mut fits: Vec<Result<Fit>> = scales.into_par_iter().map(|scale| self.best(data, scale, like(&scale))).collect();
        let plain = fits.remove(0)?;
        let bent = fits.into_iter().flatten().max_by(|a, b| a.value.total_cmp(&b.value));
        Ok(bent.filter(|fit| fit.value > plain.value + MARGIN).into_iter().chain([plain]).collect())
    }

    /// The fit to choose and to speak by: the same data and scale with the smoother kernel, if that explains the values clearly better. A few values hardly
    /// tell the two apart, and then the rougher one claims less.
    pub fn smoothest(&self, data: &Data, fit: &Fit) -> Result<Fit> {
        if matches!(self.shape, Shape::Given(_)) {
            return Ok(fit.clone());
        }
        let data = &data.for_fitting(FITTED);
        let target = Target::new(self, data, fit.scale, Smoothness::Fully).with_levels_of(&fit.kernel, fit.ridge)?;
        let effort = Effort { steps: STEPS.1, tolerance: TOLERANCE };
        let smooth = maximise(|theta: &[f64]| target.with_slope(theta), &fit.theta, &self.bounds(&fit.scale), effort);
        let smooth = smooth.and_then(|ascent| self.fit(&target, ascent.point)).ok();
        Ok(smooth.filter(|smooth| smooth.value > fit.value + MARGIN).unwrap_or_else(|| fit.clone()))
    }

    /// The best fit on one scale, of the rougher kernel.
    fn best(&self, data: &Data, scale: Scale, last: Option<&Fit>) -> Result<Fit> {
        let target = Target::new(self, data, scale, Smoothness::Twice);
        let bounds = self.bounds(&scale);
        let clamped = |start: Vec<f64>| start.iter().zip(&bounds).map(|(&v, &(low, high))| v.clamp(low, high)).collect::<Vec<f64>>();
        let mut starts: Vec<(f64, Vec<f64>)> = Vec::new();
        for start in self.starts(last).into_iter().map(clamped) {
            if let Ok(value) = target.value(&start) {
                starts.push((value, start));
            }
        }
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        // With kernel and noise given there is nothing to climb; a few values more change little.
        let few = last.is_some_and(|fit| data.raw.len() <= fit.seen + fit.seen / 8);
        let fixed = matches!(self.shape, Shape::Given(_)) && self.ridge.is_some();
        let steps = match (fixed, few) {
            (true, _) => (0, 0),
            (_, true) => BRIEF,
            _ => STEPS,
        };
        let mut best: Option<(f64, Vec<f64>)> = None;
        for (_, start) in starts.iter().take(if few { 1 } else { CLIMBED }) {
            let effort = Effort { steps: steps.0, tolerance: TOLERANCE };
            if let Ok(ascent) = maximise(|theta: &[f64]| target.with_slope(theta), start, &bounds, effort)
                && best.as_ref().is_none_or(|(value, _)| ascent.value > *value)
            {
                best = Some((ascent.value, ascent.point));
            }
        }
        let (_, start) = best.ok_or(Error::Premise { what: "fitting a kernel", reason: "the evidence is not finite at any start" })?;
        let (kernel, _, ridge) = self.parts(&scale, target.smoothness, &start)?;
        let target = target.with_levels_of(&kernel, ridge)?;
        let effort = Effort { steps: steps.1, tolerance: TOLERANCE };
        let ascent = maximise(|theta: &[f64]| target.with_slope(theta), &start, &bounds, effort)?;
        self.fit(&target, ascent.point)
    }

    pub fn fit(&self, target: &Target<'_>, theta: Vec<f64>) -> Result<Fit> {
        let n = target.data.raw.len() as f64;
        let (kernel, structure, ridge) = self.parts(&target.scale, target.smoothness, &theta)?;
        let jacobian: f64 = target.data.raw.iter().map(|&v| target.scale.slope(v).ln()).sum();
        let factored = target.factored(&theta)?;
        let value = factored.evidence + self.space.log_prior(&theta).0 + jacobian;
        Ok(Fit { kernel, structure, ridge, scale: target.scale, value, trust: target.trust(&factored)?, theta, seen: n as usize })
    }

    fn given_ridge(&self, scale: &Scale) -> Option<f64> {
        self.ridge.map(|ridge| ridge * scale.slope_at_knee())
    }

    /// Bounds of $\theta$; what is given may not move.
    pub fn bounds(&self, scale: &Scale) -> Vec<(f64, f64)> {
        let mut bounds = self.space.bounds();
        let parameters = self.space.kernel.len();
        if let Shape::Given(kernel) = &self.shape {
            kernel.log_parameters().iter().zip(&mut bounds).for_each(|(&t, b)| *b = (t, t));
        }
        if let Some(ridge) = self.given_ridge(scale) {
            bounds[parameters] = (ridge.ln(), ridge.ln());
        }
        bounds
    }

    fn starts(&self, last: Option<&Fit>) -> Vec<Vec<f64>> {
        let centre: Vec<f64> = self.space.centre();
        let Shape::Learnt(structure) = &self.shape else { return vec![centre] };
        let d = structure.dim();
        let mut rough = centre.clone();
        rough[..d].iter_mut().for_each(|t| *t -= 0.7);
        rough[self.space.kernel.len()] += 0.3_f64.ln();
        let mut starts = self.space.starts(centre, 3 + STARTS, self.seed);
        starts[1].clone_from(&rough);
        starts.remove(2);
        if !structure.alone.is_empty() {
            let (mut additive, mut joint) = (rough.clone(), rough);
            additive[d] -= 2.0;
            joint[2 * d + 1] -= 4.0;
            starts.extend([additive, joint]);
        }
        starts.extend(last.map(|fit| fit.theta.clone()));
        starts
    }

    fn parts(&self, scale: &Scale, smoothness: Smoothness, theta: &[f64]) -> Result<(Kernel, Option<Structure>, f64)> {
        let parameters = self.space.kernel.len();
        let ridge = self.given_ridge(scale).unwrap_or_else(|| theta[parameters].exp());
        match &self.shape {
            Shape::Given(kernel) => Ok((kernel.clone(), None, ridge)),
            Shape::Learnt(structure) => {
                let structure = Structure { smoothness, ..structure.with_theta(&theta[..parameters]) };
                Ok((structure.kernel()?, Some(structure), ridge))
            }
        }
    }
}

impl Shape {
    /// Bounds and priors: lengths relative to the spread of these points, variances to the squared size of the values.
    fn space(&self, points: PointsRef<'_>, square: f64) -> Result<Space> {
        let sizes = vec![square.sqrt(); points.len()];
        let observations = Observations::new(points.to_points(), &sizes, Collected::DeclaredFixed, Prior::ZERO)?;
        let of = |kernel: &Kernel| Space::new(kernel, &observations, RIDGE_LIMITS).even();
        let structure = match self {
            Self::Given(kernel) => return Ok(of(kernel)),
            Self::Learnt(structure) => structure,
        };
        let joint = of(&structure.joint_kernel()?);
        let mut variables: Vec<Option<Variable>> = vec![None; structure.dim() + 1];
        // The order of the joint kernel's parameters, as in `Structure::folded`.
        let (categories, numbers): (Vec<usize>, Vec<usize>) = (0..structure.dim()).partition(|&c| structure.category[c]);
        let slots = numbers.iter().copied().chain((!numbers.is_empty()).then_some(structure.dim())).chain(categories);
        let slots = slots.chain(numbers.is_empty().then_some(structure.dim()));
        slots.zip(&joint.kernel).for_each(|(slot, variable)| variables[slot] = Some(*variable));
        let mut kernel: Vec<Variable> = variables.into_iter().flatten().collect();
        for c in 0..structure.alone.len() {
            kernel.push(of(&structure.alone_kernel(c, 1.0, 1.0)?).kernel[0]);
        }
        if !structure.alone.is_empty() {
            let variance = kernel[structure.dim()];
            let centre = variance.centre + ADDITIVE.ln();
            kernel.push(Variable { centre, median: centre, bounds: (variance.bounds.0 - 3.0, variance.bounds.1), ..variance });
        }
        Ok(Space { kernel, ridge: joint.ridge })
    }
}

/// Log evidence plus log prior per observation, on one scale.
pub(super) struct Target<'a> {
    pub fitting: &'a Fitting,
    pub data: &'a Data,
    pub scale: Scale,
    pub smoothness: Smoothness,
    pub values: Vec<f64>,
    /// Where the noise of each value is looked up.
    pub levels: Cow<'a, [f64]>,
}

/// What one factorisation gives.
struct Factored {
    kernel: Kernel,
    structure: Option<Structure>,
    noise: Vec<f64>,
    lower: Lower,
    /// $A^{-1}y$ with $A=K+N$.
    alpha: Vec<f64>,
    evidence: f64,
}

impl<'a> Target<'a> {
    pub fn new(fitting: &'a Fitting, data: &'a Data, scale: Scale, smoothness: Smoothness) -> Self {
        Self { fitting, data, scale, smoothness, values: data.values(&scale), levels: Cow::Borrowed(&data.raw) }
    }

    /// The noise looked up at the means of this model, not at the values.
    pub fn with_levels_of(self, kernel: &Kernel, ridge: f64) -> Result<Self> {
        Ok(Self { levels: self.data.levels(kernel, &self.scale, ridge)?, ..self })
    }

    fn factored(&self, theta: &[f64]) -> Result<Factored> {
        let (kernel, structure, ridge) = self.fitting.parts(&self.scale, self.smoothness, theta)?;
        let noise = self.data.noise(&self.scale, ridge, &self.levels);
        let mut gram = kernel.gram(self.data.points.view())?;
        noise.iter().enumerate().for_each(|(i, v)| gram[(i, i)] += v);
        let lower = Lower::cholesky(&gram)?;
        let mut alpha = self.values.clone();
        lower.solve_rows(&mut alpha)?;
        lower.solve_transposed_rows(&mut alpha)?;
        let n = self.values.len() as f64;
        let evidence = -0.5 * (dot(&self.values, &alpha) + lower.log_det() + n * std::f64::consts::TAU.ln());
        Ok(Factored { kernel, structure, noise, lower, alpha, evidence })
    }

    pub fn value(&self, theta: &[f64]) -> Result<f64> {
        let (prior, _) = self.fitting.space.log_prior(theta);
        Ok((self.factored(theta)?.evidence + prior) / self.values.len() as f64)
    }

    /// With its slopes. With $A=K+N$ and $\alpha=A^{-1}y$ the adjoint of $K$ is $\tfrac12(\alpha\alpha^\top-A^{-1})$, and that of $\log\tau$ sums
    /// $\tau^2(\alpha_i^2-(A^{-1})_{ii})$ over the observations with the common noise.
    pub fn with_slope(&self, theta: &[f64]) -> Result<(f64, Vec<f64>)> {
        let n = self.values.len();
        let Factored { kernel, structure, noise, lower, alpha, evidence } = self.factored(theta)?;
        let inverse = inverse(&lower)?;
        let adjoint = Matrix::from_fn(n, n, |i, j| 0.5 * (alpha[i] * alpha[j] - inverse[(i, j)]));
        let x = self.data.points.view();
        // The constant is not fitted.
        let fitted = structure.as_ref().map(|s| Structure { constant: 0.0, ..s.clone() }.kernel()).transpose()?.unwrap_or(kernel);
        let prepared = fitted.prepare(x)?;
        let mut slope = vec![0.0; prepared.parameter_count()];
        add_gradient(&prepared, x, adjoint.as_slice(), &mut slope);
        if let Some(structure) = &structure {
            slope = structure.folded(&slope);
        }
        let common = (0..n).filter(|&i| self.data.errors[i].is_none());
        slope.push(common.map(|i| 2.0 * noise[i] * adjoint[(i, i)]).sum());
        let (prior, prior_slope) = self.fitting.space.log_prior(theta);
        slope.iter_mut().zip(prior_slope).for_each(|(s, p)| *s = (*s + p) / n as f64);
        Ok(((evidence + prior) / n as f64, slope))
    }

    /// Leave-one-out: $y_i-\mu_{-i}=\alpha_i/(A^{-1})_{ii}$ with variance $1/(A^{-1})_{ii}$.
    fn trust(&self, factored: &Factored) -> Result<Trust> {
        let alpha = &factored.alpha;
        let inverse = inverse(&factored.lower)?;
        let n = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / n;
        let square = self.values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let (mut gain, mut misses) = (0.0, Vec::new());
        for (i, (a, y)) in alpha.iter().zip(&self.values).enumerate() {
            let precision = inverse[(i, i)];
            let miss = a * a / precision;
            let constant = if square > 0.0 { -0.5 * (y - mean).powi(2) / square - 0.5 * square.ln() } else { 0.0 };
            gain += (0.5 * precision.ln() - 0.5 * miss - constant).max(-10.0) / n;
            misses.push(miss.sqrt());
        }
        misses.sort_by(f64::total_cmp);
        let root_mean = (misses.iter().map(|m| m * m).sum::<f64>() / n).sqrt();
        let tail = misses[((misses.len() - 1) as f64 * 0.95).round() as usize] / 1.96;
        Ok(Trust { gain, miss: root_mean.max(tail) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{BoxDomain, Domain};
    use crate::points::Points;

    fn problem() -> Problem {
        Problem::new(Domain::Box(BoxDomain::new(vec![0.0, -3.0], vec![1.0, 5.0]).unwrap()), 40).unwrap()
    }

    fn data() -> Data {
        let at = |i: usize, golden: f64| (0.3 + i as f64 * golden).fract();
        let points = Points::new((0..24).flat_map(|i| [at(i, 0.618_033_988_7), 8.0 * at(i, 0.414_213_562_4) - 3.0]).collect(), 2).unwrap();
        let raw = points.view().rows().map(|x| (4.0 * x[0]).cos() - 0.1 * x[1] * x[1]).collect();
        Data { points, raw, errors: (0..24).map(|i| (i == 5).then_some(0.3)).collect(), spread: 24, failed: None }
    }

    #[test]
    fn slopes_of_the_objective_are_its_differences() {
        let (problem, data) = (problem(), data());
        let fitting = Fitting::new(&problem, &data, 1).unwrap();
        let upper = Scale::upper(&data.raw, &data.raw).unwrap();
        for scale in [Scale::standard(&data.raw), Scale::lower(&data.raw).unwrap(), upper] {
            let theta = vec![-0.7, 0.9, 0.2, -0.9, 0.4, -1.1, -1.6];
            let target = Target::new(&fitting, &data, scale, Smoothness::Fully);
            let (_, slope) = target.with_slope(&theta).unwrap();
            for p in 0..theta.len() {
                let moved = |step: f64| {
                    let mut theta = theta.clone();
                    theta[p] += step;
                    target.value(&theta).unwrap()
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((difference - slope[p]).abs() < 1e-7 * (1.0 + slope[p].abs()), "parameter {p}: {difference} and {}", slope[p]);
            }
        }
    }

    #[test]
    fn what_is_given_stays() {
        let kernel = Kernel::matern(1.5, 0.3, 2.0).unwrap();
        let noise = crate::noise::Noise::gaussian(0.11).unwrap();
        let given = problem().with_kernel(kernel.clone()).unwrap().with_noise(noise.clone()).unwrap();
        let fit = Fitting::new(&given, &data(), 1).unwrap().views(&data(), &[]).unwrap().remove(0);
        assert_eq!((&fit.kernel, fit.scale), (&kernel, Scale::IDENTITY));
        assert!((fit.ridge - 0.11).abs() < 1e-15);
        let given = problem().with_noise(noise).unwrap();
        let fit = Fitting::new(&given, &data(), 1).unwrap().views(&data(), &[]).unwrap().remove(0);
        assert!((fit.ridge - 0.11 * fit.scale.slope_at_knee()).abs() < 1e-15);
    }

    /// Each value left out in turn, by a model of its own.
    #[test]
    fn trust_is_that_of_models_without_each_value() {
        let (problem, data) = (problem(), data());
        let fitting = Fitting::new(&problem, &data, 1).unwrap();
        let target = Target::new(&fitting, &data, Scale::standard(&data.raw), Smoothness::Twice);
        let theta = vec![-0.7, 0.9, 0.2, -0.9, 0.4, -1.1, -1.6];
        let fit = fitting.fit(&target, theta).unwrap();
        let noise = data.noise(&fit.scale, fit.ridge, &data.raw);
        let (n, mut gain) = (data.raw.len(), 0.0);
        for left in 0..n {
            let others: Vec<usize> = (0..n).filter(|&i| i != left).collect();
            let outlook = fit.model(&data.select(&others).unwrap()).unwrap();
            let outlook = outlook.outlook(data.points.view().range(left, left + 1)).unwrap();
            let (variance, y) = (outlook.variance[0] + noise[left], target.values[left]);
            gain += -0.5 * variance.ln() - 0.5 * (y - outlook.mean[0]).powi(2) / variance + 0.5 * y * y;
        }
        assert!((fit.trust.gain - gain / n as f64).abs() < 1e-7, "{} and {}", fit.trust.gain, gain / n as f64);
    }

    #[test]
    fn the_smoother_kernel_is_taken_where_it_explains_the_values_clearly_better() {
        let chosen = |f: fn(&[f64]) -> f64| {
            let data = Data { raw: data().points.view().rows().map(f).collect(), ..data() };
            let fitting = Fitting::new(&problem(), &data, 1).unwrap();
            let plain = fitting.views(&data, &[]).unwrap().pop().unwrap();
            assert_eq!(plain.structure.as_ref().unwrap().smoothness, Smoothness::Twice);
            fitting.smoothest(&data, &plain).unwrap().structure.unwrap().smoothness
        };
        assert_eq!(chosen(|x| (4.0 * x[0]).cos() * (-0.1 * x[1] * x[1]).exp()), Smoothness::Fully);
        assert_eq!(chosen(|x| (x[0] - 0.4).abs() * (1.0 + 0.1 * (x[1] - 1.0).abs())), Smoothness::Twice);
    }
}
