//! Heavy things that the book of a run determines: kept in memory, never saved.

/// Something that can be computed again from the problem and the ledger: left out when a run is saved, and no part of what makes two runs equal.
#[derive(Clone, Debug)]
pub(crate) struct Cache<T>(Option<T>);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> PartialEq for Cache<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Cache<T> {
    /// Takes it out; whoever does puts it back when nothing went wrong.
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }

    /// Puts it back.
    pub fn put(&mut self, value: T) -> &mut T {
        self.0.insert(value)
    }
}
