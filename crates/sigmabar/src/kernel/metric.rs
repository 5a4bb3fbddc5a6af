//! The kernel metric $d_k(x,z)=\|k(x,\cdot)-k(z,\cdot)\|_k$, computed without subtracting near-equal numbers.

use super::prepared::PARALLEL_ENTRIES;
use super::{Kernel, compose::gathered};
use crate::error::{Result, same_length};
use crate::points::PointsRef;
use rayon::prelude::*;
use sigmabar_linalg::{Matrix, parallel};

/// What sums and products need to know of a pair of points.
struct Pair {
    /// $k(x,z)$
    cross: f64,
    /// $a=(k(x,x)+k(z,z))/2$
    mean: f64,
    /// $b=(k(x,x)-k(z,z))/2$
    half_difference: f64,
    /// $d_k^2=2(a-k(x,z))$
    squared_metric: f64,
}

impl Pair {
    fn stationary(variance: f64, cross: f64, squared_metric: f64) -> Self {
        Self { cross, mean: variance, half_difference: 0.0, squared_metric }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cross: self.cross + other.cross,
            mean: self.mean + other.mean,
            half_difference: self.half_difference + other.half_difference,
            squared_metric: self.squared_metric + other.squared_metric,
        }
    }

    /// $d^2=2(a_1a_2+b_1b_2-c_1c_2)$ with $c_p=a_p-d_p^2/2$ is $c_2d_1^2+a_1d_2^2+2b_1b_2$: for stationary factors $b=0$ and every term is positive.
    fn times(self, other: Self) -> Self {
        let squared_metric =
            other.cross * self.squared_metric + self.mean * other.squared_metric + 2.0 * self.half_difference * other.half_difference;
        Self {
            cross: self.cross * other.cross,
            mean: self.mean * other.mean + self.half_difference * other.half_difference,
            half_difference: self.mean * other.half_difference + other.mean * self.half_difference,
            squared_metric: squared_metric.max(0.0),
        }
    }
}

impl Kernel {
    /// The kernel metric $d_k(x,z)=\sqrt{k(x,x)+k(z,z)-2k(x,z)}$, accurate relative to itself however close the points are; every function
    /// of norm $C$ satisfies $|f(x)-f(z)|\le C\,d_k(x,z)$. Cost O(d) per part.
    ///
    /// Meant for points that passed [`Kernel::check_dim`]. A product of two kernels that are both not stationary keeps accuracy relative to
    /// $\sqrt{k_1k_2}$ only.
    #[must_use]
    pub fn metric(&self, x: &[f64], z: &[f64]) -> f64 {
        self.pair(x, z).squared_metric.sqrt()
    }

    /// The largest of the distances to some points.
    pub(crate) fn farthest(&self, x: &[f64], points: PointsRef<'_>) -> f64 {
        points.rows().map(|z| self.metric(x, z)).fold(0.0, f64::max)
    }

    fn pair(&self, x: &[f64], z: &[f64]) -> Pair {
        match self {
            Self::SquaredExponential(kernel) => {
                let s = kernel.lengthscale.squared_distance(x, z);
                Pair::stationary(kernel.variance, kernel.at(s), kernel.squared_metric(s))
            }
            Self::Matern(kernel) => {
                let squared_metric = kernel.squared_metric(kernel.lengthscale.squared_distance(x, z));
                // k = v − d²/2 loses nothing that a product could notice where it is used: beside v.
                Pair::stationary(kernel.variance, kernel.variance - 0.5 * squared_metric, squared_metric)
            }
            Self::RationalQuadratic(kernel) => {
                let s = kernel.lengthscale.squared_distance(x, z);
                Pair::stationary(kernel.variance, kernel.at(s), kernel.squared_metric(s))
            }
            Self::Periodic(kernel) => {
                let s = kernel.squared_distance(x, z);
                Pair::stationary(kernel.variance, kernel.at(s), kernel.squared_metric(s))
            }
            Self::Linear(kernel) => {
                let (at_x, at_z) = (kernel.value(x, x), kernel.value(z, z));
                Pair {
                    cross: kernel.value(x, z),
                    mean: 0.5 * (at_x + at_z),
                    half_difference: kernel.half_difference(x, z),
                    squared_metric: kernel.squared_metric(x, z),
                }
            }
            Self::Hamming(kernel) => {
                let s = kernel.disagreement(x, z);
                Pair::stationary(kernel.variance, kernel.at(s), kernel.squared_metric(s))
            }
            Self::Sum(terms) => combined(terms.iter().map(|term| term.pair(x, z)), Pair::plus),
            Self::Product(factors) => combined(factors.iter().map(|factor| factor.pair(x, z)), Pair::times),
            Self::Columns { columns, kernel } => kernel.pair(&gathered(x, columns), &gathered(z, columns)),
        }
    }

    /// The $n\times m$ matrix of $d_k(x_i,z_j)$. Parallel over rows. Cost O(nmd).
    ///
    /// # Errors
    /// As [`Kernel::check_dim`]; [`crate::Error::Length`] if the two lists have different numbers of columns.
    pub fn metric_block(&self, x: PointsRef<'_>, z: PointsRef<'_>) -> Result<Matrix> {
        self.check_dim(x.dim())?;
        same_length("the columns of the second points", x.dim(), z.dim())?;
        let mut out = Matrix::zeros(x.len(), z.len());
        if !z.is_empty() {
            let row = |(i, row): (usize, &mut [f64])| {
                for (entry, point) in row.iter_mut().zip(z.rows()) {
                    *entry = self.metric(x.row(i), point);
                }
            };
            let rows = out.as_mut_slice();
            if rows.len() < PARALLEL_ENTRIES {
                rows.chunks_mut(z.len()).enumerate().for_each(row);
            } else {
                parallel(|watch| rows.par_chunks_mut(z.len()).enumerate().inspect(|_| watch.check()).for_each(row));
            }
        }
        Ok(out)
    }

    /// An upper bound of $d_k(c,x)$ over the box $|x_i-c_i|\le h_i$ that holds for every centre $c$: the supremum itself for every single
    /// kernel and for products of stationary ones over one set of columns, the root of the sum of squares for sums. `None` where no bound
    /// is known: categories in a box with any width, and products with a part that is not stationary. Cost O(d) per part.
    ///
    /// Meant for half-widths, all $\ge0$, as many as the points have columns.
    #[must_use]
    pub fn metric_over_cell(&self, half_widths: &[f64]) -> Option<f64> {
        self.squared_metric_over_cell(half_widths).map(f64::sqrt)
    }

    fn squared_metric_over_cell(&self, h: &[f64]) -> Option<f64> {
        match self {
            // Monotone in ρ: the supremum is at the corner.
            Self::SquaredExponential(kernel) => Some(kernel.squared_metric(kernel.lengthscale.squared_norm(h))),
            Self::Matern(kernel) => Some(kernel.squared_metric(kernel.lengthscale.squared_norm(h))),
            Self::RationalQuadratic(kernel) => Some(kernel.squared_metric(kernel.lengthscale.squared_norm(h))),
            Self::Periodic(kernel) => Some(kernel.squared_metric(kernel.largest_squared_distance(h))),
            Self::Linear(kernel) => Some(kernel.variance * kernel.lengthscale.squared_norm(h)),
            Self::Hamming(_) => h.iter().all(|&width| width == 0.0).then_some(0.0),
            Self::Sum(terms) => terms.iter().map(|term| term.squared_metric_over_cell(h)).sum(),
            Self::Product(factors) => {
                // v₁d₂² + v₂d₁² − d₁²d₂²/2 grows in both metrics while no factor is negative, so their suprema may be put in.
                let mut variance = 1.0;
                let mut squared = 0.0;
                for factor in factors {
                    let other_variance = factor.is_stationary().then(|| factor.max_variance()).flatten()?;
                    let other = factor.squared_metric_over_cell(h)?;
                    squared = (other_variance - 0.5 * other) * squared + variance * other;
                    variance *= other_variance;
                }
                Some(squared)
            }
            Self::Columns { columns, kernel } => kernel.squared_metric_over_cell(&gathered(h, columns)),
        }
    }

    /// The constant $L_0$ of $d_k(x,z)\le\sqrt{k_{\max}}\,L_0\,\rho$: 1 for the squared-exponential and rational quadratic kernels,
    /// $\sqrt{\nu/(\nu-1)}$ for Matérn with $\nu>1$; `None` for every other kernel. Cost O(1).
    #[must_use]
    pub fn metric_lipschitz(&self) -> Option<f64> {
        match self {
            Self::SquaredExponential(_) | Self::RationalQuadratic(_) => Some(1.0),
            Self::Matern(kernel) if kernel.nu > 1.0 => Some((kernel.nu / (kernel.nu - 1.0)).sqrt()),
            _ => None,
        }
    }
}

fn combined(pairs: impl Iterator<Item = Pair>, join: impl Fn(Pair, Pair) -> Pair) -> Pair {
    pairs.reduce(join).unwrap_or(Pair { cross: 0.0, mean: 0.0, half_difference: 0.0, squared_metric: 0.0 })
}
