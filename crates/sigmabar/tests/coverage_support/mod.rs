//! Random instances shared by the tests of certificates.
#![allow(dead_code)]

pub mod literal;

pub use crate::jacobi::eigenvalues as jacobi;
pub(crate) use crate::oracle;

use oracle::{Covariance, Draws};
use sigmabar::certificate::Widths;
use sigmabar::points::Locations;
use sigmabar::{Claim, Collected, FeatureMap, Information, Kernel, Noise, Points};
use std::sync::Arc;

/// An instance: rows with repetitions, inducing points with repetitions, and the information they give.
pub struct Instance {
    pub kernel: Kernel,
    pub covariance: Covariance,
    pub x: Vec<Vec<f64>>,
    pub z: Vec<Vec<f64>>,
    pub tau: f64,
    pub information: Arc<Information>,
}

pub fn points(rows: &[Vec<f64>]) -> Points {
    Points::from_rows(rows).unwrap()
}

pub fn kernel(which: usize) -> (Kernel, Covariance) {
    match which % 3 {
        0 => (Kernel::squared_exponential(0.3, 1.0).unwrap(), oracle::squared_exponential),
        1 => (Kernel::matern(2.5, 0.4, 2.0).unwrap(), oracle::matern_five_halves),
        _ => (Kernel::matern(0.5, 0.5, 1.0).unwrap(), oracle::matern_half),
    }
}

impl Instance {
    pub fn new(which: usize, x: Vec<Vec<f64>>, z: Vec<Vec<f64>>, tau: f64, collected: Collected) -> Self {
        let (kernel, covariance) = kernel(which);
        let features = Arc::new(FeatureMap::new(&kernel, points(&z)).unwrap());
        let locations = Arc::new(Locations::new(points(&x), collected));
        let information = Arc::new(Information::new(features, tau, locations).unwrap());
        Self { kernel, covariance, x, z, tau, information }
    }

    /// The same points under the ridge that serves a claim best at a query: what an adversary must know of the weights.
    pub fn served(&self, query: &[f64], claim: &Claim) -> Self {
        let widths = Widths::new(Arc::clone(&self.information), claim).unwrap();
        let tau = widths.half_widths(points(&[query.to_vec()]).view()).unwrap()[0].ridge;
        let locations = Arc::clone(self.information.locations().unwrap());
        let information = Information::new(Arc::clone(self.information.features()), tau, locations).unwrap();
        Self { kernel: self.kernel.clone(), x: self.x.clone(), z: self.z.clone(), tau, information: Arc::new(information), ..*self }
    }

    /// Sizes up to `largest`, mostly small; some rows repeated, inducing points repeated or nearly so, taken from the rows or not; τ from 1e-6 to 1e2.
    pub fn random(draws: &mut Draws, largest: usize) -> Self {
        let d = 1 + draws.below(3);
        let n = 1 + (largest as f64 * draws.uniform().powi(3)) as usize;
        let m = 1 + draws.below(15.min(n + 4));
        let mut x = draws.points(n, d);
        for i in 0..n {
            if draws.uniform() < 0.2 {
                x[i] = x[draws.below(n)].clone();
            }
        }
        let mut z: Vec<Vec<f64>> =
            (0..m).map(|_| if draws.uniform() < 0.5 { x[draws.below(n)].clone() } else { draws.points(1, d).remove(0) }).collect();
        if draws.uniform() < 0.3 {
            let copy = z[draws.below(m)].clone();
            z.push(copy.iter().map(|v| v + 1e-7 * draws.uniform()).collect());
            z.push(copy);
        }
        let tau = 10.0_f64.powf(-6.0 + 8.0 * draws.uniform());
        Self::new(draws.below(3), x, z, tau, Collected::DeclaredFixed)
    }

    /// The inducing points in use.
    pub fn used(&self) -> Vec<Vec<f64>> {
        self.information.features().inducing().rows().map(<[f64]>::to_vec).collect()
    }
}

/// `D = K_XX − K_XZ K_ZZ⁻¹ K_ZX` over all rows, repetitions included, in double-double; `z` free of repetitions.
pub fn residual_matrix(k: Covariance, x: &[Vec<f64>], z: &[Vec<f64>]) -> Vec<Vec<f64>> {
    use oracle::double::{dot, solve};
    let k_xx = oracle::table(k, x, x);
    let k_zz = oracle::table(k, z, z);
    let k_xz = oracle::table(k, x, z);
    let solved: Vec<_> = k_xz.iter().map(|row| solve(&k_zz, row)).collect();
    (0..x.len()).map(|i| (0..x.len()).map(|j| (k_xx[i][j] - dot(&solved[i], &k_xz[j])).value()).collect()).collect()
}

/// A law of the noise.
#[derive(Clone, Copy, Debug)]
pub enum Law {
    Gaussian,
    Rademacher,
    Uniform,
    Laplace,
}

pub const LAWS: [Law; 4] = [Law::Gaussian, Law::Rademacher, Law::Uniform, Law::Laplace];

impl Law {
    pub fn sample(self, draws: &mut Draws, scale: f64) -> f64 {
        match self {
            Self::Gaussian => scale * draws.normal(),
            Self::Rademacher => {
                if draws.uniform() < 0.5 {
                    scale
                } else {
                    -scale
                }
            }
            Self::Uniform => scale * (2.0 * draws.uniform() - 1.0),
            Self::Laplace => {
                let u = draws.uniform() - 0.5;
                -scale * u.signum() * (1.0 - 2.0 * u.abs()).max(1e-300).ln()
            }
        }
    }

    /// What may be declared about it. Laplace of scale s: 1/(1−s²h²) ≤ exp(ξ₀h²/2) for |h| ≤ h₀ = 1/(2s) with ξ₀ = −8s²·ln(3/4).
    pub fn noise(self, scale: f64) -> Noise {
        match self {
            Self::Gaussian => Noise::gaussian(scale).unwrap(),
            Self::Rademacher => Noise::sub_gaussian(scale).unwrap(),
            Self::Uniform => Noise::bounded(scale).unwrap(),
            Self::Laplace => Noise::light_tailed(-8.0 * scale * scale * 0.75_f64.ln(), 0.5 / scale).unwrap(),
        }
    }
}
