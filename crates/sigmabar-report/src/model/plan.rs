//! What a fit will take, said before it begins.

use crate::quantity::{Bytes, grouped};
use sigmabar::evidence::Learning;
use std::fmt;

/// Rows on which hyper-parameters are learnt: more change them little and cost in proportion.
pub const LEARNING_ROWS: usize = 10_000;
/// Rows that inducing points are chosen from, for each of them, and at least.
const POOL: usize = 3;
const SMALLEST_POOL: usize = 10_000;
/// Inducing points at most for a declared kernel, unless more are asked for: its fit is not looked at on the way, as evidence is where one is learnt, and cost grows with their square.
const MOST_DECLARED: usize = 500;
/// The same where something is claimed, which more of them make narrower: so many are half a minute for 20 000 rows, and 4000 four.
const MOST_CLAIMED: usize = 1500;
/// Distinct points of the exact stage of learning.
pub const EXACT_POINTS: usize = 1000;

/// What a fit will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Rows that are in memory.
    pub rows: usize,
    /// Rows that are fitted: these, or what they are a sample of.
    pub fitted: usize,
    /// Rows kept back to score the model on.
    pub held_out: usize,
    /// Columns of a point.
    pub columns: usize,
    /// Whether hyper-parameters are learnt.
    pub learns: bool,
    /// Inducing points at most.
    pub inducing: usize,
    /// Memory that it takes.
    pub memory: Bytes,
    /// Memory that it may take.
    pub limit: Option<Bytes>,
}

/// What passes over rows that stay on disk take beside a sample of them; nothing where all rows are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Bytes of the readers.
    pub reading: u64,
    /// Chunks that are summed one by one.
    pub chunks: usize,
    /// Further inducing points that are summed beside.
    pub ahead: usize,
}

impl Beside {
    /// The program itself, where its matrices are small.
    pub const PROGRAM: u64 = 32 << 20;

    /// Bytes of the sums that wait for their neighbours, and of the readers.
    #[must_use]
    pub fn bytes(self, m: usize) -> u64 {
        if self.chunks == 0 {
            return 0;
        }
        let waiting = u64::from(self.chunks.next_power_of_two().ilog2()) + 4;
        self.reading + waiting * 8 * (m * m + self.ahead * (m + self.ahead)) as u64
    }
}

impl Plan {
    /// As many inducing points as were wanted and fit; `None` where not even ten do.
    pub fn new(rows: usize, held_out: usize, columns: usize, learns: bool, wanted: Option<usize>, limit: Option<Bytes>) -> Option<Self> {
        Self::beside(Beside::default(), rows, held_out, columns, learns, wanted, limit)
    }

    /// The same where passes over rows on disk take more.
    pub fn beside(
        beside: Beside,
        rows: usize,
        held_out: usize,
        columns: usize,
        learns: bool,
        wanted: Option<usize>,
        limit: Option<Bytes>,
    ) -> Option<Self> {
        let most = wanted.unwrap_or_else(|| most_inducing(rows, learns)).min(rows);
        let least = most.min(10);
        let memory = |inducing| needed(beside, rows, held_out, columns, learns, inducing);
        let at = |inducing| Self { rows, fitted: rows, held_out, columns, learns, inducing, memory: memory(inducing), limit };
        let fits = |inducing| limit.is_none_or(|limit| at(inducing).memory <= limit);
        let sizes = std::iter::successors(Some(most), |size| (*size > least).then_some((size * 9 / 10).max(least)));
        sizes.into_iter().find(|size| fits(*size)).map(at)
    }

    /// What the rows need with as few inducing points as make sense.
    pub fn least(beside: Beside, rows: usize, held_out: usize, columns: usize, learns: bool) -> Bytes {
        needed(beside, rows, held_out, columns, learns, rows.min(10))
    }

    /// Rows that inducing points are chosen from.
    pub fn pool(&self) -> usize {
        pool(self.rows, self.inducing)
    }

    /// Passes over the rows: one to read, one to fit, and two on the rows that hyper-parameters are learnt on if these are not all.
    pub fn passes(&self) -> usize {
        if self.learns && self.rows <= LEARNING_ROWS { 1 } else { 2 }
    }
}

/// The most inducing points for so many rows where nobody says how many.
#[must_use]
pub fn most_inducing(rows: usize, learns: bool) -> usize {
    Learning::new(Vec::new()).most_inducing(rows).min(if learns { usize::MAX } else { MOST_DECLARED })
}

/// The same where something is claimed.
#[must_use]
pub fn most_claimed(rows: usize) -> usize {
    most_inducing(rows, true).min(MOST_CLAIMED)
}

/// Rows that so many inducing points are chosen from.
#[must_use]
pub fn pool(rows: usize, inducing: usize) -> usize {
    (POOL * inducing).max(SMALLEST_POOL).min(rows)
}

/// Bytes at the peak, from above: the rows with their sorting and counts, the factor of the pool, a few square matrices, the blocks of a pass.
fn needed(beside: Beside, rows: usize, held_out: usize, columns: usize, learns: bool, m: usize) -> Bytes {
    let table = (rows + held_out) * (columns + 1);
    let sorted = rows * (2 * columns + 6);
    let factor = 2 * pool(rows, m) * m;
    let squares = 8 * m * m;
    let blocks = 16 * 1024 * m;
    let exact = if learns { 10 * EXACT_POINTS.min(rows).pow(2) + 3 * LEARNING_ROWS.min(rows) * m } else { 0 };
    // Further points are chosen from the sample with factors of their own.
    let ahead = if beside.ahead == 0 { 0 } else { rows * (7 * beside.ahead + m) };
    Bytes(8 * (table + sorted + factor + squares + blocks + exact + ahead) as u64 + Beside::PROGRAM + beside.bytes(m))
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plan: {} rows to fit", grouped(self.rows))?;
        if self.held_out > 0 {
            write!(f, ", {} held out", grouped(self.held_out))?;
        }
        writeln!(f, "; {} columns", self.columns)?;
        if self.learns {
            writeln!(f, "      kernel and noise learnt on {} rows", grouped(self.rows.min(LEARNING_ROWS)))?;
        } else {
            writeln!(f, "      kernel as given")?;
        }
        let passes = if self.passes() == 1 { "one pass" } else { "two passes" };
        write!(f, "      at most {} inducing points; {passes} over the rows; memory at most {}", self.inducing, self.memory)?;
        self.limit.map_or(Ok(()), |limit| write!(f, " of {limit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_keeps_to_the_memory_or_is_refused() {
        let free = Plan::new(1_000_000, 0, 8, true, None, None).unwrap();
        assert_eq!(free.inducing, 547);
        let tight = Plan::new(1_000_000, 0, 8, true, None, Some(Bytes(free.memory.0 - (60 << 20)))).unwrap();
        assert!(tight.inducing < 547 && tight.memory <= tight.limit.unwrap());
        assert_eq!(Plan::new(1_000_000, 0, 8, true, None, Some(Bytes(100 << 20))), None);
        assert_eq!(Plan::new(7, 0, 1, false, None, None).unwrap().inducing, 7);
        let many = |learns, wanted| Plan::new(20_000, 0, 3, learns, wanted, None).unwrap().inducing;
        assert_eq!([many(true, None), many(false, None), many(false, Some(4000))], [3872, MOST_DECLARED, 4000]);
        assert_eq!([700, 20_000, 1_000_000].map(most_claimed), [700, MOST_CLAIMED, 547]);
    }
}
