//! The dial of premises: one claim judged under many norm bounds and noise levels, and where it breaks (algorithm notes 13.1).

use super::problem::Problem;
use super::standing::{Noisepoint, Standpoint};
use crate::certificate::{FARTHEST, LEEWAY, Range, values_around};
use crate::error::Result;
use crate::kernel::Kernel;

/// Breakdown points are found within one in (RESOLUTION+1)² of how far they are looked for, on a logarithmic scale.
const RESOLUTION: usize = 16;
/// Where settings are judged one by one: the first step from one at which the claim stands, and how near to each other one at which it stands and one at which it does not are found.
const STEP: f64 = 1.17;
const NEAR: f64 = 1.005;
/// Between two gaps that differ by less than this factor the end is where a line through both has it, for so many tries.
const ALIKE: f64 = 1.6;
const TRIES: usize = 4;

/// The premises that may be turned: $C$, and how many times as large as it was declared the noise is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub norm_bound: f64,
    pub scale: f64,
}

/// Data that a claim was made from, ready to be judged under other premises.
pub(crate) trait Judged {
    /// How far the recommended point can be from the best place under each setting of an ascending chain, in the model's scale; none where the data contradict it.
    fn gaps(&self, chain: &[Setting]) -> Result<Vec<Option<f64>>>;

    /// How far the recommended point is from the farthest place where the best can be, in the kernel metric; none where no bound is known.
    fn farthest(&self, kernel: &Kernel) -> Option<f64>;

    /// Whether a setting is judged the same alone and in any chain: cells of a box are shared by a chain, and are as fine as its first settings want them.
    fn is_the_same_in_every_chain(&self) -> bool {
        true
    }
}

/// How gaps in the model's scale become those of the declared domain.
pub(crate) struct Reading<'a> {
    pub problem: &'a Problem,
    pub kernel: &'a Kernel,
    /// The kernel-metric radius of the candidates' cover, 0 where they are the whole domain; none where it is not known.
    pub cover: Option<f64>,
    pub among_candidates: bool,
}

impl Reading<'_> {
    /// In the data's scale.
    pub fn gap(&self, setting: Setting, gap: f64) -> f64 {
        let trivial = self.trivial(setting.norm_bound);
        let between = if self.among_candidates { Some(0.0) } else { self.cover.map(|radius| setting.norm_bound * radius) };
        self.problem.prior().unit() * between.map_or(trivial, |b| (gap + b).min(trivial))
    }

    /// No two values are farther apart than $2C\sqrt{k_{\max}}$.
    fn trivial(&self, norm_bound: f64) -> f64 {
        self.kernel.max_variance().map_or(f64::INFINITY, |k| 2.0 * norm_bound * k.sqrt())
    }

    /// gap(C) around a declared bound, with what else a range says on the same event.
    pub fn curve(&self, judged: &impl Judged, norm_bound: f64, range: &Range) -> Result<Vec<Standpoint>> {
        let norm_bounds = values_around(norm_bound);
        let at = |norm_bound: f64| Setting { norm_bound, scale: 1.0 };
        let gaps = self.along(judged, &norm_bounds, at, |value| range.gap_of((value, 0.0), (norm_bound, 0.0)))?;
        Ok(norm_bounds.into_iter().zip(gaps).map(|(norm_bound, gap)| Standpoint { norm_bound, gap }).collect())
    }

    /// gap(R) around a declared level, at the declared norm bound; nothing where there is no noise.
    pub fn noise_curve(&self, judged: &impl Judged, (norm_bound, level): (f64, f64), range: &Range) -> Result<Vec<Noisepoint>> {
        if level <= 0.0 {
            return Ok(Vec::new());
        }
        let levels = values_around(level);
        let at = |noise: f64| Setting { norm_bound, scale: noise / level };
        let gaps = self.along(judged, &levels, at, |noise| range.gap_of((norm_bound, noise), (norm_bound, level)))?;
        Ok(levels.into_iter().zip(gaps).map(|(noise_level, gap)| Noisepoint { noise_level, gap }).collect())
    }

    /// Gaps along an ascending chain. Their running maximum is what holds for every value above the truth at once (algorithm notes 13.1), and a claim for everything up to some value is
    /// one for every smaller value: along a chain a box has fewer cells for each premise than it has for one alone.
    fn along(
        &self,
        judged: &impl Judged,
        values: &[f64],
        at: impl Fn(f64) -> Setting,
        claimed: impl Fn(f64) -> f64,
    ) -> Result<Vec<Option<f64>>> {
        let chain: Vec<Setting> = values.iter().map(|&value| at(value)).collect();
        let mut largest = f64::NEG_INFINITY;
        let mut one = |((&value, &setting), gap): ((&f64, &Setting), Option<f64>)| {
            largest = largest.max(self.gap(setting, gap?));
            Some(largest.min(claimed(value)))
        };
        Ok(values.iter().zip(&chain).zip(judged.gaps(&chain)?).map(&mut one).collect())
    }

    /// The wanted gap, where it is reached.
    fn wanted(&self, reported: f64) -> Option<f64> {
        let wanted = if self.among_candidates { self.problem.wanted_candidate_gap() } else { self.problem.wanted_gap() };
        wanted.filter(|&wanted| reported <= wanted)
    }

    /// The gap whose claim is followed to where it breaks: the wanted one where it is reached.
    pub fn followed(&self, reported: f64) -> f64 {
        self.wanted(reported).unwrap_or(LEEWAY * reported)
    }

    /// $C^\dagger$ and $R^\dagger$ of the claim that follows from this one, under the declared norm bound and noise level.
    pub fn range(&self, judged: &impl Judged, least_norm: f64, reported: f64, (norm_bound, level): (f64, f64)) -> Result<Range> {
        let declared = Setting { norm_bound, scale: 1.0 };
        let norm = |factor: f64| Setting { norm_bound: factor * norm_bound, ..declared };
        let noisier = |factor: f64| Setting { scale: factor, ..declared };
        let gap = self.followed(reported);
        let mut range = Range { least_norm, gap: Some(gap), among_candidates: self.among_candidates, ..Range::default() };
        (range.claimed, range.wanted) = (Some(reported), self.wanted(reported));
        let farthest = self.farthest(judged, gap, norm)?;
        (range.norm_breakdown, range.norm_is_open) = (Some(norm_bound * farthest), farthest >= FARTHEST);
        if level > 0.0 {
            let farthest = self.farthest(judged, gap, noisier)?;
            (range.noise_breakdown, range.noise_is_open) = (Some(level * farthest), farthest >= FARTHEST);
        }
        range.is_trivial = reported >= (1.0 - 1e-9) * self.gap(declared, self.without_data(judged, norm_bound));
        Ok(range)
    }

    /// What the norm bound says about the gap by itself, $C\sup_xd_k(x,\hat x)$: no two values are farther apart. It is $\sqrt2C\sqrt{k_{\max}}$ at most where no covariance is
    /// negative, so that few claims reach the $2C\sqrt{k_{\max}}$ of the worst kernel even where the data say nothing.
    fn without_data(&self, judged: &impl Judged, norm_bound: f64) -> f64 {
        judged.farthest(self.kernel).map_or(f64::INFINITY, |distance| norm_bound * distance)
    }

    /// The largest factor at which the claim was seen to stand, alone or along a curve.
    ///
    /// What is seen to stand anywhere stands: the events of the noise are about weights that depend neither on $C$ nor on how large the noise is called, so that on one of
    /// probability $1-\delta$ every judgement under every $C\ge\lVert f\rVert$ and every level that the noise has at most is true at once, in whatever chain it was made. One is then a
    /// claim for everything smaller, and the farthest of all chains is one too.
    fn farthest(&self, judged: &impl Judged, gap: f64, at: impl Fn(f64) -> Setting) -> Result<f64> {
        if judged.is_the_same_in_every_chain() {
            return self.breakdown(judged, gap, at);
        }
        let factors = values_around(1.0);
        let along = self.along(judged, &factors, &at, |_| f64::INFINITY)?;
        let stands = |(&factor, found): (&f64, Option<f64>)| Some((factor, found.filter(|found| *found <= gap && factor >= 1.0)?));
        let (shown, gap_there) = factors.iter().zip(along).filter_map(stands).next_back().unwrap_or((1.0, f64::INFINITY));
        let last = |chain: &[Setting]| -> Result<f64> {
            let (&found, &setting) = judged.gaps(chain)?.last().zip(chain.last()).unwrap_or((&None, &at(1.0)));
            Ok(found.map_or(f64::INFINITY, |found| self.gap(setting, found)))
        };
        let alone = |factor: f64| last(&[at(factor)]);
        // Smaller premises want finer cells and use them up: by itself or behind them, whichever shows more where the claim is known to stand.
        let behind = |factor: f64| last(&factors.iter().copied().filter(|f| *f < factor).chain([factor]).map(&at).collect::<Vec<_>>());
        let by_itself = alone(shown)?;
        let known = (shown, by_itself.min(gap_there));
        if by_itself <= gap_there { breakdown_one_by_one(gap, known, alone) } else { breakdown_one_by_one(gap, known, behind) }
    }

    /// The largest factor at which the claim was seen to stand; 1, the claim itself, at least.
    fn breakdown(&self, judged: &impl Judged, gap: f64, at: impl Fn(f64) -> Setting) -> Result<f64> {
        let (mut stands, mut breaks) = (1.0, FARTHEST);
        for _ in 0..2 {
            let step = (breaks / stands).powf(1.0 / (RESOLUTION + 1) as f64);
            let factors: Vec<f64> = (1..=RESOLUTION).map(|i| stands * step.powi(i as i32)).chain([breaks]).collect();
            let chain: Vec<Setting> = factors.iter().map(|&factor| at(factor)).collect();
            let gaps = judged.gaps(&chain)?;
            let holds = |i: usize| gaps[i].is_some_and(|found| self.gap(chain[i], found) <= gap);
            let held = (0..factors.len()).take_while(|&i| holds(i)).count();
            if held == factors.len() {
                return Ok(breaks);
            }
            (stands, breaks) = (if held > 0 { factors[held - 1] } else { stands }, factors[held]);
        }
        Ok(stands)
    }
}

/// The largest factor at which a claim of a gap was seen to stand, from one at which it is known to, with the gap there: where a chain has to share what a setting may have for itself.
fn breakdown_one_by_one(gap: f64, known: (f64, f64), found: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let (mut stands, mut breaks, mut step, mut tries) = (known, None::<(f64, f64)>, STEP, 0);
    while stands.0 < FARTHEST && breaks.is_none_or(|breaks| breaks.0 > NEAR * stands.0) {
        // Nearer settings leave fewer places to be judged.
        let next = breaks.map_or((step * stands.0).min(FARTHEST), |breaks| between(stands, breaks, gap, tries));
        let found = found(next)?;
        tries += usize::from(breaks.is_some());
        if found <= gap {
            (stands, step) = ((next, found), step * step);
        } else {
            breaks = Some((next, found));
        }
    }
    Ok(stands.0)
}

/// Where to look for the end between a factor at which a claim of a gap stands and one at which it does not, each with the gap that was found there. As long as these are alike the gap
/// grows evenly, and its end is to be seen: a little beyond it, on the farther side, so that two looks have it between them. Where it jumps, the middle.
fn between((low, least): (f64, f64), (high, most): (f64, f64), gap: f64, tries: usize) -> f64 {
    let whole = (high / low).ln();
    let margin = 0.4 * NEAR.ln() / whole;
    let is_even = most < ALIKE * least && least < gap && tries < TRIES;
    let share = if is_even { (gap / least).ln() / (most / least).ln() } else { 0.5 };
    let share = if share < 0.5 { share + margin } else { share - margin };
    low * (whole * share.clamp(margin, 1.0 - margin)).exp()
}
