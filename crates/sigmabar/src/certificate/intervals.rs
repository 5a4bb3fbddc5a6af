//! Intervals for the function: they cannot exist without their certificate.

use super::claim::{Claim, Method, Side};
use super::premises::Premises;
use super::record::{About, Bounds, Certificate, Claimed, Spent, Theorem, resolve};
use super::widths::{HalfWidth, Widths};
use crate::error::{Error, Result};
use crate::information::{PartsRounding, VarianceParts};
use crate::origin::{Origin, Sourced};
use crate::points::{PointsRef, Prior};
use crate::posterior::Posterior;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::matvec_rows;
use std::sync::Arc;

/// Intervals for $f(x)$, in the data's scale, with what they rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    mean: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    methods: Vec<Method>,
    certificate: Certificate,
}

impl Intervals {
    pub(crate) fn assemble(ends: Ends, methods: Vec<Method>, certificate: Certificate) -> Self {
        let Ends { mean, lower, upper } = ends;
        Self { mean, lower, upper, methods, certificate }
    }

    /// The centre at each point: the posterior mean; for the energy band and at single points of normal noise the mean of the ridge that is best there.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The lower ends; $-\infty$ where only the upper end is claimed.
    #[must_use]
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The upper ends; $+\infty$ where only the lower end is claimed.
    #[must_use]
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// Centres and ends.
    #[must_use]
    pub fn ends(&self) -> Ends {
        let [mean, lower, upper] = [&self.mean, &self.lower, &self.upper].map(Vec::clone);
        Ends { mean, lower, upper }
    }

    /// The bound that was used at each point.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// What the intervals rest on.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }
}

/// A mean in the model's scale, the half-width that was known before the responses, and the rounding of the mean.
struct Centred {
    mean: f64,
    half: HalfWidth,
    rounding: f64,
}

/// Centres and ends of intervals in the data's scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// What each interval is about: the posterior mean, or that of the ridge that serves the point best.
    pub mean: Vec<f64>,
    /// The lower ends.
    pub lower: Vec<f64>,
    /// The upper ends.
    pub upper: Vec<f64>,
}

impl Ends {
    /// From means and pairs of ends.
    pub(super) fn around(mean: Vec<f64>, ends: Vec<(f64, f64)>) -> Self {
        let (lower, upper) = ends.into_iter().unzip();
        Self { mean, lower, upper }
    }

    /// From centres and half-widths in the model's scale, rounding outwards.
    pub(crate) fn new(prior: Prior, side: Side, centres: &[f64], half_widths: &[f64]) -> Self {
        let mean: Vec<f64> = centres.iter().map(|&c| prior.to_data(c)).collect();
        let reach = |i: usize| {
            let (m, h) = (mean[i], prior.unit() * half_widths[i]);
            h + 4.0 * f64::EPSILON * (m.abs() + prior.mean().abs() + h)
        };
        let below = |i: usize| if side == Side::Upper { f64::NEG_INFINITY } else { mean[i] - reach(i) };
        let above = |i: usize| if side == Side::Lower { f64::INFINITY } else { mean[i] + reach(i) };
        let (lower, upper) = ((0..mean.len()).map(below).collect(), (0..mean.len()).map(above).collect());
        Self { mean, lower, upper }
    }
}

/// No end says less than $|f-\text{mean}|\le C\sqrt{k(x,x)}$ does (correction E6). Whether that leaves something of every interval: if not, no function
/// within the premises is where the data say, and the ends stay as they are. An end that is not claimed stays open.
pub(super) fn clip<'a>(prior: Prior, norm_bound: f64, diagonal: &[f64], ends: impl Iterator<Item = (&'a mut f64, &'a mut f64)>) -> bool {
    let mut possible = true;
    for ((lower, upper), k_xx) in ends.zip(diagonal) {
        let reach = prior.unit() * norm_bound * k_xx.max(0.0).sqrt();
        let reach = reach + 4.0 * f64::EPSILON * (prior.mean().abs() + reach);
        let (low, high) = (prior.mean() - reach, prior.mean() + reach);
        // An end that is no number is nowhere.
        let meets = *lower <= high && *upper >= low;
        if !meets {
            possible = false;
            continue;
        }
        *lower = if lower.is_finite() { lower.max(low) } else { *lower };
        *upper = if upper.is_finite() { upper.min(high) } else { *upper };
    }
    possible
}

impl Posterior {
    /// Intervals for $f(x)$ at each point: $P(\text{lower}\le f\le\text{upper}) \ge 1-\delta$ under the certificate's assumptions.
    ///
    /// On points that nobody vouches for ([`crate::Collected::Adaptive`], [`crate::Collected::Undeclared`]), [`Method::Tight`] takes the energy band, which stays
    /// certified; another method asked for by name is computed and labelled an estimate.
    ///
    /// Cost: that of [`Widths::new`] plus O(q(md + m²)). For many calls prepare [`Widths`] once and use [`Posterior::interval_with`].
    ///
    /// # Errors
    /// As [`Widths::new`] and [`Widths::half_widths`].
    pub fn interval(&self, x: PointsRef<'_>, claim: &Claim) -> Result<Intervals> {
        if resolve(claim.method_claimed(), self.information().collected()) == Method::Energy {
            return self.energy_interval(x, claim);
        }
        self.interval_with(&Widths::new(Arc::clone(self.information()), claim)?, x)
    }

    /// Intervals from widths that were prepared before the responses were seen. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// [`Error::Premise`] where the widths are about other information than this posterior; errors of [`Widths::half_widths`].
    pub fn interval_with(&self, widths: &Widths, x: PointsRef<'_>) -> Result<Intervals> {
        if let Some(directions) = &widths.directions {
            return self.ellipsoid_interval(directions, widths, x);
        }
        let (centres, halves) = self.centred_widths(widths, x)?;
        let totals: Vec<f64> = halves.iter().map(HalfWidth::total).collect();
        let ends = Ends::new(self.prior(), widths.claim.side_claimed(), &centres, &totals);
        let methods = halves.iter().map(|h| h.method).collect();
        let mut certificate = self.certificate_of(widths, x.len());
        if widths.is_simulated(x.len())
            && let Some(half) = halves.iter().find(|h| h.coefficient > 0.0)
        {
            certificate.bounds.noise_factor = Some(half.noise / half.coefficient);
        }
        Ok(Intervals::assemble(ends, methods, certificate))
    }

    /// Means and half-widths in the model's scale, the latter with the slack that needs the mean.
    pub(crate) fn centred_widths(&self, widths: &Widths, x: PointsRef<'_>) -> Result<(Vec<f64>, Vec<HalfWidth>)> {
        self.check_widths(widths)?;
        let at = |ridge: &Widths| {
            if std::ptr::eq(ridge, widths) { self.centred(ridge, x) } else { self.at_ridge(&ridge.information)?.centred(ridge, x) }
        };
        // By what was known before the responses: the rounding of a mean depends on them.
        let best = widths.best_of_ridges(at, |centred| centred.half.total())?;
        let moved = widths.cover.map_or(0.0, |cover| cover.radius * self.norm());
        let on_box = if widths.considered == [Method::Paper] { 0.0 } else { moved };
        let with_slack = |Centred { mean, half, rounding }| (mean, HalfWidth { slack: half.slack + on_box + rounding, ..half });
        Ok(best.into_iter().map(with_slack).unzip())
    }

    /// The same by the weights of one ridge, with what rounding may have done to each mean.
    fn centred(&self, widths: &Widths, x: PointsRef<'_>) -> Result<Vec<Centred>> {
        let evaluated = widths.evaluate(x, Some(self.coefficients()))?;
        let diagonal = self.information().features().kernel().diagonal(x);
        let rounding = MeanRounding::new(self);
        let halves = evaluated.means.into_iter().zip(evaluated.widths);
        let sizes = evaluated.parts.iter().zip(diagonal);
        Ok(halves.zip(sizes).map(|((mean, half), (parts, k_xx))| Centred { mean, half, rounding: rounding.at(parts, k_xx) }).collect())
    }

    /// Means in the model's scale, each with its rounding bound.
    pub(crate) fn rounded_means(&self, x: PointsRef<'_>) -> Result<Vec<(f64, f64)>> {
        let (parts, rounding) = (self.information().certified_parts(x)?, MeanRounding::new(self));
        let mut means = vec![0.0; x.len()];
        self.information().stream(x, |start, block, psi| {
            matvec_rows(psi, self.coefficients(), &mut means[start..start + block.len()]);
            Ok(())
        })?;
        let diagonal = self.information().features().kernel().diagonal(x);
        Ok(means.into_iter().zip(&parts).zip(diagonal).map(|((mean, parts), k_xx)| (mean, rounding.at(parts, k_xx))).collect())
    }

    /// The widths must be about this posterior's information.
    pub(crate) fn check_widths(&self, widths: &Widths) -> Result<()> {
        let (ours, theirs) = (self.information(), &widths.information);
        // Equal Gram matrices are not enough: what the features miss at the locations is not in them.
        let same = Arc::ptr_eq(ours, theirs)
            || (ours.ridge() == theirs.ridge()
                && ours.features().sourced_kernel() == theirs.features().sourced_kernel()
                && ours.kept() == theirs.kept()
                && ours.gram() == theirs.gram());
        if same {
            return Ok(());
        }
        Err(Error::Premise {
            what: "an interval from these widths",
            reason: "they were prepared for other information than this posterior's",
        })
    }

    /// What a claim about this posterior rests on, for a theorem that is safe whatever chose the points, or not.
    pub(crate) fn premises(&self, claim: &Claim, adaptive_safe: bool) -> Premises {
        let information = self.information();
        let features = information.features();
        let kernel = features.sourced_kernel();
        Premises {
            inducing: Sourced::new(features.len(), features.sourced_given().origin),
            ridge: Sourced::new(Some(information.ridge()), information.ridge_origin()),
            ..Premises::of(claim, kernel, (self.prior(), information.collected(), information.len()), adaptive_safe)
        }
        .with_doubts(self.responses().doubts())
    }

    pub(crate) fn certificate_of(&self, widths: &Widths, queries: usize) -> Certificate {
        let (claim, delta) = (&widths.claim, widths.claim.delta());
        let mut premises = self.premises(claim, false);
        if !widths.paper_is_sound {
            premises.constants = Origin::Unmet;
        }
        let failure = widths.residual_norm.failure();
        let events = (delta - failure) / widths.delta_each(queries);
        let mut spent = vec![Spent::new("the noise", delta - failure, Some(events.round()))];
        spent.extend((failure > 0.0).then(|| Spent::new("the random bound on lambda", failure, None)));
        Certificate {
            claim: Claimed::Function { side: claim.side_claimed() },
            about: About::of(claim, queries),
            delta,
            spent,
            theorem: Theorem::Width(claim.method_claimed()),
            premises,
            bounds: Bounds {
                residual_norm: Some(widths.residual_norm),
                noise_factor: Some(widths.noise_factor(queries)),
                beta: widths.beta(queries),
                cover_radius: widths.cover.map(|cover| cover.radius),
                log_cells: widths.cover.map(|cover| cover.log_cells),
                rounding: Some(self.information().rounding()),
                ridges: widths.beside.as_deref().map(|beside| beside.each_ref().map(|widths| widths.information.ridge())),
                ..Bounds::default()
            },
            contradiction: None,
            range: None,
        }
    }
}

/// How far the computed mean can be from $V^\top y$: [`PartsRounding::mean`], the last inner product, $8m\varepsilon\sqrt{k(x,x)}\lVert\beta\rVert$, and what sums
/// behind $h$ lose, $s_2\tau^{-2}$ times [`Posterior::projected_rounding`].
struct MeanRounding {
    parts: PartsRounding,
    unit: f64,
    norm: f64,
    /// $\lVert y\rVert/\tau$.
    responses: f64,
    orthogonal: bool,
    sums: f64,
}

impl MeanRounding {
    fn new(posterior: &Posterior) -> Self {
        let information = posterior.information();
        Self {
            parts: information.parts_rounding(),
            unit: 8.0 * information.features().len() as f64 * f64::EPSILON,
            norm: posterior.norm(),
            responses: posterior.squares_terms().sqrt() / information.ridge(),
            orthogonal: posterior.whitened().is_some(),
            sums: match posterior.whitened() {
                Some(_) => 0.0,
                None => posterior.projected_rounding() / (information.ridge() * information.ridge()),
            },
        }
    }

    fn at(&self, parts: &VarianceParts, k_xx: f64) -> f64 {
        self.parts.mean(parts, self.norm, self.responses, self.orthogonal)
            + self.unit * k_xx.sqrt() * self.norm
            + self.sums * parts.fit.sqrt()
    }
}
