//! The model file: a mark, a version, a length and a checksum, then the description and the posterior's own sealed bytes.

use super::{About, Model};
use sigmabar::Posterior;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The first bytes of every model file. The last two catch transfers that rewrite line ends.
const MARK: [u8; 8] = *b"sbmodl\r\n";
/// The format written by this version.
const VERSION: u32 = 1;
const HASH: usize = 32;
const HEAD: usize = MARK.len() + 4 + 8 + HASH;

/// A model file that cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// The file cannot be opened or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Not a model.
    #[error("{}: not a sigmabar model: its first bytes are others; sigmabar fit DATA --target COLUMN makes one", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer version.
    #[error("{}: written in format {found}, and this version reads up to {VERSION}: use a newer sigmabar", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
    /// Cut short, or something appended.
    #[error("{}: {found} bytes where its header announces {expected}: the file was cut or something was appended; copy it again", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes announced.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// The checksum does not match.
    #[error("{}: its checksum does not match: the file is damaged; copy it again or fit anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The checksum matches but the content is no model.
    #[error("{}: its content does not fit together: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
}

/// Puts mark, version, length and checksum before a payload.
#[must_use]
pub fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(blake3::hash(payload).as_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Whether these are the first bytes of a model file.
pub(crate) fn is_model(bytes: &[u8]) -> bool {
    bytes.starts_with(&MARK)
}

impl Model {
    /// The bytes of the model file.
    ///
    /// # Errors
    /// [`ModelFileError::Content`] for a description that cannot be written, which does not happen.
    pub fn to_bytes(&self, path: &Path) -> Result<Vec<u8>, ModelFileError> {
        let content = |error: postcard::Error| ModelFileError::Content { path: path.to_owned(), reason: error.to_string() };
        Ok(sealed(&postcard::to_stdvec(&(&self.about, self.posterior.to_bytes())).map_err(content)?))
    }

    /// Reads the bytes of a model file; the path is for messages.
    ///
    /// # Errors
    /// [`ModelFileError`] saying why: foreign, newer, cut, damaged, or not fitting together.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelFileError> {
        let path = || path.to_owned();
        if bytes.len() < MARK.len() || bytes[..MARK.len()] != MARK {
            return Err(ModelFileError::Foreign { path: path() });
        }
        let (head, payload) = bytes.split_at_checked(HEAD).ok_or_else(|| ModelFileError::Length {
            path: path(),
            expected: HEAD as u64,
            found: bytes.len() as u64,
        })?;
        let (version, rest) = head[MARK.len()..].split_at(4);
        let (length, hash) = rest.split_at(8);
        let found = version.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        if found != VERSION {
            return Err(ModelFileError::Newer { path: path(), found });
        }
        let expected = length.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        if payload.len() as u64 != expected {
            let head = HEAD as u64;
            return Err(ModelFileError::Length {
                path: path(),
                expected: expected.saturating_add(head),
                found: payload.len() as u64 + head,
            });
        }
        if blake3::hash(payload).as_bytes() != hash {
            return Err(ModelFileError::Damaged { path: path() });
        }
        let (about, posterior): (About, Vec<u8>) =
            postcard::from_bytes(payload).map_err(|error| ModelFileError::Content { path: path(), reason: error.to_string() })?;
        let posterior =
            Posterior::from_bytes(&posterior).map_err(|error| ModelFileError::Content { path: path(), reason: error.to_string() })?;
        let width = posterior.information().features().inducing().dim();
        if about.features.len() != width {
            let reason = format!("{} column names for points of {width} columns", about.features.len());
            return Err(ModelFileError::Content { path: path(), reason });
        }
        Ok(Self { about, posterior })
    }

    /// Writes the model beside its final name first, so that a full disk or a crash never leaves half a model there. Gives its size.
    ///
    /// # Errors
    /// [`ModelFileError::Io`].
    pub fn save(&self, path: &Path) -> Result<u64, ModelFileError> {
        let failed = |source| ModelFileError::Io { path: path.to_owned(), action: "write", source };
        let bytes = self.to_bytes(path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let written = File::create(&part)
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&part, path));
        if let Err(source) = written {
            drop(fs::remove_file(&part));
            return Err(failed(source));
        }
        Ok(bytes.len() as u64)
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// As [`Model::from_bytes`], and [`ModelFileError::Io`].
    pub fn load(path: &Path) -> Result<Self, ModelFileError> {
        let bytes = fs::read(path).map_err(|source| ModelFileError::Io { path: path.to_owned(), action: "read", source })?;
        Self::from_bytes(&bytes, path)
    }
}
