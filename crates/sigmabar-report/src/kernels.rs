//! Kernels and noise as they are typed.

use crate::data::ColumnInfo;
use crate::quantity::short;
use serde_json::{Map, Value, json};
use sigmabar::kernel::Lengthscale;
use sigmabar::{Kernel, Noise};
use std::fmt;
use std::str::FromStr;

/// A family of kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// Squared exponential.
    SquaredExponential,
    /// Matérn of this order.
    Matern(f64),
    /// Rational quadratic with this exponent.
    RationalQuadratic(f64),
}

impl FromStr for Family {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a kernel is se, matern-NU or rq-ALPHA, such as matern-2.5";
        let number = |text: &str| text.parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0).ok_or(WRONG);
        match text.to_lowercase().replace('_', "-").as_str() {
            "se" | "rbf" | "squared-exponential" => Ok(Self::SquaredExponential),
            "matern" => Ok(Self::Matern(2.5)),
            "rq" | "rational-quadratic" => Ok(Self::RationalQuadratic(1.0)),
            other => match other.rsplit_once('-') {
                Some(("matern", nu)) => Ok(Self::Matern(number(nu)?)),
                Some(("rq" | "rational-quadratic", alpha)) => Ok(Self::RationalQuadratic(number(alpha)?)),
                _ => Err(WRONG),
            },
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SquaredExponential => f.write_str("se"),
            Self::Matern(nu) => write!(f, "matern-{nu}"),
            Self::RationalQuadratic(alpha) => write!(f, "rq-{alpha}"),
        }
    }
}

impl Family {
    /// Tried in turn where none is named.
    pub const DEFAULTS: [Self; 3] = [Self::Matern(1.5), Self::Matern(2.5), Self::SquaredExponential];

    fn smooth(self, lengthscale: Lengthscale, variance: f64) -> sigmabar::Result<Kernel> {
        match self {
            Self::SquaredExponential => Kernel::squared_exponential(lengthscale, variance),
            Self::Matern(nu) => Kernel::matern(nu, lengthscale, variance),
            Self::RationalQuadratic(alpha) => Kernel::rational_quadratic(alpha, lengthscale, variance),
        }
    }

    /// This family on the columns of numbers times Hamming on those of categories. `lengths` has one entry, or one for each column.
    pub fn kernel(self, lengths: &[f64], variance: f64, columns: &[ColumnInfo]) -> sigmabar::Result<Kernel> {
        if lengths.len() != 1 && lengths.len() != columns.len() {
            return Err(sigmabar::Error::Length { what: "the length-scales", expected: columns.len(), found: lengths.len() });
        }
        let (categorical, numeric): (Vec<usize>, Vec<usize>) = (0..columns.len()).partition(|&c| columns[c].categories.is_some());
        let of = |chosen: &[usize], shared: f64| -> Lengthscale {
            if lengths.len() == 1 { shared.into() } else { chosen.iter().map(|&c| lengths[c]).collect::<Vec<f64>>().into() }
        };
        if categorical.is_empty() {
            return self.smooth(of(&numeric, lengths[0]), variance);
        }
        let hamming = |variance| Kernel::hamming(of(&categorical, 1.0), variance);
        if numeric.is_empty() {
            return hamming(variance);
        }
        Ok(self.smooth(of(&numeric, lengths[0]), variance)?.columns(numeric.clone())? * hamming(1.0)?.columns(categorical.clone())?)
    }
}

/// Noise as it is typed: a level, which makes it sub-Gaussian, or `gaussian:0.1`, `bounded:0.5`, `light-tailed:0.08:3`.
pub fn noise(text: &str) -> Result<Noise, String> {
    const WRONG: &str = "noise is a level such as 0.1 (sub-Gaussian), gaussian:0.1, bounded:0.5 or light-tailed:0.08:3 (xi0 and h0)";
    let (kind, numbers) = text.split_once(':').unwrap_or(("sub-gaussian", text));
    let numbers: Vec<f64> = numbers.split(':').map(|number| number.parse().map_err(|_| WRONG.to_owned())).collect::<Result<_, _>>()?;
    let noise = match (kind, numbers.as_slice()) {
        ("sub-gaussian", &[level]) => Noise::sub_gaussian(level),
        ("gaussian" | "normal", &[std_dev]) => Noise::gaussian(std_dev),
        ("bounded", &[half_width]) => Noise::bounded(half_width),
        ("light-tailed", &[xi0, h0]) => Noise::light_tailed(xi0, h0),
        _ => return Err(WRONG.to_owned()),
    };
    noise.map_err(|error| error.to_string())
}

/// The kernel for programs, spelt as in study files: its name, its numbers, and the length-scale of each column.
pub fn fields(kernel: &Kernel, names: &[&str]) -> Value {
    let with = |name: &str, lengthscale: &Lengthscale, variance: f64, own: Option<(&str, Value)>| {
        let values = lengthscale.values();
        let length = |i: usize| values[if values.len() == 1 { 0 } else { i }];
        let lengths: Map<String, Value> = names.iter().enumerate().map(|(i, name)| ((*name).to_owned(), json!(length(i)))).collect();
        let mut fields = json!({ "name": name, "variance": variance, "lengthscale": lengths });
        if let Some((key, value)) = own {
            fields[key] = value;
        }
        fields
    };
    let all = |parts: &[Kernel]| parts.iter().map(|part| fields(part, names)).collect::<Vec<_>>();
    match kernel {
        Kernel::SquaredExponential(k) => with("squared-exponential", k.lengthscale(), k.variance(), None),
        Kernel::Matern(k) => with("matern", k.lengthscale(), k.variance(), Some(("nu", json!(k.nu())))),
        Kernel::RationalQuadratic(k) => with("rational-quadratic", k.lengthscale(), k.variance(), Some(("alpha", json!(k.alpha())))),
        Kernel::Hamming(k) => with("hamming", k.lengthscale(), k.variance(), None),
        Kernel::Periodic(k) => with("periodic", k.lengthscale(), k.variance(), Some(("period", json!(k.period().values())))),
        Kernel::Linear(k) => with("linear", k.lengthscale(), k.variance(), Some(("offset", json!(k.offset())))),
        Kernel::Sum(parts) => json!({ "sum": all(parts) }),
        Kernel::Product(parts) => json!({ "product": all(parts) }),
        Kernel::Columns { kernel, columns } => {
            fields(kernel, &columns.iter().map(|&c| names.get(c).copied().unwrap_or("?")).collect::<Vec<_>>())
        }
        other => json!(format!("{other:?}")),
    }
}

/// The kernel in words: its family, its variance and the length-scale of each column.
pub fn described(kernel: &Kernel, names: &[&str]) -> String {
    let with = |family: &str, lengthscale: &Lengthscale, variance: f64| {
        let lengths = match lengthscale.values() {
            [one] => format!("length-scale {}", short(*one)),
            many => format!(
                "length-scales {}",
                names.iter().zip(many).map(|(n, l)| format!("{n} {}", short(*l))).collect::<Vec<_>>().join(", ")
            ),
        };
        format!("{family}, variance {}, {lengths}", short(variance))
    };
    let all = |parts: &[Kernel], word: &str| parts.iter().map(|part| described(part, names)).collect::<Vec<_>>().join(word);
    match kernel {
        Kernel::SquaredExponential(k) => with("squared exponential", k.lengthscale(), k.variance()),
        Kernel::Matern(k) => with(&format!("Matérn {}", k.nu()), k.lengthscale(), k.variance()),
        Kernel::RationalQuadratic(k) => with(&format!("rational quadratic {}", short(k.alpha())), k.lengthscale(), k.variance()),
        Kernel::Hamming(k) => with("Hamming", k.lengthscale(), k.variance()),
        Kernel::Periodic(k) => with("periodic", k.lengthscale(), k.variance()),
        Kernel::Linear(k) => with("linear", k.lengthscale(), k.variance()),
        Kernel::Sum(parts) => all(parts, " + "),
        Kernel::Product(parts) => all(parts, " × "),
        Kernel::Columns { kernel, columns } => {
            let chosen: Vec<&str> = columns.iter().map(|&c| names.get(c).copied().unwrap_or("?")).collect();
            match chosen[..] {
                [one] => format!("{} (of {one})", described(kernel, &chosen)),
                _ => described(kernel, &chosen),
            }
        }
        other => format!("{other:?}"),
    }
}
