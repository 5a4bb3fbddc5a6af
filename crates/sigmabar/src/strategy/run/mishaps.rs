//! What happened to results outside a run's own sight.

use super::problem::Failures;
use crate::certificate::{Amended, Certificate, Theorem};
use crate::origin::{Origin, Sourced};
use serde::{Deserialize, Serialize};

/// What whoever keeps the results knows about them and the run cannot see: every certificate of the run says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mishaps {
    /// Results that were corrected after their batch was analysed.
    pub corrected: usize,
    /// Results that were corrected before.
    pub corrected_in_time: usize,
    /// Results that may not be the first attempt's: it failed, its worker was lost with what it had measured, or the setting was handed out again.
    pub measured_again: usize,
    /// Settings that a person was shown again: that nothing measured of them was left out is that person's word.
    pub shown_again: usize,
    /// Measurements that are missing from the means of replicates: a reader that gives up at high values chooses like one that loses whole settings.
    pub lost_replicates: usize,
    /// Results of replicated settings that were told as a bare number: that it is the mean of all that was planned is somebody's word.
    pub bare_means: usize,
    /// Results from before the run that were corrected or measured again where they come from. Nobody declares such settings fixed: only claims that rest on everything there is
    /// rest on them.
    pub doubted_before: usize,
    /// Settings that were used otherwise than planned, and entered as they were used.
    pub used_otherwise: usize,
    /// That what evaluates settings was exchanged after results were told, if it was.
    pub objective: Option<Amended>,
    /// Results that equal one from which premises were learnt, in setting and every digit.
    pub taught: usize,
    /// Whether premises were learnt from results that nobody names: one of these that is told again would not be noticed.
    pub unnamed: bool,
    /// Whether somebody declares that results equal to these are measurements of their own, and that none of them is here.
    pub distinct_rows: bool,
}

impl Mishaps {
    /// Measurements that were planned and are in no result, or not as they first were.
    pub(crate) fn lost(&self) -> usize {
        self.measured_again + self.lost_replicates
    }

    /// A certificate that says so. Correcting a result, or losing it and measuring again, may be as good as choosing it. Before anything was made of a result, whoever
    /// corrects it declares with that why; later only who has declared that lost results have nothing to do with the noise has vouched for it.
    ///
    /// Whoever exchanges the program that measures goes on with the results of the one before: with that they declare that both measure the same function.
    pub(crate) fn told_in(&self, mut certificate: Certificate, failures: Failures) -> Certificate {
        let declared = |count: usize| (count > 0).then(|| Sourced::new(count, Origin::Declared));
        let premises = &mut certificate.premises;
        premises.corrections = Sourced::new(self.corrected, failures.origin(self.corrected));
        premises.corrected_in_time = declared(self.corrected_in_time);
        premises.used_otherwise = declared(self.used_otherwise);
        premises.objective = self.objective.clone().map(|amended| Sourced::new(amended, Origin::Declared));
        premises.losses.value += self.lost();
        let word = if self.shown_again + self.bare_means > 0 { Origin::Declared } else { Origin::Guaranteed };
        premises.losses.origin = premises.losses.origin.max(failures.origin(self.lost())).max(word);
        *premises = premises.clone().with_taught(self.taught, self.unnamed, self.distinct_rows);
        let taught = premises.taught.map_or(Origin::Guaranteed, |taught| taught.origin);
        let is_vouched = premises.corrections.origin.max(premises.losses.origin).max(taught).is_firm();
        // Beside an estimate the range stands by itself: nothing else says that it does not.
        let stands = if certificate.theorem == Theorem::Model { is_vouched } else { certificate.label().is_certified() };
        certificate.range = certificate.range.filter(|_| stands);
        certificate
    }
}
