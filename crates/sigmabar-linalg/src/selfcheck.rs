//! The probes seen to fail: one entry of each result is spoilt just before it is checked.

use crate::check::tests::spoilt;
use crate::*;

fn random(rows: usize, cols: usize) -> Matrix {
    let mut s = 88_172_645_463_325_252_u64;
    Matrix::from_fn(rows, cols, |_, _| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn positive(m: usize) -> Matrix {
    let a = random(2 * m, m);
    let mut g = transposed_product(&a, &a).expect("a sound product");
    for i in 0..m {
        g[(i, i)] += 1.0;
    }
    g
}

/// Runs with one entry of the result moved by `by`, first its first entry and then its last.
fn caught<T: std::fmt::Debug>(operation: Operation, by: f64, f: impl Fn() -> Result<T, LinalgError>) {
    f().expect("sound when left alone");
    for at in [0.0, 1.0] {
        match spoilt(at, by, &f) {
            Err(LinalgError::SelfCheck { operation: named, discrepancy, allowed }) => {
                assert_eq!(named, operation);
                assert!(discrepancy > allowed);
            }
            other => panic!("{operation} spoilt by {by:e} at {at} gave {other:?}"),
        }
        let nan = spoilt(at, f64::NAN, &f);
        assert!(matches!(nan, Err(LinalgError::SelfCheck { .. })), "{operation} with NaN gave {nan:?}");
    }
}

#[test]
fn one_wrong_entry_is_caught() {
    for m in [32, 100, 300] {
        let (a, b) = (random(m, m), random(m, m));
        let spd = positive(m);
        let by = 1e-7;
        caught(Operation::Product, by, || product(&a, &b));
        caught(Operation::Product, by, || product_transposed(&a, &b));
        caught(Operation::Product, by, || transposed_product(&a, &b));
        caught(Operation::Product, by, || add_product_rows(a.clone().as_mut_slice(), m, 0.5, b.as_slice(), m, &a));
        caught(Operation::Product, by, || add_transposed_product(&mut a.clone(), 0.5, b.as_slice(), a.as_slice()));
        caught(Operation::Cholesky, by, || {
            let mut flipped = spd.clone();
            flipped.mirror_lower();
            // the last entry of the storage is L_mm, the first L_00
            Lower::cholesky(&flipped)
        });
        caught(Operation::Cholesky, by, || PivotedCholesky::new(&spd, 0.0, m));
        let l = Lower::cholesky(&spd).expect("positive definite");
        caught(Operation::TriangularSolve, by, || l.solve_rows(b.clone().as_mut_slice()));
        caught(Operation::TriangularSolve, by, || l.solve_transposed_rows(b.clone().as_mut_slice()));
        caught(Operation::Gram, by, || add_gram(&mut spd.clone(), b.as_slice()));
        caught(Operation::Gram, by, || {
            let mut g = GramAccumulator::new(m);
            g.add_rows(a.as_slice());
            g.add_rows(b.as_slice());
            g.finish()
        });
        caught(Operation::Product, by, || {
            let mut sums = CrossAccumulator::new(2, m);
            sums.add_rows(random(m, 2).as_slice(), a.as_slice());
            let mut more = CrossAccumulator::new(2, m);
            more.add_rows(random(m, 2).as_slice(), b.as_slice());
            sums.merge(&more);
            sums.finish()
        });
        caught(Operation::Qr, by, || TallQr::new(m).add_rows(random(2 * m, m).as_slice()));
        caught(Operation::Eigen, by, || symmetric_eigen(&spd));
        caught(Operation::Eigen, 1e-5, || symmetric_eigenvalues(&spd));
    }
}
