//! Derivatives with respect to the logarithms of the parameters.

use super::coordinates::Coordinates;
use super::prepared::{Node, PreparedKernel};
use super::radial::{Radial, Shape};
use super::{Hamming, Kernel, Linear, Periodic, compose::gathered};
use crate::points::PointsRef;
use std::f64::consts::PI;

impl PreparedKernel {
    /// Adds $\sum_{ij}W_{ij}\,\partial k(x_i,z_j)/\partial\ln\theta_p$ to `grad[p]` for all parameters, in one pass on one thread.
    /// `adjoint[i * m + j]` is $W_{ij}$. Cost: a few times [`PreparedKernel::rows_into`].
    ///
    /// # Panics
    /// If `adjoint` has not n·m entries, `grad` not one for each parameter, or the points another number of columns: mistakes of the caller.
    pub fn gradient_rows(&self, x: PointsRef<'_>, adjoint: &[f64], grad: &mut [f64]) {
        self.check(x, adjoint.len());
        assert_eq!(grad.len(), self.parameters, "one entry for each parameter is needed");
        if self.is_empty() {
            return;
        }
        self.node.gradient(x, adjoint, grad);
    }
}

impl Node {
    pub(super) fn parameter_count(&self) -> usize {
        match self {
            Self::Radial(radial) => radial.lengths + 1 + usize::from(matches!(radial.shape, Shape::RationalQuadratic(_))),
            Self::Periodic { radial, kernel, .. } => radial.lengths + kernel.period.values().len() + 1,
            Self::Linear { kernel, .. } => kernel.lengthscale.values().len() + 1 + usize::from(kernel.offset > 0.0),
            Self::Hamming { kernel, .. } => kernel.lengthscale.values().len() + 1,
            Self::Sum(parts) | Self::Product(parts) => parts.iter().map(Self::parameter_count).sum(),
        }
    }

    /// Adds the derivatives of $\sum_{ij}w_{ij}k(x_i,z_j)$. Radial kernels take all rows at once and keep their sums in vectors; everything else goes row by row.
    fn gradient(&self, x: PointsRef<'_>, weights: &[f64], grad: &mut [f64]) {
        match self {
            Self::Radial(radial) => radial.gradient(x, weights, grad),
            Self::Sum(parts) => {
                let mut start = 0;
                for part in parts {
                    let end = start + part.parameter_count();
                    part.gradient(x, weights, &mut grad[start..end]);
                    start = end;
                }
            }
            _ => {
                for (i, weights) in weights.chunks_exact(weights.len() / x.len()).enumerate() {
                    self.row_gradient(x.range(i, i + 1), weights, grad);
                }
            }
        }
    }

    /// The same for one point `x`.
    fn row_gradient(&self, x: PointsRef<'_>, weights: &[f64], grad: &mut [f64]) {
        match self {
            Self::Radial(_) | Self::Sum(_) => self.gradient(x, weights, grad),
            Self::Periodic { radial, kernel, raw } => periodic_gradient(radial, kernel, raw, x, weights, grad),
            Self::Linear { kernel, coordinates } => linear_gradient(kernel, coordinates, x.row(0), weights, grad),
            Self::Hamming { kernel, coordinates } => hamming_gradient(kernel, coordinates, x.row(0), weights, grad),
            Self::Product(parts) => {
                let m = weights.len();
                let mut values = vec![0.0; parts.len() * m];
                parts.iter().zip(values.chunks_exact_mut(m)).for_each(|(part, row)| part.rows_into(x, m, row));
                let mut start = 0;
                for (p, part) in parts.iter().enumerate() {
                    // ∂(Πk_q) = (Π_{q≠p} k_q) ∂k_p, and the product goes into the weights.
                    let mut others = weights.to_vec();
                    for (_, row) in values.chunks_exact(m).enumerate().filter(|&(q, _)| q != p) {
                        others.iter_mut().zip(row).for_each(|(w, k)| *w *= k);
                    }
                    let end = start + part.parameter_count();
                    part.row_gradient(x, &others, &mut grad[start..end]);
                    start = end;
                }
            }
        }
    }
}

fn periodic_gradient(radial: &Radial, kernel: &Periodic, raw: &Coordinates, x: PointsRef<'_>, weights: &[f64], grad: &mut [f64]) {
    let (lengths, rest) = grad.split_at_mut(radial.lengths);
    let mut partial = vec![0.0; radial.lengths + 1];
    radial.gradient(x, weights, &mut partial);
    lengths.iter_mut().zip(&partial).for_each(|(g, p)| *g += p);
    if let (Some(variance), Some(total)) = (rest.last_mut(), partial.last()) {
        *variance += total;
    }
    // ∂k/∂ln p = k · 2 sin(2πδ/p) (πδ/p)/ℓ², the sine of a difference by the coordinates on the circle: no sine for each pair.
    let mut weighted = vec![0.0; weights.len()];
    radial.rows_into(x, &mut weighted);
    weighted.iter_mut().zip(weights).for_each(|(k, w)| *k *= w);
    let mut circle = vec![0.0; radial.coordinates.count()];
    radial.coordinates.map_into(x.row(0), &mut circle);
    let mut point = vec![0.0; raw.count()];
    raw.map_into(x.row(0), &mut point);
    for (c, a) in point.iter().enumerate() {
        let turns = 2.0 * PI * radial.coordinates.factors()[2 * c].powi(2) / (kernel.period.get(c) * radial.unit);
        let (cosine, sine) = (circle[2 * c], circle[2 * c + 1]);
        let mut sum = 0.0;
        for (j, w) in weighted.iter().enumerate() {
            let product = sine * radial.coordinates.get(2 * c, j) - cosine * radial.coordinates.get(2 * c + 1, j);
            sum += w * product * (a - raw.get(c, j));
        }
        rest[kernel.period.slot(c)] += turns * sum;
    }
}

/// $\partial k/\partial\ln\ell_c=-2v\,\tilde x_c\tilde z_c$, $\partial k/\partial\ln b=vb$.
fn linear_gradient(kernel: &Linear, coordinates: &Coordinates, x: &[f64], weights: &[f64], grad: &mut [f64]) {
    let mut point = vec![0.0; coordinates.count()];
    coordinates.map_into(x, &mut point);
    let offset = kernel.variance * kernel.offset * weights.iter().sum::<f64>();
    let mut total = offset;
    for (c, &a) in point.iter().enumerate() {
        let sum: f64 = weights.iter().enumerate().map(|(j, w)| w * coordinates.get(c, j)).sum();
        let term = kernel.variance * a * sum;
        grad[kernel.lengthscale.slot(c)] -= 2.0 * term;
        total += term;
    }
    if kernel.offset > 0.0 {
        grad[kernel.lengthscale.values().len()] += offset;
    }
    if let Some(variance) = grad.last_mut() {
        *variance += total;
    }
}

/// $\partial k/\partial\ln\ell_c=k\,[x_c\ne z_c]/\ell_c$.
fn hamming_gradient(kernel: &Hamming, coordinates: &Coordinates, x: &[f64], weights: &[f64], grad: &mut [f64]) {
    let mut point = vec![0.0; coordinates.count()];
    coordinates.map_into(x, &mut point);
    for (j, w) in weights.iter().enumerate() {
        let cost = |c: usize, a: f64| if a == coordinates.get(c, j) { 0.0 } else { 1.0 / kernel.lengthscale.get(c) };
        let disagreement: f64 = point.iter().enumerate().map(|(c, &a)| cost(c, a)).sum();
        let weighted = w * kernel.at(disagreement);
        for (c, &a) in point.iter().enumerate() {
            grad[kernel.lengthscale.slot(c)] += weighted * cost(c, a);
        }
        if let Some(variance) = grad.last_mut() {
            *variance += weighted;
        }
    }
}

impl Kernel {
    /// Adds $\sum_iw_i\,\partial k(x_i,x_i)/\partial\ln\theta_p$ to `grad[p]`. Cost O(n), with a linear part O(nd).
    ///
    /// Meant for points that passed [`Kernel::check_dim`].
    ///
    /// # Panics
    /// If `adjoint` has not one entry for each point or `grad` not one for each parameter: mistakes of the caller.
    pub fn gradient_diagonal(&self, x: PointsRef<'_>, adjoint: &[f64], grad: &mut [f64]) {
        assert_eq!(adjoint.len(), x.len(), "one weight for each point is needed");
        assert_eq!(grad.len(), self.parameter_count(), "one entry for each parameter is needed");
        let mut partial = vec![0.0; grad.len()];
        for (point, w) in x.rows().zip(adjoint) {
            self.gradient_value(point, point, &mut partial);
            grad.iter_mut().zip(&partial).for_each(|(g, p)| *g += w * p);
        }
    }

    /// Writes $\partial k(x,z)/\partial\ln\theta_p$ into `grad[p]`. Cost O(d) per part.
    ///
    /// Meant for points that passed [`Kernel::check_dim`].
    ///
    /// # Panics
    /// If `grad` has not one entry for each parameter: a mistake of the caller.
    pub fn gradient_value(&self, x: &[f64], z: &[f64], grad: &mut [f64]) {
        assert_eq!(grad.len(), self.parameter_count(), "one entry for each parameter is needed");
        grad.fill(0.0);
        match self {
            Self::Sum(parts) => {
                let mut start = 0;
                for part in parts {
                    let end = start + part.parameter_count();
                    part.gradient_value(x, z, &mut grad[start..end]);
                    start = end;
                }
            }
            Self::Product(parts) => {
                let values: Vec<f64> = parts.iter().map(|part| part.value(x, z)).collect();
                let mut start = 0;
                for (p, part) in parts.iter().enumerate() {
                    let others: f64 = values.iter().enumerate().filter(|&(q, _)| q != p).map(|(_, k)| k).product();
                    let end = start + part.parameter_count();
                    part.gradient_value(x, z, &mut grad[start..end]);
                    grad[start..end].iter_mut().for_each(|g| *g *= others);
                    start = end;
                }
            }
            Self::Columns { columns, kernel } => kernel.gradient_value(&gathered(x, columns), &gathered(z, columns), grad),
            _ => self.leaf_gradient(x, z, grad),
        }
    }

    fn leaf_gradient(&self, x: &[f64], z: &[f64], grad: &mut [f64]) {
        let last = grad.len() - 1;
        grad[last] = self.value(x, z);
        let (lengthscale, slope) = match self {
            Self::SquaredExponential(kernel) => (&kernel.lengthscale, kernel.slope(kernel.lengthscale.squared_distance(x, z))),
            Self::Matern(kernel) => (&kernel.lengthscale, kernel.slope(kernel.lengthscale.squared_distance(x, z))),
            Self::RationalQuadratic(kernel) => {
                let squared = kernel.lengthscale.squared_distance(x, z);
                grad[last - 1] = kernel.alpha_slope(squared);
                (&kernel.lengthscale, kernel.slope(squared))
            }
            Self::Periodic(kernel) => {
                let start = kernel.lengthscale.values().len();
                let value = grad[last];
                for (c, (a, b)) in x.iter().zip(z).enumerate() {
                    grad[kernel.lengthscale.slot(c)] += value * kernel.squared_chord(c, a - b);
                    grad[start + kernel.period.slot(c)] += value * kernel.period_slope(c, a - b);
                }
                return;
            }
            Self::Linear(kernel) => {
                for (c, (a, b)) in x.iter().zip(z).enumerate() {
                    grad[kernel.lengthscale.slot(c)] -= 2.0 * kernel.variance * a * b / kernel.lengthscale.get(c).powi(2);
                }
                if kernel.offset > 0.0 {
                    grad[last - 1] = kernel.variance * kernel.offset;
                }
                return;
            }
            Self::Hamming(kernel) => {
                let value = grad[last];
                for (c, _) in x.iter().zip(z).enumerate().filter(|(_, (a, b))| a != b) {
                    grad[kernel.lengthscale.slot(c)] += value / kernel.lengthscale.get(c);
                }
                return;
            }
            Self::Sum(_) | Self::Product(_) | Self::Columns { .. } => return,
        };
        for (c, (a, b)) in x.iter().zip(z).enumerate() {
            grad[lengthscale.slot(c)] += slope * ((a - b) / lengthscale.get(c)).powi(2);
        }
    }
}
