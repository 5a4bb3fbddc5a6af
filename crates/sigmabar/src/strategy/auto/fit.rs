//! Hyper-parameters by maximum a posteriori, on all data, from several starts (algorithm notes 5.9).

use super::model::{Data, Model};
use super::scale::Scale;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::evidence::{Effort, Space, add_gradient, inverse, maximise};
use crate::kernel::Kernel;
use crate::points::{Collected, Observations, Prior};
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
pub(super) struct Fitting<'a> {
    pub template: &'a Kernel,
    /// Whether the kernel is the user's own and stays as it is.
    pub kernel_given: bool,
    pub ridge: Option<f64>,
    pub seed: u64,
    pub space: Space,
}

impl<'a> Fitting<'a> {
    pub fn new(domain: &Domain, template: &'a Kernel, kernel_given: bool, ridge: Option<f64>, seed: u64) -> Result<Self> {
        let candidates = domain.candidates(SPREAD_POINTS, seed)?;
        let points = candidates.range(0, candidates.len().min(SPREAD_POINTS))?;
        // Values of unit size: the scale of the model.
        let unit = vec![1.0; points.len()];
        let observations = Observations::new(points, &unit, Collected::DeclaredFixed, Prior::ZERO)?;
        Ok(Self { template, kernel_given, ridge, seed, space: Space::new(template, &observations, RIDGE_LIMITS) })
    }

    /// The best fit on one scale.
    pub fn best(&self, data: &Data, scale: Scale, last: Option<&Fit>) -> Result<Fit> {
        let objective = |theta: &[f64]| self.objective(data, &scale, theta);
        let bounds = self.bounds();
        let mut best: Option<(f64, Vec<f64>)> = None;
        for start in self.starts(last) {
            let effort = Effort { steps: STEPS.0, tolerance: TOLERANCE };
            if let Ok(ascent) = maximise(objective, &start, &bounds, effort)
                && best.as_ref().is_none_or(|(value, _)| ascent.value > *value)
            {
                best = Some((ascent.value, ascent.point));
            }
        }
        let (_, start) = best.ok_or(Error::Premise { what: "fitting a kernel", reason: "the evidence is not finite at any start" })?;
        let ascent = maximise(objective, &start, &bounds, Effort { steps: STEPS.1, tolerance: TOLERANCE })?;
        let (kernel, ridge) = self.kernel_and_ridge(&ascent.point)?;
        let jacobian: f64 = data.raw.iter().map(|&v| scale.slope(v).ln()).sum();
        Ok(Fit { kernel, ridge, scale, value: ascent.value * data.raw.len() as f64 + jacobian })
    }

    /// Bounds of $\theta$; what is given may not move.
    fn bounds(&self) -> Vec<(f64, f64)> {
        let mut bounds = self.space.bounds();
        let parameters = self.space.kernel.len();
        if self.kernel_given {
            self.template.log_parameters().iter().zip(&mut bounds).for_each(|(&t, b)| *b = (t, t));
        }
        if let Some(ridge) = self.ridge {
            bounds[parameters] = (ridge.ln(), ridge.ln());
        }
        bounds
    }

    fn starts(&self, last: Option<&Fit>) -> Vec<Vec<f64>> {
        let mut own = self.template.log_parameters();
        own.push(self.ridge.map_or(self.space.ridge.centre, f64::ln));
        let mut starts = self.space.starts(own, STARTS + 1, self.seed);
        if let Some(fit) = last {
            let mut theta = fit.kernel.log_parameters();
            theta.push(fit.ridge.ln());
            starts[0] = theta;
        }
        starts
    }

    fn kernel_and_ridge(&self, theta: &[f64]) -> Result<(Kernel, f64)> {
        let parameters = self.space.kernel.len();
        let kernel = if self.kernel_given { self.template.clone() } else { self.template.with_log_parameters(&theta[..parameters])? };
        Ok((kernel, self.ridge.unwrap_or_else(|| theta[parameters].exp())))
    }

    /// Log evidence plus log prior and their slopes, per observation. With $A=K+N$ and $\alpha=A^{-1}y$ the adjoint of $K$ is
    /// $\tfrac12(\alpha\alpha^\top-A^{-1})$, and that of $\log\tau$ sums $\tau^2(\alpha_i^2-(A^{-1})_{ii})$ over the observations with the common noise.
    fn objective(&self, data: &Data, scale: &Scale, theta: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (kernel, ridge) = self.kernel_and_ridge(theta)?;
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
        slope.push(common.map(|i| 2.0 * ridge * ridge * adjoint[(i, i)]).sum());
        let (prior, prior_slope) = self.space.log_prior(theta);
        slope.iter_mut().zip(prior_slope).for_each(|(s, p)| *s = (*s + p) / n as f64);
        Ok(((evidence + prior) / n as f64, slope))
    }
}
