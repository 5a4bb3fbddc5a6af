//! Models on disk.

use crate::Outcome;
use crate::failure::Failure;
use crate::model::Model;
use crate::output;
use std::fs;
use std::path::Path;

/// Writes a model; its size.
pub(crate) fn save(model: &Model, path: &Path) -> Outcome<u64> {
    let bytes = model.to_bytes();
    output::replace(path, |out| out.write_all(&bytes))?;
    Ok(bytes.len() as u64)
}

/// Reads a model file.
pub(crate) fn load(path: &Path) -> Outcome<Model> {
    let bytes = fs::read(path).map_err(Failure::file(path, "read"))?;
    Model::from_bytes(&bytes).map_err(|problem| Failure::Model { path: path.to_owned(), problem })
}
