//! A run, with the trials that an interrupted call had planned and nobody received.

use sigmabar::{Ask, Error, Outcome, Points, Strategy, Trial, TrialState};

/// Marks saved runs that end with a list of trials nobody received.
const MARK: &[u8; 8] = b"sb-kept1";
const WORD: usize = size_of::<u64>();

/// Trials with their points in the user's values: empty while everything is handed out, none at the end.
pub type Found = Option<(Vec<Trial>, Option<Points>)>;

/// What the library knows as asked, less what was never handed over.
pub struct Handed {
    pub strategy: Strategy,
    kept: Vec<u64>,
}

impl From<Strategy> for Handed {
    fn from(strategy: Strategy) -> Self {
        Self { strategy, kept: Vec::new() }
    }
}

impl Handed {
    /// What is still to be handed over comes first.
    pub fn ask(&mut self, at_most: usize) -> sigmabar::Result<Found> {
        let ledger = self.strategy.ledger();
        let is_open = |id: &u64| matches!(usize::try_from(*id).ok().and_then(|i| ledger.states().get(i)), Some(TrialState::Asked));
        self.kept.retain(is_open);
        if !self.kept.is_empty() && at_most > 0 {
            let kept = &self.kept[..at_most.min(self.kept.len())];
            let trials: Vec<Trial> = ledger.trials().iter().filter(|trial| kept.contains(&trial.id)).cloned().collect();
            let points = natural(&self.strategy, &trials)?;
            self.kept.drain(..trials.len());
            return Ok(Some((trials, Some(points))));
        }
        Ok(match self.strategy.ask(at_most)? {
            Ask::Trials(trials) => {
                let points = natural(&self.strategy, &trials)?;
                Some((trials, Some(points)))
            }
            Ask::Finished => None,
            _ => Some((Vec::new(), None)),
        })
    }

    /// Takes back what nobody received.
    pub fn keep(&mut self, trials: &[Trial]) {
        self.kept.extend(trials.iter().map(|trial| trial.id));
        self.kept.sort_unstable();
    }

    /// Several results, all or none. An interrupt comes after the last is told, while the batch is digested: then the next ask does that.
    pub fn tell(&mut self, results: Vec<(u64, Outcome)>) -> sigmabar::Result<()> {
        let before = (results.len() > 1).then(|| self.strategy.clone());
        let told = results.into_iter().try_for_each(|(id, outcome)| match self.strategy.tell(id, outcome) {
            Err(Error::Interrupted(_)) => Ok(()),
            told => told,
        });
        if let (Err(_), Some(before)) = (&told, before) {
            self.strategy = before;
        }
        told
    }

    /// The run, followed by the trials that nobody received if there are any.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.strategy.to_bytes();
        if !self.kept.is_empty() {
            let words = self.kept.iter().copied().chain([self.kept.len() as u64]);
            bytes.extend(words.flat_map(u64::to_le_bytes));
            bytes.extend(MARK);
        }
        bytes
    }

    /// What [`Handed::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> sigmabar::Result<Self> {
        let (run, kept) = split(bytes).unwrap_or((bytes, Vec::new()));
        Ok(Self { strategy: Strategy::from_bytes(run)?, kept })
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], Vec<u64>)> {
    let (words, count) = bytes.strip_suffix(MARK)?.split_last_chunk::<WORD>()?;
    let length = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(WORD)?;
    let (run, words) = words.split_at_checked(words.len().checked_sub(length)?)?;
    let (ids, _) = words.as_chunks::<WORD>();
    Some((run, ids.iter().map(|id| u64::from_le_bytes(*id)).collect()))
}

/// The user's values of trials.
pub fn natural(run: &Strategy, trials: &[Trial]) -> sigmabar::Result<Points> {
    let rows: Vec<&[f64]> = trials.iter().map(|trial| trial.point.as_slice()).collect();
    run.problem().domain().decode(Points::from_rows(&rows)?.view())
}
