//! The certificate as a function of its premises: gap(C), where it breaks, the map over the length-scale, and what a curve costs beside the run's own analysis.
//!
//! `cargo run --release --example premises`

use sigmabar::domain::ListDomain;
use sigmabar::{Ask, BoxDomain, Domain, Expansion, Kernel, Noise, Outcome, Policy, Problem, Result, Strategy};
use std::time::{Duration, Instant};

fn main() -> Result<()> {
    let sobol = |count: usize, dim: usize, seed: u64| Domain::Box(BoxDomain::unit(dim)?).candidates(count, seed)?.range(0, count);
    for (name, kernel, dim) in [
        ("squared exponential, d = 1", Kernel::squared_exponential(0.2, 1.0)?, 1),
        ("squared exponential, d = 2", Kernel::squared_exponential(0.3, 1.0)?, 2),
        ("Matérn-5/2, d = 2", Kernel::matern(2.5, 0.3, 1.0)?, 2),
    ] {
        let function = Expansion::random(kernel.clone(), sobol(30, dim, 5)?, 2.0, 3)?;
        let list = Domain::List(ListDomain::new(sobol(300, dim, 1)?)?);
        show(&format!("{name}, 300 candidates"), (list, 1000), &kernel, &function)?;
        show(&format!("{name}, the box"), (Domain::Box(BoxDomain::unit(dim)?), 300), &kernel, &function)?;
    }
    Ok(())
}

fn show(name: &str, (domain, budget): (Domain, usize), kernel: &Kernel, function: &Expansion) -> Result<()> {
    let problem = Problem::new(domain, budget)?.with_kernel(kernel.clone())?.with_norm_bound(2.0)?.with_noise(Noise::gaussian(0.2)?)?;
    let mut run = Strategy::new(problem, Policy::Sbpe(Box::default()))?;
    let mut analysis = Duration::ZERO;
    while let Ask::Trials(trials) = run.ask(usize::MAX)? {
        for trial in trials {
            // Looks like noise of the declared level, and is the same on every machine.
            let noise = 0.2 * std::f64::consts::SQRT_2 * (12.9898 * (trial.id + 1) as f64).sin();
            let start = Instant::now();
            run.tell(trial.id, Outcome::Value(function.value(&trial.point) + noise))?;
            analysis += start.elapsed();
        }
    }
    let advice = run.recommend()?.expect("something was measured");
    println!("{name}: gap {:.3}", advice.gap);
    let start = Instant::now();
    let map = run.premise_map(&[1.0])?;
    let curve = start.elapsed();
    let standing = run.standing()?.expect("a certified run");
    let all = start.elapsed() - curve;
    for row in map.iter().chain(&run.premise_map(&[0.5, 0.7, 1.4])?) {
        print!("  length-scale × {:3}:", row.factor);
        for point in &row.curve {
            print!(" {:.1}: {}", point.norm_bound, point.gap.map_or("–".to_owned(), |gap| format!("{gap:.2}")));
        }
        println!();
    }
    println!("  {}", standing.range.sentence(&standing.certificate.premises).unwrap_or_default());
    let times = |duration: Duration| duration.as_secs_f64() / analysis.as_secs_f64();
    println!(
        "  analysis of the batches {:.3} s; a curve of {} values {:.2} times that; curve and breakdown points {:.2} times\n",
        analysis.as_secs_f64(),
        standing.curve.len(),
        times(curve),
        times(all)
    );
    Ok(())
}
