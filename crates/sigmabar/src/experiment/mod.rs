//! Simulated runs: functions whose best value is known, noise, and one tidy row for every evaluation.

mod benchmark;
mod classic;
mod evaluation;
mod function;
mod noise;
mod run;
mod search;
mod summary;

pub use benchmark::Benchmark;
pub use classic::Classic;
pub use evaluation::{Evaluation, write_csv};
pub use function::TestFunction;
pub use noise::SimulatedNoise;
pub use run::{Experiment, Looks};
pub use summary::{Mean, Measure, Summary, log_log_slope, mean_curve, paired_difference, summaries};
