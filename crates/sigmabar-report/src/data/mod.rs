//! Tables of numbers from CSV (also compressed, also standard input), Parquet, Excel and NumPy files, read row after row.

#[cfg(not(feature = "tables"))]
mod absent;
mod column;
mod delimited;
mod error;
#[cfg(feature = "tables")]
mod excel;
mod frame;
mod moments;
#[cfg(feature = "tables")]
mod numpy;
mod options;
#[cfg(feature = "tables")]
mod parquet_file;
#[cfg(feature = "tables")]
mod parquet_writer;
mod place;
mod provenance;
mod table;

pub use column::ColumnInfo;
pub use error::DataError;
pub use error::closest;
pub use frame::{Categories, Frame, Numbers, Selection, Wanted};
pub use options::Options;
#[cfg(feature = "tables")]
pub use parquet_writer::ParquetWriter;
pub use place::{TEXT_CELL, TURNED};
pub use provenance::{COLLECTED, CORRECTED, Objections, Provenance, beside_settings};
pub use table::{Chunk, Part, Table};

#[cfg(not(feature = "tables"))]
pub use absent::ParquetWriter;
#[cfg(not(feature = "tables"))]
use absent::{excel, numpy, parquet_file};

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// One cell as it was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number, perhaps not finite.
    Number(f64),
    /// A date or time, in days since 1970.
    Moment(f64),
    /// Anything else; also a whole number that no float holds, such as an id of 64 bits.
    Text(String),
    /// Nothing.
    Missing,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Moment(days) => f.write_str(&moments::shown(*days)),
            Self::Text(text) => f.write_str(text),
            Self::Missing => Ok(()),
        }
    }
}

/// A whole number of 64 bits that is another one as a float, as it is written: it and its neighbours would be one number.
fn beyond_floats(whole: i128) -> Option<Cell> {
    (whole as f64 as i128 != whole).then(|| Cell::Text(whole.to_string()))
}

/// The cells of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Text, such as names of categories.
    Text(Vec<String>),
}

/// Rows one after the other. The number given back is the row as its reader would count it: the line of a CSV file, the row from 1 elsewhere.
trait Rows {
    fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError>;

    /// Whether commas were read as decimal points.
    fn has_decimal_commas(&self) -> bool {
        false
    }

    /// Whether what the commas so far mean is still to be seen: a thousand, or a point.
    fn is_doubtful(&self) -> bool {
        false
    }

    /// Refuses a table whose points may all stand before thousands, if such a number is in one of these columns.
    fn check_points(&mut self, _columns: &[usize]) -> Result<(), DataError> {
        Ok(())
    }

    /// Whether the last line that was read has no end, as in a file that was cut.
    fn ends_open(&self) -> bool {
        false
    }

    /// Columns that will be looked at: others may be left missing.
    fn only(&mut self, _columns: &[usize]) {}

    /// Gives the cells of a column as they are written, numbers too; where files have types, those say what is text.
    fn keep_text(&mut self, _column: usize) {}
}

/// How compressed text begins.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// What a file's name ends in, in small letters.
fn extension(path: &Path) -> String {
    path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Whether a name promises a Parquet file.
#[must_use]
pub fn is_parquet(path: &Path) -> bool {
    matches!(extension(path).as_str(), "parquet" | "pq")
}

/// A table that is being read.
pub struct Reader {
    file: PathBuf,
    names: Vec<String>,
    rows: Box<dyn Rows>,
    line_word: &'static str,
    /// Cells that every row has at its end: what the names of folders say, as it is written and as it is read.
    constants: Vec<(Option<String>, Cell)>,
}

impl Reader {
    /// Opens a table: `-` is CSV on standard input; `.parquet` or `.pq`, `.xlsx`, `.npy` by their extension; everything else is CSV. Compressed text is recognised by its first bytes.
    ///
    /// # Errors
    /// [`DataError`] for a file that cannot be opened or has no header.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        Self::open_group(path, None)
    }

    /// One row group of a Parquet file, or all of a file.
    fn open_group(path: &Path, group: Option<usize>) -> Result<Self, DataError> {
        if path.as_os_str() == "-" {
            return Self::csv(PathBuf::from("standard input"), Box::new(std::io::stdin()));
        }
        let open = || File::open(path).map_err(|source| DataError::Open { file: path.to_owned(), source });
        let (names, rows): (_, Box<dyn Rows>) = match extension(path).as_str() {
            "parquet" | "pq" => parquet_file::open(path, open()?, group)?,
            "xlsx" => excel::open(path, BufReader::new(open()?))?,
            "npy" => numpy::open(path, BufReader::new(open()?))?,
            _ => return Self::csv(path.to_owned(), Box::new(open()?)),
        };
        Ok(Self { file: path.to_owned(), names, rows, line_word: "row", constants: Vec::new() })
    }

    /// CSV from anywhere.
    ///
    /// # Errors
    /// [`DataError`] without a header of names that differ.
    pub fn csv(file: PathBuf, input: Box<dyn Read>) -> Result<Self, DataError> {
        let mut input = BufReader::new(input);
        let start = input.fill_buf().map_err(|source| DataError::Read { file: file.clone(), line: 0, line_word: "line", source })?;
        let is_compressed = start.starts_with(GZIP);
        let input: Box<dyn Read> = if is_compressed { Box::new(flate2::bufread::MultiGzDecoder::new(input)) } else { Box::new(input) };
        let (names, rows) = delimited::open(&file, input)?;
        Ok(Self { file, names, rows, line_word: "line", constants: Vec::new() })
    }

    /// Names of the columns, in the order of the file.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The file, for messages.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn is_spreadsheet(&self) -> bool {
        extension(&self.file) == "xlsx"
    }

    /// What a row is called in messages: the line of a CSV file, the row of others.
    #[must_use]
    pub fn line_word(&self) -> &'static str {
        self.line_word
    }

    /// That a cell is not what belongs there; of one that looks like a number and is none it is said why.
    #[must_use]
    pub fn wrong_cell(&self, line: u64, column: usize, cell: &Cell, remedy: &str) -> DataError {
        let found = match cell {
            Cell::Text(text) => format!("\"{text}\""),
            Cell::Number(number) => number.to_string(),
            Cell::Moment(days) => moments::named(*days),
            Cell::Missing => "an empty cell".to_owned(),
        };
        let remedy = place::misread(self, cell).map_or_else(|| remedy.into(), String::into_boxed_str);
        let (file, line_word, column) = (self.file.clone(), self.line_word, self.names[column].clone());
        DataError::Cell { file, line, line_word, column, found, remedy }
    }

    /// The next row into `cells`, with its number; `None` after the last.
    ///
    /// # Errors
    /// [`DataError`] naming the row.
    pub fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError> {
        let line = self.rows.next_row(cells)?;
        if line.is_some() {
            cells.extend(self.constants.iter().map(|(_, cell)| cell.clone()));
        }
        Ok(line)
    }

    /// From now on only these columns are looked at: others may be left missing.
    pub fn only(&mut self, columns: &[usize]) {
        self.rows.only(columns);
    }

    /// Whether commas were read as decimal points so far.
    #[must_use]
    pub fn has_decimal_commas(&self) -> bool {
        self.rows.has_decimal_commas()
    }

    /// Whether what the commas so far mean is still to be seen: the table is refused if nothing in it tells.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.rows.is_doubtful()
    }

    /// Refuses what was read in these columns if spreadsheets of some countries would have written it with points before thousands, 1.234 for 1234, and no number in it tells. A table that
    /// a program wrote may be so; what people typed may not.
    ///
    /// # Errors
    /// [`DataError::Ambiguous`].
    pub fn check_points(&mut self, columns: &[usize]) -> Result<(), DataError> {
        self.rows.check_points(columns)
    }

    /// Whether all was read and the last line has no end: the file may have been cut within a number.
    #[must_use]
    pub fn ends_open(&self) -> bool {
        self.rows.ends_open()
    }

    /// From now on a column's cells are given as they are written, so that `00412` stays what it is; nothing in it says how numbers are written elsewhere.
    pub fn keep_text(&mut self, column: usize) {
        let own = self.names.len() - self.constants.len();
        match column.checked_sub(own).map(|constant| &mut self.constants[constant]) {
            Some((Some(text), cell)) => *cell = Cell::Text(text.clone()),
            Some((None, _)) => {}
            None => self.rows.keep_text(column),
        }
    }

    /// The position of a column whose name people write in any case of letters, none of those in use for something else; one written exactly so comes first.
    ///
    /// # Errors
    /// [`DataError::NoColumn`] with the closest name.
    pub fn column_in_any_case(&self, name: &str, in_use: &[usize]) -> Result<usize, DataError> {
        let is_meant = |place: &usize| !in_use.contains(place) && self.names[*place].eq_ignore_ascii_case(name);
        let exact = self.column(name).and_then(|place| if in_use.contains(&place) { Err(self.no_column(name)) } else { Ok(place) });
        exact.or_else(|error| (0..self.names.len()).find(is_meant).ok_or(error))
    }

    /// The position of a column.
    ///
    /// # Errors
    /// [`DataError::NoColumn`] with the closest name.
    pub fn column(&self, name: &str) -> Result<usize, DataError> {
        self.names.iter().position(|found| found == name).ok_or_else(|| self.no_column(name))
    }

    fn no_column(&self, name: &str) -> DataError {
        DataError::NoColumn { file: self.file.clone(), name: name.to_owned(), columns: self.names.clone() }
    }
}
