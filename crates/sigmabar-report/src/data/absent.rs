//! In place of what reads and writes typed files, where the feature `tables` is left out: such files are refused by name.

use super::{Column, DataError, Rows};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;

type Opened = Result<(Vec<String>, Box<dyn Rows>), DataError>;

fn refuse<T>(file: &Path, kind: &'static str) -> Result<T, DataError> {
    Err(DataError::Absent { file: file.to_owned(), kind })
}

pub(super) mod parquet_file {
    use super::{DataError, Opened, Path, refuse};
    use std::fs::File;

    pub const BATCH: usize = 0;

    pub fn open(path: &Path, _file: File, _group: Option<usize>) -> Opened {
        refuse(path, "Parquet")
    }

    pub fn groups(path: &Path, _file: File) -> Result<Vec<u64>, DataError> {
        refuse(path, "Parquet")
    }
}

pub(super) mod excel {
    use super::{Opened, Path, refuse};
    use std::io::{Read, Seek};

    pub fn open(file: &Path, _input: impl Read + Seek) -> Opened {
        refuse(file, "Excel")
    }
}

pub(super) mod numpy {
    use super::{Opened, Path, refuse};
    use std::io::Read;

    pub fn open(file: &Path, _input: impl Read) -> Opened {
        refuse(file, "NumPy")
    }
}

/// A Parquet file that cannot be written.
pub struct ParquetWriter<W>(PhantomData<W>);

impl<W: Write + Send> ParquetWriter<W> {
    /// Refuses to begin.
    ///
    /// # Errors
    /// Always.
    pub fn new<'a>(_out: W, _columns: impl IntoIterator<Item = (&'a str, bool)>) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this sigmabar was built without Parquet files; build it with --features tables, or write CSV",
        ))
    }

    /// Nothing: there is no file.
    ///
    /// # Errors
    /// Never.
    pub fn write(&mut self, _columns: &[Column]) -> io::Result<()> {
        Ok(())
    }

    /// Nothing: there is no file.
    ///
    /// # Errors
    /// Never.
    pub fn finish(self) -> io::Result<()> {
        Ok(())
    }
}
