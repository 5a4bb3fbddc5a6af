//! Parquet files with flat columns of numbers or text.

use super::{Cell, DataError, Rows};
use parquet::file::reader::FileReader;
use parquet::file::reader::SerializedFileReader;
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use std::fs::File;
use std::path::{Path, PathBuf};

struct Parquet {
    file: PathBuf,
    rows: RowIter<'static>,
    read: u64,
}

pub(super) fn open(path: &Path, file: File) -> Result<(Vec<String>, Box<dyn Rows>), DataError> {
    let wrong = |reason: String| DataError::Format { file: path.to_owned(), kind: "Parquet", reason };
    let reader = SerializedFileReader::new(file).map_err(|error| wrong(error.to_string()))?;
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<String> = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    if let Some(nested) = schema.get_fields().iter().find(|field| !field.is_primitive()) {
        return Err(wrong(format!("column \"{}\" is a list or a structure, and only flat columns are read", nested.name())));
    }
    if names.is_empty() {
        return Err(wrong("it has no columns".to_owned()));
    }
    Ok((names, Box::new(Parquet { file: path.to_owned(), rows: RowIter::from_file_into(Box::new(reader)), read: 0 })))
}

impl Rows for Parquet {
    fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError> {
        let Some(row) = self.rows.next() else { return Ok(None) };
        let row: Row = row.map_err(|error| DataError::Read {
            file: self.file.clone(),
            line: self.read,
            line_word: "row",
            source: std::io::Error::other(error),
        })?;
        self.read += 1;
        cells.clear();
        cells.extend(row.get_column_iter().map(|(_, field)| cell(field)));
        Ok(Some(self.read))
    }
}

fn cell(field: &Field) -> Cell {
    match field {
        Field::Null => Cell::Missing,
        Field::Bool(v) => Cell::Number(f64::from(u8::from(*v))),
        Field::Byte(v) => Cell::Number(f64::from(*v)),
        Field::Short(v) => Cell::Number(f64::from(*v)),
        Field::Int(v) | Field::Date(v) | Field::TimeMillis(v) => Cell::Number(f64::from(*v)),
        Field::Long(v) | Field::TimeMicros(v) | Field::TimestampMillis(v) | Field::TimestampMicros(v) => Cell::Number(*v as f64),
        Field::UByte(v) => Cell::Number(f64::from(*v)),
        Field::UShort(v) => Cell::Number(f64::from(*v)),
        Field::UInt(v) => Cell::Number(f64::from(*v)),
        Field::ULong(v) => Cell::Number(*v as f64),
        Field::Float16(v) => Cell::Number(f64::from(*v)),
        Field::Float(v) => Cell::Number(f64::from(*v)),
        Field::Double(v) => Cell::Number(*v),
        Field::Str(text) => Cell::Text(text.clone()),
        other => Cell::Text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    #[test]
    fn columns_of_every_kind_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let schema = "message t { required double x; optional int64 n; required binary s (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(File::create(&path).unwrap(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[1.5, f64::NAN], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[7], Some(&[1, 0]), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("a"), ByteArray::from("b")], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();

        let (names, mut rows) = open(&path, File::open(&path).unwrap()).unwrap();
        assert_eq!(names, ["x", "n", "s"]);
        let mut cells = Vec::new();
        assert_eq!(rows.next_row(&mut cells).unwrap(), Some(1));
        assert_eq!(cells, [Cell::Number(1.5), Cell::Number(7.0), Cell::Text("a".into())]);
        assert_eq!(rows.next_row(&mut cells).unwrap(), Some(2));
        assert!(matches!(&cells[..], [Cell::Number(x), Cell::Missing, Cell::Text(s)] if x.is_nan() && s == "b"));
        assert_eq!(rows.next_row(&mut cells).unwrap(), None);
    }
}
