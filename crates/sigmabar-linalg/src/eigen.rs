//! Eigenvalues and eigenvectors of symmetric matrices.

use crate::check::{self, SMALLEST};
use crate::interrupt;
use crate::vector::{add_transposed_matvec, matvec, norm_squared, symmetric_matvec};
use crate::{LinalgError, Matrix, Operation};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, MatRef, Par, Spec};

/// The decomposition `A = V Λ Vᵀ` of a symmetric matrix.
#[derive(Clone, Debug)]
pub struct SymmetricEigen {
    /// The eigenvalues, ascending.
    pub values: Vec<f64>,
    /// The eigenvectors: column `j` belongs to `values[j]`.
    pub vectors: Matrix,
}

/// All eigenvalues and eigenvectors of a symmetric matrix, of which only the lower triangle is read. Cost about `9m³`.
///
/// # Errors
/// [`LinalgError::NoConvergence`]; [`LinalgError::SelfCheck`] if `A(Vu) ≠ V(Λu)` beyond `8·(4m+8)·ε·‖A‖`, or `Vᵀ(Vu) ≠ u` beyond
/// `8·(4m+8)·ε` in any entry, or a number is not finite.
///
/// # Panics
/// If `a` is not square.
pub fn symmetric_eigen(a: &Matrix) -> Result<SymmetricEigen, LinalgError> {
    let m = a.rows();
    let mut vectors = Mat::<f64>::zeros(m, m);
    let values = decompose(a, Some(&mut vectors))?;
    let mut eigen = SymmetricEigen { values, vectors: Matrix::from_fn(m, m, |i, j| vectors[(i, j)]) };
    if m >= SMALLEST {
        check::spoil(eigen.vectors.as_mut_slice());
        eigen.verify(a)?;
    }
    Ok(eigen)
}

/// All eigenvalues of a symmetric matrix, ascending; only the lower triangle is read. Cost about `4m³/3`.
///
/// # Errors
/// [`LinalgError::NoConvergence`]; [`LinalgError::SelfCheck`] if `Σλ ≠ tr A` or `Σλ² ≠ ‖A‖²` beyond rounding
/// (`8·(4m+8)·ε·‖A‖·√m` and `8·(4m+8)·ε·‖A‖²`), or a number is not finite.
///
/// # Panics
/// If `a` is not square.
pub fn symmetric_eigenvalues(a: &Matrix) -> Result<Vec<f64>, LinalgError> {
    let m = a.rows();
    let mut values = decompose(a, None)?;
    if m >= SMALLEST {
        check::spoil(&mut values);
        let square = frobenius_squared(a);
        let got = [values.iter().sum(), norm_squared(&values)];
        let want = [a.diagonal().iter().sum(), square];
        let sizes = [check::norm(square) * (m as f64).sqrt(), square + f64::MIN_POSITIVE];
        check::compare(Operation::Eigen, &got, &want, check::allowance(4 * m), |i| sizes[i])?;
    }
    Ok(values)
}

fn decompose(a: &Matrix, vectors: Option<&mut Mat<f64>>) -> Result<Vec<f64>, LinalgError> {
    interrupt::check();
    let m = a.rows();
    assert_eq!(m, a.cols(), "a symmetric matrix is square");
    let square = frobenius_squared(a);
    if !square.is_finite() {
        // not a number, or too large to square: the iteration would never end
        return Err(LinalgError::SelfCheck { operation: Operation::Eigen, discrepancy: square, allowed: 0.0 });
    }
    let mut values = vec![0.0; m];
    let what = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(m.max(1), what, Par::Seq, Spec::default()));
    self_adjoint_evd(
        MatRef::from_row_major_slice(a.as_slice(), m, m),
        DiagMut::from_slice_mut(&mut values),
        vectors.map(Mat::as_mut),
        Par::Seq,
        MemStack::new(&mut memory),
        Spec::default(),
    )
    .map_err(|_| LinalgError::NoConvergence { operation: Operation::Eigen })?;
    Ok(values)
}

/// `‖A‖²` in the Frobenius norm, from the lower triangle.
fn frobenius_squared(a: &Matrix) -> f64 {
    (0..a.rows()).map(|i| 2.0 * norm_squared(&a.row(i)[..i]) + a[(i, i)] * a[(i, i)]).sum()
}

impl SymmetricEigen {
    fn verify(&self, a: &Matrix) -> Result<(), LinalgError> {
        let m = a.rows();
        let u = check::signs(m);
        let vu = matvec(&self.vectors, &u);
        let mut back = vec![0.0; m];
        add_transposed_matvec(self.vectors.as_slice(), &vu, &mut back);
        let allowed = check::allowance(4 * m);
        check::compare(Operation::Eigen, &back, &u, allowed, |_| 1.0)?;
        let (got, _) = symmetric_matvec(a, &vu);
        let scaled: Vec<f64> = u.iter().zip(&self.values).map(|(u, l)| u * l).collect();
        let want = matvec(&self.vectors, &scaled);
        let size = check::norm(frobenius_squared(a));
        check::compare(Operation::Eigen, &got, &want, allowed, |_| size)
    }
}
