//! What an option takes.

use super::spec::OptionValue;
use std::fmt;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// A whole number, at least 1.
    Count,
    /// A number in a range.
    Number(Range),
    /// True or false.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number in a range, or one of these words.
    NumberOrWord(Range, &'static [&'static str]),
    /// How many batches, or the length of each.
    Batches,
    /// Two finite numbers, the first less than the second.
    Interval,
    /// Two numbers of a range.
    Pair(Range),
    /// Rows of numbers.
    Rows,
}

/// Which numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Range {
    /// Finite and above 0.
    Positive,
    /// Finite and at least 0.
    NotNegative,
    /// Finite and at least 1.
    AtLeastOne,
    /// Strictly between 0 and 1.
    Fraction,
}

impl Range {
    /// Whether a number is in it.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Self::Positive => value > 0.0,
                Self::NotNegative => value >= 0.0,
                Self::AtLeastOne => value >= 1.0,
                Self::Fraction => value > 0.0 && value < 1.0,
            }
    }
}

impl OptionKind {
    /// The words that may be written.
    #[must_use]
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Word(words) | Self::NumberOrWord(_, words) => words,
            _ => &[],
        }
    }

    /// Whether a value is one that the option takes.
    #[must_use]
    pub fn accepts(self, value: &OptionValue) -> bool {
        let is_count = |number: f64| number >= 1.0 && number.fract() == 0.0 && number < usize::MAX as f64;
        match (self, value) {
            (Self::Flag, OptionValue::Flag(_)) => true,
            (Self::Count | Self::Batches, OptionValue::Integer(_) | OptionValue::Number(_)) => value.number().is_some_and(is_count),
            (Self::Number(range) | Self::NumberOrWord(range, _), OptionValue::Integer(_) | OptionValue::Number(_)) => {
                value.number().is_some_and(|number| range.contains(number))
            }
            (Self::Word(words) | Self::NumberOrWord(_, words), OptionValue::Word(word)) => words.contains(&word.as_str()),
            (Self::Batches, OptionValue::List(lengths)) => !lengths.is_empty() && lengths.iter().all(|&length| is_count(length)),
            (Self::Interval, OptionValue::List(ends)) => {
                matches!(ends[..], [low, high] if low.is_finite() && high.is_finite() && low < high)
            }
            (Self::Pair(range), OptionValue::List(two)) => two.len() == 2 && two.iter().all(|&number| range.contains(number)),
            (Self::Rows, OptionValue::Rows(rows)) => !rows.is_empty(),
            _ => false,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Positive => "above 0",
            Self::NotNegative => "of at least 0",
            Self::AtLeastOne => "of at least 1",
            Self::Fraction => "strictly between 0 and 1",
        })
    }
}

impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        match self {
            Self::Count => f.write_str("a whole number of at least 1"),
            Self::Number(range) => write!(f, "a number {range}"),
            Self::Flag => f.write_str("true or false"),
            Self::Word(words) => write!(f, "one of {}", quoted(words)),
            Self::NumberOrWord(range, words) => write!(f, "a number {range}, or one of {}", quoted(words)),
            Self::Batches => f.write_str("how many batches, or a list with the length of each"),
            Self::Interval => f.write_str("two numbers, the first less than the second"),
            Self::Pair(range) => write!(f, "two numbers {range}"),
            Self::Rows => f.write_str("rows of numbers"),
        }
    }
}
