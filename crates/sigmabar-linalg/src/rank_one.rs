//! Small changes of a factor without factorising again.

use crate::{Lower, Matrix};

/// Rows rotated side by side: their recurrences are independent, so the processor overlaps them.
const LANES: usize = 8;

impl Lower {
    /// Replaces `L` by the factor of `LLᵀ + vvᵀ`, by Givens rotations. Cost `3m²`, backward stable.
    ///
    /// # Panics
    /// If `v.len() != m`.
    pub fn update(&mut self, v: &[f64]) {
        let m = self.len();
        assert_eq!(v.len(), m, "an update of a {m} × {m} factor needs {m} entries");
        // Rotation k turns (L_kk, v_k) into (√(L_kk² + v_k²), 0); row i meets rotations 0 … i in turn.
        let mut rotations: Vec<(f64, f64)> = Vec::with_capacity(m);
        for first in (0..m).step_by(LANES) {
            let count = LANES.min(m - first);
            let mut w = [0.0; LANES];
            w[..count].copy_from_slice(&v[first..first + count]);
            let block = &mut self.matrix.as_mut_slice()[first * m..(first + count) * m];
            if count == LANES {
                for (k, &(c, s)) in rotations.iter().enumerate() {
                    for t in 0..LANES {
                        rotate(&mut block[t * m + k], &mut w[t], c, s);
                    }
                }
            } else {
                for t in 0..count {
                    for (l, &(c, s)) in block[t * m..].iter_mut().zip(&rotations) {
                        rotate(l, &mut w[t], c, s);
                    }
                }
            }
            for t in 0..count {
                for k in first..first + t {
                    let (c, s) = rotations[k];
                    rotate(&mut block[t * m + k], &mut w[t], c, s);
                }
                let diagonal = &mut block[t * m + first + t];
                let r = diagonal.hypot(w[t]);
                rotations.push(if r > 0.0 { (*diagonal / r, w[t] / r) } else { (1.0, 0.0) });
                *diagonal = r;
            }
        }
    }

    /// Adds one row `[row, diagonal]` at the bottom, so that `m` grows by one. Cost `m²` moves.
    ///
    /// # Panics
    /// If `row.len() != m`.
    pub fn append(&mut self, row: &[f64], diagonal: f64) {
        let m = self.len();
        assert_eq!(row.len(), m, "a row for a {m} × {m} factor has {m} entries and a diagonal");
        let n = m + 1;
        let mut data = std::mem::take(&mut self.matrix).into_vec();
        data.resize(n * n, 0.0);
        for i in (1..m).rev() {
            data.copy_within(i * m..i * m + i + 1, i * n);
            data[i * n + i + 1..(i + 1) * n].fill(0.0);
        }
        if m > 0 {
            data[1..n].fill(0.0);
        }
        data[m * n..m * n + m].copy_from_slice(row);
        data[m * n + m] = diagonal;
        self.matrix = Matrix::from_vec(data, n, n);
    }
}

#[inline(always)]
fn rotate(l: &mut f64, w: &mut f64, c: f64, s: f64) {
    let (a, b) = (*l, *w);
    *l = c * a + s * b;
    *w = c * b - s * a;
}
