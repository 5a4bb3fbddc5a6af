//! How many threads work, in the command and in the Python package alike: what was said (`--threads`, `sb.set_num_threads`), then `SIGMABAR_NUM_THREADS`,
//! `RAYON_NUM_THREADS`, `OMP_NUM_THREADS`, then the cores that this process may use.

use crate::failure::Failure;
use std::ffi::OsStr;
use std::num::NonZeroUsize;

const OURS: &str = "SIGMABAR_NUM_THREADS";
/// Read by rayon itself.
const RAYON: &str = "RAYON_NUM_THREADS";
/// What joblib and many batch systems set, so that processes side by side do not each take every core.
const OPEN_MP: &str = "OMP_NUM_THREADS";

/// More than this many on one machine would be busy with each other.
pub const MOST: usize = 1024;

/// Sets the number of threads for the rest of the process.
pub(crate) fn set(option: Option<usize>) -> Result<(), Failure> {
    match option {
        Some(threads) => {
            let wanted = few(threads).ok_or_else(|| Failure::Threads { name: "--threads", value: threads.to_string(), most: MOST })?;
            sigmabar::linalg::set_threads(Some(wanted));
            Ok(())
        }
        None => set_from_environment(),
    }
}

/// What the environment asks for, unless somebody chose already.
///
/// # Errors
/// [`Failure::Threads`] if `SIGMABAR_NUM_THREADS` is no number of threads.
pub fn set_from_environment() -> Result<(), Failure> {
    if sigmabar::linalg::chosen_threads().is_none() {
        let [ours, rayon, open_mp] = [OURS, RAYON, OPEN_MP].map(std::env::var_os);
        sigmabar::linalg::set_threads(asked_for(ours.as_deref(), rayon.is_some(), open_mp.as_deref())?);
    }
    Ok(())
}

fn few(threads: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(threads).filter(|_| threads <= MOST)
}

fn asked_for(ours: Option<&OsStr>, is_left_to_rayon: bool, open_mp: Option<&OsStr>) -> Result<Option<NonZeroUsize>, Failure> {
    // A script that passes on what a batch system did not set says nothing.
    if let Some(text) = ours.filter(|text| !text.is_empty()) {
        let wanted = text.to_str().and_then(|text| text.trim().parse().ok()).and_then(few);
        return wanted.map(Some).ok_or_else(|| Failure::Threads { name: OURS, value: text.to_string_lossy().into_owned(), most: MOST });
    }
    // A list there has the number for the outermost level first. Others read this variable too: what we cannot read is theirs to complain about.
    let first = open_mp.filter(|_| !is_left_to_rayon).and_then(|text| text.to_str()?.split(',').next()?.trim().parse().ok());
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_variable_comes_first_then_that_of_rayon_then_that_of_openmp() {
        let asked = |ours: Option<&'static str>, rayon, open_mp: Option<&'static str>| {
            asked_for(ours.map(OsStr::new), rayon, open_mp.map(OsStr::new)).map(|wanted| wanted.map(NonZeroUsize::get))
        };
        assert_eq!(asked(Some("3"), true, Some("2")).unwrap(), Some(3));
        assert_eq!(asked(None, true, Some("2")).unwrap(), None);
        assert_eq!(asked(None, false, Some("4,2")).unwrap(), Some(4));
        assert_eq!(asked(None, false, Some("many")).unwrap(), None);
        assert_eq!(asked(Some(""), false, Some("4")).unwrap(), Some(4));
        assert_eq!(
            asked(Some("0"), false, None).unwrap_err().to_string(),
            "SIGMABAR_NUM_THREADS is \"0\": it must be a whole number of threads, from 1 to 1024"
        );
        assert!(asked(Some("5000"), false, None).is_err() && set(Some(5000)).is_err());
    }
}
