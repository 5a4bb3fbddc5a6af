//! Where to measure in order to learn the function everywhere: points of largest variance, chosen without seeing a response.

mod basis;
mod box_run;
mod cells;
mod dictionary_size;
mod exact;
mod guarantee;
mod max_variance;
mod pairs;
mod queue;
mod store;
mod sweep;

pub use cells::CellSearch;
pub use dictionary_size::DictionarySize;
pub(crate) use exact::ExactSweep;
pub use guarantee::{Design, ErrorRow, UniformError};
pub use max_variance::MaxVariance;
pub(crate) use queue::Queue;
