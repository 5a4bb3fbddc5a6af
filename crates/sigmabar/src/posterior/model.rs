//! A fitted model as bytes. A damaged or foreign file is refused with a reason.

use super::Posterior;
use crate::error::{Error, Result, SavedError};
use crate::features::FeatureMap;
use crate::information::{Absorbed, Ahead, FitFacts, Information};
use crate::kernel::Kernel;
use crate::origin::Sourced;
use crate::points::{KeptLocations, KeptResponses, Locations, Points};
use crate::sealed::{self, Kind};
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix};
use std::sync::Arc;

/// A right checksum over something else.
const TORN: Error = Error::Saved(SavedError::Content { what: "a model" });

#[derive(Serialize, Deserialize)]
struct Stored {
    information: StoredInformation,
    /// What was kept for claims in the place of the rows: the same through more inducing points, and the new features against the old.
    ahead: Option<(StoredInformation, Matrix)>,
    responses: KeptResponses,
    projected: Vec<f64>,
    projection_growth: f64,
    /// $L_B^{-1}h/\tau^2$, where reflections left it.
    whitened: Option<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
struct StoredInformation {
    kernel: Sourced<Kernel>,
    given: Sourced<Points>,
    kept: Vec<usize>,
    lower: Lower,
    ridge: Sourced<f64>,
    gram: Matrix,
    lower_b: Lower,
    prior_trace: f64,
    residual_trace: f64,
    facts: FitFacts,
    /// `None` where the responses know every row.
    locations: Option<KeptLocations>,
    /// Rank-one updates since the factor was made: rounding bounds count them.
    updates: usize,
}

impl Posterior {
    /// The whole fitted model as bytes, in the envelope of everything saved ([`crate::sealed`]). Cost O(nd + m²), O(m²) without rows.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_with("")
    }

    /// The same with a remark for whoever reads it, such as the names of the columns as JSON.
    #[must_use]
    pub fn to_bytes_with(&self, remark: &str) -> Vec<u8> {
        let information = self.information();
        let stored = Stored {
            information: StoredInformation::of(information),
            ahead: information.ahead().map(|ahead| (StoredInformation::of(&ahead.information), ahead.cross.clone())),
            responses: self.responses().clone(),
            projected: self.projected().to_vec(),
            projection_growth: self.projection_growth(),
            whitened: self.whitened().cloned(),
        };
        sealed::seal(Kind::Model, remark, &postcard::to_stdvec(&stored).expect("plain numbers and lists always serialise"))
    }

    /// Reads a model written by [`Posterior::to_bytes`]; its predictions are bitwise those of the model that was saved.
    ///
    /// # Errors
    /// [`SavedError`] saying why: foreign, of another version, cut short, damaged, or not a model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_bytes_with(bytes).map(|(posterior, _)| posterior)
    }

    /// The same with the remark that was written with it; empty where there was none.
    ///
    /// # Errors
    /// As [`Posterior::from_bytes`].
    pub fn from_bytes_with(bytes: &[u8]) -> Result<(Self, &str)> {
        let opened = sealed::open(Kind::Model, bytes)?;
        let stored: Stored = postcard::from_bytes(opened.content).map_err(|_| TORN)?;
        if stored.is_consistent() { Ok((stored.assemble()?, opened.remark)) } else { Err(TORN) }
    }
}

impl Stored {
    fn assemble(self) -> Result<Posterior> {
        let rows = self.responses.rows().ok().map(|rows| Arc::clone(rows.locations()));
        let ahead = match self.ahead {
            Some((information, cross)) => Some(Ahead { information: Arc::new(information.assemble(None)?), cross }),
            None => None,
        };
        let information = self.information.assemble(rows)?.with_ahead(ahead);
        Posterior::assemble(Arc::new(information), self.responses, (self.projected, self.whitened), self.projection_growth)
    }

    fn is_consistent(&self) -> bool {
        let (m, dim) = (self.information.kept.len(), self.information.given.value.dim());
        let rows = self.responses.rows();
        self.information.is_consistent()
            && self.ahead.as_ref().is_none_or(|(more, cross)| {
                let added = more.kept.len().checked_sub(m);
                more.is_consistent() && more.locations.is_some() && added == Some(cross.rows()) && (cross.rows() == 0 || cross.cols() == m)
            })
            && self.projected.len() == m
            && self.whitened.as_ref().is_none_or(|d| d.len() == m && d.iter().all(|v| v.is_finite()))
            && self.responses.is_consistent()
            && rows.is_ok() == self.information.locations.is_none()
            && rows.is_ok_and(|rows| rows.locations().points().dim() == dim) == self.information.locations.is_none()
            && self.projection_growth.is_finite()
            && self.projection_growth >= 0.0
            && self.projected.iter().all(|v| v.is_finite())
    }
}

impl StoredInformation {
    fn of(information: &Information) -> Self {
        let features = information.features();
        Self {
            kernel: features.sourced_kernel().clone(),
            given: features.sourced_given().clone(),
            kept: features.kept().to_vec(),
            lower: features.lower().clone(),
            ridge: Sourced::new(information.ridge(), information.ridge_origin()),
            gram: information.gram().clone(),
            lower_b: information.lower().clone(),
            prior_trace: information.prior_trace(),
            residual_trace: information.residual_trace(),
            facts: *information.facts(),
            locations: (!information.has_rows()).then(|| information.kept().clone()),
            updates: information.updates(),
        }
    }

    fn assemble(self, rows: Option<Arc<Locations>>) -> Result<Information> {
        let features = FeatureMap::assemble(self.kernel, self.given, self.kept, self.lower)?;
        let absorbed = Absorbed {
            gram: self.gram,
            lower: self.lower_b,
            prior_trace: self.prior_trace,
            residual_trace: self.residual_trace,
            projected: None,
            whitened: None,
            facts: self.facts,
            updates: self.updates,
        };
        let locations = self.locations.or_else(|| rows.map(KeptLocations::Rows)).ok_or(TORN)?;
        Information::assemble(Arc::new(features), self.ridge, locations, absorbed)
    }

    fn is_consistent(&self) -> bool {
        let m = self.kept.len();
        self.kernel.value.validate().is_ok()
            && self.kernel.value.check_dim(self.given.value.dim()).is_ok()
            && self.kept.iter().all(|&i| i < self.given.value.len())
            && self.lower.len() == m
            && self.lower_b.len() == m
            && (self.gram.rows(), self.gram.cols(), self.gram.as_slice().len()) == (m, m, m * m)
            && self.locations.as_ref().is_none_or(|kept| kept.is_consistent() && kept.rows().is_err())
            && [self.prior_trace, self.residual_trace, self.facts.summation_length, self.facts.reflected_rows, self.facts.whitening_bound]
                .iter()
                .all(|v| v.is_finite() && *v >= 0.0)
            && self.gram.as_slice().iter().all(|v| v.is_finite())
            && [&self.lower, &self.lower_b].iter().all(|l| l.to_matrix().as_slice().iter().all(|v| v.is_finite()))
            && self.lower.diagonal().iter().chain(&self.lower_b.diagonal()).all(|v| v.is_finite() && *v > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collected, Kernel, Observations, Prior};

    fn stored() -> Stored {
        let line = |v: &[f64]| Points::on_line(v.to_vec()).unwrap();
        let features = FeatureMap::new(Kernel::squared_exponential(0.3, 1.0).unwrap(), line(&[0.1, 0.8])).unwrap();
        let observations = Observations::new(line(&[0.0, 0.5, 0.5]), &[1.0, 2.0, 2.5], Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let bytes = Posterior::fit(Arc::new(features), 0.1, observations).unwrap().to_bytes();
        postcard::from_bytes(sealed::open(Kind::Model, &bytes).unwrap().content).unwrap()
    }

    /// A right checksum over wrong content: written by somebody else, or by a fault of ours.
    #[test]
    fn content_that_does_not_fit_together_is_refused() {
        let read = |stored: &Stored| Posterior::from_bytes(&sealed::seal(Kind::Model, "", &postcard::to_stdvec(stored).unwrap()));
        assert!(read(&stored()).is_ok());
        let spoils: [fn(&mut Stored); 9] = [
            |s| s.information.kept[1] = 7,
            |s| s.information.gram = Matrix::zeros(3, 2),
            |s| s.information.gram[(0, 1)] = f64::NAN,
            |s| s.information.lower = Lower::from_matrix(Matrix::identity(3)),
            |s| s.information.lower_b = Lower::from_matrix(Matrix::zeros(2, 2)),
            |s| s.projected = vec![1.0],
            |s| s.information.residual_trace = -1.0,
            |s| s.information.facts.whitening_bound = f64::NAN,
            |s| s.information.given.value = Points::new(vec![0.0; 4], 2).unwrap(),
        ];
        for (i, spoil) in spoils.iter().enumerate() {
            let mut stored = stored();
            spoil(&mut stored);
            assert_eq!(read(&stored).err(), Some(TORN), "spoil {i}");
        }
        let other = Posterior::from_bytes(&sealed::seal(Kind::Model, "", b"something else"));
        assert_eq!(other.err(), Some(TORN));
        // A matrix whose size is not what it says never comes into being.
        let raw = postcard::to_stdvec(&(vec![1.0_f64; 3], 2_usize, 2_usize)).unwrap();
        assert!(postcard::from_bytes::<Matrix>(&raw).is_err());
        let raw = postcard::to_stdvec(&(vec![1.0_f64; 2], 1_usize, 2_usize)).unwrap();
        assert!(postcard::from_bytes::<Matrix>(&raw).is_ok() && postcard::from_bytes::<Lower>(&raw).is_err());
    }
}
