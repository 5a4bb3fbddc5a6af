//! The paper's rules on a box: its continuous bounds with the cover of algorithm notes 6.5, evaluated on cells.

use super::cells::Cells;
use super::paper::{Fit, Paper};
use super::premises::Arrived;
use super::state::State;
use crate::domain::BoxDomain;
use crate::error::Result;
use crate::strategy::run::ledger::Ledger;
use crate::theory::Cover;
use sigmabar_linalg::argmax;

/// The box is halved into $2^{13}$ equal cells, among whose centres the largest variance is sought.
pub(super) const HALVINGS: u32 = 13;

impl Paper<'_> {
    /// With probability $1-\delta/B$ at every point of the box at once, $|f-\bar\mu| \le \beta(\bar\sigma+h)+(C+\lVert\hat\beta\rVert)h$ with [`Paper::beta`] at
    /// $\ln(4B\Gamma(h)/\delta)$, $h = 1/N_i$. A cell goes when the bound over all of it is below the largest lower bound at a centre;
    /// $\bar\sigma$ and $\bar\mu$ change by at most $\varrho$ and $\lVert\hat\beta\rVert\varrho$ over a cell (correction E12).
    pub fn learn_box(&self, lengths: &[usize], ledger: &Ledger, cells: &mut Cells, state: &mut State) -> Result<()> {
        let arrived = Arrived::new(self.problem, ledger, self.batch);
        arrived.count(self.problem, ledger, self.batch, &mut state.facts);
        if arrived.is_empty() {
            return Ok(());
        }
        let leaves: Vec<usize> = cells.tree.leaves().collect();
        let centres = cells.tree.centres(&leaves)?;
        let noise = arrived.noise(self.premises.noise)?;
        let reach = 1.0 / arrived.values.len() as f64;
        let fit = self.fit(arrived, &noise, centres.view())?;
        if let Some(least_norm) = fit.refuted {
            state.contradict(Some(least_norm), self.premises.norm_bound);
            return Ok(());
        }
        let (c, kernel) = (self.premises.norm_bound, &self.premises.kernel.value);
        let tail = (4.0 * self.batches / self.problem.delta()).ln() + self.log_cover(cells, reach)?;
        let beta = self.beta(&fit, &noise, tail);
        let Fit { means, deviations, norm, residual_norm, .. } = fit;
        state.facts.record(residual_norm);
        let slack = beta * reach + (c + norm) * reach;
        let radius = |cell: usize| cells.tree.radius(cell, kernel).unwrap_or(f64::INFINITY);
        let upper: Vec<f64> =
            (0..leaves.len()).map(|i| means[i] + beta * deviations[i] + slack + (beta + norm) * radius(leaves[i])).collect();
        let lower: Vec<f64> = (0..leaves.len()).map(|i| means[i] - beta * deviations[i] - slack).collect();
        let best = argmax(lower.iter().copied().enumerate()).unwrap_or(0);
        let ceiling = upper.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (state.floor, state.ceiling) = (state.floor.max(lower[best]), state.ceiling.min(ceiling));
        if !self.is_cut_short(lengths) {
            let gone: Vec<usize> = (0..leaves.len()).filter(|&i| upper[i] < lower[best]).map(|i| leaves[i]).collect();
            for cell in gone {
                cells.tree.discard(cell);
            }
        }
        state.offer(None, centres.row(best), (ceiling - lower[best]).max(0.0), lower[best]);
        Ok(())
    }

    fn log_cover(&self, cells: &Cells, reach: f64) -> Result<f64> {
        let domain = BoxDomain::with_flat_sides(cells.tree.low(0).to_vec(), cells.tree.high(0).to_vec())?;
        Ok(Cover::new(&domain, &self.premises.kernel.value, reach)?.log_cells)
    }
}
