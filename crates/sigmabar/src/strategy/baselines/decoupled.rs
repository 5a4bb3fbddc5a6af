//! S-GP-TS: Thompson sampling from a sparse posterior by decoupled draws (Vakili et al. 2021; algorithm notes 5.4).

use super::cache::Cache;
use super::candidate_set::{CandidateSet, kernel, random_numbers};
use super::model::Dictionary;
use super::sequential::{ModelRun, Sequential, best_allowed};
use super::thompson::SampleScale;
use crate::error::{Error, Result, at_least_one};
use crate::kernel::{Kernel, Lengthscale};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix, add_transposed_matvec, argmax};
use std::f64::consts::TAU;

/// Inducing points are added until what they miss is below this share of $\tau^2$ everywhere, or there are enough.
const RESIDUAL_SHARE: f64 = 1e-3;

/// `s-gp-ts`: the maximiser over the candidates of a decoupled draw (recalled from Vakili et al. 2021)
/// $\tilde f(x) = \sum_{j\le M}w_j\phi_j(x) + k_Z(x)^\top K_{ZZ}^{-1}(u-\Phi_Zw)$ with $w\sim N(0,I)$, random Fourier features
/// $\phi_j = \sqrt{2k_{\max}/M}\cos(2\pi s_j^\top x + b_j)$ and $u\sim N(\text{mean}, \alpha^2\,\text{covariance})$ of the sparse posterior at $Z$.
///
/// $Z$ is chosen once, greedily by conditional variance among the candidates; the features are drawn once. $M=1024$, at most 128 inducing points,
/// $\alpha=1$ unless told otherwise. Cost O(A(M + m)) for a draw, memory $8AM$. For squared-exponential and Matérn kernels. A batch of several takes
/// independent draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecoupledThompson {
    features: usize,
    inducing: usize,
    scale: SampleScale,
    sequential: Sequential,
    /// Inducing points in use, once they are chosen.
    chosen: Option<usize>,
    #[serde(skip)]
    run: Cache<DecoupledRun>,
}

impl Default for DecoupledThompson {
    fn default() -> Self {
        Self {
            features: 1024,
            inducing: 128,
            scale: SampleScale::default(),
            sequential: Sequential::default(),
            chosen: None,
            run: Cache::default(),
        }
    }
}

/// The sparse posterior and the features of a run.
#[derive(Clone, Debug)]
struct DecoupledRun {
    run: ModelRun,
    /// $M$ rows of length $A$.
    fourier: Vec<f64>,
    /// The factor of $K_{ZZ}$.
    inducing: Lower,
}

impl DecoupledThompson {
    /// With this many random Fourier features and at most this many inducing points.
    ///
    /// # Errors
    /// [`Error::Parameter`] if either is 0.
    pub fn new(features: usize, inducing: usize) -> Result<Self> {
        for (name, value) in [("features", features), ("inducing points", inducing)] {
            at_least_one(name, value)?;
        }
        Ok(Self { features, inducing, ..Self::default() })
    }

    /// With draws this wide: $\alpha$.
    #[must_use]
    pub fn with_scale(self, scale: SampleScale) -> Self {
        Self { scale, ..self }
    }

    /// Asked in this way.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn inducing(&self) -> Option<usize> {
        self.chosen
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check(problem)?;
        self.scale.check(problem)?;
        frequencies(kernel(problem)?, problem.domain().dim(), 1, &mut random_numbers(problem, 0)).map(drop)
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let count = self.sequential.next_len(problem, ledger);
        let mut drawn = self.run.take().map_or_else(|| self.start(problem, ledger), Ok)?;
        drawn.run.absorb(problem, ledger, ledger.closed())?;
        self.chosen = Some(drawn.run.model.dictionary().len());
        let drawn = self.run.put(drawn);
        let run = &drawn.run;
        let scale = self.scale.factor(problem, &run.model)?;
        let mut proposals = Vec::with_capacity(count);
        for step in ledger.trials().len()..ledger.trials().len() + count {
            let draw = drawn.draw(scale, &mut random_numbers(problem, step + 1))?;
            proposals.extend(best_allowed(&draw, &run.barred).map(|choice| run.set.proposal(choice)));
        }
        Ok(proposals)
    }

    fn start(&self, problem: &Problem, ledger: &Ledger) -> Result<DecoupledRun> {
        let set = CandidateSet::new(problem, ledger, self.sequential.box_candidates())?;
        let mut model = set.model(problem, Dictionary::Chosen)?;
        while model.dictionary().len() < self.inducing {
            let residual = model.residual();
            let Some(next) = argmax(residual.iter().copied().enumerate()) else { break };
            if residual[next] <= RESIDUAL_SHARE * model.ridge().powi(2) || !model.append(next)? {
                break;
            }
        }
        for m in set.measured_before(problem, ledger) {
            model.observe(m.candidate, m.value, m.weight)?;
        }
        let rows: Vec<Vec<f64>> = model.dictionary().iter().map(|&z| model.features_of(z)).collect();
        let inducing = Lower::from_matrix(Matrix::from_vec(rows.concat(), rows.len(), rows.len()));
        let fourier = fourier_features(problem, self.features, &set)?;
        Ok(DecoupledRun { run: ModelRun::new(set, model, ledger), fourier, inducing })
    }
}

impl DecoupledRun {
    /// $\tilde f = \Phi w + \psi^\top(\beta + \alpha L_B^{-\top}\xi - L^{-1}\Phi_Zw)$: first the weights $w$, then $\xi$.
    fn draw(&self, scale: f64, rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
        let model = &self.run.model;
        let weights: Vec<f64> = (0..self.fourier.len() / model.len()).map(|_| StandardNormal.sample(rng)).collect();
        let mut draw = vec![0.0; model.len()];
        add_transposed_matvec(&self.fourier, &weights, &mut draw);
        let mut seen: Vec<f64> = model.dictionary().iter().map(|&z| draw[z]).collect();
        let mut noise: Vec<f64> = seen.iter().map(|_| StandardNormal.sample(rng)).collect();
        if !seen.is_empty() {
            self.inducing.solve_rows(&mut seen)?;
            model.lower().solve_transposed_rows(&mut noise)?;
        }
        let mut direction = model.coefficients()?;
        for ((d, noise), seen) in direction.iter_mut().zip(&noise).zip(&seen) {
            *d += scale * noise - seen;
        }
        model.add_combination(&direction, &mut draw);
        Ok(draw)
    }
}

/// $\sqrt{2k_{\max}/M}\cos(2\pi s_j^\top x_a + b_j)$, feature after feature.
fn fourier_features(problem: &Problem, count: usize, set: &CandidateSet) -> Result<Vec<f64>> {
    let mut rng = random_numbers(problem, 0);
    let kernel = kernel(problem)?;
    let frequencies = frequencies(kernel, problem.domain().dim(), count, &mut rng)?;
    let amplitude = (2.0 * kernel.max_diagonal(set.points().view()) / count as f64).sqrt();
    let mut features = Vec::with_capacity(count * set.len());
    for frequency in frequencies {
        let phase = rng.random::<f64>() * TAU;
        let cosine = |row: &[f64]| amplitude * (row.iter().zip(&frequency).map(|(x, s)| x * s).sum::<f64>() + phase).cos();
        features.extend(set.points().view().rows().map(cosine));
    }
    Ok(features)
}

/// Angular frequencies $2\pi s_j$ from the kernel's spectral density: normal with deviation $1/\ell_i$, for Matérn divided by $\sqrt{\chi^2_{2\nu}/2\nu}$.
fn frequencies(kernel: &Kernel, dim: usize, count: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Vec<f64>>> {
    let (lengthscale, freedom): (&Lengthscale, Option<f64>) = match kernel {
        Kernel::SquaredExponential(kernel) => (kernel.lengthscale(), None),
        Kernel::Matern(kernel) => (kernel.lengthscale(), Some(2.0 * kernel.nu())),
        _ => {
            return Err(Error::Premise {
                what: "random Fourier features",
                reason: "only squared-exponential and Matérn kernels have a spectral density that is sampled here",
            });
        }
    };
    let one = |_| {
        let mut frequency: Vec<f64> = Vec::with_capacity(dim);
        for column in 0..dim {
            let normal: f64 = StandardNormal.sample(rng);
            frequency.push(normal / lengthscale.get(column));
        }
        if let Some(freedom) = freedom {
            let chi = ChiSquared::new(freedom).map_or(freedom, |law| law.sample(rng));
            frequency.iter_mut().for_each(|f| *f /= (chi / freedom).sqrt());
        }
        frequency
    };
    Ok((0..count).map(one).collect())
}
