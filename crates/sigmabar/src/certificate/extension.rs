//! More inducing points than predict: behind the look-ahead bound on $\lambda$ and the certification dictionary.

use super::bias::cross_products;
use super::residual_norm::NEGLIGIBLE_SHARE as NEGLIGIBLE;
use crate::error::Result;
use crate::features::{self, FeatureMap};
use crate::information::{Ahead, Information};
use crate::posterior::Posterior;
use std::sync::Arc;

/// The same information seen through up to `pivots` inducing points more: continues the pivoted Cholesky factorisation of
/// $C^{1/2}DC^{1/2}$, greedy in residual times count. `None` where nothing is left beyond rounding.
///
/// Whatever the pivots, every bound drawn from the result is valid. Cost: one fit with the larger feature map.
/// Where the rows are gone, what was kept of them for this.
pub(crate) fn extended(information: &Information, pivots: usize) -> Result<Option<Arc<Information>>> {
    if let Some(ahead) = information.ahead() {
        return Ok((pivots > 0).then(|| Arc::clone(&ahead.information)));
    }
    let (found, more) = information.known().extended.or(|| Ok((pivots, extend(information, pivots)?)))?;
    if found == pivots { Ok(more) } else { extend(information, pivots) }
}

fn extend(information: &Information, pivots: usize) -> Result<Option<Arc<Information>>> {
    let locations = information.locations()?;
    let chosen = features::pivots(information.features(), locations, pivots)?;
    let mut features = FeatureMap::clone(information.features());
    let before = features.len();
    let x = locations.points();
    for i in chosen {
        features.append(x.row(i))?;
    }
    if features.len() == before {
        return Ok(None);
    }
    let more = Information::new(Arc::new(features), information.ridge(), Arc::clone(locations))?;
    Ok(Some(Arc::new(more)))
}

impl Posterior {
    /// The same model without its rows: it predicts as before, and claims by the trace and the direct width. Where $\lambda$ is not negligible, up to `ahead` inducing
    /// points more are kept in their place, for the look-ahead bound and the certification dictionary. Cost O(m³), with them O(nm²).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn without_rows(&self, ahead: usize) -> Result<Self> {
        let (information, summed) = (self.information(), self.summed(None));
        if !information.has_rows() {
            return Ok(self.clone());
        }
        let share = || Ok::<_, crate::Error>(summed.information().trace_norm()?.value / information.ridge().powi(2));
        let more = if ahead > 0 && share()? > NEGLIGIBLE { extended(information, ahead)? } else { None };
        let ahead = match more {
            Some(more) => Some(Ahead { cross: cross_products(information, &more)?, information: Arc::new(more.summed()) }),
            None => return Ok(summed),
        };
        Ok(self.summed(ahead))
    }
}
