//! The certificate of a run as a function of its premises (algorithm notes 13).

#[cfg(test)]
mod breakdown_test;

use super::pairs::Setting;
use super::replay::Replay;
use super::state::{Best, State};
use super::{Rules, Sbpe};
use crate::certificate::Range;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::Sourced;
use crate::strategy::run::dial::{Judged, Reading};
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use crate::strategy::run::standing::{PremiseRow, Standing};
use std::borrow::Borrow;

/// What is claimed under the declared premises, with the run that was judged for it: the curve and the map both begin here.
struct Own<'a> {
    state: &'a State,
    replay: Replay<'a>,
    reading: Reading<'a>,
    noise: &'a Noise,
    range: Range,
    row: PremiseRow,
}

impl Sbpe {
    /// The run's claim along the norm bound, and where it breaks. None before anything was recommended, and for the paper's rules.
    pub(in crate::strategy) fn standing(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Standing>> {
        let (Some(own), Some(norm_bound)) = (self.own(problem, ledger)?, problem.norm_bound()) else { return Ok(None) };
        let level = claimed_level(own.state, own.noise);
        Ok(Some(Standing {
            norm_bound,
            noise_level: Some(level),
            among_candidates: own.reading.among_candidates,
            curve: own.row.curve,
            noise_curve: own.reading.noise_curve(&own.replay, (norm_bound, level), &own.range)?,
            range: own.range,
            certificate: self.certificate(problem, own.state),
        }))
    }

    /// The range and the curve under the declared kernel.
    fn own<'a>(&'a self, problem: &'a Problem, ledger: &'a Ledger) -> Result<Option<Own<'a>>> {
        let (Some(kernel), Some(norm_bound), Some(noise)) = (problem.kernel(), problem.norm_bound(), problem.noise()) else {
            return Ok(None);
        };
        let Some((state, replay)) = self.replay(problem, ledger, kernel)? else { return Ok(None) };
        let reading = self.reading(problem, state, &kernel.value);
        let range = self.range_of((problem, state, noise), &reading, || Ok(&replay))?;
        let row = PremiseRow { factor: 1.0, least_norm: range.least_norm, curve: reading.curve(&replay, norm_bound, &range)? };
        Ok(Some(Own { state, replay, reading, noise, range, row }))
    }

    /// The gap that the run reports, of the places that the reading speaks of.
    fn reported(&self, problem: &Problem, state: &State, reading: &Reading<'_>) -> Option<f64> {
        let (whole, among) = self.claimed_gaps(problem, state)?;
        Some(if reading.among_candidates { among.unwrap_or(whole) } else { whole })
    }

    /// The gap under one other norm bound, and noise so many times as large. On a box the cells of the curve and of the range may be finer than those of one bound alone, and what they
    /// show of larger premises is shown of these.
    pub(in crate::strategy) fn gap_under(&self, problem: &Problem, ledger: &Ledger, setting: Setting) -> Result<Option<f64>> {
        let (Some(kernel), Some(norm_bound), Some(noise)) = (problem.kernel(), problem.norm_bound(), problem.noise()) else {
            return Ok(None);
        };
        let Some((state, replay)) = self.replay(problem, ledger, kernel)? else { return Ok(None) };
        let reading = self.reading(problem, state, &kernel.value);
        let alone = replay.gaps(&[setting])?[0].map(|gap| reading.gap(setting, gap));
        if replay.is_the_same_in_every_chain() {
            return Ok(alone);
        }
        let range = self.range_of((problem, state, noise), &reading, || Ok(&replay))?;
        let larger = if setting.scale > 1.0 { Vec::new() } else { reading.curve(&replay, norm_bound, &range)? };
        let along = larger.into_iter().find(|point| point.norm_bound >= setting.norm_bound).and_then(|point| point.gap);
        let level = claimed_level(state, noise);
        let claimed = range.gap_of((setting.norm_bound, setting.scale * level), (norm_bound, level));
        Ok(alone.map(|gap| gap.min(claimed).min(along.unwrap_or(f64::INFINITY))))
    }

    /// $c_0$, $C^\dagger$ and $R^\dagger$ alone.
    pub(in crate::strategy) fn range(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Range>> {
        let (Some((state, best)), Some(kernel), Some(noise)) = (self.replayable(), problem.kernel(), problem.noise()) else {
            return Ok(None);
        };
        let replay = || Replay::new((self, problem, ledger), state, kernel, &best.point);
        self.range_of((problem, state, noise), &self.reading(problem, state, &kernel.value), replay).map(Some)
    }

    /// The curve with all length-scales multiplied by each factor.
    pub(in crate::strategy) fn premise_map(&self, problem: &Problem, ledger: &Ledger, factors: &[f64]) -> Result<Vec<PremiseRow>> {
        let (Some(kernel), Some(norm_bound)) = (problem.kernel(), problem.norm_bound()) else { return Ok(Vec::new()) };
        let mut rows = Vec::with_capacity(factors.len());
        for &factor in factors {
            if factor == 1.0 {
                rows.extend(self.own(problem, ledger)?.map(|own| own.row));
                continue;
            }
            let kernel = Sourced::new(kernel.value.stretched(factor)?, kernel.origin);
            let Some((state, replay)) = self.replay(problem, ledger, &kernel)? else { return Ok(Vec::new()) };
            let curve = self.reading(problem, state, &kernel.value).curve(&replay, norm_bound, &Range::default())?;
            rows.push(PremiseRow { factor, least_norm: replay.least_norm(), curve });
        }
        Ok(rows)
    }

    /// Whether a range was found since the last batch.
    pub(in crate::strategy) fn is_range_known(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.range.is_known())
    }

    /// Whether the run is replayed: else what is proved about it is what is proved about any data.
    pub(in crate::strategy) fn is_replayed(&self) -> bool {
        self.rules == Rules::Certified
    }

    /// A run with a claim by the certified rules.
    fn replayable(&self) -> Option<(&State, &Best)> {
        let state = self.state.as_ref().filter(|_| self.is_replayed())?;
        Some((state, state.claim()?))
    }

    fn replay<'a>(
        &'a self,
        problem: &'a Problem,
        ledger: &'a Ledger,
        kernel: &'a Sourced<Kernel>,
    ) -> Result<Option<(&'a State, Replay<'a>)>> {
        let Some((state, best)) = self.replayable() else { return Ok(None) };
        Ok(Some((state, Replay::new((self, problem, ledger), state, kernel, &best.point)?)))
    }

    fn reading<'a>(&self, problem: &'a Problem, state: &State, kernel: &'a Kernel) -> Reading<'a> {
        let is_whole = state.facts.between == Some(0.0);
        let candidates = || problem.domain().candidates(self.declared_candidates(), problem.seed()).ok();
        let cover = if is_whole { Some(0.0) } else { candidates().and_then(|c| c.cover_radius(kernel)) };
        Reading { problem, kernel, cover, among_candidates: !is_whole && problem.wanted_gap().is_none() }
    }

    /// As it was found before, or from the run judged again.
    fn range_of<'a, R: Borrow<Replay<'a>>>(
        &self,
        (problem, state, noise): (&Problem, &State, &Noise),
        reading: &Reading<'_>,
        replay: impl FnOnce() -> Result<R>,
    ) -> Result<Range> {
        let least_norm = state.facts.least_norm;
        let (Some(norm_bound), Some(reported)) = (problem.norm_bound(), self.reported(problem, state, reading)) else {
            return Ok(Range { least_norm, ..Range::default() });
        };
        let find = || reading.range(replay()?.borrow(), least_norm, reported, (norm_bound, claimed_level(state, noise)));
        state.range.or_find((reported, reading.followed(reported)), find)
    }
}

impl Judged for Replay<'_> {
    fn gaps(&self, chain: &[Setting]) -> Result<Vec<Option<f64>>> {
        Replay::gaps(self, chain)
    }

    fn farthest(&self, kernel: &Kernel) -> Option<f64> {
        Replay::farthest(self, kernel)
    }

    fn is_the_same_in_every_chain(&self) -> bool {
        !self.has_cells()
    }
}

/// The level that is claimed: as declared, or what replicates bound it by.
fn claimed_level(state: &State, noise: &Noise) -> f64 {
    state.facts.level.map_or(noise.std_dev_bound(), |bound| bound.level)
}
