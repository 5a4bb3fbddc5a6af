//! Whether anybody changed the file: a look costs some ten microseconds.

use super::Study;
use crate::Result;
use crate::store::Store;

/// Sees that the file of a study was changed, by this process or another.
///
/// SQLite tells a connection about the commits of others only: this one is its own, and commits nothing.
#[derive(Debug)]
pub struct Feed {
    store: Store,
    version: i64,
}

impl Study {
    /// A look-out for changes of the file from here on.
    pub fn feed(&self) -> Result<Feed> {
        let store = self.opened_again()?;
        let version = store.data_version()?;
        Ok(Feed { store, version })
    }
}

impl Feed {
    /// Whether anything was committed since the last look.
    ///
    /// # Errors
    /// [`crate::Error::Store`], also where another file has taken the place of this one.
    pub fn has_changed(&mut self) -> Result<bool> {
        self.store.check_place()?;
        let version = self.store.data_version()?;
        Ok(std::mem::replace(&mut self.version, version) != version)
    }
}
