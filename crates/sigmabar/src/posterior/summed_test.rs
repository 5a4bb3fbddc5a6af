//! The probes of sums seen to fail: a number that is not what was added up is refused when the model is made.

#![allow(clippy::unwrap_used)]

use super::Posterior;
use crate::accumulator::{Accumulator, Plan, Road, SumsError};
use crate::error::{Error, Result, SavedError};
use crate::kernel::Kernel;
use crate::points::{Points, Prior};
use crate::sealed::{self, Kind};
use sigmabar_linalg::LinalgError;

/// Two chunks of a curve, with further inducing points to look ahead with.
fn summed(road: Road) -> (Plan, Accumulator) {
    let x: Vec<f64> = (0..400).map(|i| f64::from(i) / 400.0).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 + (7.0 * x).sin()).collect();
    let points = |every: usize| Points::new(x.iter().copied().step_by(every).collect(), 1).unwrap();
    let kernel = Kernel::matern(2.5, 0.1, 1.3).unwrap();
    let mut plan = Plan::new(kernel, points(10), 0.1, vec![Some(200); 2]).unwrap().road(road).look_ahead(points(3), 20).unwrap();
    plan.prior = Some(Prior::ZERO);
    let mut sums = Accumulator::empty(&plan);
    for chunk in [1, 0] {
        let mut leaf = plan.leaf(chunk as u64).unwrap();
        leaf.add(&x[200 * chunk..200 * (chunk + 1)], &y[200 * chunk..200 * (chunk + 1)]).unwrap();
        sums.merge(leaf.finish().unwrap()).unwrap();
    }
    (plan, sums)
}

/// The sums with one number of their node changed as they are read from a file whose checksum is right.
fn with_flipped(plan: &Plan, sums: &Accumulator, value: f64, bit: u32) -> Result<Posterior> {
    let bytes = sums.to_bytes();
    let mut content = sealed::open(Kind::Sums, &bytes).unwrap().content.to_vec();
    let at = content.windows(8).position(|eight| eight == value.to_le_bytes()).unwrap();
    content[at + bit as usize / 8] ^= 1 << (bit % 8);
    let read = Accumulator::from_bytes(plan, &sealed::seal(Kind::Sums, "", &content))?;
    Posterior::from_sums(plan, &read)
}

#[test]
fn a_flipped_bit_in_any_sum_is_refused() {
    for road in [Road::Gram, Road::Orthogonal] {
        let (plan, sums) = summed(road);
        Posterior::from_sums(&plan, &sums).unwrap();
        let node = sums.total(&plan).unwrap();
        let moments = node.moments.clone().finish().unwrap();
        let ahead = node.ahead.clone().unwrap();
        let products = ahead.products.finish().unwrap();
        let (m, p) = (moments.cols(), products.rows());
        let largest = |row: &[f64]| row.iter().copied().fold(0.0, |a: f64, b: f64| if b.abs() > a.abs() { b } else { a });
        let numbers = [
            ("Σyψ", largest(moments.row(0))),
            ("Σψ", largest(moments.row(1))),
            ("Σφψ", largest(&products.row(p - 1)[..m])),
            ("Σφφ", products[(0, m)]),
            ("tr K", node.scalars.prior_trace),
            ("tr D", node.scalars.residual_trace),
        ];
        for (name, value) in numbers {
            // The sign, the exponent's last bit, a digit in the middle; the very last digit is rounding.
            for bit in [63, 52, 40] {
                let refused = with_flipped(&plan, &sums, value, bit).err();
                let is_seen =
                    matches!(refused, Some(Error::Linalg(LinalgError::SelfCheck { .. }) | Error::Saved(SavedError::Content { .. })));
                assert!(is_seen, "{road:?}, {name}, bit {bit}: {refused:?}");
            }
            with_flipped(&plan, &sums, value, 0).unwrap();
        }
    }
}

#[test]
fn sums_of_nothing_merge_and_are_no_model() {
    let (plan, sums) = summed(Road::Gram);
    let whole = Posterior::from_sums(&plan, &sums).unwrap().to_bytes();
    let mut empty = Accumulator::from_bytes(&plan, &Accumulator::empty(&plan).to_bytes()).unwrap();
    assert_eq!((empty.rows(), empty.covered(), empty.instructions()), (0, vec![], vec![]));
    assert_eq!(Posterior::from_sums(&plan, &empty).err(), Some(Error::Sums(SumsError::Missing { chunk: 0, count: 2 })));
    empty.merge(sums.clone()).unwrap();
    empty.merge(Accumulator::empty(&plan)).unwrap();
    assert!(Posterior::from_sums(&plan, &empty).unwrap().to_bytes() == whole);
    assert_eq!(empty.instructions(), [sigmabar_linalg::instructions()]);
}
