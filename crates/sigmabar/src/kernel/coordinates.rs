//! Points made ready: the columns a kernel sees, scaled, and stored in tiles that hold column after column.

use super::{Lengthscale, Periodic, periodic::reduced};
use crate::points::PointsRef;
use std::f64::consts::PI;

/// Points in a tile: four of the widest vectors there are.
pub(super) const TILE: usize = 32;

/// How a point becomes coordinates.
#[derive(Clone, Debug)]
enum Map {
    /// $x_i/\ell_i$ times a factor.
    Scaled,
    /// $(\cos,\sin)(2\pi x_i/p_i)/\ell_i$ times a factor: squared distances are then $4\sin^2(\pi(x_i-z_i)/p_i)/\ell_i^2$ times its square.
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
    /// What each column is multiplied with.
    scale: Vec<f64>,
    /// Tile after tile of [`TILE`] points, in each coordinate after coordinate: the inner loops read memory in order. Zeros after the last point.
    values: Vec<f64>,
    len: usize,
}

impl Coordinates {
    /// $x_i\cdot$`factor`$/\ell_i$.
    pub(super) fn scaled(z: PointsRef<'_>, columns: &[usize], lengthscale: &Lengthscale, factor: f64) -> Self {
        Self::with_map(Map::Scaled, z, columns, lengthscale, factor)
    }

    /// Points on circles, for the periodic kernel.
    pub(super) fn circles(z: PointsRef<'_>, columns: &[usize], kernel: &Periodic, factor: f64) -> Self {
        let map = Map::Circle { period: kernel.period.expanded(columns.len()) };
        Self::with_map(map, z, columns, &kernel.lengthscale, factor)
    }

    fn with_map(map: Map, z: PointsRef<'_>, columns: &[usize], lengthscale: &Lengthscale, factor: f64) -> Self {
        let len = z.len();
        let scale: Vec<f64> = lengthscale.expanded(columns.len()).iter().map(|length| factor / length).collect();
        let mut coordinates = Self { map, columns: columns.to_vec(), scale, values: Vec::new(), len };
        let count = coordinates.count();
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
            Map::Scaled => self.columns.len(),
            Map::Circle { .. } => 2 * self.columns.len(),
        }
    }

    /// The kernel's column that coordinate `c` comes from.
    pub(super) fn source(&self, c: usize) -> usize {
        match self.map {
            Map::Scaled => c,
            Map::Circle { .. } => c / 2,
        }
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
            Map::Scaled => {
                for ((value, &column), &scale) in out.iter_mut().zip(&self.columns).zip(&self.scale) {
                    *value = point[column] * scale;
                }
            }
            Map::Circle { period } => {
                for (i, pair) in out.chunks_exact_mut(2).enumerate() {
                    let angle = 2.0 * PI * reduced(point[self.columns[i]], period[i]) / period[i];
                    let (sine, cosine) = angle.sin_cos();
                    pair[0] = cosine * self.scale[i];
                    pair[1] = sine * self.scale[i];
                }
            }
        }
    }

    /// The columns of a point that the kernel sees, as they are.
    pub(super) fn gather_into(&self, point: &[f64], out: &mut [f64]) {
        for (value, &column) in out.iter_mut().zip(&self.columns) {
            *value = point[column];
        }
    }
}
