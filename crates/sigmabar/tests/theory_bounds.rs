//! The bounds as printed formulas, term by term.
#![allow(clippy::unwrap_used)]

use crate::theory_loops;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::theory::{
    Cover, DesignedData, InducingPlan, MeanNorm, Multiplier, RegretBatch, RegretRequest, Setting, Statement, Theorems, batch_lengths,
    batch_lengths_for, even_batch_lengths,
};
use sigmabar::{BoxDomain, Error, Kernel, Noise};
use theory_loops::{Shape, information, points, power, random_kernel, random_points, rho};

fn setting() -> Setting {
    Setting { norm_bound: 2.0, noise: Noise::sub_gaussian(0.3).unwrap(), ridge: 0.2, delta: 0.05, residual_ratio: 1.0, max_variance: 1.5 }
}

fn sides(widths: &[f64]) -> BoxDomain {
    BoxDomain::with_flat_sides(vec![0.0; widths.len()], widths.to_vec()).unwrap()
}

fn close(found: f64, literal: f64) {
    assert!((found - literal).abs() <= 1e-12 * (1.0 + literal.abs()), "{found} {literal}");
}

/// Algorithm notes 6.5, term by term.
#[test]
fn printed_formulas() {
    let s = setting();
    let t = Theorems::new(s).unwrap();
    let (n, gamma, size) = (200_usize, 12.0_f64, 50_usize);
    let redrawn = DesignedData { evaluations: n, max_gain: gamma, inducing: InducingPlan::Redrawn };
    let fixed = DesignedData { evaluations: n, max_gain: gamma, inducing: InducingPlan::Fixed { max_residual: 0.001, gain: 11.0 } };
    let nf = n as f64;
    let re_variance = rho(1.0).powi(3) * 0.04 * ((2.0 * gamma / nf).exp() - 1.0);
    let fix_variance = 0.001 + 0.04 * ((22.0 / nf).exp() - 1.0);
    close(rho(1.0).powi(3), 17.944_271_909_999_16);
    close(t.design_variance(&redrawn).unwrap().corrected, re_variance);
    close(t.design_variance(&fixed).unwrap().corrected, fix_variance);
    let paper_variance = 8.0 * gamma / (nf * (1.0 + 1.0 / 0.04_f64).ln());
    close(t.design_variance(&redrawn).unwrap().paper, paper_variance);

    let direct = |p: f64| 2.0 * 2.0_f64.sqrt() + 0.3 / 0.2 * (2.0 * (1.0 / p).ln()).sqrt();
    let paper = |p: f64| 3.0 * 2.0 + 0.3 / 0.2 * (2.0 * (1.0 / p).ln()).sqrt();
    let found = t.regression_finite(&redrawn, size).unwrap();
    // E6: nothing is farther from the middle of its interval than C√kmax, whatever the formula says.
    assert!(direct(0.05 / (4.0 * 50.0)) * re_variance.sqrt() > 2.0 * 1.5_f64.sqrt());
    close(found.corrected, 2.0 * 1.5_f64.sqrt());
    let longer = t.regression_finite(&DesignedData { evaluations: 2000, ..redrawn }, size).unwrap();
    close(longer.corrected, direct(0.05 / (4.0 * 50.0)) * (rho(1.0).powi(3) * 0.04 * ((2.0 * gamma / 2000.0).exp() - 1.0)).sqrt());
    close(found.paper, paper(0.05 / (4.0 * 50.0)) * paper_variance.sqrt());
    assert_eq!(found.statement, Statement::RegressionFinite);
    assert!(found.statement.to_string().contains("Theorem 4.1"));
    close(t.regression_finite(&fixed, size).unwrap().corrected, direct(0.05 / (2.0 * 50.0)) * fix_variance.sqrt());

    let (domain, kernel) = (sides(&[1.0, 3.0]), Kernel::squared_exponential([0.2, 0.5], 1.5).unwrap());
    let h = 0.01;
    let cover = Cover::new(&domain, &kernel, h).unwrap();
    let cells = (3.0_f64.sqrt() / (0.4 * h)).ceil() * (3.0 * 3.0_f64.sqrt() / h).ceil();
    close(cover.log_cells, cells.ln());
    let found = t.regression_continuous(&fixed, (&domain, &kernel), &cover, MeanNorm::Computed(1.7)).unwrap();
    close(found.corrected, direct(0.05 / (2.0 * cells)) * (fix_variance.sqrt() + h) + (2.0 + 1.7) * h);
    // Before the data: half of δ for ‖E‖, half for the cover.
    let tail = (2.0 / 0.05_f64).ln();
    let norm = 2.0 * 1.5 + 0.3 * (nf + 2.0 * (nf * tail).sqrt() + 2.0 * tail).sqrt() / 0.4;
    let found = t.regression_continuous(&fixed, (&domain, &kernel), &cover, MeanNorm::Before).unwrap();
    close(found.corrected, direct(0.05 / (4.0 * cells)) * (fix_variance.sqrt() + h) + (2.0 + norm) * h);
    let paper_norm = 2.0 * (1.0 + nf.sqrt() * 1.5 / 0.2) + nf.sqrt() * 0.3 / 0.2 * (2.0 * (2.0 * nf / 0.025_f64).ln()).sqrt();
    let c = (0.5 * 3.0_f64.sqrt()).powi(2) * 5.0 * 6.0;
    let paper_cells = c * paper_norm.powi(2) * nf.powi(2);
    close(found.paper, paper(0.05 / (8.0 * paper_cells)) * (paper_variance.sqrt() + 2.0 / nf.sqrt()) + 2.0 / nf);
}

/// Algorithm notes 7.6 in the multiplier: each law of the noise has its own factor, and the paper's form has none for normal noise.
#[test]
fn every_law_of_the_noise_has_its_own_multiplier() {
    let tail = (2.0 * 50.0 / 0.05_f64).ln();
    let (bias, paper_bias) = (2.0 * 2.0_f64.sqrt(), 6.0);
    let sub_gaussian = |level: f64| level * (2.0 * tail).sqrt() / 0.2;
    let light = |xi0: f64, h0: f64| (2.0 * xi0.max(2.0 * tail / (h0 * h0)) * tail).sqrt() / 0.2;
    let check = |noise: Noise, direct: f64, paper: f64| {
        let t = Theorems::new(Setting { noise, ..setting() }).unwrap();
        assert!((t.multiplier(Multiplier::Direct, tail) - bias - direct).abs() < 1e-6 * direct);
        close(t.multiplier(Multiplier::Paper, tail), paper_bias + paper);
    };
    check(Noise::light_tailed(0.09, 30.0).unwrap(), light(0.09, 30.0), light(0.09, 30.0));
    check(Noise::light_tailed(400.0, 0.1).unwrap(), light(400.0, 0.1), light(400.0, 0.1));
    check(Noise::bounded(0.7).unwrap(), sub_gaussian(0.7), sub_gaussian(0.7));
    check(Noise::per_observation(vec![0.1, 0.4]).unwrap(), sub_gaussian(0.4), sub_gaussian(0.4));
    // Φ⁻¹(1 − 0.0005) by the tables.
    check(Noise::gaussian(0.3).unwrap(), 0.3 * 3.290_526_731 / 0.2, sub_gaussian(0.3));
    // E11 with light tails: ‖E‖ by a union over both sides of every coordinate.
    let t = Theorems::new(Setting { noise: Noise::light_tailed(400.0, 0.1).unwrap(), ..setting() }).unwrap();
    let energy = (40.0 * 2.0 * 400.0_f64.max(200.0 * (3.0 + 80.0_f64.ln())) * (3.0 + 80.0_f64.ln())).sqrt();
    close(t.mean_norm_bound(40, 3.0).unwrap(), 3.0 + energy / 0.4);
}

#[test]
fn printed_regret_formulas() {
    let t = Theorems::new(setting()).unwrap();
    let gamma = |n: usize| 4.0 * (n as f64).ln();
    let lengths = [32_usize, 179, 424, 365];
    let (domain, kernel) = (sides(&[1.0]), Kernel::squared_exponential(0.2, 1.5).unwrap());
    let batches: Vec<RegretBatch> = lengths[..3]
        .iter()
        .map(|&n| RegretBatch {
            design: DesignedData { evaluations: n, max_gain: gamma(n), inducing: InducingPlan::Redrawn },
            cover: Some((Cover::new(&domain, &kernel, 1.0 / n as f64).unwrap(), MeanNorm::Computed(2.5))),
        })
        .collect();
    let request = RegretRequest { budget: 1000, max_gain: gamma(1000), multiplier: Multiplier::Paper, batches: &batches };
    let noise = |p: f64| 1.5 * (2.0 * (1.0 / p).ln()).sqrt();
    let worst = 4.0 * 1.5_f64.sqrt();
    let deviation = |n: usize| (rho(1.0).powi(3) * 0.04 * ((2.0 * gamma(n) / n as f64).exp() - 1.0)).min(1.5).sqrt();
    let (mut finite, mut continuous) = (worst * 32.0, worst * 32.0);
    for i in 1..4 {
        let before = lengths[i - 1];
        let beta = 6.0 + noise(0.05 / (4.0 * 4.0 * 50.0));
        finite += lengths[i] as f64 * worst.min(4.0 * beta * deviation(before));
        let h = 1.0 / before as f64;
        let cells = (1.5_f64.sqrt() / (0.4 * h)).ceil();
        let beta = 6.0 + noise(0.05 / (4.0 * 4.0 * cells));
        continuous += lengths[i] as f64 * worst.min(4.0 * beta * (deviation(before) + h) + 4.0 * (2.0 + 2.5) * h);
    }
    let rounds = 1000.0_f64.ln().ln() + 2.0;
    let root = (8.0 * gamma(1000) / 26.0_f64.ln()).sqrt();
    let factor = (1000.0_f64.sqrt() + 1.0) * rounds;
    let found = t.regret_finite(&request, 50).unwrap();
    close(found.corrected, finite);
    close(found.paper, (24.0 + 4.0 * noise(0.05 / (4.0 * 50.0 * rounds))) * factor * root);
    let found = t.regret_continuous(&request, (&domain, &kernel)).unwrap();
    close(found.corrected, continuous);
    let paper_norm = 2.0 * (1.0 + 1000.0_f64.sqrt() * 7.5) + 1000.0_f64.sqrt() * 1.5 * (2.0 * (2000.0 / 0.025_f64).ln()).sqrt();
    let cells = 0.5 * 1.5_f64.sqrt() * 5.0 * paper_norm * 1000.0;
    close(found.paper, (24.0 + 4.0 * noise(0.05 / (8.0 * cells * rounds))) * factor * (root + 2.0) + 8.0 * 1000.0_f64.sqrt() * rounds);
    let short = RegretRequest { batches: &batches[..1], ..request };
    assert!(matches!(t.regret_finite(&short, 50), Err(Error::Length { .. })));
    let bare: Vec<RegretBatch> = batches.iter().map(|b| RegretBatch { cover: None, ..*b }).collect();
    assert!(matches!(t.regret_continuous(&RegretRequest { batches: &bare, ..request }, (&domain, &kernel)), Err(Error::Missing { .. })));
}

/// Invariant 10 and E8: the lists of algorithm notes 5.2, exact for every budget.
#[test]
fn batch_schedules() {
    assert_eq!(batch_lengths(100).unwrap(), [10, 32, 57, 1]);
    assert_eq!(batch_lengths(1000).unwrap(), [32, 179, 424, 365]);
    assert_eq!(batch_lengths(10_000).unwrap(), [100, 1000, 3163, 5625, 112]);
    assert_eq!(batch_lengths(1_000_000).unwrap(), [1000, 31_623, 177_829, 421_698, 367_850]);
    for n in (1..3000).chain([u32::MAX as usize, usize::MAX / 4, (1 << 53) + 1]) {
        let lengths = batch_lengths(n).unwrap();
        assert_eq!(lengths.iter().map(|&l| l as u128).sum::<u128>(), n as u128);
        let mut before = 1_u128;
        for &l in &lengths[..lengths.len() - 1] {
            // The smallest integer with l² ≥ N·before.
            let (l, product) = (l as u128, n as u128 * before);
            assert!(l * l >= product && (l - 1) * (l - 1) < product);
            before = l;
        }
    }
    // E8: the paper's ⌈log log N⌉ + 1 with natural logarithms is too small.
    for (n, natural) in [(1000, 3), (1_000_000, 4)] {
        assert_eq!((n as f64).ln().ln().ceil() as usize + 1, natural);
        assert!(batch_lengths(n).unwrap().len() > natural);
    }
    assert_eq!(even_batch_lengths(10, 4).unwrap(), [3, 3, 2, 2]);
    for (n, b, c) in [(1000, 4, 0.0), (50, 6, 0.3), (7, 7, 0.9), (123_456, 3, 0.5), (1, 1, 0.0)] {
        let lengths = batch_lengths_for(n, b, c).unwrap();
        assert_eq!((lengths.len(), lengths.iter().sum::<usize>()), (b, n));
        assert!(lengths.iter().all(|&l| l > 0) && lengths.is_sorted(), "{lengths:?}");
        let eta = (1.0 - c) / 2.0;
        let wished: Vec<f64> =
            (1..=b).map(|i| (n as f64).powf((1.0 - f64::powi(eta, i as i32)) / (1.0 - f64::powi(eta, b as i32))).ceil()).collect();
        let total: f64 = wished.iter().sum();
        for (l, w) in lengths.iter().zip(&wished) {
            assert!((*l as f64 - n as f64 * w / total).abs() <= b as f64 + 1.0, "{lengths:?} {wished:?}");
        }
    }
    assert!(batch_lengths(0).is_err() && batch_lengths_for(3, 4, 0.0).is_err() && batch_lengths_for(9, 3, 1.0).is_err());
    assert!(even_batch_lengths(5, 0).is_err());
}

/// The cover really covers: no point of the box is farther than h from a cell centre in the kernel metric.
#[test]
fn covers_cover() {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for _ in 0..200 {
        let mut plain = random_kernel(&mut rng);
        if matches!(plain.shape, Shape::MaternHalf) {
            plain.shape = Shape::SquaredExponential;
        }
        let kernel = plain.kernel();
        let widths: Vec<f64> = (0..2).map(|_| power(&mut rng, -1.0, 1.0)).collect();
        let h = power(&mut rng, -2.0, -0.5);
        let cover = Cover::new(&sides(&widths), &kernel, h).unwrap();
        let lipschitz = kernel.metric_lipschitz().unwrap();
        let cells: Vec<f64> = widths
            .iter()
            .map(|w| (w * (2.0 * plain.variance).sqrt() * lipschitz / (2.0 * plain.lengthscale * h)).ceil().max(1.0))
            .collect();
        // The smaller of Γ(h) and N² equal cells, N the fewest that the exact metric allows.
        let by_constants: f64 = cells.iter().map(|c| c.ln()).sum();
        let within = |n: f64| kernel.metric_over_cell(&[0.5 * widths[0] / n, 0.5 * widths[1] / n]).unwrap() <= h;
        let equal = (1..).map(f64::from).find(|&n| within(n)).unwrap();
        close(cover.log_cells, by_constants.min(2.0 * equal.ln()));
        let cells = if 2.0 * equal.ln() < by_constants { vec![equal; 2] } else { cells };
        for _ in 0..20 {
            let x: Vec<f64> = widths.iter().map(|w| rng.random_range(0.0..*w)).collect();
            let centre: Vec<f64> = (0..2).map(|i| ((x[i] / widths[i] * cells[i]).floor() + 0.5) * widths[i] / cells[i]).collect();
            assert!(kernel.metric(&x, &centre) <= h * (1.0 + 1e-9));
        }
    }
    let huge = Cover::new(&sides(&[1.0; 400]), &Kernel::squared_exponential(1e-3, 1.0).unwrap(), 1e-6).unwrap();
    assert!(huge.log_cells.is_finite() && huge.log_cells > 709.0, "beyond what f64 could hold without the logarithm");
    // A kernel without the paper's constants is covered by its metric alone; a side without length is one cell; one without a metric over cells is refused.
    let rough = Kernel::matern(0.5, 0.3, 1.0).unwrap();
    let cover = Cover::new(&sides(&[1.0]), &rough, 0.1).unwrap();
    let cells = cover.log_cells.exp().round();
    assert!(rough.metric_over_cell(&[0.5 / cells]).unwrap() <= 0.1 && rough.metric_over_cell(&[0.5 / (cells - 1.0)]).unwrap() > 0.1);
    close(Cover::new(&sides(&[1.0, 0.0]), &rough, 0.1).unwrap().log_cells, cover.log_cells);
    assert!(matches!(Cover::new(&sides(&[1.0]), &Kernel::hamming(1.0, 1.0).unwrap(), 0.1), Err(Error::Premise { .. })));
    assert!(Cover::new(&sides(&[1.0]), &Kernel::squared_exponential([1.0, 2.0], 1.0).unwrap(), 0.1).is_err());
}

/// Algorithm notes 7.5: at τ = Rz/C the width is within √2 of the best ridge, which is the best linear estimator.
#[test]
fn ridge_for_one_interval() {
    let mut rng = ChaCha8Rng::seed_from_u64(36);
    for _ in 0..60 {
        let (c, level, delta) = (power(&mut rng, -1.0, 1.0), power(&mut rng, -2.0, 0.5), 0.01);
        let kernel = random_kernel(&mut rng);
        let x = random_points(&mut rng, 15, 1, 0.0, 1.0);
        let query = points(&random_points(&mut rng, 1, 1, 0.0, 1.0));
        let z = (2.0 * (1.0_f64 / delta).ln()).sqrt();
        let chosen = level * z / c;
        let width = |tau: f64| {
            let part = information(&kernel, tau, &x, &x).variance_parts(query.view()).unwrap()[0];
            c * (part.projection + part.fit).sqrt() + level * z * (part.noise / (tau * tau)).sqrt()
        };
        let best = (-24..=24).map(|i| width(chosen * 10.0_f64.powf(f64::from(i) / 8.0))).fold(f64::INFINITY, f64::min);
        assert!(width(chosen) <= 2.0_f64.sqrt() * best * (1.0 + 1e-4), "{} {best}", width(chosen));
    }
}

#[test]
fn settings_are_checked() {
    let refused = |change: fn(&mut Setting), name: &str| {
        let mut s = setting();
        change(&mut s);
        match Theorems::new(s) {
            Err(Error::Parameter { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{name}: {other:?}"),
        }
    };
    refused(|s| s.norm_bound = 0.0, "norm_bound");
    refused(|s| s.noise = Noise::SubGaussian { level: -1.0 }, "noise level");
    refused(|s| s.ridge = f64::NAN, "ridge");
    refused(|s| s.delta = 1.0, "delta");
    refused(|s| s.residual_ratio = -0.1, "residual_ratio");
    refused(|s| s.max_variance = f64::INFINITY, "max_variance");
    let t = Theorems::new(setting()).unwrap();
    let none = DesignedData { evaluations: 0, max_gain: 1.0, inducing: InducingPlan::Redrawn };
    assert!(matches!(t.design_variance(&none), Err(Error::Parameter { name: "evaluations", .. })));
    assert!(t.regression_finite(&DesignedData { evaluations: 3, ..none }, 0).is_err());
    assert!(t.design_variance(&DesignedData { evaluations: 3, max_gain: -1.0, ..none }).is_err());
    // One measurement: a single batch, and nothing but the worst regret.
    let one = RegretRequest { budget: 1, max_gain: 0.3, multiplier: Multiplier::Direct, batches: &[] };
    let bound = t.regret_finite(&one, 5).unwrap();
    assert_eq!(bound.corrected, t.worst_regret());
    assert!(bound.paper.is_finite());
}
