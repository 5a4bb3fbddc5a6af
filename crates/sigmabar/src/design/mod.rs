//! Where to measure in order to learn the function everywhere: points of largest variance, chosen without seeing a response.

mod basis;
mod box_run;
mod cells;
mod chosen;
mod exact;
mod growth;
mod max_variance;
mod pairs;
mod paper;
mod queue;
mod store;
mod sweep;

pub use cells::CellSearch;
pub use chosen::{Design, UniformError};
pub(crate) use exact::ExactSweep;
pub use growth::Growth;
pub use max_variance::MaxVariance;
pub use paper::{PaperDesign, PaperMaxVariance};
pub(crate) use queue::Queue;
