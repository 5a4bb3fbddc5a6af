//! Columns of numbers into a Parquet file, a row group at a time.

use parquet::basic::Compression;
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// A Parquet file that is being written.
pub struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file with columns of these names.
    ///
    /// # Errors
    /// What writing runs into.
    pub fn new(out: W, names: &[String]) -> io::Result<Self> {
        let column = |name: &String| {
            Type::primitive_type_builder(name, parquet::basic::Type::DOUBLE)
                .with_repetition(parquet::basic::Repetition::REQUIRED)
                .build()
                .map(Arc::new)
        };
        let columns = names.iter().map(column).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("schema").with_fields(columns).build().map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        Ok(Self { writer: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)? })
    }

    /// Writes a row group.
    ///
    /// # Errors
    /// What writing runs into.
    pub fn write(&mut self, columns: &[Vec<f64>]) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for values in columns {
            let Some(mut column) = group.next_column().map_err(failed)? else { break };
            column.typed::<DoubleType>().write_batch(values, None, None).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        group.close().map(drop).map_err(failed)
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// What writing runs into.
    pub fn finish(self) -> io::Result<()> {
        self.writer.close().map(drop).map_err(failed)
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
