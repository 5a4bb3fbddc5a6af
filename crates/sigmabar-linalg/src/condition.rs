//! How much a solve with a triangular factor may amplify errors.

use crate::Lower;

/// Steps of the estimator; two or three nearly always suffice.
const STEPS: usize = 5;

impl Lower {
    /// An estimate of the 1-norm condition number `‖L‖₁·‖L⁻¹‖₁`, never above it (up to rounding) and rarely below a third
    /// of it. Cost about `5m²`; infinite if a diagonal entry is zero.
    #[must_use]
    pub fn condition_estimate(&self) -> f64 {
        let m = self.len();
        let mut sums = vec![0.0; m];
        for i in 0..m {
            for (s, l) in sums.iter_mut().zip(&self.matrix.row(i)[..=i]) {
                *s += l.abs();
            }
        }
        let norm = sums.iter().fold(0.0, |a: f64, b| if *b > a || b.is_nan() { *b } else { a });
        norm * self.inverse_norm_estimate()
    }

    /// An estimate of `‖L⁻¹‖₁` by Hager's ascent with Higham's safeguard (the method of LAPACK's `xLACN2`): a lower bound,
    /// rarely below a third of the truth. Cost about `4m²`; infinite if a diagonal entry is zero.
    #[must_use]
    pub fn inverse_norm_estimate(&self) -> f64 {
        let m = self.len();
        if m == 0 {
            return 0.0;
        }
        if (0..m).any(|i| self.get(i, i) == 0.0) {
            return f64::INFINITY;
        }
        // maximise the convex ‖L⁻¹x‖₁ over the unit ball of the 1-norm: move to the vertex the gradient points at
        let mut x = vec![1.0 / m as f64; m];
        let (mut best, mut vertex) = (0.0, usize::MAX);
        for step in 0..STEPS {
            self.solve_row(&mut x);
            let value: f64 = x.iter().map(|v| v.abs()).sum();
            if step > 0 && value <= best {
                break;
            }
            best = value;
            for v in &mut x {
                *v = if *v < 0.0 { -1.0 } else { 1.0 };
            }
            self.solve_transposed_row(&mut x);
            let next = (0..m).fold(0, |k, i| if x[i].abs() > x[k].abs() { i } else { k });
            if next == vertex {
                break;
            }
            vertex = next;
            x.fill(0.0);
            x[vertex] = 1.0;
        }
        // Higham's safeguard: growing alternating signs find what the ascent may miss
        let mut x: Vec<f64> = (0..m)
            .map(|i| {
                let size = 1.0 + i as f64 / (m.max(2) - 1) as f64;
                if i % 2 == 0 { size } else { -size }
            })
            .collect();
        self.solve_row(&mut x);
        let value: f64 = x.iter().map(|v| v.abs()).sum();
        best.max(2.0 * value / (3.0 * m as f64))
    }
}
