//! The main job in one screen: noisy measurements in, a mean and an interval that is a theorem out.
//!
//! `cargo run --release --example regression`

use sigmabar::certificate::{Coverage, Method};
use sigmabar::inducing::{InducingRule, Stop};
use sigmabar::{Claim, Collected, Expansion, FeatureMap, Intervals, Kernel, Noise, Observations, Points, Posterior, Prior};
use std::f64::consts::TAU;
use std::sync::Arc;

fn main() -> sigmabar::Result<()> {
    let (rows, noise, norm_bound) = (2000, 0.2, 3.0);
    let kernel = Kernel::matern(2.5, 0.3, 1.0)?;

    // What the world does: a function of known norm, measured with Gaussian noise at 2000 places on the unit square.
    let mut draws = Draws(42);
    let truth = Expansion::random(kernel.clone(), draws.points(30), norm_bound, 1)?;
    let x = draws.points(rows);
    let y: Vec<f64> = truth.values(x.view())?.iter().map(|f| f + noise * draws.normal()).collect();

    // What we assume, before any y is looked at: kernel, norm bound, noise, and the places.
    let observations = Observations::new(x, &y, Collected::DeclaredFixed, Prior::ZERO)?;
    let claim = Claim::new(0.05)?.norm_bound(norm_bound)?.noise(Noise::gaussian(noise)?).coverage(Coverage::Points);
    let ridge = noise;

    // Inducing points never see y, so the guarantee survives choosing them well.
    let inducing = InducingRule::Greedy(Stop::at_residual(0.1, 500)).select(&kernel, ridge, observations.locations(), 0)?;
    let features = Arc::new(FeatureMap::new(kernel, inducing.into_points())?);
    let posterior = Posterior::fit(features, ridge, observations)?;

    let queries = Points::from_rows(&[[0.1, 0.1], [0.3, 0.7], [0.5, 0.5], [0.8, 0.2], [0.9, 0.9]])?;
    let interval = posterior.interval(queries.view(), &claim)?;
    println!("     x            truth     mean   lower   upper");
    for (i, point) in queries.view().rows().enumerate() {
        let (lower, upper) = (interval.lower()[i], interval.upper()[i]);
        println!(
            "  ({:.1}, {:.1})   {:>8.3} {:>8.3} {lower:>7.3} {upper:>7.3}",
            point[0],
            point[1],
            truth.value(point),
            interval.mean()[i]
        );
    }
    println!("\n{}", interval.certificate());

    let paper = posterior.interval(queries.view(), &claim.method(Method::Paper))?;
    println!("the paper's own interval, under the same assumptions, is {:.1} times as wide", mean_width(&paper) / mean_width(&interval));
    Ok(())
}

fn mean_width(interval: &Intervals) -> f64 {
    let widths = interval.lower().iter().zip(interval.upper()).map(|(lower, upper)| upper - lower);
    widths.sum::<f64>() / interval.lower().len() as f64
}

/// A few lines of randomness, so that the example shows nothing but the library.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    fn points(&mut self, n: usize) -> Points {
        Points::new((0..2 * n).map(|_| self.uniform()).collect(), 2).expect("finite")
    }
}
