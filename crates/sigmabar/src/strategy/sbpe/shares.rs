//! How a run spends its $\delta$: every event that a claim rests on has its share, and the shares sum to one.

/// Shares of what a batch may spend (algorithm notes 14.2 and 14.5).
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

/// The batches of a run that claims are made of: all but the pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// The first of them, among all batches.
    pub first: usize,
    /// How many there are.
    pub count: usize,
}

/// What the events of one batch may spend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    delta: f64,
}

impl Budget {
    /// Of the batch `index`: half as much as the batch before it, because what it decides holds for fewer measurements. All that count spend `delta` together.
    pub fn of_batch(delta: f64, index: usize, counted: Counted) -> Self {
        let halves = |count: usize| 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
        Self { delta: delta * halves(index + 1 - counted.first) / (1.0 - halves(counted.count)) }
    }

    /// What each of `events` equal events with a share of the batch's $\delta$ may spend.
    pub fn each(self, share: f64, events: usize) -> f64 {
        share * self.delta / events as f64
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
        let batch = |first: usize, index: usize| {
            let budget = Budget::of_batch(0.05, first + index, Counted { first, count: 7 });
            let spent = |share: f64, events: usize| (0..events).map(|_| budget.each(share, events)).sum::<f64>();
            spent(alarm, 1) + spent(ellipsoid, 1) + spent(pairs, 64) + spent(above, 1) + spent(below, 500)
        };
        for first in [0, 1] {
            let run: f64 = (0..7).map(|index| batch(first, index)).sum();
            assert!((run - 0.05).abs() < 1e-15, "{run}");
        }
    }
}
