//! Upper bounds on the differences $f(x)-f(x')$ for all survivors $x$ and a list of challengers $x'$, in bulk.

pub(super) use crate::strategy::run::dial::Setting;

use super::confined::{Confined, ConfinedBlock};
use super::noise_form::NoiseForm;
use crate::certificate::{Directions, Ellipsoid, direct_bias};
use crate::error::{Error, Result};
use crate::information::{Information, PartsRounding, Sizes, VarianceParts};
use crate::noise::Noise;
use crate::points::{Points, PointsRef};
use crate::posterior::Posterior;
use rayon::prelude::*;
use sigmabar_linalg::{Matrix, norm_squared, parallel, product_transposed};

/// Survivors taken at a time.
pub(super) const BLOCK: usize = 1024;

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
    width: Width,
    settings: Vec<Setting>,
    rounding: PartsRounding,
    /// $e$ is off by so much of its size, and so much is lost where squares of differences are expanded.
    solve_rounding: f64,
    expansion: f64,
}

/// What turns parts into widths, whatever the setting.
#[derive(Clone)]
pub(super) struct Width {
    pub level: f64,
    /// The level that is known before the responses.
    pub planned: f64,
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
    /// The bias that the norm bound alone allows, and the noise at the planned level: known before any response.
    pub plain: f64,
    pub known: f64,
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

/// A survivor and a challenger, as far as no setting matters.
struct Pair {
    centre: f64,
    /// The rounding of the two means.
    slack: f64,
    /// $\sqrt{(s_1+\sqrt\lambda\lVert\Delta V\rVert)^2+s_2^2}$.
    bias: f64,
    /// $s_1+\sqrt\lambda\lVert\Delta V\rVert$.
    outside: f64,
    /// $\lVert e\rVert^2+\lVert e'\rVert^2$, and the root of twice that: $\lVert\Delta e\rVert$ at most.
    fit: f64,
    size: f64,
    noise: f64,
    /// The same at the planned level.
    known: f64,
}

/// What a block of survivors has with the challengers whatever the ridge: $\psi$, its products with theirs, and the kernel metric.
pub(super) struct Common {
    psi: Matrix,
    seen: Matrix,
    metric: Matrix,
}

/// A block of survivors against every challenger.
pub(super) struct PairBlock<'b> {
    challengers: &'b Challengers<'b>,
    confined: ConfinedBlock<'b>,
    /// $e$ of the survivors.
    solved: Matrix,
    radii: Vec<f64>,
    /// Row by row; none for a point and itself, which differ by nothing.
    pairs: Vec<Option<Pair>>,
}

/// The settings with their ellipsoids.
#[derive(Clone, Copy)]
pub(super) struct Under<'a, 's> {
    pub confinement: (&'a Directions, &'a [Ellipsoid]),
    pub settings: &'s [Setting],
}

impl<'a> Challengers<'a> {
    /// Against these points, under each of the settings.
    pub fn new(posterior: &'a Posterior, under: Under<'a, '_>, points: Points, noise: &Noise, width: Width) -> Result<Self> {
        let information: &Information = posterior.information();
        let features = information.features().features(points.view())?;
        let (whitened, solved, own) = solve(information, points.view(), features.as_slice())?;
        Ok(Self {
            levels: NoiseForm::new(information, noise, &solved)?,
            rounding: information.parts_rounding(),
            solve_rounding: information.rounding(),
            expansion: 8.0 * (information.features().len() + 4) as f64 * f64::EPSILON,
            confined: Confined::new(under, &solved, &width)?,
            information,
            points,
            features,
            whitened,
            solved,
            own,
            width,
            settings: under.settings.to_vec(),
        })
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The ridge, and $e$ of each.
    pub fn solved(&self) -> (f64, &Matrix) {
        (self.information.ridge(), &self.solved)
    }

    /// Calls `f(survivor, e of the survivor, differences to each challenger)` for one survivor after another, under the first setting. `own` are the challengers'
    /// centres. A point compared with itself costs nothing.
    pub fn for_each_survivor(
        &self,
        survivors: PointsRef<'_>,
        centres: &[Centre],
        own: &[Centre],
        mut f: impl FnMut(usize, &[f64], &[Difference]) -> Result<()>,
    ) -> Result<()> {
        for start in (0..survivors.len()).step_by(BLOCK) {
            let end = survivors.len().min(start + BLOCK);
            let points = survivors.range(start, end);
            let block = self.block(points, &self.common(points)?, &centres[start..end], own)?;
            block.for_each_row(|i, solved, row| f(start + i, solved, row))?;
        }
        Ok(())
    }

    /// What every ridge shares about a block of survivors. Cost O(A(md + m² + Mm)).
    pub fn common(&self, block: PointsRef<'_>) -> Result<Common> {
        #[cfg(test)]
        crate::work::count(block.len() * self.len() * (self.features.cols() + block.dim()));
        let psi = self.information.features().features(block)?;
        let seen = product_transposed(&psi, &self.features)?;
        Ok(Common { psi, seen, metric: self.information.features().kernel().metric_block(block, self.points.view())? })
    }

    /// Everything about the pairs of a block of survivors that does not depend on the setting. Cost O(A(m² + Mm)).
    pub fn block(&self, block: PointsRef<'_>, common: &Common, centres: &[Centre], own: &[Centre]) -> Result<PairBlock<'_>> {
        let Common { psi, seen, metric } = common;
        // Two products of all pairs, and those of the slices of the ellipsoid.
        #[cfg(test)]
        crate::work::count(block.len() * self.len() * self.features.cols() * (2 + super::confined::SLICES));
        let (whitened, solved, points) = solve(self.information, block, psi.as_slice())?;
        let (whitened, fits) = (product_transposed(&whitened, &self.whitened)?, product_transposed(&solved, &self.solved)?);
        let levels = self.levels.as_ref().map(|l| l.block(&solved)).transpose()?;
        let pair = |i: usize, j: usize| -> Result<Option<Pair>> {
            if block.row(i) == self.points.row(j) {
                return Ok(None);
            }
            let products = Products { feature: seen[(i, j)], whitened: whitened[(i, j)], fit: fits[(i, j)] };
            let parts = self.enlarged(i, metric[(i, j)].powi(2), (&points[i], &self.own[j]), &products)?;
            let norm = parts.noise.sqrt() / self.information.ridge();
            let by_level = levels.as_ref().map_or(f64::INFINITY, |l| l.difference(i, j));
            let residual = self.width.lambda_root * norm;
            let fit = points[i].fit + self.own[j].fit;
            Ok(Some(Pair {
                centre: centres[i].mean - own[j].mean,
                slack: centres[i].slack + own[j].slack,
                bias: direct_bias(parts.projection.sqrt(), residual, parts.fit),
                outside: parts.projection.sqrt() + residual,
                fit,
                size: (2.0 * fit).sqrt(),
                noise: self.width.emphasis[j] * (self.width.level * norm).min(by_level),
                known: self.width.emphasis[j] * self.width.planned * norm,
            }))
        };
        let of = |at: usize| pair(at / self.len(), at % self.len());
        let pairs = parallel(|watch| {
            (0..block.len() * self.len()).into_par_iter().with_min_len(4096).inspect(|_| watch.check()).map(of).collect::<Result<_>>()
        })?;
        let radii = centres.iter().map(|centre| centre.radius).collect();
        Ok(PairBlock { challengers: self, confined: self.confined.block(&solved)?, solved, radii, pairs })
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
    // Half a square for each of two triangular solves, and one to turn into the ellipsoid's coordinates.
    #[cfg(test)]
    crate::work::count(2 * points.len() * m * m);
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

impl PairBlock<'_> {
    /// Calls `f(survivor, its e, its differences to each challenger)` for one survivor after another, under the first setting.
    pub fn for_each_row(&self, mut f: impl FnMut(usize, &[f64], &[Difference]) -> Result<()>) -> Result<()> {
        let mut row = vec![Difference::default(); self.challengers()];
        for i in 0..self.radii.len() {
            row.iter_mut().enumerate().for_each(|(j, out)| *out = self.difference(i, j, 0));
            f(i, self.solved.row(i), &row)?;
        }
        Ok(())
    }

    /// $e$ of a survivor.
    pub fn solved(&self, i: usize) -> &[f64] {
        self.solved.row(i)
    }

    /// The number of challengers.
    pub fn challengers(&self) -> usize {
        self.challengers.len()
    }

    /// What the bound on the difference of survivor `i` and challenger `j` promises before the noise, as [`Difference::planned`] has it.
    pub fn planned(&self, i: usize, j: usize, norm_bound: f64, factor: f64) -> f64 {
        self.pairs[i * self.challengers.len() + j].as_ref().map_or(0.0, |pair| norm_bound * pair.bias + factor * pair.known)
    }

    /// Whether challenger `j` might beat survivor `i` by what is cheap to know of [`Self::difference`]: most cannot.
    pub fn might_beat(&self, (i, j): (usize, usize), setting: usize, factor: f64, reach: f64) -> bool {
        let Some(pair) = &self.pairs[i * self.challengers.len() + j] else { return false };
        let Setting { norm_bound, scale } = self.challengers.settings[setting];
        let bias = (norm_bound * pair.bias).min(self.confined.floor(setting, (i, j), pair.outside, self.radii[i]));
        pair.centre + (bias + pair.slack) + factor * (scale * pair.noise) + reach < 0.0
    }

    /// The bound on the difference of survivor `i` and challenger `j` under one of the settings: the bias is $C$ times the functional's norm (algorithm notes 5.3), or
    /// what the ellipsoid leaves of it.
    pub fn difference(&self, i: usize, j: usize, setting: usize) -> Difference {
        let Some(pair) = &self.pairs[i * self.challengers.len() + j] else { return Difference::default() };
        let Setting { norm_bound, scale } = self.challengers.settings[setting];
        // Some ten for each slice, a root among them.
        #[cfg(test)]
        crate::work::count(10 * super::confined::SLICES);
        // e is off by η of its size: so much of f's norm may lie there.
        let moved = 2.0 * self.challengers.solve_rounding * pair.size * norm_bound;
        let lost = self.challengers.expansion * pair.fit;
        let confined = self.confined.difference(setting, (i, j), pair.outside, (pair.size, lost), self.radii[i]) + moved;
        let plain = norm_bound * pair.bias;
        Difference {
            centre: pair.centre,
            bias: plain.min(confined) + pair.slack,
            noise: scale * pair.noise,
            plain,
            known: pair.known,
            ridge: 0,
        }
    }
}

impl Width {
    /// How fast the bias grows with the kernel metric for each unit of norm, $(a+\sqrt{a^2+4})/2$ with $a = \sqrt\lambda/(2\tau)$ (algorithm notes 8.7).
    pub fn bias_slope(&self) -> f64 {
        let a = 0.5 * self.lambda_root / self.ridge;
        0.5 * (a + (a * a + 4.0).sqrt())
    }
}

impl Difference {
    /// The upper bound on $f(x)-f(x')$.
    pub fn upper(&self, factor: f64) -> f64 {
        self.centre + self.bias + factor * self.noise
    }

    /// The half-width that could be promised before any response.
    pub fn planned(&self, factor: f64) -> f64 {
        self.plain + factor * self.known
    }
}
