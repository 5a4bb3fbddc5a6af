//! The results from which premises were learnt, as a study file names them.

use super::Fault;
use super::file::StudyFile;
use crate::Value;
use crate::error::SpecProblem;
use sigmabar::Points;
use sigmabar::points::Seen;

/// Digits of one fingerprint.
const DIGITS: usize = 16;
/// Results are compared in steps of this share of their standard deviation, or a little less: copies are noticed. Honest repeats are not, as long as they scatter by much more than
/// a step; whoever has a very quiet instrument declares `distinct_rows`.
const STEP: f64 = 1e-4;

/// Results that taught premises, by their settings as somebody writes them, whatever range a parameter has, and in steps. A copy that was rounded to a step is one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taught {
    step: f64,
    rows: Seen,
}

impl Taught {
    /// Of these results, so many at most.
    pub(crate) fn at_most(kept: usize, settings: &[Vec<Value>], results: &[f64]) -> crate::Result<Self> {
        let step = step(results);
        let points = Points::from_rows(&settings.iter().map(|setting| as_written(setting)).collect::<Vec<_>>())?;
        let steps: Vec<f64> = results.iter().map(|result| (result / step).round()).collect();
        Ok(Self { step, rows: Seen::at_most(kept, points.view(), &steps) })
    }

    /// Whether one of them is within this of the result. Of a result between two steps either may be the one that was written, so that half a step more or less hides nothing.
    #[must_use]
    pub fn holds(&self, setting: &[Value], result: f64, within: f64) -> bool {
        let (setting, first, last) = (as_written(setting), ((result - within) / self.step).floor(), ((result + within) / self.step).ceil());
        // A result of so few digits that all of them would be within it agrees with nothing in particular.
        let is_told = !self.is_empty() && last - first <= 1e5;
        let steps = (0..=(last - first) as u32).map(|i| first + f64::from(i));
        is_told && steps.into_iter().any(|steps| self.rows.holds(&setting, steps))
    }

    /// In which they are compared.
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.hashes().len()
    }

    /// Whether nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As a study file has them: the step, and a fingerprint of each.
    pub(crate) fn written(&self) -> String {
        let hashes: String = self.rows.hashes().iter().map(|hash| format!("{hash:0DIGITS$x}")).collect();
        format!("{:e}:{hashes}", self.step)
    }

    fn read(text: &str) -> Option<Self> {
        let (step, hashes) = text.split_once(':')?;
        let step = step.parse().ok().filter(|step: &f64| *step > 0.0 && step.is_finite())?;
        let parts = hashes.as_bytes().chunks(DIGITS).map(|part| {
            let digits = std::str::from_utf8(part).ok().filter(|part| part.len() == DIGITS);
            digits.and_then(|digits| u64::from_str_radix(digits, 16).ok())
        });
        let hashes: Option<Vec<u64>> = parts.collect();
        Some(Self { step, rows: Seen::from(hashes.filter(|hashes| !hashes.is_empty())?) })
    }
}

/// A power of ten.
fn step(results: &[f64]) -> f64 {
    let count = results.len() as f64;
    let mean = results.iter().sum::<f64>() / count;
    let spread = (results.iter().map(|result| (result - mean).powi(2)).sum::<f64>() / count).sqrt();
    // By way of the text, so that what is written is what was meant.
    let power = (STEP * spread).log10().floor();
    format!("1e{power}").parse().ok().filter(|step: &f64| *step > 0.0 && step.is_finite()).unwrap_or(1.0)
}

/// Numbers to eight digits, as those on a grid differ in the last when its range does, and words by what they say; in no order that a file could change.
fn as_written(setting: &[Value]) -> Vec<f64> {
    let rounded = |number: f64| if number.abs() < 1e-12 { 0.0 } else { format!("{number:.7e}").parse().unwrap_or(number) };
    let number = |value: &Value| match value {
        // As many bits as a number holds.
        Value::Choice(word) => (fingerprint(word) >> 11) as f64,
        number => rounded(number.as_number().unwrap_or_default()),
    };
    let mut numbers: Vec<f64> = setting.iter().map(number).collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// A setting by which it is looked up: the same in every study, whatever range a parameter has.
pub(crate) fn looked_up(setting: &[Value]) -> Vec<u64> {
    as_written(setting).iter().map(|number| number.to_bits()).collect()
}

/// Of a text, FNV-1a: the same on every machine and in every version.
pub(super) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What a study file has.
pub(super) fn rows(file: &StudyFile) -> Result<Taught, Fault> {
    let Some(text) = &file.learnt_rows else { return Ok(Taught::default()) };
    let wrong = |found: String, requirement| Fault::new(&["learnt_rows"], SpecProblem::Requirement { found, requirement });
    if file.learnt_from.is_none() {
        return Err(wrong("no learnt_from".to_owned(), "a learnt_from that says where these results are"));
    }
    let requirement = "a step, a colon and 16 hexadecimal digits for each result, as sigmabar premises --from writes them";
    Taught::read(text).ok_or_else(|| wrong(format!("{} characters", text.chars().count()), requirement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_noticed_however_it_is_rounded_and_a_repeat_is_not() {
        let setting = |i: u32| vec![Value::Float(0.1 * f64::from(i)), Value::Int(3)];
        let result = |i: u32| 50.0 + 13.0 * (1.7 * f64::from(i)).sin();
        let settings: Vec<_> = (0..40).map(setting).collect();
        let results: Vec<f64> = (0..40).map(result).collect();
        let taught = Taught::at_most(1000, &settings, &results).unwrap();
        assert_eq!(Taught::read(&taught.written()), Some(taught.clone()));
        for i in 0..40 {
            let rounded = |decimals: i32| (result(i) * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals);
            for told in [result(i), rounded(9), rounded(6), rounded(5), rounded(4), result(i).next_up(), result(i) + 4e-5, result(i) - 4e-5]
            {
                assert!(taught.holds(&setting(i), told, 0.0), "{i}: {told}");
            }
            // On another grid the same number has another last digit, and the order is the file's.
            assert!(taught.holds(&[Value::Float(3.0), Value::Float(-0.1 + 0.1 * f64::from(i + 1))], result(i), 0.0), "{i}");
            assert!(!taught.holds(&setting(i), result(i) + 3e-4, 0.0) && !taught.holds(&setting(i + 40), result(i), 0.0), "{i}");
        }
        // Another solvent is another setting, and words alone are one.
        let word = |solvent: &str| vec![Value::Choice(solvent.into()), Value::Int(3)];
        let taught = Taught::at_most(1000, &[word("dmso"), word("thf"), vec![Value::Choice("dmso".into()); 2]], &[1.0, 2.0, 3.0]).unwrap();
        assert!(taught.holds(&word("dmso"), 1.0, 0.0) && !taught.holds(&word("thf"), 1.0, 0.0) && !taught.holds(&word("dmf"), 1.0, 0.0));
        assert!(taught.holds(&vec![Value::Choice("dmso".into()); 2], 3.0, 0.0));
        assert!(!Taught::default().holds(&setting(0), 0.0, 0.0) && Taught::read("1e-5:").is_none() && Taught::read("0:00").is_none());
    }
}
