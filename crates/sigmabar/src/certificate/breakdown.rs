//! Intervals as a function of their premises, and where a conclusion from them breaks, by the same data (algorithm notes 13.2).

use super::answer::ALARM_SHARE;
use super::claim::Claim;
use super::energy::refutes;
use super::range::norm_bounds_around;
use crate::error::{Error, Result};
use crate::points::PointsRef;
use crate::posterior::Posterior;

/// Norm bounds and levels are tried up to this many times the claim's, in steps of a twenty-fifth.
const FARTHEST: f64 = 8.0;
const STEP: f64 = 1.04;

/// The ends of intervals under one norm bound: with every smaller bound's inside, so that they hold for every function of norm up to it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IntervalsAt {
    /// $C$.
    pub norm_bound: f64,
    /// Lower and upper end at each query; none where the data contradict $C$.
    pub ends: Option<Vec<(f64, f64)>>,
}

impl Posterior {
    /// The intervals along the norm bound, ascending around the claim's: valid for every norm bound at least $\lVert f\rVert$ at once, on the event of the claim's
    /// $\delta$ at the smallest of them. A twentieth of $\delta$ finds the norms that the data exclude. Cost of 20 calls of [`Posterior::interval`].
    ///
    /// # Errors
    /// As [`Posterior::interval`].
    pub fn interval_curve(&self, queries: PointsRef<'_>, claim: &Claim) -> Result<Vec<IntervalsAt>> {
        let least_norm = self.norm_check(&claim.clone().with_delta(ALARM_SHARE * claim.delta())?)?.least_norm;
        let left = claim.clone().with_delta((1.0 - ALARM_SHARE) * claim.delta())?;
        let mut widest = vec![(f64::INFINITY, f64::NEG_INFINITY); queries.len()];
        let at = |norm_bound: f64| {
            let interval = self.interval(queries, &left.clone().norm_bound(norm_bound)?)?;
            if refutes(least_norm, norm_bound) || interval.certificate().contradiction.is_some() {
                return Ok(IntervalsAt { norm_bound, ends: None });
            }
            for ((low, high), (l, u)) in widest.iter_mut().zip(interval.lower().iter().zip(interval.upper())) {
                (*low, *high) = (low.min(*l), high.max(*u));
            }
            Ok(IntervalsAt { norm_bound, ends: Some(widest.clone()) })
        };
        norm_bounds_around(claim.required_norm_bound()?).into_iter().map(at).collect()
    }

    /// For each query the largest norm bound under which its interval still lies on one side of `threshold`, as it does under the claim's bound; none where it does not, and where the data contradict that bound. "Above
    /// 80" then stands for every function of norm up to this. On points that nobody vouches for the intervals are those of the band that holds whatever chose them.
    ///
    /// Intervals grow with the bound, so that the first one that fails is the end. Looked for up to 8 times the claim's bound, to within 4 % from below. Cost of some 50
    /// calls of [`Posterior::interval`] at most.
    ///
    /// # Errors
    /// As [`Posterior::interval`]; [`Error::Parameter`] for a threshold that is not finite.
    pub fn norm_breakdown(&self, queries: PointsRef<'_>, claim: &Claim, threshold: f64) -> Result<Vec<Option<f64>>> {
        let declared = claim.required_norm_bound()?;
        let stands = self.breakdown(queries, threshold, |factor| claim.clone().norm_bound(factor * declared))?;
        Ok(stands.into_iter().map(|factor| factor.map(|factor| factor * declared)).collect())
    }

    /// The same for the level of the noise, at the claim's norm bound (R†).
    ///
    /// # Errors
    /// As [`Posterior::norm_breakdown`].
    pub fn noise_breakdown(&self, queries: PointsRef<'_>, claim: &Claim, threshold: f64) -> Result<Vec<Option<f64>>> {
        let noise = claim.required_noise(Some(self.information().len()))?;
        let stands = self.breakdown(queries, threshold, |factor| Ok(claim.clone().noise(noise.in_unit(factor.recip())?)))?;
        Ok(stands.into_iter().map(|factor| factor.map(|factor| factor * noise.std_dev_bound())).collect())
    }

    /// By which factor a premise can be multiplied before the conclusion breaks.
    fn breakdown(&self, queries: PointsRef<'_>, threshold: f64, at: impl Fn(f64) -> Result<Claim>) -> Result<Vec<Option<f64>>> {
        if !threshold.is_finite() {
            return Err(Error::Parameter { name: "threshold", value: threshold, requirement: "finite" });
        }
        let side = |factor: f64| -> Result<Vec<i8>> {
            let interval = self.interval(queries, &at(factor)?)?;
            if interval.certificate().contradiction.is_some() {
                return Ok(vec![0; queries.len()]);
            }
            let ends = interval.lower().iter().zip(interval.upper());
            Ok(ends.map(|(&lower, &upper)| i8::from(lower > threshold) - i8::from(upper < threshold)).collect())
        };
        let concluded = side(1.0)?;
        let mut stands: Vec<Option<f64>> = concluded.iter().map(|&s| (s != 0).then_some(1.0)).collect();
        let mut holding: Vec<bool> = stands.iter().map(Option::is_some).collect();
        let mut factor = 1.0;
        while holding.contains(&true) && factor < FARTHEST {
            factor = (factor * STEP).min(FARTHEST);
            for (i, now) in side(factor)?.into_iter().enumerate() {
                holding[i] &= now == concluded[i];
                if holding[i] {
                    stands[i] = Some(factor);
                }
            }
        }
        Ok(stands)
    }
}
