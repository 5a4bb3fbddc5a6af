//! A plate, or any table of results, as it comes back.

use super::matching::plain;
use super::{CONTROL, NOTES, RESULT, STANDARD_ERROR};
use crate::data::{Cell, DataError, Reader};
use crate::setting;
use sigmabar_study::{FilledSheet, Parameter, Study, TrialResult, Value, Well, Wells, mean_of, scatter};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a table of results says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Results by their trial, with the line they stand in.
    pub results: Vec<(u64, TrialResult, u64)>,
    /// Trials whose result is empty.
    pub missing: Vec<u64>,
    /// Trials of which some replicate has a result and another is empty or not there.
    pub partial: Vec<Partial>,
    /// What was remarked about trials.
    pub notes: Vec<(u64, String)>,
    /// What controls came to, by their wells.
    pub controls: Vec<(String, f64)>,
    /// What each well came to whose trial is in several, by its trial.
    pub wells: Wells,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Every row: its trial, its line, its cells.
    pub rows: Vec<(u64, u64, Vec<Cell>)>,
    /// Whether commas were read as decimal points.
    pub has_decimal_commas: bool,
    /// Whether cells know what they hold.
    pub is_spreadsheet: bool,
}

/// A trial of whose wells some are filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial {
    /// The trial.
    pub id: u64,
    /// The line of the first that is filled in.
    pub line: u64,
    /// How many wells are filled in, and how many there are.
    pub filled: (usize, usize),
    /// The names of wells that are empty, as far as they stand in the table.
    pub empty: Vec<String>,
}

const TWICE: &str = "another line has the same well: every well has a line of its own, with its own result";

/// What people write where there is no result.
pub fn is_blank(cell: &Cell) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Text(text) => ["n/a", "na", "-", "–"].contains(&text.to_lowercase().as_str()),
        Cell::Number(_) | Cell::Moment(_) => false,
    }
}

/// What belongs into a cell of results.
pub const REMEDY: &str = "put a number there, the word failed, or leave it empty if there is no result";

/// Reads trial, result and, if there are such columns besides those of the parameters, standard error and notes. An empty result is a missing well, the word `failed` a failed one, whose
/// note is the reason too unless one stands behind the word. A trial may stand in as many lines as it has replicates; controls have their own word in its place.
///
/// # Errors
/// [`DataError`] naming the line and the column.
pub fn read(mut reader: Reader, result: Option<&str>, parameters: &[Parameter], replicates: usize) -> Result<Reading, DataError> {
    let mut in_use = Vec::new();
    for parameter in parameters {
        if let Some(column) = reader.names().iter().position(|name| parameter.is_headed(name)) {
            setting::keep_choices(&mut reader, parameter, column);
            in_use.push(column);
        }
    }
    let column = |name: &str| reader.column_in_any_case(name, &in_use);
    let trial = column("trial").or_else(|error| column("id").map_err(|_| error))?;
    let result = match result {
        Some(name) => reader.column(name)?,
        None => column(RESULT)?,
    };
    let error = column(STANDARD_ERROR).ok();
    let well = column("well").ok();
    let is_note = |name: &String| NOTES.contains(&name.to_lowercase().as_str());
    let notes: Vec<usize> = (0..reader.names().len()).filter(|i| is_note(&reader.names()[*i]) && !in_use.contains(i)).collect();
    notes.iter().for_each(|column| reader.keep_text(*column));
    let (mut reading, mut seen) = (Reading { columns: reader.names().to_vec(), ..Reading::default() }, HashMap::<u64, usize>::new());
    let mut wells: HashSet<(Option<u64>, String)> = HashSet::new();
    let mut cells = Vec::new();
    while let Some(line) = reader.next_row(&mut cells)? {
        let wrong = |column: usize, remedy: &str| reader.wrong_cell(line, column, &cells[column], remedy);
        if matches!(&cells[trial], Cell::Text(word) if word.eq_ignore_ascii_case(CONTROL)) {
            match (&cells[result], well) {
                (Cell::Number(_), None) => {
                    return Err(wrong(trial, "a control is kept by its well: give the table a column well, or take the row out"));
                }
                (Cell::Number(_), Some(well)) if is_blank(&cells[well]) => {
                    return Err(wrong(well, "a control is kept by its well: write its name there"));
                }
                (Cell::Number(_), Some(well)) if !wells.insert((None, plain(&cells[well].to_string()))) => {
                    return Err(wrong(well, TWICE));
                }
                (Cell::Number(value), Some(well)) if value.is_finite() => reading.controls.push((plain(&cells[well].to_string()), *value)),
                (cell, _) if is_blank(cell) || matches!(cell, Cell::Text(text) if text.to_lowercase().starts_with("fail")) => {}
                _ => return Err(wrong(result, REMEDY)),
            }
            continue;
        }
        let id = match cells[trial] {
            Cell::Number(number) if number >= 0.0 && number.fract() == 0.0 && number < 1e15 => number as u64,
            _ => return Err(wrong(trial, "the number of the trial, as ask gave it, belongs there")),
        };
        let lines = seen.entry(id).or_default();
        *lines += 1;
        if *lines > replicates {
            let remedy = "no other line may have the same trial";
            return Err(wrong(
                trial,
                if replicates == 1 { remedy } else { "no more lines may have the same trial than it has replicates" },
            ));
        }
        // A row that was pasted over another one would be a second measurement that nobody made.
        if let Some(well) = well.filter(|well| !is_blank(&cells[*well]) && !wells.insert((Some(id), plain(&cells[*well].to_string())))) {
            return Err(wrong(well, TWICE));
        }
        let standard_error = match error.map(|column| (column, &cells[column])) {
            None => None,
            Some((_, cell)) if is_blank(cell) => None,
            Some((_, Cell::Number(number))) if number.is_finite() && *number > 0.0 => Some(*number),
            Some((column, _)) => return Err(wrong(column, "a positive standard error belongs there, or nothing")),
        };
        let said: Vec<String> = notes.iter().filter(|i| cells[**i] != Cell::Missing).map(|i| cells[*i].to_string()).collect();
        let note = Some(said.join("; ")).filter(|words| !words.is_empty());
        match &cells[result] {
            cell if is_blank(cell) => reading.missing.push(id),
            Cell::Number(value) if value.is_finite() => {
                reading.results.push((id, TrialResult::Value { value: *value, standard_error, replicates: None }, line));
            }
            Cell::Text(text) if text.to_lowercase().starts_with("fail") => {
                let stated = text.split_once(':').map(|(_, words)| words.trim().to_owned()).filter(|words| !words.is_empty());
                let reason = stated.or_else(|| note.clone()).unwrap_or_else(|| "failed".to_owned());
                reading.results.push((id, TrialResult::Failed { reason }, line));
            }
            _ => return Err(wrong(result, REMEDY)),
        }
        reading.notes.extend(note.map(|words| (id, words)));
        reading.rows.push((id, line, cells.clone()));
    }
    let told: Vec<usize> = [trial, result].into_iter().chain(error).chain(in_use).collect();
    reader.check_points(&told)?;
    reading.is_spreadsheet = reader.is_spreadsheet();
    reading.has_decimal_commas = reader.has_decimal_commas();
    Ok(reading)
}

impl Reading {
    /// The line that the result of a trial stands in.
    #[must_use]
    pub fn line_of(&self, id: u64) -> Option<u64> {
        self.results.iter().find(|(told, ..)| *told == id).map(|(.., line)| *line)
    }

    fn has_wells(&self) -> bool {
        self.columns.iter().any(|name| name.eq_ignore_ascii_case("well"))
    }

    /// The well in a line, as the plate calls it; empty where there is no such column.
    fn well_at(&self, line: u64) -> String {
        let column = self.columns.iter().position(|name| name.eq_ignore_ascii_case("well"));
        let row = self.rows.iter().find(|(_, at, _)| *at == line);
        column.zip(row).map_or_else(String::new, |(column, (.., cells))| plain(&cells[column].to_string()))
    }

    /// The line of a trial, or of one of its wells.
    #[must_use]
    pub fn line_of_well(&self, (trial, well): &(u64, Option<String>)) -> Option<u64> {
        let is_it = |line: &u64| well.as_ref().is_some_and(|well| self.well_at(*line) == *well);
        self.rows.iter().filter(|(id, ..)| id == trial).map(|(_, line, _)| *line).find(is_it).or_else(|| self.line_of(*trial))
    }

    /// What is told of it: the results with their wells and remarks, and the settings that were used otherwise than asked.
    #[must_use]
    pub fn filled(&self, used: Vec<(u64, Vec<Value>)>, correction: Option<String>) -> FilledSheet {
        let results = self.results.iter().map(|(id, result, _)| (*id, result.clone())).collect();
        let beside = self.rows.first().filter(|_| !self.controls.is_empty());
        let controls = beside.map(|(id, ..)| (*id, self.controls.clone()));
        FilledSheet { results, notes: self.notes.clone(), used, wells: self.wells.clone(), controls, correction }
    }

    /// The trial that is told by some of its wells while others are empty, if there is one among those that are asked about; with the line, and in words. A batch that is complete is
    /// analysed at once, and a reading that comes after that is a correction.
    pub fn half_filled(&self, is_asked: impl Fn(u64) -> bool) -> Option<(u64, String)> {
        let mut asked = self.partial.iter().filter(|partial| is_asked(partial.id));
        let Partial { id, line, filled: (filled, planned), empty } = asked.next()?;
        let empty = match &empty[..] {
            [] => "the others are not in the table".to_owned(),
            names => format!("{} {} empty", names.join(", "), if names.len() == 1 { "is" } else { "are" }),
        };
        let more = Some(asked.count()).filter(|more| *more > 0).map_or_else(String::new, |more| format!(" (and {more} more like it)"));
        Some((*line, format!("trial {id} has a result in {filled} of its {planned} wells, and {empty}{more}; nothing was written down")))
    }

    /// The means of replicates, of which so many are planned, with their number and the standard error that the scatter of all replicates of the sheet gives them.
    #[must_use]
    pub fn averaged(mut self, planned: usize) -> Self {
        let of_trial = |id: u64| self.rows.iter().filter(|(row, ..)| *row == id).count();
        if !self.has_wells() && self.results.iter().all(|(id, ..)| of_trial(*id) == 1) {
            // A list has a setting in one row: what stands there is the mean of all its wells.
            return self;
        }
        let mut groups: BTreeMap<u64, Vec<(TrialResult, u64)>> = BTreeMap::new();
        for (id, result, line) in std::mem::take(&mut self.results) {
            groups.entry(id).or_default().push((result, line));
        }
        let well = |(result, line): &(TrialResult, u64)| match result {
            TrialResult::Value { value, .. } => (self.well_at(*line), Some(*value)),
            TrialResult::Failed { .. } => (self.well_at(*line), None),
        };
        self.wells = groups.iter().map(|(id, group)| (*id, group.iter().map(well).collect())).collect();
        let level = scatter(self.wells.values());
        for (id, mut group) in groups {
            if group.len() > 1 {
                // People read notes: what each well came to stands there too.
                let each: Vec<String> = self.wells[&id].iter().map(well_words).collect();
                self.notes.push((id, format!("replicates {}", each.join(", "))));
            }
            if group.len() < planned {
                let is_empty = |line: u64| !group.iter().any(|(_, told)| *told == line);
                let empty = self.rows.iter().filter(|(row, line, _)| *row == id && is_empty(*line)).map(|(_, line, _)| self.well_at(*line));
                let empty = empty.filter(|name| !name.is_empty()).collect();
                self.partial.push(Partial { id, line: group[0].1, filled: (group.len(), planned), empty });
            }
            let (first, line) = group.swap_remove(0);
            let result = if group.is_empty() { first } else { mean_of(&self.wells[&id], level).unwrap_or(first) };
            self.missing.retain(|missing| *missing != id);
            self.results.push((id, result, line));
        }
        self.missing.dedup();
        // A trial has one note, and several wells.
        let mut notes: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        self.notes.drain(..).for_each(|(id, note)| notes.entry(id).or_default().push(note));
        self.notes = notes.into_iter().map(|(id, all)| (id, all.join("; "))).collect();
        self
    }
}

/// A trial that is about to be told for the first time by some of its wells while others are empty ([`Reading::half_filled`]). Those of a pilot may be told as one likes.
///
/// # Errors
/// [`sigmabar_study::Error::Store`].
pub fn half_filled(study: &Study, reading: &Reading) -> sigmabar_study::Result<Option<(u64, String)>> {
    if reading.partial.is_empty() {
        return Ok(None);
    }
    let open: HashSet<u64> = study.trials()?.iter().filter(|trial| trial.state.is_open()).map(|trial| trial.id).collect();
    Ok(reading.half_filled(|id| open.contains(&id) && !study.is_of_pilot(id)))
}

/// What one well came to.
fn well_words((name, value): &Well) -> String {
    let value = value.map_or_else(|| "failed".to_owned(), |value| value.to_string());
    if name.is_empty() { value } else { format!("{name} {value}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn of(text: &str) -> Result<Reading, DataError> {
        read(Reader::csv("plate.csv".into(), Box::new(Cursor::new(text.as_bytes().to_vec())))?, None, &[], 1)
    }

    #[test]
    fn values_failures_and_missing_wells_are_told_apart() {
        let reading = of(
            "well,trial,x,result,std,note,Remarks\nA1,3,0.5,1.25,0.1,,\nA2,0,0.1,failed,,cell died,\nA3,7,0.2,,,dropped,\nA4,8,1,FAIL: no light,,odd,7\n",
        )
        .unwrap();
        let value = TrialResult::Value { value: 1.25, standard_error: Some(0.1), replicates: None };
        let failed = |reason: &str| TrialResult::Failed { reason: reason.into() };
        assert_eq!(reading.results, [(3, value, 2), (0, failed("cell died"), 3), (8, failed("no light"), 5)]);
        assert_eq!(reading.missing, [7]);
        assert_eq!(reading.notes, [(0, "cell died".to_owned()), (7, "dropped".to_owned()), (8, "odd; 7".to_owned())]);
        let other = of("trial,Result\n3,n/a\n4,-\n5,2\n").unwrap();
        assert_eq!((other.missing, other.results.len()), (vec![3, 4], 1));
    }

    #[test]
    fn notes_are_kept_as_they_are_written() {
        let reading = of("trial;result;note\n0;1.5;00412\n1;2;1e5\n2;3;3.0\n3;4;12,5\n").unwrap();
        let notes: Vec<&str> = reading.notes.iter().map(|(_, note)| note.as_str()).collect();
        assert_eq!((notes, reading.has_decimal_commas), (vec!["00412", "1e5", "3.0", "12,5"], false));
    }

    #[test]
    fn replicates_are_averaged_and_controls_kept_apart() {
        let text = "well,trial,result\nA1,0,1\nA2,0,3\nA3,control,9.5\nA4,1,failed\nA5,1,4\nA6,2,\nB1,2,7\nB2,3,\nB3,3,\nB4,Control,\n";
        let reader = || Reader::csv("plate.csv".into(), Box::new(Cursor::new(text.as_bytes().to_vec()))).unwrap();
        let reading = read(reader(), None, &[], 2).unwrap().averaged(2);
        let value = |value: f64| TrialResult::Value { value, standard_error: None, replicates: None };
        // The scatter of the only pair is √2, that of a mean of two 1.
        let mean = TrialResult::Value { value: 2.0, standard_error: Some(1.0), replicates: Some(2) };
        assert_eq!(reading.results, [(0, mean, 2), (1, value(4.0), 5), (2, value(7.0), 8)]);
        let notes = [(0, "replicates A1 1, A2 3".to_owned()), (1, "replicates A4 failed, A5 4".to_owned())];
        let half = Partial { id: 2, line: 8, filled: (1, 2), empty: vec!["A6".to_owned()] };
        assert_eq!((&reading.notes[..], &reading.partial[..]), (&notes[..], &[half][..]));
        let (line, said) = reading.half_filled(|_| true).unwrap();
        assert_eq!((line, said.as_str()), (8, "trial 2 has a result in 1 of its 2 wells, and A6 is empty; nothing was written down"));
        assert_eq!(reading.half_filled(|id| id != 2), None);
        // A row that somebody deleted is a well that is missing.
        let deleted = text.replace("A2,0,3\n", "");
        let deleted = Reader::csv("plate.csv".into(), Box::new(Cursor::new(deleted.into_bytes()))).unwrap();
        let (_, said) = read(deleted, None, &[], 2).unwrap().averaged(2).half_filled(|id| id == 0).unwrap();
        assert_eq!(said, "trial 0 has a result in 1 of its 2 wells, and the others are not in the table; nothing was written down");
        assert_eq!((reading.missing, reading.controls), (vec![3], vec![("A3".to_owned(), 9.5)]));
        // A list has one row a setting: its means are somebody's word.
        let list = Reader::csv("list.csv".into(), Box::new(Cursor::new(b"trial,x,result\n0,1,5\n1,2,\n2,3,7\n".to_vec()))).unwrap();
        let list = read(list, None, &[], 2).unwrap().averaged(2);
        assert_eq!((list.half_filled(|_| true), list.results), (None, vec![(0, value(5.0), 2), (2, value(7.0), 4)]));
        assert!(read(reader(), None, &[], 1).unwrap_err().to_string().contains("no other line may have the same trial"));
    }

    /// A German spreadsheet shows 1465 as 1.465, and writes what it shows.
    #[test]
    fn points_that_may_stand_before_thousands_are_not_guessed_at() {
        let said = of("trial;t;result\n0;60;470\n1;80;1.465\n").unwrap_err().to_string();
        assert!(
            said.contains("line 3, column \"result\": \"1.465\" may mean 1465 or 1.465") && said.ends_with("write 1465, or, once, 1.4650"),
            "{said}"
        );
        for plain in [
            "trial;t;result\n0;60;0.47\n1;80;1.465\n",
            "trial;result;lot\n0;470;2.100\n",
            "trial;t;result\n0;60;2.5000\n1;80;1.465\n",
            "trial,result\n0,1.465\n",
        ] {
            assert!(of(plain).is_ok(), "{plain}");
        }
    }

    #[test]
    fn names_are_read_in_any_case() {
        let reading = of("Trial,RESULT,Std\n3,1.25,0.1\n").unwrap();
        assert_eq!(reading.results, [(3, TrialResult::Value { value: 1.25, standard_error: Some(0.1), replicates: None }, 2)]);
    }

    #[test]
    fn wrong_cells_are_named() {
        let said = |text: &str| of(text).unwrap_err().to_string();
        assert_eq!(
            said("trial,result\n0,1\n1,high\n"),
            "plate.csv, line 3, column \"result\": \"high\" is not a number; put a number there, the word failed, or leave it empty if there is no result"
        );
        assert!(said("trial,result\n0,\"1,5\"\n").contains("with a point"));
        assert!(said("trial,result\n0.5,1\n").contains("line 2, column \"trial\": 0.5"));
        assert!(said("trial,result\n1,1\n1,2\n").contains("line 3, column \"trial\": 1"));
        assert!(said("trial,reslt\n1,1\n").contains("did you mean \"reslt\"") || said("trial,reslt\n1,1\n").contains("reslt"));
        assert!(said("trial,result,std\n1,1,-2\n").contains("column \"std\""));
        assert!(said("trial,result\n1,1\ncontrol,12.14\n").contains("give the table a column well"));
        assert!(said("well,trial,result\nA1,1,1\n,control,12.14\n").contains("line 3, column \"well\""));
        assert!(said("well,trial,result\nA1,1,1\nB1,control,3\nb01,control,12.14\n").contains("another line has the same well"));
        // Pasted over the second replicate, a row is no second measurement.
        let pasted = "well,trial,result\nA1,1,67.41\nA1,1,67.41\n".as_bytes().to_vec();
        let pasted = read(Reader::csv("plate.csv".into(), Box::new(Cursor::new(pasted))).unwrap(), None, &[], 2);
        assert!(pasted.unwrap_err().to_string().contains("line 3, column \"well\": \"A1\""));
    }
}
