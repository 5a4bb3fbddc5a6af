//! Studies: what is searched, which trials were asked and told, and the file that keeps them.
//!
//! A [`StudySpec`] is a study file, parsed and checked: named parameters, assumptions, budget, strategy and objective. A [`Study`] is one study in an
//! SQLite file that many processes may open at once. Asking leases trials, telling writes results down, and the next batch is planned by whoever asks
//! first when the last one is complete: the run is a function of the seed and the values, whatever the order of telling and the number of processes.
//!
//! Whatever reads or writes the file can fail with [`Error::Store`], and what asks the strategy with what that runs into; its documentation names other errors only.
//!
//! ```
//! use sigmabar_study::{AskRequest, Asked, Study, StudySpec, TrialResult, Value};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("sigmabar-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! let spec = StudySpec::from_toml(
//!     r#"
//!         budget = 12
//!         batches = 2
//!
//!         [parameters.temperature]
//!         type = "float"
//!         low = 20
//!         high = 80
//!     "#,
//!     &directory,
//! )?;
//! let study = Study::create(&directory.join("yield.db"), "yield", &spec)?;
//! while let Asked::Trials(trials) = study.ask(&AskRequest::new("bench", 4))? {
//!     for trial in trials {
//!         let (_, Value::Float(temperature)) = &trial.values[0] else { unreachable!() };
//!         let value = -(temperature - 50.0).powi(2);
//!         study.tell(trial.id, TrialResult::Value { value, standard_error: None, replicates: None })?;
//!     }
//! }
//! let advice = study.recommend()?.expect("something was measured");
//! println!("{:?}, between {} and {} ({})", advice.values, advice.lower, advice.upper, advice.label());
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod error;
mod expression;
mod objective;
mod patience;
mod pilot;
mod plate;
mod run;
mod space;
mod spec;
mod store;
mod study;
mod trial;
mod union;
mod value;

pub use error::{Error, Result, SpecError, SpecProblem, StoreError, TextPosition};
pub use expression::{Expression, ExpressionError, ExpressionProblem, parse_expression};
pub use objective::{Reply, ReplyProblem, parse_reply};
pub use pilot::{Drawn, FAILURES, Learnt, Level, Pilot, Verdict, choice_length, shown_choices};
pub use plate::{Plate, well_place};
pub use run::{Evaluated, Exchange, RunEnd, RunEvent, RunOptions};
pub use space::{CandidateTable, Parameter, ParameterKind, Space};
pub use spec::{StudySpec, Taught, wrong_name};
pub use store::now;
pub use study::{
    Advice, BatchRow, BestObserved, Cell, Feed, FilledSheet, KeyedResult, Mistyped, Nearest, Status, Study, Survivors, Well, Wells,
    WorkerRow, is_as_told, mean_of, scatter,
};
pub use trial::{
    AskRequest, Asked, AskedTrial, ControlRow, Corrected, EventKind, EventRow, HandedOut, ImportedRow, Mark, NO_RESULT, Page, Told,
    TrialResult, TrialRow, TrialStatus,
};
pub use union::seconds;
pub use value::{Value, short};
