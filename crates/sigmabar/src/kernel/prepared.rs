//! A kernel with one side fixed: the points $z$ are transposed once, then rows $k(x,z_1),\dots,k(x,z_m)$ are cheap.

use super::coordinates::{Coordinates, TILE};
use super::exp::exp_in_place;
use super::radial::Radial;
use super::{Hamming, Kernel, Linear, Periodic};
use crate::error::Result;
use crate::points::PointsRef;
use pulp::Arch;
use rayon::prelude::*;
use sigmabar_linalg::{check_interrupt, parallel};

/// Rows that one task computes: fixed, so that the work is cut the same way for every number of threads.
const CHUNK: usize = 64;
/// Fewer values are computed before another thread is awake.
pub(super) const PARALLEL_ENTRIES: usize = 1 << 12;
/// Entries of a sum's or product's part that are computed before they are joined to the others.
const CACHED: usize = 4096;

/// A kernel and points $z_1,\dots,z_m$, made ready by [`Kernel::prepare`]. It owns all it needs.
#[derive(Clone, Debug)]
pub struct PreparedKernel {
    pub(super) node: Node,
    pub(super) parameters: usize,
    dim: usize,
    len: usize,
}

/// A part of a prepared kernel.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A function of the distance.
    Radial(Radial),
    /// Distances on circles, and the points as they are for the slope in the period.
    Periodic { radial: Radial, kernel: Periodic, raw: Coordinates },
    /// Inner products.
    Linear { kernel: Linear, coordinates: Coordinates },
    /// Disagreements.
    Hamming { kernel: Hamming, coordinates: Coordinates },
    /// The sum of the parts.
    Sum(Vec<Node>),
    /// The product of the parts.
    Product(Vec<Node>),
}

impl Kernel {
    /// Transposes the points $z$ once, for many rows. Cost O(md) time and memory for each part.
    ///
    /// # Errors
    /// As [`Kernel::check_dim`].
    pub fn prepare(&self, z: PointsRef<'_>) -> Result<PreparedKernel> {
        self.check_dim(z.dim())?;
        let columns: Vec<usize> = (0..z.dim()).collect();
        Ok(PreparedKernel { node: Node::new(self, z, &columns), parameters: self.parameter_count(), dim: z.dim(), len: z.len() })
    }
}

impl PreparedKernel {
    /// Number $m$ of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no point.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of columns of a point.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of parameters, the length of a gradient.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        self.parameters
    }

    /// Writes `out[i * m + j]` $=k(x_i,z_j)$ on one thread. A row is the same to the last bit whatever rows are computed with it. Cost O(nmd).
    ///
    /// # Panics
    /// If `out` has not n·m entries or the points have another number of columns: mistakes of the caller.
    pub fn rows_into(&self, x: PointsRef<'_>, out: &mut [f64]) {
        self.check(x, out.len());
        self.node.rows_into(x, self.len, out);
    }

    /// As [`PreparedKernel::rows_into`], in parallel over chunks of rows; the same bits.
    ///
    /// # Panics
    /// As [`PreparedKernel::rows_into`].
    pub fn par_rows_into(&self, x: PointsRef<'_>, out: &mut [f64]) {
        self.check(x, out.len());
        if out.is_empty() {
            return;
        }
        if out.len() < PARALLEL_ENTRIES || x.len() <= CHUNK {
            check_interrupt();
            return self.node.rows_into(x, self.len, out);
        }
        parallel(|watch| {
            out.par_chunks_mut(CHUNK * self.len).enumerate().for_each(|(chunk, rows)| {
                watch.check();
                let start = chunk * CHUNK;
                self.node.rows_into(x.range(start, start + rows.len() / self.len), self.len, rows);
            });
        });
    }

    /// The loop of [`PreparedKernel::rows_into`] for one radial kernel with the function of the distance left out: what the benchmark compares with.
    /// False, and nothing written, for other kernels.
    #[doc(hidden)]
    pub fn distances_into(&self, x: PointsRef<'_>, out: &mut [f64]) -> bool {
        self.check(x, out.len());
        match &self.node {
            Node::Radial(radial) => radial.distances_into(x, out),
            _ => return false,
        }
        true
    }

    pub(super) fn check(&self, x: PointsRef<'_>, entries: usize) {
        assert_eq!(x.dim(), self.dim, "the points must have as many columns as the prepared ones");
        assert_eq!(entries, x.len() * self.len, "one entry for each pair of points is needed");
    }
}

impl Node {
    fn new(kernel: &Kernel, z: PointsRef<'_>, columns: &[usize]) -> Self {
        match kernel {
            Kernel::SquaredExponential(kernel) => Self::Radial(Radial::squared_exponential(kernel, z, columns)),
            Kernel::Matern(kernel) => Self::Radial(Radial::matern(kernel, z, columns)),
            Kernel::RationalQuadratic(kernel) => Self::Radial(Radial::rational_quadratic(kernel, z, columns)),
            Kernel::Periodic(kernel) => Self::Periodic {
                radial: Radial::periodic(kernel, z, columns),
                kernel: kernel.clone(),
                raw: Coordinates::raw(z, columns, &1.0.into(), 1.0),
            },
            Kernel::Linear(kernel) => {
                Self::Linear { kernel: kernel.clone(), coordinates: Coordinates::scaled(z, columns, &kernel.lengthscale) }
            }
            Kernel::Hamming(kernel) => {
                Self::Hamming { kernel: kernel.clone(), coordinates: Coordinates::raw(z, columns, &1.0.into(), 1.0) }
            }
            Kernel::Sum(parts) => Self::Sum(parts.iter().map(|part| Self::new(part, z, columns)).collect()),
            Kernel::Product(parts) => Self::Product(parts.iter().map(|part| Self::new(part, z, columns)).collect()),
            Kernel::Columns { columns: chosen, kernel } => {
                let columns: Vec<usize> = chosen.iter().map(|&column| columns[column]).collect();
                Self::new(kernel, z, &columns)
            }
        }
    }

    /// Writes $k(x_i,z_j)$ row by row.
    pub(super) fn rows_into(&self, x: PointsRef<'_>, len: usize, out: &mut [f64]) {
        match self {
            Self::Radial(radial) | Self::Periodic { radial, .. } => radial.rows_into(x, out),
            Self::Linear { kernel, coordinates } => linear_rows(kernel, coordinates, x, out),
            Self::Hamming { kernel, coordinates } => hamming_rows(kernel, coordinates, x, out),
            Self::Sum(parts) => combine_rows(parts, x, len, out, |a, b| a + b),
            Self::Product(parts) => combine_rows(parts, x, len, out, |a, b| a * b),
        }
    }
}

fn combine_rows(parts: &[Node], x: PointsRef<'_>, len: usize, out: &mut [f64], join: impl Fn(f64, f64) -> f64) {
    let Some((first, rest)) = parts.split_first() else { return out.fill(0.0) };
    first.rows_into(x, len, out);
    if rest.is_empty() || len == 0 {
        return;
    }
    // Some rows at a time, so that the second part stays in the cache.
    let rows = (CACHED / len).max(1);
    let mut second = vec![0.0; (rows * len).min(out.len())];
    for (block, entries) in out.chunks_mut(rows * len).enumerate() {
        let (start, second) = (block * rows, &mut second[..entries.len()]);
        let x = x.range(start, start + entries.len() / len);
        for part in rest {
            part.rows_into(x, len, second);
            Arch::new().dispatch(|| entries.iter_mut().zip(&*second).for_each(|(a, &b)| *a = join(*a, b)));
        }
    }
}

/// $v\,(b+\sum_i\tilde x_i\tilde z_i)$, in the order of operations of [`Linear::value`].
fn linear_rows(kernel: &Linear, coordinates: &Coordinates, x: PointsRef<'_>, out: &mut [f64]) {
    tiled_rows(coordinates, x, out, |point, tile, sums| {
        sums.fill(kernel.offset);
        for (a, column) in point.iter().zip(tile.chunks_exact(TILE)) {
            sums.iter_mut().zip(column).for_each(|(sum, b)| *sum += a * b);
        }
        sums.iter_mut().for_each(|sum| *sum *= kernel.variance);
    });
}

/// $v\,e^{-\sum_i[x_i\ne z_i]/\ell_i}$.
fn hamming_rows(kernel: &Hamming, coordinates: &Coordinates, x: PointsRef<'_>, out: &mut [f64]) {
    tiled_rows(coordinates, x, out, |point, tile, sums| {
        sums.fill(0.0);
        for (c, (a, column)) in point.iter().zip(tile.chunks_exact(TILE)).enumerate() {
            let cost = 1.0 / kernel.lengthscale.get(c);
            sums.iter_mut().zip(column).for_each(|(sum, b)| *sum -= if a == b { 0.0 } else { cost });
        }
        exp_in_place(sums);
        sums.iter_mut().for_each(|sum| *sum *= kernel.variance);
    });
}

/// Calls `fill(point, tile, entries)` for every row and tile, and writes the entries of existing points.
fn tiled_rows(coordinates: &Coordinates, x: PointsRef<'_>, out: &mut [f64], fill: impl Fn(&[f64], &[f64], &mut [f64; TILE])) {
    let mut point = vec![0.0; coordinates.count()];
    let mut sums = [0.0; TILE];
    for (row, entries) in x.rows().zip(out.chunks_exact_mut(coordinates.len().max(1))) {
        coordinates.map_into(row, &mut point);
        Arch::new().dispatch(|| {
            for (tile, part) in coordinates.tiles().zip(entries.chunks_mut(TILE)) {
                fill(&point, tile, &mut sums);
                part.copy_from_slice(&sums[..part.len()]);
            }
        });
    }
}
