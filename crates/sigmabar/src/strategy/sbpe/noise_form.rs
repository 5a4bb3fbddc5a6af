//! Noise levels per observation inside differences: $\sqrt{\sum_iR_i^2\,\Delta V_i^2}$ through a second matrix (algorithm notes 7.6).

use crate::certificate::level_form;
use crate::error::Result;
use crate::information::Information;
use crate::noise::Noise;
use sigmabar_linalg::{Matrix, dot, product, product_transposed};

/// $H = \Psi^\top R^2\Psi$ with what the challengers need of it.
pub(super) struct NoiseForm {
    form: Matrix,
    /// $He$ of the challengers.
    image: Matrix,
    own: Vec<f64>,
    /// One over $\tau^4$.
    scale: f64,
    /// Rounding of the quadratic forms: $\varepsilon(\ell+8m)\operatorname{tr}H$, times $\lVert e\rVert\lVert e'\rVert$.
    rounding: f64,
    /// How far the weights of the certificate are from $\Psi e/\tau^2$, per $\lVert e\rVert$ and scaled by the largest level.
    drift: f64,
    sizes: Vec<f64>,
}

/// The forms of a block of survivors.
pub(super) struct NoiseBlock<'a> {
    whole: &'a NoiseForm,
    own: Vec<f64>,
    cross: Matrix,
    sizes: Vec<f64>,
}

impl NoiseForm {
    /// `None` where all observations have the same level. `solved` is $e$ of the challengers.
    pub fn new(information: &Information, noise: &Noise, solved: &Matrix) -> Result<Option<Self>> {
        let Some(form) = level_form(information, noise)? else { return Ok(None) };
        let image = product(solved, &form)?;
        let m = information.features().len() as f64;
        let relative = (information.facts().summation_length + 8.0 * m) * f64::EPSILON;
        Ok(Some(Self {
            own: forms(solved, &image),
            sizes: forms(solved, solved),
            rounding: relative * form.diagonal().iter().sum::<f64>(),
            drift: noise.level() * information.parts_rounding().drift(1.0) / information.ridge(),
            scale: information.ridge().powi(-4),
            form,
            image,
        }))
    }

    pub fn block(&self, solved: &Matrix) -> Result<NoiseBlock<'_>> {
        let image = product(solved, &self.form)?;
        Ok(NoiseBlock {
            whole: self,
            own: forms(solved, &image),
            cross: product_transposed(solved, &self.image)?,
            sizes: forms(solved, solved),
        })
    }
}

impl NoiseBlock<'_> {
    /// An upper bound on $\sqrt{\sum R_i^2\,\Delta V_i^2}$ for survivor `i` of the block and challenger `j`.
    pub fn difference(&self, i: usize, j: usize) -> f64 {
        let value = self.own[i] + self.whole.own[j] - 2.0 * self.cross[(i, j)];
        let rounding = 4.0 * self.whole.rounding * (self.sizes[i] + self.whole.sizes[j]);
        let drift = self.whole.drift * (self.sizes[i].sqrt() + self.whole.sizes[j].sqrt());
        ((value.max(0.0) + rounding) * self.whole.scale).sqrt() + drift
    }
}

/// Row-wise inner products.
fn forms(a: &Matrix, b: &Matrix) -> Vec<f64> {
    (0..a.rows()).map(|i| dot(a.row(i), b.row(i))).collect()
}
