//! Noise that depends on the seed and the number of the trial alone.

use crate::error::{Result, positive};
use crate::noise::Noise;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Keeps the noise apart from what a strategy draws with the same seed.
const NOISE_KEY: u64 = 0x6e6f_6973_6500_0001;

/// The noise of a simulated evaluation: independent, mean zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SimulatedNoise {
    /// No noise at all.
    None,
    /// Normal.
    Gaussian {
        /// Its standard deviation.
        std_dev: f64,
    },
    /// $\pm$ level, each half of the time.
    Rademacher {
        /// The level.
        level: f64,
    },
    /// Uniform on $[-a,a]$.
    Uniform {
        /// $a$.
        half_width: f64,
    },
    /// Density $e^{-|x|/b}/2b$: tails no sub-Gaussian bound covers.
    Laplace {
        /// $b$.
        scale: f64,
    },
}

impl SimulatedNoise {
    /// The noise of one trial, whatever was drawn before. Cost O(1).
    #[must_use]
    pub fn draw(self, seed: u64, trial: u64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ NOISE_KEY);
        rng.set_stream(trial);
        self.sample(&mut rng)
    }

    fn sample(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Gaussian { std_dev } => {
                let standard: f64 = StandardNormal.sample(rng);
                std_dev * standard
            }
            Self::Rademacher { level } => {
                if rng.random::<bool>() {
                    level
                } else {
                    -level
                }
            }
            Self::Uniform { half_width } => half_width * (2.0 * rng.random::<f64>() - 1.0),
            Self::Laplace { scale } => {
                // 1 − U is never 0, so the logarithm is finite.
                let size = -scale * (1.0 - rng.random::<f64>()).ln();
                if rng.random::<bool>() { size } else { -size }
            }
        }
    }

    /// The standard deviation: the parameter, $a/\sqrt3$, $\sqrt2b$.
    #[must_use]
    pub fn std_dev(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Gaussian { std_dev } => std_dev,
            Self::Rademacher { level } => level,
            Self::Uniform { half_width } => half_width / 3_f64.sqrt(),
            Self::Laplace { scale } => 2_f64.sqrt() * scale,
        }
    }

    /// The strongest true assumption about this noise that intervals know; `None` where there is no noise.
    ///
    /// Rademacher noise is sub-Gaussian with its level, uniform noise with $a/\sqrt3$. For Laplace noise
    /// $\mathbb E e^{h\varepsilon}=1/(1-b^2h^2)\le e^{h^2\xi_0/2}$ with $\xi_0=4b^2\ln2$ for $|h|\le h_0=1/\sqrt2b$: $-\ln(1-u)$ is convex and
    /// meets its chord $2u\ln2$ at $u=\frac12$.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless the parameter is finite and positive.
    pub fn assumption(self) -> Result<Option<Noise>> {
        Ok(Some(match self {
            Self::None => return Ok(None),
            Self::Gaussian { std_dev } => Noise::gaussian(std_dev)?,
            Self::Rademacher { level } => Noise::sub_gaussian(level)?,
            Self::Uniform { half_width } => Noise::sub_gaussian(half_width / 3_f64.sqrt())?,
            Self::Laplace { scale } => {
                let scale = positive("scale", scale)?;
                Noise::light_tailed(4.0 * std::f64::consts::LN_2 * scale * scale, 0.5_f64.sqrt() / scale)?
            }
        }))
    }
}
