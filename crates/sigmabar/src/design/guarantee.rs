//! A chosen design and what it guarantees.

use crate::certificate::{
    About, Bounds, Certificate, Claim, Claimed, FARTHEST, Followed, LEEWAY, Premises, Range, Spent, Theorem, values_around,
};
use crate::error::{Error, Result, positive};
use crate::information::{Information, VarianceParts};
use crate::points::{Collected, Locations, Points, PointsRef};
use crate::theory::{Multiplier, Setting, Theorems};
use std::sync::Arc;

/// Points chosen where the variance was largest, in order, with what follows from them before any response.
#[derive(Clone, Debug)]
pub struct Design {
    pub(super) indices: Vec<usize>,
    pub(super) points: Points,
    pub(super) variances: Vec<f64>,
    pub(super) max_std: f64,
    /// The distinct candidates; none on a box.
    pub(super) domain: Option<Arc<Locations>>,
    pub(super) stage: Stage,
    pub(super) information: Information,
}

/// The picks made while the inducing points did not change: what the a-priori bound speaks of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    /// Number of picks.
    pub picks: usize,
    /// $\max_j s_1^2(x_j)$, or $\max_xs_1^2(x)$ where some pick was not by $\bar\sigma$, with its rounding bound.
    pub max_residual: f64,
    /// $I_\kappa$ gained by them.
    pub gain: f64,
    /// $\eta$: each pick had at least $1/(1+\eta)$ of the largest standard deviation.
    pub slack: f64,
}

/// A bound on how far $f$ can be from the centre of its interval, at all candidates at once: from $\bar\mu$, or from the middle of what $|f|\le C\sqrt{k(x,x)}$ leaves of
/// $\bar\mu\pm$ width (correction E6). Never above $C\sqrt{k_{\max}}$, which is known without measuring.
#[derive(Clone, Debug, PartialEq)]
pub struct UniformError {
    /// From [`Design::variance_bound`], the a-priori bound.
    pub before: f64,
    /// From [`Design::max_std`], the variance as it came out.
    pub after: f64,
    /// What the smaller of both rests on.
    pub certificate: Certificate,
}

/// One row of the map of a design: its error under other length-scales.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ErrorRow {
    /// By which all length-scales are multiplied.
    pub factor: f64,
    /// Norm bounds, ascending around the claim's, each with the uniform error under it.
    pub curve: Vec<(f64, f64)>,
    /// What the error at the claim's norm bound rests on, for functions of this kernel, and how far that stands.
    pub certificate: Certificate,
}

/// A design under one kernel: what its error follows from.
struct Measured<'a> {
    information: &'a Information,
    /// The largest standard deviation, as known before the design was made and as it came out.
    std_devs: [f64; 2],
    candidates: usize,
}

impl Design {
    /// Which candidates, in the order chosen; a candidate measured several times appears several times. Among equals the lowest number is
    /// chosen. For a box the numbers count the distinct points in order of first choice.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// The chosen points in order, repetitions included.
    #[must_use]
    pub fn points(&self) -> PointsRef<'_> {
        self.points.view()
    }

    /// $\bar\sigma^2_{j-1}(x_j)$: the variance at each point just before it was chosen. It falls from pick to pick as long as the inducing points stay and
    /// candidates are ranked by it.
    #[must_use]
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// $\max_x\bar\sigma_n(x)$ over the domain after the last pick; on a box an upper bound of it.
    #[must_use]
    pub fn max_std(&self) -> f64 {
        self.max_std
    }

    /// What measuring everything (already measured, still running, chosen) will tell.
    #[must_use]
    pub fn information(&self) -> &Information {
        &self.information
    }

    /// The a-priori bound on $\max_x\bar\sigma_n^2(x)$ (algorithm notes 0.5): $(1+\eta)^2\bigl(\max_js_1^2(x_j) + \tau^2(e^{2I_\kappa/n}-1)\bigr)$ over
    /// the $n$ picks since the inducing points last changed, $I_\kappa$ what they added to the gain, $\eta=0$ on finite domains. The proof needs
    /// $s_1^2$ only where was measured, unless candidates came to be ranked by what measuring can lower: then the maximum is over all of them. Never above $k_{\max}$.
    #[must_use]
    pub fn variance_bound(&self) -> f64 {
        let Stage { picks, max_residual, gain, slack } = self.stage;
        let tau2 = self.information.ridge().powi(2);
        let bound = (1.0 + slack).powi(2) * (max_residual + tau2 * (2.0 * gain / picks as f64).exp_m1());
        bound.min(self.information.features().kernel().max_variance().unwrap_or(f64::INFINITY))
    }

    /// $\eta$: every point had at least $1/(1+\eta)$ of the largest standard deviation when it was chosen. 0 on finite domains.
    #[must_use]
    pub fn slack(&self) -> f64 {
        self.stage.slack
    }

    /// With probability at least $1-\delta$, $|f-\bar\mu| \le \beta\max\bar\sigma$ at all candidates at once, with $\beta = C\sqrt{1+\lambda/\tau^2} + \frac1\tau\,$
    /// [`crate::Noise::deviation`]$(\log(2A/\delta))$ and a certified $\lambda$ (algorithm notes 8.3). Of the claim, the norm bound, the noise and $\delta$ count. The bounds
    /// are in the model's scale. Cost that of [`Information::residual_norm`].
    ///
    /// # Errors
    /// [`Error::Missing`] without norm bound or noise; [`Error::Premise`] when points measured before were chosen by looking at responses, or on a box, where the
    /// bound needs a cover ([`Theorems::regression_continuous`]).
    pub fn uniform_error(&self, claim: &Claim) -> Result<UniformError> {
        self.error_followed(claim, None)
    }

    /// The same where an error is wanted: if it is reached, the range of the certificate says up to which norm and noise it is kept (C† and R†, algorithm notes 13.2). Else, and
    /// where none is wanted, it follows twice the error that is claimed.
    ///
    /// # Errors
    /// As [`Design::uniform_error`]; [`Error::Parameter`] unless `wanted` is finite and positive.
    pub fn uniform_error_wanted(&self, claim: &Claim, wanted: f64) -> Result<UniformError> {
        positive("error", wanted)?;
        self.error_followed(claim, Some(wanted))
    }

    fn error_followed(&self, claim: &Claim, wanted: Option<f64>) -> Result<UniformError> {
        let measured = self.measured();
        let mut found = measured.error(claim)?;
        found.certificate.range = Some(measured.form(&found, claim)?.range(found.before.min(found.after), wanted, claim)?);
        Ok(found)
    }

    fn measured(&self) -> Measured<'_> {
        let std_devs = [self.variance_bound().sqrt(), self.max_std];
        Measured { information: &self.information, std_devs, candidates: self.domain.as_ref().map_or(0, |list| list.distinct()) }
    }

    /// The uniform error along the norm bound, ascending around the claim's: each with its bound (algorithm notes 13.2). It grows with the bound by itself, and so holds for
    /// every norm up to it. Cost that of [`Design::uniform_error`].
    ///
    /// # Errors
    /// As [`Design::uniform_error`].
    pub fn error_curve(&self, claim: &Claim) -> Result<Vec<(f64, f64)>> {
        Ok(self.error_row(claim, 1.0)?.curve)
    }

    /// The curve with all length-scales multiplied by each factor, with the same points, inducing points and ridge (algorithm notes 13.2): if the function is of that kernel, a
    /// fit with it will be no farther off than its row says. Each row is a claim of its own. Cost for each that of [`Information::new`] and of the variance at all candidates.
    ///
    /// # Errors
    /// As [`Design::uniform_error`]; [`Error::Parameter`] for a factor that is not positive.
    pub fn error_map(&self, claim: &Claim, factors: &[f64]) -> Result<Vec<ErrorRow>> {
        factors.iter().map(|&factor| self.error_row(claim, factor)).collect()
    }

    fn error_row(&self, claim: &Claim, factor: f64) -> Result<ErrorRow> {
        let row = |measured: Measured<'_>| {
            let found = measured.error(claim)?;
            let form = measured.form(&found, claim)?;
            let range = Some(form.range(found.before.min(found.after), None, claim)?);
            let norms = values_around(claim.required_norm_bound()?).into_iter();
            let curve = norms.map(|norm_bound| (norm_bound, form.error(norm_bound, 1.0))).collect();
            Ok(ErrorRow { factor, curve, certificate: Certificate { range, ..found.certificate } })
        };
        let Some(domain) = self.domain.as_ref().filter(|_| factor != 1.0) else { return row(self.measured()) };
        let information = self.information.stretched(factor)?;
        let largest = information.certified_parts(domain.points())?.iter().map(VarianceParts::total).fold(0.0, f64::max);
        // The points were not the best ones under this kernel: nothing was known before.
        row(Measured { information: &information, std_devs: [largest.sqrt(); 2], candidates: domain.distinct() })
    }
}

impl Measured<'_> {
    /// Without the range.
    fn error(&self, claim: &Claim) -> Result<UniformError> {
        let (information, candidates) = (self.information, self.candidates);
        if information.collected() == Collected::Adaptive {
            return Err(Error::Premise {
                what: "a uniform error bound",
                reason: "earlier points may have been chosen by looking at responses; design without them",
            });
        }
        if candidates == 0 {
            return Err(Error::Premise {
                what: "a uniform error bound over a list",
                reason: "the domain is a box; use the bound with a cover",
            });
        }
        let (norm_bound, noise) = (claim.required_norm_bound()?, claim.required_noise(Some(information.len()))?);
        let (ridge, delta) = (information.ridge(), claim.delta());
        let residual_norm = information.residual_norm(claim.residual_norm_method())?;
        // Where the prior's variance has no bound over the domain, neither has the trivial interval.
        let max_variance = information.features().kernel().max_variance().unwrap_or(f64::MAX);
        let residual_ratio = residual_norm.value / (ridge * ridge);
        let left = delta - residual_norm.failure();
        let theorems = Theorems::new(Setting { norm_bound, noise, ridge, delta: left, residual_ratio, max_variance })?;
        let beta = theorems.multiplier(Multiplier::Direct, (2.0 * candidates as f64 / left).ln());
        let [before, after] = self.std_devs.map(|std_dev| theorems.within_value_bound(beta * std_dev));
        let bounds =
            Bounds { residual_norm: Some(residual_norm), beta: Some(beta), rounding: Some(information.rounding()), ..Bounds::default() };
        let mut spent = vec![Spent::new("the noise", left, Some(2.0 * candidates as f64))];
        spent.extend((left < delta).then(|| Spent::new("the random bound on lambda", delta - left, None)));
        let certificate = Certificate {
            claim: Claimed::Error { bound: before.min(after) },
            about: About::List { points: candidates },
            delta,
            spent,
            theorem: Theorem::Design,
            premises: Premises::of_design(claim, information),
            bounds,
            range: None,
            contradiction: None,
        };
        Ok(UniformError { before, after, certificate })
    }

    /// What the uniform error is made of.
    fn form(&self, found: &UniformError, claim: &Claim) -> Result<ErrorForm> {
        let declared = claim.required_norm_bound()?;
        let Bounds { residual_norm: Some(residual), beta: Some(beta), .. } = found.certificate.bounds else {
            return Err(Error::Premise { what: "the error of a design", reason: "its certificate has no factor" });
        };
        let slope = Multiplier::Direct.bias(residual.value / self.information.ridge().powi(2));
        let [before, after] = self.std_devs;
        Ok(ErrorForm {
            std_dev: before.min(after),
            slope,
            noise: (beta - slope * declared).max(0.0),
            prior: self.information.features().kernel().max_variance().map_or(f64::INFINITY, f64::sqrt),
        })
    }
}

/// $\text{error}(C, s) = \min\{C\sqrt{k_{\max}}, (aC+sb)\max\bar\sigma\}$ with noise $s$ times as large as claimed.
struct ErrorForm {
    std_dev: f64,
    /// $a$.
    slope: f64,
    /// $b$.
    noise: f64,
    /// $\sqrt{k_{\max}}$.
    prior: f64,
}

impl ErrorForm {
    fn error(&self, norm_bound: f64, scale: f64) -> f64 {
        (norm_bound * self.prior).min((self.slope * norm_bound + scale * self.noise) * self.std_dev)
    }

    /// Where an error breaks that is at least the claimed one. It grows linearly with the norm and with the noise, so that nothing is looked for; where it is no less than what the
    /// norm bound alone allows, no noise spoils it.
    fn range(&self, claimed: f64, wanted: Option<f64>, claim: &Claim) -> Result<Range> {
        let (norm_bound, level) = (claim.required_norm_bound()?, claim.required_noise(None)?.std_dev_bound());
        let wanted = wanted.filter(|wanted| claimed <= *wanted);
        let error = wanted.unwrap_or(LEEWAY * claimed);
        let short_of = 1.0 - 1e-12;
        let (by_width, by_value) = ((error / self.std_dev - self.noise) / self.slope, error / self.prior);
        let noisier = (error / self.std_dev - self.slope * norm_bound) / self.noise;
        let is_open = norm_bound * self.prior <= error || noisier >= FARTHEST;
        Ok(Range {
            of: Followed::Error,
            claimed: Some(claimed),
            wanted,
            gap: Some(error),
            norm_breakdown: Some((by_width.max(by_value) * short_of).max(norm_bound)),
            noise_breakdown: (level > 0.0).then(|| level * if is_open { FARTHEST } else { (noisier * short_of).max(1.0) }),
            noise_is_open: is_open,
            is_trivial: claimed >= (1.0 - 1e-9) * norm_bound * self.prior,
            ..Range::default()
        })
    }
}
