//! The certificate of a run as a function of its premises (algorithm notes 13).

use super::pairs::Setting;
use super::replay::Replay;
use super::state::State;
use super::{Rules, Sbpe};
use crate::certificate::Range;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::Sourced;
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use crate::strategy::run::standing::{PremiseRow, Standing, curve};

/// The curve's norm bounds: quarter powers of two around the declared one.
const BELOW: i32 = 8;
const ABOVE: i32 = 11;
/// Breakdown points are looked for up to this many times the declared value, and found within one in (RESOLUTION+1)² of that, on a logarithmic scale.
const FARTHEST: f64 = 8.0;
const RESOLUTION: usize = 16;
/// Without a wanted gap: the claim that breaks is that the recommended setting is within so many times the reported gap.
const LEEWAY: f64 = 2.0;

/// How gaps of a replay become those of the declared domain.
struct Reading<'a> {
    problem: &'a Problem,
    kernel: &'a Kernel,
    /// The kernel-metric radius of the candidates' cover; none where it is not known.
    cover: Option<f64>,
    among_candidates: bool,
}

impl Reading<'_> {
    /// In the data's scale.
    fn gap(&self, setting: Setting, gap: f64) -> f64 {
        let trivial = self.kernel.max_variance().map_or(f64::INFINITY, |k| 2.0 * setting.norm_bound * k.sqrt());
        let between = if self.among_candidates { Some(0.0) } else { self.cover.map(|radius| setting.norm_bound * radius) };
        self.problem.prior().unit() * between.map_or(trivial, |b| (gap + b).min(trivial))
    }
}

impl Sbpe {
    /// The run's claim along the norm bound, and where it breaks. None before anything was recommended, and for the paper's rules.
    pub(in crate::strategy) fn standing(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Standing>> {
        let Some((state, replay)) = self.replay(problem, ledger, problem.kernel())? else { return Ok(None) };
        let (Some(kernel), Some(norm_bound), Some(noise)) = (problem.kernel(), problem.norm_bound(), problem.noise()) else {
            return Ok(None);
        };
        let reading = self.reading(problem, state, &kernel.value);
        let norm_bounds = norm_bounds(norm_bound);
        let gaps = reading.along(&replay, &norm_bounds)?;
        Ok(Some(Standing {
            norm_bound,
            noise_level: Some(claimed_level(state, noise)),
            among_candidates: reading.among_candidates,
            curve: curve(&norm_bounds, &gaps),
            range: self.range_of(problem, state, &replay, &reading, noise)?,
        }))
    }

    /// The gap under one other norm bound, and noise so many times as large.
    pub(in crate::strategy) fn gap_under(&self, problem: &Problem, ledger: &Ledger, norm_bound: f64, scale: f64) -> Result<Option<f64>> {
        let Some((state, replay)) = self.replay(problem, ledger, problem.kernel())? else { return Ok(None) };
        let Some(kernel) = problem.kernel() else { return Ok(None) };
        let setting = Setting { norm_bound, scale };
        let gap = replay.gaps(&[setting])?[0];
        Ok(gap.map(|gap| self.reading(problem, state, &kernel.value).gap(setting, gap)))
    }

    /// $c_0$, $C^\dagger$ and $R^\dagger$ alone.
    pub(in crate::strategy) fn range(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Range>> {
        let Some((state, replay)) = self.replay(problem, ledger, problem.kernel())? else { return Ok(None) };
        let (Some(kernel), Some(noise)) = (problem.kernel(), problem.noise()) else { return Ok(None) };
        self.range_of(problem, state, &replay, &self.reading(problem, state, &kernel.value), noise).map(Some)
    }

    /// The curve with all length-scales multiplied by each factor.
    pub(in crate::strategy) fn premise_map(&self, problem: &Problem, ledger: &Ledger, factors: &[f64]) -> Result<Vec<PremiseRow>> {
        let (Some(kernel), Some(norm_bound)) = (problem.kernel(), problem.norm_bound()) else { return Ok(Vec::new()) };
        let norm_bounds = norm_bounds(norm_bound);
        let mut rows = Vec::with_capacity(factors.len());
        for &factor in factors {
            let kernel = Sourced::new(kernel.value.stretched(factor)?, kernel.origin);
            let Some((state, replay)) = self.replay(problem, ledger, Some(&kernel))? else { return Ok(Vec::new()) };
            let gaps = self.reading(problem, state, &kernel.value).along(&replay, &norm_bounds)?;
            rows.push(PremiseRow { factor, least_norm: replay.least_norm(), curve: curve(&norm_bounds, &gaps) });
        }
        Ok(rows)
    }

    fn replay<'a>(
        &'a self,
        problem: &'a Problem,
        ledger: &'a Ledger,
        kernel: Option<&'a Sourced<Kernel>>,
    ) -> Result<Option<(&'a State, Replay<'a>)>> {
        let (Some(state), Some(kernel), Rules::Certified) = (&self.state, kernel, self.rules) else { return Ok(None) };
        let Some(best) = &state.best else { return Ok(None) };
        Ok(Some((state, Replay::new((self, problem, ledger), state, kernel, &best.point)?)))
    }

    fn reading<'a>(&self, problem: &'a Problem, state: &State, kernel: &'a Kernel) -> Reading<'a> {
        let is_whole = state.facts.between == Some(0.0);
        let candidates = || problem.domain().candidates(self.declared_candidates(), problem.seed()).ok();
        let cover = if is_whole { Some(0.0) } else { candidates().and_then(|c| c.cover_radius(kernel)) };
        Reading { problem, kernel, cover, among_candidates: !is_whole && problem.wanted_gap().is_none() }
    }

    fn range_of(&self, problem: &Problem, state: &State, replay: &Replay<'_>, reading: &Reading<'_>, noise: &Noise) -> Result<Range> {
        let mut range = Range { least_norm: state.facts.least_norm, ..Range::default() };
        let (Some(norm_bound), Some((whole, among))) = (problem.norm_bound(), self.claimed_gaps(problem, state)) else { return Ok(range) };
        let (reported, wanted) =
            if reading.among_candidates { (among.unwrap_or(whole), problem.wanted_candidate_gap()) } else { (whole, problem.wanted_gap()) };
        let judged = wanted.filter(|&wanted| reported <= wanted).unwrap_or(LEEWAY * reported);
        range.gap = Some(judged);
        let declared = Setting { norm_bound, scale: 1.0 };
        let norm = |factor: f64| Setting { norm_bound: factor * norm_bound, ..declared };
        range.norm_breakdown = Some(norm_bound * reading.breakdown(replay, judged, norm)?);
        let level = claimed_level(state, noise);
        if level > 0.0 {
            let noisier = |factor: f64| Setting { scale: factor, ..declared };
            range.noise_breakdown = Some(level * reading.breakdown(replay, judged, noisier)?);
        }
        Ok(range)
    }
}

impl Reading<'_> {
    fn along(&self, replay: &Replay<'_>, norm_bounds: &[f64]) -> Result<Vec<Option<f64>>> {
        let chain: Vec<Setting> = norm_bounds.iter().map(|&norm_bound| Setting { norm_bound, scale: 1.0 }).collect();
        let gaps = replay.gaps(&chain)?;
        Ok(chain.iter().zip(gaps).map(|(&setting, gap)| gap.map(|gap| self.gap(setting, gap))).collect())
    }

    /// The largest factor at which the claim was seen to stand; 1, the run's own claim, at least.
    fn breakdown(&self, replay: &Replay<'_>, judged: f64, at: impl Fn(f64) -> Setting) -> Result<f64> {
        let (mut stands, mut breaks) = (1.0, FARTHEST);
        for _ in 0..2 {
            let step = (breaks / stands).powf(1.0 / (RESOLUTION + 1) as f64);
            let factors: Vec<f64> = (1..=RESOLUTION).map(|i| stands * step.powi(i as i32)).chain([breaks]).collect();
            let chain: Vec<Setting> = factors.iter().map(|&factor| at(factor)).collect();
            let gaps = replay.gaps(&chain)?;
            let holds = |i: usize| gaps[i].is_some_and(|gap| self.gap(chain[i], gap) <= judged);
            let held = (0..factors.len()).take_while(|&i| holds(i)).count();
            if held == factors.len() {
                return Ok(breaks);
            }
            (stands, breaks) = (if held > 0 { factors[held - 1] } else { stands }, factors[held]);
        }
        Ok(stands)
    }
}

/// The level that is claimed: as declared, or what replicates bound it by.
fn claimed_level(state: &State, noise: &Noise) -> f64 {
    state.facts.level.map_or(noise.std_dev_bound(), |bound| bound.level)
}

fn norm_bounds(declared: f64) -> Vec<f64> {
    (-BELOW..=ABOVE).map(|k| declared * (0.25 * f64::from(k)).exp2()).collect()
}
