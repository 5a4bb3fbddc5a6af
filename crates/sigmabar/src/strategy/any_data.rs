//! What is proved about a run whatever chose its points: its claim as a function of the premises, by the band that holds for every number of observations
//! (algorithm notes 13.2).

use super::run::dial::{Judged, Reading, Setting};
use super::run::ledger::{Ledger, copies};
use super::run::problem::Problem;
use super::run::recommendation::model_certificate;
use super::run::repeated::repeats_among;
use super::run::standing::{PremiseRow, Standing};
use super::sbpe::{Arrived, SetOfCandidates};
use crate::certificate::{ALARM_SHARE, Bounds, Certificate, Claim, EnergyBand, Premises, Range, Repeated, Spent, Theorem};
use crate::design::DictionarySize;
use crate::error::Result;
use crate::features::FeatureMap;
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Doubts, Observations, Points, Prior};
use crate::posterior::Posterior;
use std::sync::Arc;

/// Points that stand for a box or a space.
const CANDIDATES: usize = 1024;
/// Up to this many distinct points all of them are inducing points, and nothing is missed; beyond it, as many pivots at most.
const MAX_INDUCING: usize = 500;

/// A run's data with the setting that is judged.
pub(super) struct AnyData<'a> {
    problem: &'a Problem,
    noise: Noise,
    norm_bound: f64,
    observations: Observations,
    ridge: f64,
    /// Candidates, and after them the recommended point.
    queries: Points,
    is_whole: bool,
    facts: Facts,
}

/// What the premises of a claim count.
struct Facts {
    means: usize,
    lost: usize,
    copies: usize,
    repeats: Repeated,
    /// Results from before the run: whoever gives them says that nothing was left out.
    has_earlier: bool,
}

/// The band at the candidates and at the recommended point, which is the last.
struct Band<'a>(EnergyBand<'a>, &'a Points);

impl Judged for Band<'_> {
    fn gaps(&self, chain: &[Setting]) -> Result<Vec<Option<f64>>> {
        let gap = |setting: &Setting| {
            let ends = self.0.ends(setting.norm_bound, setting.scale)?;
            let lower = ends.last()?.0;
            Some(ends.iter().map(|(_, upper)| upper - lower).fold(0.0, f64::max))
        };
        Ok(chain.iter().map(gap).collect())
    }

    fn farthest(&self, kernel: &Kernel) -> Option<f64> {
        let Self(_, queries) = self;
        Some(kernel.farthest(queries.row(queries.len().checked_sub(1)?), queries.view()))
    }
}

impl<'a> AnyData<'a> {
    /// Everything a run has measured, how many results from before it may have been chosen by their noise, and the setting it recommends; none where kernel, norm bound and noise
    /// were not given.
    pub fn new(problem: &'a Problem, ledger: &Ledger, doubted_before: usize, recommended: &[f64]) -> Result<Option<Self>> {
        let (Some(_), Some(norm_bound), Some(noise), Some(ridge), None) =
            (problem.kernel(), problem.norm_bound(), problem.noise(), problem.ridge(), problem.unknown_level())
        else {
            return Ok(None);
        };
        // What was there before may have taught what was learnt from other data.
        if problem.is_learnt_elsewhere() && ledger.measured_before().next().is_some() {
            return Ok(None);
        }
        // Which of the open batch have arrived may depend on what they are; where the first one is missing the run may be stopped, whoever chose when.
        let settled = ledger.settled();
        let arrived = Arrived::of(problem, ledger.measured_before().chain(ledger.measured_until(settled)));
        if arrived.is_empty() {
            return Ok(None);
        }
        let points = Points::new(arrived.points.clone(), problem.domain().dim())?;
        let observations = Observations::new(points, &arrived.values, Collected::Adaptive, Prior::ZERO)?;
        let candidates = SetOfCandidates::new(problem, CANDIDATES)?;
        let mut queries = candidates.points().to_points();
        queries.push(recommended)?;
        let lost = ledger.lost_until(settled) + ledger.lost_before() + doubted_before;
        let repeats = repeats_among(problem, ledger.measured_until(settled));
        let has_earlier = ledger.measured_before().next().is_some();
        let facts = Facts { means: arrived.means(), lost, copies: copies(ledger.measured_before()), repeats, has_earlier };
        let noise = arrived.noise(noise)?;
        Ok(Some(Self { problem, noise, norm_bound, observations, ridge, queries, is_whole: candidates.is_whole(), facts }))
    }

    /// The claim along the norm bound, and where it breaks.
    pub fn standing(&self) -> Result<Option<Standing>> {
        let Some(kernel) = self.problem.kernel() else { return Ok(None) };
        let posterior = self.posterior(kernel)?;
        let (band, reading) = (self.band(&posterior)?, self.reading(&kernel.value));
        let (range, declared) = (self.range_of(&posterior, &band, &reading)?, (self.norm_bound, self.level()));
        Ok(Some(Standing {
            norm_bound: self.norm_bound,
            noise_level: Some(self.level()),
            among_candidates: reading.among_candidates,
            curve: reading.curve(&band, self.norm_bound, &range)?,
            noise_curve: reading.noise_curve(&band, declared, &range)?,
            range,
            certificate: self.certificate(&posterior, band.0.bounds()),
        }))
    }

    /// $c_0$, $C^\dagger$ and $R^\dagger$ alone; none where the premises are no premises of a theorem.
    pub fn range(&self) -> Result<Option<Range>> {
        let Some(kernel) = self.problem.kernel() else { return Ok(None) };
        let posterior = self.posterior(kernel)?;
        let band = self.band(&posterior)?;
        if !self.certificate(&posterior, band.0.bounds()).label().is_certified() {
            return Ok(None);
        }
        self.range_of(&posterior, &band, &self.reading(&kernel.value)).map(Some)
    }

    /// The gap under one other norm bound, and noise so many times as large.
    pub fn gap_under(&self, setting: Setting) -> Result<Option<f64>> {
        let Some(kernel) = self.problem.kernel() else { return Ok(None) };
        let posterior = self.posterior(kernel)?;
        let gap = self.band(&posterior)?.gaps(&[setting])?[0];
        Ok(gap.map(|gap| self.reading(&kernel.value).gap(setting, gap)))
    }

    /// The curve with all length-scales multiplied by each factor. On the one event of the noise all rows hold at once.
    pub fn premise_map(&self, factors: &[f64]) -> Result<Vec<PremiseRow>> {
        let Some(kernel) = self.problem.kernel() else { return Ok(Vec::new()) };
        let row = |&factor: &f64| {
            // What the standing says about the declared length-scales is what the map says.
            if factor == 1.0
                && let Some(standing) = self.standing()?
            {
                return Ok(standing.row());
            }
            let kernel = Sourced::new(kernel.value.stretched(factor)?, kernel.origin);
            let posterior = self.posterior(&kernel)?;
            let curve = self.reading(&kernel.value).curve(&self.band(&posterior)?, self.norm_bound, &Range::default())?;
            Ok(PremiseRow { factor, least_norm: self.least_norm(&posterior)?, curve })
        };
        factors.iter().map(row).collect()
    }

    /// The inducing points are among the measured ones: the band holds for any.
    fn posterior(&self, kernel: &Sourced<Kernel>) -> Result<Posterior> {
        let measured = self.observations.locations().points().to_points();
        let features = if measured.len() <= MAX_INDUCING {
            FeatureMap::new(kernel.clone(), Sourced::new(measured, Origin::Guaranteed))?
        } else {
            DictionarySize::at_most(MAX_INDUCING).start(kernel, self.ridge, measured, self.observations.len())?
        };
        Posterior::fit(Arc::new(features), self.ridge, self.observations.clone())
    }

    fn claim(&self, share: f64) -> Result<Claim> {
        Claim::new(share * self.problem.delta())?.norm_bound(self.norm_bound).map(|claim| claim.noise(self.noise.clone()))
    }

    fn band<'p>(&'p self, posterior: &'p Posterior) -> Result<Band<'p>> {
        EnergyBand::new(posterior, self.queries.view(), &self.claim(1.0 - ALARM_SHARE)?).map(|band| Band(band, &self.queries))
    }

    fn least_norm(&self, posterior: &Posterior) -> Result<f64> {
        Ok(posterior.norm_check(&self.claim(ALARM_SHARE)?)?.least_norm)
    }

    /// The noise level that was declared.
    fn level(&self) -> f64 {
        self.problem.noise().map_or(0.0, Noise::std_dev_bound)
    }

    fn reading<'r>(&'r self, kernel: &'r Kernel) -> Reading<'r> {
        let candidates = || self.problem.domain().candidates(CANDIDATES, self.problem.seed()).ok();
        let cover = if self.is_whole { Some(0.0) } else { candidates().and_then(|c| c.cover_radius(kernel)) };
        Reading { problem: self.problem, kernel, cover, among_candidates: !self.is_whole && self.problem.wanted_gap().is_none() }
    }

    fn range_of(&self, posterior: &Posterior, band: &Band<'_>, reading: &Reading<'_>) -> Result<Range> {
        let least_norm = self.least_norm(posterior)?;
        let declared = Setting { norm_bound: self.norm_bound, scale: 1.0 };
        match band.gaps(&[declared])?[0] {
            Some(gap) => reading.range(band, least_norm, reading.gap(declared, gap), (self.norm_bound, self.level())),
            None => Ok(Range { least_norm, ..Range::default() }),
        }
    }

    /// What its claims rest on, without what was computed for them.
    pub fn bare_certificate(&self) -> Certificate {
        self.certified(0, Bounds::default())
    }

    fn certificate(&self, posterior: &Posterior, bounds: Bounds) -> Certificate {
        self.certified(posterior.information().features().len(), bounds)
    }

    fn certified(&self, inducing: usize, bounds: Bounds) -> Certificate {
        let (free, rows) = (Origin::Guaranteed, self.observations.len());
        let Facts { means, lost, copies, repeats, has_earlier } = self.facts;
        let declared = |is: bool| if is { Origin::Declared } else { free };
        let premises = Premises {
            means: Sourced::new(means, declared(means > 0)),
            points: Sourced::new(Collected::Adaptive, free),
            observations: Sourced::new(rows, free),
            losses: Sourced::new(lost, self.problem.failures().origin(lost).max(declared(has_earlier))),
            inducing: Sourced::new(inducing, free),
            queries: free,
            ..self.problem.premises(rows)
        };
        let premises = premises.with_doubts(Doubts { copies, ..Doubts::default() }).with_repeats(repeats);
        let delta = self.problem.delta();
        let spent = vec![
            Spent::new("the energy of the noise, for every number of observations", (1.0 - ALARM_SHARE) * delta, None),
            Spent::new("the check of the premises", ALARM_SHARE * delta, None),
        ];
        Certificate { theorem: Theorem::Energy, spent, bounds, ..model_certificate(self.problem, premises) }
    }
}
