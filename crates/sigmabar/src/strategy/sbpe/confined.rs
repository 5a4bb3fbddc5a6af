//! The ellipsoid inside pairs (algorithm notes 14.2): what the responses of the batch leave of the bias of a difference.
//!
//! $f(x)-f(x') = \Delta V^\top y-\Delta V^\top E+\langle f,r\rangle$, where $r$ has the part $\Delta e$ inside the features and a rest of norm
//! $s_1+\sqrt\lambda\lVert\Delta V\rVert$ at most. The norm bound alone says $\langle f,r\rangle\le C\lVert r\rVert$; the ellipsoid knows more.

use super::pairs::{Setting, Under, Width};
use crate::certificate::{Directions, Ellipsoid, Slice};
use crate::error::Result;
use sigmabar_linalg::{Matrix, dot, in_tasks, norm_squared, product, product_transposed};

/// Slices of the ellipsoid that are tried for each pair.
pub(super) const SLICES: usize = 7;

/// What a batch's ellipsoid is made of.
pub(super) struct Confinement {
    pub directions: Directions,
    pub ellipsoid: Ellipsoid,
}

/// The ellipsoids of one or more premises, all with the same slices, with what the challengers need of them.
pub(super) struct Confined<'a> {
    directions: &'a Directions,
    ellipsoids: &'a [Ellipsoid],
    challengers: Sliced,
    /// What the bound loses with the distance from a cell's centre, beyond what the norm bound's own loses: one for each premise and slice.
    slopes: Vec<Vec<f64>>,
}

/// Points in the coordinates of each slice.
struct Sliced {
    /// $U^\top e$ times the root of the slice's shrinkage.
    scaled: Vec<Matrix>,
    squares: Vec<Vec<f64>>,
    centres: Vec<Vec<f64>>,
}

/// The forms of a block of survivors.
pub(super) struct ConfinedBlock<'a> {
    confined: &'a Confined<'a>,
    own: Sliced,
    cross: Vec<Matrix>,
}

impl<'a> Confined<'a> {
    /// `solved` is $e$ of the challengers; `width` has $\lambda$ and the ridge.
    pub fn new(under: Under<'a, '_>, solved: &Matrix, width: &Width) -> Result<Self> {
        let Under { confinement: (directions, ellipsoids), settings } = under;
        let slopes = |(ellipsoid, setting): (&Ellipsoid, &Setting)| {
            let plain = setting.norm_bound * width.bias_slope();
            let slope = |slice: &Slice| {
                let (centre, radius) = slice.slopes();
                // w_sᵀe moves by ‖w_s‖, σ_s by 1, s₁ by 1 and τ‖V‖ by ½ per unit of distance.
                (centre + radius + setting.norm_bound * (1.0 + 0.5 * width.lambda_root / width.ridge) - plain).max(0.0)
            };
            ellipsoid.best(SLICES).iter().map(slope).collect()
        };
        Ok(Self {
            slopes: ellipsoids.iter().zip(settings).map(slopes).collect(),
            challengers: Sliced::new(directions, &ellipsoids[0], solved)?,
            directions,
            ellipsoids,
        })
    }

    pub fn block(&self, solved: &Matrix) -> Result<ConfinedBlock<'_>> {
        let own = Sliced::new(self.directions, &self.ellipsoids[0], solved)?;
        let pairs = own.scaled.iter().zip(&self.challengers.scaled);
        let cross = pairs.map(|(a, b)| product_transposed(a, b)).collect::<Result<_, _>>()?;
        Ok(ConfinedBlock { confined: self, own, cross })
    }
}

impl Sliced {
    fn new(directions: &Directions, ellipsoid: &Ellipsoid, solved: &Matrix) -> Result<Self> {
        let (rotated, slices) = (product(solved, directions.vectors())?, ellipsoid.best(SLICES));
        let width = rotated.cols().max(1);
        let turned = |s: usize| {
            let roots: Vec<f64> = slices[s].shrink().iter().map(|d| d.sqrt()).collect();
            let mut scaled = rotated.clone();
            scaled
                .as_mut_slice()
                .chunks_exact_mut(width)
                .for_each(|row| row.iter_mut().zip(&roots).for_each(|(entry, root)| *entry *= root));
            let squares = (0..scaled.rows()).map(|i| norm_squared(scaled.row(i))).collect();
            let centres = (0..rotated.rows()).map(|i| dot(rotated.row(i), slices[s].centre())).collect();
            (scaled, squares, centres)
        };
        let mut sliced = Self { scaled: Vec::new(), squares: Vec::new(), centres: Vec::new() };
        for (scaled, squares, centres) in in_tasks(slices.len(), turned) {
            sliced.scaled.push(scaled);
            sliced.squares.push(squares);
            sliced.centres.push(centres);
        }
        Ok(sliced)
    }
}

impl ConfinedBlock<'_> {
    /// An upper bound on $\langle f,r\rangle$ under one of the premises for survivor `i` of the block and challenger `j`, everywhere within `radius` of the survivor.
    ///
    /// `outside` bounds the rest of $r$, `size` bounds $\lVert\Delta e\rVert$, and `lost` is what its square loses by being expanded.
    pub fn difference(&self, premise: usize, (i, j): (usize, usize), outside: f64, (size, lost): (f64, f64), radius: f64) -> f64 {
        let (challengers, ellipsoid) = (&self.confined.challengers, &self.confined.ellipsoids[premise]);
        let slices = ellipsoid.best(SLICES).iter().enumerate();
        let bounds = slices.map(|(s, slice)| {
            let square = self.own.squares[s][i] + challengers.squares[s][j] - 2.0 * self.cross[s][(i, j)] + lost;
            let centre = self.own.centres[s][i] - challengers.centres[s][j];
            centre + ellipsoid.reach(slice, square, size, outside) + self.confined.slopes[premise][s] * radius
        });
        bounds.fold(f64::INFINITY, f64::min)
    }

    /// No more than [`Self::difference`], without its roots.
    pub fn floor(&self, premise: usize, (i, j): (usize, usize), outside: f64, radius: f64) -> f64 {
        let (challengers, ellipsoid) = (&self.confined.challengers, &self.confined.ellipsoids[premise]);
        let slices = ellipsoid.best(SLICES).iter().enumerate();
        let floors = slices.map(|(s, slice)| {
            let centre = self.own.centres[s][i] - challengers.centres[s][j];
            centre + slice.least_reach(outside) + self.confined.slopes[premise][s] * radius
        });
        floors.fold(f64::INFINITY, f64::min)
    }
}
