//! Tables of any library through the Arrow C stream interface, without importing the library.

use crate::error::raise;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The rows of anything that has `__arrow_c_stream__`, and the names of its columns. A missing value is an error that names its row and column.
#[pyfunction]
pub fn arrow_rows<'py>(py: Python<'py>, table: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<String>)> {
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: the capsule's name says that it holds an ArrowArrayStream; moving it out leaves a released one behind for the capsule to drop.
    let mut reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) }.map_err(raise)?;
    let names: Vec<String> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    let (mut rows, mut data) = (0, Vec::new());
    for batch in &mut reader {
        let batch = batch.map_err(raise)?;
        append(&batch, rows, &mut data)?;
        rows += batch.num_rows();
    }
    let array = data.into_pyarray(py).reshape([rows, names.len()])?;
    Ok((array, names))
}

/// Writes the columns of a batch into rows.
fn append(batch: &RecordBatch, first_row: usize, data: &mut Vec<f64>) -> PyResult<()> {
    let (width, start) = (batch.num_columns(), data.len());
    data.resize(start + width * batch.num_rows(), 0.0);
    let schema = batch.schema();
    for (j, column) in batch.columns().iter().enumerate() {
        let name = schema.field(j).name();
        if let Some(row) = (0..column.len()).find(|&i| column.is_null(i)) {
            return Err(raise(format!("row {}, column \"{name}\": the value is missing; drop the row or fill it in", first_row + row)));
        }
        let values = numbers(column.as_ref())
            .ok_or_else(|| raise(format!("column \"{name}\" holds {} and not numbers; encode it or leave it out", column.data_type())))?;
        if let Some((row, number)) = lost(column.as_ref()) {
            return Err(raise(format!(
                "row {}, column \"{name}\": {number} is a whole number that 64-bit floats cannot tell from its neighbours; number what it names 0, 1, 2, …, or subtract an offset",
                first_row + row
            )));
        }
        for (i, value) in values.into_iter().enumerate() {
            data[start + i * width + j] = value;
        }
    }
    Ok(())
}

/// The first whole number that a float does not hold, with its row: it and its neighbours would be one number.
fn lost(column: &dyn Array) -> Option<(usize, i128)> {
    let is_lost = |(_, number): &(usize, i128)| *number as f64 as i128 != *number;
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().values().iter().map(|v| i128::from(*v)).enumerate().find(is_lost),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().values().iter().map(|v| i128::from(*v)).enumerate().find(is_lost),
        _ => None,
    }
}

fn numbers(column: &dyn Array) -> Option<Vec<f64>> {
    macro_rules! as_floats {
        ($kind:ty) => {
            column.as_primitive::<$kind>().values().iter().map(|&v| v as f64).collect()
        };
    }
    Some(match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().values().to_vec(),
        DataType::Float32 => as_floats!(Float32Type),
        DataType::Int8 => as_floats!(Int8Type),
        DataType::Int16 => as_floats!(Int16Type),
        DataType::Int32 => as_floats!(Int32Type),
        DataType::Int64 => as_floats!(Int64Type),
        DataType::UInt8 => as_floats!(UInt8Type),
        DataType::UInt16 => as_floats!(UInt16Type),
        DataType::UInt32 => as_floats!(UInt32Type),
        DataType::UInt64 => as_floats!(UInt64Type),
        DataType::Boolean => column.as_boolean().values().iter().map(f64::from).collect(),
        _ => return None,
    })
}
