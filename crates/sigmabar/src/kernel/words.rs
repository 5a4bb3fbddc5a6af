//! A kernel in words, as certificates print it.

use super::Kernel;
use crate::number::Number;
use std::fmt;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |parts: &[Kernel], sign: &str| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(sign);
        let family = match self {
            Self::Sum(parts) => return write!(f, "({})", joined(parts, " + ")),
            Self::Product(parts) => return write!(f, "{}", joined(parts, " × ")),
            Self::Columns { columns, kernel } => {
                let columns: Vec<String> = columns.iter().map(|c| (c + 1).to_string()).collect();
                return write!(f, "{kernel} of column {}", columns.join(", "));
            }
            Self::SquaredExponential(_) => "squared exponential".to_owned(),
            Self::Matern(matern) => format!("Matérn-{}", matern.nu()),
            Self::RationalQuadratic(_) => "rational quadratic".to_owned(),
            Self::Periodic(_) => "periodic".to_owned(),
            Self::Linear(_) => "linear".to_owned(),
            Self::Hamming(_) => "Hamming".to_owned(),
        };
        let parameters: Vec<String> = self.parameters().iter().map(|p| format!("{} {}", p.name, Number(p.value))).collect();
        write!(f, "{family} ({})", parameters.join(", "))
    }
}
