//! Inner products of some rows with many vectors, in registers, each summed in an order of its own that does not depend on its company.
//!
//! A library product would round differently for a row alone and the same row in a block. Here it does not, which is why a variance
//! refreshed late equals to the last bit the one refreshed at every step.

use pulp::{Arch, Simd, WithSimd};

/// Rows and vectors are padded with zeros to a multiple of this many entries, so that no vector register is cut.
pub(super) const LANES: usize = 8;

/// Rows in registers at a time.
const ROWS: usize = 4;
/// Vectors in registers at a time: 4 × 3 sums and their operands fill 16 registers.
const VECTORS: usize = 3;

/// The number of entries with padding.
pub(super) fn padded(entries: usize) -> usize {
    entries.next_multiple_of(LANES)
}

/// A list of vectors of one padded length.
#[derive(Clone, Copy)]
pub(super) struct Vectors<'a> {
    pub entries: &'a [f64],
    pub width: usize,
    /// Vector $j$ is zero after entry $j$.
    pub triangular: bool,
}

impl<'a> Vectors<'a> {
    fn len(&self) -> usize {
        self.entries.len() / self.width
    }

    fn get(&self, j: usize) -> &'a [f64] {
        &self.entries[j * self.width..(j + 1) * self.width]
    }
}

/// Calls `take(row, vector, inner product)` for every pair; for a given row the vectors come in order. Rows that are shorter than the vectors meet the first
/// entries of those. Cost $2\,r\,p\,m$.
pub(super) fn for_each_pair(rows: &[&[f64]], vectors: Vectors<'_>, first: usize, take: impl FnMut(usize, usize, f64)) {
    Arch::new().dispatch(Pairs { rows, vectors, first, take });
}

struct Pairs<'a, F> {
    rows: &'a [&'a [f64]],
    vectors: Vectors<'a>,
    first: usize,
    take: F,
}

impl<F: FnMut(usize, usize, f64)> WithSimd for Pairs<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let count = self.vectors.len();
        let entries = self.rows.first().map_or(0, |row| row.len());
        for start in (self.first..count).step_by(VECTORS) {
            let used = VECTORS.min(count - start);
            let length = if self.vectors.triangular { padded(start + used) } else { entries };
            // The last vector stands in for missing ones; their sums are not read.
            let vectors: [&[f64]; VECTORS] = std::array::from_fn(|v| &self.vectors.get(start + v.min(used - 1))[..length]);
            let (blocks, rest) = self.rows.as_chunks::<ROWS>();
            for (b, block) in blocks.iter().enumerate() {
                let sums = block_sums::<S, ROWS>(simd, block.map(|row| &row[..length]), vectors);
                for (r, sums) in sums.iter().enumerate() {
                    for v in 0..used {
                        (self.take)(b * ROWS + r, start + v, sums[v]);
                    }
                }
            }
            for (r, row) in rest.iter().enumerate() {
                let sums = block_sums::<S, 1>(simd, [&row[..length]], vectors);
                for v in 0..used {
                    (self.take)(blocks.len() * ROWS + r, start + v, sums[0][v]);
                }
            }
        }
    }
}

#[inline(always)]
fn block_sums<S: Simd, const R: usize>(simd: S, rows: [&[f64]; R], vectors: [&[f64]; VECTORS]) -> [[f64; VECTORS]; R] {
    let rows = rows.map(|row| S::as_simd_f64s(row).0);
    let vectors = vectors.map(|vector| S::as_simd_f64s(vector).0);
    let mut sums = [[simd.splat_f64s(0.0); VECTORS]; R];
    let length = vectors[0].len();
    let rows = rows.map(|row| &row[..length]);
    let vectors = vectors.map(|vector| &vector[..length]);
    for k in 0..length {
        let v: [S::f64s; VECTORS] = [vectors[0][k], vectors[1][k], vectors[2][k]];
        for r in 0..R {
            let x = rows[r][k];
            for j in 0..VECTORS {
                sums[r][j] = simd.mul_add_e_f64s(x, v[j], sums[r][j]);
            }
        }
    }
    // Plain loops: what is called through `map` is not inlined with the vector registers.
    let mut reduced = [[0.0; VECTORS]; R];
    for r in 0..R {
        for j in 0..VECTORS {
            reduced[r][j] = simd.reduce_sum_f64s(sums[r][j]);
        }
    }
    reduced
}
