//! A run, with the trials that an interrupted call had planned and nobody received.

use sigmabar::certificate::Contradiction;
use sigmabar::strategy::{Trial, TrialState};
use sigmabar::{Ask, Error, Outcome, Points, Strategy};

/// What an ask finds.
pub enum Found {
    /// Trials with their points in the user's values.
    Trials(Vec<Trial>, Points),
    /// Everything is handed out.
    Wait,
    /// The run is over.
    Over,
    /// The data contradict the premises.
    Contradicted(Contradiction),
}

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
            return Ok(Found::Trials(trials, points));
        }
        Ok(match self.strategy.ask(at_most)? {
            Ask::Trials(trials) => {
                let points = natural(&self.strategy, &trials)?;
                Found::Trials(trials, points)
            }
            Ask::Contradicted(contradiction) => Found::Contradicted(contradiction),
            Ask::Finished => Found::Over,
            _ => Found::Wait,
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

    /// The run; the first line of its remark names the trials that nobody received, what follows is said of the domain.
    pub fn to_bytes(&self, domain: &str) -> Vec<u8> {
        let words: Vec<String> = self.kept.iter().map(u64::to_string).collect();
        self.strategy.to_bytes_with(&format!("{}\n{domain}", words.join(" ")))
    }

    /// What [`Handed::to_bytes`] wrote, and what was said of the domain.
    pub fn from_bytes(bytes: &[u8]) -> sigmabar::Result<(Self, String)> {
        let (strategy, remark) = Strategy::from_bytes_with(bytes)?;
        let (kept, domain) = remark.split_once('\n').unwrap_or((remark, ""));
        // What another writer remarked is none of ours.
        let kept = kept.split(' ').filter_map(|word| word.parse().ok()).collect();
        Ok((Self { strategy, kept }, domain.to_owned()))
    }
}

/// The user's values of trials.
pub fn natural(run: &Strategy, trials: &[Trial]) -> sigmabar::Result<Points> {
    let rows: Vec<&[f64]> = trials.iter().map(|trial| trial.point.as_slice()).collect();
    run.problem().domain().decode(Points::from_rows(&rows)?.view())
}
