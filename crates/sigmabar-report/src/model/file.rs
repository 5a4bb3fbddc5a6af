//! The bytes of a model file: the posterior in the one envelope of everything saved, with what the model is about as its remark.

use super::{About, Model};
use crate::data::ColumnInfo;
use sigmabar::Posterior;
use sigmabar::sealed::SavedError;

impl Model {
    /// The bytes of the model file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.posterior.to_bytes_with(&serde_json::to_string(&self.about).expect("names and numbers always serialise"))
    }

    /// Reads the bytes of a model file. One that says nothing of what it is about, as Python may save it, has the columns c0, c1, … and the target y.
    ///
    /// # Errors
    /// [`SavedError`] saying why: foreign, of another version, cut, damaged, or not fitting together.
    pub fn from_bytes(bytes: &[u8]) -> sigmabar::Result<Self> {
        let torn = |what| SavedError::Content { what };
        let (posterior, remark) = Posterior::from_bytes_with(bytes)?;
        let mut about = match remark {
            "" => About::default(),
            text => serde_json::from_str(text).map_err(|_| torn("what the model is about cannot be read"))?,
        };
        let width = posterior.information().features().inducing().dim();
        if about.features.is_empty() {
            about.features = (0..width).map(|i| ColumnInfo::named(format!("c{i}"))).collect();
        }
        if about.features.len() != width {
            return Err(torn("another number of column names than its points have columns").into());
        }
        if about.parts.iter().any(|part| part.posterior.information().features().inducing().dim() != width) {
            return Err(torn("models of parts of the rows whose points have other columns").into());
        }
        Ok(Self { about, posterior })
    }
}
