//! How the budget of a run is cut into batches.

use crate::error::{Error, Result, at_least_one};
use crate::theory::{batch_lengths, batch_lengths_for, even_batch_lengths};
use serde::{Deserialize, Serialize};

/// The lengths of the batches (algorithm notes 5.2). They are fixed before the first measurement, because their number enters every claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Schedule {
    /// $N_i = \lceil\sqrt{N\,N_{i-1}}\rceil$, the last one cut: the paper's.
    #[default]
    Recursion,
    /// As [`Schedule::Recursion`], the cut batch joined to the one before it: a batch that was cut wastes a share of $\delta$ and of the budget. A smaller
    /// certified gap at the end, and some more regret on the way (algorithm notes 14.5).
    BestCertificate,
    /// This many batches of growing length.
    Growing(usize),
    /// This many batches of equal length.
    Even(usize),
    /// These lengths, which sum to the budget.
    Lengths(Vec<usize>),
}

impl Schedule {
    /// The batch lengths for a budget. Cost O(B).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a budget of 0 or below the number of batches, and for lengths that are 0 or do not sum to the budget.
    pub fn lengths(&self, budget: usize) -> Result<Vec<usize>> {
        match self {
            Self::Recursion => batch_lengths(budget),
            Self::BestCertificate => {
                let mut lengths = batch_lengths(budget)?;
                if let [.., before, last] = lengths[..]
                    && (last as f64) < (budget as f64 * before as f64).sqrt()
                {
                    lengths.truncate(lengths.len() - 2);
                    lengths.push(before + last);
                }
                Ok(lengths)
            }
            Self::Growing(batches) => batch_lengths_for(budget, *batches, 0.0),
            Self::Even(batches) => even_batch_lengths(budget, *batches),
            Self::Lengths(lengths) => {
                lengths.iter().try_for_each(|&length| at_least_one("batch length", length).map(drop))?;
                let total: usize = lengths.iter().sum();
                if total != budget {
                    return Err(Error::Parameter {
                        name: "sum of the batch lengths",
                        value: total as f64,
                        requirement: "equal to the budget",
                    });
                }
                Ok(lengths.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_certificate_joins_a_cut_batch_to_the_one_before() {
        let lengths = |budget: usize| Schedule::BestCertificate.lengths(budget).expect("valid");
        assert_eq!(lengths(1000), [32, 179, 789]);
        assert_eq!(lengths(100), [10, 32, 58]);
        assert_eq!(lengths(1), [1]);
        assert!((1..500).all(|budget| lengths(budget).iter().sum::<usize>() == budget));
    }
}
