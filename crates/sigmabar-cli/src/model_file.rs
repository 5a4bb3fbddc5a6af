//! Models on disk.

use crate::Outcome;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::model::{self, About, Model};
use crate::output::{self, Over};
use crate::quantity::Bytes;
use crate::which_study::word;
use sigmabar::certificate::Contradiction;
use sigmabar::sealed::is_sealed;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Writes a model and says so; where it is.
pub(crate) fn save(model: &Model, path: &Path, over: Over, console: &Console) -> Outcome<PathBuf> {
    let bytes = model.to_bytes();
    // A file that nobody can open would be found out too late.
    Model::from_bytes(&bytes).map_err(|problem| Failure::Model { path: path.to_owned(), problem })?;
    keep(&bytes, path, over, console)
}

/// Writes something sealed and says so; where it is.
pub(crate) fn keep(bytes: &[u8], path: &Path, over: Over, console: &Console) -> Outcome<PathBuf> {
    let kept = output::publish(path, over, |out| out.write_all(bytes))?;
    console.say(format_args!("saved {} ({})", kept.display(), Bytes(bytes.len() as u64)));
    Ok(kept)
}

/// Says that the data contradict what was declared for a model, and what can be done.
pub(crate) fn contradicted(contradiction: &Contradiction, verb: &str, about: &About, console: &Console) -> Ending {
    console.warn(contradiction);
    console.say(model::MEND);
    let (data, target) = (&about.data, word(&about.target));
    console
        .next(format_args!("sigmabar {verb} {data} --target {target} --prior-mean MEAN --unit UNIT --norm-bound C   (the rest as before)"));
    Ending::Uncertified
}

/// The bytes of something saved; of a file that does not begin as one only the beginning, for it may have no end.
pub(crate) fn read_sealed(path: &Path) -> Outcome<Vec<u8>> {
    let read = || {
        let (mut file, mut bytes) = (fs::File::open(path)?, Vec::new());
        file.by_ref().take(64).read_to_end(&mut bytes)?;
        if is_sealed(&bytes) {
            file.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    read().map_err(Failure::file(path, "read"))
}

/// Reads a model file.
pub(crate) fn load(path: &Path) -> Outcome<Model> {
    let bytes = read_sealed(path)?;
    Model::from_bytes(&bytes).map_err(|problem| Failure::Model { path: path.to_owned(), problem })
}
