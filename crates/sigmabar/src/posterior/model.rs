//! A fitted model as bytes: own header, version, checksum. A damaged or foreign file is refused with a reason.

use super::Posterior;
use crate::error::{ModelError, Result};
use crate::features::{FeatureMap, SourcedKernel};
use crate::information::{Absorbed, FitFacts, Information, UPDATES_BETWEEN_FACTORS};
use crate::points::{Observations, Points};
use crate::sealed;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix};
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"SIGMABAR";
const VERSION: u32 = 2;

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
    /// Rank-one updates since the factor was made: rounding bounds count them.
    updates: usize,
    whitened: Option<Vec<f64>>,
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
            updates: information.updates(),
            whitened: self.whitened().cloned(),
        };
        sealed::seal(MAGIC, VERSION, &postcard::to_stdvec(&stored).expect("plain numbers and lists always serialise"))
    }

    /// Reads a model written by [`Posterior::to_bytes`]; its predictions are bitwise those of the model that was saved.
    ///
    /// # Errors
    /// [`ModelError`] saying why: foreign, newer, cut short, damaged, or not a model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let payload = sealed::open(MAGIC, VERSION, bytes)?;
        // Version 1 did not say how many updates there were: as many as there can be between two factorisations.
        let dated = || [payload, &postcard::to_stdvec(&(UPDATES_BETWEEN_FACTORS, None::<()>)).unwrap_or_default()].concat();
        let stored: Result<Stored, _> = postcard::from_bytes(payload).or_else(|_| postcard::from_bytes(&dated()));
        let stored = stored.map_err(|_| ModelError::Content)?;
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
            whitened: None,
            facts: stored.facts,
            updates: stored.updates,
        };
        let locations = Arc::clone(stored.observations.locations());
        let information = Information::assemble(Arc::new(features), stored.ridge, locations, absorbed)?;
        Self::assemble(Arc::new(information), stored.observations, (stored.projected, stored.whitened), stored.projection_growth)
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
            && self.whitened.as_ref().is_none_or(|h| h.len() == m && h.iter().all(|v| v.is_finite()))
            && self.observations.is_consistent()
            && self.observations.locations().points().dim() == self.given.dim()
            && [self.prior_trace, self.residual_trace, self.facts.summation_length, self.facts.whitening_bound, self.projection_growth]
                .iter()
                .all(|v| v.is_finite() && *v >= 0.0)
            && self.projected.iter().chain(self.gram.as_slice()).all(|v| v.is_finite())
            && [&self.lower, &self.lower_b].iter().all(|l| l.to_matrix().as_slice().iter().all(|v| v.is_finite()))
            && self.lower.diagonal().iter().chain(&self.lower_b.diagonal()).all(|v| v.is_finite() && *v > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collected, Kernel, Prior};

    fn stored() -> Stored {
        let line = |v: &[f64]| Points::on_line(v.to_vec()).unwrap();
        let features = FeatureMap::new(Kernel::squared_exponential(0.3, 1.0).unwrap(), line(&[0.1, 0.8])).unwrap();
        let observations = Observations::new(line(&[0.0, 0.5, 0.5]), &[1.0, 2.0, 2.5], Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let bytes = Posterior::fit(Arc::new(features), 0.1, observations).unwrap().to_bytes();
        postcard::from_bytes(sealed::open(MAGIC, VERSION, &bytes).unwrap()).unwrap()
    }

    /// A right checksum over wrong content: written by somebody else, or by a fault of ours.
    #[test]
    fn content_that_does_not_fit_together_is_refused() {
        let read = |stored: &Stored| Posterior::from_bytes(&sealed::seal(MAGIC, VERSION, &postcard::to_stdvec(stored).unwrap()));
        assert!(read(&stored()).is_ok());
        let spoils: [fn(&mut Stored); 9] = [
            |s| s.kept[1] = 7,
            |s| s.gram = Matrix::zeros(3, 2),
            |s| s.gram[(0, 1)] = f64::NAN,
            |s| s.lower = Lower::from_matrix(Matrix::identity(3)),
            |s| s.lower_b = Lower::from_matrix(Matrix::zeros(2, 2)),
            |s| s.projected = vec![1.0],
            |s| s.residual_trace = -1.0,
            |s| s.facts.whitening_bound = f64::NAN,
            |s| s.given = Points::new(vec![0.0; 4], 2).unwrap(),
        ];
        for (i, spoil) in spoils.iter().enumerate() {
            let mut stored = stored();
            spoil(&mut stored);
            assert_eq!(read(&stored).err(), Some(ModelError::Content.into()), "spoil {i}");
        }
        let other = Posterior::from_bytes(&sealed::seal(MAGIC, VERSION, b"something else"));
        assert_eq!(other.err(), Some(ModelError::Content.into()));
        // A matrix whose size is not what it says never comes into being.
        let raw = postcard::to_stdvec(&(vec![1.0_f64; 3], 2_usize, 2_usize)).unwrap();
        assert!(postcard::from_bytes::<Matrix>(&raw).is_err());
        let raw = postcard::to_stdvec(&(vec![1.0_f64; 2], 1_usize, 2_usize)).unwrap();
        assert!(postcard::from_bytes::<Matrix>(&raw).is_ok() && postcard::from_bytes::<Lower>(&raw).is_err());
    }
}
