//! How many threads work: `--threads`, then `SIGMABAR_NUM_THREADS`, then what rayon finds (`RAYON_NUM_THREADS`, the cores this process may use).

use crate::failure::Failure;

const VARIABLE: &str = "SIGMABAR_NUM_THREADS";

/// Sets the number of threads for the rest of the process.
pub(crate) fn set(option: Option<usize>) -> Result<(), Failure> {
    let wanted = match option {
        Some(0) => return Err(Failure::Threads { name: "--threads", value: "0".to_owned() }),
        Some(threads) => Some(threads),
        None => from_environment()?,
    };
    if let Some(threads) = wanted {
        // A process that has its pool already, as Python may, keeps it.
        drop(rayon::ThreadPoolBuilder::new().num_threads(threads).build_global());
    }
    Ok(())
}

fn from_environment() -> Result<Option<usize>, Failure> {
    let Some(text) = std::env::var_os(VARIABLE) else { return Ok(None) };
    match text.to_str().and_then(|text| text.parse::<usize>().ok()) {
        Some(threads) if threads > 0 => Ok(Some(threads)),
        _ => Err(Failure::Threads { name: VARIABLE, value: text.to_string_lossy().into_owned() }),
    }
}
