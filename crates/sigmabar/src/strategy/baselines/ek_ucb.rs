//! EK-UCB: contextual optimism with a dictionary that grows online (Zenati et al. 2022; algorithm notes 5.8).

use super::cache::Cache;
use super::candidate_set::{kernel, random_numbers, ridge};
use crate::domain::Domain;
use crate::error::{Error, Result, positive, same_length};
use crate::features::FeatureMap;
use crate::points::{Collected, Observations, Points, PointsRef, Prior};
use crate::posterior::Posterior;
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix, argmax, norm_squared};
use std::sync::Arc;

/// `ek-ucb`: given a context, the action with the largest $\bar\mu+\beta\sqrt v$, $v=\bar\sigma^2/\tau^2$, under a sparse posterior on states = (context, action).
///
/// The domain has the columns of the context followed by those of the action; the actions are a list, in natural values. Each ask is for one context, set before
/// by [`crate::Strategy::set_context`]; only actions with which the state lies in the domain, its constraints included, are open then. The dictionary grows by
/// KORS: a played state $s$ joins with probability $p=\min(1,\beta_Kt)$, $t=(1+\varepsilon)\frac{k_{ss}-u}{k_{ss}+\mu-u}$,
/// $u=b^\top(P^{-1/2}K_{ZZ}P^{-1/2}+\mu I)^{-1}b$, $b=P^{-1/2}k_Z(s)$; it then keeps its $p$ as weight. (The public code lacks a "$k_{ss}-$" there, which favours
/// redundant points; this is the correct leverage score.) The first state always joins; states measured before the run are offered first, in their order.
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
    /// States in the dictionary, with their probabilities: first those from before the run are counted, then the trials.
    dictionary: Vec<(usize, f64)>,
    /// Whether the states from before the run were offered.
    offered: bool,
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
            offered: false,
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

    pub(crate) fn inducing(&self, batch: usize) -> Option<usize> {
        self.sizes.get(batch).copied()
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
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
    pub(crate) fn set_context(&mut self, problem: &Problem, context: &[f64]) -> Result<()> {
        same_length("the context", problem.domain().dim() - self.actions.dim(), context.len())?;
        if let Some(column) = context.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "the context", row: 0, column, value: context[column] });
        }
        self.context = Some(context.to_vec());
        Ok(())
    }

    /// The states that a context leaves open: encoded points, with their numbers on a list.
    ///
    /// # Errors
    /// [`Error::Premise`] where it leaves none open.
    pub fn open_states(&self, problem: &Problem, context: &[f64]) -> Result<Vec<(Option<usize>, Vec<f64>)>> {
        Ok(self.states(problem, context)?.into_iter().map(|state| (state.candidate, state.point)).collect())
    }

    fn states(&self, problem: &Problem, context: &[f64]) -> Result<Vec<Proposal>> {
        let domain = problem.domain();
        let mut open = Vec::with_capacity(self.actions.len());
        for action in self.actions.view().rows() {
            let state = [context, action].concat();
            if domain.contains(&state) {
                let candidate = if let Domain::List(list) = domain { list.position(&state) } else { None };
                let point = domain.encode(PointsRef::new(&state, domain.dim())?)?.row(0).to_vec();
                open.push(Proposal { candidate, point });
            }
        }
        if open.is_empty() {
            return Err(Error::Premise {
                what: "an action for this context",
                reason: "no state of the context with an action lies in the domain: check the context's columns and the constraints",
            });
        }
        Ok(open)
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.trials().len() >= problem.budget() {
            return Ok(Vec::new());
        }
        let remedy = "set one before every ask";
        let missing = Error::Missing { what: "a context", purpose: "a contextual policy", remedy };
        let context = self.context.clone().ok_or(missing)?;
        let mut open = self.states(problem, &context)?;
        let states = Points::from_rows(&open.iter().map(|s| s.point.as_slice()).collect::<Vec<_>>())?;
        self.offer_attached(problem, ledger)?;
        let tau = ridge(problem)?;
        let run = self.synced(problem, ledger)?;
        let (mean, deviation) = match &run.posterior {
            Some(posterior) => posterior.predict(states.view())?,
            None => (vec![0.0; states.len()], kernel(problem)?.diagonal(states.view()).into_iter().map(f64::sqrt).collect()),
        };
        self.run.put(run);
        let index = |a: usize| (a, mean[a] + self.factor * deviation[a] / tau);
        let choice = argmax((0..states.len()).map(index)).unwrap_or(0);
        self.context = None;
        Ok(vec![open.swap_remove(choice)])
    }

    /// The posterior over the closed batches: replayed in one order, state by state.
    fn synced(&mut self, problem: &Problem, ledger: &Ledger) -> Result<KernelRun> {
        let joins = |i: usize| self.dictionary.iter().any(|&(member, _)| member == i);
        let before = ledger.attached().len();
        let mut run = match self.run.take() {
            Some(run) => run,
            None => {
                let mut run = KernelRun { posterior: None, absorbed: 0 };
                for (i, attached) in ledger.attached().iter().enumerate() {
                    if let Some((value, _)) = attached.outcome.value() {
                        run.absorb(problem, &attached.point, problem.to_model(value), joins(i))?;
                    }
                }
                run
            }
        };
        for batch in run.absorbed..ledger.closed() {
            for m in ledger.measured(batch) {
                run.absorb(problem, m.point, problem.to_model(m.value), joins(before + m.id.unwrap_or_default() as usize))?;
            }
        }
        run.absorbed = ledger.closed();
        Ok(run)
    }

    /// Offers the states from before the run to the dictionary, with random numbers that no batch uses.
    fn offer_attached(&mut self, problem: &Problem, ledger: &Ledger) -> Result<()> {
        if self.offered {
            return Ok(());
        }
        let mut dictionary = std::mem::take(&mut self.dictionary);
        for (i, attached) in ledger.attached().iter().enumerate().filter(|(_, a)| a.outcome.value().is_some()) {
            self.offer(problem, ledger, &mut dictionary, (i, &attached.point), problem.budget() + i)?;
        }
        self.dictionary = dictionary;
        self.offered = true;
        Ok(())
    }

    /// Offers the state just played to the dictionary.
    pub(crate) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<()> {
        let batch = ledger.closed() - 1;
        if let Some(m) = ledger.measured(batch).next() {
            let mut dictionary = self.dictionary.clone();
            self.offer(problem, ledger, &mut dictionary, (ledger.attached().len() + m.id.unwrap_or_default() as usize, m.point), batch)?;
            self.dictionary = dictionary;
        }
        self.sizes.push(self.dictionary.len());
        Ok(())
    }

    /// A state joins with its probability, the first one always; `step` names the random number.
    fn offer(
        &self,
        problem: &Problem,
        ledger: &Ledger,
        dictionary: &mut Vec<(usize, f64)>,
        (number, state): (usize, &[f64]),
        step: usize,
    ) -> Result<()> {
        let probability = if dictionary.is_empty() { 1.0 } else { self.probability(problem, ledger, dictionary, state)? };
        if random_numbers(problem, step).random::<f64>() < probability {
            dictionary.push((number, probability));
        }
        Ok(())
    }

    /// $p=\min(1,\beta_Kt)$ of a state.
    fn probability(&self, problem: &Problem, ledger: &Ledger, dictionary: &[(usize, f64)], state: &[f64]) -> Result<f64> {
        let kernel = kernel(problem)?;
        let mu = ridge(problem)?.powi(2);
        let (m, before) = (dictionary.len(), ledger.attached().len());
        let point = |i: usize| match dictionary[i].0 {
            member if member < before => ledger.attached()[member].point.as_slice(),
            member => ledger.trials()[member - before].point.as_slice(),
        };
        let root = |i: usize| dictionary[i].1.sqrt();
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
