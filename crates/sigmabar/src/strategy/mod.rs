//! Where to measure next: strategies with one ask/tell interface, deterministic from their seed.

mod any_data;
mod auto;
mod baselines;
pub mod catalogue;
mod policy;
mod recall;
mod run;
mod run_posterior;
mod saved;
mod sbpe;

pub use auto::{Assumed, Auto, Quantity, Scale};
pub use baselines::{
    AdaBkb, BatchRule, Bbkb, BbkbWidth, Bkb, BkbWidth, Bpe, BpeSchedule, BpeWidth, DecoupledThompson, EkUcb, ExpectedImprovement, GpThreds,
    GpUcb, Improvement, Incumbent, LargestVariance, MetaIndex, MiniMeta, ProbabilityOfImprovement, Random, Rips, SampleScale, Sequential,
    Sobol, SupKernelUcb, SupWidth, ThompsonSampling, UcbWidth,
};
pub use policy::Policy;
pub use run::{
    Ask, Attached, BatchReport, Cell, Direction, Failures, Ledger, Measured, Mishaps, Noisepoint, Outcome, PremiseRow, Problem,
    Recommendation, Repeats, Standing, Standpoint, StillPossible, Survivors, Trial, TrialState,
};
pub use run_posterior::RunPosterior;
pub use sbpe::{Rules, Sbpe, Schedule};

use crate::certificate::{Certificate, Contradiction, Theorem};
use crate::error::{Error, Result};
use crate::points::Collected;
use any_data::AnyData;
use run::dial::Setting;
use run::ledger::Proposal;
use run_posterior::Known;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Interrupt, caught};

/// A run: a problem, a policy and the book of what was asked and told.
///
/// Batches are planned when everything of the batch before is answered or closed, from the answers in the order of their ids: the run is a function of the seed
/// and the values alone, whatever the number of workers, the order of telling and the number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strategy {
    problem: Problem,
    policy: Policy,
    ledger: Ledger,
    finished: bool,
    despite_contradiction: bool,
    mishaps: Mishaps,
    #[serde(skip)]
    known: Known,
}

impl Strategy {
    /// A fresh run.
    ///
    /// # Errors
    /// What the policy cannot do with the problem: a premise it misses, a domain it does not know.
    pub fn new(problem: Problem, policy: Policy) -> Result<Self> {
        problem.check_digits()?;
        policy.check(&problem)?;
        let (ledger, mishaps, known) = (Ledger::default(), Mishaps::default(), Known::default());
        Ok(Self { problem, policy, ledger, finished: false, despite_contradiction: false, mishaps, known })
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The policy with its state.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The book of the run.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// At most `at_most` evaluations to make now. Plans the next batch when the last one is complete.
    ///
    /// # Errors
    /// What planning runs into; the run can be asked again.
    pub fn ask(&mut self, at_most: usize) -> Result<Ask> {
        let trials = self.ledger.hand_out(at_most);
        if !trials.is_empty() {
            return Ok(Ask::Trials(trials));
        }
        if self.ledger.is_waiting() {
            return Ok(Ask::Wait);
        }
        if self.ledger.is_open() {
            self.close()?;
        }
        if self.finished {
            return Ok(Ask::Finished);
        }
        if let Some(contradiction) = self.contradiction().filter(|_| !self.despite_contradiction) {
            return Ok(Ask::Contradicted(contradiction));
        }
        let proposals = self.with_policy(Policy::plan)?;
        if proposals.is_empty() {
            self.finished = true;
            return Ok(Ask::Finished);
        }
        self.ledger.open(proposals);
        let trials = self.ledger.hand_out(at_most);
        Ok(if trials.is_empty() { Ask::Wait } else { Ask::Trials(trials) })
    }

    /// The context of the next evaluation, for a contextual policy ([`EkUcb`]): every ask that plans needs a new one.
    ///
    /// # Errors
    /// [`crate::Error::Premise`] for a policy without contexts, [`crate::Error::Length`] for another number of columns than the context has,
    /// [`crate::Error::NotFinite`].
    pub fn set_context(&mut self, context: &[f64]) -> Result<()> {
        match &mut self.policy {
            Policy::EkUcb(policy) => policy.set_context(&self.problem, context),
            _ => Err(Error::Premise { what: "a context", reason: "the policy chooses without one; use a contextual policy" }),
        }
    }

    /// Takes in a result measured before the run, at a natural point of the domain. It costs nothing of the budget and is saved with the run.
    ///
    /// | policy | what it does with it |
    /// |---|---|
    /// | `auto`, `gp-ucb`, `ei`, `pi`, `gp-ts`, `s-gp-ts`, `bkb`, `bbkb`, `mini-meta`, `ada-bkb`, `ek-ucb`, `bpe` keeping data | the model includes it |
    /// | `max-variance` | its point counts as measured |
    /// | certified `s-bpe` | part of the first batch, in its design and in its certificate, if declared fixed; else nothing |
    /// | `s-bpe` by the paper, `bpe`, `gp-threds`, `rips`, `supkernelucb`, `random`, `sobol` | nothing: their rules speak of their own data only |
    ///
    /// Every recommendation that comes from a model's mean, and [`Strategy::posterior`], include it. A result whose point may have been chosen by looking at
    /// responses enters no certificate.
    ///
    /// # Errors
    /// [`Error::Outside`] for a point that is not in the domain, [`Error::NotFinite`], [`Error::Premise`] when the run has begun: the claims of a run are fixed
    /// with its first batch. Nothing is changed then.
    pub fn attach(&mut self, natural: &[f64], outcome: Outcome, collected: Collected) -> Result<()> {
        if self.ledger.batches() > 0 {
            return Err(Error::Premise {
                what: "attaching a result",
                reason: "the run has begun: attach what was measured before it first",
            });
        }
        let Proposal { candidate, point } = self.placed(natural)?;
        if !self.problem.domain().contains(natural) {
            return Err(Error::Premise { what: "attaching a result", reason: "its point violates a constraint of the domain" });
        }
        self.known = Known::default();
        self.ledger.attach(Attached { candidate, point, outcome, collected })
    }

    /// Gives kernel, norm bound, noise, ridge and prior of a run with a pilot ([`Sbpe::with_pilot`]), in a problem that is otherwise the same: as often as one likes, until
    /// the first batch after the pilot is planned. The certificate says that they were fixed on other data, from which they may well have been learnt.
    ///
    /// # Errors
    /// [`Error::Premise`] for a run without a pilot, once the batch after it is planned, or for another problem; nothing is changed then.
    pub fn fix_premises(&mut self, problem: Problem) -> Result<()> {
        let refused = |reason| Err(Error::Premise { what: "fixing the premises", reason });
        if !matches!(&self.policy, Policy::Sbpe(policy) if policy.pilot().is_some()) {
            return refused("the run has no pilot: its premises are those that it was begun with");
        }
        if self.ledger.batches() > 1 {
            return refused("the batch after the pilot is planned by those that were given: premises that change after it are none");
        }
        if self.problem.clone().without_premises() != problem.clone().without_premises() {
            return refused("kernel, norm bound, noise, ridge and prior may be given after the pilot, and nothing else may change");
        }
        problem.check_digits()?;
        self.policy.check(&problem)?;
        self.problem = problem.for_new_data();
        self.known = Known::default();
        Ok(())
    }

    /// Whether the pilot is measured and kernel, norm bound or noise are still to be given: asking fails until then.
    #[must_use]
    pub fn awaits_premises(&self) -> bool {
        let is_missing = matches!(&self.policy, Policy::Sbpe(policy) if policy.awaits_premises(&self.problem));
        is_missing && self.ledger.closed() > 0
    }

    /// Writes the result of a trial down. When it was the last one missing, the batch is closed.
    ///
    /// # Errors
    /// [`crate::Error::UnknownTrial`], [`crate::Error::NotAsked`], [`crate::Error::AlreadyTold`], [`crate::Error::NotFinite`]: nothing is changed then.
    pub fn tell(&mut self, id: u64, outcome: Outcome) -> Result<()> {
        self.ledger.tell(id, outcome)?;
        self.known = Known::default();
        if self.ledger.is_open() && !self.ledger.is_waiting() {
            self.close()?;
        }
        Ok(())
    }

    /// Moves a trial of the open batch to where it is measured in truth: settings are rounded to what can be made, or another amount was weighed than was
    /// asked for. Claims stand if the move had nothing to do with the noise, because certificates are computed from the points that were measured.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::Premise`] for a trial whose batch is closed, [`Error::Outside`]; nothing is changed then.
    pub fn relocate(&mut self, id: u64, natural: &[f64]) -> Result<()> {
        let Proposal { candidate, point } = self.placed(natural)?;
        self.known = Known::default();
        self.ledger.relocate(id, candidate, point)
    }

    /// Closes the open batch with what has arrived: the rest is missing, and a result that comes later is kept but certifies nothing.
    /// Claims stand if missing does not depend on the noise and that is declared ([`Problem::with_failures`]); else they are estimates.
    ///
    /// # Errors
    /// What evaluating the batch runs into.
    pub fn close_batch(&mut self) -> Result<()> {
        if self.ledger.is_open() { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let before = self.ledger.close();
        self.known = Known::default();
        match self.with_policy(Policy::learn) {
            Ok(finished) => {
                self.finished = finished;
                Ok(())
            }
            // A batch that could not be digested stays open, so that the next ask or close tries again instead of leaving it out.
            Err(error) => {
                self.ledger.reopen(&before);
                Err(error)
            }
        }
    }

    /// Lets the policy work. When it is interrupted it is put back as it was: a run is asked again after an interrupt as if there had been none.
    fn with_policy<T>(&mut self, work: impl FnOnce(&mut Policy, &Problem, &Ledger) -> Result<T>) -> Result<T> {
        let before = Interrupt::current().map(|_| self.policy.clone());
        caught(|| work(&mut self.policy, &self.problem, &self.ledger)).unwrap_or_else(|interrupted| {
            if let Some(before) = before {
                self.policy = before;
            }
            Err(interrupted.into())
        })
    }

    /// The best setting by what is known now, never the luckiest draw; `None` before anything was measured.
    ///
    /// # Errors
    /// What fitting the model runs into.
    pub fn recommend(&self) -> Result<Option<Recommendation>> {
        Ok(self.best()?.map(|found| Recommendation { certificate: self.with_mishaps(found.certificate), ..found }))
    }

    /// What the policy claims; where it claims nothing, the model's guess, with the reason if the data contradict the premises.
    fn best(&self) -> Result<Option<Recommendation>> {
        caught(|| {
            if let Some(claimed) = self.policy.claimed(&self.problem, &self.ledger)? {
                return Ok(Some(claimed));
            }
            let mut guess = RunPosterior::best_measured(self)?;
            if let Some(guess) = &mut guess {
                guess.certificate.contradiction = self.policy.contradiction();
            }
            Ok(guess)
        })?
    }

    /// Notes what happened to results that the run cannot see: its certificates say so from now on.
    pub fn set_mishaps(&mut self, mishaps: Mishaps) {
        self.mishaps = mishaps;
    }

    /// What happened to results that the run cannot see.
    #[must_use]
    pub fn mishaps(&self) -> &Mishaps {
        &self.mishaps
    }

    /// A certificate of what was made from this run's results that says what happened to them.
    #[must_use]
    pub fn with_mishaps(&self, certificate: Certificate) -> Certificate {
        self.mishaps.told_in(certificate, self.problem.failures())
    }

    /// The same with the range of premises within which it stands, $c_0$, $C^\dagger$ and $R^\dagger$, in its certificate (algorithm notes 13). Costs some four times
    /// what evaluating the batches did; on a box two chains and up to eighteen premises one by one.
    ///
    /// # Errors
    /// As [`Strategy::recommend`].
    pub fn recommend_with_range(&self) -> Result<Option<Recommendation>> {
        let Some(mut recommendation) = self.best()? else { return Ok(None) };
        let range = caught(|| match self.replayed() {
            Some(policy) => policy.range(&self.problem, &self.ledger),
            None => self.any_data(Some(&recommendation))?.map_or(Ok(None), |data| data.range()),
        })??;
        recommendation.certificate.range = range.or(recommendation.certificate.range);
        recommendation.certificate = self.with_mishaps(recommendation.certificate);
        Ok(Some(recommendation))
    }

    /// What took long to find out and stays true until the next batch: how many batches were analysed, and whether the range of the claim is known. None for a run that is
    /// made again as fast as it is read.
    #[must_use]
    pub fn found_out(&self) -> Option<(usize, bool)> {
        self.replayed().map(|policy| (self.ledger.closed(), policy.is_range_known()))
    }

    /// The certified run whose batches are judged again; for every other run the statements are those that hold whatever chose the points.
    fn replayed(&self) -> Option<&Sbpe> {
        if let Policy::Sbpe(policy) = &self.policy { Some(&**policy).filter(|p| p.is_replayed()) } else { None }
    }

    /// Everything measured with what is recommended; a contextual run has no one setting to recommend.
    fn any_data(&self, recommendation: Option<&Recommendation>) -> Result<Option<AnyData<'_>>> {
        // The paper's elimination has spent all of δ on a theorem of its own: the band, which would spend it again, says nothing beside it.
        let has_own_theorem = recommendation.is_some_and(|advice| advice.certificate.theorem == Theorem::PaperElimination);
        match recommendation.filter(|_| !has_own_theorem && !matches!(self.policy, Policy::EkUcb(_))) {
            Some(recommendation) => AnyData::new(&self.problem, &self.ledger, self.mishaps.doubted_before, &recommendation.point),
            None => Ok(None),
        }
    }

    /// The claim as a function of the norm bound, from the same data, and where it breaks (algorithm notes 13.1): of certified elimination, and for any other policy by the band
    /// that holds whatever chose the points (13.2). `None` without kernel, norm bound and noise, and before anything was recommended.
    ///
    /// # Errors
    /// What evaluating the batches again runs into.
    pub fn standing(&self) -> Result<Option<Standing>> {
        let standing = caught(|| match self.replayed() {
            Some(policy) => policy.standing(&self.problem, &self.ledger),
            None => self.any_data(self.recommend()?.as_ref())?.map_or(Ok(None), |data| data.standing()),
        })??;
        let standing = standing.map(|standing| Standing { certificate: self.with_mishaps(standing.certificate), ..standing });
        Ok(standing.filter(|standing| is_proved(&standing.certificate)))
    }

    /// Why there is no [`Strategy::standing`], in words.
    ///
    /// # Errors
    /// As [`Strategy::recommend`].
    pub fn why_no_standing(&self) -> Result<String> {
        if let Some(contradiction) = self.contradiction() {
            return Ok(contradiction.to_string());
        }
        let Some(advice) = self.recommend()? else { return Ok("nothing is recommended yet".to_owned()) };
        let weak = advice.certificate.weak_premises();
        Ok(if weak.is_empty() { "the claim holds under its own premises, and no theorem says more".to_owned() } else { weak.join("; ") })
    }

    /// Whether what would be judged under other premises is a theorem at all: not where results were lost or corrected that may have been chosen by their noise.
    fn is_judged(&self) -> Result<bool> {
        let certificate = match self.replayed() {
            Some(_) => self.recommend()?.map(|advice| advice.certificate),
            None => self.any_data(self.recommend()?.as_ref())?.map(|data| data.bare_certificate()),
        };
        Ok(certificate.is_some_and(|certificate| is_proved(&self.with_mishaps(certificate))))
    }

    /// The claim of [`Strategy::standing`] under one other norm bound, with noise `noise_scale` ≥ 1 times as large as it was declared. `None` where the data contradict that.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a norm bound that is not finite and positive or a scale below 1; what evaluating the batches again runs into.
    pub fn gap_under(&self, norm_bound: f64, noise_scale: f64) -> Result<Option<f64>> {
        crate::error::positive("norm bound", norm_bound)?;
        if !(noise_scale.is_finite() && noise_scale >= 1.0) {
            return Err(Error::Parameter { name: "noise scale", value: noise_scale, requirement: "finite and at least 1" });
        }
        let setting = Setting { norm_bound, scale: noise_scale };
        if !self.is_judged()? {
            return Ok(None);
        }
        caught(|| match self.replayed() {
            Some(policy) => policy.gap_under(&self.problem, &self.ledger, setting),
            None => self.any_data(self.recommend()?.as_ref())?.map_or(Ok(None), |data| data.gap_under(setting)),
        })?
    }

    /// The curve of [`Strategy::standing`] with all length-scales multiplied by each of these factors; empty where there is no curve.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a factor that is not finite and positive; what evaluating the batches again runs into.
    pub fn premise_map(&self, factors: &[f64]) -> Result<Vec<PremiseRow>> {
        if !self.is_judged()? {
            return Ok(Vec::new());
        }
        caught(|| match self.replayed() {
            Some(policy) => policy.premise_map(&self.problem, &self.ledger, factors),
            None => self.any_data(self.recommend()?.as_ref())?.map_or(Ok(Vec::new()), |data| data.premise_map(factors)),
        })?
    }

    /// What the newest batch that has any spends on replicates because the level of the noise is unknown; none before one was planned, and where the level is declared.
    #[must_use]
    pub fn repeats(&self) -> Option<Repeats> {
        if let Policy::Sbpe(policy) = &self.policy { policy.repeats(&self.problem, &self.ledger) } else { None }
    }

    /// That the data contradict the premises, if they do: nothing is claimed any more, and asking stops.
    #[must_use]
    pub fn contradiction(&self) -> Option<Contradiction> {
        self.policy.contradiction()
    }

    /// Lets the run go on although its premises are refuted: measurements then serve the model, and nothing is certified.
    pub fn go_on_despite_contradiction(&mut self) {
        self.despite_contradiction = true;
    }

    /// One report per closed batch.
    ///
    /// # Errors
    /// What fitting the model runs into.
    pub fn batches(&self) -> Result<Vec<BatchReport>> {
        let reports = caught(|| self.policy.reports(&self.problem, &self.ledger))??;
        let told = |report: BatchReport| BatchReport { certificate: report.certificate.map(|c| self.with_mishaps(c)), ..report };
        Ok(reports.into_iter().map(told).collect())
    }

    /// What is still possible, for a policy that rules settings out: numbers of a list's candidates, cells of a box, or those of the candidates that stand
    /// for the domain. `None` before the policy has anything to say.
    ///
    /// # Errors
    /// What making the candidates again, or fitting the model, runs into.
    pub fn survivors(&self) -> Result<Option<Survivors>> {
        caught(|| self.policy.survivors(&self.problem, &self.ledger))?
    }

    /// The posterior of everything measured, before the run and in it, late results left out: under the problem's kernel and ridge, or what `auto` went by after
    /// its last batch, else under what is learnt from these values. `None` where nothing was measured.
    ///
    /// # Errors
    /// What fitting the model runs into.
    pub fn posterior(&self) -> Result<Option<RunPosterior<'_>>> {
        caught(|| RunPosterior::new(self))?
    }

    /// Forgets the posterior of everything measured, which is large; what was learnt for it stays, and whoever asks next has it fitted again.
    pub fn forget_posterior(&self) {
        self.known.forget();
    }
}

/// Whether a certificate stands for a theorem, or says that the data contradict its premises: then what they exclude is still worth knowing.
fn is_proved(certificate: &Certificate) -> bool {
    certificate.label().is_certified() || certificate.contradiction.is_some()
}
