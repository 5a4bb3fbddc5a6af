//! Upper bounds on the differences $f(x)-f(x')$ for all survivors $x$ and a list of challengers $x'$, in bulk.

use super::confined::{Confined, Confinement};
use super::level::LevelForm;
use super::quantile::Simulation;
use crate::certificate::Noise;
use crate::error::{Error, Result};
use crate::information::{Information, VarianceParts};
use crate::points::{Points, PointsRef};
use crate::posterior::Posterior;
use sigmabar_linalg::{Matrix, norm_squared, product_transposed};

/// The challengers with everything of theirs that pairs need.
pub(super) struct Challengers<'a> {
    information: &'a Information,
    points: Points,
    /// $\psi$, $e = B^{-1}\psi$ and $Ge/\tau^2 = \psi - e$, one row each.
    features: Matrix,
    solved: Matrix,
    image: Matrix,
    sizes: Vec<f64>,
    parts: Vec<VarianceParts>,
    diagonal: Vec<f64>,
    /// Roots of the rounding bounds of $s_1^2$.
    residual_rounding: Vec<f64>,
    levels: Option<LevelForm>,
    confined: Confined<'a>,
    premises: Width,
    rounding: Rounding,
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
}

/// Numbers behind the rounding bounds, computed once.
struct Rounding {
    /// $\eta$ of [`Information::rounding`].
    eta: f64,
    /// $16m\varepsilon\sqrt{\lVert B\rVert}$.
    unit: f64,
    /// $8(m+4)\varepsilon$: what expanding a square of a difference loses, relative to the terms.
    expansion: f64,
}

impl<'a> Challengers<'a> {
    pub fn new(posterior: &'a Posterior, confinement: &'a Confinement, points: Points, noise: &Noise, premises: Width) -> Result<Self> {
        let information: &Information = posterior.information();
        let features = information.features().features(points.view())?;
        let residual_rounding = roots(information.features().residual_rounding_of(points.view(), features.as_slice())?);
        let mut solved = features.clone();
        let parts = information.parts_of(0, points.view(), solved.as_mut_slice())?;
        let mut image = features.clone();
        image.as_mut_slice().iter_mut().zip(solved.as_slice()).for_each(|(a, e)| *a -= e);
        let m = information.features().len() as f64;
        let rounding = Rounding {
            eta: information.rounding(),
            unit: 16.0 * m * f64::EPSILON * information.norm_bound().sqrt(),
            expansion: 8.0 * (m + 4.0) * f64::EPSILON,
        };
        Ok(Self {
            sizes: (0..points.len()).map(|j| norm_squared(features.row(j))).collect(),
            diagonal: information.features().kernel().diagonal(points.view()),
            levels: LevelForm::new(information, noise, &solved)?,
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
            solved,
            image,
            parts,
            residual_rounding,
            premises,
            rounding,
        })
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Draws of normal noise against these challengers.
    pub fn simulate(&self, std_dev: f64, alpha: f64, seed: u64) -> Result<Simulation> {
        Simulation::new(self.information, std_dev, &self.solved, alpha, seed)
    }

    /// Calls `f(survivor, e of the survivor, differences to each challenger)` for one survivor after another. `own` are the challengers' centres.
    /// Cost O(A(md + m² + Mm)).
    pub fn for_each_survivor(
        &self,
        survivors: PointsRef<'_>,
        centres: &[Centre],
        own: &[Centre],
        mut f: impl FnMut(usize, &[f64], &[Difference]) -> Result<()>,
    ) -> Result<()> {
        let m = self.information.features().len();
        let mut row = vec![Difference::default(); self.len()];
        self.information.stream(survivors, |start, block, psi| {
            let sizes: Vec<f64> = psi.chunks_exact(m).map(norm_squared).collect();
            let seen = product_transposed(&Matrix::from_vec(psi.to_vec(), block.len(), m), &self.features)?;
            let residual_rounding = roots(self.information.features().residual_rounding_of(block, psi)?);
            let parts = self.information.parts_of(start, block, psi)?;
            let solved = Matrix::from_vec(psi.to_vec(), block.len(), m);
            let fit = product_transposed(&solved, &self.solved)?;
            let noise = product_transposed(&solved, &self.image)?;
            let levels = self.levels.as_ref().map(|l| l.block(&solved)).transpose()?;
            let confined = self.confined.block(&solved)?;
            let metric = self.information.features().kernel().metric_block(block, self.points.view())?;
            let diagonal = self.information.features().kernel().diagonal(block);
            for i in 0..block.len() {
                for (j, out) in row.iter_mut().enumerate() {
                    let plain = VarianceParts {
                        projection: metric[(i, j)].powi(2) - (sizes[i] + self.sizes[j] - 2.0 * seen[(i, j)]),
                        fit: parts[i].fit + self.parts[j].fit - 2.0 * fit[(i, j)],
                        noise: parts[i].noise + self.parts[j].noise - 2.0 * noise[(i, j)],
                    };
                    let scale = Scale {
                        fit: parts[i].fit + self.parts[j].fit,
                        variance: diagonal[i].max(self.diagonal[j]),
                        // Two residuals and their cross term.
                        residual: (residual_rounding[i] + self.residual_rounding[j]).powi(2),
                    };
                    let parts = self.enlarged(start + i, plain, &scale)?;
                    let norm = parts.noise.sqrt() / self.information.ridge();
                    let by_level = levels.as_ref().map_or(f64::INFINITY, |l| l.difference(i, j));
                    let noise = self.premises.emphasis[j] * (self.premises.level * norm).min(by_level);
                    let (a, b) = (centres[start + i], own[j]);
                    let outside = parts.projection.sqrt() + self.premises.lambda_root * norm;
                    // e is off by η of its size: so much of f's norm may lie there.
                    let moved = 2.0 * self.rounding.eta * (2.0 * scale.fit).sqrt() * self.premises.norm_bound;
                    let confined = confined.difference(i, j, outside, scale.fit, self.rounding.expansion, a.radius) + moved;
                    *out = Difference {
                        centre: a.mean - b.mean,
                        bias: self.premises.bias(&parts, norm).min(confined) + a.slack + b.slack,
                        noise,
                    };
                }
                f(start + i, solved.row(i), &row)?;
            }
            Ok(())
        })
    }

    /// The parts of a difference with their rounding: those of [`Information::certified_parts`], and what expanding the squares loses.
    fn enlarged(&self, query: usize, plain: VarianceParts, scale: &Scale) -> Result<VarianceParts> {
        let Rounding { eta, unit, expansion } = self.rounding;
        let expanded = expansion * scale.variance;
        let allowed = scale.residual.max(4.0 * self.information.features().residual_rounding(scale.variance)) + expanded;
        if plain.projection < -allowed || plain.projection.is_nan() {
            return Err(Error::NegativeVariance { query, value: plain.projection, allowed });
        }
        let stretch = (1.0 + eta).powi(2);
        Ok(VarianceParts {
            projection: plain.projection.max(0.0) + scale.residual + expanded,
            fit: (plain.fit.max(0.0) + expansion * scale.fit) * stretch + 4.0 * eta * eta * scale.fit,
            noise: plain.noise.max(0.0) + 4.0 * (stretch - 1.0) * scale.fit + 4.0 * unit * scale.variance + expanded,
        })
    }
}

/// How large the terms are of which a difference is taken.
struct Scale {
    fit: f64,
    variance: f64,
    /// The rounding bound of $s_1^2$ of the difference.
    residual: f64,
}

fn roots(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(f64::sqrt).collect()
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
}
