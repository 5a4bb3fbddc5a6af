//! Numbers as they are written, and how often they agree by chance.

use std::fmt;

/// Digits of a number in all of which two measurements hardly ever agree.
pub const MANY_DIGITS: usize = 6;
/// So many digits has what is no short decimal, and denominators of fractions up to this are known.
const ENDLESS: usize = 14;
const DENOMINATORS: u32 = 24;
/// In fewer honest runs than this short numbers agree so often by chance that they count as copies.
const CHANCE: f64 = 1e-3;
/// Noise may be so many times smaller than it was said to be, and honest repeats agree more often by as much.
const QUIETER: f64 = 2.0;

/// How many digits a number has, and what the last of them counts. A fraction such as a mean of three readings has those of its numerator.
#[must_use]
pub fn last_digit(value: f64) -> (usize, f64) {
    let (digits, last) = as_written(value);
    if digits < ENDLESS {
        return (digits, last);
    }
    let numerator = |denominator: f64| {
        let power = (value * denominator).abs().log10().floor() as i32 + 2 - MANY_DIGITS as i32;
        let whole = value * denominator / 10_f64.powi(power);
        ((whole - whole.round()).abs() < 1e-7)
            .then(|| as_written(whole.round()))
            .map(|(few, last)| (few, last * 10_f64.powi(power) / denominator))
    };
    (2..=DENOMINATORS).map(f64::from).find_map(numerator).unwrap_or((digits, last))
}

fn as_written(value: f64) -> (usize, f64) {
    let text = format!("{value:e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let count = digits.chars().filter(char::is_ascii_digit).count();
    let power = power.parse::<i32>().unwrap_or_default() + 1 - i32::try_from(count).unwrap_or_default();
    (count, 10_f64.powi(power))
}

/// A bound on how often two measurements with noise of this level agree to a step: two normal draws do with probability $h/(2\sqrt\pi\,\sigma)$ at most.
#[must_use]
pub fn chance_to_agree(step: f64, level: f64) -> f64 {
    QUIETER * step / (2.0 * std::f64::consts::PI.sqrt() * level)
}

/// How many measurements agree with another, and how many would by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreements {
    compared: usize,
    agreeing: usize,
    expected: f64,
}

impl Agreements {
    /// Takes one measurement in that agrees by chance with at most this probability; where that is large it says nothing.
    pub fn look(&mut self, chance: f64, agrees: bool) {
        if chance < 0.5 {
            self.compared += 1;
            self.agreeing += usize::from(agrees);
            self.expected += chance;
        }
    }

    /// How many are copies: all that agree, or none, by Hoeffding's bound $e^{-n\,\mathrm{KL}(k/n\Vert p)}$ on how often so many of them agree by chance.
    #[must_use]
    pub fn copies(&self) -> usize {
        let compared = self.compared as f64;
        let (share, chance) = (self.agreeing as f64 / compared, self.expected / compared);
        let term = |a: f64, b: f64| if a > 0.0 { a * (a / b).ln() } else { 0.0 };
        let is_copied = share > chance && compared * (term(share, chance) + term(1.0 - share, 1.0 - chance)) > -CHANCE.ln();
        if is_copied { self.agreeing } else { 0 }
    }
}

/// A number with all its digits, and with an exponent where it is far from 1: nobody counts three hundred zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = self;
        let is_far = value.is_finite() && *value != 0.0 && !(1e-7..1e16).contains(&value.abs());
        if is_far { fmt::LowerExp::fmt(value, f) } else { fmt::Display::fmt(value, f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_has_the_digits_of_its_numerator() {
        for (value, digits, last) in [(53.25, 4, 0.01), (-1200.0, 2, 100.0), (0.1, 1, 0.1), (0.123_456_7, 7, 1e-7)] {
            assert_eq!(last_digit(value).0, digits, "{value}");
            assert!((last_digit(value).1 / last - 1.0).abs() < 1e-9, "{value}");
        }
        for (numerator, denominator) in [(1.0, 3.0), (2.0, 3.0), (-5.0, 24.0), (361.5, 9.0), (17.0, 7.0), (1e-3, 11.0)] {
            let (digits, last) = last_digit(numerator / denominator);
            assert!(digits < MANY_DIGITS && last <= 1.0, "{numerator}/{denominator}: {digits}, {last}");
        }
        let many = (1..2000_u32).filter(|&i| last_digit((0.7 * f64::from(i)).sin()).0 >= MANY_DIGITS).count();
        assert_eq!(many, 1999);
    }
}
