//! More inducing points than predict, for claims of a model that has lost its rows.

use super::Information;
use sigmabar_linalg::Matrix;
use std::sync::Arc;

/// The same measurements seen through inducing points $Z'\supset Z$: behind the look-ahead bound on $\lambda$ and the certification dictionary.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    /// Without rows itself.
    pub information: Arc<Information>,
    /// $F^\top\Psi$: the new features against the old ones (p × m).
    pub cross: Matrix,
}
