//! The results from which premises were learnt, as a study file names them.

use super::Fault;
use super::file::StudyFile;
use crate::error::SpecProblem;
use sigmabar::points::Seen;

/// Digits of one fingerprint.
const DIGITS: usize = 16;

/// As a study file has them.
pub(crate) fn written(rows: &Seen) -> String {
    rows.hashes().iter().map(|hash| format!("{hash:0DIGITS$x}")).collect()
}

/// What a study file has.
pub(super) fn rows(file: &StudyFile) -> Result<Seen, Fault> {
    let Some(text) = &file.learnt_rows else { return Ok(Seen::default()) };
    let wrong = |found: String, requirement| Fault::new(&["learnt_rows"], SpecProblem::Requirement { found, requirement });
    if file.learnt_from.is_none() {
        return Err(wrong("no learnt_from".to_owned(), "a learnt_from that says where these results are"));
    }
    let parts = text.as_bytes().chunks(DIGITS).map(|part| {
        let digits = std::str::from_utf8(part).ok().filter(|part| part.len() == DIGITS);
        digits.and_then(|digits| u64::from_str_radix(digits, 16).ok())
    });
    let hashes: Option<Vec<u64>> = parts.collect();
    let requirement = "16 hexadecimal digits for each result, as sigmabar premises --from writes them";
    hashes.map(Seen::from).ok_or_else(|| wrong(format!("{} characters", text.chars().count()), requirement))
}
