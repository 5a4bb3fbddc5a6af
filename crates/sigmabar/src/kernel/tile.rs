//! The inner loops: one point against a tile of points.

use super::coordinates::{Coordinates, TILE};
use super::profile::Profile;
use crate::points::PointsRef;
use pulp::{Simd, WithSimd};

/// Vectors taken at once: enough independent chains to hide the latency of a multiply-add.
const WIDTH: usize = 4;

/// Fills rows of kernel values.
pub(super) struct Rows<'a, P> {
    pub(super) coordinates: &'a Coordinates,
    pub(super) profile: P,
    pub(super) x: PointsRef<'a>,
    pub(super) out: &'a mut [f64],
}

impl<P: Profile> WithSimd for Rows<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { coordinates, profile, x, out } = self;
        let mut point = vec![0.0; coordinates.count()];
        let mut last = [0.0; TILE];
        for (row, entries) in x.rows().zip(out.chunks_exact_mut(coordinates.len().max(1))) {
            coordinates.map_into(row, &mut point);
            let mut full = entries.chunks_exact_mut(TILE);
            let mut tiles = coordinates.tiles();
            for (entries, tile) in full.by_ref().zip(tiles.by_ref()) {
                fill_tile(simd, profile, &point, tile, entries);
            }
            let rest = full.into_remainder();
            if let (Some(tile), false) = (tiles.next(), rest.is_empty()) {
                fill_tile(simd, profile, &point, tile, &mut last);
                rest.copy_from_slice(&last[..rest.len()]);
            }
        }
    }
}

/// Kernel values of one point and the points of one tile.
#[inline(always)]
fn fill_tile<S: Simd, P: Profile>(simd: S, profile: P, point: &[f64], tile: &[f64], entries: &mut [f64]) {
    let (vectors, _) = S::as_mut_simd_f64s(entries);
    for (part, vectors) in vectors.chunks_exact_mut(WIDTH).enumerate() {
        let value = profile.value(simd, distances(simd, point, tile, part));
        vectors.copy_from_slice(&value);
    }
}

/// Squared distances $\sum_c(x_c-z_c)^2$ to the points of one part of a tile.
#[inline(always)]
fn distances<S: Simd>(simd: S, point: &[f64], tile: &[f64], part: usize) -> [S::f64s; WIDTH] {
    let mut sum = [simd.splat_f64s(0.0); WIDTH];
    for (a, column) in point.iter().zip(tile.chunks_exact(TILE)) {
        let a = simd.splat_f64s(*a);
        let b = part_of(simd, column, part);
        for k in 0..WIDTH {
            let difference = simd.sub_f64s(a, b[k]);
            sum[k] = simd.mul_add_e_f64s(difference, difference, sum[k]);
        }
    }
    sum
}

/// Vectors number `WIDTH * part` and following.
#[inline(always)]
fn part_of<S: Simd>(_: S, column: &[f64], part: usize) -> [S::f64s; WIDTH] {
    let (vectors, _) = S::as_simd_f64s(column);
    let vectors = &vectors[part * WIDTH..(part + 1) * WIDTH];
    [vectors[0], vectors[1], vectors[2], vectors[3]]
}

/// Sums of derivatives over all pairs.
pub(super) struct Gradient<'a, P> {
    pub(super) coordinates: &'a Coordinates,
    pub(super) profile: P,
    pub(super) x: PointsRef<'a>,
    /// $W_{ij}$, row by row.
    pub(super) weights: &'a [f64],
    /// For each coordinate $\sum W_{ij}g_{ij}(x_c-z_c)^2$ with $g$ the slope; then $\sum W_{ij}k_{ij}$.
    pub(super) sums: &'a mut [f64],
}

impl<P: Profile> WithSimd for Gradient<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { coordinates, profile, x, weights, sums } = self;
        let mut point = vec![0.0; coordinates.count()];
        let mut partial = vec![simd.splat_f64s(0.0); sums.len()];
        let mut last = [0.0; TILE];
        for (row, weights) in x.rows().zip(weights.chunks_exact(coordinates.len().max(1))) {
            coordinates.map_into(row, &mut point);
            let full = weights.chunks_exact(TILE);
            let rest = full.remainder();
            let mut tiles = coordinates.tiles();
            for (weights, tile) in full.zip(tiles.by_ref()) {
                add_tile(simd, profile, &point, tile, weights, &mut partial);
            }
            if let (Some(tile), false) = (tiles.next(), rest.is_empty()) {
                // Weight 0 for the points that only fill the tile.
                last[..rest.len()].copy_from_slice(rest);
                last[rest.len()..].fill(0.0);
                add_tile(simd, profile, &point, tile, &last, &mut partial);
            }
        }
        for (sum, partial) in sums.iter_mut().zip(partial) {
            *sum += simd.reduce_sum_f64s(partial);
        }
    }
}

/// Adds the derivatives for one point and one tile.
#[inline(always)]
fn add_tile<S: Simd, P: Profile>(simd: S, profile: P, point: &[f64], tile: &[f64], weights: &[f64], partial: &mut [S::f64s]) {
    let Some((total, partial)) = partial.split_last_mut() else { return };
    for part in 0..TILE / (WIDTH * S::F64_LANES) {
        let (value, mut slope) = profile.value_and_slope(simd, distances(simd, point, tile, part));
        let w = part_of(simd, weights, part);
        for k in 0..WIDTH {
            *total = simd.mul_add_e_f64s(w[k], value[k], *total);
            slope[k] = simd.mul_f64s(w[k], slope[k]);
        }
        for ((a, column), sum) in point.iter().zip(tile.chunks_exact(TILE)).zip(partial.iter_mut()) {
            let a = simd.splat_f64s(*a);
            let b = part_of(simd, column, part);
            let mut terms = [simd.splat_f64s(0.0); WIDTH];
            for k in 0..WIDTH {
                let difference = simd.sub_f64s(a, b[k]);
                terms[k] = simd.mul_f64s(simd.mul_f64s(difference, difference), slope[k]);
            }
            let pairs = (simd.add_f64s(terms[0], terms[1]), simd.add_f64s(terms[2], terms[3]));
            *sum = simd.add_f64s(*sum, simd.add_f64s(pairs.0, pairs.1));
        }
    }
}
