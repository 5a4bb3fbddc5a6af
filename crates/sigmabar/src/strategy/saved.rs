//! A run as bytes: saved after any event, restored to the same future.

use super::Strategy;
use crate::error::{ModelError, Result};
use crate::sealed;

const MAGIC: [u8; 8] = *b"SIGMARUN";
const VERSION: u32 = 3;

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
        let strategy: Self = postcard::from_bytes(payload).map_err(|_| ModelError::Content)?;
        // A problem that a run could not have been started with, or a book that it could not have written, is as wrong as a broken checksum.
        let sound = strategy.policy.check(&strategy.problem).is_ok() && strategy.ledger.is_consistent(strategy.problem.domain());
        if sound { Ok(strategy) } else { Err(ModelError::Content.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{BoxDomain, Domain};
    use crate::error::Error;
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
            assert_eq!(Strategy::from_bytes(&spoilt.to_bytes()), Err(Error::Model(ModelError::Content)));
        }
    }
}
