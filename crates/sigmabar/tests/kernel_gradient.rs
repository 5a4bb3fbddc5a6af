//! Derivatives against differences of values, and the three ways to compute them against each other.

#![allow(clippy::unwrap_used)]

use sigmabar::{Kernel, Points};

fn kernels() -> Vec<(&'static str, Kernel)> {
    let lengths = || vec![0.7, 1.9, 0.4];
    let se = || Kernel::squared_exponential(lengths(), 1.7).unwrap();
    let matern = |nu| Kernel::matern(nu, lengths(), 1.7).unwrap();
    let periodic = || Kernel::periodic(vec![1.1, 2.3, 0.9], lengths(), 1.7).unwrap();
    let linear = || Kernel::linear(0.4, lengths(), 1.7).unwrap();
    vec![
        ("squared exponential", se()),
        ("squared exponential, shared", Kernel::squared_exponential(0.6, 1.7).unwrap()),
        ("Matérn ½", matern(0.5)),
        ("Matérn 3/2", matern(1.5)),
        ("Matérn 5/2", matern(2.5)),
        ("Matérn 5/2, shared", Kernel::matern(2.5, 0.6, 1.7).unwrap()),
        ("Matérn 0.8", matern(0.8)),
        ("Matérn 1", matern(1.0)),
        ("Matérn 3.1", matern(3.1)),
        ("rational quadratic", Kernel::rational_quadratic(0.8, lengths(), 1.7).unwrap()),
        ("periodic", periodic()),
        ("periodic, shared", Kernel::periodic(1.3, 0.8, 1.7).unwrap()),
        ("linear", linear()),
        ("linear through the origin", Kernel::linear(0.0, 0.8, 1.7).unwrap()),
        ("Hamming", Kernel::hamming(lengths(), 1.7).unwrap()),
        ("sum", se() + linear() + periodic()),
        ("product", se() * linear() * matern(1.5)),
        (
            "columns",
            Kernel::squared_exponential(vec![0.5, 2.0], 1.2).unwrap().columns(vec![2, 0]).unwrap()
                * (Kernel::matern(0.5, 1.0, 0.8).unwrap().columns(vec![1]).unwrap() + Kernel::linear(0.3, 2.0, 1.0).unwrap()),
        ),
    ]
}

fn points(count: usize, seed: u64) -> Points {
    let mut state = seed;
    let values = (0..count * 3).map(|i| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0;
        if i % 3 == 1 { (value * 2.0).round() / 2.0 } else { value }
    });
    Points::new(values.collect(), 3).unwrap()
}

#[test]
fn derivatives_are_limits_of_differences() {
    let (x, z) = (points(6, 1), points(6, 2));
    for (name, kernel) in kernels() {
        let theta = kernel.log_parameters();
        let mut grad = vec![0.0; theta.len()];
        for (a, b) in x.view().rows().zip(z.view().rows()).chain([(x.row(0), x.row(0))]) {
            kernel.gradient_value(a, b, &mut grad);
            for p in 0..theta.len() {
                let at = |shift: f64| {
                    let mut moved = theta.clone();
                    moved[p] += shift;
                    kernel.with_log_parameters(&moved).unwrap().value(a, b)
                };
                // Richardson: the error of a central difference falls with h⁴.
                let h = 1e-3;
                let wide = (at(h) - at(-h)) / (2.0 * h);
                let narrow = (at(0.5 * h) - at(-0.5 * h)) / h;
                let expected = (4.0 * narrow - wide) / 3.0;
                assert!(
                    (grad[p] - expected).abs() <= 1e-9 * (1.0 + expected.abs()),
                    "{name}, {}: {} instead of {expected}",
                    kernel.parameters()[p].name,
                    grad[p]
                );
            }
        }
    }
}

#[test]
fn rows_add_up_single_derivatives() {
    for (name, kernel) in kernels() {
        for (n, m) in [(1, 1), (3, 33), (5, 70)] {
            // Some points in common, where the slope of the roughest kernels is infinite.
            let x = points(n, 3);
            let z = points(m, 3);
            let weights: Vec<f64> = (0..n * m).map(|k| ((k * 7 + 3) % 11) as f64 / 5.0 - 1.0).collect();
            let count = kernel.parameters().len();
            let mut expected = vec![1.0; count];
            let mut scale = vec![1.0; count];
            let mut single = vec![0.0; count];
            for i in 0..n {
                for j in 0..m {
                    kernel.gradient_value(x.row(i), z.row(j), &mut single);
                    for p in 0..count {
                        expected[p] += weights[i * m + j] * single[p];
                        scale[p] += (weights[i * m + j] * single[p]).abs();
                    }
                }
            }
            // The result is added to what was there.
            let mut found = vec![1.0; count];
            kernel.prepare(z.view()).unwrap().gradient_rows(x.view(), &weights, &mut found);
            for p in 0..count {
                assert!((found[p] - expected[p]).abs() <= 1e-12 * scale[p], "{name} {n}×{m}, {p}: {} instead of {}", found[p], expected[p]);
            }
        }
    }
}

#[test]
fn diagonals_add_up_single_derivatives() {
    let x = points(9, 5);
    let weights: Vec<f64> = (0..9).map(|i| f64::from(i) - 3.5).collect();
    for (name, kernel) in kernels() {
        let count = kernel.parameters().len();
        let mut expected = vec![0.0; count];
        let mut single = vec![0.0; count];
        for (i, w) in weights.iter().enumerate() {
            kernel.gradient_value(x.row(i), x.row(i), &mut single);
            expected.iter_mut().zip(&single).for_each(|(e, s)| *e += w * s);
        }
        let mut found = vec![0.0; count];
        kernel.gradient_diagonal(x.view(), &weights, &mut found);
        for p in 0..count {
            assert!((found[p] - expected[p]).abs() <= 1e-12 * (1.0 + expected[p].abs()), "{name}, {p}");
        }
    }
}

#[test]
fn parameters_have_names_and_an_order() {
    let kernel = Kernel::squared_exponential(vec![1.0, 2.0], 3.0).unwrap() * Kernel::rational_quadratic(0.5, 4.0, 5.0).unwrap();
    let names: Vec<String> = kernel.parameters().into_iter().map(|p| p.name).collect();
    assert_eq!(
        names,
        [
            "product[0].lengthscale[0]",
            "product[0].lengthscale[1]",
            "product[0].variance",
            "product[1].lengthscale",
            "product[1].alpha",
            "product[1].variance"
        ]
    );
    let values: Vec<f64> = kernel.parameters().into_iter().map(|p| p.value).collect();
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 0.5, 5.0]);
    let moved = kernel.with_log_parameters(&[0.0; 6]).unwrap();
    assert!(moved.parameters().iter().all(|p| p.value == 1.0));
    assert!(kernel.with_log_parameters(&[0.0; 5]).is_err());
    assert!(kernel.with_log_parameters(&[0.0, 0.0, 1e4, 0.0, 0.0, 0.0]).is_err());
    assert!(kernel.with_log_parameters(&[0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0]).is_err());
}
