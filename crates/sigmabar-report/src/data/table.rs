//! Several files as one table: named, by pattern, or all of a folder; cut into chunks that can be read by themselves.

use super::{Cell, DataError, Reader, extension, is_parquet, parquet_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What tables are written as, by what their names end in.
const KINDS: [(&str, &[&str]); 4] =
    [("text", &["csv", "tsv", "tab", "gz"]), ("Parquet", &["parquet", "pq"]), ("NumPy", &["npy"]), ("Excel", &["xlsx"])];
/// What stands beside tables and holds no rows: our own files, words, pictures and programs.
const NO_TABLES: [&str; 14] = ["sbm", "sbp", "sba", "db", "toml", "md", "html", "pdf", "svg", "png", "py", "sh", "ipynb", "log"];
/// What engines write for themselves.
const MARKS: [&str; 8] =
    ["_SUCCESS", "_metadata", "_common_metadata", "_temporary", "_delta_log", "_spark_metadata", "_committed_", "_started_"];

/// A value that engines have none for.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";

/// One file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The file.
    pub file: PathBuf,
    /// Rows of each row group of a Parquet file; empty for other files.
    pub groups: Vec<u64>,
    /// Columns that the names of its folders give, as in `year=2024/`; nothing where the name says that the value is missing.
    pub constants: Vec<(String, Option<String>)>,
}

/// A table in one or several files, in an order of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its files.
    pub parts: Vec<Part>,
}

/// What is read as a whole: a row group of a Parquet file, or another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which file.
    pub part: usize,
    /// Which of its row groups.
    pub group: Option<usize>,
    /// Its rows, where the file says.
    pub rows: Option<u64>,
}

impl Table {
    /// Files, patterns such as `part-*.parquet`, and folders, whose files are taken in the order of their paths. No file that may hold rows is passed over.
    ///
    /// # Errors
    /// [`DataError`] for a file that cannot be opened, for a pattern or folder without tables, and for a folder with files that are no tables for certain.
    pub fn open(inputs: &[PathBuf]) -> Result<Self, DataError> {
        let part = |file: PathBuf| Ok(Part { groups: groups(&file)?, constants: constants(&file), file });
        let parts: Vec<Part> = Self::files(inputs)?.into_iter().map(part).collect::<Result<_, _>>()?;
        let names = |part: &Part| part.constants.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if let Some(other) = parts.iter().find(|part| names(part) != names(&parts[0])) {
            return Err(DataError::Folders { files: [parts[0].file.clone(), other.file.clone()], names: [names(&parts[0]), names(other)] });
        }
        Ok(Self { parts })
    }

    /// The files that are named, match or lie in a folder, each of them once.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub fn files(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, DataError> {
        let mut files = Vec::new();
        for input in inputs {
            for path in matched(input)? {
                if path.is_dir() {
                    files.extend(tables_of(&path)?);
                } else {
                    files.push(path);
                }
            }
        }
        let mut known = BTreeSet::new();
        if let Some(twice) = files.iter().find(|file| file.canonicalize().is_ok_and(|path| !known.insert(path))) {
            return Err(DataError::Twice { file: twice.clone() });
        }
        Ok(files)
    }

    /// The chunks, in the order of the table.
    #[must_use]
    pub fn chunks(&self) -> Vec<Chunk> {
        let of = |(part, file): (usize, &Part)| -> Vec<Chunk> {
            if !is_parquet(&file.file) {
                return vec![Chunk { part, group: None, rows: None }];
            }
            file.groups.iter().enumerate().map(|(group, rows)| Chunk { part, group: Some(group), rows: Some(*rows) }).collect()
        };
        self.parts.iter().enumerate().flat_map(of).collect()
    }

    /// Rows, where every file says how many it has.
    #[must_use]
    pub fn rows(&self) -> Option<u64> {
        self.chunks().iter().map(|chunk| chunk.rows).sum()
    }

    /// Whether it can be read more than once.
    #[must_use]
    pub fn is_rereadable(&self) -> bool {
        self.parts.iter().all(|part| part.file.as_os_str() != "-")
    }

    /// Begins to read a chunk.
    ///
    /// # Errors
    /// [`DataError`] for a file that cannot be opened.
    pub fn chunk(&self, chunk: Chunk) -> Result<Reader, DataError> {
        self.reader(chunk.part, chunk.group)
    }

    /// Begins to read a file.
    ///
    /// # Errors
    /// [`DataError`] for a file that cannot be opened.
    pub fn part(&self, part: usize) -> Result<Reader, DataError> {
        self.reader(part, None)
    }

    /// That no file has a column that the first has not, but for those left out by name: it would be passed over without a word. What is left out must be somewhere.
    ///
    /// # Errors
    /// [`DataError::MoreColumns`], [`DataError::NoColumn`].
    pub fn check_columns(&self, first: &Reader, left_out: &[String]) -> Result<(), DataError> {
        let mut nowhere: Vec<&String> = left_out.iter().filter(|name| !first.names().contains(name)).collect();
        for part in 1..self.parts.len() {
            let reader = self.part(part)?;
            nowhere.retain(|name| !reader.names().contains(name));
            let is_more = |name: &&String| !first.names().contains(name) && !left_out.contains(name);
            if let Some(column) = reader.names().iter().find(is_more) {
                let (file, first, column) = (reader.file().to_owned(), first.file().to_owned(), column.clone());
                return Err(DataError::MoreColumns { file, first, column });
            }
        }
        nowhere.first().map_or(Ok(()), |name| first.column(name).map(drop))
    }

    fn reader(&self, part: usize, group: Option<usize>) -> Result<Reader, DataError> {
        let part = &self.parts[part];
        let mut reader = Reader::open_group(&part.file, group)?;
        for (name, value) in &part.constants {
            if !reader.names.contains(name) {
                reader.names.push(name.clone());
                let number = |text: &String| text.parse().map_or_else(|_| Cell::Text(text.clone()), Cell::Number);
                reader.constants.push((value.clone(), value.as_ref().map_or(Cell::Missing, number)));
            }
        }
        Ok(reader)
    }

    /// Bytes that reading so many of its columns takes at most, unless its writer made pages of more than a megabyte.
    #[must_use]
    pub fn reading(&self, columns: usize) -> u64 {
        let of = |part: &Part| match kind(&part.file) {
            // A page, packed and unpacked, a dictionary likewise, and the cells of a batch.
            Some("Parquet") => {
                let rows = part.groups.iter().copied().max().unwrap_or(0);
                columns as u64 * ((32 * rows).min(4 << 20) + 48 * rows.min(parquet_file::BATCH as u64))
            }
            // A sheet is read as a whole.
            Some("Excel") => 40 * part.file.metadata().map_or(0, |file| file.len()),
            _ => 1 << 20,
        };
        self.parts.iter().map(of).max().unwrap_or(0)
    }

    /// The same files, seen from wherever we are: names that are no full paths are looked for in this folder first.
    #[must_use]
    pub fn seen_from(&self, folder: &Path) -> Self {
        let found = |part: &Part| Part {
            file: Some(folder.join(&part.file)).filter(|file| file.exists()).unwrap_or_else(|| part.file.clone()),
            ..part.clone()
        };
        Self { parts: self.parts.iter().map(found).collect() }
    }

    /// Refuses a file that has got or lost row groups since the table was opened: chunks would be missing.
    ///
    /// # Errors
    /// [`DataError::Changed`]; one for a file that cannot be opened.
    pub fn check_groups(&self, part: usize) -> Result<(), DataError> {
        let Part { file, groups: expected, .. } = &self.parts[part];
        let (expected, found) = (expected.len(), groups(file)?.len());
        if expected == found { Ok(()) } else { Err(DataError::Changed { file: file.clone(), expected, found }) }
    }

    /// What the chunk is called in messages.
    #[must_use]
    pub fn name(&self, chunk: Chunk) -> String {
        let file = self.parts[chunk.part].file.display();
        chunk.group.map_or_else(|| file.to_string(), |group| format!("{file}, row group {group}"))
    }
}

fn groups(file: &Path) -> Result<Vec<u64>, DataError> {
    if !is_parquet(file) {
        return Ok(Vec::new());
    }
    let opened = File::open(file).map_err(|source| DataError::Open { file: file.to_owned(), source })?;
    parquet_file::groups(file, opened)
}

/// What an input stands for: itself, or what matches it where it is a pattern. A match that cannot be looked at is an error, or its rows would be missing.
fn matched(input: &Path) -> Result<Vec<PathBuf>, DataError> {
    let text = input.to_string_lossy();
    if input.exists() || !text.contains(['*', '?', '[']) {
        return Ok(vec![input.to_owned()]);
    }
    let found = glob::glob(&text).map_err(|error| DataError::Pattern { input: input.to_owned(), reason: error.msg })?;
    let there = |path: Result<PathBuf, glob::GlobError>| match path {
        Ok(path) => is_there(path),
        Err(error) => Err(DataError::Open { file: error.path().to_owned(), source: error.into() }),
    };
    let files: Vec<PathBuf> = found.map(there).collect::<Result<_, _>>()?;
    check_copies(input, &files)?;
    if files.is_empty() { Err(DataError::NoFiles { input: input.to_owned() }) } else { Ok(files) }
}

/// Refuses a table beside its packed copy: nobody named them one by one.
fn check_copies(folder: &Path, files: &[PathBuf]) -> Result<(), DataError> {
    let plain: BTreeSet<&PathBuf> = files.iter().collect();
    let packed = files.iter().filter(|file| extension(file) == "gz");
    match packed.map(|file| (file, file.with_extension(""))).find(|(_, copy)| plain.contains(copy)) {
        Some((file, copy)) => {
            Err(DataError::Mixed { folder: folder.to_owned(), what: "one table, plain and packed", files: [copy, file.clone()] })
        }
        None => Ok(()),
    }
}

/// Refuses a link to nothing.
fn is_there(path: PathBuf) -> Result<PathBuf, DataError> {
    match fs::metadata(&path) {
        Ok(_) => Ok(path),
        Err(source) => Err(DataError::Open { file: path, source }),
    }
}

/// All tables below a folder: of one kind, for the same rows may be there as another kind too; and nothing beside them that may be one.
fn tables_of(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let (mut files, mut strange) = (Vec::new(), Vec::new());
    walk(folder, &mut files, &mut strange)?;
    strange.sort();
    files.sort();
    if !strange.is_empty() {
        return Err(DataError::LeftOut { folder: folder.to_owned(), files: strange });
    }
    let Some(first) = files.first() else { return Err(DataError::NoFiles { input: folder.to_owned() }) };
    if let Some(other) = files.iter().find(|file| kind(file) != kind(first)) {
        let what = "tables of different kinds";
        return Err(DataError::Mixed { folder: folder.to_owned(), what, files: [first.clone(), other.clone()] });
    }
    check_copies(folder, &files)?;
    Ok(files)
}

/// The tables below a folder, and files that may be some but are not known to be.
fn walk(folder: &Path, files: &mut Vec<PathBuf>, strange: &mut Vec<PathBuf>) -> Result<(), DataError> {
    let failed = |source| DataError::Open { file: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_table = kind(&path).is_some();
        if is_mark(&name) || (name.starts_with('.') && (!is_table || path.is_dir())) {
            continue;
        }
        let path = is_there(path)?;
        if name.starts_with(['_', '.']) {
            strange.push(path);
        } else if path.is_dir() {
            walk(&path, files, strange)?;
        } else if is_table {
            files.push(path);
        } else if !NO_TABLES.contains(&extension(&path).as_str()) {
            strange.push(path);
        }
    }
    Ok(())
}

/// Whether engines, or the Finder with its `._`, write a file of this name for themselves.
fn is_mark(name: &str) -> bool {
    name.starts_with("._") || MARKS.iter().any(|mark| if mark.ends_with('_') { name.starts_with(mark) } else { name == *mark })
}

/// The kind of table that a name promises.
fn kind(file: &Path) -> Option<&'static str> {
    let end = extension(file);
    KINDS.iter().find(|(_, ends)| ends.contains(&end.as_str())).map(|(kind, _)| *kind)
}

/// What the folders of a path say, as in `year=2024/city=New%20York/part.parquet`.
fn constants(file: &Path) -> Vec<(String, Option<String>)> {
    let folders = file.parent().into_iter().flat_map(Path::components).map(|folder| folder.as_os_str().to_string_lossy());
    let pair = |folder: std::borrow::Cow<'_, str>| {
        let (name, value) = folder.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((unescaped(name), Some(unescaped(value)).filter(|value| value != MISSING)))
    };
    folders.filter_map(pair).collect()
}

/// `%20` for a space, as engines write what no name of a folder may contain.
fn unescaped(text: &str) -> String {
    let (bytes, mut found, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%').and_then(|code| u8::from_str_radix(code, 16).ok());
        found.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&found).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_values_as_engines_write_them() {
        let said = constants(Path::new("../year=2024/city=New%20York%2F1/%C3%A9=50%/day=__HIVE_DEFAULT_PARTITION__/=3/x=y.parquet"));
        let value = |text: &str| Some(text.to_owned());
        let expected = [("year", value("2024")), ("city", value("New York/1")), ("é", value("50%")), ("day", None)];
        assert_eq!(said, expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!((unescaped("%zz%2"), unescaped("é%41")), ("%zz%2".to_owned(), "éA".to_owned()));
    }
}
