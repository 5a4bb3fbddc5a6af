//! The paper's design against its definition.

use crate::oracle;

use oracle::{Covariance, Draws};
use sigmabar::design::PaperMaxVariance;
use sigmabar::{Error, Kernel, Points};

/// As long as n ≤ 192·log(1/δ_j) the recursion keeps every point, and the paper's design is that of the exact posterior.
#[test]
fn equals_the_exact_greedy_design_where_every_point_is_kept() {
    let mut draws = Draws::new(4);
    for trial in 0..12 {
        let (k, kernel): (Covariance, Kernel) = if trial % 2 == 0 {
            (oracle::squared_exponential, Kernel::squared_exponential(0.3, 1.0).unwrap())
        } else {
            (oracle::matern_five_halves, Kernel::matern(2.5, 0.4, 2.0).unwrap())
        };
        let dim = 1 + trial % 2;
        let mut candidates: Vec<Vec<f64>> = (0..25).map(|_| (0..dim).map(|_| draws.uniform()).collect()).collect();
        candidates.push(candidates[3].clone());
        let tau = [0.3, 0.1][trial / 2 % 2];
        let count = 14;
        let mut picks: Vec<usize> = Vec::new();
        for _ in 0..count {
            let x: Vec<Vec<f64>> = picks.iter().map(|&i| candidates[i].clone()).collect();
            let variance: Vec<f64> = candidates
                .iter()
                .map(|q| if x.is_empty() { k(q, q) } else { oracle::exact(k, tau, &x, &vec![0.0; x.len()], q).variance })
                .collect();
            picks.push((1..variance.len()).fold(0, |best, i| if variance[i] > variance[best] { i } else { best }));
        }
        let points = Points::from_rows(&candidates).unwrap();
        let design = PaperMaxVariance::new(kernel, tau, 0.05).unwrap().choose(points.view(), count, trial as u64).unwrap();
        assert_eq!(design.indices(), picks, "trial {trial}");
        for (j, &m) in design.inducing_sizes().iter().enumerate() {
            let mut seen = picks[..=j].to_vec();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(m, seen.len(), "every distinct point is an inducing point");
        }
        assert_eq!(design.designed_data(3.0).evaluations, count);
        assert!(design.max_std() > 0.0 && design.information().len() == count);
    }
}

#[test]
fn wrong_use_is_refused() {
    let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
    assert!(matches!(PaperMaxVariance::new(kernel.clone(), 0.0, 0.05), Err(Error::Parameter { name: "ridge", .. })));
    for delta in [0.0, 0.11, 1.0, f64::NAN] {
        assert!(matches!(PaperMaxVariance::new(kernel.clone(), 0.1, delta), Err(Error::Parameter { name: "delta", .. })));
    }
    let design = PaperMaxVariance::new(kernel, 0.1, 0.05).unwrap();
    let points = Points::on_line(vec![0.0, 1.0]).unwrap();
    assert!(matches!(design.choose(points.view(), 0, 1), Err(Error::Parameter { name: "count", .. })));
    assert!(matches!(design.choose(points.view().range(0, 0), 1, 1), Err(Error::Empty { .. })));
}
