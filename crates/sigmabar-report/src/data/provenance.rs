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
/// Columns beside them that say nothing of a setting.
const BESIDE: [&str; 8] = ["std", "well", "reason", "note", "replicates", "seed", CORRECTED, COLLECTED];

/// Where a table says what became of its rows before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance {
    state: Option<usize>,
    batch: Option<usize>,
    mark: Option<usize>,
    collected: Option<usize>,
}

/// The first row of a table to which there is an objection, with file and row, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objections {
    to_fixed: Option<String>,
    to_exchangeable: Option<String>,
}

impl Objections {
    /// Why nobody can declare the rows to be collected so; none where nothing is declared.
    #[must_use]
    pub fn to(&self, declared: Collected) -> Option<&str> {
        match declared {
            Collected::Exchangeable => self.to_exchangeable.as_deref(),
            _ if declared.is_fixed() => self.to_fixed.as_deref(),
            _ => None,
        }
    }

    /// Those of another row, where there was none before.
    pub(super) fn or(&mut self, found: impl Fn(Collected) -> Option<String>) {
        self.to_fixed = self.to_fixed.take().or_else(|| found(Collected::DeclaredFixed));
        self.to_exchangeable = self.to_exchangeable.take().or_else(|| found(Collected::Exchangeable));
    }

    /// Those of another file, where there was none before.
    pub fn join(&mut self, other: &Self) {
        self.or(|declared| other.to(declared).map(str::to_owned));
    }
}

impl Provenance {
    /// Of a table of results, by the names of its columns but those in use for something else.
    #[must_use]
    pub fn of(reader: &Reader, in_use: &[usize]) -> Self {
        let beside = |name: &str| reader.column_in_any_case(name, in_use).ok();
        Self { state: beside("state"), batch: beside("batch"), mark: beside(CORRECTED), collected: beside(COLLECTED) }
    }

    /// Of a table that is fitted. A batch and a state mean what they mean in an export alone; the words of the other columns cannot be mistaken.
    #[must_use]
    pub fn of_fitted(reader: &Reader) -> Self {
        let all = Self::of(reader, &[]);
        if is_export(reader) { all } else { Self { state: None, batch: None, ..all } }
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
        self.is_in(TrialStatus::Failed, cells)
    }

    fn is_in(self, state: TrialStatus, cells: &[Cell]) -> bool {
        word(self.state, cells).is_some_and(|word| word.eq_ignore_ascii_case(state.name()))
    }

    /// Why nobody can declare a row fixed, or exchangeable, if so: its setting was chosen, or its result may have been, by looking at results.
    #[must_use]
    pub fn objection(self, cells: &[Cell], declared: Collected) -> Option<String> {
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
        if self.is_in(TrialStatus::Late, cells) {
            return Some("a result that came late, which others had been looked at before".to_owned());
        }
        let what = match self.mark(cells) {
            Some(Mark::Corrected) => "this result was corrected after it was analysed",
            Some(Mark::MeasuredAgain) => "this result may not be the first: its setting was measured, or handed out, again",
            Some(Mark::Fewer) => "this result is the mean of fewer measurements than were planned",
            Some(Mark::Refuting) => {
                "this result and others refuted the premises of their study: premises that were mended by them are learnt, and not proved, by them"
            }
            None => {
                let collected = word(self.collected, cells).and_then(|word| word.to_ascii_lowercase().parse::<Collected>().ok())?;
                let why = format!("the study that it comes from took this result as {}, not as {}", collected.name(), declared.name());
                return (!collected.is_fixed() && collected != declared).then_some(why);
            }
        };
        Some(what.to_owned())
    }
}

fn is_export(reader: &Reader) -> bool {
    OF_EXPORTS.iter().all(|name| reader.column_in_any_case(name, &[]).is_ok())
}

/// The columns of an export that say nothing of a setting; none of any other table.
#[must_use]
pub fn beside_settings(reader: &Reader) -> Vec<String> {
    let is_beside = |name: &&String| OF_EXPORTS.iter().chain(&BESIDE).any(|known| known.eq_ignore_ascii_case(name));
    if is_export(reader) { reader.names().iter().filter(is_beside).cloned().collect() } else { Vec::new() }
}

fn word(column: Option<usize>, cells: &[Cell]) -> Option<&str> {
    match &cells[column?] {
        Cell::Text(word) => Some(word),
        _ => None,
    }
}
