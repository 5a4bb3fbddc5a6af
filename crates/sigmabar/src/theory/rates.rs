//! How fast $\gamma_N$ grows, constants left out: for orientation, never for a certificate.

use serde::{Deserialize, Serialize};

/// A family of kernels with a known rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum KernelClass {
    /// Linear kernels.
    Linear,
    /// Squared-exponential kernels.
    SquaredExponential,
    /// Matérn kernels.
    Matern {
        /// $\nu$.
        nu: f64,
    },
}

/// The order of $\gamma_N$ by two generations of theory (algorithm notes 6.1), constants left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GainRate {
    /// Srinivas et al. 2010: $d\log N$, $(\log N)^{d+1}$, $N^{d(d+1)/(2\nu+d(d+1))}\log N$.
    pub early: f64,
    /// Vakili et al. 2021: for Matérn kernels $N^{d/(2\nu+d)}(\log N)^{2\nu/(2\nu+d)}$, otherwise as before.
    pub improved: f64,
}

impl KernelClass {
    /// The order of $\gamma_N$ in `dim` columns after `evaluations` measurements.
    #[must_use]
    pub fn gain_rate(self, dim: usize, evaluations: usize) -> GainRate {
        let (d, n) = (dim as f64, evaluations as f64);
        let log = n.ln();
        match self {
            Self::Linear => GainRate { early: d * log, improved: d * log },
            Self::SquaredExponential => GainRate { early: log.powf(d + 1.0), improved: log.powf(d + 1.0) },
            Self::Matern { nu } => {
                let wide = d * (d + 1.0);
                GainRate {
                    early: n.powf(wide / (2.0 * nu + wide)) * log,
                    improved: n.powf(d / (2.0 * nu + d)) * log.powf(2.0 * nu / (2.0 * nu + d)),
                }
            }
        }
    }
}
