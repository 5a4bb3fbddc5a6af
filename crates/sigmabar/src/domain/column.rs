//! One column of a product space: what values it takes, and how the kernel sees them.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The largest absolute value of an integer column: every rank and every quotient of ranks survives the way through [0, 1].
const LARGEST_INTEGER: i64 = 1 << 50;

/// One column of a product space.
///
/// The user's values are *natural*; the kernel sees *encoded* ones: numeric columns spread from 0 to 1 (a logarithmic one by its logarithm,
/// an integer one by its value, an ordinal one by its rank), a categorical one as the index of its choice, for the Hamming kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Column {
    /// Every number from `low` to `high`.
    Float {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
        /// Whether equal ratios, not equal differences, are equally far apart. Needs `low` > 0.
        log: bool,
    },
    /// The integers `low`, `low + step`, … up to `high`.
    Integer {
        /// The smallest value.
        low: i64,
        /// No value is larger.
        high: i64,
        /// The distance between neighbours; 1 unless said otherwise.
        step: Option<u64>,
    },
    /// Numbers in increasing order, neighbours equally far apart.
    Ordinal {
        /// The values, strictly increasing.
        levels: Vec<f64>,
    },
    /// One of `choices` things without order, as 0, 1, …
    Categorical {
        /// How many choices there are.
        choices: usize,
    },
}

impl Column {
    /// Numbers from `low` to `high`.
    #[must_use]
    pub fn float(low: f64, high: f64) -> Self {
        Self::Float { low, high, log: false }
    }

    /// Numbers from `low` > 0 to `high`, on a logarithmic scale.
    #[must_use]
    pub fn log_float(low: f64, high: f64) -> Self {
        Self::Float { low, high, log: true }
    }

    /// All integers from `low` to `high`.
    #[must_use]
    pub fn integer(low: i64, high: i64) -> Self {
        Self::Integer { low, high, step: None }
    }

    /// These levels, in increasing order.
    #[must_use]
    pub fn ordinal(levels: impl Into<Vec<f64>>) -> Self {
        Self::Ordinal { levels: levels.into() }
    }

    /// One of this many choices.
    #[must_use]
    pub fn categorical(choices: usize) -> Self {
        Self::Categorical { choices }
    }

    /// Number of values, `None` where there are infinitely many. Cost O(1).
    #[must_use]
    pub fn levels(&self) -> Option<u64> {
        match self {
            Self::Float { .. } => None,
            Self::Integer { low, high, step } => Some(high.abs_diff(*low) / step.unwrap_or(1) + 1),
            Self::Ordinal { levels } => Some(levels.len() as u64),
            Self::Categorical { choices } => Some(*choices as u64),
        }
    }

    /// Whether the column is categorical: without order, and seen by the Hamming kernel.
    #[must_use]
    pub fn is_categorical(&self) -> bool {
        matches!(self, Self::Categorical { .. })
    }

    pub(super) fn is_float(&self) -> bool {
        matches!(self, Self::Float { .. })
    }

    /// The smallest and the largest natural value.
    pub(super) fn range(&self) -> (f64, f64) {
        match self {
            Self::Float { low, high, .. } => (*low, *high),
            Self::Integer { low, step, .. } => {
                let ranks = self.levels().map_or(0, |levels| levels - 1);
                (*low as f64, *low as f64 + (ranks * step.unwrap_or(1)) as f64)
            }
            Self::Ordinal { levels } => (levels[0], levels[levels.len() - 1]),
            Self::Categorical { choices } => (0.0, (choices - 1) as f64),
        }
    }

    pub(super) fn validate(&self, column: usize) -> Result<()> {
        let refused = |value, requirement| Err(Error::Column { column, value, requirement });
        match self {
            Self::Float { low, high, log } => {
                check_interval(column, *low, *high)?;
                if *log && *low <= 0.0 { refused(*low, "above 0 where the scale is logarithmic") } else { Ok(()) }
            }
            Self::Integer { low, high, .. } if low > high => Err(Error::Interval { column, low: *low as f64, high: *high as f64 }),
            Self::Integer { low, high, step } => {
                if let Some(large) = [low, high].into_iter().find(|value| value.unsigned_abs() > LARGEST_INTEGER as u64) {
                    return refused(*large as f64, "at most 2^50 in absolute value");
                }
                if *step == Some(0) { refused(0.0, "a step of at least 1") } else { Ok(()) }
            }
            Self::Ordinal { levels } if levels.is_empty() => refused(0.0, "at least one level"),
            Self::Ordinal { levels } => {
                if let Some(&level) = levels.iter().find(|level| !level.is_finite()) {
                    return refused(level, "finite in every level");
                }
                match levels.windows(2).find(|pair| pair[0] >= pair[1]) {
                    Some(pair) => refused(pair[1], "strictly increasing from level to level"),
                    None => Ok(()),
                }
            }
            Self::Categorical { choices: 0 } => refused(0.0, "at least one choice"),
            Self::Categorical { choices } if *choices as u64 > LARGEST_INTEGER as u64 => refused(*choices as f64, "at most 2^50 choices"),
            Self::Categorical { .. } => Ok(()),
        }
    }

    /// The encoded value of a natural one; `None` where the column does not take it.
    pub(super) fn encode(&self, value: f64) -> Option<f64> {
        match self {
            Self::Float { low, high, .. } if !(*low..=*high).contains(&value) => None,
            Self::Float { high, .. } if value == *high => Some(1.0),
            Self::Float { low, high, log: false } => Some((value - low) / (high - low)),
            Self::Float { low, high, log: true } => Some(((value.ln() - low.ln()) / (high.ln() - low.ln())).clamp(0.0, 1.0)),
            _ => self.rank_of(value).map(|rank| self.encoded_rank(rank)),
        }
    }

    /// The natural value of an encoded one: the nearest the column takes.
    pub(super) fn decode(&self, encoded: f64) -> f64 {
        match self {
            Self::Float { low, .. } if encoded <= 0.0 => *low,
            Self::Float { high, .. } if encoded >= 1.0 => *high,
            Self::Float { low, high, log: false } => (low + encoded * (high - low)).clamp(*low, *high),
            Self::Float { low, high, log: true } => (low.ln() + encoded * (high.ln() - low.ln())).exp().clamp(*low, *high),
            _ => self.value_of(self.nearest_rank(encoded)),
        }
    }

    /// Where a number of (0, 1) falls, encoded: equal shares for every level.
    pub(super) fn spread(&self, unit: f64) -> f64 {
        match self.levels() {
            None => unit,
            Some(levels) => self.encoded_rank(((unit * levels as f64) as u64).min(levels - 1)),
        }
    }

    /// The encoded value of level `rank` of a discrete column.
    pub(super) fn encoded_rank(&self, rank: u64) -> f64 {
        match self.levels() {
            _ if self.is_categorical() => rank as f64,
            Some(levels) if levels > 1 => rank as f64 / (levels - 1) as f64,
            _ => 0.0,
        }
    }

    /// The smallest and the largest encoded value that the column takes from `low` to `high`; `None` if there is none.
    pub(super) fn levels_within(&self, low: f64, high: f64) -> Option<(f64, f64)> {
        let Some(levels) = self.levels() else { return Some((low, high)) };
        let scale = if self.is_categorical() { 1.0 } else { (levels - 1) as f64 };
        // One rank more on either side than the quotient says, so that its rounding loses none.
        let around = |value: f64| ((value * scale) as u64).saturating_sub(1)..=((value * scale) as u64 + 2).min(levels - 1);
        let first = around(low).map(|rank| self.encoded_rank(rank)).find(|&value| value >= low)?;
        let last = around(high).rev().map(|rank| self.encoded_rank(rank)).find(|&value| value <= high)?;
        (first <= last).then_some((first, last))
    }

    fn nearest_rank(&self, encoded: f64) -> u64 {
        let last = self.levels().map_or(0, |levels| levels - 1);
        let rank = if self.is_categorical() { encoded } else { encoded * last as f64 };
        // The cast takes what is below 0, and a NaN, to 0.
        (rank.round() as u64).min(last)
    }

    fn value_of(&self, rank: u64) -> f64 {
        match self {
            Self::Integer { low, step, .. } => *low as f64 + (rank * step.unwrap_or(1)) as f64,
            Self::Ordinal { levels } => levels[rank as usize],
            _ => rank as f64,
        }
    }

    fn rank_of(&self, value: f64) -> Option<u64> {
        let rank = match self {
            Self::Integer { low, step, .. } => ((value - *low as f64) / step.unwrap_or(1) as f64).round() as u64,
            Self::Ordinal { levels } => levels.partition_point(|&level| level < value) as u64,
            _ => value as u64,
        };
        let known = self.levels().is_some_and(|levels| rank < levels);
        (known && self.value_of(rank) == value).then_some(rank)
    }
}

/// Checks `low < high`, both finite, with a finite difference.
pub(super) fn check_interval(column: usize, low: f64, high: f64) -> Result<()> {
    if low < high && (high - low).is_finite() { Ok(()) } else { Err(Error::Interval { column, low, high }) }
}
