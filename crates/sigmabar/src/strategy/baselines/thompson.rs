//! GP-TS: the best candidate of a function drawn from the posterior (Chowdhury & Gopalan 2017; algorithm notes 5.1).

use super::cache::Cache;
use super::candidate_set::{noise_level, norm_bound, random_numbers};
use super::model::CandidateModel;
use super::sequential::{ModelRun, Sequential, best_allowed};
use crate::error::{Result, positive};
use crate::strategy::auto::one_by_one::{self, Index};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Matrix, PivotedCholesky, matvec};

/// Directions of the prior with less than this share of the largest variance carry no visible randomness.
const PRIOR_TOLERANCE: f64 = 1e-12;

/// How much wider than the posterior the draws are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SampleScale {
    /// $v$ at every step; 1 is the posterior itself, and what is used in practice.
    Constant(f64),
    /// $v_t = C + \frac R\tau\sqrt{\log\det(I+K_{t-1}/\tau^2) + 2\log(2/\delta)}$: the computable form of the recalled
    /// $C + R\sqrt{2(\gamma_{t-1}+1+\log(2/\delta))}$. Needs the norm bound and the noise.
    Theory,
}

impl Default for SampleScale {
    fn default() -> Self {
        Self::Constant(1.0)
    }
}

impl SampleScale {
    pub(crate) fn check(self, problem: &Problem) -> Result<()> {
        match self {
            Self::Constant(scale) => positive("sample scale", scale).map(drop),
            Self::Theory => norm_bound(problem).and(noise_level(problem)).map(drop),
        }
    }

    pub(crate) fn factor(self, problem: &Problem, model: &CandidateModel) -> Result<f64> {
        Ok(match self {
            Self::Constant(scale) => scale,
            Self::Theory => {
                let tail = model.log_det() + 2.0 * (2.0 / problem.delta()).ln();
                norm_bound(problem)? + noise_level(problem)? / model.ridge() * tail.sqrt()
            }
        })
    }
}

/// `gp-ts`: the maximiser over the candidates of $\mu + v(\tilde f-\mu)$, where $\tilde f$ is a joint draw from the exact posterior.
///
/// A draw $g$ from the prior is corrected by the data, $\tilde f = g + \psi^\top B^{-1}\sum_i\psi_i(s_i - c_ig_i - \sqrt{c_i}\,\tau\zeta_i)/\tau^2$. The
/// prior is factored once, O(Ar²) for rank r and memory $8Ar$; a draw costs O(A(r + u)): meant for up to about 5000 candidates. A batch of several
/// takes independent draws.
///
/// Without a kernel, one is learnt anew for every choice, and a function drawn from the posterior is climbed to its maximum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThompsonSampling {
    scale: SampleScale,
    sequential: Sequential,
    #[serde(skip)]
    run: Cache<ModelRun>,
    #[serde(skip)]
    prior: Cache<Matrix>,
}

impl ThompsonSampling {
    /// With draws this wide.
    #[must_use]
    pub fn new(scale: SampleScale) -> Self {
        Self { scale, ..Self::default() }
    }

    /// Asked in this way.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check_or_learn(problem)?;
        self.scale.check(problem)
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let count = self.sequential.next_len(problem, ledger);
        if problem.kernel().is_none() {
            return one_by_one::plan(problem, ledger, count, self.sequential.box_candidates(), Index::Draw);
        }
        let run = ModelRun::synced(&mut self.run, self.sequential, problem, ledger)?;
        let prior = self.prior.take().map_or_else(|| prior_factor(&run.model), Ok)?;
        let prior = self.prior.put(prior);
        let scale = self.scale.factor(problem, &run.model)?;
        let mut proposals = Vec::with_capacity(count);
        for step in ledger.trials().len()..ledger.trials().len() + count {
            let mut draw = posterior_draw(&run.model, prior, &mut random_numbers(problem, step))?;
            draw.iter_mut().zip(run.model.mean()).for_each(|(f, mean)| *f = mean + scale * (*f - mean));
            proposals.extend(best_allowed(&draw, &run.barred).map(|choice| run.set.proposal(choice)));
        }
        Ok(proposals)
    }
}

/// A factor $\Phi$ with $K_{AA} = \Phi\Phi^\top$ to rounding: rows are $K_{ap}L_p^{-\top}$ over the pivots $p$.
fn prior_factor(model: &CandidateModel) -> Result<Matrix> {
    let columns: Vec<Vec<f64>> = (0..model.len()).map(|a| model.kernel_column(a)).collect();
    let gram = Matrix::from_vec(columns.concat(), model.len(), model.len());
    let pivoted = PivotedCholesky::new(&gram, PRIOR_TOLERANCE * model.largest_prior(), model.len())?;
    let mut factor = Matrix::from_fn(model.len(), pivoted.pivots.len(), |a, p| gram[(a, pivoted.pivots[p])]);
    if !pivoted.pivots.is_empty() {
        pivoted.lower.solve_rows(factor.as_mut_slice())?;
    }
    Ok(factor)
}

/// One joint draw from the posterior at all candidates: first the directions of the prior, then one normal number for each distinct measured candidate.
fn posterior_draw(model: &CandidateModel, prior: &Matrix, rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
    let directions: Vec<f64> = (0..prior.cols()).map(|_| StandardNormal.sample(rng)).collect();
    let mut draw = matvec(prior, &directions);
    let shifts: Vec<f64> = model
        .measured()
        .iter()
        .map(|&a| {
            let noise: f64 = StandardNormal.sample(rng);
            model.weight(a) * draw[a] + model.weight(a).sqrt() * model.ridge() * noise
        })
        .collect();
    let correction = model.coefficients_without(&shifts)?;
    model.add_combination(&correction, &mut draw);
    Ok(draw)
}
