//! The columns that were asked for, as numbers, row after row.

use super::place::{Place, is_date, is_missing, is_no_number, is_truth, misread};
use super::{Cell, ColumnInfo, DataError, Objections, Options, Provenance, Reader, Table, moments};
use crate::quantity::Bytes;
use std::path::PathBuf;

/// Which columns to take.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// These, in this order.
    Named(Vec<String>),
    /// All but these, in the order of the file.
    AllBut(Vec<String>),
}

/// Columns of categories: found while reading, or known from before.
#[derive(Clone, Debug)]
pub enum Categories {
    /// These columns hold categories, whose names are collected.
    Collected(Vec<String>),
    /// These columns hold these categories and no others.
    Known(Vec<ColumnInfo>),
    /// These columns hold these categories so far, and new ones are added.
    Growing(Vec<ColumnInfo>),
}

/// What to read.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The columns.
    pub wanted: Wanted,
    /// Which of them hold categories.
    pub categories: Categories,
    /// Bytes the numbers may take.
    pub memory: Option<Bytes>,
    /// Which options the command has, for its advice.
    pub options: Options,
    /// Whether rows with a missing value are passed over, instead of refused.
    pub drop_missing: bool,
}

impl Selection {
    /// Columns asked for by name, but for the last one, the target.
    #[must_use]
    pub fn width(&self) -> usize {
        match &self.wanted {
            Wanted::Named(names) => names.len().saturating_sub(1),
            Wanted::AllBut(_) => 0,
        }
    }

    /// The same for the next of several files: categories that were found go on to be known.
    #[must_use]
    pub fn knowing(&self, columns: &[ColumnInfo]) -> Self {
        let categories = match &self.categories {
            Categories::Collected(_) if !columns.is_empty() => Categories::Growing(columns.to_vec()),
            other => other.clone(),
        };
        Self { categories, ..self.clone() }
    }
}

/// How a cell differs from those before it in its column.
const DATE: &str = "is a date, and the column holds plain numbers";
const PLAIN: &str = "is a plain number, and the column holds dates";
const TRUTH: &str = "is a truth value, and the column holds plain numbers";
const NO_TRUTH: &str = "is a plain number, and the column holds truth values";
const ZONED: &str = "names its time zone, and times before it in the column name none";
const ZONELESS: &str = "names no time zone, and times before it in the column do";

/// Numbers, row after row.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Where they came from.
    pub file: PathBuf,
    /// The columns.
    pub columns: Vec<ColumnInfo>,
    /// All values, row after row.
    pub values: Vec<f64>,
    /// Whether commas were read as decimal points.
    pub has_decimal_commas: bool,
    /// Rows passed over because a value was missing.
    pub dropped: usize,
    /// Those of them whose last column, the target, was missing; and where an export is fitted, rows whose results may have been chosen by their noise.
    pub lost: usize,
    /// Why nobody can declare the rows fixed or exchangeable, where a table is fitted that says so.
    pub objections: Objections,
    /// Files whose last line has no end: they may have been cut.
    pub cut: Vec<PathBuf>,
}

/// Rows as numbers, one after the other.
pub struct Numbers {
    reader: Reader,
    positions: Vec<usize>,
    columns: Vec<ColumnInfo>,
    collects: bool,
    options: Options,
    drops: bool,
    /// What a table that is fitted says about its rows.
    provenance: Option<Provenance>,
    /// Whether each column holds truth values, once that is known.
    truths: Vec<Option<bool>>,
    /// How many of those with a result it marks.
    pub doubted: usize,
    /// Why nobody can vouch for how they were collected.
    pub objections: Objections,
    cells: Vec<Cell>,
}

impl Numbers {
    /// The columns that were asked for, from a reader.
    ///
    /// # Errors
    /// [`DataError::NoColumn`] for a column that is not there.
    pub fn new(mut reader: Reader, selection: &Selection) -> Result<Self, DataError> {
        let positions = positions(&reader, &selection.wanted)?;
        let columns: Vec<ColumnInfo> = positions.iter().map(|&position| described(&reader, position, &selection.categories)).collect();
        if let Categories::Collected(names) = &selection.categories {
            names.iter().try_for_each(|name| reader.column(name).map(drop))?;
        }
        let of_categories = columns.iter().zip(&positions).filter(|(column, _)| column.categories.is_some());
        of_categories.for_each(|(_, &position)| reader.keep_text(position));
        let provenance = (selection.options == Options::Fit).then(|| Provenance::of_fitted(&reader));
        let looked_at: Vec<usize> = positions.iter().copied().chain(provenance.iter().flat_map(|p| p.columns())).collect();
        reader.only(&looked_at);
        let collects = !matches!(selection.categories, Categories::Known(_));
        let (options, drops) = (selection.options, selection.drop_missing);
        let truths = vec![None; columns.len()];
        Ok(Self {
            reader,
            positions,
            columns,
            collects,
            options,
            drops,
            provenance,
            truths,
            doubted: 0,
            objections: Objections::default(),
            cells: Vec::new(),
        })
    }

    /// Appends the next row to `values`; its number, and `None` after the last. A missing value is NaN where such rows are to be dropped.
    ///
    /// # Errors
    /// [`DataError`] naming the file, the row, the column and what was found.
    pub fn next_row(&mut self, values: &mut Vec<f64>) -> Result<Option<u64>, DataError> {
        let Some(line) = self.reader.next_row(&mut self.cells)? else { return Ok(None) };
        let (width, before) = (self.columns.len(), values.len());
        for (c, column) in self.columns.iter_mut().enumerate() {
            let place =
                Place { reader: &self.reader, line, options: self.options, is_target: self.options == Options::Fit && c + 1 == width };
            let cell = &self.cells[self.positions[c]];
            let is_missing = if column.categories.is_none() { is_no_number(cell) } else { is_missing(cell) };
            values.push(match &mut column.categories {
                _ if self.drops && is_missing => f64::NAN,
                None => match place.number(&column.name, cell) {
                    Ok(value) => {
                        let is_date = is_date(cell);
                        if *column.dates.get_or_insert(is_date) != is_date {
                            return Err(place.other_kind(&column.name, cell, if is_date { DATE } else { PLAIN }));
                        }
                        // 0 and 1 are written for truth values, too.
                        let is_truth = is_truth(cell);
                        if (is_truth || (value != 0.0 && value != 1.0)) && *self.truths[c].get_or_insert(is_truth) != is_truth {
                            return Err(place.other_kind(&column.name, cell, if is_truth { TRUTH } else { NO_TRUTH }));
                        }
                        if let Cell::Text(text) = cell
                            && let Some(zoned) = moments::names_zone(text)
                            && *column.zoned.get_or_insert(zoned) != zoned
                        {
                            return Err(place.other_kind(&column.name, cell, if zoned { ZONED } else { ZONELESS }));
                        }
                        value
                    }
                    Err(problem) => return Err(self.naming_all_words(c, problem)),
                },
                Some(known) => place.category(&column.name, known, self.collects, cell)?,
            });
        }
        if let Some(provenance) = self.provenance {
            let is_kept = values[before..].iter().all(|value| !value.is_nan());
            self.doubted += usize::from(is_kept && provenance.mark(&self.cells).is_some());
            let place = || format!("{}, {} {line}", self.reader.file().display(), self.reader.line_word());
            self.objections.or(|declared| provenance.objection(&self.cells, declared).map(|why| format!("{}: {why}", place())));
        }
        Ok(Some(line))
    }

    /// Where a column holds words, the others of this row that do are named with it: nobody wants to hear of them one by one.
    fn naming_all_words(&self, c: usize, problem: DataError) -> DataError {
        let is_words = |c: usize| match &self.cells[self.positions[c]] {
            cell @ Cell::Text(text) => {
                let is_misread = misread(&self.reader, cell).is_some();
                self.columns[c].categories.is_none() && moments::number(text).is_none() && !is_misread && !is_no_number(cell)
            }
            _ => false,
        };
        let words: Vec<&str> = (0..self.columns.len()).filter(|&c| is_words(c)).map(|c| self.columns[c].name.as_str()).collect();
        match problem {
            DataError::Cell { file, line, line_word, column, found, .. }
                if self.options == Options::Fit && is_words(c) && words.len() > 1 =>
            {
                let all = words.join(",");
                let remedy = format!(
                    "{} columns hold words there: put numbers there, leave the columns out (--ignore {all:?}), or declare them (--categorical {all:?})",
                    words.len()
                );
                DataError::Cell { file, line, line_word, column, found, remedy: remedy.into() }
            }
            one => one,
        }
    }

    /// The columns, with the categories that were found so far.
    #[must_use]
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Where they come from.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

impl Frame {
    /// Reads the columns that were asked for.
    ///
    /// # Errors
    /// [`DataError`] naming the file, the row, the column and what was found.
    pub fn read(reader: Reader, selection: &Selection) -> Result<Self, DataError> {
        let (file, mut numbers) = (reader.file().to_owned(), Numbers::new(reader, selection)?);
        let mut frame = Self::empty(file);
        frame.append(&mut numbers, selection)?;
        frame.finish()
    }

    /// Reads several files one after the other, as one.
    ///
    /// # Errors
    /// As [`Frame::read`].
    pub fn read_table(table: &Table, selection: &Selection) -> Result<Self, DataError> {
        let first = table.part(0)?;
        let file = first.file().to_owned();
        let mut frame = Self::empty(file);
        // Standard input can be opened once.
        let mut first = Some(first);
        for part in 0..table.parts.len() {
            let reader = first.take().map_or_else(|| table.part(part), Ok)?;
            let mut numbers = Numbers::new(reader, &selection.knowing(&frame.columns))?;
            frame.append(&mut numbers, selection)?;
        }
        frame.finish()
    }

    fn empty(file: PathBuf) -> Self {
        let (columns, values, cut) = (Vec::new(), Vec::new(), Vec::new());
        Self { file, columns, values, has_decimal_commas: false, dropped: 0, lost: 0, objections: Objections::default(), cut }
    }

    fn append(&mut self, numbers: &mut Numbers, selection: &Selection) -> Result<(), DataError> {
        let mut end = self.values.len();
        while numbers.next_row(&mut self.values)?.is_some() {
            if selection.drop_missing && self.values[end..].iter().any(|value| value.is_nan()) {
                self.lost += usize::from(self.values.last().is_some_and(|target| target.is_nan()));
                self.values.truncate(end);
                self.dropped += 1;
            }
            end = self.values.len();
            check_memory(numbers.reader(), &self.values, numbers.columns().len(), selection)?;
        }
        self.columns = numbers.columns().to_vec();
        self.lost += numbers.doubted;
        self.objections.join(&numbers.objections);
        self.has_decimal_commas |= numbers.reader().has_decimal_commas();
        self.cut.extend(numbers.reader().ends_open().then(|| numbers.reader().file().to_owned()));
        Ok(())
    }

    fn finish(self) -> Result<Self, DataError> {
        if self.values.is_empty() { Err(DataError::Empty { file: self.file }) } else { Ok(self) }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / self.columns.len()
    }

    /// Never true: a table without rows is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Row `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns.len()..(i + 1) * self.columns.len()]
    }
}

fn positions(reader: &Reader, wanted: &Wanted) -> Result<Vec<usize>, DataError> {
    match wanted {
        Wanted::Named(names) => names.iter().map(|name| reader.column(name)).collect(),
        Wanted::AllBut(names) => {
            let left_out = names.iter().map(|name| reader.column(name)).collect::<Result<Vec<_>, _>>()?;
            Ok((0..reader.names().len()).filter(|position| !left_out.contains(position)).collect())
        }
    }
}

fn described(reader: &Reader, position: usize, categories: &Categories) -> ColumnInfo {
    let name = &reader.names()[position];
    match categories {
        Categories::Collected(names) => ColumnInfo { categories: names.contains(name).then(Vec::new), ..ColumnInfo::named(name) },
        Categories::Known(columns) | Categories::Growing(columns) => {
            columns.iter().find(|column| column.name == *name).cloned().unwrap_or_else(|| ColumnInfo::named(name))
        }
    }
}

fn check_memory(reader: &Reader, values: &[f64], columns: usize, selection: &Selection) -> Result<(), DataError> {
    let needed = Bytes(8 * values.len() as u64);
    match selection.memory {
        Some(limit) if needed > limit => {
            let (file, rows, remedy) = (reader.file().to_owned(), values.len() / columns.max(1), selection.options.make_room());
            Err(DataError::Memory { file, rows, needed, limit, remedy })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::NUMERAL;
    use super::*;

    fn read(text: &str, categories: Categories) -> Result<Frame, DataError> {
        let reader = Reader::csv("t.csv".into(), Box::new(std::io::Cursor::new(text.as_bytes().to_vec())))?;
        Frame::read(
            reader,
            &Selection { wanted: Wanted::AllBut(Vec::new()), categories, memory: None, options: Options::Fit, drop_missing: false },
        )
    }

    #[test]
    fn categories_are_what_is_written() {
        let frame = read("layers;x\n64,32;0.5\n007;1\n7;2\n64,32;3\n", Categories::Collected(vec!["layers".into()])).unwrap();
        assert_eq!(frame.columns[0].categories.as_deref().unwrap(), ["64,32", "007", "7"]);
        assert_eq!((0..4).map(|i| frame.row(i)[0]).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 0.0]);
        let known = |names: &[&str]| {
            let categories = Some(names.iter().map(|name| (*name).to_owned()).collect());
            Categories::Known(vec![ColumnInfo { categories, ..ColumnInfo::named("layers") }])
        };
        assert_eq!(read("layers\n7.0\n", known(&["a", "7"])).unwrap().values, [1.0]);
        assert_eq!(read("layers\n7.0\n", known(&["07", "7"])).unwrap().values, [1.0]);
        assert!(matches!(read("layers\n7e0\n", known(&["07", "7"])), Err(DataError::Category { .. })), "which of the two is not guessed");
        let frame = read("layers\n1\n1.0\n1.\n01\n1.5\n1.50\n1.00\nSt\nSt.\n", Categories::Collected(vec!["layers".into()])).unwrap();
        assert_eq!(frame.columns[0].categories.as_deref().unwrap(), ["1", "01", "1.5", "1.50", "St", "St."]);
        assert_eq!(frame.values, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 4.0, 5.0]);
    }

    /// The day 20240101 is no day 20240101 after 1970.
    #[test]
    fn dates_among_plain_numbers_are_refused_by_their_place() {
        let plain = || Categories::Collected(Vec::new());
        let said = |text: &str| read(text, plain()).unwrap_err().to_string();
        assert_eq!(
            said("d,x\n20240101,1\n2024-01-02,2\n"),
            "t.csv, line 3, column \"d\": 2024-01-02 is a date, and the column holds plain numbers: write all of the column alike"
        );
        assert!(said("d\n2024-01-02\n19725\n").contains("19725 is a plain number, and the column holds dates"));
        assert!(
            said("d\n2024-01-02T08:00:00Z\n2024-01-02T09:00:00\n").contains("names no time zone, and times before it in the column do")
        );
        assert!(said("d\n2024-01-02\n2024-01-02T09:00:00+01:00\n").contains("names its time zone"));
        assert_eq!(read("d,w\n2024-01-02,true\n2024-01-03T12:00:00,0\n", plain()).unwrap().values, [19_724.0, 1.0, 19_725.5, 0.0]);
        let dated = Categories::Known(vec![ColumnInfo { dates: Some(true), ..ColumnInfo::named("d") }]);
        assert!(read("d\n19725\n", dated).is_err(), "a model of dates");
    }

    /// A result that became TRUE in a spreadsheet is no 1.
    #[test]
    fn truth_values_among_other_numbers_are_refused_by_their_place() {
        let said = |text: &str| read(text, Categories::Collected(Vec::new())).unwrap_err().to_string();
        assert_eq!(
            said("x,y\n1,57.69\n2,TRUE\n"),
            "t.csv, line 3, column \"y\": TRUE is a truth value, and the column holds plain numbers: write all of the column alike"
        );
        assert!(said("y\nfalse\n1\n57.69\n").contains("line 4, column \"y\": 57.69 is a plain number, and the column holds truth values"));
    }

    /// R writes NA, pandas and databases other words; between categories they are names.
    #[test]
    fn words_for_nothing_are_missing_where_numbers_belong() {
        let dropping = |text: &str| {
            let reader = Reader::csv("t.csv".into(), Box::new(std::io::Cursor::new(text.as_bytes().to_vec()))).unwrap();
            let categories = Categories::Collected(vec!["land".into()]);
            let wanted = Wanted::Named(["land", "x", "y"].map(str::to_owned).to_vec());
            Frame::read(reader, &Selection { wanted, categories, memory: None, options: Options::Fit, drop_missing: true })
        };
        for word in ["", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "None", "nan", "NaN"] {
            let frame = dropping(&format!("land,x,y\nNA,1,2\nFR,{word},3\nFR,4,{word}\n")).unwrap();
            assert_eq!((frame.values, frame.dropped, frame.lost), (vec![0.0, 1.0, 2.0], 2, 1), "{word}");
            let said = read(&format!("x,y\n1,2\n{word},3\n"), Categories::Collected(Vec::new())).unwrap_err().to_string();
            assert!(said.starts_with("t.csv, line 3, column \"x\": ") && said.contains("--drop-missing"), "{word}: {said}");
        }
        assert!(dropping("land,x,y\nFR,-,1\n").is_err(), "a dash may be a minus that lost its number");
        let empty = read("land,x\n,1\n", Categories::Collected(vec!["land".into()])).unwrap_err().to_string();
        assert!(empty.contains("an empty cell does not belong there; put a name there, take the row out"), "{empty}");
    }

    #[test]
    fn a_number_that_is_text_is_refused_for_what_it_is() {
        let mixed = read("a;b\n1,5;2\n1;1.73\n", Categories::Collected(Vec::new())).unwrap_err().to_string();
        assert!(mixed.contains("line 3, column \"b\": \"1.73\"") && mixed.contains("the table mixes both"), "{mixed}");
        let thousands = read("a;b\n1.5;2\n1;1.234,5\n", Categories::Collected(Vec::new())).unwrap_err().to_string();
        assert!(thousands.ends_with(NUMERAL), "{thousands}");
        let percent = read("a;b\n57,5%;5.5 %\n", Categories::Collected(Vec::new())).unwrap_err().to_string();
        assert!(percent.ends_with("it may mean 57.5 or 0.575: write a plain number, in the same unit everywhere"), "{percent}");
    }

    #[test]
    fn a_last_line_without_an_end_is_known() {
        let plain = || Categories::Collected(Vec::new());
        assert_eq!(read("x\n1.25\n1.2", plain()).unwrap().cut, [PathBuf::from("t.csv")]);
        for whole in ["x\n1.25\n1.2\n", "x\r\n1.25\r\n", "x\n1\n\n"] {
            assert!(read(whole, plain()).unwrap().cut.is_empty(), "{whole:?}");
        }
    }
}
