//! Strategies picked by name that choose one point after the other, where no kernel is given: the kernel is learnt anew for every choice, and the index is
//! climbed from its best candidates (algorithm notes 5.12).

use super::data::Data;
use super::draws::Functions;
use super::fit::{Fit, Fitting};
use super::ground::Ground;
use super::maximisers::{self, largest};
use super::model::{Model, Outlook};
use super::{pool, seed_of};
use crate::error::Result;
use crate::points::{Points, PointsRef, bits};
use crate::strategy::baselines::Sobol;
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sigmabar_linalg::{Matrix, argmax, parallel};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use std::collections::HashSet;

/// Candidates from which an index is climbed, and steps of a climb.
const STARTS: usize = 6;
const ASCENT: usize = 20;
/// The step of an index's slope, as a share of a column's range.
const DIFFERENCE: f64 = 1e-4;
/// Random frequencies of a drawn function.
const FREQUENCIES: usize = 384;
/// Points of a Sobol sequence before the first choice: twice as many as a plane needs, and no fewer than these. A quarter of the budget at most.
const FIRST: usize = 10;
/// Values without which no kernel is learnt.
const FEWEST: usize = 3;

/// What the next point has most of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::strategy) enum Index {
    /// Expected improvement over the best measured point by more than a margin.
    Improvement(f64),
    /// The probability of such an improvement.
    Probability(f64),
    /// The mean and so many deviations.
    Optimism(f64),
    /// The value of a function drawn from the posterior.
    Draw,
}

/// The next `count` points; those chosen count as measured at their mean for the ones after them. Points that were measured come up again only where
/// nothing else is left.
pub(in crate::strategy) fn plan(
    problem: &Problem,
    ledger: &Ledger,
    count: usize,
    candidates: usize,
    index: Index,
) -> Result<Vec<Proposal>> {
    let step = ledger.trials().len();
    let start = FIRST.max(2 * (problem.domain().dim() + 1)).min(problem.budget() / 4);
    let (attached, data) = (ledger.measured_before().count(), Data::of(problem, ledger)?);
    let data = data.filter(|d| d.raw.len() >= FEWEST && (attached >= FEWEST || d.raw.len() >= start));
    let Some(mut data) = data else {
        let all = Sobol::default().plan(problem, &Ledger::default())?;
        return Ok(all.into_iter().skip(step).take(count).collect());
    };
    let seed = seed_of(problem, step);
    let fit = Fitting::new(problem, &data, seed)?.views(&data, &[])?.remove(0);
    let mut proposals = Vec::new();
    for k in 0..count {
        let model = fit.model(&data)?;
        let choice = Choice { problem, data: &data, fit: &fit, model: &model, candidates, index, seed: seed.wrapping_add(k as u64) };
        let Some(proposal) = choice.best()? else { break };
        let mean = model.outlook(Points::from_rows(&[&proposal.point])?.view())?.mean[0];
        data.points.push(&proposal.point)?;
        data.raw.push(fit.scale.to_problem(mean));
        data.errors.push(None);
        proposals.push(proposal);
    }
    Ok(proposals)
}

struct Choice<'a> {
    problem: &'a Problem,
    data: &'a Data,
    fit: &'a Fit,
    model: &'a Model,
    candidates: usize,
    index: Index,
    seed: u64,
}

impl Choice<'_> {
    fn best(&self) -> Result<Option<Proposal>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let domain = self.problem.domain();
        let drawn = if self.index == Index::Draw { Functions::new(self.model, 1, FREQUENCIES, &mut rng)? } else { None };
        let known: HashSet<Vec<u64>> = self.data.points.view().rows().map(bits).collect();
        let is_new = |row: &[f64]| !known.contains(&bits(row));
        if let Some(all) = pool::whole(domain, self.problem.seed())? {
            let scores = self.scores(all.view(), drawn.as_ref())?;
            let new = (0..all.len()).filter(|&i| is_new(all.row(i))).map(|i| (i, scores[i]));
            let best = argmax(new).or_else(|| argmax(scores.iter().copied().enumerate()));
            let is_list = matches!(domain, crate::domain::Domain::List(_));
            let proposal = |i: usize| if is_list { Proposal::candidate(i, all.row(i)) } else { Proposal::anywhere(all.row(i).to_vec()) };
            return Ok(best.map(proposal));
        }
        let ground = Ground::new(domain, self.model);
        let points = maximisers::candidates(&ground, self.model, self.data, self.candidates, &mut rng)?;
        let scores = self.scores(points.view(), drawn.as_ref())?;
        let starts = largest(&scores, STARTS.min(points.len()).max(2));
        let ranges = ground.ranges();
        let f = |x: &[f64]| match &drawn {
            Some(functions) => functions.with_slope(0, x),
            None => self.with_slope(x, &ranges),
        };
        let climb = |&at: &usize| ground.climb(&f, points.row(at), points.view(), ASCENT);
        let mut ends: Vec<(Vec<f64>, f64)> = parallel(|watch| starts.par_iter().inspect(|_| watch.check()).map(climb).collect());
        ends.extend(starts.iter().map(|&i| (points.row(i).to_vec(), scores[i])));
        let best = |new: bool| ends.iter().filter(|(x, _)| !new || is_new(x)).max_by(|a, b| a.1.total_cmp(&b.1));
        Ok(best(true).or_else(|| best(false)).map(|(x, _)| Proposal::anywhere(x.clone())))
    }

    fn scores(&self, x: PointsRef<'_>, drawn: Option<&Functions<'_>>) -> Result<Vec<f64>> {
        match drawn {
            Some(functions) => functions.values(x).map(Matrix::into_vec),
            None => Ok(self.indices(&self.model.outlook(x)?)),
        }
    }

    /// The index at points. Improvements as logarithms: far from the best they are too small to tell apart otherwise.
    fn indices(&self, outlook: &Outlook) -> Vec<f64> {
        let both = || outlook.mean.iter().zip(&outlook.variance).map(|(m, v)| (*m, v.sqrt().max(1e-12)));
        match self.index {
            Index::Optimism(width) => both().map(|(mean, deviation)| mean + width * deviation).collect(),
            Index::Draw => outlook.mean.clone(),
            Index::Improvement(margin) => {
                let bar = self.bar(margin);
                both().map(|(mean, deviation)| deviation.ln() + log_improvement((mean - bar) / deviation)).collect()
            }
            Index::Probability(margin) => {
                let bar = self.bar(margin);
                both().map(|(mean, deviation)| (mean - bar) / deviation).collect()
            }
        }
    }

    /// The largest mean at a measured point and the margin, on the scale of the model.
    fn bar(&self, margin: f64) -> f64 {
        let best = self.data.points.view().rows().map(|x| self.model.mean_at(x)).fold(f64::NEG_INFINITY, f64::max);
        if margin > 0.0 { self.fit.scale.to_model(self.fit.scale.to_problem(best) + margin) } else { best }
    }

    /// With its slope by differences.
    fn with_slope(&self, x: &[f64], ranges: &[f64]) -> (f64, Vec<f64>) {
        let d = x.len();
        let mut rows = x.repeat(2 * d + 1);
        for c in 0..d {
            rows[(2 * c + 1) * d + c] += DIFFERENCE * ranges[c];
            rows[(2 * c + 2) * d + c] -= DIFFERENCE * ranges[c];
        }
        let Ok(outlook) = self.model.outlook(Points::from_valid(rows, d).view()) else { return (f64::NEG_INFINITY, vec![0.0; d]) };
        let index = self.indices(&outlook);
        let slope = (0..d).map(|c| (index[2 * c + 1] - index[2 * c + 2]) / (2.0 * DIFFERENCE * ranges[c])).collect();
        (index[0], slope)
    }
}

/// $\log(z\Phi(z)+\varphi(z))$; far below 0 by its expansion $\varphi(z)(z^{-2}-3z^{-4})$.
fn log_improvement(z: f64) -> f64 {
    let normal = Normal::standard();
    if z > -6.0 {
        (z * normal.cdf(z) + normal.pdf(z)).max(f64::MIN_POSITIVE).ln()
    } else {
        -0.5 * z * z - 0.5 * std::f64::consts::TAU.ln() + (1.0 - 3.0 / (z * z)).ln() - 2.0 * z.abs().ln()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{BoxDomain, Domain};
    use crate::strategy::{Ask, Outcome, Policy, Strategy};

    #[test]
    fn logarithms_of_improvements_join_and_fall() {
        // ∫ Φ up to z, by the trapezoidal rule.
        let normal = Normal::standard();
        for z in [-4.0_f64, -1.0, 0.0, 2.0] {
            let step = 1e-3;
            let steps = ((z + 12.0) / step) as usize;
            let sum: f64 = (0..=steps).map(|i| normal.cdf(z - step * i as f64)).sum::<f64>() - 0.5 * normal.cdf(z);
            assert!((log_improvement(z) - (sum * step).ln()).abs() < 1e-4, "at {z}");
        }
        assert!((log_improvement(-6.0 - 1e-9) - log_improvement(-6.0 + 1e-9)).abs() < 0.02);
        assert!(log_improvement(-40.0) > log_improvement(-41.0));
    }

    /// On a wavy plane 6 of 18 runs stayed on the first hill after six points, and 4 after ten: a little help, no cure.
    #[test]
    fn ten_points_are_spread_before_the_first_choice() {
        let problem = |budget: usize| Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), budget).unwrap();
        let asked = |policy: Policy, budget: usize| {
            let mut strategy = Strategy::new(problem(budget), policy).unwrap();
            let mut points = Vec::new();
            while points.len() < 12 {
                let Ask::Trials(trials) = strategy.ask(1).unwrap() else { break };
                for trial in trials {
                    strategy.tell(trial.id, Outcome::Value((7.0 * trial.point[0]).sin())).unwrap();
                    points.push(trial.point.clone());
                }
            }
            points
        };
        let together = |budget: usize| {
            let (ours, spread) =
                (asked(Policy::ExpectedImprovement(Default::default()), budget), asked(Policy::Sobol(Sobol::default()), budget));
            ours.iter().zip(&spread).take_while(|(a, b)| a == b).count()
        };
        assert_eq!((together(80), together(16)), (10, 4));
    }
}
