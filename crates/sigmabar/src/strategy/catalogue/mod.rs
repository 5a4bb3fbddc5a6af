//! Every strategy by its name, with its options: the one list that study files, their schema, Python, `bench` and the documentation read.

mod entries;
mod given;
mod kind;
mod make;
mod problem;
mod spec;

pub use entries::{STRATEGIES, StrategyEntry, StrategyOption};
pub use kind::{OptionKind, Range};
pub use problem::{PolicyError, PolicyProblem, nearest};
pub use spec::{OptionValue, PolicySpec};
