//! Eigenvalues by plain Jacobi rotations: nothing shared with the library.

/// All eigenvalues of a symmetric matrix, ascending.
pub fn eigenvalues(matrix: &[Vec<f64>]) -> Vec<f64> {
    let (n, mut a) = (matrix.len(), matrix.to_vec());
    for _ in 0..60 {
        let off: f64 = (0..n).map(|i| (0..i).map(|j| a[i][j] * a[i][j]).sum::<f64>()).sum();
        let all: f64 = a.iter().flatten().map(|v| v * v).sum();
        if off <= 1e-32 * all {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] != 0.0 {
                    rotate(&mut a, p, q);
                }
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The rotation of rows and columns `p` and `q` that makes their entry 0.
fn rotate(a: &mut [Vec<f64>], p: usize, q: usize) {
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = if theta == 0.0 { 1.0 } else { theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt()) };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for row in a.iter_mut() {
        let (x, y) = (row[p], row[q]);
        row[p] = c * x - s * y;
        row[q] = s * x + c * y;
    }
    for k in 0..a.len() {
        let (x, y) = (a[p][k], a[q][k]);
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
    }
}
