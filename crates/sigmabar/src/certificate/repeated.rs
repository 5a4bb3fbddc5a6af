//! Observations of a run that repeat a setting.

use serde::{Deserialize, Serialize};
use std::fmt;

/// So few equal repeats happen where noise has few values.
const FEWEST: usize = 3;
/// Nearly all: all but one in so many.
const NEARLY: usize = 10;

/// How many observations repeat a setting, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeated {
    /// So many stand at the setting of an earlier one.
    pub count: usize,
    /// So many equal another of their batch in every digit, at their setting or, where the digits are many, at another one: they count as one with it.
    pub equal: usize,
    /// Of these, so many equal in every digit all that was measured at their setting before their batch.
    pub handed_out: usize,
    /// Of these, so many are at a setting that was measured before their batch, with another value.
    pub anew: usize,
}

impl Repeated {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            equal: self.equal + other.equal,
            handed_out: self.handed_out + other.handed_out,
            anew: self.anew + other.anew,
        }
    }

    /// Where nearly all repeats of settings of earlier batches gave what was there before: noise does not do that, and whoever declared it is told.
    pub(crate) fn said(&self) -> Option<String> {
        let is_exact_or_kept = self.handed_out >= FEWEST && NEARLY * self.anew <= self.handed_out;
        is_exact_or_kept.then(|| {
            format!(
                "{} repeats gave in every digit what was measured there before: that they are exact, and not results of before that the objective kept, is declared with the noise \
                 (noise = 0 declares that nothing differs)",
                self.handed_out
            )
        })
    }
}

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observations repeat a setting, each measured anew with noise of its own", self.count)?;
        if self.equal > 0 {
            write!(f, "; {} equal another of their batch in every digit, and count as one with it", self.equal)?;
        }
        self.said().map_or(Ok(()), |said| write!(f, "; {said}"))
    }
}
