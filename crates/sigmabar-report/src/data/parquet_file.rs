//! Parquet files with flat columns of numbers, dates or text, read column by column in batches.

use super::delimited::check_distinct;
use super::{Cell, DataError, Rows, beyond_floats};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Rows decoded at a time.
pub(super) const BATCH: usize = 4096;
const MILLISECONDS_A_DAY: f64 = 86_400_000.0;

struct Parquet {
    file: PathBuf,
    reader: SerializedFileReader<File>,
    /// Row groups that are still to be read, the next one last.
    groups: Vec<usize>,
    /// Readers of the row group at hand; `None` for columns that nobody wants.
    columns: Vec<Option<ColumnReader>>,
    wanted: Vec<bool>,
    /// Rows of the row group that are not decoded yet.
    left: usize,
    batch: Vec<Vec<Cell>>,
    next: usize,
    read: u64,
}

/// The header's names and the rows of all row groups, or of one.
pub(super) fn open(path: &Path, file: File, group: Option<usize>) -> Result<(Vec<String>, Box<dyn Rows>), DataError> {
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
    check_distinct(path, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let groups = group.map_or_else(|| (0..reader.num_row_groups()).rev().collect(), |group| vec![group]);
    let rows = Parquet {
        file: path.to_owned(),
        groups,
        columns: Vec::new(),
        wanted: vec![true; names.len()],
        left: 0,
        batch: vec![Vec::new(); names.len()],
        next: 0,
        read: 0,
        reader,
    };
    Ok((names, Box::new(rows)))
}

/// Rows of each row group.
pub(super) fn groups(path: &Path, file: File) -> Result<Vec<u64>, DataError> {
    let wrong = |error: ParquetError| DataError::Format { file: path.to_owned(), kind: "Parquet", reason: error.to_string() };
    let reader = SerializedFileReader::new(file).map_err(wrong)?;
    Ok(reader.metadata().row_groups().iter().map(|group| group.num_rows().max(0) as u64).collect())
}

impl Rows for Parquet {
    fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError> {
        if !self.fill()? {
            return Ok(None);
        }
        cells.clear();
        for (column, wanted) in self.batch.iter_mut().zip(&self.wanted) {
            cells.push(if *wanted { std::mem::replace(&mut column[self.next], Cell::Missing) } else { Cell::Missing });
        }
        self.next += 1;
        self.read += 1;
        Ok(Some(self.read))
    }

    fn only(&mut self, columns: &[usize]) {
        self.wanted.iter_mut().enumerate().for_each(|(column, wanted)| *wanted = columns.contains(&column));
    }
}

impl Parquet {
    /// Decodes on where the batch is used up; whether there is a row.
    fn fill(&mut self) -> Result<bool, DataError> {
        let decoded = self.wanted.iter().position(|wanted| *wanted).map_or(0, |column| self.batch[column].len());
        if self.next < decoded {
            return Ok(true);
        }
        let damaged = |file: &Path, read: u64, error: ParquetError| DataError::Read {
            file: file.to_owned(),
            line: read,
            line_word: "row",
            source: std::io::Error::other(error),
        };
        while self.left == 0 {
            let Some(group) = self.groups.pop() else { return Ok(false) };
            self.begin(group).map_err(|error| damaged(&self.file, self.read, error))?;
        }
        let count = self.left.min(BATCH);
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        for (place, (column, batch)) in self.columns.iter_mut().zip(&mut self.batch).enumerate() {
            batch.clear();
            if let Some(column) = column {
                decode(column, &schema.column(place), count, batch).map_err(|error| damaged(&self.file, self.read, error))?;
            }
        }
        (self.left, self.next) = (self.left - count, 0);
        Ok(true)
    }

    fn begin(&mut self, group: usize) -> Result<(), ParquetError> {
        if group >= self.reader.num_row_groups() {
            return Err(ParquetError::General(format!("there is no row group {group}")));
        }
        let rows = self.reader.get_row_group(group)?;
        self.left = rows.metadata().num_rows().max(0) as usize;
        self.columns = self
            .wanted
            .iter()
            .enumerate()
            .map(|(i, wanted)| wanted.then(|| rows.get_column_reader(i)).transpose())
            .collect::<Result<_, _>>()?;
        Ok(())
    }
}

fn decode(reader: &mut ColumnReader, column: &ColumnDescriptor, count: usize, out: &mut Vec<Cell>) -> Result<(), ParquetError> {
    let most = column.max_def_level();
    let (unit, is_moment) = (unit(column), is_moment(column));
    match reader {
        ColumnReader::BoolColumnReader(r) => cells(r, most, count, out, |v| Cell::Number(f64::from(u8::from(*v)))),
        ColumnReader::Int32ColumnReader(r) => cells(r, most, count, out, |v| match column.converted_type() {
            ConvertedType::UINT_32 => Cell::Number(f64::from(*v as u32)),
            _ if is_moment => Cell::Moment(f64::from(*v) / unit),
            _ => Cell::Number(f64::from(*v) / unit),
        }),
        ColumnReader::Int64ColumnReader(r) => cells(r, most, count, out, |v| match column.converted_type() {
            ConvertedType::UINT_64 => whole(i128::from(*v as u64)),
            _ if is_moment => Cell::Moment(*v as f64 / unit),
            _ => decimal(i128::from(*v), column.type_scale()),
        }),
        ColumnReader::Int96ColumnReader(r) => cells(r, most, count, out, |v| Cell::Moment(v.to_millis() as f64 / MILLISECONDS_A_DAY)),
        ColumnReader::FloatColumnReader(r) => cells(r, most, count, out, |v| Cell::Number(f64::from(*v))),
        ColumnReader::DoubleColumnReader(r) => cells(r, most, count, out, |v| Cell::Number(*v)),
        ColumnReader::ByteArrayColumnReader(r) => cells(r, most, count, out, |v| bytes(column, v.data())),
        ColumnReader::FixedLenByteArrayColumnReader(r) => cells(r, most, count, out, |v| bytes(column, v.data())),
    }
}

/// A whole number as a float where that holds it, and as CSV has it elsewhere.
fn whole(number: i128) -> Cell {
    beyond_floats(number).unwrap_or(Cell::Number(number as f64))
}

/// A decimal without its point as a float where that is told from other decimals, and as it is written elsewhere.
fn decimal(digits: i128, scale: i32) -> Cell {
    // A whole number has none, which Parquet says as −1.
    let behind = scale.max(0) as usize;
    if behind <= 22 && digits.unsigned_abs() < 10_u128.pow(15) {
        return Cell::Number(digits as f64 / 10.0_f64.powi(scale.max(0)));
    }
    let text = format!("{:0>width$}", digits.unsigned_abs(), width = behind + 1);
    let (front, rest) = text.split_at(text.len() - behind);
    let sign = if digits < 0 { "-" } else { "" };
    let text = match rest.trim_end_matches('0') {
        "" => return format!("{sign}{front}").parse().map_or(Cell::Missing, whole),
        rest => format!("{sign}{front}.{rest}"),
    };
    text.parse::<f64>().ok().filter(|number| number.to_string() == text).map_or(Cell::Text(text), Cell::Number)
}

/// What bytes in two's complement say, the largest first; none where it has more digits than Parquet's decimals.
fn from_bytes(data: &[u8]) -> Option<i128> {
    let is_negative = data.first().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if is_negative { 0xff } else { 0 };
    let (more, last) = data.split_at(data.len().saturating_sub(16));
    let mut bytes = [fill; 16];
    bytes[16 - last.len()..].copy_from_slice(last);
    let number = i128::from_be_bytes(bytes);
    (more.iter().all(|byte| *byte == fill) && (number < 0) == is_negative).then_some(number)
}

/// What a whole number is divided by: dates and times are days since 1970, as in CSV; decimals have their digits behind the point.
fn unit(column: &ColumnDescriptor) -> f64 {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Timestamp(time)), _) => match time.unit {
            TimeUnit::MILLIS => MILLISECONDS_A_DAY,
            TimeUnit::MICROS => 1e3 * MILLISECONDS_A_DAY,
            TimeUnit::NANOS => 1e6 * MILLISECONDS_A_DAY,
        },
        (_, ConvertedType::TIMESTAMP_MILLIS) => MILLISECONDS_A_DAY,
        (_, ConvertedType::TIMESTAMP_MICROS) => 1e3 * MILLISECONDS_A_DAY,
        (Some(LogicalType::Decimal { .. }), _) | (_, ConvertedType::DECIMAL) => 10.0_f64.powi(column.type_scale()),
        _ => 1.0,
    }
}

/// Whether the column holds dates or times.
fn is_moment(column: &ColumnDescriptor) -> bool {
    let converted = [ConvertedType::DATE, ConvertedType::TIMESTAMP_MILLIS, ConvertedType::TIMESTAMP_MICROS];
    matches!(column.logical_type_ref(), Some(LogicalType::Timestamp(_) | LogicalType::Date)) || converted.contains(&column.converted_type())
}

fn bytes(column: &ColumnDescriptor, data: &[u8]) -> Cell {
    if matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. })) || column.converted_type() == ConvertedType::DECIMAL {
        let number = from_bytes(data).map(|digits| decimal(digits, column.type_scale()));
        return number.unwrap_or_else(|| Cell::Text("a decimal of more than 38 digits".to_owned()));
    }
    if matches!(column.logical_type_ref(), Some(LogicalType::Float16)) && data.len() == 2 {
        return Cell::Number(half(u16::from_le_bytes([data[0], data[1]])));
    }
    Cell::Text(String::from_utf8_lossy(data).into_owned())
}

/// A number of 16 bits: sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) =
        (if bits & 0x8000 == 0 { 1.0 } else { -1.0 }, i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    sign * match exponent {
        0 => fraction * 2.0_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2.0_f64.powi(exponent - 15),
    }
}

/// The next `count` cells of a column.
fn cells<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    most: i16,
    count: usize,
    out: &mut Vec<Cell>,
    cell: impl Fn(&T::T) -> Cell,
) -> Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
    while out.len() < count {
        levels.clear();
        values.clear();
        let (records, _, _) = reader.read_records(count - out.len(), Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF(format!("{} rows of {count}", out.len())));
        }
        if most == 0 {
            out.extend(values.iter().map(&cell));
            continue;
        }
        let mut found = values.iter();
        out.extend(levels.iter().map(|level| if *level == most { found.next().map_or(Cell::Missing, &cell) } else { Cell::Missing }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Categories, Frame, Options, Reader, Selection, Wanted};
    use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
    use parquet::data_type::{
        BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
    };
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
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

        let (names, mut rows) = open(&path, File::open(&path).unwrap(), None).unwrap();
        assert_eq!(names, ["x", "n", "s"]);
        let mut cells = Vec::new();
        assert_eq!(rows.next_row(&mut cells).unwrap(), Some(1));
        assert_eq!(cells, [Cell::Number(1.5), Cell::Number(7.0), Cell::Text("a".into())]);
        assert_eq!(rows.next_row(&mut cells).unwrap(), Some(2));
        assert!(matches!(&cells[..], [Cell::Number(x), Cell::Missing, Cell::Text(s)] if x.is_nan() && s == "b"));
        assert_eq!(rows.next_row(&mut cells).unwrap(), None);
    }

    #[test]
    fn numbers_that_are_stored_as_text_are_refused_as_text() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let texts = |column: &mut SerializedColumnWriter<'_>| fill::<ByteArrayType>(column, &[ByteArray::from("1.73")]);
        write(&path, "message t { required binary x (UTF8); }", Compression::UNCOMPRESSED, &[&texts]);
        let (wanted, categories) = (Wanted::AllBut(Vec::new()), Categories::Collected(Vec::new()));
        let selection = Selection { wanted, categories, memory: None, options: Options::Fit, drop_missing: false };
        let said = Frame::read(Reader::open(&path).unwrap(), &selection).unwrap_err().to_string();
        assert!(
            said.contains("row 1, column \"x\": \"1.73\"") && said.ends_with("it is stored as text: store the column as numbers"),
            "{said}"
        );
    }

    /// Two ids that are one float stay two, with and without a sign.
    #[test]
    fn whole_numbers_that_no_float_holds_are_text_as_in_csv() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let ids = |column: &mut SerializedColumnWriter<'_>| fill::<Int64Type>(column, &[1 << 53, (1 << 53) + 1, -1]);
        write(&path, "message t { required int64 id; required int64 u (UINT_64); }", Compression::UNCOMPRESSED, &[&ids, &ids]);
        let text = |text: &str| Cell::Text(text.to_owned());
        let (held, lost) = (Cell::Number(9_007_199_254_740_992.0), text("9007199254740993"));
        assert_eq!(all(&path), [[held.clone(), held], [lost.clone(), lost], [Cell::Number(-1.0), text("18446744073709551615")]]);
        let selection = |categorical: &[&str]| Selection {
            wanted: Wanted::AllBut(vec!["u".into()]),
            categories: Categories::Collected(categorical.iter().map(|name| (*name).to_owned()).collect()),
            memory: None,
            options: Options::Fit,
            drop_missing: false,
        };
        let frame = Frame::read(Reader::open(&path).unwrap(), &selection(&["id"])).unwrap();
        assert_eq!(frame.columns[0].categories.as_deref().unwrap(), ["9007199254740992", "9007199254740993", "-1"]);
        let said = Frame::read(Reader::open(&path).unwrap(), &selection(&[])).unwrap_err().to_string();
        assert!(said.contains("row 2, column \"id\": \"9007199254740993\"") && said.contains("cannot tell from its neighbours"), "{said}");
    }

    /// Decimals are exact: what floats cannot tell apart stays as it is written, and is refused by its place where it is to be a number.
    #[test]
    fn decimals_that_no_float_tells_apart_are_not_rounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let schema = "message t { required fixed_len_byte_array(16) d (DECIMAL(38, 18)); required int64 n (DECIMAL(18, 1)); }";
        let unit = 10_i128.pow(18);
        let exact = [unit / 10, -unit * 3 / 2, unit / 3, unit * ((1 << 53) + 1), unit << 53, 123_456_789_012_345_678];
        let wide = |number: &i128| FixedLenByteArray::from(ByteArray::from(number.to_be_bytes().to_vec()));
        let columns: [&dyn Fn(&mut SerializedColumnWriter<'_>); 2] =
            [&|column| fill::<FixedLenByteArrayType>(column, &exact.iter().map(wide).collect::<Vec<_>>()), &|column| {
                fill::<Int64Type>(column, &[15, -15, 90_071_992_547_409_921, 90_071_992_547_409_930, 0, 1 << 52])
            }];
        write(&path, schema, Compression::UNCOMPRESSED, &columns);
        let text = |text: &str| Cell::Text(text.to_owned());
        let expected = [
            [Cell::Number(0.1), Cell::Number(1.5)],
            [Cell::Number(-1.5), Cell::Number(-1.5)],
            [text("0.333333333333333333"), text("9007199254740992.1")],
            [text("9007199254740993"), text("9007199254740993")],
            [Cell::Number(9_007_199_254_740_992.0), Cell::Number(0.0)],
            [text("0.123456789012345678"), Cell::Number(450_359_962_737_049.6)],
        ];
        assert_eq!(all(&path), expected);
        let selection = Selection {
            wanted: Wanted::Named(vec!["d".into()]),
            categories: Categories::Collected(Vec::new()),
            memory: None,
            options: Options::Fit,
            drop_missing: false,
        };
        let said = Frame::read(Reader::open(&path).unwrap(), &selection).unwrap_err().to_string();
        assert!(said.contains("row 3, column \"d\": \"0.333333333333333333\"") && said.contains("more digits than"), "{said}");
        // Wider than any decimal has to be, and not.
        assert_eq!(from_bytes(&[0xff; 20]), Some(-1));
        assert_eq!(from_bytes(&[[1].as_slice(), &[0; 16]].concat()), None);
    }

    /// As in CSV: the second column would never be seen.
    #[test]
    fn two_columns_of_one_name_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let schema = "message t { required double x; required double y; required double x; }";
        let ones = |column: &mut SerializedColumnWriter<'_>| fill::<DoubleType>(column, &[1.0]);
        write(&path, schema, Compression::UNCOMPRESSED, &[&ones, &ones, &ones]);
        let said = Reader::open(&path).err().unwrap().to_string();
        assert!(said.ends_with("t.parquet: columns 1 and 3 (counted from 1) are both called \"x\": names must differ"), "{said}");
    }

    fn fill<T: DataType>(column: &mut SerializedColumnWriter<'_>, values: &[T::T]) {
        column.typed::<T>().write_batch(values, None, None).unwrap();
    }

    /// Writes one column after the other, each with all its values.
    fn write(path: &Path, schema: &str, compression: Compression, columns: &[&dyn Fn(&mut SerializedColumnWriter<'_>)]) {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for filled in columns {
            let mut column = group.next_column().unwrap().unwrap();
            filled(&mut column);
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
    }

    fn all(path: &Path) -> Vec<Vec<Cell>> {
        let (_, mut rows) = open(path, File::open(path).unwrap(), None).unwrap();
        let (mut all, mut cells) = (Vec::new(), Vec::new());
        while rows.next_row(&mut cells).unwrap().is_some() {
            all.push(cells.clone());
        }
        all
    }

    #[test]
    fn every_compression_in_use_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let values: Vec<f64> = (0..5000).map(|i| f64::from(i % 7)).collect();
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::BROTLI(BrotliLevel::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ] {
            let path = directory.path().join("c.parquet");
            write(&path, "message t { required double x; }", compression, &[&|column| fill::<DoubleType>(column, &values)]);
            let found: Vec<Cell> = all(&path).concat();
            assert!(found.iter().zip(&values).all(|(cell, value)| *cell == Cell::Number(*value)) && found.len() == 5000, "{compression:?}");
        }
    }

    /// Decimals of every width, dates, times and truth values are the numbers that CSV has for the same text.
    #[test]
    fn what_has_a_type_is_what_csv_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let schema = "message t {
            required int32 small (DECIMAL(9, 2)); required int64 large (DECIMAL(18, 3)); required fixed_len_byte_array(9) wide (DECIMAL(20, 4));
            required binary bytes (DECIMAL(10, 1)); required int32 day (DATE); required int64 moment (TIMESTAMP(MICROS, true));
            required int64 late (TIMESTAMP_MILLIS); required boolean wet; }";
        let noon = 1_704_110_400_000_000_i64;
        write(
            &path,
            schema,
            Compression::SNAPPY,
            &[
                &|column| fill::<Int32Type>(column, &[12_345, -5]),
                &|column| fill::<Int64Type>(column, &[1_234_567, -1]),
                &|column| {
                    let wide = |number: i128| FixedLenByteArray::from(ByteArray::from(number.to_be_bytes()[7..].to_vec()));
                    fill::<FixedLenByteArrayType>(column, &[wide(98_765_432), wide(-12_500)]);
                },
                &|column| fill::<ByteArrayType>(column, &[ByteArray::from(vec![0x00, 0xfa]), ByteArray::from(vec![0xff, 0x06])]),
                &|column| fill::<Int32Type>(column, &[19_723, -1]),
                &|column| fill::<Int64Type>(column, &[noon, 0]),
                &|column| fill::<Int64Type>(column, &[noon / 1000, 43_200_000]),
                &|column| fill::<BoolType>(column, &[true, false]),
            ],
        );
        let csv = directory.path().join("t.csv");
        let text = "small,large,wide,bytes,day,moment,late,wet\n\
            123.45,1234.567,9876.5432,25.0,2024-01-01,2024-01-01T12:00:00Z,2024-01-01 12:00:00,true\n\
            -0.05,-0.001,-1.25,-25.0,1969-12-31,1970-01-01T00:00:00Z,1970-01-01 12:00:00,false\n";
        std::fs::write(&csv, text).unwrap();
        let selection = Selection {
            wanted: Wanted::AllBut(Vec::new()),
            categories: Categories::Collected(Vec::new()),
            memory: None,
            options: Options::None,
            drop_missing: false,
        };
        let [typed, written] = [&path, &csv].map(|path| Frame::read(Reader::open(path).unwrap(), &selection).unwrap());
        assert_eq!(typed.values, written.values);
        assert_eq!(typed.values[..5], [123.45, 1234.567, 9876.5432, 25.0, 19_723.0]);
    }
}
