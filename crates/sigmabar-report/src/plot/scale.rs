//! From numbers to places on an axis, with ticks a person would choose.

/// An axis as numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Equal steps.
    Linear {
        /// The number at the beginning.
        low: f64,
        /// The number at the end.
        high: f64,
    },
    /// Equal ratios; both ends are positive.
    Log {
        /// The number at the beginning.
        low: f64,
        /// The number at the end.
        high: f64,
    },
    /// Named places at 0, 1, 2, …
    Names(Vec<String>),
}

/// A mark of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its number.
    pub value: f64,
    /// What is written there.
    pub label: String,
}

impl Scale {
    /// Equal steps from a bit below the smallest finite value to a bit above the largest; 0 to 1 for none.
    #[must_use]
    pub fn covering(values: impl IntoIterator<Item = f64>) -> Self {
        match range(values.into_iter().filter(|v| v.is_finite())) {
            None => Self::Linear { low: 0.0, high: 1.0 },
            Some((low, high)) => {
                let pad = if high > low { 0.04 * (high - low) } else { 0.5 * low.abs().max(1.0) };
                Self::Linear { low: low - pad, high: high + pad }
            }
        }
    }

    /// As [`Scale::covering`], beginning at 0 exactly: for bars and counts.
    #[must_use]
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let (_, high) = range(values.into_iter().filter(|v| v.is_finite()).chain([0.0])).unwrap_or((0.0, 1.0));
        Self::Linear { low: 0.0, high: if high > 0.0 { 1.06 * high } else { 1.0 } }
    }

    /// Equal ratios around the positive finite values; 0.1 to 10 for none.
    #[must_use]
    pub fn log_covering(values: impl IntoIterator<Item = f64>) -> Self {
        match range(values.into_iter().filter(|v| v.is_finite() && *v > 0.0)) {
            None => Self::Log { low: 0.1, high: 10.0 },
            Some((low, high)) => {
                let pad = if high > low { (high / low).powf(0.05) } else { 2.0 };
                Self::Log { low: low / pad, high: high * pad }
            }
        }
    }

    /// Where a number is: 0 at the beginning, 1 at the end, `None` where it has no place.
    #[must_use]
    pub fn share(&self, value: f64) -> Option<f64> {
        let share = match self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } => (value / low).ln() / (high / low).ln(),
            Self::Names(names) => (value + 0.5) / names.len().max(1) as f64,
        };
        share.is_finite().then_some(share)
    }

    /// Whether a number lies between the ends.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.share(value).is_some_and(|share| (-1e-9..=1.0 + 1e-9).contains(&share))
    }

    /// At most about `at_most` ticks between the ends.
    #[must_use]
    pub fn ticks(&self, at_most: usize) -> Vec<Tick> {
        match self {
            Self::Linear { low, high } => linear_ticks(*low, *high, at_most.max(2)),
            Self::Log { low, high } => log_ticks(*low, *high, at_most.max(2)),
            Self::Names(names) => {
                let every = names.len().div_ceil(at_most.max(1)).max(1);
                let named = names.iter().enumerate().step_by(every);
                named.map(|(i, name)| Tick { value: i as f64, label: name.clone() }).collect()
            }
        }
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| Some(range.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
}

fn linear_ticks(low: f64, high: f64, at_most: usize) -> Vec<Tick> {
    let rough = (high - low) / at_most as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough * (1.0 - 1e-9)).unwrap_or(10.0 * power);
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    if !(step.is_finite() && step > 0.0 && last - first < 100.0) {
        return Vec::new();
    }
    let count = (last - first) as usize;
    // Multiples of the step, not sums: 0.1 + 0.2 would show.
    (0..=count).map(|i| (first + i as f64) * step).map(|value| Tick { value, label: tick_label(value, step) }).collect()
}

fn tick_label(value: f64, step: f64) -> String {
    let largest = value.abs().max(step);
    // Numbers near 1 that differ in the seventh digit are written out: their power of ten says nothing.
    if largest >= 1e6 || (step < 1e-5 && !(0.1..1e3).contains(&largest)) || step < 1e-9 {
        // As many digits as neighbours need to be told apart.
        let digits = (largest / step).log10().ceil().clamp(1.0, 12.0) as usize;
        return if value == 0.0 { "0".to_owned() } else { minus(format!("{value:.digits$e}").replace(".0e", "e")) };
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    minus(if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text.to_owned() })
}

fn log_ticks(low: f64, high: f64, at_most: usize) -> Vec<Tick> {
    let decades = (high / low).log10();
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let factors: &[f64] = if decades < 1.2 {
        &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
    } else if decades < 3.0 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let inside = |v: &f64| *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9);
    let all: Vec<f64> = (first..=last).flat_map(|p| factors.iter().map(move |f| f * 10f64.powi(p))).filter(inside).collect();
    if all.len() < 2 {
        // Less than a factor of two is nearly linear.
        return linear_ticks(low, high, at_most);
    }
    let every = all.len().div_ceil(at_most + 1).max(1);
    // Powers where plain numbers would be long, and then for all large or small ones of the axis.
    let powers = all.iter().any(|v| *v >= 9.9e4 || *v < 9.9e-4);
    let label = |v: f64| if powers && !(9.9e-3..999.0).contains(&v) { power_label(v) } else { number(v) };
    all.into_iter().step_by(every).map(|value| Tick { value, label: label(value) }).collect()
}

/// `10⁵`, `2·10⁵`.
fn power_label(value: f64) -> String {
    let superscript = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    let exponent = (value.log10() + 1e-9).floor();
    let raised: String = format!("{exponent}").chars().map(superscript).collect();
    let factor = (value / 10f64.powf(exponent)).round();
    if factor == 1.0 { format!("10{raised}") } else { format!("{factor}·10{raised}") }
}

/// A number for reading: four significant digits, no trailing zeros.
#[must_use]
pub fn number(value: f64) -> String {
    significant(value, 4)
}

/// An interval for reading, with as many digits as its ends need to be told apart.
#[must_use]
pub fn between(low: f64, high: f64) -> String {
    let ends = |digits: usize| (significant(low, digits), significant(high, digits));
    let (low, high) = (4..12).map(ends).find(|(a, b)| a != b).unwrap_or_else(|| ends(4));
    format!("{low} to {high}")
}

/// A number for reading with a given number of significant digits.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "unknown".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞".to_owned() } else { "−∞".to_owned() };
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let power = value.abs().log10().floor() as i32;
    if !(-4..6).contains(&power) {
        return minus(format!("{value:.*e}", digits.saturating_sub(1)));
    }
    let decimals = (digits as i32 - 1 - power).max(0) as usize;
    let text = format!("{value:.decimals$}");
    minus(if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text })
}

/// A proper minus sign, which is as wide as a plus.
fn minus(text: String) -> String {
    text.replace('-', "−")
}
