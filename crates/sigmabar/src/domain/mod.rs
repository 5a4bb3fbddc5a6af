//! Where one may measure: a finite list, a box, or a product of columns of any kind; candidates produced when asked for; cells of a box.

mod box_domain;
mod candidates;
mod cells;
mod column;
mod constraint;
mod dispersion;
mod equality;
mod grid;
mod list;
mod search;
mod sobol;
mod space;

pub use box_domain::BoxDomain;
pub use candidates::{CandidateKind, Candidates};
pub use cells::CellTree;
pub use column::Column;
pub use constraint::{Constraint, Relation};
pub use list::ListDomain;
pub use sobol::SobolSequence;
pub use space::SpaceDomain;

use crate::error::{Error, Result, same_length};
use crate::kernel::{Kernel, Lengthscale};
use crate::points::{Points, PointsRef};
use serde::{Deserialize, Serialize};

/// Where one may measure.
///
/// Points have *natural* values, the user's own, and *encoded* ones, which the kernel sees. For lists and boxes they are the same.
///
/// ```
/// use sigmabar::Domain;
/// use sigmabar::domain::{Column, Constraint, SpaceDomain};
///
/// # fn main() -> sigmabar::Result<()> {
/// // Shares of three ingredients, a temperature in steps of five, one of two solvents.
/// let shares = vec![Column::float(0.0, 1.0); 3];
/// let others = vec![Column::Integer { low: 20, high: 80, step: Some(5) }, Column::categorical(2)];
/// let space = SpaceDomain::new([shares, others].concat(), vec![Constraint::sum(&[0, 1, 2], 1.0), Constraint::less(0, 1)])?;
/// let domain = Domain::Space(space);
///
/// let candidates = domain.candidates(10_000, 0)?;
/// for (_, block) in candidates.blocks(1024) {
///     assert!(domain.decode(block.view())?.view().rows().all(|row| domain.contains(row)));
/// }
/// let kernel = domain.default_kernel(0.3, 1.0)?;
/// kernel.check_dim(domain.dim())?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Domain {
    /// A finite list of candidates.
    List(ListDomain),
    /// A box.
    Box(BoxDomain),
    /// A product of columns of any kind, with constraints.
    Space(SpaceDomain),
}

impl Domain {
    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Self::List(list) => list.points().dim(),
            Self::Box(domain) => domain.dim(),
            Self::Space(space) => space.dim(),
        }
    }

    /// Number of points before constraints, known before any is made: `None` if there are infinitely many, `u128::MAX` for that many or
    /// more. Cost O(d).
    #[must_use]
    pub fn size(&self) -> Option<u128> {
        match self {
            Self::List(list) => Some(list.len() as u128),
            Self::Box(_) => None,
            Self::Space(space) => space.size(),
        }
    }

    /// Whether a natural point belongs to the domain. Cost O(d); for lists O(nd).
    #[must_use]
    pub fn contains(&self, natural: &[f64]) -> bool {
        match self {
            Self::List(list) => list.position(natural).is_some(),
            Self::Box(domain) => domain.contains(natural),
            Self::Space(space) => space.contains(natural),
        }
    }

    /// What the kernel sees of natural points, exactly undone by [`Domain::decode`] in discrete columns and to a few units of the last
    /// place of the column's largest value in continuous ones. Constraints are not checked. Cost O(d) each, for lists O(nd).
    ///
    /// # Errors
    /// [`Error::Length`] for another number of columns; [`Error::Outside`] naming the row and column of the first value that its column
    /// does not take, or the row that is not in the list.
    pub fn encode(&self, natural: PointsRef<'_>) -> Result<Points> {
        same_length("the columns of the points", self.dim(), natural.dim())?;
        let mut encoded = natural.as_slice().to_vec();
        for (row, (point, code)) in natural.rows().zip(encoded.chunks_exact_mut(self.dim())).enumerate() {
            let outside = match self {
                Self::List(list) => list.position(point).is_none().then_some(0),
                Self::Box(domain) => domain.first_outside(point),
                Self::Space(space) => space.encode_into(point, code).err(),
            };
            if let Some(column) = outside {
                return Err(Error::Outside { row, column, value: point[column] });
            }
        }
        Ok(Points::from_valid(encoded, self.dim()))
    }

    /// The natural values of encoded points: in each column of a space the nearest value that the column takes. Cost O(d) each.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of columns.
    pub fn decode(&self, encoded: PointsRef<'_>) -> Result<Points> {
        same_length("the columns of the points", self.dim(), encoded.dim())?;
        Ok(match self {
            Self::List(_) | Self::Box(_) => encoded.to_points(),
            Self::Space(space) => decode_points(space, encoded),
        })
    }

    /// A declared set of candidates: a whole list; all points of a discrete space if there are at most `count`; otherwise `count` points of
    /// a scrambled Sobol sequence, or a random choice where a discrete space has fewer than twice that many (or has constraints and at most
    /// $2^{20}$). [`Candidates::len`] is the declared number: fewer than `count` when the domain has no more, or when $\max(2^{20},64\,
    /// \mathrm{count})$ points of the sequence did not contain more that satisfy the constraints.
    ///
    /// Cost O(d) for boxes and spaces without constraints and with a continuous column, elsewhere O(d) for each point tried.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `count` is 0 or above $2^{32}$, or there are more than [`SobolSequence::MAX_DIM`] columns;
    /// [`Error::NoFeasiblePoint`] if the effort found none.
    pub fn candidates(&self, count: usize, seed: u64) -> Result<Candidates> {
        match self {
            Self::List(list) => Ok(Candidates::of_list(list.shared_points())),
            Self::Box(domain) => Candidates::of_box(domain, count, seed),
            Self::Space(space) => Candidates::of_space(space, count, seed),
        }
    }

    /// Every combination of the levels of discrete columns and of `per_float` equally spaced values (as the kernel sees them, ends
    /// included) of continuous ones, the last column changing fastest; those that satisfy the constraints. A list is its own grid.
    ///
    /// Cost O(d), with constraints O(d) for each combination.
    ///
    /// # Errors
    /// [`Error::Parameter`] for no or more than $2^{32}$ combinations; [`Error::NoFeasiblePoint`] if none satisfies the constraints.
    pub fn grid(&self, per_float: usize) -> Result<Candidates> {
        match self {
            Self::List(list) => Ok(Candidates::of_list(list.shared_points())),
            Self::Box(domain) => Candidates::grid_of_box(domain, per_float),
            Self::Space(space) => Candidates::grid_of_space(space, per_float),
        }
    }

    /// The kernel to start from: Matérn-5/2 on the numeric columns times Hamming on the categorical ones.
    ///
    /// One shared length-scale is that of the numeric columns, categorical ones then have 1: two choices correlate by $e^{-1}$.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one length-scale or one for each column; [`Error::Parameter`] unless they and the variance are
    /// finite and positive.
    pub fn default_kernel(&self, lengthscale: impl Into<Lengthscale>, variance: f64) -> Result<Kernel> {
        let lengthscale = lengthscale.into();
        let is_categorical = |column: usize| matches!(self, Self::Space(space) if space.columns()[column].is_categorical());
        let (categorical, numeric): (Vec<usize>, Vec<usize>) = (0..self.dim()).partition(|&column| is_categorical(column));
        let scales = |columns: &[usize], shared: f64| -> Result<Lengthscale> {
            match &lengthscale {
                Lengthscale::Shared(_) => Ok(Lengthscale::Shared(shared)),
                Lengthscale::PerColumn(lengths) => {
                    same_length("the length-scales", self.dim(), lengths.len())?;
                    Ok(Lengthscale::PerColumn(columns.iter().map(|&column| lengths[column]).collect()))
                }
            }
        };
        let shared = lengthscale.values().first().copied().unwrap_or(1.0);
        if categorical.is_empty() {
            return Kernel::matern(2.5, scales(&numeric, shared)?, variance);
        }
        if numeric.is_empty() {
            return Kernel::hamming(scales(&categorical, 1.0)?, variance);
        }
        let smooth = Kernel::matern(2.5, scales(&numeric, shared)?, variance)?.columns(numeric)?;
        Ok(smooth * Kernel::hamming(scales(&categorical, 1.0)?, 1.0)?.columns(categorical)?)
    }
}

/// The natural values of encoded points of a space.
fn decode_points(space: &SpaceDomain, encoded: PointsRef<'_>) -> Points {
    let mut natural = encoded.as_slice().to_vec();
    for (code, point) in encoded.rows().zip(natural.chunks_exact_mut(space.dim())) {
        space.decode_into(code, point);
    }
    Points::from_valid(natural, space.dim())
}
