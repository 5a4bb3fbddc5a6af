//! What we saw: the posterior mean on top of the information, in the data's own scale.

mod exact;
mod model;
mod sample;
mod summed;
#[cfg(test)]
mod summed_test;

pub use exact::ExactPosterior;
pub(crate) use exact::at_least_zero;
pub(crate) use sample::sample_coarsely;
pub use sample::sample_gaussian;

use crate::error::Result;
use crate::features::FeatureMap;
use crate::information::{Ahead, GramMethod, Information, RidgePath, VarianceParts, absorb};
use crate::origin::Sourced;
use crate::points::{Collected, KeptLocations, KeptResponses, Observations, PointsRef, Prior, WATCHED};
use sigmabar_linalg::{Matrix, add_transposed_matvec, dot, matvec_rows, norm_squared, product_transposed};
use std::sync::Arc;

/// The largest share of the mean's norm that rounding of the short cut in [`Posterior::condition`] may reach.
const PROJECTION_SHARE: f64 = 1e-3;
/// Rows for one copy among them: where a model of sums learnt from more copies, it may well have learnt from the rows that calibrate it.
const MANY: usize = 20;

/// The sparse (Nyström, optimal-variational) posterior: mean $\bar\mu(x) = \psi(x)^\top\beta$, $\beta = \tau^{-2}B^{-1}h$, $h = \sum_i s_i\psi(x_i)$.
///
/// Means, standard deviations and covariances are in the scale of the data; everything reached through [`Posterior::information`] is in the model's scale,
/// where the prior's unit is 1.
#[derive(Clone, Debug)]
pub struct Posterior {
    information: Arc<Information>,
    responses: KeptResponses,
    /// $h$.
    projected: Vec<f64>,
    /// $L_B^{-1}h/\tau^2$ from the orthogonal factorisation behind $L_B$, where there was one and nothing was added since: $\beta$ is one solve away from it.
    whitened: Option<Vec<f64>>,
    /// $\beta$.
    coefficients: Vec<f64>,
    /// How much rounding in the sums behind $h$ has grown: 1 for sums of features, $\mathrm{cond}(L)$ for whitened sums of kernel values.
    projection_growth: f64,
    /// $w = L^{-\top}\beta$ where the mean may be computed from kernel values alone without losing digits.
    kernel_weights: Option<Vec<f64>>,
}

/// The optimal variational distribution of the function values at the given inducing points.
#[derive(Clone, Debug, PartialEq)]
pub struct Variational {
    /// $L\beta$, in the data's scale.
    pub mean: Vec<f64>,
    /// $L B^{-1}L^\top$, in the data's scale.
    pub covariance: Matrix,
}

impl Posterior {
    /// Fits in one streamed pass. Cost O(n(md + m²) + m³), memory O(m²) beyond the data.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive, [`crate::Error::Width`] for points of another width than the inducing points, a failed self-check.
    pub fn fit(features: Arc<FeatureMap>, ridge: impl Into<Sourced<f64>>, observations: Observations) -> Result<Self> {
        let ridge = ridge.into();
        let mut absorbed = absorb(&features, ridge.value, observations.locations(), Some(observations.sums()))?;
        let projected = absorbed.projected.take().unwrap_or_default();
        let whitened = absorbed.whitened.take();
        let growth = if absorbed.facts.method == GramMethod::WhitenAfter { features.condition().max(1.0) } else { 1.0 };
        let locations = KeptLocations::Rows(Arc::clone(observations.locations()));
        let information = Information::assemble(features, ridge, locations, absorbed)?;
        Self::assemble(Arc::new(information), KeptResponses::Rows(observations), (projected, whitened), growth)
    }

    /// The same data under a kernel whose length-scales are all multiplied by a factor (algorithm notes 13.2), with the same inducing points and ridge: what is claimed of it stands for
    /// functions of that kernel. Cost as [`Posterior::fit`].
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a factor that is not positive, [`crate::Error::Missing`] where only sums over the rows are left.
    pub fn stretched(&self, factor: f64) -> Result<Self> {
        let information = self.information();
        let features = Arc::new(information.features().stretched(factor)?);
        Self::fit(features, information.sourced_ridge(), self.observations()?.clone())
    }

    /// Conditions known information on responses without redoing the location work: $h = L^{-1}\sum_i s_i k_Z(x_i)$. Cost O(nmd + m²).
    ///
    /// Where the bound on the rounding of that short cut would show in the mean (a nearly singular $K_{ZZ}$ with a tiny ridge), features are
    /// summed instead, at O(n(md + m²)).
    ///
    /// # Errors
    /// [`crate::Error::Length`] when there is not one response per observation, [`crate::Error::NotFinite`] naming the row.
    pub fn condition(information: Arc<Information>, responses: &[f64], prior: Prior) -> Result<Self> {
        let observations = Observations::at(Arc::clone(information.locations()?), responses, prior)?;
        let features = Arc::clone(information.features());
        let x = observations.locations().points();
        let mut projected = vec![0.0; features.len()];
        features.for_each_kernel_block(x, |start, block, rows| {
            add_transposed_matvec(rows, &observations.sums()[start..start + block.len()], &mut projected);
        });
        features.lower().solve_rows(&mut projected)?;
        let mut short =
            Self::assemble(information, KeptResponses::Rows(observations.clone()), (projected, None), features.condition().max(1.0))?;
        short.make_projection_accurate()?;
        Ok(short)
    }

    /// Sums features instead of kernel values where rounding of the latter would show in the mean.
    fn make_projection_accurate(&mut self) -> Result<()> {
        let tau2 = self.information.ridge() * self.information.ridge();
        if self.projection_growth > 1.0 && self.projected_rounding() / tau2 > PROJECTION_SHARE * self.norm() {
            let observations = self.observations()?;
            let (features, x) = (self.information.features(), observations.locations().points());
            let mut projected = vec![0.0; features.len()];
            features.for_each_block(x, |start, block, psi| {
                add_transposed_matvec(psi, &observations.sums()[start..start + block.len()], &mut projected);
                Ok(())
            })?;
            (self.projected, self.projection_growth) = (projected, 1.0);
            self.solve_mean()?;
        }
        Ok(())
    }

    pub(crate) fn assemble(
        information: Arc<Information>,
        responses: KeptResponses,
        (projected, whitened): (Vec<f64>, Option<Vec<f64>>),
        projection_growth: f64,
    ) -> Result<Self> {
        let mut posterior =
            Self { information, responses, projected, whitened, coefficients: Vec::new(), projection_growth, kernel_weights: None };
        posterior.solve_mean()?;
        Ok(posterior)
    }

    /// `β = τ⁻²B⁻¹h`, and `w = L⁻ᵀβ` where it is accurate.
    fn solve_mean(&mut self) -> Result<()> {
        let information = &self.information;
        let tau2 = information.ridge() * information.ridge();
        let mut beta = match &self.whitened {
            Some(whitened) => whitened.clone(),
            None => {
                let mut whitened: Vec<f64> = self.projected.iter().map(|v| v / tau2).collect();
                information.lower().solve_rows(&mut whitened)?;
                whitened
            }
        };
        information.lower().solve_transposed_rows(&mut beta)?;
        let mut w = beta.clone();
        information.features().lower().solve_transposed_rows(&mut w)?;
        // Summing k·w loses at most ε Σ|w|·√(k k_ZZ): keep the short cut while that is far below the size of the mean.
        let lost = f64::EPSILON * w.iter().map(|v| v.abs()).sum::<f64>() * (w.len() as f64).sqrt();
        let scale = norm_squared(&beta).sqrt() / information.features().kernel().max_diagonal(information.features().inducing()).sqrt();
        self.kernel_weights = (lost <= 1e-10 * scale).then_some(w);
        self.coefficients = beta;
        Ok(())
    }

    /// Everything that needs no response.
    #[must_use]
    pub fn information(&self) -> &Arc<Information> {
        &self.information
    }

    /// The observations.
    ///
    /// # Errors
    /// [`crate::Error::Missing`] where only sums over the rows are left.
    pub fn observations(&self) -> Result<&Observations> {
        self.responses.rows()
    }

    pub(crate) fn responses(&self) -> &KeptResponses {
        &self.responses
    }

    /// The prior mean and unit, and where they came from.
    #[must_use]
    pub fn prior(&self) -> Prior {
        self.responses.prior()
    }

    /// $\sum ((y-\text{mean})/\text{unit})^2$ over all observations.
    #[must_use]
    pub fn sum_squares(&self) -> f64 {
        match &self.responses {
            KeptResponses::Rows(observations) => observations.sum_squares(),
            KeptResponses::Sums(sums) => sums.sum_squares,
        }
    }

    /// The same as a size that bounds what rounding may have taken from it: it may be a difference of larger sums.
    pub(crate) fn squares_terms(&self) -> f64 {
        match &self.responses {
            KeptResponses::Rows(observations) => observations.sum_squares(),
            KeptResponses::Sums(sums) => sums.terms,
        }
    }

    /// The same model with the sums over its rows only, and with `ahead` for claims.
    pub(crate) fn summed(&self, ahead: Option<Ahead>) -> Self {
        let information = Arc::new(self.information.summed().with_ahead(ahead));
        Self { information, responses: KeptResponses::Sums(self.responses.sums()), ..self.clone() }
    }

    /// The same responses under the same information with another ridge. Cost O(m²) beyond the copy, unless rounding of the projected responses
    /// would show under this one.
    pub(crate) fn at_ridge(&self, information: &Arc<Information>) -> Result<Self> {
        let sums = (self.projected.clone(), None);
        let mut posterior = Self::assemble(Arc::clone(information), self.responses.clone(), sums, self.projection_growth)?;
        if information.has_rows() {
            posterior.make_projection_accurate()?;
        }
        Ok(posterior)
    }

    /// $h = \sum_i s_i\psi(x_i)$, in the model's scale.
    #[must_use]
    pub fn projected(&self) -> &[f64] {
        &self.projected
    }

    /// A bound on the rounding of $h$: $\varepsilon\,\ell\,g\sqrt{k_{\max}}\sum_i|s_i|$ with $\ell$ the length of the sums and $g$ their growth by whitening afterwards.
    pub(crate) fn projected_rounding(&self) -> f64 {
        let information = &self.information;
        let largest = information.largest_variance();
        let total = self.responses.absolute();
        let length = information.facts().summation_length + information.features().len() as f64;
        f64::EPSILON * length * self.projection_growth * largest.sqrt() * total
    }

    /// $L_B^{-1}h/\tau^2$ from the orthogonal factorisation, if the mean is made of it.
    pub(crate) fn whitened(&self) -> Option<&Vec<f64>> {
        self.whitened.as_ref()
    }

    pub(crate) fn projection_growth(&self) -> f64 {
        self.projection_growth
    }

    /// $\beta = \tau^{-2}B^{-1}h$, in the model's scale: the mean's coefficients on the features.
    #[must_use]
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The mean at each point, in the data's scale. Cost O(qmd) where the short cut through kernel values is exact enough, else O(q(md + m²)).
    ///
    /// # Errors
    /// Points of another width, a failed self-check.
    pub fn mean(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        let features = self.information.features();
        features.check_width(x)?;
        let mut out = vec![0.0; x.len()];
        match &self.kernel_weights {
            Some(w) => {
                features.for_each_kernel_block(x, |start, block, rows| matvec_rows(rows, w, &mut out[start..start + block.len()]));
            }
            None => features.for_each_block(x, |start, block, psi| {
                matvec_rows(psi, &self.coefficients, &mut out[start..start + block.len()]);
                Ok(())
            })?,
        }
        let prior = self.prior();
        out.iter_mut().for_each(|v| *v = prior.to_data(*v));
        Ok(out)
    }

    /// Mean and standard deviation at each point, in the data's scale. Cost O(q(md + m²)): two triangular solves.
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn predict(&self, x: PointsRef<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
        let prior = self.prior();
        let mut mean = vec![0.0; x.len()];
        let mut std_dev = Vec::with_capacity(x.len());
        self.information.stream(x, |start, block, psi| {
            matvec_rows(psi, &self.coefficients, &mut mean[start..start + block.len()]);
            let (residual, whitened) = self.information.residual_and_whitened(start, block, psi)?;
            std_dev.extend(residual.iter().zip(&whitened).map(|(s1, c)| prior.unit() * (s1 + c).sqrt()));
            Ok(())
        })?;
        mean.iter_mut().for_each(|v| *v = prior.to_data(*v));
        Ok((mean, std_dev))
    }

    /// The standard deviation $\bar\sigma(x)$ at each point, in the data's scale.
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn std_dev(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        let unit = self.prior().unit();
        Ok(self.information.variance(x)?.into_iter().map(|v| unit * v.sqrt()).collect())
    }

    /// The posterior covariance, in the data's scale. Cost as [`Information::covariance`].
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn covariance(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let unit = self.prior().unit();
        let mut covariance = self.information.covariance(x)?;
        covariance.as_mut_slice().iter_mut().for_each(|v| *v *= unit * unit);
        Ok(covariance)
    }

    /// The three parts of the variance, in the model's scale.
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn variance_parts(&self, x: PointsRef<'_>) -> Result<Vec<VarianceParts>> {
        self.information.variance_parts(x)
    }

    /// `size` joint draws of the function at the points, one per row, in the data's scale. The same seed gives the same draws. Cost O(q²m + q³).
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn sample(&self, x: PointsRef<'_>, size: usize, seed: u64) -> Result<Matrix> {
        sample_gaussian(&self.predict(x)?.0, &self.covariance(x)?, size, seed)
    }

    /// Mean and covariance of the optimal variational distribution at the given inducing points. Cost O(m³).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn variational(&self) -> Result<Variational> {
        let features = self.information.features();
        let prior = self.prior();
        let mut psi = features.features(features.given())?;
        let mut mean = vec![0.0; psi.rows()];
        matvec_rows(psi.as_slice(), &self.coefficients, &mut mean);
        self.information.lower().solve_rows(psi.as_mut_slice())?;
        let mut covariance = product_transposed(&psi, &psi)?;
        covariance.as_mut_slice().iter_mut().for_each(|v| *v *= prior.unit() * prior.unit());
        Ok(Variational { mean: mean.into_iter().map(|v| prior.to_data(v)).collect(), covariance })
    }

    /// The norm of the mean, $\lVert\bar\mu\rVert_k = \lVert\beta\rVert$, in the model's scale (prior mean taken off).
    #[must_use]
    pub fn norm(&self) -> f64 {
        norm_squared(&self.coefficients).sqrt()
    }

    /// $y^\top(\kappa+\tau^2I)^{-1}y = (\sum y^2 - h^\top\beta)/\tau^2$, in the model's scale.
    #[must_use]
    pub fn quadratic(&self) -> f64 {
        let explained = dot(&self.projected, &self.coefficients);
        (self.sum_squares() - explained).max(0.0) / (self.information.ridge() * self.information.ridge())
    }

    /// Whether too many of its rows came more than once.
    pub(crate) fn has_many_copies(&self) -> bool {
        let doubts = self.responses.doubts();
        !doubts.are_distinct && MANY * doubts.copies > self.information.len().min(WATCHED)
    }

    /// One more observation, without a new pass. Cost O(nd + m²).
    ///
    /// # Errors
    /// A point of another width, or a value that is not finite. Nothing is changed then.
    pub fn update(&mut self, x: &[f64], y: f64) -> Result<()> {
        self.update_declared(x, y, Collected::Undeclared)
    }

    /// As [`Posterior::update`], declaring how the point, and with it the number of observations, was chosen. The weakest declaration of all rows counts.
    ///
    /// # Errors
    /// As [`Posterior::update`].
    pub fn update_declared(&mut self, x: &[f64], y: f64, collected: Collected) -> Result<()> {
        let mut next = self.clone();
        let collected = next.information.collected().weaker(collected);
        let information = Arc::make_mut(&mut next.information);
        let psi = information.update(x)?;
        next.responses.push(x, y)?;
        information.declare(collected);
        if let KeptResponses::Rows(observations) = &mut next.responses {
            observations.declare(collected);
        }
        let response = next.responses.prior().to_model(y);
        next.projected.iter_mut().zip(&psi).for_each(|(h, p)| *h += response * p);
        next.whitened = None;
        next.solve_mean()?;
        *self = next;
        Ok(())
    }

    /// More observations at once, declaring how their points were chosen; and how many of them lie where the inducing points explain less than half of the prior
    /// variance: there the model learns little before it gets more of them. Cost O(b(md + m²) + m³) for b of them, beside sorting the rows.
    ///
    /// # Errors
    /// Points of another width, another number of responses, or a value that is not finite. Nothing is changed then.
    pub fn update_block(&mut self, x: PointsRef<'_>, y: &[f64], collected: Collected) -> Result<usize> {
        crate::error::same_length("responses", x.len(), y.len())?;
        crate::points::usable_responses(y, self.prior(), 0)?;
        let mut next = self.clone();
        let collected = next.information.collected().weaker(collected);
        let centred: Vec<f64> = y.iter().map(|y| next.prior().to_model(*y)).collect();
        let information = Arc::make_mut(&mut next.information);
        let (projected, unexplained) = information.update_block(x, &centred)?;
        information.declare(collected);
        next.responses.extend(x, information.kept(), y)?;
        next.projected.iter_mut().zip(&projected).for_each(|(h, more)| *h += more);
        next.whitened = None;
        next.solve_mean()?;
        *self = next;
        Ok(unexplained)
    }

    /// One more inducing point, without a new pass over the triangular solves. Returns whether it was new to the span. Cost O(nmd + m²).
    ///
    /// # Errors
    /// As [`Information::append_inducing`]. Nothing is changed then.
    pub fn append_inducing(&mut self, z: &[f64]) -> Result<bool> {
        let mut next = self.clone();
        let appended = Arc::make_mut(&mut next.information).append_inducing(z, Some(next.responses.rows()?.sums()))?;
        next.projected.extend(appended);
        next.whitened = None;
        next.projection_growth = next.projection_growth.max(next.information.features().condition());
        next.solve_mean()?;
        next.make_projection_accurate()?;
        *self = next;
        Ok(appended.is_some())
    }

    /// The posterior for many ridges: the eigen form and $U^\top h$. Cost O(m³).
    ///
    /// # Errors
    /// A failed decomposition.
    pub fn ridge_path(&self) -> Result<(RidgePath<'_>, Vec<f64>)> {
        let path = self.information.ridge_path()?;
        let rotated = path.rotate(&self.projected)?;
        Ok((path, rotated))
    }
}
