//! A ridge for each point (algorithm notes 14.3): for a claim about one point any weights that were fixed before the noise will do, and those of the model's own ridge are seldom
//! the best. Which ridge is taken where is decided by the points, the norm bound and the noise, never by a response: a level that replicates among the same responses bound (13.3) must
//! not come here, and S-BPE, which has such levels, claims by [`super::Method::Direct`], which takes no other ridge.

use super::widths::Widths;
use std::sync::Arc;

/// Ridges that compete with the model's own, in units of $R/C$, which makes $C^2b^2+R^2\lVert V\rVert^2$ smallest; where a quantile stands before the noise the best is little above it.
const BESIDE: [f64; 2] = [1.0, 2.0];

impl Widths {
    /// Prepares the same claim by the weights of other ridges, where it is one of those that allow it and the sums behind the information serve them. Cost O(m³).
    pub(super) fn prepare_ridges(&mut self) {
        if self.is_folded() {
            let unit = self.noise.level() / self.norm_bound;
            let [first, second] = BESIDE.map(|factor| self.at_ridge(factor * unit));
            self.beside = first.zip(second).map(|(first, second)| Box::new([first, second]));
        }
    }

    fn at_ridge(&self, ridge: f64) -> Option<Self> {
        let information = self.information.at_ridge(ridge)?;
        let residual_form = self.residual_form.as_ref().map(|form| form.at_ridge(ridge));
        let dictionary = self.dictionary.as_ref().map(|dictionary| dictionary.at_ridge(&information));
        Some(Self { information: Arc::new(information), residual_form, dictionary, ..self.clone() })
    }
}
