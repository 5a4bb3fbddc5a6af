//! The three words.

use super::premises::Premises;
use super::record::{Contradiction, Theorem};
use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a claim may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Label {
    /// A theorem, and every premise of it is declared by the user or guaranteed by the program.
    Certified,
    /// A theorem for exchangeable rows.
    Conformal,
    /// The model says so: no promise.
    Estimated,
}

impl Label {
    /// The one rule: a theorem whose premises are all firm and which the data do not contradict is certified, or conformal if it is one for exchangeable rows,
    /// which may be assumed since the label says so; everything else is an estimate, and so are rows so few that what they prove may be wrong with probability 1.
    pub(super) fn of(theorem: Theorem, delta: f64, premises: &Premises, contradiction: Option<&Contradiction>) -> Self {
        let hold = |weakest: Origin| contradiction.is_none() && premises.list().iter().all(|premise| premise.origin <= weakest);
        match theorem {
            Theorem::Conformal if delta < 1.0 && hold(Origin::Assumed) => Self::Conformal,
            Theorem::Conformal | Theorem::Model => Self::Estimated,
            _ if hold(Origin::LearntElsewhere) => Self::Certified,
            _ => Self::Estimated,
        }
    }

    /// Whether a theorem stands behind it.
    #[must_use]
    pub fn is_certified(self) -> bool {
        self == Self::Certified
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certified => "certified",
            Self::Conformal => "conformal",
            Self::Estimated => "estimated",
        })
    }
}
