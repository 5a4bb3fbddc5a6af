//! Quantities as people type them: `4G`, `0.3,0.5`, `10%`.

pub use sigmabar_study::short;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A count of at least 1.
pub fn positive(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|&count| count > 0).ok_or("it must be a whole number of at least 1")
}

/// A number, typed: `nan` and `inf` are none.
pub fn finite(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or("it must be a finite number")
}

/// A number above 0, typed.
pub fn above_zero(text: &str) -> Result<f64, &'static str> {
    finite(text).ok().filter(|value| *value > 0.0).ok_or("it must be a finite number above 0")
}

/// A time, typed as `90`, `90s`, `1.5h` or `3d`: a number without a unit is seconds, as in study files.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    sigmabar_study::seconds(text).map(Duration::from_secs_f64)
}

/// A number of bytes, typed as `4G`, `500M` or `1000000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a size is a number with K, M, G or T behind it, such as 4G";
        let text = text.trim().trim_end_matches(['b', 'B']).trim_end_matches(['i', 'I']);
        let (digits, power) = match text.chars().last().map(|c| c.to_ascii_uppercase()) {
            Some('K') => (&text[..text.len() - 1], 1),
            Some('M') => (&text[..text.len() - 1], 2),
            Some('G') => (&text[..text.len() - 1], 3),
            Some('T') => (&text[..text.len() - 1], 4),
            _ => (text, 0),
        };
        let number: f64 = digits.trim().parse().map_err(|_| WRONG)?;
        let bytes = number * 1024_f64.powi(power);
        if bytes.is_finite() && (1.0..1e18).contains(&bytes) { Ok(Self(bytes as u64)) } else { Err(WRONG) }
    }
}

impl Bytes {
    /// The next larger number that is written in full: whoever types what is written has at least as many.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        let mut unit = 1_u64;
        while self.0 / unit >= 1000 && unit < 1 << 40 {
            unit <<= 10;
        }
        // Below ten there is one decimal, and a tenth of a unit is no whole number of bytes.
        let value = self.0 as f64 / unit as f64;
        let value = if unit > 1 && value < 9.9 { (10.0 * value).ceil() / 10.0 } else { value.ceil() };
        Self((value * unit as f64).ceil() as u64)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut unit) = (self.0 as f64, "B");
        for next in ["KB", "MB", "GB", "TB"] {
            if value < 1000.0 {
                break;
            }
            (value, unit) = (value / 1024.0, next);
        }
        if value < 10.0 && unit != "B" { write!(f, "{value:.1} {unit}") } else { write!(f, "{value:.0} {unit}") }
    }
}

/// Whole numbers with a gap before every three digits.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// `3, 7, 9`, and of many the first ones.
#[must_use]
pub fn first_of(numbers: &[u64]) -> String {
    let some: Vec<String> = numbers.iter().take(12).map(u64::to_string).collect();
    format!("{}{}", some.join(", "), if numbers.len() > some.len() { ", …" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        assert_eq!("4G".parse(), Ok(Bytes(4 << 30)));
        assert_eq!("1.5k".parse(), Ok(Bytes(1536)));
        assert_eq!("64MiB".parse(), Ok(Bytes(64 << 20)));
        assert!("".parse::<Bytes>().is_err() && "G".parse::<Bytes>().is_err() && "-1M".parse::<Bytes>().is_err());
        assert_eq!(Bytes(4 << 30).to_string(), "4.0 GB");
        assert_eq!(Bytes(900).to_string(), "900 B");
        for bytes in [1, 999, 1000, 1025, 17_300_000, 9_960_000, 10_400_000, 5_000_000_000, u64::from(u32::MAX)] {
            let typed: Bytes = Bytes(bytes).rounded_up().to_string().replace(' ', "").parse().unwrap();
            assert!(typed.0 >= bytes && typed.0 as f64 <= 1.2 * bytes as f64 + 1.0, "{bytes}: {typed:?}");
        }
    }

    #[test]
    fn times_are_read() {
        assert_eq!(["90m", "1.5h", "1.5 h", "5400", "5400s"].map(duration), [Ok(Duration::from_secs(5400)); 5]);
        assert!(["", "-1h", "xh", "0", "5 parsecs"].iter().all(|text| duration(text).is_err()));
    }

    #[test]
    fn whole_numbers_are_grouped() {
        assert_eq!(grouped(1_234_567), "1 234 567");
    }
}
