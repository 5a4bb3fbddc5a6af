//! How a run spends its $\delta$: every event that a claim rests on has its share, and the shares sum to one.

/// Shares of $\delta$, each divided equally among the batches (algorithm notes 14.2 and 14.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    /// The alarm: refuting true premises counts as a miss.
    pub alarm: f64,
    /// The ellipsoid that confines the function.
    pub ellipsoid: f64,
    /// $x^*$ against each challenger.
    pub pairs: f64,
    /// The upper end at $x^*$.
    pub above: f64,
    /// The lower ends over the list.
    pub below: f64,
}

/// What elimination and the gap rest on takes nearly everything; the interval rule beside it has a remainder.
pub(super) const SHARES: Shares = Shares { alarm: 0.05, ellipsoid: 0.125, pairs: 0.785, above: 0.02, below: 0.02 };

/// $\delta$ and $B$ of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub delta: f64,
    pub batches: f64,
}

impl Budget {
    /// What each of `events` equal events with a share of a batch's $\delta$ may spend.
    pub fn each(self, share: f64, events: usize) -> f64 {
        share * self.delta / (self.batches * events as f64)
    }

    /// $\ln(1/\cdot)$ of [`Budget::each`].
    pub fn tail(self, share: f64, events: usize) -> f64 {
        -self.each(share, events).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_of_a_run_together_spends_delta_and_no_more() {
        let Shares { alarm, ellipsoid, pairs, above, below } = SHARES;
        assert!((alarm + ellipsoid + pairs + above + below - 1.0).abs() < 1e-15);
        let budget = Budget { delta: 0.05, batches: 7.0 };
        let batch = |share: f64, events: usize| (0..events).map(|_| budget.each(share, events)).sum::<f64>();
        let one = batch(alarm, 1) + batch(ellipsoid, 1) + batch(pairs, 64) + batch(above, 1) + batch(below, 500);
        assert!((7.0 * one - 0.05).abs() < 1e-15, "{one}");
    }
}
