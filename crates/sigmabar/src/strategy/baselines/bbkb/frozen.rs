//! Inside a batch: the mean stays, variances shrink with every choice and are looked at only when they matter.

use crate::error::Result;
use crate::strategy::baselines::model::CandidateModel;
use sigmabar_linalg::{Lower, argmax, dot};

/// A batch on its way, over the posterior at its beginning.
pub(super) struct FrozenBatch<'a> {
    model: &'a CandidateModel,
    factor: f64,
    /// The factor of $B$ with all choices counted.
    lower: Lower,
    /// $B^{-1}\psi(x_s)$ just before choice $s$, and $\tau^2 + \psi^\top B^{-1}\psi$.
    directions: Vec<(Vec<f64>, f64)>,
    /// $\psi^\top B^{-1}\psi$ after the first `seen` choices.
    fit: Vec<f64>,
    seen: Vec<usize>,
    /// The index, an upper bound where choices were missed.
    index: Vec<f64>,
    choices: Vec<usize>,
    frozen_sum: f64,
    /// $\sum_s\mathrm{cov}(x_a,x_s)^2$ over the first `local_seen` choices.
    squares: Vec<f64>,
    local_seen: usize,
}

impl<'a> FrozenBatch<'a> {
    pub fn new(model: &'a CandidateModel, factor: f64) -> Self {
        let index = (0..model.len()).map(|a| model.mean()[a] + factor * model.variance(a).sqrt()).collect();
        Self {
            model,
            factor,
            lower: model.lower().clone(),
            directions: Vec::new(),
            fit: model.fit().to_vec(),
            seen: vec![0; model.len()],
            index,
            choices: Vec::new(),
            frozen_sum: 0.0,
            squares: vec![0.0; model.len()],
            local_seen: 0,
        }
    }

    /// The arm with the largest index. Variances only shrink, so an index not looked at lately is an upper bound: refresh the top until it is up to date.
    pub fn next(&mut self, barred: &[bool]) -> Option<usize> {
        let everything = barred.iter().all(|&b| b);
        loop {
            let allowed = self.index.iter().copied().enumerate().filter(|&(a, _)| everything || !barred[a]);
            let top = argmax(allowed)?;
            if self.seen[top] == self.directions.len() {
                return Some(top);
            }
            self.catch_up(top);
        }
    }

    /// Counts the choices an arm has missed. Cost O(m) each.
    fn catch_up(&mut self, arm: usize) {
        let psi = self.model.features_of(arm);
        for (direction, scale) in &self.directions[self.seen[arm]..] {
            let c = dot(&psi, direction);
            self.fit[arm] = (self.fit[arm] - c * c / scale).max(0.0);
        }
        self.seen[arm] = self.directions.len();
        self.index[arm] = self.model.mean()[arm] + self.factor * (self.model.residual()[arm] + self.fit[arm]).sqrt();
    }

    /// Counts a choice. Cost O(m²).
    pub fn choose(&mut self, arm: usize) -> Result<()> {
        let noise = self.model.ridge().powi(2);
        let psi = self.model.features_of(arm);
        let mut direction = psi.clone();
        if !psi.is_empty() {
            self.lower.solve_rows(&mut direction)?;
            self.lower.solve_transposed_rows(&mut direction)?;
            self.lower.update(&psi.iter().map(|p| p / noise.sqrt()).collect::<Vec<_>>());
        }
        let scale = noise + dot(&psi, &direction);
        self.directions.push((direction, scale));
        self.choices.push(arm);
        self.frozen_sum += self.model.variance(arm) / noise;
        Ok(())
    }

    /// $1 + \sum_sv_{fb}(x_s)$.
    pub fn global_growth(&self) -> f64 {
        1.0 + self.frozen_sum
    }

    /// $\max_a 1 + \sum_s\mathrm{cov}_{fb}(x_a,x_s)^2/v_{fb}(x_a)$. Cost O(A(d + m) + m²) for each choice since the last call.
    pub fn local_growth(&mut self) -> Result<f64> {
        let noise = self.model.ridge().powi(2);
        for &choice in &self.choices[self.local_seen..] {
            let column = self.model.covariance_column(choice)?;
            self.squares.iter_mut().zip(&column).for_each(|(s, c)| *s += (c / noise).powi(2));
        }
        self.local_seen = self.choices.len();
        let growth = |a: usize| {
            let v = self.model.variance(a) / noise;
            // An arm known for certain cannot lose any variance.
            if v > 0.0 { 1.0 + self.squares[a] / v } else { 1.0 }
        };
        Ok((0..self.model.len()).map(growth).fold(1.0, f64::max))
    }
}

#[cfg(test)]
mod tests {
    use super::FrozenBatch;
    use crate::kernel::Kernel;
    use crate::points::Points;
    use crate::strategy::baselines::model::{CandidateModel, Dictionary};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn variances_updated_by_rank_one_equal_a_refit() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let points = Points::new((0..60).map(|_| rng.random::<f64>()).collect(), 2).expect("finite");
        let kernel = Kernel::squared_exponential(0.4, 1.0).expect("valid");
        let mut model = CandidateModel::new(&kernel, 0.1, points, Dictionary::Chosen).expect("fits");
        [4, 8, 15, 16, 23].iter().for_each(|&a| model.count(a, 0.1 * a as f64, 2.0));
        model.redraw(&[4, 8, 15, 23]).expect("a dictionary");
        let mut batch = FrozenBatch::new(&model, 2.0);
        let mut counted = model.clone();
        for choice in 0..50 {
            let arm = (7 * choice) % 30;
            batch.choose(arm).expect("a choice");
            counted.count(arm, 0.0, 1.0);
        }
        counted.redraw(&[4, 8, 15, 23]).expect("a refit");
        for arm in 0..30 {
            batch.catch_up(arm);
            assert!((batch.fit[arm] - counted.fit()[arm]).abs() < 1e-9, "{arm}");
        }
    }
}
