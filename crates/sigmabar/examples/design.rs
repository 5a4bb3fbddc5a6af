//! How long a design of 500 of 10 000 candidates takes (`cargo run --release -p sigmabar --example design`).

use sigmabar::design::{DictionarySize, MaxVariance};
use sigmabar::domain::SobolSequence;
use sigmabar::{Kernel, Points};
use std::time::Instant;

fn main() -> sigmabar::Result<()> {
    let sequence = SobolSequence::new(4, 1)?;
    let mut rows = vec![vec![0.0; 4]; 10_000];
    rows.iter_mut().enumerate().for_each(|(i, row)| sequence.point_into(i as u32, row));
    let points = Points::from_rows(&rows)?;
    let design = MaxVariance::growing(Kernel::matern(2.5, 0.5, 1.0)?, 0.1, DictionarySize::default())?;
    for _ in 0..3 {
        let start = Instant::now();
        let chosen = design.choose(points.view(), 500)?;
        println!("{:.3} s, largest deviation left {:.6}", start.elapsed().as_secs_f64(), chosen.max_std());
    }
    Ok(())
}
