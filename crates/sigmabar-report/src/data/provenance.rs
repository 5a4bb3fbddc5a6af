//! What an export says about a row beside its result, and why nobody can declare such a row fixed.

use super::{Cell, Reader};
use sigmabar::Collected;
use sigmabar_study::{Mark, TrialStatus};

/// The column of marks ([`Mark`]): whoever imports the rows knows.
pub const CORRECTED: &str = "corrected";
/// The column that says of results from before a study as what they were imported, where that is not fixed.
pub const COLLECTED: &str = "collected";
/// Columns that every export has: a table with all of them is one.
const OF_EXPORTS: [&str; 5] = ["trial", "batch", "state", "worker", "told_at"];

/// Where a table says what became of its rows before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance {
    state: Option<usize>,
    batch: Option<usize>,
    mark: Option<usize>,
    collected: Option<usize>,
}

impl Provenance {
    /// Of a table of results, by the names of its columns but those in use for something else.
    #[must_use]
    pub fn of(reader: &Reader, in_use: &[usize]) -> Self {
        let beside = |name: &str| reader.column_in_any_case(name, in_use).ok();
        Self { state: beside("state"), batch: beside("batch"), mark: beside(CORRECTED), collected: beside(COLLECTED) }
    }

    /// Of an export; none of another table, whose columns may mean anything.
    #[must_use]
    pub fn of_export(reader: &Reader) -> Option<Self> {
        OF_EXPORTS.iter().all(|name| reader.column(name).is_ok()).then(|| Self::of(reader, &[]))
    }

    /// The columns that it looks at.
    pub(super) fn columns(self) -> impl Iterator<Item = usize> {
        [self.state, self.batch, self.mark, self.collected].into_iter().flatten()
    }

    /// What happened to the result of a row.
    #[must_use]
    pub fn mark(self, cells: &[Cell]) -> Option<Mark> {
        word(self.mark, cells).and_then(Mark::named)
    }

    /// Whether the evaluation of a row failed.
    #[must_use]
    pub fn has_failed(self, cells: &[Cell]) -> bool {
        word(self.state, cells) == Some(TrialStatus::Failed.name())
    }

    /// Why nobody can declare a row fixed, if so: its setting was chosen, or its result may have been, by looking at results.
    #[must_use]
    pub fn objection(self, cells: &[Cell]) -> Option<String> {
        let batch = match self.batch.map(|column| &cells[column]) {
            Some(Cell::Number(batch)) => Some(*batch),
            Some(Cell::Text(text)) => text.parse().ok(),
            _ => None,
        };
        if let Some(batch) = batch.filter(|batch| *batch > 1.0) {
            return Some(format!(
                "batch {batch}, whose settings were chosen by looking at earlier results (those of the first batch alone were not)"
            ));
        }
        if word(self.state, cells) == Some(TrialStatus::Late.name()) {
            return Some("a result that came late, which others had been looked at before".to_owned());
        }
        let what = match self.mark(cells) {
            Some(Mark::Corrected) => "this result was corrected after it was analysed",
            Some(Mark::MeasuredAgain) => "this result may not be the first: its setting was measured, or handed out, again",
            Some(Mark::Fewer) => "this result is the mean of fewer measurements than were planned",
            None => {
                let collected = word(self.collected, cells).and_then(|word| word.parse::<Collected>().ok())?;
                let why = format!("the study that it comes from took this result as {}, not as fixed", collected.name());
                return (!collected.is_fixed()).then_some(why);
            }
        };
        Some(what.to_owned())
    }
}

fn word(column: Option<usize>, cells: &[Cell]) -> Option<&str> {
    match &cells[column?] {
        Cell::Text(word) => Some(word),
        _ => None,
    }
}
