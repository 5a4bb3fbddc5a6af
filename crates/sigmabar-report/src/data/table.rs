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

/// One file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The file.
    pub file: PathBuf,
    /// Rows of each row group of a Parquet file; empty for other files.
    pub groups: Vec<u64>,
    /// Columns that the names of its folders give, as in `year=2024/`.
    pub constants: Vec<(String, String)>,
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
        let mut parts = Vec::new();
        for input in inputs {
            for path in matched(input)? {
                if !path.is_dir() {
                    parts.push(Part { groups: groups(&path)?, constants: Vec::new(), file: path });
                    continue;
                }
                for file in tables_of(&path)? {
                    let constants = constants(file.strip_prefix(&path).unwrap_or(&file));
                    parts.push(Part { groups: groups(&file)?, constants, file });
                }
            }
        }
        let mut known = BTreeSet::new();
        if let Some(twice) = parts.iter().find(|part| part.file.canonicalize().is_ok_and(|path| !known.insert(path))) {
            return Err(DataError::Twice { file: twice.file.clone() });
        }
        Ok(Self { parts })
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

    fn reader(&self, part: usize, group: Option<usize>) -> Result<Reader, DataError> {
        let part = &self.parts[part];
        let mut reader = Reader::open_group(&part.file, group)?;
        for (name, value) in &part.constants {
            if !reader.names.contains(name) {
                reader.names.push(name.clone());
                reader.constants.push(value.parse().map_or_else(|_| Cell::Text(value.clone()), Cell::Number));
            }
        }
        Ok(reader)
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
    if files.is_empty() { Err(DataError::NoFiles { input: input.to_owned() }) } else { Ok(files) }
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
        return Err(DataError::Mixed { folder: folder.to_owned(), files: [first.clone(), other.clone()] });
    }
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

/// `year=2024/month=3/part.parquet`.
fn constants(below: &Path) -> Vec<(String, String)> {
    let folders = below.parent().into_iter().flat_map(Path::components);
    folders.filter_map(|folder| folder.as_os_str().to_string_lossy().split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()))).collect()
}
