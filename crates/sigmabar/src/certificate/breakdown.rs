//! Intervals as a function of their premises, and where a conclusion from them breaks, by the same data (algorithm notes 13.2).

use super::answer::ALARM_SHARE;
use super::claim::{Claim, Coverage, Method};
use super::energy::refutes;
use super::intervals::{Intervals, clip};
use super::range::{FARTHEST, Followed, Range, values_around};
use super::record::{Certificate, Contradiction, resolve};
use super::widths::{HalfWidth, Widths};
use crate::error::{Error, Result};
use crate::points::PointsRef;
use crate::posterior::Posterior;
use std::sync::Arc;

/// Norm bounds and levels are tried in steps of a twenty-fifth.
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

/// What a half-width is made of: at most $C$ times the one and $R$ times the other, in the data's scale and up to rounding, under every norm bound and level in the model's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Slopes {
    /// $b$: what a function of norm 1 can hide.
    pub per_norm: f64,
    /// $z\lVert V\rVert$: what noise of level 1 can do.
    pub per_noise: f64,
}

/// Intervals along the norm bound, with what they rest on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IntervalCurve {
    /// Ascending in the norm bound.
    pub rows: Vec<IntervalsAt>,
    /// The slopes at each query; none where widths depend on the responses, as those of the band for points that nobody vouches for do.
    pub slopes: Option<Vec<Slopes>>,
    /// What all of them rest on, each under its own norm bound.
    pub certificate: Certificate,
}

/// Where conclusions from intervals break, with what that rests on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Breakdown {
    /// For each query the largest norm bound under which its conclusion stands (C†); none where there is no conclusion, and none at all where the data contradict the premises.
    pub norms: Vec<Option<f64>>,
    /// The same for the level of the noise, at the claim's norm bound (R†).
    pub levels: Vec<Option<f64>>,
    /// What is concluded from, under the claim's own premises: ends that hold at all queries at once.
    pub intervals: Intervals,
    /// What the conclusions rest on; its range is that of all conclusions at once.
    pub certificate: Certificate,
}

/// A claim whose premises were checked against the data.
struct Checked {
    least_norm: f64,
    /// What an interval may spend.
    left: Claim,
    intervals: Intervals,
    certificate: Certificate,
}

impl Posterior {
    /// Checks the premises as [`Posterior::answers`] does: a twentieth of $\delta$ finds the norms that the data exclude.
    fn checked(&self, queries: PointsRef<'_>, claim: &Claim, shares: usize) -> Result<Checked> {
        let bound = claim.required_norm_bound()?;
        let least_norm = self.norm_check(&claim.clone().with_delta(ALARM_SHARE * claim.delta())?)?.least_norm;
        let left = claim.clone().with_delta((1.0 - ALARM_SHARE) * claim.delta() / shares as f64)?;
        let intervals = self.interval(queries, &left)?;
        let contradiction = if refutes(least_norm, bound) {
            Some(Contradiction::of_norm(Some(least_norm), bound))
        } else {
            (!self.is_within_reach(queries, &intervals, bound)).then(|| Contradiction::of_norm(None, bound))
        };
        let certificate = intervals.certificate().clone().after_check(claim.delta(), contradiction);
        Ok(Checked { least_norm, left, intervals, certificate: certificate.with_range(Range { least_norm, ..Range::default() }) })
    }

    /// The intervals along the norm bound, ascending around the claim's: valid for every norm bound at least $\lVert f\rVert$ at once, on the event of the claim's
    /// $\delta$ at the smallest of them. A twentieth of $\delta$ finds the norms that the data exclude. Cost of 20 calls of [`Posterior::interval`].
    ///
    /// # Errors
    /// As [`Posterior::interval`].
    pub fn interval_curve(&self, queries: PointsRef<'_>, claim: &Claim) -> Result<IntervalCurve> {
        let Checked { least_norm, left, certificate, .. } = self.checked(queries, claim, 1)?;
        let mut widest = vec![(f64::INFINITY, f64::NEG_INFINITY); queries.len()];
        let at = |norm_bound: f64| {
            let interval = self.interval(queries, &left.clone().norm_bound(norm_bound)?)?;
            let is_refuted = refutes(least_norm, norm_bound) || interval.certificate().contradiction.is_some();
            if is_refuted || !self.is_within_reach(queries, &interval, norm_bound) {
                return Ok(IntervalsAt { norm_bound, ends: None });
            }
            for ((low, high), (l, u)) in widest.iter_mut().zip(interval.lower().iter().zip(interval.upper())) {
                (*low, *high) = (low.min(*l), high.max(*u));
            }
            Ok(IntervalsAt { norm_bound, ends: Some(widest.clone()) })
        };
        let rows = values_around(claim.required_norm_bound()?).into_iter().map(at).collect::<Result<_>>()?;
        Ok(IntervalCurve { rows, slopes: self.slopes(queries, &left)?, certificate })
    }

    /// What the half-widths are made of, where they follow from the points alone (algorithm notes 13.2).
    fn slopes(&self, queries: PointsRef<'_>, claim: &Claim) -> Result<Option<Vec<Slopes>>> {
        if resolve(claim.method_claimed(), self.information().collected()) == Method::Energy {
            return Ok(None);
        }
        let widths = Widths::new(Arc::clone(self.information()), claim)?;
        if widths.directions.is_some() {
            return Ok(None);
        }
        let (unit, norm_bound) = (self.prior().unit(), claim.required_norm_bound()?);
        let (factor, level) = (widths.noise_factor(queries.len()), claim.required_noise(Some(self.information().len()))?.std_dev_bound());
        let per_level = if level > 0.0 { unit * factor / level } else { 0.0 };
        let slopes = |half: HalfWidth| Slopes { per_norm: unit * half.bias / norm_bound, per_noise: per_level * half.coefficient };
        // By the model's own ridge: it competes under every norm bound, and the others change with it.
        Ok(Some(widths.evaluate(queries, None)?.widths.into_iter().map(slopes).collect()))
    }

    /// For each query the largest norm bound, and the largest level of the noise, under which its interval still lies on one side of `threshold`, as it does under the claim's
    /// own; none where it does not, and nowhere where the data contradict the premises. Intervals hold at all queries at once, each at its share of $\delta$, and the
    /// certificate has the smallest of each as its range: all conclusions stand up to there. Levels that differ from row to row are no one level, and none is found.
    ///
    /// Intervals grow with both, so that the first one that fails is the end. Looked for up to 8 times what was claimed, to within 4 % from below. Cost of some 100
    /// calls of [`Posterior::interval`] at most.
    ///
    /// # Errors
    /// As [`Posterior::interval`]; [`Error::Parameter`] for a threshold that is not finite.
    pub fn breakdown(&self, queries: PointsRef<'_>, claim: &Claim, threshold: f64) -> Result<Breakdown> {
        if !threshold.is_finite() {
            return Err(Error::Parameter { name: "threshold", value: threshold, requirement: "finite" });
        }
        let shares = self.shares(queries.len(), claim);
        let Checked { least_norm, left, intervals, certificate } = self.checked(queries, claim, shares)?;
        let certificate = certificate.together(queries.len(), shares);
        if certificate.contradiction.is_some() {
            let none = vec![None; queries.len()];
            return Ok(Breakdown { norms: none.clone(), levels: none, intervals, certificate });
        }
        let (bound, noise) = (claim.required_norm_bound()?, claim.required_noise(Some(self.information().len()))?);
        let level = noise.one_level().unwrap_or(0.0);
        let side = |claim: Claim| self.sides(queries, &claim, threshold);
        let norm = |factor: f64| side(left.clone().norm_bound(factor * bound)?);
        let noisier = |factor: f64| if level > 0.0 { side(left.clone().noise(noise.in_unit(factor.recip())?)) } else { side(left.clone()) };
        let (norms, mut levels) = (farthest(norm, bound)?, farthest(noisier, level)?);
        if noise.one_level().is_none() {
            levels.fill(None);
        }
        let sides = side(left.clone())?;
        let count = |which: i8| sides.iter().filter(|side| **side == which).count();
        let smallest = |ends: &[Option<f64>]| ends.iter().flatten().copied().reduce(f64::min);
        let is_open = |end: Option<f64>, declared: f64| end.is_some_and(|end| end >= FARTHEST * declared);
        let (norm_breakdown, noise_breakdown) = (smallest(&norms), smallest(&levels).filter(|level| *level > 0.0));
        let range = Range {
            least_norm,
            of: Followed::Side { threshold, above: count(1), below: count(-1) },
            norm_breakdown,
            noise_breakdown,
            norm_is_open: is_open(norm_breakdown, bound),
            noise_is_open: is_open(noise_breakdown, level),
            is_trivial: norm_breakdown.is_some() && self.is_known_without_data(queries, threshold, &norms),
            ..Range::default()
        };
        Ok(Breakdown { norms, levels, intervals, certificate: certificate.with_range(range) })
    }

    /// Whether $|f-m|\le C\sqrt{k(x,x)}$ alone keeps each conclusion up to the norm that was found for it.
    fn is_known_without_data(&self, queries: PointsRef<'_>, threshold: f64, norms: &[Option<f64>]) -> bool {
        let (far, variances) = (self.prior().to_model(threshold).abs(), self.information().features().kernel().diagonal(queries));
        norms.iter().zip(variances).all(|(norm, variance)| norm.is_none_or(|norm| norm * variance.sqrt() <= far))
    }

    /// Among how many events δ is shared for one sentence about so many points: intervals for each by itself take the ridge that serves it best, which is worth more than a joint
    /// quantile. The band for points that nobody vouches for holds everywhere at once anyway.
    fn shares(&self, points: usize, claim: &Claim) -> usize {
        let is_pointwise = *claim.coverage_claimed() == Coverage::Point
            && resolve(claim.method_claimed(), self.information().collected()) != Method::Energy;
        if is_pointwise { points.max(1) } else { 1 }
    }

    /// Whether some function of this norm can pass through every interval, $|f-m|\le C\sqrt{k(x,x)}$: else the data contradict it.
    fn is_within_reach(&self, queries: PointsRef<'_>, intervals: &Intervals, norm_bound: f64) -> bool {
        let (mut ends, diagonal) = (intervals.ends(), self.information().features().kernel().diagonal(queries));
        clip(self.prior(), norm_bound, &diagonal, ends.lower.iter_mut().zip(&mut ends.upper))
    }

    /// On which side of the threshold each interval lies: 1 above it, −1 below, 0 for neither and where the data contradict the claim.
    fn sides(&self, queries: PointsRef<'_>, claim: &Claim, threshold: f64) -> Result<Vec<i8>> {
        let interval = self.interval(queries, claim)?;
        if interval.certificate().contradiction.is_some() || !self.is_within_reach(queries, &interval, claim.required_norm_bound()?) {
            return Ok(vec![0; queries.len()]);
        }
        let ends = interval.lower().iter().zip(interval.upper());
        Ok(ends.map(|(&lower, &upper)| i8::from(lower > threshold) - i8::from(upper < threshold)).collect())
    }
}

/// How far a premise can be enlarged from what was declared before each conclusion breaks.
fn farthest(sides: impl Fn(f64) -> Result<Vec<i8>>, declared: f64) -> Result<Vec<Option<f64>>> {
    let concluded = sides(1.0)?;
    let mut stands: Vec<Option<f64>> = concluded.iter().map(|&s| (s != 0).then_some(declared)).collect();
    let mut holding: Vec<bool> = stands.iter().map(Option::is_some).collect();
    let mut factor = 1.0;
    while holding.contains(&true) && declared > 0.0 && factor < FARTHEST {
        factor = (factor * STEP).min(FARTHEST);
        for (i, now) in sides(factor)?.into_iter().enumerate() {
            holding[i] &= now == concluded[i];
            if holding[i] {
                stands[i] = Some(factor * declared);
            }
        }
    }
    Ok(stands)
}
