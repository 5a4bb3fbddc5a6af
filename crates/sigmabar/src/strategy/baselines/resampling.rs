//! The dictionary of the budgeted kernel bandits: pulled arms kept at random, more likely where the posterior variance is large.

use super::cache::Cache;
use super::candidate_set::{CandidateSet, Measurement, random_numbers};
use super::model::{CandidateModel, Dictionary};
use super::sequential::{ModelRun, Sequential};
use crate::error::Result;
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Arms pulled before there is a posterior.
const INITIAL_ARMS: usize = 2;

/// Which arms carry the features, and since when: enough to make the same posterior again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Resampling {
    dictionary: Vec<usize>,
    /// Closed batches when it was drawn; later observations came one by one.
    drawn_after: usize,
    /// How many there were after each closed batch.
    sizes: Vec<usize>,
    #[serde(skip)]
    run: Cache<ModelRun>,
}

impl Resampling {
    /// Two different arms at random, to begin with.
    pub fn initial_arms(&self, problem: &Problem, ledger: &Ledger, how: Sequential) -> Result<Vec<Proposal>> {
        let set = CandidateSet::new(problem, ledger, how.box_candidates())?;
        let count = INITIAL_ARMS.min(set.len()).min(problem.budget());
        let arms = rand::seq::index::sample(&mut random_numbers(problem, 0), set.len(), count);
        Ok(arms.into_iter().map(|a| set.proposal(a)).collect())
    }

    /// The posterior over the closed batches before `end`: what was counted when the dictionary was drawn, then one by one.
    pub fn synced(&mut self, how: Sequential, problem: &Problem, ledger: &Ledger, end: usize) -> Result<&mut ModelRun> {
        let mut run = self.run.take().map_or_else(|| self.start(how, problem, ledger), Ok)?;
        run.absorb(problem, ledger, end)?;
        Ok(self.run.put(run))
    }

    fn start(&self, how: Sequential, problem: &Problem, ledger: &Ledger) -> Result<ModelRun> {
        let set = CandidateSet::new(problem, ledger, how.box_candidates())?;
        let model = set.model(problem, Dictionary::Chosen)?;
        let mut run = ModelRun::new(set, model, ledger);
        for m in run.set.measured_before(problem, ledger) {
            run.model.count(m.candidate, m.value, m.weight);
        }
        for _ in 0..self.drawn_after {
            run.count(problem, ledger);
        }
        run.model.redraw(&self.dictionary)?;
        Ok(run)
    }

    /// Takes in the batch just closed with a dictionary [`redrawn`]. Where that does not change, a rank-one update does.
    pub fn learn(&mut self, how: Sequential, problem: &Problem, ledger: &Ledger, oversampling: f64) -> Result<()> {
        let batch = ledger.closed() - 1;
        let run = self.synced(how, problem, ledger, batch)?;
        let new = run.set.measurements(problem, ledger, batch);
        let drawn = redrawn(&run.model, &new, oversampling, &mut random_numbers(problem, ledger.closed()));
        if drawn.is_empty() || drawn == self.dictionary {
            self.synced(how, problem, ledger, batch + 1)?;
            self.sizes.push(self.dictionary.len());
            return Ok(());
        }
        let mut run = self.run.take().expect("it was put back above");
        run.count(problem, ledger);
        run.model.redraw(&drawn)?;
        self.dictionary = drawn;
        self.drawn_after = batch + 1;
        self.sizes.push(self.dictionary.len());
        self.run.put(run);
        Ok(())
    }

    /// How many arms carried the features when a batch had been closed.
    pub fn size_after(&self, batch: usize) -> Option<usize> {
        self.sizes.get(batch).copied()
    }

    /// The arms that carry the features.
    pub fn dictionary(&self) -> &[usize] {
        &self.dictionary
    }
}

/// The pulled arms that stay: each arm $a$ with probability $\min(1, q\,c_av_a)$, $c$ with the new measurements and $v = \bar\sigma^2/\tau^2$ from before them
/// (algorithm notes 3.1). If nothing is left, the arm measured last stays.
pub(crate) fn redrawn(model: &CandidateModel, new: &[Measurement], oversampling: f64, rng: &mut impl RngExt) -> Vec<usize> {
    let noise = model.ridge().powi(2);
    let mut counts: BTreeMap<usize, f64> = model.measured().iter().map(|&a| (a, model.weight(a))).collect();
    new.iter().for_each(|m| *counts.entry(m.candidate).or_insert(0.0) += m.weight);
    // One number for each pulled arm, in the order of the arms.
    let stays = |&(a, count): &(usize, f64)| rng.random::<f64>() < oversampling * count * model.variance(a) / noise;
    let mut drawn: Vec<usize> = counts.into_iter().filter(stays).map(|(a, _)| a).collect();
    if drawn.is_empty() {
        drawn.extend(new.last().map(|m| m.candidate));
    }
    drawn
}
