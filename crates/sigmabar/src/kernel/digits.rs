//! The digits of a kernel: what its values lose, and columns so far from 0 that doubles no longer tell their points apart.
//!
//! Differences are taken before anything is scaled, so that what is stored is used to its last digit. What is *stored* may have lost its meaning before that:
//! near $1.7\cdot10^{18}$ doubles are 256 apart, and with a length-scale of 100 two measurements are at the same place or far from each other.

use super::Kernel;
use crate::error::{Error, Result};
use crate::points::PointsRef;

/// A length-scale must hold this many neighbouring doubles.
const STEPS: f64 = 16.0;

impl Kernel {
    /// For each of `dim` columns the length over which the kernel changes; infinite where only size or equality matters.
    fn lengths(&self, dim: usize) -> Vec<f64> {
        match self {
            Self::SquaredExponential(kernel) => kernel.lengthscale.expanded(dim),
            Self::Matern(kernel) => kernel.lengthscale.expanded(dim),
            Self::RationalQuadratic(kernel) => kernel.lengthscale.expanded(dim),
            Self::Periodic(kernel) => (0..dim).map(|c| kernel.period.get(c) * kernel.lengthscale.get(c).min(1.0)).collect(),
            Self::Linear(_) | Self::Hamming(_) => vec![f64::INFINITY; dim],
            Self::Sum(parts) | Self::Product(parts) => parts.iter().fold(vec![f64::INFINITY; dim], |mut shortest, part| {
                shortest.iter_mut().zip(part.lengths(dim)).for_each(|(a, b)| *a = a.min(b));
                shortest
            }),
            Self::Columns { columns, kernel } => {
                let mut lengths = vec![f64::INFINITY; dim];
                for (&column, length) in columns.iter().zip(kernel.lengths(columns.len())) {
                    lengths[column] = lengths[column].min(length);
                }
                lengths
            }
        }
    }

    /// $q$: a computed value differs from $k(x,z)$ by at most $q\varepsilon\sqrt{k(x,x)k(z,z)}$.
    ///
    /// A squared distance of `dim` terms is right to $(d+8)\varepsilon/2$ of itself, and $t\,|k'(t)|\le0.4\,k(0)$ for every closed form; the function itself adds
    /// a few units. On circles the coordinates are right to $4\varepsilon$, which $\ell$ divides. Bessel functions are tested to $10^{-13}$.
    pub(crate) fn rounding_units(&self, dim: usize) -> f64 {
        let plain = 4.0 + dim as f64;
        match self {
            Self::Matern(kernel) if ![0.5, 1.5, 2.5].contains(&kernel.nu) => plain + 512.0,
            Self::Periodic(kernel) => plain + 4.0 * (0..dim).map(|c| 1.0 / kernel.lengthscale.get(c)).sum::<f64>(),
            Self::Sum(parts) => parts.iter().map(|part| part.rounding_units(dim)).fold(parts.len() as f64, f64::max),
            Self::Product(parts) => parts.iter().map(|part| part.rounding_units(dim)).sum(),
            Self::Columns { columns, kernel } => kernel.rounding_units(columns.len()),
            _ => plain,
        }
    }
}

/// Which of a list of points lie so far from 0 that their neighbours cannot be told from them.
#[derive(Clone, Debug)]
pub(crate) struct Digits {
    /// The length over which the kernel changes, by column.
    lengths: Vec<f64>,
    /// Column and value, one for each column and power of two.
    far: Vec<(usize, f64)>,
}

impl Digits {
    /// Cost O(nd).
    ///
    /// # Errors
    /// [`Error::Digits`] naming the first column with two different values between the same powers of two, where doubles are too far apart for the kernel. A
    /// column that is constant there, or one that strays so far once, harms nobody.
    pub(crate) fn new(kernel: &Kernel, points: PointsRef<'_>) -> Result<Self> {
        let mut digits = Self { lengths: kernel.lengths(points.dim()), far: Vec::new() };
        digits.add(points)?;
        Ok(digits)
    }

    /// The same among these points and those known already.
    pub(crate) fn check(&self, x: PointsRef<'_>) -> Result<()> {
        self.clone().add(x)
    }

    /// Takes these points in.
    pub(crate) fn add(&mut self, x: PointsRef<'_>) -> Result<()> {
        let binade = |value: f64| value.to_bits() >> 52;
        let limits: Vec<f64> = self.lengths.iter().map(|length| length / (STEPS * f64::EPSILON)).collect();
        for point in x.rows() {
            for (column, (&value, limit)) in point.iter().zip(&limits).enumerate().filter(|(_, (value, limit))| value.abs() > **limit) {
                match self.far.iter().find(|(c, known)| *c == column && binade(*known) == binade(value)) {
                    Some((_, known)) if *known == value => {}
                    Some(_) => {
                        let spacing = f64::EPSILON * value.abs();
                        return Err(Error::Digits { column, value, spacing, length: limit * STEPS * f64::EPSILON });
                    }
                    None => self.far.push((column, value)),
                }
            }
        }
        Ok(())
    }
}
