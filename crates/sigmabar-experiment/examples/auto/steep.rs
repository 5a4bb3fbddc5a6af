//! Flat valleys whose walls are hundreds or thousands of times higher than the noise, drawn anew for every seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Half of the box lies less than this below the maximum.
const HALF: f64 = 0.25;
/// A tenth to three tenths of it do less than this below that of a polynomial, which is less than the noise.
const FLAT: f64 = 0.02;
/// Points by which such shares are found.
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
    let unit = HALF / quantile(&wall, dim, 0.5, &mut rng);
    move |x: &[f64]| -unit * wall(x)
}

/// On the same cube, 0 at a maximum: squares of $x_0(y^k-t)$, k = 1, 2, 3, for every other column y, less their values there.
pub fn polynomial(dim: usize, seed: u64) -> impl Fn(&[f64]) -> f64 + Send + Sync {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x9017);
    let mut draw = |low: f64, high: f64| (0..dim).map(|_| rng.random_range(low..high)).collect::<Vec<f64>>();
    let (top, reach, tilt) = (draw(-0.7, 0.7), draw(1.5, 4.5), draw(-1.0, 1.0));
    let term = move |x: &[f64], column: usize, power: i32| reach[0] * x[0] * ((reach[column] * x[column]).powi(power) - tilt[column]);
    let wall = move |x: &[f64]| {
        let square = |column: usize, power: i32| (term(x, column, power) - term(&top, column, power)).powi(2);
        (1..dim).flat_map(|column| [1, 2, 3].map(|power| square(column, power))).sum::<f64>()
    };
    let share = rng.random_range(0.1..0.3);
    let unit = FLAT / quantile(&wall, dim, share, &mut rng);
    move |x: &[f64]| -unit * wall(x)
}

/// The value below which the wall is in this share of the box.
fn quantile(wall: &impl Fn(&[f64]) -> f64, dim: usize, share: f64, rng: &mut ChaCha8Rng) -> f64 {
    let mut some: Vec<f64> = (0..LOOKED_AT).map(|_| wall(&(0..dim).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>())).collect();
    some.sort_by(f64::total_cmp);
    some[(share * LOOKED_AT as f64) as usize]
}
