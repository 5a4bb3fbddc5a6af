//! The envelope of everything written to bytes: magic, version, length, checksum, content.

use crate::error::ModelError;

/// Magic, version, content length, blake3 checksum of the rest.
const HEADER: usize = 8 + 4 + 8 + 32;

/// Wraps content.
pub(crate) fn seal(magic: [u8; 8], version: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.extend_from_slice(&magic);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    let sum = checksum(&bytes, content);
    bytes.extend_from_slice(&sum);
    bytes.extend_from_slice(content);
    bytes
}

/// Checks the envelope; the content.
pub(crate) fn open(magic: [u8; 8], version: u32, bytes: &[u8]) -> Result<&[u8], ModelError> {
    if bytes.len() < 8 || bytes[..8] != magic {
        return Err(ModelError::Foreign);
    }
    if bytes.len() < HEADER {
        return Err(ModelError::Truncated { expected: HEADER as u64, found: bytes.len() as u64 });
    }
    let (head, rest) = bytes.split_at(20);
    let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if found > version {
        return Err(ModelError::Version { found, supported: version });
    }
    let mut length = [0_u8; 8];
    length.copy_from_slice(&head[12..20]);
    let expected = (HEADER as u64).saturating_add(u64::from_le_bytes(length));
    if expected != bytes.len() as u64 {
        return Err(ModelError::Truncated { expected, found: bytes.len() as u64 });
    }
    let (sum, content) = rest.split_at(32);
    if checksum(head, content) == *sum { Ok(content) } else { Err(ModelError::Checksum) }
}

fn checksum(head: &[u8], content: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update(head).update(content).finalize().as_bytes()
}
