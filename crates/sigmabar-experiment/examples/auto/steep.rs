//! Flat valleys whose walls are thousands of times higher than the noise, drawn anew for every seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Half of the box lies less than this below the maximum.
const HALF: f64 = 0.25;
/// Points by which the half is found.
const LOOKED_AT: usize = 2001;

/// On the cube from -1 to 1; 0 at its one maximum. Walls grow exponentially, like a pole just outside of the box, or like the sixth power.
pub fn steep(dim: usize, seed: u64) -> impl Fn(&[f64]) -> f64 + Send + Sync {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x57ee9);
    let mut draw = |low: f64, high: f64| (0..dim).map(|_| rng.random_range(low..high)).collect::<Vec<f64>>();
    let (top, pole) = (draw(-0.7, 0.7), draw(-1.0, 1.0));
    let (ways, widths): (Vec<Vec<f64>>, Vec<f64>) =
        ((0..dim).map(|_| draw(-1.0, 1.0)).collect(), draw(-2.0, 0.0).iter().map(|v| v.exp()).collect());
    let reach: f64 = pole.iter().map(|v| v.abs()).sum();
    let bowl = move |x: &[f64]| {
        let along = |way: &[f64]| way.iter().zip(x).zip(&top).map(|((w, x), t)| w * (x - t)).sum::<f64>();
        ways.iter().zip(&widths).map(|(way, width)| (along(way) / width).powi(2)).sum::<f64>() / dim as f64
    };
    let near = move |x: &[f64]| 1.05 - pole.iter().zip(x).map(|(p, x)| p * x).sum::<f64>() / reach;
    let wall = move |x: &[f64]| match seed % 3 {
        0 => (0.5 * bowl(x)).min(12.0).exp_m1(),
        1 => bowl(x) / near(x).powi(3),
        _ => bowl(x) + bowl(x).powi(3),
    };
    let mut some: Vec<f64> = (0..LOOKED_AT).map(|_| wall(&(0..dim).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>())).collect();
    some.sort_by(f64::total_cmp);
    let unit = HALF / some[LOOKED_AT / 2];
    move |x: &[f64]| -unit * wall(x)
}
