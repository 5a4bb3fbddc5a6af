//! How work is cut: tiles of a size that never depends on the number of threads, each done by one sequential call.

use crate::interrupt;
use crate::workers::parallel;
use faer::linalg::matmul::{matmul, triangular};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Side of a tile of a result, about: it stays in the second-level cache while a slab passes.
pub(crate) const TILE: usize = 200;
/// Length of the sums done at once. Longer ones stride over too many pages and cost a quarter of the speed.
const SLAB: usize = 256;
/// The same where both operands have their long stride along the sum, as in a Gram matrix.
const STRIDED_SLAB: usize = 128;
/// Below this many multiplications one thread is faster than two.
pub(crate) const PARALLEL_WORK: usize = 1 << 20;

/// The row-major slice as a matrix.
pub(crate) fn view(data: &[f64], rows: usize, cols: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(data, rows, cols)
}

/// The row-major slice as a matrix to be changed.
pub(crate) fn view_mut(data: &mut [f64], rows: usize, cols: usize) -> MatMut<'_, f64> {
    MatMut::from_row_major_slice_mut(data, rows, cols)
}

/// One sequential product `dst ← [dst +] alpha·A·B`.
pub(crate) fn gemm(dst: MatMut<'_, f64>, accum: Accum, alpha: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    matmul(dst, accum, a, b, alpha, Par::Seq);
}

/// One tile, slab after slab.
fn gemm_slabs(mut dst: MatMut<'_, f64>, accum: Accum, alpha: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>, slab: usize) {
    let depth = a.ncols();
    for k in (0..depth.max(1)).step_by(slab) {
        let n = slab.min(depth - k);
        let accum = if k == 0 { accum } else { Accum::Add };
        gemm(dst.as_mut(), accum, alpha, a.subcols(k, n), b.subrows(k, n));
    }
}

/// Cuts `n` into equal parts of about `target`, in whole cache lines.
fn even(n: usize, target: usize) -> usize {
    n.div_ceil(n.div_ceil(target).max(1)).next_multiple_of(8)
}

/// `dst ← [dst +] alpha·A·B`, tiled.
pub(crate) fn product_tiles(dst: MatMut<'_, f64>, accum: Accum, alpha: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    interrupt::check();
    let (rows, cols) = (dst.nrows(), dst.ncols());
    if rows * cols * a.ncols() < PARALLEL_WORK {
        gemm(dst, accum, alpha, a, b);
        return;
    }
    let (height, width) = (even(rows, TILE), even(cols, TILE));
    let mut tiles = Vec::new();
    let mut rest = dst;
    for i in (0..rows).step_by(height) {
        let (mut strip, below) = rest.split_at_row_mut(height.min(rows - i));
        rest = below;
        for j in (0..cols).step_by(width) {
            let (tile, right) = strip.split_at_col_mut(width.min(cols - j));
            strip = right;
            tiles.push((i, j, tile));
        }
    }
    parallel(|watch| {
        tiles.into_par_iter().with_max_len(1).for_each(|(i, j, tile)| {
            watch.check();
            let (r, c) = (tile.nrows(), tile.ncols());
            gemm_slabs(tile, accum, alpha, a.subrows(i, r), b.subcols(j, c), SLAB);
        });
    });
}

/// The lower triangle of `dst += alpha·P·Pᵀ`, in tiles of side `tile`: full products below the diagonal, triangular ones on it.
pub(crate) fn symmetric_tiles(dst: MatMut<'_, f64>, alpha: f64, p: MatRef<'_, f64>, tile: usize) {
    let n = dst.nrows();
    if n * n * p.ncols() < 2 * PARALLEL_WORK {
        symmetric_gemm(dst, alpha, p);
        return;
    }
    let tile = even(n, tile);
    // a panel read along its rows needs no short slabs
    let slab = if p.col_stride() == 1 { SLAB } else { STRIDED_SLAB };
    let mut tiles = Vec::new();
    let mut rest = dst;
    for i in (0..n).step_by(tile) {
        let (mut strip, below) = rest.split_at_row_mut(tile.min(n - i));
        rest = below;
        for j in (0..=i).step_by(tile) {
            let (one, right) = strip.split_at_col_mut(tile.min(n - j));
            strip = right;
            tiles.push((i, j, one));
        }
    }
    // the longest first: full tiles before triangular ones
    tiles.sort_by_key(|(i, j, _)| i == j);
    parallel(|watch| {
        tiles.into_par_iter().with_max_len(1).for_each(|(i, j, one)| {
            watch.check();
            let (r, c) = (one.nrows(), one.ncols());
            if i == j {
                let (mut one, p) = (one, p.subrows(i, r));
                for k in (0..p.ncols()).step_by(slab) {
                    symmetric_gemm(one.as_mut(), alpha, p.subcols(k, slab.min(p.ncols() - k)));
                }
            } else {
                gemm_slabs(one, Accum::Add, alpha, p.subrows(i, r), p.subrows(j, c).transpose(), slab);
            }
        });
    });
}

/// The lower triangle of `dst += alpha·P·Pᵀ` by one sequential call.
pub(crate) fn symmetric_gemm(dst: MatMut<'_, f64>, alpha: f64, p: MatRef<'_, f64>) {
    use triangular::BlockStructure::{Rectangular, TriangularLower};
    triangular::matmul(dst, TriangularLower, Accum::Add, p, Rectangular, p.transpose(), Rectangular, alpha, Par::Seq);
}
