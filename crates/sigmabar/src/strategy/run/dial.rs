//! The dial of premises: one claim judged under many norm bounds and noise levels, and where it breaks (algorithm notes 13.1).

use super::problem::Problem;
use super::standing::{Noisepoint, Standpoint};
use crate::certificate::{FARTHEST, LEEWAY, Range, values_around};
use crate::error::Result;
use crate::kernel::Kernel;

/// Breakdown points are found within one in (RESOLUTION+1)² of how far they are looked for, on a logarithmic scale.
const RESOLUTION: usize = 16;
/// Where settings are judged one by one: nearer ones first, which leave fewer places to be judged, and so many halvings of the stretch in which the claim breaks.
const STRETCHES: [f64; 6] = [1.5, 2.0, 3.0, 4.0, 6.0, FARTHEST];
const HALVINGS: usize = 3;

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
        let claims = [(Some(norm_bound), range.claimed), (range.norm_breakdown, range.gap)];
        let gaps = self.along(judged, &norm_bounds, |norm_bound| Setting { norm_bound, scale: 1.0 }, &claims)?;
        Ok(norm_bounds.into_iter().zip(gaps).map(|(norm_bound, gap)| Standpoint { norm_bound, gap }).collect())
    }

    /// gap(R) around a declared level, at the declared norm bound; nothing where there is no noise.
    pub fn noise_curve(&self, judged: &impl Judged, (norm_bound, level): (f64, f64), range: &Range) -> Result<Vec<Noisepoint>> {
        if level <= 0.0 {
            return Ok(Vec::new());
        }
        let levels = values_around(level);
        let claims = [(Some(level), range.claimed), (range.noise_breakdown, range.gap)];
        let gaps = self.along(judged, &levels, |noise| Setting { norm_bound, scale: noise / level }, &claims)?;
        Ok(levels.into_iter().zip(gaps).map(|(noise_level, gap)| Noisepoint { noise_level, gap }).collect())
    }

    /// Gaps along an ascending chain. Their running maximum is what holds for every value above the truth at once (algorithm notes 13.1), and a claim for everything up to some value is
    /// one for every smaller value: along a chain a box has fewer cells for each premise than it has for one alone.
    fn along(
        &self,
        judged: &impl Judged,
        values: &[f64],
        at: impl Fn(f64) -> Setting,
        claims: &[(Option<f64>, Option<f64>)],
    ) -> Result<Vec<Option<f64>>> {
        let chain: Vec<Setting> = values.iter().map(|&value| at(value)).collect();
        let claimed = |value: f64| {
            let wider = claims.iter().filter_map(|&(end, gap)| end.zip(gap)).filter(|(end, _)| value <= *end);
            wider.map(|(_, gap)| gap).fold(f64::INFINITY, f64::min)
        };
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
        let stands =
            factors.iter().zip(self.along(judged, &factors, &at, &[])?).filter(|(_, found)| found.is_some_and(|found| found <= gap));
        let shown = stands.map(|(factor, _)| *factor).fold(1.0, f64::max);
        self.breakdown_one_by_one(judged, gap, shown, at)
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

    /// The same from a factor at which it is known to stand, where a chain has to share what a setting alone may have for itself, the cells of a box.
    fn breakdown_one_by_one(&self, judged: &impl Judged, gap: f64, known: f64, at: impl Fn(f64) -> Setting) -> Result<f64> {
        let holds = |factor: f64| -> Result<bool> {
            let setting = at(factor);
            Ok(judged.gaps(&[setting])?[0].is_some_and(|found| self.gap(setting, found) <= gap))
        };
        let mut stands = known;
        for end in STRETCHES.into_iter().filter(|&end| end > known) {
            if holds(end)? {
                stands = end;
                continue;
            }
            let mut breaks = end;
            for _ in 0..HALVINGS {
                let middle = (stands * breaks).sqrt();
                if holds(middle)? {
                    stands = middle;
                } else {
                    breaks = middle;
                }
            }
            break;
        }
        Ok(stands)
    }
}
