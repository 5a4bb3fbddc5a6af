//! The sums of one range of chunks.

use super::plan::{Plan, Road};
use super::sample::RowPlace;
use crate::error::Result;
use crate::features::MoreFeatures;
use crate::points::{PointsRef, Sketch};
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{CrossAccumulator, GramAccumulator, TallQr, norm_squared};

/// A row with what the inducing points miss there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstRow {
    /// $s_1^2(x)$.
    pub residual: f64,
    /// Where it stands.
    pub place: RowPlace,
    /// The point.
    pub point: Vec<f64>,
}

/// Everything that is summed, with $y$ less the plan's centre.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Node {
    pub squares: Squares,
    /// $\sum y\psi$ and $\sum\psi$, which leave prior mean and unit open  (2 × m).
    pub moments: CrossAccumulator,
    pub ahead: Option<Ahead>,
    pub scalars: Scalars,
    /// The longest chain of additions behind any sum.
    pub length: f64,
    /// How many rows were stacked, one upon the other, until the factor was there.
    pub reflected: f64,
    pub largest: f64,
    pub rows: u64,
    pub missing: u64,
    /// Those of them that had no response.
    pub lost: u64,
    pub left_out: u64,
    pub sketch: Sketch,
    /// Descending by residual, then by place.
    pub worst: Vec<WorstRow>,
}

/// The features' second moments, each with its probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Squares {
    Gram(GramAccumulator),
    /// Of the rows $[\psi^\top, 1, y]$.
    Factor(TallQr),
}

/// What further inducing points see, for claims.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ahead {
    /// $\sum\varphi[\psi^\top,\varphi^\top]$  (p × (m + p)).
    pub products: CrossAccumulator,
    /// What they miss too, $\operatorname{tr}D'$.
    pub residual_trace: f64,
}

impl Ahead {
    fn add_block(&mut self, more: &MoreFeatures, x: PointsRef<'_>, psi: &[f64]) -> Result<()> {
        let phi = more.features(x, psi)?;
        let (m, p) = (psi.len() / x.len(), more.len());
        let all: Vec<f64> = psi.chunks_exact(m).zip(phi.chunks_exact(p)).flat_map(|(psi, phi)| psi.iter().chain(phi).copied()).collect();
        self.residual_trace += more.all().residual_of(x, &all, 0)?.iter().sum::<f64>();
        self.products.add_rows(&phi, &all);
        Ok(())
    }
}

/// Sums of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scalars {
    /// $\sum y$.
    pub responses: f64,
    /// $\sum y^2$.
    pub squares: f64,
    /// $\sum|y|$.
    pub absolute: f64,
    /// $\operatorname{tr}K$.
    pub prior_trace: f64,
    /// $\operatorname{tr}D$.
    pub residual_trace: f64,
}

impl Scalars {
    fn add(&mut self, other: &Self) {
        self.responses += other.responses;
        self.squares += other.squares;
        self.absolute += other.absolute;
        self.prior_trace += other.prior_trace;
        self.residual_trace += other.residual_trace;
    }
}

impl Node {
    pub(crate) fn empty(plan: &Plan) -> Self {
        let m = plan.features().len();
        let squares = match plan.road_taken() {
            Road::Gram => Squares::Gram(GramAccumulator::new(m)),
            Road::Orthogonal => Squares::Factor(TallQr::new(m + 2)),
        };
        Self {
            squares,
            moments: CrossAccumulator::new(2, m),
            ahead: plan.ahead().map(|more| Ahead { products: CrossAccumulator::new(more.len(), m + more.len()), residual_trace: 0.0 }),
            scalars: Scalars::default(),
            length: 0.0,
            reflected: 0.0,
            largest: 0.0,
            rows: 0,
            missing: 0,
            lost: 0,
            left_out: 0,
            sketch: Sketch::default(),
            worst: Vec::new(),
        }
    }

    /// One block of rows: points, centred responses, places.
    pub(crate) fn add_block(&mut self, plan: &Plan, x: PointsRef<'_>, y: &[f64], places: &[RowPlace]) -> Result<()> {
        let (features, m) = (plan.features(), plan.features().len());
        features.check_width(x)?;
        let mut psi = vec![0.0; x.len() * m];
        features.features_into(x, &mut psi)?;
        let residual = features.residual_of(x, &psi, 0)?;
        let mut scalars = Scalars::default();
        for ((s1, row), y) in residual.iter().zip(psi.chunks_exact(m)).zip(y) {
            let k_xx = s1 + norm_squared(row);
            scalars.add(&Scalars { responses: *y, squares: y * y, absolute: y.abs(), prior_trace: k_xx, residual_trace: *s1 });
            self.largest = self.largest.max(k_xx);
        }
        self.scalars.add(&scalars);
        self.moments.add_rows(&y.iter().flat_map(|y| [*y, 1.0]).collect::<Vec<f64>>(), &psi);
        if let (Some(ahead), Some(more)) = (&mut self.ahead, plan.ahead()) {
            ahead.add_block(more, x, &psi)?;
        }
        match &mut self.squares {
            Squares::Gram(gram) => gram.add_rows(&psi),
            Squares::Factor(qr) => {
                let wide: Vec<f64> = psi.chunks_exact(m).zip(y).flat_map(|(row, y)| row.iter().copied().chain([1.0, *y])).collect();
                qr.add_rows(&wide)?;
            }
        }
        // Within a block as many additions as it has rows, then one for each block.
        self.length = self.length.max(y.len() as f64) + 1.0;
        self.reflected += y.len() as f64 + 1.0;
        self.rows += y.len() as u64;
        let rows = residual.iter().zip(places).enumerate().filter(|(_, (s1, _))| **s1 > 0.0);
        let candidates = rows.map(|(i, (s1, place))| WorstRow { residual: *s1, place: *place, point: x.row(i).to_vec() });
        self.keep_worst(candidates.collect(), plan.summed().worst);
        Ok(())
    }

    fn keep_worst(&mut self, more: Vec<WorstRow>, most: usize) {
        self.worst.extend(more);
        self.worst.sort_by(|a, b| b.residual.total_cmp(&a.residual).then(a.place.cmp(&b.place)));
        self.worst.truncate(most);
    }

    /// Adds the sums of the range that follows.
    pub(crate) fn merge(&mut self, right: Self, worst: usize) -> Result<()> {
        match (&mut self.squares, &right.squares) {
            (Squares::Gram(left), Squares::Gram(right)) => left.merge(right),
            (Squares::Factor(left), Squares::Factor(right)) => left.merge(right)?,
            // Plans that agree take the same road: somebody changed one of the files.
            _ => return Err(super::TORN),
        }
        self.moments.merge(&right.moments);
        if let (Some(left), Some(right)) = (&mut self.ahead, &right.ahead) {
            left.products.merge(&right.products);
            left.residual_trace += right.residual_trace;
        }
        self.scalars.add(&right.scalars);
        self.length = self.length.max(right.length) + 1.0;
        // A factor of m + 2 rows is stacked under the other.
        self.reflected = self.reflected.max(right.reflected) + (self.moments.shape().1 + 3) as f64;
        self.largest = self.largest.max(right.largest);
        self.rows += right.rows;
        self.missing += right.missing;
        self.lost += right.lost;
        self.sketch.merge(&right.sketch);
        self.left_out += right.left_out;
        self.keep_worst(right.worst, worst);
        Ok(())
    }

    /// Whether everything fits together: asked of what comes from a file.
    pub(crate) fn is_consistent(&self, plan: &Plan) -> bool {
        let (m, p, dim) = (plan.features().len(), plan.ahead_len(), plan.inducing().dim());
        let Scalars { responses, squares, absolute, prior_trace, residual_trace } = self.scalars;
        let sizes = [squares, absolute, prior_trace, residual_trace, self.length, self.reflected, self.largest];
        let squares = match (&self.squares, plan.road_taken()) {
            (Squares::Gram(gram), Road::Gram) => gram.width() == m,
            (Squares::Factor(qr), Road::Orthogonal) => qr.width() == m + 2,
            _ => false,
        };
        let ahead = self.ahead.as_ref().map_or(p == 0, |ahead| {
            p > 0
                && ahead.products.shape() == (p, m + p)
                && ahead.products.is_consistent()
                && ahead.residual_trace.is_finite()
                && ahead.residual_trace >= 0.0
        });
        squares
            && ahead
            && self.sketch.is_consistent()
            && self.moments.shape() == (2, m)
            && self.moments.is_consistent()
            && responses.is_finite()
            && sizes.iter().all(|v| v.is_finite() && *v >= 0.0)
            && self.worst.iter().all(|row| row.point.len() == dim && row.point.iter().chain([&row.residual]).all(|v| v.is_finite()))
    }
}
