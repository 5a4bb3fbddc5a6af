//! The table of algorithm notes 5.3 with few seeds: the certified rules regret far less than the paper's. `examples/regret.rs` prints it in full.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{Drawn, Known, finish, sbpe};
use sigmabar::strategy::{Rules, Sbpe};
use sigmabar::{Kernel, Strategy};

fn regret(known: &Known, rules: Rules, seed: u64) -> f64 {
    let mut strategy = Strategy::new(known.problem(1000, Drawn::Rademacher, seed), sbpe(Sbpe::new(rules))).unwrap();
    let (best, mut total) = (known.best(), 0.0);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    finish(&mut strategy, |i| {
        total += best - known.values[i];
        known.values[i] + Drawn::Gaussian.draw(known.level, &mut rng)
    });
    assert!(strategy.survivors().unwrap().unwrap().candidates().unwrap().iter().any(|&i| known.values[i] == best), "the maximiser is kept");
    total
}

#[test]
fn certified_rules_regret_at_most_a_third_of_the_papers() {
    let rows = [
        (Kernel::squared_exponential(0.2, 1.0).unwrap(), 1, 400),
        (Kernel::matern(2.5, 0.3, 1.0).unwrap(), 2, 500),
        (Kernel::squared_exponential(0.3, 1.0).unwrap(), 2, 500),
    ];
    let mut logs = 0.0;
    for (kernel, dim, count) in rows {
        let seeds: Vec<(f64, f64)> = (0..4_u64)
            .into_par_iter()
            .map(|seed| {
                let known = Known::random(kernel.clone(), dim, count, 2.0, 0.2, 40 + seed);
                (regret(&known, Rules::Certified, seed), regret(&known, Rules::Paper, seed))
            })
            .collect();
        let (certified, paper) = seeds.iter().fold((0.0, 0.0), |(a, b), (c, p)| (a + c, b + p));
        println!("certified {:.1}, paper {:.1}, ratio {:.3}", certified / 4.0, paper / 4.0, certified / paper);
        logs += (certified / paper).ln() / 3.0;
    }
    assert!(logs.exp() <= 0.33, "geometric mean {}", logs.exp());
}
