//! What leaving rows out one at a time shows, in closed form (algorithm notes 16.3).

use super::PredictionIntervals;
use super::conformal::{outwards, proved, rank};
use super::intervals::Ends;
use super::premises::{Calibrated, Premises};
use super::record::Certificate;
use crate::error::{Error, Result, probability};
use crate::evidence::inverse;
use crate::origin::Sourced;
use crate::points::{Doubts, PointsRef};
use crate::posterior::{ExactPosterior, Posterior};
use sigmabar_linalg::matvec_rows;

/// Less than this share of a row's residual is never left: a point that nothing but its own response explains.
const LEAST_SHARE: f64 = 1e-12;

impl Posterior {
    /// Scores $\lvert\bar y_i-\mu_{-i}(x_i)\rvert/\sqrt{\sigma_{-i}^2(x_i)+\tau^2/c_i}$ of the measured points, each left out in turn with all its $c_i$ responses:
    /// with $q=\psi^\top B^{-1}\psi$ and $t = 1-c_iq/\tau^2$ the residual is $(\bar y_i-\mu(x_i))/t$ and the variance in the span $q/t$. Kernel, ridge and inducing
    /// points stay, so that this is an estimate. At most `most` points, evenly spread over the rows. Cost O(min(n, `most`)(md + m²)).
    ///
    /// # Errors
    /// [`crate::Error::Missing`] where only sums over the rows are left; a failed self-check.
    pub fn left_out_scores(&self, most: usize) -> Result<Vec<f64>> {
        let (information, observations) = (self.information(), self.observations()?);
        let locations = observations.locations();
        let chosen: Vec<usize> = (0..locations.distinct()).step_by(locations.distinct().div_ceil(most.max(1)).max(1)).collect();
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let points = locations.points().select(&chosen)?;
        let tau2 = information.ridge().powi(2);
        let mut scores = Vec::with_capacity(chosen.len());
        information.stream(points.view(), |start, block, psi| {
            let mut mean = vec![0.0; block.len()];
            matvec_rows(psi, self.coefficients(), &mut mean);
            let (residual, whitened) = information.residual_and_whitened(start, block, psi)?;
            for (i, mean) in mean.iter().enumerate() {
                let point = chosen[start + i];
                let count = locations.count(point);
                let share = (1.0 - count * whitened[i] / tau2).max(LEAST_SHARE);
                let off = (observations.sums()[point] / count - mean) / share;
                scores.push(off.abs() / (residual[i] + whitened[i] / share + tau2 / count).sqrt());
            }
            Ok(())
        })?;
        Ok(scores)
    }
}

impl ExactPosterior {
    /// Intervals that contain a new response, exchangeable with the rows, with probability at least $1-(2(n-k)+1)/(n+1) > 1-2\delta$ (the jackknife+ of algorithm notes 16.3): every
    /// row is left out in closed form, so that all are used for learning and for calibration. A theorem only while kernel, ridge and prior were not learnt
    /// from these rows; else the label says "estimated". Cost O(u³ + q(ud + u²)).
    ///
    /// # Errors
    /// [`Error::Premise`] where points repeat, as the responses of one point are kept as their sum; a probability out of range; points of another width.
    pub fn left_out_interval(&self, x: PointsRef<'_>, delta: f64) -> Result<PredictionIntervals> {
        probability("delta", delta)?;
        let (observations, tau2) = (self.observations(), self.ridge().powi(2));
        let n = observations.len();
        if observations.locations().distinct() != n {
            let reason = "some points were measured more than once, and only the sum of their responses is kept: hold rows out instead";
            return Err(Error::Premise { what: "leaving rows out one at a time", reason });
        }
        let precision = inverse(self.lower())?.diagonal();
        // yᵢ − μ₋ᵢ(xᵢ) = αᵢ/Qᵢᵢ, with variance 1/Qᵢᵢ of the response there.
        let scores: Vec<f64> = self.coefficients().iter().zip(&precision).map(|(a, q)| a.abs() / q.sqrt()).collect();
        let (mean, variance, weights) = (self.mean(x)?, self.variance(x)?, self.weights(x)?);
        let (prior, k) = (observations.prior(), rank(n, delta));
        let mut ends = Ends { mean, lower: Vec::new(), upper: Vec::new() };
        // The mean is a sum over the rows.
        let sizes = self.coefficients().iter().map(|a| a.abs()).sum::<f64>()
            * self.kernel().value.max_diagonal(observations.locations().points()).sqrt();
        let diagonal = self.kernel().value.diagonal(x);
        for (query, variance) in variance.iter().enumerate() {
            let terms = n as f64 * sizes * diagonal[query].sqrt();
            let reach = |sign: f64| {
                let centre = prior.to_model(ends.mean[query]);
                let one = |i: usize| {
                    // μ₋ᵢ(x) = μ(x) − vᵢαᵢ/Qᵢᵢ and σ²₋ᵢ(x) = σ²(x) + vᵢ²/Qᵢᵢ.
                    let v = weights[(query, i)];
                    let left = centre - v * self.coefficients()[i] / precision[i];
                    outwards(sign * left, scores[i] * (variance + v * v / precision[i] + tau2).sqrt(), terms)
                };
                let mut all: Vec<f64> = (0..n).map(one).collect();
                if k > n { f64::INFINITY } else { *all.select_nth_unstable_by(k - 1, f64::total_cmp).1 }
            };
            let (above, below) = (reach(1.0), -reach(-1.0));
            let rounding = |end: f64| 8.0 * f64::EPSILON * (prior.to_data(0.0).abs() + end.abs());
            let in_data =
                |end: f64, sign: f64| if end.is_finite() { prior.to_data(end) + sign * rounding(prior.to_data(end)) } else { end };
            ends.upper.push(in_data(above, 1.0));
            ends.lower.push(in_data(below, -1.0));
        }
        Ok(PredictionIntervals::from_parts(ends, self.left_out_certificate(delta)))
    }

    fn left_out_certificate(&self, delta: f64) -> Certificate {
        let observations = self.observations();
        let n = observations.len();
        let learnt = self.kernel().origin.max(self.ridge_origin()).max(observations.prior().origin());
        let calibrated = Sourced::new(Calibrated { rows: n, folds: n, groups: 1 }, learnt);
        let premises = Premises::exchangeable(
            &self.kernel().value,
            self.ridge(),
            (observations.prior(), observations.locations().collected(), observations.len()),
            calibrated,
        )
        .with_doubts(Doubts { lost: observations.doubts().lost, ..Doubts::default() });
        let (level, missed) = proved((n, rank(n, delta)), n, true);
        // Without ends nothing is missed: what was asked for is kept, and more.
        Certificate::conformal(premises, if level == 1.0 { delta } else { missed }, level)
    }
}
