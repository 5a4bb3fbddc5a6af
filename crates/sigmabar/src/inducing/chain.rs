//! A determinantal point process of fixed size as the limit of a chain of swaps.

use super::Inducing;
use super::partial::PartialCholesky;
use super::stop::positive_size;
use super::weighted::Weighted;
use crate::error::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sigmabar_linalg::{Lower, Matrix, dot, matvec};

/// Steps between two fresh inverses: updates drift.
const REFRESH: usize = 2000;

/// Members $S$, the others, and $N = \tilde K_{SS}^{-1}$.
struct Chain<'a> {
    weighted: &'a Weighted<'a>,
    members: Vec<usize>,
    others: Vec<usize>,
    inverse: Matrix,
}

/// The lazy chain of algorithm notes 4.2, started from the greedy choice.
pub(super) fn select(size: usize, steps: usize, weighted: &Weighted<'_>, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive_size(size)?;
    let eligible = weighted.eligible();
    if eligible.len() <= size {
        return Inducing::chosen(weighted.locations, eligible);
    }
    let mut start = PartialCholesky::new(weighted.kernel, weighted.locations)?;
    start.add_greedy(size)?;
    let members: Vec<usize> = start.indices().iter().flatten().copied().collect();
    let taken: std::collections::HashSet<usize> = members.iter().copied().collect();
    let others: Vec<usize> = eligible.into_iter().filter(|i| !taken.contains(i)).collect();
    drop(start);
    let Some(inverse) = inverted(weighted, &members)? else {
        return Inducing::chosen(weighted.locations, members);
    };
    let mut chain = Chain { weighted, members, others, inverse };
    for step in 1..=steps {
        if rng.random::<f64>() < 0.5 {
            chain.swap(rng)?;
        }
        if step % REFRESH == 0
            && let Some(inverse) = inverted(weighted, &chain.members)?
        {
            chain.inverse = inverse;
        }
    }
    Inducing::chosen(weighted.locations, chain.members)
}

/// $\tilde K_{SS}^{-1}$, or nothing if $\tilde K_{SS}$ is numerically singular.
fn inverted(weighted: &Weighted<'_>, members: &[usize]) -> Result<Option<Matrix>> {
    let Ok(lower) = Lower::cholesky(&weighted.block(members, members)?) else { return Ok(None) };
    let mut rows = Matrix::identity(members.len());
    lower.solve_rows(rows.as_mut_slice())?;
    lower.solve_transposed_rows(rows.as_mut_slice())?;
    Ok(Some(rows))
}

impl Chain<'_> {
    /// Proposes to put a uniform outsider $t$ in the place of a uniform member $s$, and does so with probability
    /// $\det\tilde K_{S-s+t}/\det\tilde K_S$ = (residual of $t$ given $S-s$)/(residual of $s$ given $S-s$), if below 1.
    fn swap(&mut self, rng: &mut ChaCha8Rng) -> Result<()> {
        let s = rng.random_range(0..self.members.len());
        let other = rng.random_range(0..self.others.len());
        let u = rng.random::<f64>();
        let t = self.others[other];
        let mut b = self.weighted.block(&[t], &self.members)?.into_vec();
        b[s] = 0.0;
        let n_ss = self.inverse[(s, s)];
        // v = N'b, where N' = N − N_{:s}N_{s:}/N_ss is the inverse without s (its row and column s are 0).
        let column: Vec<f64> = (0..b.len()).map(|i| self.inverse[(i, s)]).collect();
        let mut v = matvec(&self.inverse, &b);
        let along = v[s] / n_ss;
        v.iter_mut().zip(&column).for_each(|(v, n)| *v -= n * along);
        v[s] = 0.0;
        let residual = self.weighted.diagonal[t] - dot(&b, &v);
        // The residual of s given the others is 1/N_ss.
        if residual > 0.0 && u < residual * n_ss {
            self.replace(s, &column, &v, residual);
            std::mem::swap(&mut self.members[s], &mut self.others[other]);
        }
        Ok(())
    }

    /// The inverse after the swap: $N' + vv^\top/\sigma$, with row and column $s$ now $-v/\sigma$ and $1/\sigma$.
    fn replace(&mut self, s: usize, column: &[f64], v: &[f64], sigma: f64) {
        let n_ss = column[s];
        for i in 0..v.len() {
            let row = self.inverse.row_mut(i);
            for j in 0..v.len() {
                row[j] += v[i] * v[j] / sigma - column[i] * column[j] / n_ss;
            }
        }
        for i in 0..v.len() {
            self.inverse[(i, s)] = -v[i] / sigma;
            self.inverse[(s, i)] = -v[i] / sigma;
        }
        self.inverse[(s, s)] = 1.0 / sigma;
    }
}
