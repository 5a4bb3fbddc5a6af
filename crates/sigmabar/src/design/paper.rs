//! The paper's own design: inducing points drawn anew before every choice.

use crate::certificate::ResidualNormMethod;
use crate::error::{Error, Result, positive, probability};
use crate::features::FeatureMap;
use crate::inducing::InducingRule;
use crate::information::Information;
use crate::kernel::Kernel;
use crate::origin::Sourced;
use crate::points::{Collected, Locations, Points, PointsRef};
use crate::theory::{DesignedData, InducingPlan};
use sigmabar_linalg::argmax;
use std::f64::consts::PI;
use std::sync::Arc;

/// The data set of the paper's Section 4.1, literally: $x_j = \arg\max\bar\sigma_{j-1}$, where $\bar\sigma_{j-1}$ has inducing points drawn from
/// $X_{j-1}$ by recursive ridge leverage scores with $\delta_{j-1}$, $\delta_j = 3\delta/(\pi^2j^2)$ (algorithm notes 1.1).
///
/// Every step fits anew: for fidelity, on up to some 2000 points. [`crate::design::MaxVariance`] is the one to use.
#[derive(Clone, Debug)]
pub struct PaperMaxVariance {
    kernel: Sourced<Kernel>,
    ridge: f64,
    delta: f64,
}

/// What the paper's design chose.
#[derive(Clone, Debug)]
pub struct PaperDesign {
    indices: Vec<usize>,
    points: Points,
    variances: Vec<f64>,
    inducing_sizes: Vec<usize>,
    residual_ratio: f64,
    max_std: f64,
    information: Information,
}

impl PaperMaxVariance {
    /// $\delta$ is the probability that some draw of inducing points fails; half of it belongs to them by the sum of the $\delta_j$.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a ridge that is not positive or a $\delta$ for which $\delta_1 = 3\delta/\pi^2$ is not below 1/32.
    pub fn new(kernel: impl Into<Sourced<Kernel>>, ridge: f64, delta: f64) -> Result<Self> {
        probability("delta", delta)?;
        if step_delta(delta, 1) >= 1.0 / 32.0 {
            return Err(Error::Parameter { name: "delta", value: delta, requirement: "below π²/96, for recursive leverage scores" });
        }
        Ok(Self { kernel: kernel.into(), ridge: positive("ridge", ridge)?, delta })
    }

    /// Chooses `count` of the candidates. The draw for $X_j$ uses the seed `seed + j`. Cost O(n(Am² + nm²)).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a count of 0, [`Error::Empty`] without candidates, a kernel that does not fit, a failed self-check.
    pub fn choose(&self, candidates: PointsRef<'_>, count: usize, seed: u64) -> Result<PaperDesign> {
        if count == 0 {
            return Err(Error::Parameter { name: "count", value: 0.0, requirement: "at least 1" });
        }
        if candidates.is_empty() {
            return Err(Error::Empty { what: "candidates" });
        }
        self.kernel.value.check_dim(candidates.dim())?;
        // Equal candidates are one, so that rounding cannot choose among them.
        let distinct = Locations::new(candidates.to_points(), Collected::Designed);
        let (mut picks, mut variances, mut inducing_sizes, mut residual_ratio) = (Vec::new(), Vec::new(), Vec::new(), 0.0_f64);
        let mut variance = self.kernel.value.diagonal(distinct.points());
        loop {
            let best = argmax(variance.iter().copied().enumerate()).unwrap_or(0);
            picks.push(best);
            variances.push(variance[best]);
            let information = self.information(&distinct, &picks, seed)?;
            inducing_sizes.push(information.features().len());
            let lambda = information.residual_norm(ResidualNormMethod::Best)?.value;
            residual_ratio = residual_ratio.max(lambda / (self.ridge * self.ridge));
            variance = information.variance(distinct.points())?;
            if picks.len() == count {
                let max_std = variance.iter().copied().fold(0.0, f64::max).sqrt();
                let points = distinct.points().select(&picks)?;
                let first = |i: usize| (0..candidates.len()).find(|&row| distinct.distinct_of(row) == i).unwrap_or(i);
                let indices = picks.into_iter().map(first).collect();
                return Ok(PaperDesign { indices, points, variances, inducing_sizes, residual_ratio, max_std, information });
            }
        }
    }

    /// Draws inducing points for the picks so far, and fits.
    fn information(&self, candidates: &Locations, picks: &[usize], seed: u64) -> Result<Information> {
        let step = picks.len();
        let locations = Locations::new(candidates.points().select(picks)?, Collected::Designed);
        let rule = InducingRule::RecursiveLeverageTheory { delta: step_delta(self.delta, step) };
        let inducing = rule.select(&self.kernel.value, self.ridge, &locations, seed.wrapping_add(step as u64))?;
        let features = FeatureMap::new(self.kernel.clone(), inducing.into_points())?;
        Information::new(Arc::new(features), self.ridge, Arc::new(locations))
    }
}

/// $\delta_j = 3\delta/(\pi^2j^2)$, whose sum over $j$ is $\delta/2$.
fn step_delta(delta: f64, step: usize) -> f64 {
    3.0 * delta / (PI * PI * (step as f64).powi(2))
}

impl PaperDesign {
    /// Which candidates, in the order chosen, repetitions included.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// The chosen points in order.
    #[must_use]
    pub fn points(&self) -> PointsRef<'_> {
        self.points.view()
    }

    /// $\bar\sigma^2_{j-1}(x_j)$. It need not fall: the inducing points change.
    #[must_use]
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// $m_j$ for $j = 1,\dots,n$.
    #[must_use]
    pub fn inducing_sizes(&self) -> &[usize] {
        &self.inducing_sizes
    }

    /// $r = \max_j\lambda_j/\tau^2$ over all draws, each $\lambda_j$ certified after its draw (algorithm notes 8.4). The sampler's theorem promises at most 1; the
    /// theorems hold for the value found, so take the larger of the two as [`crate::theory::Setting::residual_ratio`].
    #[must_use]
    pub fn residual_ratio(&self) -> f64 {
        self.residual_ratio
    }

    /// $\max_x\bar\sigma_n(x)$.
    #[must_use]
    pub fn max_std(&self) -> f64 {
        self.max_std
    }

    /// The information of the last fit.
    #[must_use]
    pub fn information(&self) -> &Information {
        &self.information
    }

    /// The design as the theorems take it ([`crate::theory::Theorems::design_variance`] with $\rho^3\tau^2(e^{2\gamma_n/n}-1)$, $\rho$ at [`PaperDesign::residual_ratio`] or
    /// above), given $\gamma_n$ or a bound on it.
    #[must_use]
    pub fn designed_data(&self, max_gain: f64) -> DesignedData {
        DesignedData { evaluations: self.indices.len(), max_gain, inducing: InducingPlan::Redrawn }
    }
}
