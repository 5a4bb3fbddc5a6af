//! Lanczos on the residual matrix without forming it.

use crate::error::Result;
use crate::information::Information;
use crate::kernel::PreparedKernel;
use crate::points::PointsRef;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar_linalg::{Matrix, add_transposed_matvec, dot, matvec_rows, norm_squared, symmetric_eigenvalues};

/// Kernel values held at a time.
const BLOCK_VALUES: usize = 1 << 21;

/// $v \mapsto C^{1/2}(K - \Psi\Psi^\top)C^{1/2}v$.
pub(crate) struct ResidualOperator<'a> {
    information: &'a Information,
    against_all: PreparedKernel,
    roots: Vec<f64>,
}

impl<'a> ResidualOperator<'a> {
    pub(crate) fn new(information: &'a Information) -> Result<Self> {
        let locations = information.locations()?;
        let against_all = information.features().kernel().prepare(locations.points())?;
        let roots = (0..locations.distinct()).map(|i| locations.count(i).sqrt()).collect();
        Ok(Self { information, against_all, roots })
    }

    fn len(&self) -> usize {
        self.roots.len()
    }

    fn apply(&self, v: &[f64]) -> Result<Vec<f64>> {
        let features = self.information.features();
        let x = self.information.locations()?.points();
        let scaled: Vec<f64> = v.iter().zip(&self.roots).map(|(v, r)| v * r).collect();
        // Ψᵀv = L⁻¹(K_ZX v), then Ψ(Ψᵀv) = K_XZ L⁻ᵀ(Ψᵀv).
        let mut inner = vec![0.0; features.len()];
        for_each_rows(features.prepared(), x, |start, rows, count| {
            add_transposed_matvec(rows, &scaled[start..start + count], &mut inner);
        });
        features.lower().solve_rows(&mut inner)?;
        features.lower().solve_transposed_rows(&mut inner)?;
        let mut explained = vec![0.0; self.len()];
        for_each_rows(features.prepared(), x, |start, rows, count| matvec_rows(rows, &inner, &mut explained[start..start + count]));
        let mut out = vec![0.0; self.len()];
        for_each_rows(&self.against_all, x, |start, rows, count| matvec_rows(rows, &scaled, &mut out[start..start + count]));
        for (i, value) in out.iter_mut().enumerate() {
            *value = self.roots[i] * (*value - explained[i]);
        }
        Ok(out)
    }
}

/// Calls `f(first row, kernel values, number of rows)` for blocks of bounded size.
fn for_each_rows(kernel: &PreparedKernel, x: PointsRef<'_>, mut f: impl FnMut(usize, &[f64], usize)) {
    let height = (BLOCK_VALUES / kernel.len()).clamp(1, x.len());
    let mut rows = vec![0.0; height * kernel.len()];
    for start in (0..x.len()).step_by(height) {
        let block = x.range(start, (start + height).min(x.len()));
        let rows = &mut rows[..block.len() * kernel.len()];
        kernel.par_rows_into(block, rows);
        f(start, rows, block.len());
    }
}

/// The largest eigenvalue of the operator on the Krylov space of a random start vector, uniform on the sphere; with full re-orthogonalisation.
pub(crate) fn largest_ritz_value(operator: &ResidualOperator<'_>, steps: usize, seed: u64) -> Result<f64> {
    let n = operator.len();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut next: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let (mut diagonal, mut off) = (Vec::new(), Vec::new());
    let mut length = norm_squared(&next).sqrt();
    for step in 0..steps.min(n).max(1) {
        let q: Vec<f64> = next.iter().map(|v| v / length).collect();
        next = operator.apply(&q)?;
        diagonal.push(dot(&next, &q));
        basis.push(q);
        // Twice is enough: what is left after the second pass is orthogonal to working precision.
        for _ in 0..2 {
            for b in &basis {
                let share = dot(&next, b);
                next.iter_mut().zip(b).for_each(|(v, b)| *v -= share * b);
            }
        }
        length = norm_squared(&next).sqrt();
        let scale = diagonal.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        if step + 1 == steps.min(n).max(1) || length <= 1e-14 * scale || length == 0.0 {
            break;
        }
        off.push(length);
    }
    let k = diagonal.len();
    let tridiagonal = Matrix::from_fn(k, k, |i, j| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => off[i.min(j)],
        _ => 0.0,
    });
    Ok(symmetric_eigenvalues(&tridiagonal)?.last().copied().unwrap_or(0.0))
}
