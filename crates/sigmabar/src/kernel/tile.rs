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
        let len = coordinates.len();
        if len == 0 {
            return;
        }
        // Two rows share every load of a tile. Each entry is computed by the same operations in a pair and alone.
        let count = coordinates.count();
        let mut scratch = vec![0.0; 3 * count];
        let mut pairs = out.chunks_exact_mut(2 * len);
        let mut row = 0;
        for entries in pairs.by_ref() {
            let (first, second) = entries.split_at_mut(len);
            let points = interleaved(coordinates, [x.row(row), x.row(row + 1)], &mut scratch);
            fill_rows(simd, profile, coordinates, points, [first, second]);
            row += 2;
        }
        let last = pairs.into_remainder();
        if !last.is_empty() {
            let points = interleaved(coordinates, [x.row(row)], &mut scratch);
            fill_rows(simd, profile, coordinates, points, [last]);
        }
    }
}

/// The coordinates of `R` points: coordinate after coordinate, in each the points.
fn interleaved<'a, const R: usize>(coordinates: &Coordinates, x: [&[f64]; R], scratch: &'a mut [f64]) -> &'a [f64] {
    let count = coordinates.count();
    let (point, points) = scratch.split_at_mut(count);
    let points = &mut points[..R * count];
    for (r, x) in x.iter().enumerate() {
        coordinates.map_into(x, point);
        for (c, &value) in point.iter().enumerate() {
            points[c * R + r] = value;
        }
    }
    points
}

/// Kernel values of `R` points, interleaved, and all stored points.
#[inline(always)]
fn fill_rows<S: Simd, P: Profile, const R: usize>(simd: S, profile: P, coordinates: &Coordinates, points: &[f64], out: [&mut [f64]; R]) {
    let len = coordinates.len();
    let mut tiles = coordinates.tiles();
    let mut start = 0;
    while start + TILE <= len {
        let Some(tile) = tiles.next() else { return };
        for part in 0..TILE / (WIDTH * S::F64_LANES) {
            let sums = distances::<S, R>(simd, coordinates.factors(), points, tile, part);
            for r in 0..R {
                let entries = &mut out[r][start..start + TILE];
                let value = profile.value(simd, sums[r]);
                let (vectors, _) = S::as_mut_simd_f64s(entries);
                vectors[part * WIDTH..(part + 1) * WIDTH].copy_from_slice(&value);
            }
        }
        start += TILE;
    }
    if let (Some(tile), true) = (tiles.next(), start < len) {
        // Of the last tile only the parts that have points.
        let mut last = [[0.0; TILE]; R];
        for part in 0..(len - start).div_ceil(WIDTH * S::F64_LANES) {
            let sums = distances::<S, R>(simd, coordinates.factors(), points, tile, part);
            for r in 0..R {
                let value = profile.value(simd, sums[r]);
                S::as_mut_simd_f64s(&mut last[r]).0[part * WIDTH..(part + 1) * WIDTH].copy_from_slice(&value);
            }
        }
        for r in 0..R {
            out[r][start..].copy_from_slice(&last[r][..len - start]);
        }
    }
}

/// Squared distances $\sum_c(f_c(x_c-z_c))^2$ of `R` points to the points of one part of a tile.
#[inline(always)]
fn distances<S: Simd, const R: usize>(simd: S, factors: &[f64], points: &[f64], tile: &[f64], part: usize) -> [[S::f64s; WIDTH]; R] {
    let mut sums = [[simd.splat_f64s(0.0); WIDTH]; R];
    for ((a, column), factor) in points.chunks_exact(R).zip(tile.chunks_exact(TILE)).zip(factors) {
        let (b, factor) = (part_of(simd, column, part), simd.splat_f64s(*factor));
        for r in 0..R {
            let a = simd.splat_f64s(a[r]);
            for k in 0..WIDTH {
                let difference = simd.mul_f64s(simd.sub_f64s(a, b[k]), factor);
                sums[r][k] = simd.mul_add_e_f64s(difference, difference, sums[r][k]);
            }
        }
    }
    sums
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
    /// For each coordinate $\sum W_{ij}g_{ij}(f_c(x_c-z_c))^2$ with $g$ the slope; then $\sum W_{ij}k_{ij}$.
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
                add_tile(simd, profile, coordinates.factors(), &point, tile, weights, &mut partial);
            }
            if let (Some(tile), false) = (tiles.next(), rest.is_empty()) {
                // Weight 0 for the points that only fill the tile.
                last[..rest.len()].copy_from_slice(rest);
                last[rest.len()..].fill(0.0);
                add_tile(simd, profile, coordinates.factors(), &point, tile, &last, &mut partial);
            }
        }
        for (sum, partial) in sums.iter_mut().zip(partial) {
            *sum += simd.reduce_sum_f64s(partial);
        }
    }
}

/// Adds the derivatives for one point and one tile.
#[inline(always)]
fn add_tile<S: Simd, P: Profile>(
    simd: S,
    profile: P,
    factors: &[f64],
    point: &[f64],
    tile: &[f64],
    weights: &[f64],
    partial: &mut [S::f64s],
) {
    let Some((total, partial)) = partial.split_last_mut() else { return };
    for part in 0..TILE / (WIDTH * S::F64_LANES) {
        let (value, mut slope) = profile.value_and_slope(simd, distances::<S, 1>(simd, factors, point, tile, part)[0]);
        let w = part_of(simd, weights, part);
        for k in 0..WIDTH {
            *total = simd.mul_add_e_f64s(w[k], value[k], *total);
            slope[k] = simd.mul_f64s(w[k], slope[k]);
        }
        for (((a, column), factor), sum) in point.iter().zip(tile.chunks_exact(TILE)).zip(factors).zip(partial.iter_mut()) {
            let (a, factor) = (simd.splat_f64s(*a), simd.splat_f64s(*factor));
            let b = part_of(simd, column, part);
            let mut terms = [simd.splat_f64s(0.0); WIDTH];
            for k in 0..WIDTH {
                let difference = simd.mul_f64s(simd.sub_f64s(a, b[k]), factor);
                terms[k] = simd.mul_f64s(simd.mul_f64s(difference, difference), slope[k]);
            }
            let pairs = (simd.add_f64s(terms[0], terms[1]), simd.add_f64s(terms[2], terms[3]));
            *sum = simd.add_f64s(*sum, simd.add_f64s(pairs.0, pairs.1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Points;
    use crate::kernel::Lengthscale;
    use crate::kernel::exp::Decay;
    use crate::kernel::profile::{Matern12, Matern32, Matern52, SquaredExponential};
    use pulp::{Arch, Scalar};

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * (a.abs() + b.abs()))
    }

    fn compare(profile: impl Profile, variance: f64) {
        let values = |count: usize, seed: usize| (0..3 * count).map(|i| ((i * 37 + seed) % 101) as f64 / 25.0).collect();
        let x = Points::new(values(7, 5), 3).expect("points");
        let z = Points::new(values(45, 11), 3).expect("points");
        let coordinates = Coordinates::raw(z.view(), &[0, 1, 2], &Lengthscale::Shared(0.9), 1.0);
        let (mut plain, mut vector) = (vec![0.0; 7 * 45], vec![0.0; 7 * 45]);
        Rows { coordinates: &coordinates, profile, x: x.view(), out: &mut plain }.with_simd(Scalar);
        Arch::new().dispatch(Rows { coordinates: &coordinates, profile, x: x.view(), out: &mut vector });
        assert!(close(&plain, &vector));
        assert!(plain.iter().all(|k| *k > 0.0 && *k <= variance));
        let weights: Vec<f64> = (0..7 * 45).map(|i| f64::from(i % 5) + 0.5).collect();
        let (mut plain, mut vector) = (vec![0.0; 4], vec![0.0; 4]);
        Gradient { coordinates: &coordinates, profile, x: x.view(), weights: &weights, sums: &mut plain }.with_simd(Scalar);
        Arch::new().dispatch(Gradient { coordinates: &coordinates, profile, x: x.view(), weights: &weights, sums: &mut vector });
        assert!(close(&plain, &vector));
    }

    #[test]
    fn a_machine_without_vectors_gives_the_same() {
        let decay = Decay::new(1.7);
        compare(SquaredExponential(decay), 1.7);
        compare(Matern12(decay), 1.7);
        compare(Matern32(decay), 1.7);
        compare(Matern52(decay), 1.7);
    }
}
