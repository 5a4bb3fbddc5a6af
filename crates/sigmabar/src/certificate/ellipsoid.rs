//! The projected ellipsoid (algorithm notes 14.1 and 14.2): one event about the noise in the directions that the points inform confines the function itself,
//! and with it every linear functional of it at once.
//!
//! With $G = U\Gamma U^\top$, the kept directions $W$ and $\tilde y = \Gamma_W^{-1/2}W^\top\Psi^\top y$, write $f$ as a part $\theta$ inside the features and a rest of
//! norm $c$. The event $\lVert PE\rVert\le\Gamma_\rho$ gives $\lVert\tilde y-\Gamma_W^{1/2}W^\top\theta\rVert \le \Gamma_\rho+\sqrt\lambda\,c$, hence for any $s$
//! $J_s(\theta) = \lVert\theta\rVert^2+\lVert\tilde y-\Gamma_W^{1/2}W^\top\theta\rVert^2/s^2 \le C^2-c^2+(\Gamma_\rho+\sqrt\lambda\,c)^2/s^2$. $J_s$ is quadratic with minimum $q_s$ at
//! $w_s$: an ellipsoid. By duality the smallest of its bounds over $s$ is the worst case over both constraints.

use super::bias::ResidualForm;
use super::energy::is_possible;
use crate::error::Result;
use crate::information::Information;
use crate::noise::Noise;
use crate::posterior::Posterior;
use sigmabar_linalg::{Matrix, add_transposed_matvec, norm_squared};

/// Ridges $s$ tried: a geometric grid around $M/C$; all are valid at once, so the responses may choose.
const GRID: usize = 25;
/// The grid spans this factor below and above.
const SPAN: f64 = 100.0;
/// Kept directions have eigenvalues this many times above what rounding can do to them.
const ABOVE_ROUNDING: f64 = 1e4;

/// What is fixed before the responses: the directions and the radius of the event.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    /// $U$.
    vectors: Matrix,
    /// $\gamma_j$ of the kept directions, 0 for the others; ascending.
    values: Vec<f64>,
    /// $\rho$.
    rank: usize,
    /// The mean squares, along the directions, of the functionals asked about.
    profile: Vec<f64>,
    norm_bound: f64,
    /// $\Gamma_\rho$.
    radius: f64,
    /// $\Gamma_\rho$ and $\sqrt\lambda$ with the rounding of $G$.
    misfit: Misfit,
    /// What the rounding of $G$ and its eigenvectors adds to the misfit, for each unit of norm.
    moved: f64,
    /// What rotating loses, relative to what is rotated.
    unit: f64,
}

/// $\lVert\tilde y-\Gamma_W^{1/2}W^\top\theta\rVert \le$ `noise` + `root`$\,c$.
#[derive(Clone, Copy, Debug)]
struct Misfit {
    noise: f64,
    root: f64,
}

/// The norm bound, the noise and $\lambda$ behind an event, and $\ln(1/\delta)$ of what it may spend.
#[derive(Clone, Copy)]
pub(crate) struct Premises<'a> {
    pub norm_bound: f64,
    pub noise: &'a Noise,
    /// The noise as it was known before the responses: how many directions are kept looks at nothing that came with them.
    pub planned: &'a Noise,
    pub lambda: f64,
    /// $\Psi^\top D\Psi$ where it is known: in the kept directions $\lambda$ is far smaller than over all.
    pub form: Option<&'a ResidualForm>,
    pub tail: f64,
}

impl Directions {
    /// Keeps the directions that make the ellipsoid smallest before any response is seen, for functionals whose mean square along a direction of eigenvalue
    /// $\gamma$ is `profile(γ)`. Cost O(m³).
    pub fn new(information: &Information, premises: &Premises<'_>, profile: impl Fn(f64) -> f64) -> Result<Self> {
        let path = information.ridge_path()?;
        let rounding = path.rounding();
        let (mut values, vectors) = path.into_parts();
        let m = values.len();
        let profile: Vec<f64> = values.iter().map(|&g| profile(g)).collect();
        let possible = values.iter().filter(|&&g| g > ABOVE_ROUNDING * rounding).count();
        let (mut rank, mut lambda) = (0, premises.lambda);
        // How many are kept depends on λ, and the other way round.
        for _ in 0..2 {
            rank = best_rank(&values, possible, &Premises { lambda, noise: premises.planned, ..*premises }, &profile);
            if let Some(form) = premises.form {
                let kept = Matrix::from_fn(rank, m, |i, j| vectors[(j, m - rank + i)] / values[m - rank + i].sqrt());
                lambda = form.largest(&kept)?.min(premises.lambda);
            }
        }
        values[..m - rank].fill(0.0);
        let radius = premises.noise.level() * premises.noise.norm_factor(rank.max(1), premises.tail);
        // ‖AAᵀ − I‖ ≤ η for A = Γ^{-1/2}WᵀΨᵀ, and ‖AΨ − Γ^{1/2}Wᵀ‖ ≤ rounding/√γ.
        let smallest = values.get(m - rank).copied().unwrap_or(f64::INFINITY);
        let stretch = (1.0 + rounding / smallest).sqrt();
        let moved = rounding / smallest.sqrt();
        let misfit = Misfit { noise: stretch * radius, root: stretch * lambda.sqrt() };
        let unit = 16.0 * (4 * m + 8) as f64 * f64::EPSILON;
        Ok(Self { vectors, values, rank, profile, norm_bound: premises.norm_bound, radius, misfit, moved, unit })
    }

    /// $\Gamma_\rho$: the bound on the noise in the kept directions.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// $U$: functionals are given by their coordinates $U^\top r$.
    pub fn vectors(&self) -> &Matrix {
        &self.vectors
    }

    /// What the responses say: one slice per ridge of the grid.
    pub fn ellipsoid(&self, posterior: &Posterior) -> Result<Ellipsoid> {
        let misfit = self.misfit_of(posterior, self.norm_bound, 1.0);
        // Where no direction is kept and there is no noise, no finite ridge says anything; without a ridge only the norm bound speaks: never wider than C‖r‖.
        let finite = grid(misfit.noise / self.norm_bound).filter(|e| *e > 0.0);
        let ridges = finite.chain([f64::INFINITY]).map(|e| e * e).collect();
        let rotated = self.rotated(posterior);
        Ok(self.at_ridges(&rotated, misfit, self.norm_bound, ridges))
    }

    /// The same event read under each of other norm bounds and noise so many times as large: the directions stay, because they were fixed before the responses,
    /// and all have the same ridges, so that a larger norm or noise never gives a smaller ellipsoid (algorithm notes 13.1).
    pub fn ellipsoids(&self, posterior: &Posterior, premises: impl IntoIterator<Item = (f64, f64)>, ridges: &[f64]) -> Vec<Ellipsoid> {
        let rotated = self.rotated(posterior);
        let at = |(norm_bound, scale): (f64, f64)| {
            let misfit = self.misfit_of(posterior, norm_bound, scale);
            self.at_ridges(&rotated, misfit, norm_bound, ridges.iter().copied().chain([f64::INFINITY]).collect())
        };
        premises.into_iter().map(at).collect()
    }

    fn rotated(&self, posterior: &Posterior) -> Vec<f64> {
        let mut rotated = vec![0.0; self.values.len()];
        add_transposed_matvec(self.vectors.as_slice(), posterior.projected(), &mut rotated);
        rotated
    }

    /// The misfit with what rounding adds to it.
    fn misfit_of(&self, posterior: &Posterior, norm_bound: f64, scale: f64) -> Misfit {
        let m = self.values.len();
        let smallest = self.values.get(m - self.rank).copied().unwrap_or(f64::INFINITY);
        let lost = posterior.projected_rounding() + self.unit * norm_squared(posterior.projected()).sqrt();
        Misfit { noise: scale * self.misfit.noise + self.moved * norm_bound + lost / smallest.sqrt(), ..self.misfit }
    }

    fn at_ridges(&self, rotated: &[f64], misfit: Misfit, norm_bound: f64, ridges: Vec<f64>) -> Ellipsoid {
        let slices: Vec<Slice> = ridges.iter().map(|&excess| self.slice(rotated, misfit, norm_bound, excess)).collect();
        let size = |s: &Slice| s.square.max(0.0) * s.shrink.iter().zip(&self.profile).map(|(d, p)| d * p).sum::<f64>();
        let best = (0..slices.len()).min_by(|&a, &b| size(&slices[a]).total_cmp(&size(&slices[b]))).unwrap_or(0);
        Ellipsoid { norm_bound, unit: self.unit, ridges, slices, best }
    }

    /// The slice of the ridge with $s^2-\lambda$ = `excess`.
    fn slice(&self, rotated: &[f64], misfit: Misfit, norm_bound: f64, excess: f64) -> Slice {
        let lambda = misfit.root * misfit.root;
        let (s2, kept) = (excess + lambda, |g: f64| g > 0.0);
        let quadratic: f64 = rotated.iter().zip(&self.values).filter(|(_, g)| kept(**g)).map(|(h, g)| h * h / (g * (g + s2))).sum();
        let quadratic = quadratic * (1.0 - self.unit);
        let centre: Vec<f64> = rotated.iter().zip(&self.values).map(|(h, &g)| if kept(g) { h / (g + s2) } else { 0.0 }).collect();
        // The largest of C² − c² + (Γ+√λc)²/s² over c is C² + Γ²/(s²−λ), at c = Γ√λ/(s²−λ).
        let square = norm_bound.powi(2) + misfit.noise.powi(2) / excess - quadratic;
        let at_bound = (misfit.noise + misfit.root * norm_bound).powi(2) / s2 - quadratic;
        Slice {
            square,
            radius: square.max(0.0).sqrt(),
            radius_at_bound: at_bound.max(0.0).sqrt(),
            drift: misfit.noise * misfit.root / excess,
            // (s²−λ)/s², which is 1 without a ridge.
            curvature: 1.0 / (1.0 + lambda / excess),
            tilt: (1.0 + lambda / excess).sqrt(),
            norm: norm_squared(&centre).sqrt(),
            centre,
            shrink: self.values.iter().map(|g| 1.0 / (1.0 + g / s2)).collect(),
        }
    }
}

/// A geometric grid around `middle`.
fn grid(middle: f64) -> impl Iterator<Item = f64> {
    (0..GRID).map(move |i| middle * SPAN.powf(2.0 * i as f64 / (GRID - 1) as f64 - 1.0))
}

/// The number of directions, and by the way the ridge, with the smallest mean square of the half-width $\sqrt{C^2+\Gamma_\rho^2/(s^2-\lambda)}\,\sigma_s$.
fn best_rank(values: &[f64], possible: usize, premises: &Premises<'_>, profile: &[f64]) -> usize {
    let m = values.len();
    let (level, c2) = (premises.noise.std_dev_bound(), premises.norm_bound.powi(2));
    let radius_squared = |rank: usize| {
        let (rho, t) = (rank as f64, premises.tail);
        level * level * (rho + 2.0 * (rho * t).sqrt() + 2.0 * t)
    };
    let mut best = (f64::INFINITY, 0);
    for excess in grid((radius_squared(1) / c2).sqrt()).map(|e| e * e) {
        let s2 = excess + premises.lambda;
        let mut spread: f64 = profile.iter().sum();
        for rank in 1..=possible {
            let j = m - rank;
            spread -= profile[j] * values[j] / (s2 + values[j]);
            let size = (c2 + radius_squared(rank) / excess) * spread.max(0.0);
            if size < best.0 {
                best = (size, rank);
            }
        }
    }
    best.1
}

/// Where the function can be, given the responses.
#[derive(Clone, Debug)]
pub(crate) struct Ellipsoid {
    norm_bound: f64,
    unit: f64,
    /// $s^2-\lambda$ of each slice.
    ridges: Vec<f64>,
    slices: Vec<Slice>,
    /// The slice with the smallest mean square.
    best: usize,
}

/// One ridge $s$.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// $K_s^2 = C^2+\Gamma_\rho^2/(s^2-\lambda)-q_s$: the square of the radius for the worst norm $c$ of the rest, which is `drift` larger for the noise.
    square: f64,
    /// $K_s$, and the same for $c = C$.
    radius: f64,
    radius_at_bound: f64,
    drift: f64,
    /// $1-\lambda/s^2$: what the radius loses as $c$ moves on; and one over its root.
    curvature: f64,
    tilt: f64,
    /// $U^\top w_s$ and its norm.
    centre: Vec<f64>,
    norm: f64,
    /// The diagonal of $U^\top B_s^{-1}U$, $B_s = I+\Psi^\top P\Psi/s^2$.
    shrink: Vec<f64>,
}

impl Ellipsoid {
    /// Whether no function within the premises fits: the event or a premise is false.
    pub fn is_contradicted(&self) -> bool {
        self.slices.iter().any(|s| !is_possible(s.square))
    }

    /// At most `count` slices around the one that is best for the functionals whose profile chose the directions; the responses may choose.
    pub fn best(&self, count: usize) -> &[Slice] {
        let finite = self.slices.len() - 1;
        let first = self.best.saturating_sub(count / 2).min(finite.saturating_sub(count));
        &self.slices[first..finite.min(first + count)]
    }

    /// Ridges for [`Directions::ellipsoids`]: as many as `steps`, so far from the best one on its grid.
    pub fn ridges_around_best(&self, steps: &[isize]) -> Vec<f64> {
        let last = self.ridges.len().saturating_sub(2);
        let mut chosen: Vec<usize> = steps.iter().map(|&step| self.best.saturating_add_signed(step).min(last)).collect();
        chosen.dedup();
        chosen.into_iter().map(|i| self.ridges[i]).collect()
    }

    /// Bounds on $\langle f, r\rangle$ for a functional with coordinates $U^\top r_\kappa$ and a rest of norm `outside` at most. Cost O(m) for each ridge.
    pub fn bounds(&self, coordinates: &[f64], outside: f64) -> (f64, f64) {
        let size = norm_squared(coordinates).sqrt();
        let (mut lower, mut upper) = (f64::NEG_INFINITY, f64::INFINITY);
        for slice in &self.slices {
            let centre: f64 = slice.centre.iter().zip(coordinates).map(|(w, t)| w * t).sum();
            let square: f64 = slice.shrink.iter().zip(coordinates).map(|(d, t)| d * t * t).sum();
            let reach = self.reach(slice, square, size, outside);
            lower = lower.max(centre - reach);
            upper = upper.min(centre + reach);
        }
        (lower, upper)
    }

    /// $\max_{0\le c\le C}\sqrt{K_s^2-(1-\lambda/s^2)(c-d)^2}\,\sigma_s+c\cdot\text{outside}$, $d$ the drift, with its rounding; for $\sigma_s^2$ and the norm of the
    /// coordinates.
    pub fn reach(&self, slice: &Slice, square: f64, size: f64, outside: f64) -> f64 {
        let length = square.max(0.0).sqrt() + self.unit * size;
        let beyond = outside * slice.tilt;
        // Not hypot, which takes most of the time of all comparisons: lengths are far from where squares overflow, and the rounding below covers where they vanish.
        let both = (length * length + beyond * beyond).sqrt();
        let rounding = self.unit * size * slice.norm;
        // The function of c is concave: its maximum lies inside, or at the bound.
        if slice.radius * outside <= (self.norm_bound - slice.drift) * slice.curvature * both {
            return slice.radius * both + slice.drift * outside + rounding;
        }
        slice.radius_at_bound * length + self.norm_bound * outside + rounding
    }
}

impl Slice {
    /// No more than [`Ellipsoid::reach`].
    pub fn least_reach(&self, outside: f64) -> f64 {
        self.drift.min(0.0) * outside
    }

    /// $w_s^\top r$ from coordinates.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// The diagonal of $U^\top B_s^{-1}U$.
    pub fn shrink(&self) -> &[f64] {
        &self.shrink
    }

    /// $\lVert w_s\rVert$ and $K_s$: what the bounds' slopes are made of.
    pub fn slopes(&self) -> (f64, f64) {
        (self.norm, self.radius)
    }
}
