//! Reports: one page that says the answer first, shows the pictures behind it, and carries all numbers.

mod assumptions;
mod bench;
mod elimination;
mod error;
mod fields;
mod held_out;
mod live;
mod model;
mod next;
mod page;
mod parameter;
mod plates;
mod premises;
mod study;
mod study_model;
mod style;
mod tables;

pub use bench::{bench, growth, read_evaluations, read_growth};
pub use error::{Error, Result};
pub use live::{Live, Predicted, gaps, live, live_model, live_report, predict};
pub use model::model;
pub use page::Page;
pub use parameter::{called_words, has_labels, setting_words, value_words};
pub use study::study;
pub use style::STYLE;
