//! Intervals as a function of their premises, and where a conclusion from them breaks, by the same data (algorithm notes 13.2).

use super::answer::ALARM_SHARE;
use super::claim::Claim;
use super::energy::refutes;
use super::range::{Range, norm_bounds_around};
use super::record::{Certificate, Contradiction};
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

/// Intervals along the norm bound, with what they rest on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IntervalCurve {
    /// Ascending in the norm bound.
    pub rows: Vec<IntervalsAt>,
    /// What all of them rest on, each under its own norm bound.
    pub certificate: Certificate,
}

/// Where conclusions from intervals break, with what that rests on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Breakdown {
    /// For each query the largest norm bound or noise level under which its conclusion stands; none where there is no conclusion, and none at all where the data contradict the
    /// premises.
    pub ends: Vec<Option<f64>>,
    /// What the conclusions rest on, under the claim's own premises.
    pub certificate: Certificate,
}

/// A claim whose premises were checked against the data.
struct Checked {
    least_norm: f64,
    /// What the intervals may spend.
    left: Claim,
    certificate: Certificate,
}

impl Posterior {
    /// Checks the premises as [`Posterior::answers`] does: a twentieth of $\delta$ finds the norms that the data exclude.
    fn checked(&self, queries: PointsRef<'_>, claim: &Claim) -> Result<Checked> {
        let bound = claim.required_norm_bound()?;
        let least_norm = self.norm_check(&claim.clone().with_delta(ALARM_SHARE * claim.delta())?)?.least_norm;
        let left = claim.clone().with_delta((1.0 - ALARM_SHARE) * claim.delta())?;
        let contradiction = refutes(least_norm, bound).then_some(Contradiction::of_norm(Some(least_norm), bound));
        let certificate = self.interval(queries, &left)?.certificate().clone().after_check(claim.delta(), contradiction);
        Ok(Checked { least_norm, left, certificate: certificate.with_range(Range { least_norm, ..Range::default() }) })
    }

    /// The intervals along the norm bound, ascending around the claim's: valid for every norm bound at least $\lVert f\rVert$ at once, on the event of the claim's
    /// $\delta$ at the smallest of them. A twentieth of $\delta$ finds the norms that the data exclude. Cost of 20 calls of [`Posterior::interval`].
    ///
    /// # Errors
    /// As [`Posterior::interval`].
    pub fn interval_curve(&self, queries: PointsRef<'_>, claim: &Claim) -> Result<IntervalCurve> {
        let Checked { least_norm, left, certificate } = self.checked(queries, claim)?;
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
        let rows = norm_bounds_around(claim.required_norm_bound()?).into_iter().map(at).collect::<Result<_>>()?;
        Ok(IntervalCurve { rows, certificate })
    }

    /// For each query the largest norm bound under which its interval still lies on one side of `threshold`, as it does under the claim's bound; none where it does not, and
    /// where the data contradict that bound: a twentieth of $\delta$ is spent on looking. "Above 80" then stands for every function of norm up to this. On points that nobody
    /// vouches for the intervals are those of the band that holds whatever chose them.
    ///
    /// Intervals grow with the bound, so that the first one that fails is the end. Looked for up to 8 times the claim's bound, to within 4 % from below. Cost of some 50
    /// calls of [`Posterior::interval`] at most.
    ///
    /// # Errors
    /// As [`Posterior::interval`]; [`Error::Parameter`] for a threshold that is not finite.
    pub fn norm_breakdown(&self, queries: PointsRef<'_>, claim: &Claim, threshold: f64) -> Result<Breakdown> {
        let declared = claim.required_norm_bound()?;
        self.breakdown(queries, claim, (threshold, declared), |left, factor| left.clone().norm_bound(factor * declared))
    }

    /// The same for the level of the noise, at the claim's norm bound (R†).
    ///
    /// # Errors
    /// As [`Posterior::norm_breakdown`].
    pub fn noise_breakdown(&self, queries: PointsRef<'_>, claim: &Claim, threshold: f64) -> Result<Breakdown> {
        let noise = claim.required_noise(Some(self.information().len()))?;
        let level = noise.std_dev_bound();
        self.breakdown(queries, claim, (threshold, level), |left, factor| Ok(left.clone().noise(noise.in_unit(factor.recip())?)))
    }

    /// How far a premise can be enlarged from what was declared before the conclusion breaks.
    fn breakdown(
        &self,
        queries: PointsRef<'_>,
        claim: &Claim,
        (threshold, declared): (f64, f64),
        at: impl Fn(&Claim, f64) -> Result<Claim>,
    ) -> Result<Breakdown> {
        if !threshold.is_finite() {
            return Err(Error::Parameter { name: "threshold", value: threshold, requirement: "finite" });
        }
        let Checked { left, certificate, .. } = self.checked(queries, claim)?;
        if certificate.contradiction.is_some() {
            return Ok(Breakdown { ends: vec![None; queries.len()], certificate });
        }
        let side = |factor: f64| -> Result<Vec<i8>> {
            let interval = self.interval(queries, &at(&left, factor)?)?;
            if interval.certificate().contradiction.is_some() {
                return Ok(vec![0; queries.len()]);
            }
            let ends = interval.lower().iter().zip(interval.upper());
            Ok(ends.map(|(&lower, &upper)| i8::from(lower > threshold) - i8::from(upper < threshold)).collect())
        };
        let concluded = side(1.0)?;
        let mut stands: Vec<Option<f64>> = concluded.iter().map(|&s| (s != 0).then_some(declared)).collect();
        let mut holding: Vec<bool> = stands.iter().map(Option::is_some).collect();
        let mut factor = 1.0;
        while holding.contains(&true) && factor < FARTHEST {
            factor = (factor * STEP).min(FARTHEST);
            for (i, now) in side(factor)?.into_iter().enumerate() {
                holding[i] &= now == concluded[i];
                if holding[i] {
                    stands[i] = Some(factor * declared);
                }
            }
        }
        Ok(Breakdown { ends: stands, certificate })
    }
}
