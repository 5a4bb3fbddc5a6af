//! Upper bounds on the differences $f(x)-f(x')$ for all survivors $x$ and a list of challengers $x'$, in bulk.

use super::confined::{Confined, Confinement};
use super::noise_form::NoiseForm;
use crate::error::{Error, Result};
use crate::information::{Information, PartsRounding, Sizes, VarianceParts};
use crate::noise::Noise;
use crate::points::{Points, PointsRef};
use crate::posterior::Posterior;
use sigmabar_linalg::{Matrix, norm_squared, product_transposed};

/// The challengers with everything of theirs that pairs need.
pub(super) struct Challengers<'a> {
    information: &'a Information,
    points: Points,
    /// $\psi$, $c = L_B^{-1}\psi$ and $e = B^{-1}\psi$, one row each.
    features: Matrix,
    whitened: Matrix,
    solved: Matrix,
    own: Vec<Own>,
    levels: Option<NoiseForm>,
    confined: Confined<'a>,
    premises: Width,
    rounding: PartsRounding,
}

/// What turns parts into widths.
#[derive(Clone)]
pub(super) struct Width {
    pub norm_bound: f64,
    pub level: f64,
    /// $\sqrt\lambda$.
    pub lambda_root: f64,
    pub ridge: f64,
    /// What multiplies the noise factor of each challenger.
    pub emphasis: Vec<f64>,
}

/// A survivor's mean with its rounding bound, and how far around it the bound is to hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Centre {
    pub mean: f64,
    pub slack: f64,
    /// The radius of the cell of which it is the centre; 0 for a point.
    pub radius: f64,
}

/// The bound on $f(x)-f(x')$ without its noise factor: centre plus bias, and what the factor multiplies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Difference {
    /// $\bar\mu(x)-\bar\mu(x')$.
    pub centre: f64,
    /// The bound on $\langle f,r\rangle$ and the rounding of the means.
    pub bias: f64,
    /// $R\lVert\Delta V\rVert$, times the challenger's emphasis.
    pub noise: f64,
    /// The bias that the norm bound alone allows: known before any response.
    pub plain: f64,
    /// Under which ridge: 0 is the batch's own.
    pub ridge: usize,
}

/// What a difference needs of each of its two points.
struct Own {
    /// $\lVert\psi\rVert^2$, $\lVert c\rVert^2$ and $\lVert e\rVert^2$.
    feature: f64,
    whitened: f64,
    fit: f64,
    variance: f64,
    /// The root of the rounding bound of $s_1^2$.
    residual: f64,
}

impl Own {
    fn sizes(&self) -> Sizes {
        Sizes { fit: self.fit.sqrt(), whitened: self.whitened.sqrt(), prior: self.variance.sqrt() }
    }
}

/// Three inner products of two points: of $\psi$, of $c$ and of $e$.
struct Products {
    feature: f64,
    whitened: f64,
    fit: f64,
}

impl<'a> Challengers<'a> {
    pub fn new(posterior: &'a Posterior, confinement: &'a Confinement, points: Points, noise: &Noise, premises: Width) -> Result<Self> {
        let information: &Information = posterior.information();
        let features = information.features().features(points.view())?;
        let (whitened, solved, own) = solve(information, points.view(), features.as_slice())?;
        Ok(Self {
            levels: NoiseForm::new(information, noise, &solved)?,
            rounding: information.parts_rounding(),
            confined: Confined::new(
                confinement,
                &solved,
                premises.norm_bound,
                premises.lambda_root / premises.ridge,
                premises.bias_slope(),
            )?,
            information,
            points,
            features,
            whitened,
            solved,
            own,
            premises,
        })
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The ridge, and $e$ of each.
    pub fn solved(&self) -> (f64, &Matrix) {
        (self.information.ridge(), &self.solved)
    }

    /// Calls `f(survivor, e of the survivor, differences to each challenger)` for one survivor after another. `own` are the challengers' centres.
    /// A point compared with itself costs nothing.
    /// Cost O(A(md + m² + Mm)).
    pub fn for_each_survivor(
        &self,
        survivors: PointsRef<'_>,
        centres: &[Centre],
        own: &[Centre],
        mut f: impl FnMut(usize, &[f64], &[Difference]) -> Result<()>,
    ) -> Result<()> {
        let m = self.information.features().len();
        let expansion = 8.0 * (m + 4) as f64 * f64::EPSILON;
        let mut row = vec![Difference::default(); self.len()];
        self.information.stream(survivors, |start, block, psi| {
            let seen = product_transposed(&Matrix::from_vec(psi.to_vec(), block.len(), m), &self.features)?;
            let (whitened, solved, points) = solve(self.information, block, psi)?;
            let (whitened, fits) = (product_transposed(&whitened, &self.whitened)?, product_transposed(&solved, &self.solved)?);
            let levels = self.levels.as_ref().map(|l| l.block(&solved)).transpose()?;
            let confined = self.confined.block(&solved)?;
            let metric = self.information.features().kernel().metric_block(block, self.points.view())?;
            for i in 0..block.len() {
                for (j, out) in row.iter_mut().enumerate() {
                    if block.row(i) == self.points.row(j) {
                        *out = Difference::default();
                        continue;
                    }
                    let products = Products { feature: seen[(i, j)], whitened: whitened[(i, j)], fit: fits[(i, j)] };
                    let parts = self.enlarged(start + i, metric[(i, j)].powi(2), (&points[i], &self.own[j]), &products)?;
                    let norm = parts.noise.sqrt() / self.information.ridge();
                    let by_level = levels.as_ref().map_or(f64::INFINITY, |l| l.difference(i, j));
                    let noise = self.premises.emphasis[j] * (self.premises.level * norm).min(by_level);
                    let (a, b) = (centres[start + i], own[j]);
                    let outside = parts.projection.sqrt() + self.premises.lambda_root * norm;
                    let fit = points[i].fit + self.own[j].fit;
                    // e is off by η of its size: so much of f's norm may lie there.
                    let moved = 2.0 * self.information.rounding() * (2.0 * fit).sqrt() * self.premises.norm_bound;
                    let confined = confined.difference(i, j, outside, fit, expansion, a.radius) + moved;
                    let plain = self.premises.bias(&parts, norm);
                    *out = Difference { centre: a.mean - b.mean, bias: plain.min(confined) + a.slack + b.slack, noise, plain, ridge: 0 };
                }
                f(start + i, solved.row(i), &row)?;
            }
            Ok(())
        })
    }

    /// The parts of a difference with their rounding: those of [`PartsRounding::enlarge`], and what expanding the squares loses.
    fn enlarged(&self, query: usize, metric: f64, (a, b): (&Own, &Own), products: &Products) -> Result<VarianceParts> {
        let features = self.information.features();
        let expansion = 4.0 * (features.len() as f64 + 4.0) * f64::EPSILON;
        let square = |x: f64, y: f64, cross: f64| (x + y - 2.0 * cross, expansion * (x + y));
        let (feature, feature_lost) = square(a.feature, b.feature, products.feature);
        let (whitened, whitened_lost) = square(a.whitened, b.whitened, products.whitened);
        let (fit, fit_lost) = square(a.fit, b.fit, products.fit);
        // Two residuals and their cross term.
        let residual = (a.residual + b.residual).powi(2) + feature_lost;
        let allowed = residual.max(4.0 * features.residual_rounding(a.variance.max(b.variance)));
        let projection = metric - feature;
        if projection < -allowed || projection.is_nan() {
            return Err(Error::NegativeVariance { query, value: projection, allowed });
        }
        let plain = VarianceParts {
            projection: projection.max(0.0),
            fit: fit.max(0.0) + fit_lost,
            noise: (whitened - fit).max(0.0) + whitened_lost + fit_lost,
        };
        Ok(self.rounding.enlarge(plain, a.sizes().plus(b.sizes()), residual))
    }
}

/// $c$ and $e$ of points with these features, and what differences need of each.
fn solve(information: &Information, points: PointsRef<'_>, psi: &[f64]) -> Result<(Matrix, Matrix, Vec<Own>)> {
    let (features, m) = (information.features(), information.features().len());
    let residual = features.residual_rounding_of(points, psi)?;
    let variance = features.kernel().diagonal(points);
    let mut whitened = Matrix::from_vec(psi.to_vec(), points.len(), m);
    information.lower().solve_rows(whitened.as_mut_slice())?;
    let mut solved = whitened.clone();
    information.lower().solve_transposed_rows(solved.as_mut_slice())?;
    let own = |i: usize| Own {
        feature: norm_squared(&psi[i * m..(i + 1) * m]),
        whitened: norm_squared(whitened.row(i)),
        fit: norm_squared(solved.row(i)),
        variance: variance[i],
        residual: residual[i].sqrt(),
    };
    let own = (0..points.len()).map(own).collect();
    Ok((whitened, solved, own))
}

impl Width {
    /// $C\sqrt{(s_1+\sqrt\lambda\lVert\Delta V\rVert)^2+s_2^2}$ (algorithm notes 5.3).
    fn bias(&self, parts: &VarianceParts, norm: f64) -> f64 {
        self.norm_bound * crate::certificate::direct_bias(parts.projection.sqrt(), self.lambda_root * norm, parts.fit)
    }

    /// How fast the bias of the norm bound grows with the kernel metric, $C(a+\sqrt{a^2+4})/2$ with $a = \sqrt\lambda/(2\tau)$ (algorithm notes 8.7).
    pub fn bias_slope(&self) -> f64 {
        let a = 0.5 * self.lambda_root / self.ridge;
        self.norm_bound * 0.5 * (a + (a * a + 4.0).sqrt())
    }
}

impl Difference {
    /// The upper bound on $f(x)-f(x')$.
    pub fn upper(&self, factor: f64) -> f64 {
        self.centre + self.bias + factor * self.noise
    }

    /// The half-width that could be promised before any response.
    pub fn planned(&self, factor: f64) -> f64 {
        self.plain + factor * self.noise
    }
}
