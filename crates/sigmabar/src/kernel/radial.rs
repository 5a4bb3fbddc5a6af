//! Prepared kernels that are functions of a distance.

use super::coordinates::Coordinates;
use super::{Lengthscale, Matern, Periodic, RationalQuadratic, SquaredExponential};
use crate::points::PointsRef;
use std::f64::consts::{LN_2, LOG2_E};

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
        let coordinates = Coordinates::scaled(z, columns, &kernel.lengthscale, unit.sqrt());
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
        let coordinates = Coordinates::scaled(z, columns, &kernel.lengthscale, unit.sqrt());
        Self::new(shape, coordinates, kernel.variance, unit, &kernel.lengthscale)
    }

    pub(super) fn rational_quadratic(kernel: &RationalQuadratic, z: PointsRef<'_>, columns: &[usize]) -> Self {
        let coordinates = Coordinates::scaled(z, columns, &kernel.lengthscale, 1.0);
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
        let mut point = vec![0.0; self.coordinates.count()];
        for (row, entries) in x.rows().zip(out.chunks_exact_mut(self.coordinates.len().max(1))) {
            self.coordinates.map_into(row, &mut point);
            self.distances_into(&point, entries);
            entries.iter_mut().for_each(|t| *t = self.value_and_slope(*t).0);
        }
    }

    /// Squared distances $t$ of one point, given in coordinates.
    pub(super) fn distances_into(&self, point: &[f64], entries: &mut [f64]) {
        entries.fill(0.0);
        for (c, &a) in point.iter().enumerate() {
            entries.iter_mut().zip(self.coordinates.column(c)).for_each(|(t, &b)| *t += (a - b) * (a - b));
        }
    }

    /// $k$ and $-2\,\partial k/\partial\rho^2$ at squared distance $t$.
    pub(super) fn value_and_slope(&self, t: f64) -> (f64, f64) {
        let v = self.variance;
        match &self.shape {
            Shape::SquaredExponential => {
                let value = v * (-t).exp2();
                (value, value)
            }
            Shape::Matern12 => {
                let root = t.sqrt();
                let value = v * (-root).exp2();
                // At distance 0 the slope is infinite but multiplies a distance of 0: their product is 0.
                (value, if root > 0.0 { value / (root * LN_2) } else { 0.0 })
            }
            Shape::Matern32 => {
                let root = t.sqrt();
                let decay = v * (-root).exp2();
                ((1.0 + LN_2 * root) * decay, 3.0 * decay)
            }
            Shape::Matern52 => {
                let r = LN_2 * t.sqrt();
                let decay = v * (-t.sqrt()).exp2();
                ((1.0 + r + r * r / 3.0) * decay, 5.0 / 3.0 * (1.0 + r) * decay)
            }
            Shape::Matern(kernel) => (kernel.at(t), kernel.slope(t)),
            Shape::RationalQuadratic(kernel) => (kernel.at(t), kernel.slope(t)),
        }
    }
}
