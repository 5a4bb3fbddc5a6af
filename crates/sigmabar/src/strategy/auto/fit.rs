//! Hyper-parameters by maximum a posteriori, on all data, from several starts (algorithm notes 5.9).

use super::model::{Data, Model};
use super::scale::Scale;
use crate::error::{Error, Result};
use crate::evidence::{Effort, Space, add_gradient, inverse, maximise};
use crate::kernel::Kernel;
use crate::points::{Collected, Observations, Prior};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix, dot};

/// Points of the domain whose spread sets the priors: those of the data shrink as the run closes in.
const SPREAD_POINTS: usize = 1024;
/// Random starts beside the prior's centre and the last fit.
const STARTS: usize = 4;
/// Steps while starts are screened, and for the best of them.
const STEPS: (usize, usize) = (12, 40);
const TOLERANCE: f64 = 1e-6;
/// The ridge stays within these multiples of the values' standard deviation.
const RIDGE_LIMITS: (f64, f64) = (1e-3, 3.0);

/// A fitted kernel with the scale on which it was fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fit {
    pub kernel: Kernel,
    pub ridge: f64,
    pub scale: Scale,
    /// Log evidence of the values plus log prior of the parameters.
    pub value: f64,
}

impl Fit {
    pub fn model(&self, data: &Data) -> Result<Model> {
        Model::new(self.kernel.clone(), self.ridge, self.scale, data)
    }
}

/// What is fixed and what is fitted.
pub(super) struct Fitting {
    template: Kernel,
    /// Whether the kernel is the user's own and stays as it is.
    kernel_given: bool,
    /// The ridge in the problem's unit, if it is given.
    ridge: Option<f64>,
    /// Whether values may be centred, stretched and warped: not where a kernel or a norm bound speaks of them as they are.
    scale_given: bool,
    seed: u64,
    space: Space,
}

impl Fitting {
    pub fn new(problem: &Problem, data: &Data, seed: u64) -> Result<Self> {
        let domain = problem.domain();
        let (template, kernel_given) = match problem.kernel() {
            Some(kernel) => (kernel.value.clone(), true),
            None => (domain.default_kernel(vec![1.0; domain.dim()], 1.0)?, false),
        };
        let candidates = domain.candidates(SPREAD_POINTS, problem.seed())?;
        let points = candidates.range(0, candidates.len().min(SPREAD_POINTS))?;
        let scale_given = kernel_given || problem.norm_bound().is_some();
        let mean_square = data.raw.iter().map(|v| v * v).sum::<f64>() / data.raw.len() as f64;
        let size = if scale_given && mean_square > 0.0 { mean_square.sqrt() } else { 1.0 };
        let sizes = vec![size; points.len()];
        let observations = Observations::new(points, &sizes, Collected::DeclaredFixed, Prior::ZERO)?;
        let space = Space::new(&template, &observations, RIDGE_LIMITS);
        Ok(Self { template, kernel_given, ridge: problem.ridge(), scale_given, seed, space })
    }

    /// The best fit on the scale that explains the values best: as given, else standardised, else with a tail drawn in.
    pub fn best_scale(&self, data: &Data, last: Option<&Fit>) -> Result<Fit> {
        if self.scale_given {
            return self.best(data, Scale::IDENTITY, last);
        }
        let mut best = self.best(data, Scale::standard(&data.raw), like(last, &Scale::standard(&data.raw)))?;
        // A noise level that is given holds in the problem's unit, also where the model leaves much unexplained.
        let lower = Scale::lower(&data.raw).filter(|_| self.ridge.is_none());
        for scale in lower.into_iter().chain(Scale::upper(&data.raw, &data.raw[..data.spread])) {
            match self.best(data, scale, like(last, &scale)) {
                Ok(fit) if fit.value > best.value => best = fit,
                _ => {}
            }
        }
        Ok(best)
    }

    /// The best fit on one scale.
    fn best(&self, data: &Data, scale: Scale, last: Option<&Fit>) -> Result<Fit> {
        let objective = |theta: &[f64]| self.objective(data, &scale, theta);
        let bounds = self.bounds(&scale);
        // With kernel and noise given there is nothing to climb.
        let steps = if self.kernel_given && self.ridge.is_some() { (0, 0) } else { STEPS };
        let mut best: Option<(f64, Vec<f64>)> = None;
        for start in self.starts(&scale, last) {
            let effort = Effort { steps: steps.0, tolerance: TOLERANCE };
            if let Ok(ascent) = maximise(objective, &start, &bounds, effort)
                && best.as_ref().is_none_or(|(value, _)| ascent.value > *value)
            {
                best = Some((ascent.value, ascent.point));
            }
        }
        let (_, start) = best.ok_or(Error::Premise { what: "fitting a kernel", reason: "the evidence is not finite at any start" })?;
        let ascent = maximise(objective, &start, &bounds, Effort { steps: steps.1, tolerance: TOLERANCE })?;
        let (kernel, ridge) = self.kernel_and_ridge(&scale, &ascent.point)?;
        let jacobian: f64 = data.raw.iter().map(|&v| scale.slope(v).ln()).sum();
        Ok(Fit { kernel, ridge, scale, value: ascent.value * data.raw.len() as f64 + jacobian })
    }

    fn given_ridge(&self, scale: &Scale) -> Option<f64> {
        self.ridge.map(|ridge| ridge * scale.slope_at_knee())
    }

    /// Bounds of $\theta$; what is given may not move.
    fn bounds(&self, scale: &Scale) -> Vec<(f64, f64)> {
        let mut bounds = self.space.bounds();
        let parameters = self.space.kernel.len();
        if self.kernel_given {
            self.template.log_parameters().iter().zip(&mut bounds).for_each(|(&t, b)| *b = (t, t));
        }
        if let Some(ridge) = self.given_ridge(scale) {
            bounds[parameters] = (ridge.ln(), ridge.ln());
        }
        bounds
    }

    fn starts(&self, scale: &Scale, last: Option<&Fit>) -> Vec<Vec<f64>> {
        let mut own = self.template.log_parameters();
        own.push(self.given_ridge(scale).map_or(self.space.ridge.centre, f64::ln));
        let mut starts = self.space.starts(own, STARTS + 1, self.seed);
        if let Some(fit) = last {
            let mut theta = fit.kernel.log_parameters();
            theta.push(fit.ridge.ln());
            starts[0] = theta;
        }
        starts
    }

    fn kernel_and_ridge(&self, scale: &Scale, theta: &[f64]) -> Result<(Kernel, f64)> {
        let parameters = self.space.kernel.len();
        let kernel = if self.kernel_given { self.template.clone() } else { self.template.with_log_parameters(&theta[..parameters])? };
        Ok((kernel, self.given_ridge(scale).unwrap_or_else(|| theta[parameters].exp())))
    }

    /// Log evidence plus log prior and their slopes, per observation. With $A=K+N$ and $\alpha=A^{-1}y$ the adjoint of $K$ is
    /// $\tfrac12(\alpha\alpha^\top-A^{-1})$, and that of $\log\tau$ sums $\tau^2(\alpha_i^2-(A^{-1})_{ii})$ over the observations with the common noise.
    fn objective(&self, data: &Data, scale: &Scale, theta: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (kernel, ridge) = self.kernel_and_ridge(scale, theta)?;
        let (x, n) = (data.points.view(), data.raw.len());
        let noise = data.noise(scale, ridge);
        let mut gram = kernel.gram(x)?;
        noise.iter().enumerate().for_each(|(i, v)| gram[(i, i)] += v);
        let lower = Lower::cholesky(&gram)?;
        let values = data.values(scale);
        let mut alpha = values.clone();
        lower.solve_rows(&mut alpha)?;
        lower.solve_transposed_rows(&mut alpha)?;
        let inverse = inverse(&lower)?;
        let evidence = -0.5 * (dot(&values, &alpha) + lower.log_det() + n as f64 * std::f64::consts::TAU.ln());
        let adjoint = Matrix::from_fn(n, n, |i, j| 0.5 * (alpha[i] * alpha[j] - inverse[(i, j)]));
        let mut slope = vec![0.0; self.space.kernel.len()];
        add_gradient(&kernel.prepare(x)?, x, adjoint.as_slice(), &mut slope);
        let common = (0..n).filter(|&i| data.errors[i].is_none());
        slope.push(common.map(|i| 2.0 * noise[i] * adjoint[(i, i)]).sum());
        let (prior, prior_slope) = self.space.log_prior(theta);
        slope.iter_mut().zip(prior_slope).for_each(|(s, p)| *s = (*s + p) / n as f64);
        Ok(((evidence + prior) / n as f64, slope))
    }
}

/// The last fit, if it was on a scale of the same kind.
fn like<'a>(last: Option<&'a Fit>, scale: &Scale) -> Option<&'a Fit> {
    last.filter(|fit| fit.scale.is_like(scale))
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
        Data { points, raw, errors: (0..24).map(|i| (i == 5).then_some(0.3)).collect(), spread: 24 }
    }

    #[test]
    fn slopes_of_the_objective_are_its_differences() {
        let (problem, data) = (problem(), data());
        let fitting = Fitting::new(&problem, &data, 1).unwrap();
        let upper = Scale::upper(&data.raw, &data.raw).unwrap();
        for scale in [Scale::standard(&data.raw), Scale::lower(&data.raw).unwrap(), upper] {
            let theta = vec![-0.7, 0.9, 0.2, -1.6];
            let (_, slope) = fitting.objective(&data, &scale, &theta).unwrap();
            for p in 0..theta.len() {
                let moved = |step: f64| {
                    let mut theta = theta.clone();
                    theta[p] += step;
                    fitting.objective(&data, &scale, &theta).unwrap().0
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
        let fit = Fitting::new(&given, &data(), 1).unwrap().best_scale(&data(), None).unwrap();
        assert_eq!((fit.kernel, fit.scale), (kernel, Scale::IDENTITY));
        assert!((fit.ridge - 0.11).abs() < 1e-15);
        let given = problem().with_noise(noise).unwrap();
        let fit = Fitting::new(&given, &data(), 1).unwrap().best_scale(&data(), None).unwrap();
        assert!((fit.ridge - 0.11 * fit.scale.slope_at_knee()).abs() < 1e-15);
    }
}
