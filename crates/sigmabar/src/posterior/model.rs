//! A fitted model as bytes: own header, version, checksum. A damaged or foreign file is refused with a reason.

use super::Posterior;
use crate::error::{ModelError, Result};
use crate::features::{FeatureMap, SourcedKernel};
use crate::information::{Absorbed, FitFacts, Information};
use crate::points::{Observations, Points};
use crate::sealed;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix};
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"SIGMABAR";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    kernel: SourcedKernel,
    given: Points,
    kept: Vec<usize>,
    lower: Lower,
    ridge: f64,
    gram: Matrix,
    lower_b: Lower,
    prior_trace: f64,
    residual_trace: f64,
    facts: FitFacts,
    observations: Observations,
    projected: Vec<f64>,
    projection_growth: f64,
}

impl Posterior {
    /// The whole fitted model as bytes: 8 bytes of magic, a version, the length, a checksum, then the content. Cost O(nd + m²).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let information = self.information();
        let features = information.features();
        let stored = Stored {
            kernel: features.sourced_kernel().clone(),
            given: features.given().to_points(),
            kept: features.kept().to_vec(),
            lower: features.lower().clone(),
            ridge: information.ridge(),
            gram: information.gram().clone(),
            lower_b: information.lower().clone(),
            prior_trace: information.prior_trace(),
            residual_trace: information.residual_trace(),
            facts: *information.facts(),
            observations: self.observations().clone(),
            projected: self.projected().to_vec(),
            projection_growth: self.projection_growth(),
        };
        sealed::seal(MAGIC, VERSION, &postcard::to_stdvec(&stored).expect("plain numbers and lists always serialise"))
    }

    /// Reads a model written by [`Posterior::to_bytes`]; its predictions are bitwise those of the model that was saved.
    ///
    /// # Errors
    /// [`ModelError`] saying why: foreign, newer, cut short, damaged, or not a model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let payload = sealed::open(MAGIC, VERSION, bytes)?;
        let stored: Stored = postcard::from_bytes(payload).map_err(|_| ModelError::Content)?;
        if !stored.is_consistent() {
            return Err(ModelError::Content.into());
        }
        let features = FeatureMap::assemble(stored.kernel, stored.given, stored.kept, stored.lower)?;
        let absorbed = Absorbed {
            gram: stored.gram,
            lower: stored.lower_b,
            prior_trace: stored.prior_trace,
            residual_trace: stored.residual_trace,
            projected: None,
            facts: stored.facts,
        };
        let locations = Arc::clone(stored.observations.locations());
        let information = Information::assemble(Arc::new(features), stored.ridge, locations, absorbed)?;
        Self::assemble(Arc::new(information), stored.observations, stored.projected, stored.projection_growth)
    }
}

impl Stored {
    fn is_consistent(&self) -> bool {
        let m = self.kept.len();
        self.kernel.kernel.validate().is_ok()
            && self.kernel.kernel.check_dim(self.given.dim()).is_ok()
            && self.kept.iter().all(|&i| i < self.given.len())
            && self.lower.len() == m
            && self.lower_b.len() == m
            && (self.gram.rows(), self.gram.cols(), self.gram.as_slice().len()) == (m, m, m * m)
            && self.projected.len() == m
            && self.observations.is_consistent()
            && self.observations.locations().points().dim() == self.given.dim()
            && [self.prior_trace, self.residual_trace, self.facts.summation_length, self.facts.whitening_bound, self.projection_growth]
                .iter()
                .all(|v| v.is_finite() && *v >= 0.0)
            && self.projected.iter().chain(self.gram.as_slice()).all(|v| v.is_finite())
            && self.lower.diagonal().iter().chain(&self.lower_b.diagonal()).all(|v| v.is_finite() && *v > 0.0)
    }
}
