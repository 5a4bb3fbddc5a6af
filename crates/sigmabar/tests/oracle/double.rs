//! Double-double arithmetic: a number is an unevaluated sum of two f64, about 32 decimal digits.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `high + low` with `|low| ≤ ulp(high)/2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Double {
    high: f64,
    low: f64,
}

/// A dense matrix, row by row.
pub type Table = Vec<Vec<Double>>;

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

fn quick_two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    (s, b - (s - a))
}

impl Double {
    pub const ZERO: Self = Self { high: 0.0, low: 0.0 };

    pub fn value(self) -> f64 {
        self.high + self.low
    }

    pub fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::ZERO;
        }
        let guess = Self::from(self.high.sqrt());
        // One Newton step doubles the digits.
        (guess + self / guess) * Self::from(0.5)
    }
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (s, e) = two_sum(self.high, other.high);
        let (t, f) = two_sum(self.low, other.low);
        let (s, e) = quick_two_sum(s, e + t);
        let (high, low) = quick_two_sum(s, e + f);
        Self { high, low }
    }
}

impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let p = self.high * other.high;
        let e = self.high.mul_add(other.high, -p);
        let (high, low) = quick_two_sum(p, e + (self.high * other.low + self.low * other.high));
        Self { high, low }
    }
}

impl Div for Double {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let q1 = self.high / other.high;
        let r = self - other * Self::from(q1);
        let q2 = r.high / other.high;
        let r = r - other * Self::from(q2);
        let (high, low) = quick_two_sum(q1, q2);
        Self { high, low } + Self::from(r.high / other.high)
    }
}

pub fn dot(a: &[Double], b: &[Double]) -> Double {
    a.iter().zip(b).fold(Double::ZERO, |s, (&x, &y)| s + x * y)
}

/// Gaussian elimination with partial pivoting.
pub fn solve(a: &Table, b: &[Double]) -> Vec<Double> {
    let n = b.len();
    let (mut a, mut x) = (a.clone(), b.to_vec());
    for i in 0..n {
        let p = (i..n).max_by(|&r, &s| a[r][i].high.abs().total_cmp(&a[s][i].high.abs())).unwrap();
        a.swap(i, p);
        x.swap(i, p);
        for r in i + 1..n {
            let factor = a[r][i] / a[i][i];
            for c in i..n {
                let term = factor * a[i][c];
                a[r][c] = a[r][c] - term;
            }
            let term = factor * x[i];
            x[r] = x[r] - term;
        }
    }
    for i in (0..n).rev() {
        for c in i + 1..n {
            let term = a[i][c] * x[c];
            x[i] = x[i] - term;
        }
        x[i] = x[i] / a[i][i];
    }
    x
}

/// The pivots of elimination without pivoting of a positive definite matrix: their product is the determinant.
pub fn pivots(a: &Table) -> Vec<Double> {
    let n = a.len();
    let mut a = a.clone();
    for i in 0..n {
        for r in i + 1..n {
            let factor = a[r][i] / a[i][i];
            for c in i..n {
                let term = factor * a[i][c];
                a[r][c] = a[r][c] - term;
            }
        }
    }
    (0..n).map(|i| a[i][i]).collect()
}
