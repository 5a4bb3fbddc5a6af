//! What takes passes over the rows to find out, for all claims that rest on it.

use super::Information;
use crate::error::Result;
use crate::features::ResidualRounding;
use crate::residual::ResidualNorm;
use std::sync::{Arc, OnceLock};

/// Found out once. A clone knows nothing: whoever makes one changes it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub rounding: Once<ResidualRounding>,
    /// By the default method.
    pub norm: Once<ResidualNorm>,
    /// Through so many inducing points more, for the first who asked.
    pub extended: Once<(usize, Option<Arc<Information>>)>,
}

impl Clone for Known {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Debug)]
pub(crate) struct Once<T>(OnceLock<T>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T: Clone> Once<T> {
    /// Two who ask at once find the same.
    pub fn or(&self, find: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(known) = self.0.get() {
            return Ok(known.clone());
        }
        let found = find()?;
        Ok(self.0.get_or_init(|| found).clone())
    }
}
