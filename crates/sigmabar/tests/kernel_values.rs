//! Values, blocks, diagonals and compositions against plain loops over the printed formulas.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use sigmabar::kernel::Lengthscale;
use sigmabar::{Error, Kernel, Points};
use std::f64::consts::PI;

/// A kernel and the formula it stands for.
type Case = (&'static str, Kernel, Box<dyn Fn(&[f64], &[f64]) -> f64>);

const LENGTHS: [f64; 3] = [0.7, 1.9, 0.4];
const PERIODS: [f64; 3] = [1.1, 2.3, 0.9];

fn squared(x: &[f64], z: &[f64], lengths: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += ((x[i] - z[i]) / lengths[i]) * ((x[i] - z[i]) / lengths[i]);
    }
    sum
}

fn cases() -> Vec<Case> {
    let per_column = || Lengthscale::from(LENGTHS);
    let v = 1.7;
    let se = Kernel::squared_exponential(per_column(), v).unwrap();
    let linear = Kernel::linear(0.4, per_column(), v).unwrap();
    let periodic = Kernel::periodic(PERIODS, per_column(), v).unwrap();
    let se_formula = move |x: &[f64], z: &[f64]| v * (-squared(x, z, &LENGTHS) / 2.0).exp();
    let linear_formula = move |x: &[f64], z: &[f64]| {
        let mut sum = 0.4;
        for i in 0..x.len() {
            sum += x[i] * z[i] / (LENGTHS[i] * LENGTHS[i]);
        }
        v * sum
    };
    let periodic_formula = move |x: &[f64], z: &[f64]| {
        let mut sum = 0.0;
        for i in 0..x.len() {
            sum += (PI * (x[i] - z[i]) / PERIODS[i]).sin().powi(2) / (LENGTHS[i] * LENGTHS[i]);
        }
        v * (-2.0 * sum).exp()
    };
    vec![
        ("squared exponential", se.clone(), Box::new(se_formula)),
        (
            "squared exponential, shared",
            Kernel::squared_exponential(0.6, v).unwrap(),
            Box::new(move |x, z| v * (-squared(x, z, &[0.6; 3]) / 2.0).exp()),
        ),
        ("Matérn ½", Kernel::matern(0.5, per_column(), v).unwrap(), Box::new(move |x, z| v * (-squared(x, z, &LENGTHS).sqrt()).exp())),
        (
            "Matérn 3/2",
            Kernel::matern(1.5, per_column(), v).unwrap(),
            Box::new(move |x, z| {
                let r = (3.0 * squared(x, z, &LENGTHS)).sqrt();
                v * (1.0 + r) * (-r).exp()
            }),
        ),
        (
            "Matérn 5/2",
            Kernel::matern(2.5, per_column(), v).unwrap(),
            Box::new(move |x, z| {
                let r = (5.0 * squared(x, z, &LENGTHS)).sqrt();
                v * (1.0 + r + r * r / 3.0) * (-r).exp()
            }),
        ),
        (
            "Matérn 7/2",
            Kernel::matern(3.5, per_column(), v).unwrap(),
            Box::new(move |x, z| {
                let r = (7.0 * squared(x, z, &LENGTHS)).sqrt();
                v * (1.0 + r + 0.4 * r * r + r * r * r / 15.0) * (-r).exp()
            }),
        ),
        (
            "rational quadratic",
            Kernel::rational_quadratic(0.8, per_column(), v).unwrap(),
            Box::new(move |x, z| v * (1.0 + squared(x, z, &LENGTHS) / 1.6).powf(-0.8)),
        ),
        ("periodic", periodic.clone(), Box::new(periodic_formula)),
        ("linear", linear.clone(), Box::new(linear_formula)),
        (
            "Hamming",
            Kernel::hamming(per_column(), v).unwrap(),
            Box::new(move |x, z| {
                let mut sum = 0.0;
                for i in 0..x.len() {
                    if x[i] != z[i] {
                        sum += 1.0 / LENGTHS[i];
                    }
                }
                v * (-sum).exp()
            }),
        ),
        (
            "sum",
            se.clone() + linear.clone() + periodic.clone(),
            Box::new(move |x, z| se_formula(x, z) + linear_formula(x, z) + periodic_formula(x, z)),
        ),
        ("product", se.clone() * linear * periodic, Box::new(move |x, z| se_formula(x, z) * linear_formula(x, z) * periodic_formula(x, z))),
        (
            "columns",
            Kernel::squared_exponential(vec![0.5, 2.0], v).unwrap().columns(vec![2, 0]).unwrap()
                * (Kernel::matern(0.5, 1.0, 1.0).unwrap().columns(vec![1]).unwrap() + Kernel::linear(0.0, 2.0, 1.0).unwrap()),
            Box::new(move |x, z| {
                let first = v * (-squared(&[x[2], x[0]], &[z[2], z[0]], &[0.5, 2.0]) / 2.0).exp();
                let second = (-(x[1] - z[1]).abs()).exp();
                let third = (x[0] * z[0] + x[1] * z[1] + x[2] * z[2]) / 4.0;
                first * (second + third)
            }),
        ),
    ]
}

fn points(count: usize, seed: u64) -> Points {
    let mut state = seed;
    let values = (0..count * 3).map(|i| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = (state >> 11) as f64 / (1u64 << 53) as f64 * 4.0 - 2.0;
        // A coarse grid in one column, so that categories also agree.
        if i % 3 == 1 { (value * 2.0).round() / 2.0 } else { value }
    });
    Points::new(values.collect(), 3).unwrap()
}

#[test]
fn values_and_blocks_are_the_printed_formulas() {
    for (name, kernel, formula) in cases() {
        for (n, m) in [(1, 1), (3, 5), (7, 31), (5, 32), (70, 33), (4, 100)] {
            let (x, z) = (points(n, 1), points(m, 2));
            let block = kernel.block(x.view(), z.view()).unwrap();
            for i in 0..n {
                for j in 0..m {
                    let expected = formula(x.row(i), z.row(j));
                    let found = kernel.value(x.row(i), z.row(j));
                    assert!((found - expected).abs() <= 1e-13 * expected.abs() + 1e-15, "{name} ({i}, {j}): {found} instead of {expected}");
                    let found = block[(i, j)];
                    assert!(
                        (found - expected).abs() <= 1e-12 * expected.abs() + 1e-14,
                        "{name} block ({i}, {j}): {found} instead of {expected}"
                    );
                    assert_eq!(kernel.value(x.row(i), z.row(j)), kernel.value(z.row(j), x.row(i)), "{name}");
                }
            }
        }
    }
}

#[test]
fn gram_matrices_are_symmetric_with_the_diagonal_to_the_bit() {
    let x = points(77, 3);
    for (name, kernel, _) in cases() {
        let gram = kernel.gram(x.view()).unwrap();
        assert_eq!(gram, gram.transposed(), "{name}");
        assert_eq!(gram.diagonal(), kernel.diagonal(x.view()), "{name}");
        assert_eq!(kernel.max_diagonal(x.view()), gram.diagonal().into_iter().fold(0.0, f64::max), "{name}");
        if kernel.is_stationary() {
            assert_eq!(kernel.max_variance(), Some(gram[(0, 0)]), "{name}");
        } else {
            assert_eq!(kernel.max_variance(), None, "{name}");
        }
    }
}

#[test]
fn gram_matrices_are_positive_semi_definite() {
    // A Cholesky decomposition of K + 1e-12·trace must exist.
    let x = points(40, 4);
    for (name, kernel, _) in cases() {
        let mut gram = kernel.gram(x.view()).unwrap();
        let trace: f64 = gram.diagonal().iter().sum();
        for j in 0..40 {
            gram[(j, j)] += 1e-12 * trace;
        }
        for j in 0..40 {
            for k in 0..j {
                for i in j..40 {
                    gram[(i, j)] -= gram[(i, k)] * gram[(j, k)];
                }
            }
            assert!(gram[(j, j)] > 0.0, "{name}: pivot {j} is {:e}", gram[(j, j)]);
            let root = gram[(j, j)].sqrt();
            for i in j..40 {
                gram[(i, j)] /= root;
            }
        }
    }
}

#[test]
fn a_row_does_not_depend_on_its_neighbours() {
    let (x, z) = (points(131, 5), points(45, 6));
    for (name, kernel, _) in cases() {
        let prepared = kernel.prepare(z.view()).unwrap();
        let mut all = vec![0.0; 131 * 45];
        prepared.rows_into(x.view(), &mut all);
        let mut parallel = vec![0.0; 131 * 45];
        prepared.par_rows_into(x.view(), &mut parallel);
        assert_eq!(all, parallel, "{name}");
        for cut in [1, 2, 3, 17, 64] {
            for start in (0..131).step_by(cut) {
                let end = (start + cut).min(131);
                let mut part = vec![0.0; (end - start) * 45];
                prepared.rows_into(x.view().range(start, end), &mut part);
                assert_eq!(part, all[start * 45..end * 45], "{name}, rows {start}..{end}");
            }
        }
        // Nor does an entry depend on the other columns.
        let single = kernel.block(x.view(), z.view().range(44, 45)).unwrap();
        for i in 0..131 {
            assert_eq!(single[(i, 0)], all[i * 45 + 44], "{name}");
        }
    }
}

#[test]
fn far_points_and_extreme_variances_are_graceful() {
    let x = Points::from_rows(&[[1e308, -1e308, 0.0], [3.0, 0.0, 0.0], [60.0, 0.0, 0.0]]).unwrap();
    let z = Points::from_rows(&[[-1e308, 1e308, 0.0], [3.0, 0.0, 0.0]]).unwrap();
    for variance in [5e-324, 1e-300, 1.0, 1e300] {
        for kernel in [
            Kernel::squared_exponential(0.5, variance).unwrap(),
            Kernel::matern(0.5, 0.5, variance).unwrap(),
            Kernel::matern(1.5, 0.5, variance).unwrap(),
            Kernel::matern(2.5, 0.5, variance).unwrap(),
            Kernel::matern(1.2, 0.5, variance).unwrap(),
            Kernel::rational_quadratic(1.2, 0.5, variance).unwrap(),
            Kernel::hamming(1e-3, variance).unwrap(),
        ] {
            let block = kernel.block(x.view(), z.view()).unwrap();
            assert_eq!(block[(1, 1)], variance);
            assert!(block.as_slice().iter().all(|k| k.is_finite() && *k >= 0.0 && *k <= variance), "{kernel:?}: {block:?}");
            assert_eq!(block[(0, 0)], 0.0);
        }
    }
}

#[test]
fn sums_and_products_are_flat() {
    let k = |v: f64| Kernel::squared_exponential(1.0, v).unwrap();
    let Kernel::Sum(terms) = (k(1.0) + k(2.0)) + (k(3.0) + k(4.0)) else { panic!("a sum") };
    assert_eq!(terms, [k(1.0), k(2.0), k(3.0), k(4.0)]);
    let Kernel::Product(factors) = k(1.0) * (k(2.0) * k(3.0)) else { panic!("a product") };
    assert_eq!(factors, [k(1.0), k(2.0), k(3.0)]);
}

#[test]
fn wrong_parameters_are_named() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for (name, result) in [
            ("lengthscale", Kernel::squared_exponential(bad, 1.0)),
            ("lengthscale", Kernel::squared_exponential(vec![1.0, bad], 1.0)),
            ("variance", Kernel::squared_exponential(1.0, bad)),
            ("nu", Kernel::matern(bad, 1.0, 1.0)),
            ("alpha", Kernel::rational_quadratic(bad, 1.0, 1.0)),
            ("period", Kernel::periodic(bad, 1.0, 1.0)),
            ("lengthscale", Kernel::linear(1.0, bad, 1.0)),
            ("variance", Kernel::hamming(1.0, bad)),
        ] {
            assert!(matches!(result, Err(Error::Parameter { name: found, .. }) if found == name), "{name} = {bad}");
        }
    }
    assert!(matches!(Kernel::linear(-1.0, 1.0, 1.0), Err(Error::Parameter { name: "offset", .. })));
    assert!(Kernel::linear(0.0, 1.0, 1.0).is_ok());
}

#[test]
fn wrong_dimensions_are_named() {
    let kernel = Kernel::squared_exponential(vec![1.0, 2.0], 1.0).unwrap();
    assert_eq!(kernel.check_dim(3), Err(Error::Length { what: "lengthscale", expected: 3, found: 2 }));
    assert!(kernel.clone().columns(vec![0]).is_err());
    let chosen = kernel.clone().columns(vec![0, 4]).unwrap();
    assert!(chosen.check_dim(5).is_ok());
    assert!(matches!(chosen.check_dim(4), Err(Error::Parameter { name: "column", .. })));
    assert!(matches!(kernel.clone().columns(vec![]), Err(Error::Empty { .. })));
    let (three, two) = (points(4, 1), Points::from_rows(&[[1.0, 2.0]]).unwrap());
    assert!(matches!(Kernel::squared_exponential(1.0, 1.0).unwrap().block(three.view(), two.view()), Err(Error::Length { .. })));
    assert!(Kernel::Sum(vec![]).check_dim(1).is_err());
    assert!(kernel.metric_block(three.view(), three.view()).is_err());
}

#[test]
fn stored_kernels_come_back_and_bad_ones_do_not() {
    for (name, kernel, _) in cases() {
        let bytes = postcard::to_stdvec(&kernel).unwrap();
        assert_eq!(postcard::from_bytes::<Kernel>(&bytes).unwrap(), kernel, "{name}");
    }
    let bytes = postcard::to_stdvec(&Kernel::squared_exponential(1.0, 1.0).unwrap()).unwrap();
    let mut negative = bytes.clone();
    *negative.last_mut().unwrap() ^= 0x80;
    assert!(postcard::from_bytes::<Kernel>(&negative).is_err());
    assert!(postcard::from_bytes::<Kernel>(&postcard::to_stdvec(&Kernel::Sum(vec![])).unwrap()).is_err());
}

#[test]
fn spectral_densities_integrate_to_the_kernel() {
    // In one dimension k(h) = 2∫₀^∞ m(s) cos(2πsh) ds, and the radial integral of m is k(0) in three.
    for kernel in
        [Kernel::squared_exponential(0.7, 1.3).unwrap(), Kernel::matern(2.5, 0.7, 1.3).unwrap(), Kernel::matern(1.2, 0.7, 1.3).unwrap()]
    {
        let step = 1e-3;
        for h in [0.0, 0.4, 1.3] {
            let sum: f64 = (0..200_000)
                .map(|i| (f64::from(i) + 0.5) * step)
                .map(|s| 2.0 * step * kernel.spectral_density(1, s).unwrap() * (2.0 * PI * s * h).cos())
                .sum();
            assert!((sum - kernel.value(&[h], &[0.0])).abs() < 2e-5, "{kernel:?} at {h}: {sum}");
        }
        let sum: f64 = (0..400_000)
            .map(|i| (f64::from(i) + 0.5) * step)
            .map(|s| 4.0 * PI * s * s * step * kernel.spectral_density(3, s).unwrap())
            .sum();
        assert!((sum - 1.3).abs() < 2e-2, "{kernel:?}: {sum}");
    }
    assert_eq!(Kernel::linear(0.0, 1.0, 1.0).unwrap().spectral_density(1, 1.0), None);
}

#[test]
fn smoothness_is_that_of_the_roughest_part() {
    let se = Kernel::squared_exponential(1.0, 1.0).unwrap();
    assert_eq!(se.smoothness(), None);
    let mixed = se.clone() * Kernel::matern(2.5, 1.0, 1.0).unwrap() + Kernel::matern(1.5, 1.0, 1.0).unwrap().columns(vec![0]).unwrap();
    assert_eq!(mixed.smoothness(), Some(1.5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn vector_and_scalar_paths_agree(
        values in prop::collection::vec(-3.0..3.0f64, 12),
        lengths in prop::collection::vec(0.05..5.0f64, 3),
        variance in 1e-3..1e3f64,
    ) {
        let points = Points::new(values, 3).unwrap();
        for kernel in [
            Kernel::squared_exponential(lengths.clone(), variance).unwrap(),
            Kernel::matern(0.5, lengths.clone(), variance).unwrap(),
            Kernel::matern(1.5, lengths.clone(), variance).unwrap(),
            Kernel::matern(2.5, lengths.clone(), variance).unwrap(),
            Kernel::periodic(0.8, lengths.clone(), variance).unwrap(),
        ] {
            let gram = kernel.gram(points.view()).unwrap();
            for i in 0..4 {
                for j in 0..4 {
                    let value = kernel.value(points.row(i), points.row(j));
                    // The exponent is about −ln(k/v); its rounding is what both paths may differ by.
                    let slack = 1e-13 * (1.0 + (variance / value.max(1e-300)).ln().abs());
                    prop_assert!((gram[(i, j)] - value).abs() <= slack * value + 1e-290, "{:?}: {} {}", kernel, gram[(i, j)], value);
                }
            }
        }
    }
}
