//! Numbers in messages.

use std::fmt;

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
