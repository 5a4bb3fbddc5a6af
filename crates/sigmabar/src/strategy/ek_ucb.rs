//! EK-UCB: contextual optimism with a dictionary that grows online (Zenati et al. 2022; algorithm notes 5.8).

use super::cache::Cache;
use super::candidate_set::{kernel, largest, random_numbers, ridge};
use super::ledger::{Ledger, Proposal};
use super::problem::Problem;
use crate::error::{Error, Result, positive, same_length};
use crate::features::FeatureMap;
use crate::points::{Collected, Observations, Points, Prior};
use crate::posterior::Posterior;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix, norm_squared};
use std::sync::Arc;

/// `ek-ucb`: given a context, the action with the largest $\bar\mu+\beta\sqrt v$, $v=\bar\sigma^2/\tau^2$, under a sparse posterior on states = (context, action).
///
/// The domain has the columns of the context followed by those of the action; the actions are a list. Each ask is for one context, set before by
/// [`crate::Strategy::set_context`]; a trial's candidate is the number of its action. The dictionary grows by KORS: a played state $s$ joins with
/// probability $p=\min(1,\beta_Kt)$, $t=(1+\varepsilon)\frac{k_{ss}-u}{k_{ss}+\mu-u}$, $u=b^\top(P^{-1/2}K_{ZZ}P^{-1/2}+\mu I)^{-1}b$, $b=P^{-1/2}k_Z(s)$; it then keeps its $p$ as
/// weight. (The public code lacks a "$k_{ss}-$" there, which favours redundant points; this is the correct leverage score.) The first state always joins.
///
/// $\beta=0.1$ as published; $\mu=\tau^2$, $\beta_K=5$, $\varepsilon=\frac12$ are ours. Standard errors told with means are not used. One evaluation at a time, O(m²)
/// for each of the actions and O(n + m³) for an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EkUcb {
    actions: Points,
    factor: f64,
    oversampling: f64,
    epsilon: f64,
    context: Option<Vec<f64>>,
    /// Trials whose states are in the dictionary, with their probabilities.
    dictionary: Vec<(usize, f64)>,
    /// How many there were after each closed batch.
    sizes: Vec<usize>,
    #[serde(skip)]
    run: Cache<KernelRun>,
}

/// The sparse posterior, as far as batches are closed.
#[derive(Clone, Debug)]
struct KernelRun {
    posterior: Option<Posterior>,
    absorbed: usize,
}

impl EkUcb {
    /// Over these actions.
    #[must_use]
    pub fn new(actions: Points) -> Self {
        Self {
            actions,
            factor: 0.1,
            oversampling: 5.0,
            epsilon: 0.5,
            context: None,
            dictionary: Vec::new(),
            sizes: Vec::new(),
            run: Cache::default(),
        }
    }

    /// The factor $\beta$ of $\sqrt v$.
    #[must_use]
    pub fn with_factor(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    /// The factor $\beta_K$ of the inclusion probabilities.
    #[must_use]
    pub fn with_oversampling(self, oversampling: f64) -> Self {
        Self { oversampling, ..self }
    }

    /// Number of states in the dictionary.
    #[must_use]
    pub fn dictionary_len(&self) -> usize {
        self.dictionary.len()
    }

    pub(super) fn inducing(&self, batch: usize) -> Option<usize> {
        self.sizes.get(batch).copied()
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        kernel(problem)?;
        ridge(problem)?;
        positive("width factor", self.factor)?;
        positive("oversampling", self.oversampling)?;
        if self.actions.dim() >= problem.domain().dim() {
            return Err(Error::Premise {
                what: "EK-UCB",
                reason: "the domain must have the columns of the context before those of the action",
            });
        }
        Ok(())
    }

    /// The context of the next ask.
    pub(super) fn set_context(&mut self, problem: &Problem, context: &[f64]) -> Result<()> {
        same_length("the context", problem.domain().dim() - self.actions.dim(), context.len())?;
        if let Some(column) = context.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "the context", row: 0, column, value: context[column] });
        }
        self.context = Some(context.to_vec());
        Ok(())
    }

    pub(super) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.trials().len() >= problem.budget() {
            return Ok(Vec::new());
        }
        let remedy = "set one before every ask";
        let missing = Error::Missing { what: "a context", purpose: "a contextual policy", remedy };
        let context = self.context.clone().ok_or(missing)?;
        let mut data = Vec::with_capacity(self.actions.len() * problem.domain().dim());
        for action in self.actions.view().rows() {
            data.extend_from_slice(&context);
            data.extend_from_slice(action);
        }
        let states = Points::new(data, problem.domain().dim())?;
        let tau = ridge(problem)?;
        let run = self.synced(problem, ledger)?;
        let (mean, deviation) = match &run.posterior {
            Some(posterior) => posterior.predict(states.view())?,
            None => (vec![0.0; states.len()], kernel(problem)?.diagonal(states.view()).into_iter().map(f64::sqrt).collect()),
        };
        self.run.put(run);
        let index = |a: usize| (a, mean[a] + self.factor * deviation[a] / tau);
        let choice = largest((0..states.len()).map(index)).unwrap_or(0);
        self.context = None;
        Ok(vec![Proposal::candidate(choice, states.row(choice))])
    }

    /// The posterior over the closed batches: replayed in one order, state by state.
    fn synced(&mut self, problem: &Problem, ledger: &Ledger) -> Result<KernelRun> {
        let mut run = self.run.take().unwrap_or(KernelRun { posterior: None, absorbed: 0 });
        for batch in run.absorbed..ledger.closed() {
            for (trial, value, _) in ledger.measured(batch) {
                let joins = self.dictionary.iter().any(|&(i, _)| i == trial.id as usize);
                run.absorb(problem, &trial.point, problem.to_model(value), joins)?;
            }
        }
        run.absorbed = ledger.closed();
        Ok(run)
    }

    /// Offers the state just played to the dictionary.
    pub(super) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<()> {
        let batch = ledger.closed() - 1;
        if let Some((trial, _, _)) = ledger.measured(batch).next() {
            let probability = if self.dictionary.is_empty() { 1.0 } else { self.probability(problem, ledger, &trial.point)? };
            if random_numbers(problem, batch).random::<f64>() < probability {
                self.dictionary.push((trial.id as usize, probability));
            }
        }
        self.sizes.push(self.dictionary.len());
        Ok(())
    }

    /// $p=\min(1,\beta_Kt)$ of a state.
    fn probability(&self, problem: &Problem, ledger: &Ledger, state: &[f64]) -> Result<f64> {
        let kernel = kernel(problem)?;
        let mu = ridge(problem)?.powi(2);
        let m = self.dictionary.len();
        let point = |i: usize| ledger.trials()[self.dictionary[i].0].point.as_slice();
        let root = |i: usize| self.dictionary[i].1.sqrt();
        // P^{-1/2} K_ZZ P^{-1/2} + μI  (m × m)
        let inner = Matrix::from_fn(m, m, |i, j| kernel.value(point(i), point(j)) / (root(i) * root(j)) + if i == j { mu } else { 0.0 });
        let mut b: Vec<f64> = (0..m).map(|i| kernel.value(point(i), state) / root(i)).collect();
        Lower::cholesky(&inner)?.solve_rows(&mut b)?;
        let missed = (kernel.value(state, state) - norm_squared(&b)).max(0.0);
        Ok((self.oversampling * (1.0 + self.epsilon) * missed / (missed + mu)).min(1.0))
    }
}

impl KernelRun {
    fn absorb(&mut self, problem: &Problem, state: &[f64], value: f64, joins: bool) -> Result<()> {
        match &mut self.posterior {
            Some(posterior) => {
                posterior.update(state, value)?;
                if joins {
                    posterior.append_inducing(state)?;
                }
            }
            None => {
                let points = Points::new(state.to_vec(), state.len())?;
                let features = Arc::new(FeatureMap::new(kernel(problem)?, points.clone())?);
                let observations = Observations::new(points, &[value], Collected::Adaptive, Prior::ZERO)?;
                self.posterior = Some(Posterior::fit(features, ridge(problem)?, observations)?);
            }
        }
        Ok(())
    }
}
