//! Prepared kernels that are functions of a distance.

use super::coordinates::Coordinates;
use super::exp::Decay;
use super::profile::{self, Profile};
use super::tile::{Gradient, Rows};
use super::{Lengthscale, Matern, Periodic, RationalQuadratic, SquaredExponential};
use crate::points::PointsRef;
use pulp::Arch;
use std::f64::consts::LOG2_E;

/// A function of the squared distance $t$ in the units that make it cheapest.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// $v\,2^{-t}$, so $t=\rho^2\log_2(e)/2$.
    SquaredExponential,
    /// $v\,2^{-\sqrt t}$: Matérn ½, $\sqrt t=r\log_2e$.
    Matern12,
    /// $v\,(1+r)2^{-\sqrt t}$: Matérn 3/2, $\sqrt t=r\log_2e$.
    Matern32,
    /// $v\,(1+r+r^2/3)2^{-\sqrt t}$: Matérn 5/2, $\sqrt t=r\log_2e$.
    Matern52,
    /// Matérn of another order; $t=\rho^2$.
    Matern(Matern),
    /// Rational quadratic; $t=\rho^2$.
    RationalQuadratic(RationalQuadratic),
}

/// A shape, and points in its units.
#[derive(Clone, Debug)]
pub(super) struct Radial {
    pub(super) shape: Shape,
    pub(super) coordinates: Coordinates,
    pub(super) variance: f64,
    /// $t=$ `unit` $\cdot\rho^2$.
    pub(super) unit: f64,
    /// For each coordinate, the parameter that scales it.
    pub(super) slots: Vec<usize>,
    /// Number of length-scales.
    pub(super) lengths: usize,
}

impl Radial {
    pub(super) fn squared_exponential(kernel: &SquaredExponential, z: PointsRef<'_>, columns: &[usize]) -> Self {
        let unit: f64 = 0.5 * LOG2_E;
        let coordinates = Coordinates::raw(z, columns, &kernel.lengthscale, unit.sqrt());
        Self::new(Shape::SquaredExponential, coordinates, kernel.variance, unit, &kernel.lengthscale)
    }

    pub(super) fn matern(kernel: &Matern, z: PointsRef<'_>, columns: &[usize]) -> Self {
        let base_two = 2.0 * kernel.nu * LOG2_E * LOG2_E;
        let (shape, unit) = if kernel.nu == 0.5 {
            (Shape::Matern12, base_two)
        } else if kernel.nu == 1.5 {
            (Shape::Matern32, base_two)
        } else if kernel.nu == 2.5 {
            (Shape::Matern52, base_two)
        } else {
            (Shape::Matern(kernel.clone()), 1.0)
        };
        let coordinates = Coordinates::raw(z, columns, &kernel.lengthscale, unit.sqrt());
        Self::new(shape, coordinates, kernel.variance, unit, &kernel.lengthscale)
    }

    pub(super) fn rational_quadratic(kernel: &RationalQuadratic, z: PointsRef<'_>, columns: &[usize]) -> Self {
        let coordinates = Coordinates::raw(z, columns, &kernel.lengthscale, 1.0);
        Self::new(Shape::RationalQuadratic(kernel.clone()), coordinates, kernel.variance, 1.0, &kernel.lengthscale)
    }

    /// The periodic kernel is squared-exponential in the distance of points on circles.
    pub(super) fn periodic(kernel: &Periodic, z: PointsRef<'_>, columns: &[usize]) -> Self {
        let unit: f64 = 0.5 * LOG2_E;
        let coordinates = Coordinates::circles(z, columns, kernel, unit.sqrt());
        Self::new(Shape::SquaredExponential, coordinates, kernel.variance, unit, &kernel.lengthscale)
    }

    fn new(shape: Shape, coordinates: Coordinates, variance: f64, unit: f64, lengthscale: &Lengthscale) -> Self {
        let slots = (0..coordinates.count()).map(|c| lengthscale.slot(coordinates.source(c))).collect();
        Self { shape, coordinates, variance, unit, slots, lengths: lengthscale.values().len() }
    }

    /// Writes $k(x_i,z_j)$ row by row.
    pub(super) fn rows_into(&self, x: PointsRef<'_>, out: &mut [f64]) {
        let decay = Decay::new(self.variance);
        match &self.shape {
            Shape::SquaredExponential => self.run(profile::SquaredExponential(decay), x, out),
            Shape::Matern12 => self.run(profile::Matern12(decay), x, out),
            Shape::Matern32 => self.run(profile::Matern32(decay), x, out),
            Shape::Matern52 => self.run(profile::Matern52(decay), x, out),
            Shape::Matern(kernel) => {
                self.distances_into(x, out);
                out.iter_mut().for_each(|t| *t = kernel.at(*t));
            }
            Shape::RationalQuadratic(kernel) => {
                self.distances_into(x, out);
                out.iter_mut().for_each(|t| *t = kernel.at(*t));
            }
        }
    }

    /// Writes the squared distances $t$ row by row.
    pub(super) fn distances_into(&self, x: PointsRef<'_>, out: &mut [f64]) {
        self.run(profile::Distance, x, out);
    }

    fn run(&self, profile: impl Profile, x: PointsRef<'_>, out: &mut [f64]) {
        Arch::new().dispatch(Rows { coordinates: &self.coordinates, profile, x, out });
    }

    /// Adds $\sum_{ij}W_{ij}\,\partial k/\partial\ln\theta$ over all rows of `x`: with respect to the length-scales
    /// $-2\frac{\partial k}{\partial\rho^2}\bigl(\frac{x_c-z_c}{\ell_c}\bigr)^2$, then $\alpha$ if there is one, then the variance.
    pub(super) fn gradient(&self, x: PointsRef<'_>, weights: &[f64], grad: &mut [f64]) {
        let decay = Decay::new(self.variance);
        match &self.shape {
            Shape::SquaredExponential => self.run_gradient(profile::SquaredExponential(decay), x, weights, grad),
            Shape::Matern12 => self.run_gradient(profile::Matern12(decay), x, weights, grad),
            Shape::Matern32 => self.run_gradient(profile::Matern32(decay), x, weights, grad),
            Shape::Matern52 => self.run_gradient(profile::Matern52(decay), x, weights, grad),
            Shape::Matern(kernel) => {
                self.scalar_gradient(x, weights, grad, |t| (kernel.at(t), kernel.slope(t), 0.0));
            }
            Shape::RationalQuadratic(kernel) => {
                self.scalar_gradient(x, weights, grad, |t| (kernel.at(t), kernel.slope(t), kernel.alpha_slope(t)));
            }
        }
    }

    fn run_gradient(&self, profile: impl Profile, x: PointsRef<'_>, weights: &[f64], grad: &mut [f64]) {
        let mut sums = vec![0.0; self.coordinates.count() + 1];
        Arch::new().dispatch(Gradient { coordinates: &self.coordinates, profile, x, weights, sums: &mut sums });
        for (c, sum) in sums[..self.slots.len()].iter().enumerate() {
            grad[self.slots[c]] += sum / self.unit;
        }
        if let (Some(variance), Some(total)) = (grad.last_mut(), sums.last()) {
            *variance += total;
        }
    }

    /// As `run_gradient`, for shapes that are computed entry by entry: value, slope and the slope in the extra parameter.
    fn scalar_gradient(&self, x: PointsRef<'_>, weights: &[f64], grad: &mut [f64], at: impl Fn(f64) -> (f64, f64, f64)) {
        let mut point = vec![0.0; self.coordinates.count()];
        let mut distances = vec![0.0; self.coordinates.len()];
        let last = grad.len() - 1;
        for (i, weights) in weights.chunks_exact(distances.len()).enumerate() {
            self.coordinates.map_into(x.row(i), &mut point);
            self.distances_into(x.range(i, i + 1), &mut distances);
            for (j, (&w, &t)) in weights.iter().zip(&distances).enumerate() {
                let (value, slope, extra) = at(t);
                grad[last] += w * value;
                if self.lengths < last {
                    grad[self.lengths] += w * extra;
                }
                for (c, a) in point.iter().enumerate() {
                    let difference = (a - self.coordinates.get(c, j)) * self.coordinates.factors()[c];
                    grad[self.slots[c]] += w * slope / self.unit * difference.powi(2);
                }
            }
        }
    }
}
