//! A run as bytes: saved after any event, restored to the same future.

use super::Strategy;
use crate::error::{Error, Result, SavedError};
use crate::sealed::{self, Kind};

/// A right checksum over something else.
const TORN: Error = Error::Saved(SavedError::Content { what: "a run" });

impl Strategy {
    /// The whole run as bytes, in the envelope of everything saved ([`crate::sealed`]).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_with("")
    }

    /// The same with a remark for whoever reads it.
    #[must_use]
    pub fn to_bytes_with(&self, remark: &str) -> Vec<u8> {
        sealed::seal(Kind::Strategy, remark, &postcard::to_stdvec(self).expect("plain numbers and lists always serialise"))
    }

    /// Reads a run written by [`Strategy::to_bytes`].
    ///
    /// # Errors
    /// [`SavedError`] saying why it is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_bytes_with(bytes).map(|(strategy, _)| strategy)
    }

    /// The same with the remark that was written with it; empty where there was none.
    ///
    /// # Errors
    /// As [`Strategy::from_bytes`].
    pub fn from_bytes_with(bytes: &[u8]) -> Result<(Self, &str)> {
        let opened = sealed::open(Kind::Strategy, bytes)?;
        let strategy: Self = postcard::from_bytes(opened.content).map_err(|_| TORN)?;
        // A problem that a run could not have been started with, or a book that it could not have written, is as wrong as a broken checksum.
        let sound = strategy.policy.check(&strategy.problem).is_ok() && strategy.ledger.is_consistent(strategy.problem.domain());
        if sound { Ok((strategy, opened.remark)) } else { Err(TORN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{BoxDomain, Domain};
    use crate::strategy::run::ledger::Proposal;
    use crate::strategy::{Outcome, Policy, Problem, Random};

    #[test]
    fn a_book_that_does_not_fit_together_is_refused_although_its_checksum_is_right() {
        let problem = Problem::new(Domain::Box(BoxDomain::unit(2).expect("valid")), 4).expect("valid");
        let mut run = Strategy::new(problem, Policy::Random(Random::default())).expect("valid");
        assert_eq!(Strategy::from_bytes(&run.to_bytes()).expect("a fresh run"), run);
        run.ask(3).expect("asks");
        run.tell(1, Outcome::Value(0.5)).expect("was asked");
        assert_eq!(Strategy::from_bytes(&run.to_bytes()).expect("a sound run"), run);
        for point in [vec![0.5], vec![0.5, f64::NAN]] {
            let mut spoilt = run.clone();
            spoilt.ledger.close();
            spoilt.ledger.open(vec![Proposal { candidate: None, point }]);
            assert_eq!(Strategy::from_bytes(&spoilt.to_bytes()), Err(TORN));
        }
    }
}
