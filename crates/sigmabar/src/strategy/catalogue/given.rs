//! The options of a strategy, read after their kinds were checked.

use super::problem::{PolicyProblem, Wrong};
use super::spec::{OptionValue, PolicySpec};
use crate::error::Error;
use crate::points::Points;
use crate::strategy::baselines::{BpeSchedule, Sequential};
use crate::strategy::sbpe::Schedule;

/// What was given; every value is of its option's kind.
pub(super) struct Given<'a> {
    pub spec: &'a PolicySpec,
    pub budget: usize,
}

/// What was said about batches.
enum Batches {
    Count(usize),
    Lengths(Vec<usize>),
}

impl Given<'_> {
    pub fn number(&self, option: &str) -> Option<f64> {
        self.spec.get(option).and_then(OptionValue::number)
    }

    pub fn count(&self, option: &str) -> Option<usize> {
        self.number(option).map(|number| number as usize)
    }

    pub fn flag(&self, option: &str) -> bool {
        self.spec.get(option) == Some(&OptionValue::Flag(true))
    }

    pub fn word(&self, option: &str) -> Option<&str> {
        match self.spec.get(option) {
            Some(OptionValue::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub fn pair(&self, option: &str) -> Option<(f64, f64)> {
        match self.spec.get(option) {
            Some(OptionValue::List(two)) => Some((two[0], two[1])),
            _ => None,
        }
    }

    pub fn points(&self, option: &str) -> Result<Option<Points>, Error> {
        match self.spec.get(option) {
            Some(OptionValue::Rows(rows)) => Points::from_rows(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).map(Some),
            _ => Ok(None),
        }
    }

    /// The rule of this name, a constant factor, or the first rule unless said otherwise.
    pub fn width<T: Copy>(&self, rules: &[(&str, T)], constant: impl Fn(f64) -> T) -> T {
        match (self.number("width"), self.word("width")) {
            (Some(factor), _) => constant(factor),
            (None, word) => rules.iter().find(|(known, _)| Some(*known) == word).map_or(rules[0].1, |(_, rule)| *rule),
        }
    }

    /// Those that look at every value before the next choice unless told to plan several at a time.
    pub fn sequential(&self) -> Result<Sequential, Wrong> {
        let mut how = Sequential::default();
        let from_batches = self.equal_batches()?.map(|batches| self.budget.div_ceil(batches));
        if let Some(length) = self.count("batch_len").or(from_batches) {
            how = how.with_batch_len(length);
        }
        Ok(self.count("candidates").map_or(how, |count| how.with_box_candidates(count)))
    }

    fn batches(&self) -> Option<Batches> {
        match self.spec.get("batches") {
            Some(OptionValue::List(lengths)) => Some(Batches::Lengths(lengths.iter().map(|&length| length as usize).collect())),
            Some(_) => self.count("batches").map(Batches::Count),
            None => None,
        }
    }

    /// The number of batches, for strategies whose batches are of one length.
    pub fn equal_batches(&self) -> Result<Option<usize>, Wrong> {
        match self.batches() {
            None => Ok(None),
            Some(Batches::Count(count)) => Ok(Some(count)),
            Some(Batches::Lengths(lengths)) => {
                let longest = lengths.iter().copied().max().unwrap_or(0);
                if lengths.iter().any(|length| length.abs_diff(longest) > 1) {
                    let remedy = "its batches are of one length: give their number (s-bpe takes any lengths)";
                    return Err(Wrong::at("batches", PolicyProblem::Conflict { other: "different lengths", remedy }));
                }
                let total: usize = lengths.iter().fold(0, |sum, length| sum.saturating_add(*length));
                if total != self.budget {
                    let error =
                        Error::Parameter { name: "sum of the batch lengths", value: total as f64, requirement: "equal to the budget" };
                    return Err(Wrong::at("batches", PolicyProblem::Core(error)));
                }
                Ok(Some(lengths.len()))
            }
        }
    }

    pub fn schedule(&self) -> Result<Schedule, Wrong> {
        Ok(match (self.batches(), self.word("schedule")) {
            (Some(Batches::Lengths(lengths)), None) => Schedule::Lengths(lengths),
            (Some(Batches::Count(count)), None | Some("growing")) => Schedule::Growing(count),
            (Some(Batches::Count(count)), Some("even")) => Schedule::Even(count),
            (None, None | Some("recursion")) => Schedule::Recursion,
            (None, Some("best-certificate")) => Schedule::BestCertificate,
            (batches, _) => return Err(schedule_conflict(batches.is_some())),
        })
    }

    pub fn bpe_schedule(&self) -> Result<BpeSchedule, Wrong> {
        let lengths_given = matches!(self.batches(), Some(Batches::Lengths(_)));
        Ok(match (self.equal_batches()?, self.word("schedule")) {
            (Some(count), Some("even")) => BpeSchedule::Even(count),
            (Some(count), None) if lengths_given => BpeSchedule::Even(count),
            (Some(count), None | Some("growing")) if !lengths_given => BpeSchedule::Growing(count),
            (None, None | Some("recursion")) => BpeSchedule::Recursion,
            (batches, _) => return Err(schedule_conflict(batches.is_some())),
        })
    }
}

fn schedule_conflict(has_batches: bool) -> Wrong {
    let remedy = if has_batches {
        "\"recursion\" and \"best-certificate\" find the number of batches themselves, and given lengths need no schedule"
    } else {
        "say how many: batches = 5"
    };
    Wrong::at("schedule", PolicyProblem::Conflict { other: "batches", remedy })
}
