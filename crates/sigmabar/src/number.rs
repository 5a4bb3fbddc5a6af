//! Numbers as they are written.

use std::fmt;

/// Digits of a number in all of which two measurements hardly ever agree.
pub const MANY_DIGITS: usize = 6;

/// How many digits a number has, and what the last of them counts.
#[must_use]
pub fn last_digit(value: f64) -> (usize, f64) {
    let text = format!("{value:e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let count = digits.chars().filter(char::is_ascii_digit).count();
    let power = power.parse::<i32>().unwrap_or_default() + 1 - i32::try_from(count).unwrap_or_default();
    (count, 10_f64.powi(power))
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
