//! Simulated runs: functions whose best value is known, noise, and one tidy row for every evaluation.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod benchmark;
mod evaluation;
mod function;
mod named;
mod run;
mod search;
mod summary;

pub use benchmark::Benchmark;
pub use evaluation::{Evaluation, write_csv};
pub use function::TestFunction;
pub use named::{PROBLEMS, policy_for, problem_named, stated_slope};
pub use run::{Experiment, RecommendAt};
pub use summary::{Mean, Measure, Summary, log_log_slope, mean_curve, paired_difference, summaries};
