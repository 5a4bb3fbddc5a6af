//! Learning on rows that are elsewhere: the same evidence and gradient as in memory, whoever sums, and a climb that gains on all of them.

use crate::oracle::{Draws, close};
use sigmabar::accumulator::{Accumulator, Picked, Plan, Road, SumsError};
use sigmabar::evidence::{EvidenceGradient, Learning, Slope, SlopeSums, climb_all_rows};
use sigmabar::{Collected, Error, FeatureMap, Kernel, Observations, Points, Posterior, Prior};
use std::sync::Arc;

const DIM: usize = 2;

struct Rows {
    chunks: Vec<(Vec<f64>, Vec<f64>)>,
    inducing: Points,
}

impl Rows {
    fn new(sizes: &[usize], m: usize) -> Self {
        let mut draws = Draws::new(31);
        let mut chunk = |n: usize| {
            let x = draws.points(n, DIM).concat();
            let y = x.chunks(DIM).map(|p| 4.0 + (6.0 * p[0]).sin() + 0.3 * p[1] + 0.2 * draws.normal()).collect();
            (x, y)
        };
        let chunks = sizes.iter().map(|&n| chunk(n)).collect();
        Self { chunks, inducing: Points::from_rows(&draws.points(m, DIM)).unwrap() }
    }

    fn plan(&self, kernel: &Kernel, ridge: f64) -> Plan {
        let sizes = self.chunks.iter().map(|(_, y)| Some(y.len() as u64)).collect();
        let mut plan = Plan::new(kernel.clone(), self.inducing.clone(), ridge, sizes).unwrap().centre(4.0).unwrap();
        plan.prior = Some(Prior::declared(3.5, 1.7).unwrap());
        plan
    }

    /// Both passes, with the chunks in this order.
    fn evidence(&self, plan: &Plan, order: &[usize]) -> sigmabar::Result<EvidenceGradient> {
        let (mut sums, mut slopes) = (Accumulator::empty(plan), SlopeSums::empty(plan));
        for &chunk in order {
            let mut leaf = plan.leaf(chunk as u64)?;
            leaf.add(&self.chunks[chunk].0, &self.chunks[chunk].1)?;
            sums.merge(leaf.finish()?)?;
        }
        let slope = Slope::new(&Posterior::from_sums(plan, &sums)?)?;
        for &chunk in order {
            let mut leaf = slope.leaf(plan, chunk as u64)?;
            let (x, y) = &self.chunks[chunk];
            for (x, y) in x.chunks(37 * DIM).zip(y.chunks(37)) {
                leaf.add(x, y)?;
            }
            slopes.merge(SlopeSums::from_bytes(&leaf.finish()?.to_bytes())?)?;
        }
        slope.finish(plan, &slopes)
    }

    fn in_memory(&self, kernel: &Kernel, ridge: f64) -> Posterior {
        let (x, y): (Vec<Vec<f64>>, Vec<Vec<f64>>) = self.chunks.iter().cloned().unzip();
        let prior = Prior::declared(3.5, 1.7).unwrap();
        let observations = Observations::new(Points::new(x.concat(), DIM).unwrap(), &y.concat(), Collected::Undeclared, prior).unwrap();
        let features = FeatureMap::new(kernel.clone(), self.inducing.clone()).unwrap();
        Posterior::fit(Arc::new(features), ridge, observations).unwrap()
    }
}

#[test]
fn evidence_and_gradient_are_those_of_the_rows_in_memory() {
    let rows = Rows::new(&[150, 1, 1100, 80], 25);
    for kernel in [Kernel::matern(2.5, [0.4, 0.9], 1.3).unwrap(), Kernel::squared_exponential(0.5, 0.8).unwrap()] {
        for (ridge, road) in [(0.2, Road::Gram), (0.2, Road::Orthogonal), (0.7, Road::Gram)] {
            let plan = rows.plan(&kernel, ridge).road(road);
            let (found, expected) = (rows.evidence(&plan, &[0, 1, 2, 3]).unwrap(), rows.in_memory(&kernel, ridge).elbo_gradient().unwrap());
            close(found.value, expected.value, 1e-9, "value");
            close(found.ridge, expected.ridge, 1e-6, "ridge");
            close(found.mean, expected.mean, 1e-6, "mean");
            found.kernel.iter().zip(&expected.kernel).for_each(|(a, b)| close(*a, *b, 1e-6, "kernel"));
            assert_eq!(rows.evidence(&plan, &[3, 1, 0, 2]).unwrap(), found, "whoever comes first");
        }
    }
}

#[test]
fn the_gradient_is_the_slope_of_the_evidence_over_all_rows() {
    let rows = Rows::new(&[150, 300], 25);
    let kernel = Kernel::matern(1.5, [0.4, 0.9], 1.3).unwrap();
    let value = |theta: &[f64]| {
        let plan = rows.plan(&kernel.with_log_parameters(&theta[..3]).unwrap(), theta[3].exp());
        rows.evidence(&plan, &[0, 1]).unwrap()
    };
    let theta: Vec<f64> = kernel.log_parameters().into_iter().chain([0.3_f64.ln()]).collect();
    let found = value(&theta);
    let slopes: Vec<f64> = found.kernel.iter().copied().chain([found.ridge]).collect();
    for (p, slope) in slopes.iter().enumerate() {
        let moved = |by: f64| value(&theta.iter().enumerate().map(|(i, t)| if i == p { t + by } else { *t }).collect::<Vec<_>>()).value;
        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((difference - slope).abs() < 1e-5 * found.value.abs().max(slope.abs()), "parameter {p}: {slope} against {difference}");
    }
}

/// Rows that are left out of the sums are left out of the gradient too, and chunks that are missing or there twice are refused.
#[test]
fn the_same_rows_count_in_both_passes() {
    let rows = Rows::new(&[150, 300], 25);
    let kernel = Kernel::matern(1.5, 0.5, 1.0).unwrap();
    let plan = rows.plan(&kernel, 0.3).leave_out(Picked::share(5, 0.3).unwrap());
    let found = rows.evidence(&plan, &[0, 1]).unwrap();
    let slope = |by: f64| {
        let moved = plan.clone().with_kernel(kernel.clone(), 0.3 * by.exp()).unwrap();
        rows.evidence(&moved, &[1, 0]).unwrap().value
    };
    let difference = (slope(1e-5) - slope(-1e-5)) / 2e-5;
    assert!((difference - found.ridge).abs() < 1e-5 * found.value.abs().max(found.ridge.abs()), "{} against {difference}", found.ridge);

    let model = Posterior::from_sums(&plan, &{
        let mut sums = Accumulator::empty(&plan);
        for chunk in 0..2 {
            let mut leaf = plan.leaf(chunk).unwrap();
            leaf.add(&rows.chunks[chunk as usize].0, &rows.chunks[chunk as usize].1).unwrap();
            sums.merge(leaf.finish().unwrap()).unwrap();
        }
        sums
    });
    let slope = Slope::new(&model.unwrap()).unwrap();
    let share = |plan: &Plan| {
        let mut leaf = slope.leaf(plan, 1).unwrap();
        leaf.add(&rows.chunks[1].0, &rows.chunks[1].1).unwrap();
        leaf.finish().unwrap()
    };
    let mut one = share(&plan);
    assert_eq!(slope.finish(&plan, &one).err(), Some(Error::Sums(SumsError::Missing { chunk: 0, count: 1 })));
    assert_eq!(one.merge(share(&plan)).err(), Some(Error::Sums(SumsError::Twice { chunk: 1 })));
    let other = plan.clone().with_kernel(Kernel::matern(1.5, 0.6, 1.0).unwrap(), 0.3).unwrap();
    assert_eq!(one.merge(share(&other)).err(), Some(Error::Sums(SumsError::Other { what: "kernel" })));
    assert!(SlopeSums::from_bytes(b"no").is_err());
}

/// What a sample of few rows teaches is not what all rows teach: over the same inducing points the bound gains, and never loses.
#[test]
fn learning_on_all_rows_gains_over_the_sample() {
    let rows = Rows::new(&[900, 1100], 60);
    let (x, y) = &rows.chunks[0];
    let prior = Prior::declared(3.5, 1.7).unwrap();
    let sample = Observations::new(Points::new(x[..40 * DIM].to_vec(), DIM).unwrap(), &y[..40], Collected::Undeclared, prior).unwrap();
    let template = Kernel::matern(2.5, [1.0, 1.0], 1.0).unwrap();
    let learnt = sigmabar::evidence::fit_hyperparameters(&sample, &Learning::new(vec![template])).unwrap();
    let (kernel, ridge) = (learnt.kernel().value.clone(), learnt.ridge());
    let at = |kernel: &Kernel, ridge: f64| rows.evidence(&rows.plan(kernel, ridge), &[0, 1]);
    let learning = Learning::new(Vec::new());
    let climbed = climb_all_rows((&kernel, ridge), &sample, 2000, &learning, at).unwrap();
    let [before, after] =
        [(&kernel, ridge), (&climbed.kernel, climbed.ridge)].map(|(kernel, ridge)| at(kernel, ridge).unwrap().value / 2000.0);
    assert!(after > before + 0.01, "{before} to {after} nats a row");
    assert!(climbed.evaluations > 2 && climbed.gained > 0.0);
    // Noise 0.2 in units of 1.7, known to within a few per cent from 2000 rows.
    assert!((climbed.ridge * 1.7 / 0.2 - 1.0).abs() < 0.1, "{}", climbed.ridge * 1.7);
    // A climb that is not allowed a step stays where it was.
    let mut none = Learning::new(Vec::new());
    none.steps = 0;
    let stayed = climb_all_rows((&kernel, ridge), &sample, 2000, &none, at).unwrap();
    assert_eq!((stayed.gained, stayed.evaluations), (0.0, 1));
}
