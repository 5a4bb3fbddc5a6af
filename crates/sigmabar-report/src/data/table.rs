//! Several files as one table: named, by pattern, or all of a folder; cut into chunks that can be read by themselves.

use super::{Cell, DataError, Reader, extension, parquet_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Files that are tables, by what their names end in.
const KINDS: [&str; 5] = ["parquet", "csv", "npy", "gz", "xlsx"];

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
    /// Files, patterns such as `part-*.parquet`, and folders, whose files are taken in the order of their paths.
    ///
    /// # Errors
    /// [`DataError`] for a file that cannot be opened, and for a pattern or folder without tables.
    pub fn open(inputs: &[PathBuf]) -> Result<Self, DataError> {
        let mut parts = Vec::new();
        for input in inputs {
            let text = input.to_string_lossy();
            if input.is_dir() {
                let mut files = Vec::new();
                walk(input, &mut files)?;
                if files.is_empty() {
                    return Err(DataError::NoFiles { input: input.clone() });
                }
                files.sort();
                for file in files {
                    let constants = constants(file.strip_prefix(input).unwrap_or(&file));
                    parts.push(Part { groups: groups(&file)?, constants, file });
                }
            } else if !input.exists() && text.contains(['*', '?', '[']) {
                let files = glob::glob(&text).map_err(|error| DataError::Pattern { input: input.clone(), reason: error.msg })?;
                let files: Vec<PathBuf> = files.filter_map(Result::ok).filter(|path| path.is_file()).collect();
                if files.is_empty() {
                    return Err(DataError::NoFiles { input: input.clone() });
                }
                for file in files {
                    parts.push(Part { groups: groups(&file)?, constants: Vec::new(), file });
                }
            } else {
                parts.push(Part { groups: groups(input)?, constants: Vec::new(), file: input.clone() });
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
            if extension(&file.file) != "parquet" {
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
    if extension(file) != "parquet" {
        return Ok(Vec::new());
    }
    let opened = File::open(file).map_err(|source| DataError::Open { file: file.to_owned(), source })?;
    parquet_file::groups(file, opened)
}

/// All tables below a folder, but for those that engines mark as their own by a first `_` or `.`.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), DataError> {
    let failed = |source| DataError::Open { file: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(['_', '.']) {
            continue;
        }
        if path.is_dir() {
            walk(&path, files)?;
        } else if KINDS.contains(&extension(&path).as_str()) {
            files.push(path);
        }
    }
    Ok(())
}

/// `year=2024/month=3/part.parquet`.
fn constants(below: &Path) -> Vec<(String, String)> {
    let folders = below.parent().into_iter().flat_map(Path::components);
    folders.filter_map(|folder| folder.as_os_str().to_string_lossy().split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()))).collect()
}
