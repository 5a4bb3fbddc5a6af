//! A run as bytes: saved after any event, restored to the same future.

use super::Strategy;
use crate::error::{ModelError, Result};
use crate::sealed;

const MAGIC: [u8; 8] = *b"SIGMARUN";
const VERSION: u32 = 1;

impl Strategy {
    /// The whole run as bytes, with the same kind of header and checksum as a saved model.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        sealed::seal(MAGIC, VERSION, &postcard::to_stdvec(self).expect("plain numbers and lists always serialise"))
    }

    /// Reads a run written by [`Strategy::to_bytes`].
    ///
    /// # Errors
    /// [`ModelError`] saying why it is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let payload = sealed::open(MAGIC, VERSION, bytes)?;
        Ok(postcard::from_bytes(payload).map_err(|_| ModelError::Content)?)
    }
}
