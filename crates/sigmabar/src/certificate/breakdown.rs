//! Up to which norm a conclusion from an interval stands, by the same data (algorithm notes 13.2).

use super::claim::Claim;
use crate::error::{Error, Result};
use crate::points::PointsRef;
use crate::posterior::Posterior;

/// Norm bounds are tried up to this many times the claim's, in steps of a twenty-fifth.
const FARTHEST: f64 = 8.0;
const STEP: f64 = 1.04;

impl Posterior {
    /// For each query the largest norm bound under which its interval still lies on one side of `threshold`, as it does under the claim's bound; none where it does not, and where the data contradict that bound. "Above
    /// 80" then stands for every function of norm up to this. On points that nobody vouches for the intervals are those of the band that holds whatever chose them.
    ///
    /// Intervals grow with the bound, so that the first one that fails is the end. Looked for up to 8 times the claim's bound, to within 4 % from below. Cost of some 50
    /// calls of [`Posterior::interval`] at most.
    ///
    /// # Errors
    /// As [`Posterior::interval`]; [`Error::Parameter`] for a threshold that is not finite.
    pub fn norm_breakdown(&self, queries: PointsRef<'_>, claim: &Claim, threshold: f64) -> Result<Vec<Option<f64>>> {
        if !threshold.is_finite() {
            return Err(Error::Parameter { name: "threshold", value: threshold, requirement: "finite" });
        }
        let declared = claim.required_norm_bound()?;
        let side = |bound: f64| -> Result<Vec<i8>> {
            let interval = self.interval(queries, &claim.clone().norm_bound(bound)?)?;
            if interval.certificate().contradiction.is_some() {
                return Ok(vec![0; queries.len()]);
            }
            let ends = interval.lower().iter().zip(interval.upper());
            Ok(ends.map(|(&lower, &upper)| i8::from(lower > threshold) - i8::from(upper < threshold)).collect())
        };
        let concluded = side(declared)?;
        let mut stands: Vec<Option<f64>> = concluded.iter().map(|&s| (s != 0).then_some(declared)).collect();
        let mut holding: Vec<bool> = stands.iter().map(Option::is_some).collect();
        let mut bound = declared;
        while holding.contains(&true) && bound < FARTHEST * declared {
            bound = (bound * STEP).min(FARTHEST * declared);
            for (i, now) in side(bound)?.into_iter().enumerate() {
                holding[i] &= now == concluded[i];
                if holding[i] {
                    stands[i] = Some(bound);
                }
            }
        }
        Ok(stands)
    }
}
