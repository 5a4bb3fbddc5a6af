//! What every policy works with: the problem, the book of what was asked and told, and what may be said at the end.

pub(crate) mod dial;
pub(crate) mod ledger;
pub(crate) mod mishaps;
pub(crate) mod problem;
pub(crate) mod recommendation;
pub(crate) mod repeated;
pub(crate) mod standing;
mod stored_problem;
pub(crate) mod survivors;

pub use ledger::{Ask, Attached, Ledger, Measured, Outcome, Trial, TrialState};
pub use mishaps::Mishaps;
pub use problem::{Direction, Failures, Problem};
pub use recommendation::{BatchReport, Recommendation, StillPossible};
pub use standing::{Noisepoint, PremiseRow, Repeats, Standing, Standpoint};
pub use survivors::{Cell, Survivors};
