//! Spectral densities of the isotropic kernels.

use super::{Kernel, Lengthscale};
use statrs::function::gamma::ln_gamma;
use std::f64::consts::PI;

impl Kernel {
    /// The spectral density $m(s)$ at frequency radius $\|s\|$ in cycles, so that $k(x,z)=\int m(s)e^{2\pi i s\cdot(x-z)}ds$ over $\mathbb R^d$.
    ///
    /// $m=v(2\pi\ell^2)^{d/2}e^{-2\pi^2\ell^2s^2}$ for the squared-exponential kernel,
    /// $m=v\,2^d\pi^{d/2}\frac{\Gamma(\nu+d/2)(2\nu)^\nu}{\Gamma(\nu)\ell^{2\nu}}(2\nu/\ell^2+4\pi^2s^2)^{-\nu-d/2}$ for Matérn. With one length-scale
    /// for each column the density is that in the scaled coordinates $x_i/\ell_i$, where the length-scale is 1. `None` for other kernels.
    /// Cost O(1).
    #[must_use]
    pub fn spectral_density(&self, dim: usize, radius: f64) -> Option<f64> {
        let half = 0.5 * dim as f64;
        match self {
            Self::SquaredExponential(kernel) => {
                let squared = isotropic(&kernel.lengthscale).powi(2);
                Some(kernel.variance * (2.0 * PI * squared).powf(half) * (-2.0 * PI * PI * squared * radius * radius).exp())
            }
            Self::Matern(kernel) => {
                let nu = kernel.nu;
                let squared = isotropic(&kernel.lengthscale).powi(2);
                // (2ν/ℓ²)^ν and the last factor are joined into (1 + 2π²ℓ²s²/ν)^{−ν−d/2}, so that neither overflows.
                let ratio = (2.0 * PI * PI * squared * radius * radius / nu).ln_1p();
                let log = half * (2.0 * PI * squared / nu).ln() + ln_gamma(nu + half) - ln_gamma(nu) - (nu + half) * ratio;
                Some(kernel.variance * log.exp())
            }
            Self::Columns { columns, kernel } if columns.len() == dim => kernel.spectral_density(dim, radius),
            _ => None,
        }
    }
}

fn isotropic(lengthscale: &Lengthscale) -> f64 {
    match lengthscale {
        Lengthscale::Shared(length) => *length,
        Lengthscale::PerColumn(_) => 1.0,
    }
}
