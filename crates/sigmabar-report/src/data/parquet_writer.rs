//! Columns into a Parquet file, a row group at a time.

use super::Column;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
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
    /// Begins a file with columns of these names, each with whether it holds text.
    pub fn new<'a>(out: W, columns: impl IntoIterator<Item = (&'a str, bool)>) -> io::Result<Self> {
        let column = |(name, is_text)| {
            let (physical, logical) = if is_text { (Physical::BYTE_ARRAY, Some(LogicalType::String)) } else { (Physical::DOUBLE, None) };
            let kind = Type::primitive_type_builder(name, physical).with_logical_type(logical);
            kind.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
        };
        let columns = columns.into_iter().map(column).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("schema").with_fields(columns).build().map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        Ok(Self { writer: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)? })
    }

    /// Begins a file with columns of numbers.
    pub fn of_numbers(out: W, names: &[String]) -> io::Result<Self> {
        Self::new(out, names.iter().map(|name| (name.as_str(), false)))
    }

    /// Writes a row group.
    ///
    /// # Errors
    /// What writing runs into, a column of another kind among it.
    pub fn write(&mut self, columns: &[Column]) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for cells in columns {
            let Some(mut column) = group.next_column().map_err(failed)? else { break };
            match cells {
                Column::Numbers(values) => column.typed::<DoubleType>().write_batch(values, None, None),
                Column::Text(words) => {
                    let words: Vec<ByteArray> = words.iter().map(|word| ByteArray::from(word.as_str())).collect();
                    column.typed::<ByteArrayType>().write_batch(&words, None, None)
                }
            }
            .map_err(failed)?;
            column.close().map_err(failed)?;
        }
        group.close().map(drop).map_err(failed)
    }

    /// Writes a row group of numbers.
    pub fn write_numbers(&mut self, columns: &[Vec<f64>]) -> io::Result<()> {
        self.write(&columns.iter().cloned().map(Column::Numbers).collect::<Vec<_>>())
    }

    /// Writes the end of the file.
    pub fn finish(self) -> io::Result<()> {
        self.writer.close().map(drop).map_err(failed)
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
