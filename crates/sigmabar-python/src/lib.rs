//! The private module `sigmabar._core`: conversions and errors, no mathematics. The documented face is `python/sigmabar`.

mod arrays;
mod arrow;
mod certificate;
mod claim;
mod command;
mod conformal;
mod design;
mod domain;
mod error;
mod evidence;
mod exact;
mod handed;
mod inducing;
mod kernel;
mod noise;
mod origin;
mod policy;
mod posterior;
mod rows;
mod strategy;
mod study;
mod theory;
mod threads;
mod work;

use pyo3::prelude::*;

/// The private module.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrow::arrow_rows;
    #[pymodule_export]
    use super::certificate::{describe_certificate, range_sentence, read_certificate};
    #[pymodule_export]
    use super::claim::PyClaim;
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::conformal::{PyConformal, calibration_way};
    #[pymodule_export]
    use super::design::{PyDesign, max_variance_design, max_variance_design_in_box};
    #[pymodule_export]
    use super::domain::PyDomain;
    #[pymodule_export]
    use super::error::{Contradicted, Error};
    #[pymodule_export]
    use super::evidence::fit_hyperparameters;
    #[pymodule_export]
    use super::exact::{PyExactPosterior, row_fractions, seen_hashes};
    #[pymodule_export]
    use super::inducing::select_inducing;
    #[pymodule_export]
    use super::kernel::PyKernel;
    #[pymodule_export]
    use super::noise::PyNoise;
    #[pymodule_export]
    use super::posterior::PyPosterior;
    #[pymodule_export]
    use super::rows::{PyAccumulator, PyPlan, digest, row_hashes};
    #[pymodule_export]
    use super::strategy::PyStrategy;
    #[pymodule_export]
    use super::study::{PyStudy, choice_length, judge_premises, learn_premises, study_schema};
    #[pymodule_export]
    use super::theory::{
        batch_sizes, data_gain, gain_bounds, norm_of_hills, regression_bound, regret_bound, replicates, samples_for_error, samples_for_std,
    };

    #[pymodule_export]
    use super::threads::{num_threads, set_num_threads};
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const MOST_THREADS: usize = sigmabar_cli::threads::MOST;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        sigmabar_cli::threads::set_from_environment().map_err(super::error::raise)
    }
}
