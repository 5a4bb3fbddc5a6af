//! NumPy arrays of one or two dimensions: columns are called `c0`, `c1`, ….

use super::place::BEYOND_FLOATS;
use super::{Cell, DataError, Rows, beyond_floats};
use npyz::{DType, NpyFile, Order, TypeChar};
use std::io::Read;
use std::path::Path;

struct Numpy {
    values: Vec<f64>,
    rows: usize,
    columns: usize,
    order: Order,
    next: usize,
}

pub(super) fn open(file: &Path, input: impl Read) -> Result<(Vec<String>, Box<dyn Rows>), DataError> {
    let wrong = |reason: String| DataError::Format { file: file.to_owned(), kind: "NumPy", reason };
    let array = NpyFile::new(input).map_err(|error| wrong(error.to_string()))?;
    let (rows, columns) = match *array.shape() {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        ref other => return Err(wrong(format!("it has {} dimensions, and 1 or 2 are needed", other.len()))),
    };
    let order = array.order();
    let expected = rows.checked_mul(columns).ok_or_else(|| wrong("its shape is larger than any file".to_owned()))?;
    let values = numbers(array).map_err(wrong)?;
    if values.len() as u64 != expected || columns == 0 {
        return Err(wrong(format!("{} values where the shape says {rows} × {columns}", values.len())));
    }
    let names = (0..columns).map(|column| format!("c{column}")).collect();
    Ok((names, Box::new(Numpy { values, rows: rows as usize, columns: columns as usize, order, next: 0 })))
}

fn numbers<R: Read>(array: NpyFile<R>) -> Result<Vec<f64>, String> {
    let DType::Plain(kind) = array.dtype() else { return Err("structured arrays are not read: save plain numbers".to_owned()) };
    // One value at a time, so that a shape that promises more than the file holds fails where the file ends.
    fn all<T: npyz::Deserialize, R: Read>(array: NpyFile<R>, to_f64: fn(T) -> f64) -> Result<Vec<f64>, String> {
        let values = array.data::<T>().map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        for value in values {
            out.push(to_f64(value.map_err(|error| error.to_string())?));
        }
        Ok(out)
    }
    match (kind.type_char(), kind.size_field()) {
        (TypeChar::Float, 8) => all::<f64, R>(array, |v| v),
        (TypeChar::Float, 4) => all::<f32, R>(array, f64::from),
        (TypeChar::Int, 8) => whole::<i64, R>(array),
        (TypeChar::Int, 4) => all::<i32, R>(array, f64::from),
        (TypeChar::Int, 2) => all::<i16, R>(array, f64::from),
        (TypeChar::Int, 1) => all::<i8, R>(array, f64::from),
        (TypeChar::Uint, 8) => whole::<u64, R>(array),
        (TypeChar::Uint, 4) => all::<u32, R>(array, f64::from),
        (TypeChar::Uint, 2) => all::<u16, R>(array, f64::from),
        (TypeChar::Uint, 1) => all::<u8, R>(array, f64::from),
        (TypeChar::Bool, _) => all::<bool, R>(array, |v| f64::from(u8::from(v))),
        _ => Err(format!("values of type {kind} are not numbers that can be used: save as float64")),
    }
}

/// Whole numbers of 64 bits, all of which floats hold.
fn whole<T: npyz::Deserialize + Into<i128>, R: Read>(array: NpyFile<R>) -> Result<Vec<f64>, String> {
    let (shape, order) = (array.shape().to_vec(), array.order());
    let (rows, columns) = (shape[0].max(1), shape.get(1).copied().unwrap_or(1).max(1));
    let mut out = Vec::new();
    for (value, place) in array.data::<T>().map_err(|error| error.to_string())?.zip(0..) {
        let number: i128 = value.map_err(|error| error.to_string())?.into();
        if beyond_floats(number).is_some() {
            let (row, column) = if order == Order::C { (place / columns, place % columns) } else { (place % rows, place / rows) };
            return Err(format!("row {}, column c{column}: {number} {BEYOND_FLOATS}", row + 1));
        }
        out.push(number as f64);
    }
    Ok(out)
}

impl Rows for Numpy {
    fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError> {
        if self.next == self.rows {
            return Ok(None);
        }
        let row = self.next;
        self.next += 1;
        cells.clear();
        cells.extend((0..self.columns).map(|column| {
            Cell::Number(match self.order {
                Order::C => self.values[row * self.columns + column],
                Order::Fortran => self.values[column * self.rows + row],
            })
        }));
        Ok(Some(self.next as u64))
    }
}
