//! Points made ready: the columns a kernel sees, stored in tiles that hold column after column.
//!
//! Distances are of *differences*, taken before anything is scaled: $x_i-z_i$ is right to half a unit in its own last place however far from 0 the points
//! lie, whereas $x_i/\ell_i-z_i/\ell_i$ has lost all digits once $|x_i|/\ell_i$ nears $1/\varepsilon$ (timestamps in nanoseconds).

use super::{Lengthscale, Periodic, periodic::reduced};
use crate::points::PointsRef;
use std::f64::consts::PI;

/// Points in a tile: four of the widest vectors there are.
pub(super) const TILE: usize = 32;

/// How a point becomes coordinates.
#[derive(Clone, Debug)]
enum Map {
    /// $x_i$ itself.
    Raw,
    /// $x_i/\ell_i$, for inner products.
    Scaled,
    /// $(\cos,\sin)(2\pi x_i/p_i)$: squared distances are $4\sin^2(\pi(x_i-z_i)/p_i)$.
    Circle {
        /// The period of each column.
        period: Vec<f64>,
    },
}

/// The points $z_1,\dots,z_m$ in the coordinates of one kernel.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    map: Map,
    /// Columns of the points, in the kernel's order.
    columns: Vec<usize>,
    /// One over the length of each column, times a factor.
    scale: Vec<f64>,
    /// What differences of each coordinate are multiplied with.
    factors: Vec<f64>,
    /// Tile after tile of [`TILE`] points, in each coordinate after coordinate: the inner loops read memory in order. Zeros after the last point.
    values: Vec<f64>,
    len: usize,
}

impl Coordinates {
    /// $x_i$, whose differences are multiplied with `factor`$/\ell_i$.
    pub(super) fn raw(z: PointsRef<'_>, columns: &[usize], lengthscale: &Lengthscale, factor: f64) -> Self {
        Self::with_map(Map::Raw, z, columns, lengthscale, factor)
    }

    /// $x_i/\ell_i$.
    pub(super) fn scaled(z: PointsRef<'_>, columns: &[usize], lengthscale: &Lengthscale) -> Self {
        Self::with_map(Map::Scaled, z, columns, lengthscale, 1.0)
    }

    /// Points on circles, for the periodic kernel.
    pub(super) fn circles(z: PointsRef<'_>, columns: &[usize], kernel: &Periodic, factor: f64) -> Self {
        let map = Map::Circle { period: kernel.period.expanded(columns.len()) };
        Self::with_map(map, z, columns, &kernel.lengthscale, factor)
    }

    fn with_map(map: Map, z: PointsRef<'_>, columns: &[usize], lengthscale: &Lengthscale, factor: f64) -> Self {
        let len = z.len();
        let scale: Vec<f64> = lengthscale.expanded(columns.len()).iter().map(|length| factor / length).collect();
        let mut coordinates = Self { map, columns: columns.to_vec(), scale, factors: Vec::new(), values: Vec::new(), len };
        let count = coordinates.count();
        coordinates.factors = (0..count).map(|c| coordinates.scale[coordinates.source(c)]).collect();
        let mut values = vec![0.0; count * len.next_multiple_of(TILE)];
        let mut point = vec![0.0; count];
        for (j, row) in z.rows().enumerate() {
            coordinates.map_into(row, &mut point);
            for (c, &value) in point.iter().enumerate() {
                values[(j / TILE * count + c) * TILE + j % TILE] = value;
            }
        }
        coordinates.values = values;
        coordinates
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Number of coordinates of a point.
    pub(super) fn count(&self) -> usize {
        match self.map {
            Map::Raw | Map::Scaled => self.columns.len(),
            Map::Circle { .. } => 2 * self.columns.len(),
        }
    }

    /// The kernel's column that coordinate `c` comes from.
    pub(super) fn source(&self, c: usize) -> usize {
        match self.map {
            Map::Raw | Map::Scaled => c,
            Map::Circle { .. } => c / 2,
        }
    }

    /// What differences of each coordinate are multiplied with.
    pub(super) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// The tiles in order, each with [`TILE`] entries for each coordinate.
    pub(super) fn tiles(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.count() * TILE)
    }

    /// Coordinate `c` of point `j`.
    pub(super) fn get(&self, c: usize, j: usize) -> f64 {
        self.values[(j / TILE * self.count() + c) * TILE + j % TILE]
    }

    /// The coordinates of one point, by the very operations that were applied to the stored ones.
    pub(super) fn map_into(&self, point: &[f64], out: &mut [f64]) {
        match &self.map {
            Map::Raw => out.iter_mut().zip(&self.columns).for_each(|(value, &column)| *value = point[column]),
            Map::Scaled => {
                for ((value, &column), &scale) in out.iter_mut().zip(&self.columns).zip(&self.scale) {
                    *value = point[column] * scale;
                }
            }
            Map::Circle { period } => {
                for (i, pair) in out.chunks_exact_mut(2).enumerate() {
                    let angle = 2.0 * PI * reduced(point[self.columns[i]], period[i]) / period[i];
                    let (sine, cosine) = angle.sin_cos();
                    (pair[0], pair[1]) = (cosine, sine);
                }
            }
        }
    }
}
