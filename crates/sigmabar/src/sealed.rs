//! The envelope of everything saved, whoever writes it: mark, version, kind, lengths, checksum, what the writer remarks, content.
//!
//! One header of 64 bytes stands before models and runs alike:
//!
//! | bytes | |
//! |---|---|
//! | 8 | the mark `SBAR\r\n\x1a\n` |
//! | 4 | the version of the format |
//! | 4 | the kind: `modl`, `stra`, `plan` or `sums` |
//! | 8 | the length of the remark |
//! | 8 | the length of the content |
//! | 32 | the blake3 checksum of all the rest |
//!
//! Numbers are little-endian. The remark is text, usually JSON, that the library carries and does not read: names of columns, for one.

pub use crate::error::SavedError;

/// The line ends in it are there to catch transfers that rewrite them.
const MARK: [u8; 8] = *b"SBAR\r\n\x1a\n";
/// Marks of formats 1 and 2, which had an envelope for each kind and writer.
const EARLIER: [[u8; 8]; 3] = [*b"SIGMABAR", *b"SIGMARUN", *b"sbmodl\r\n"];
/// Rises whenever the content of any kind changes.
const VERSION: u32 = 18;
const HEADER: usize = 64;
/// Where the checksum begins; it covers what stands before it and what comes after it.
const CHECKSUM: usize = 32;

/// What was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A fitted model: [`crate::Posterior::to_bytes`].
    Model,
    /// A run: [`crate::Strategy::to_bytes`].
    Strategy,
    /// What is to be summed: [`crate::accumulator::Plan::to_bytes_with`].
    Plan,
    /// Sums over rows: [`crate::accumulator::Accumulator::to_bytes`].
    Sums,
}

/// An envelope that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// What the writer remarked; empty for nothing.
    pub remark: &'a str,
    /// The content.
    pub content: &'a [u8],
}

impl Kind {
    fn tag(self) -> [u8; 4] {
        match self {
            Self::Model => *b"modl",
            Self::Strategy => *b"stra",
            Self::Plan => *b"plan",
            Self::Sums => *b"sums",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Strategy => "run",
            Self::Plan => "plan",
            Self::Sums => "file of sums",
        }
    }
}

/// Whether something begins as everything does that this library saves or has ever saved.
#[must_use]
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MARK) || is_earlier(bytes)
}

fn is_earlier(bytes: &[u8]) -> bool {
    EARLIER.iter().any(|mark| bytes.starts_with(mark))
}

/// Wraps content, with a remark of the writer.
#[must_use]
pub fn seal(kind: Kind, remark: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + remark.len() + content.len());
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&kind.tag());
    bytes.extend_from_slice(&(remark.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; HEADER - CHECKSUM]);
    bytes.extend_from_slice(remark.as_bytes());
    bytes.extend_from_slice(content);
    let sum = checksum(&bytes);
    bytes[CHECKSUM..HEADER].copy_from_slice(&sum);
    bytes
}

/// Checks an envelope and opens it.
///
/// # Errors
/// [`SavedError`] saying why: foreign, earlier, newer, cut, damaged or of another kind.
pub fn open(kind: Kind, bytes: &[u8]) -> Result<Opened<'_>, SavedError> {
    if is_earlier(bytes) {
        return Err(SavedError::Earlier);
    }
    if !bytes.starts_with(&MARK) {
        return Err(SavedError::Foreign);
    }
    let found = bytes.len() as u64;
    if bytes.len() < HEADER {
        return Err(SavedError::Length { expected: HEADER as u64, found });
    }
    match u32::from_le_bytes(field(bytes, 8)) {
        VERSION => {}
        version if version < VERSION => return Err(SavedError::Earlier),
        version => return Err(SavedError::Newer { found: version, supported: VERSION }),
    }
    let (remark, content) = (u64::from_le_bytes(field(bytes, 16)), u64::from_le_bytes(field(bytes, 24)));
    let expected = (HEADER as u64).saturating_add(remark).saturating_add(content);
    if expected != found {
        return Err(SavedError::Length { expected, found });
    }
    if checksum(bytes) != bytes[CHECKSUM..HEADER] {
        return Err(SavedError::Checksum);
    }
    if field(bytes, 12) != kind.tag() {
        return Err(SavedError::Kind { wanted: kind.name() });
    }
    let (remark, content) = bytes[HEADER..].split_at(remark as usize);
    let remark = std::str::from_utf8(remark).map_err(|_| SavedError::Content { what: "its remark is not text" })?;
    Ok(Opened { remark, content })
}

/// A field of the header, which is there.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

fn checksum(bytes: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update(&bytes[..CHECKSUM]).update(&bytes[HEADER..]).finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_by_its_own_kind_alone() {
        for (remark, content) in [("", b"".as_slice()), ("{\"target\":\"y\"}", b"content"), ("ü", &[0xff, 0])] {
            let bytes = seal(Kind::Model, remark, content);
            assert_eq!(open(Kind::Model, &bytes), Ok(Opened { remark, content }));
            assert_eq!(open(Kind::Strategy, &bytes), Err(SavedError::Kind { wanted: "run" }));
            assert!(is_sealed(&bytes));
        }
    }

    #[test]
    fn every_bit_and_every_cut_is_noticed() {
        let bytes = seal(Kind::Strategy, "remark", b"content");
        for cut in 0..bytes.len() {
            assert!(open(Kind::Strategy, &bytes[..cut]).is_err(), "cut to {cut}");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(Kind::Strategy, &damaged).is_err(), "bit {bit}");
        }
        // Lengths that add up although they are others, and a remark that is not text, are no better for a right checksum.
        let mut shifted = bytes.clone();
        (shifted[16], shifted[24]) = (bytes[16] + 1, bytes[24] - 1);
        assert_eq!(open(Kind::Strategy, &shifted), Err(SavedError::Checksum));
        let mut torn = seal(Kind::Strategy, "ü", b"");
        torn[HEADER + 1] = b'x';
        let sum = checksum(&torn);
        torn[CHECKSUM..HEADER].copy_from_slice(&sum);
        assert!(matches!(open(Kind::Strategy, &torn), Err(SavedError::Content { .. })));
    }

    #[test]
    fn earlier_formats_are_told_from_foreign_files() {
        for mark in EARLIER {
            let old = [mark.as_slice(), &[1, 0, 0, 0], &[0; 80]].concat();
            assert!(is_sealed(&old));
            assert_eq!(open(Kind::Model, &old), Err(SavedError::Earlier));
        }
        let mut early = seal(Kind::Model, "", b"");
        early[8] = 2;
        assert_eq!(open(Kind::Model, &early), Err(SavedError::Earlier));
        early[8] = VERSION as u8 + 1;
        assert_eq!(open(Kind::Model, &early), Err(SavedError::Newer { found: VERSION + 1, supported: VERSION }));
        assert_eq!(open(Kind::Model, b"SBAR\n\x1a\n and more"), Err(SavedError::Foreign), "line ends were rewritten");
    }
}
