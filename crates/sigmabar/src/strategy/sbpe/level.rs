//! Noise of one level that nobody knows: bounded by the replicates of a run, and planned for (algorithm notes 13.3).

use super::shares::{Budget, Counted};
use crate::error::Result;
use crate::noise::{LevelBound, NOISE_SHARE, Replicates};
use crate::points::{Points, bits};
use crate::strategy::run::ledger::{Ledger, Measured, Proposal};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::standing::Repeats;
use std::collections::HashSet;

/// A plan repeats until the bound is at most this many times the scatter, or half of its batch are repeats.
const FACTOR: f64 = 1.5;
/// Later batches repeat too while the bound is more than this many times the scatter: a short first batch knows little.
const ENOUGH: f64 = 2.0;

/// What of $\delta$ finds the level: nothing where it was declared.
pub(super) fn share(problem: &Problem) -> f64 {
    if problem.unknown_level().is_some() { NOISE_SHARE } else { 0.0 }
}

/// The smallest of the bounds by the counted batches up to `last`. Each goes by its own replicates: given what was measured before it, their number is fixed
/// and their scatter is $\chi^2$. None before there are any.
pub(super) fn bound(problem: &Problem, ledger: &Ledger, last: usize, counted: Counted) -> Result<Option<LevelBound>> {
    let mut smallest: Option<LevelBound> = None;
    for batch in counted.first..=last {
        let bound = replicates(problem, ledger, batch)?.bound(delta(problem, batch, counted))?;
        smallest = bound.into_iter().chain(smallest).min_by(|a, b| a.level.total_cmp(&b.level));
    }
    Ok(smallest)
}

/// How many repeated measurements of a batch are equal to the last digit, if more are than differ: noise never makes them so, and an instrument that shows few digits hides it.
pub(super) fn equal_repeats(problem: &Problem, ledger: &Ledger, batch: usize) -> Result<Option<usize>> {
    let found = replicates(problem, ledger, batch)?;
    Ok(Some(found.identical()).filter(|&identical| identical > found.freedom()))
}

fn delta(problem: &Problem, batch: usize, counted: Counted) -> f64 {
    Budget::of_batch(NOISE_SHARE * problem.delta(), batch, counted).each(1.0, 1)
}

/// Single values that the run asked for at one point, and means whose numbers of replicates were told. Single values from before the run do not count: nobody said that they
/// are measurements of their own.
fn replicates(problem: &Problem, ledger: &Ledger, batch: usize) -> Result<Replicates> {
    let (mut points, mut values) = (Vec::new(), Vec::new());
    let before = ledger.fixed_before().filter(|m| batch == 0 && m.replicates.is_some());
    let mut means: Vec<Measured<'_>> = before.collect();
    for measured in ledger.measured(batch) {
        match measured.standard_error {
            Some(_) => means.push(measured),
            None => {
                points.extend_from_slice(measured.point);
                values.push(problem.to_model(measured.value));
            }
        }
    }
    // Equal to the last digit, two means are one that was told twice.
    let mut known = HashSet::new();
    let bits = |m: &Measured<'_>| m.point.iter().chain([&m.value]).chain(&m.standard_error).map(|v| v.to_bits()).collect::<Vec<_>>();
    let told = means.iter().filter(|m| known.insert(bits(m))).filter_map(|m| Some((m.standard_error?, m.replicates.filter(|r| *r > 1)?)));
    let singles =
        if values.is_empty() { Replicates::default() } else { Replicates::of(Points::new(points, problem.domain().dim())?, &values)? };
    told.into_iter().try_fold(singles, |found, (error, r)| found.with_mean(error / problem.prior().unit(), r))
}

/// A batch in which so many evaluations repeat others that the level can be bounded: the last ones give way to the first ones again.
pub(super) fn with_repeats(problem: &Problem, ledger: &Ledger, counted: Counted, proposals: Vec<Proposal>) -> Result<Vec<Proposal>> {
    let batch = ledger.closed();
    if !is_repeating(problem, ledger, batch, counted)? {
        return Ok(proposals);
    }
    let count = proposals.len();
    let wanted = Replicates::needed(FACTOR, delta(problem, batch, counted))?.min(count / 2);
    let mut kept = proposals;
    // As many of the first as leave that many repeats.
    while count - (kept.len() - repeated(&kept)) < wanted {
        kept.pop();
    }
    let again: Vec<Proposal> = kept.iter().cycle().take(count - kept.len()).cloned().collect();
    kept.extend(again);
    Ok(kept)
}

/// Whether a batch repeats because the batches before it do not bound the level well enough.
fn is_repeating(problem: &Problem, ledger: &Ledger, batch: usize, counted: Counted) -> Result<bool> {
    if problem.unknown_level() != Some(1) {
        return Ok(false);
    }
    let before = if batch > counted.first { bound(problem, ledger, batch - 1, counted)? } else { None };
    Ok(before.is_none_or(|b| b.level > ENOUGH * b.scatter))
}

/// What the newest batch that repeats for that reason spends on it, and what that buys.
pub(super) fn repeats(problem: &Problem, ledger: &Ledger, counted: Counted) -> Option<Repeats> {
    let repeating = |&batch: &usize| is_repeating(problem, ledger, batch, counted).unwrap_or(false);
    let batch = (counted.first..ledger.batches()).rev().find(repeating)?;
    let trials = &ledger.trials()[ledger.batch(batch)];
    let proposals: Vec<Proposal> = trials.iter().map(|t| Proposal { candidate: t.candidate, point: t.point.clone() }).collect();
    let count = repeated(&proposals);
    Some(Repeats { batch, count, of: trials.len(), factor: Replicates::factor_at(count, delta(problem, batch, counted)) })
}

/// How many of them stand at the point of an earlier one.
fn repeated(proposals: &[Proposal]) -> usize {
    let mut seen = HashSet::new();
    proposals.iter().filter(|p| !seen.insert(bits(&p.point))).count()
}
