//! The features of the candidates: kept in one padded copy, or computed again when asked for.

use super::pairs::padded;
use crate::error::Result;
use crate::features::{BLOCK_ROWS, FeatureMap};
use crate::points::PointsRef;

/// Features of numbered candidates.
pub(super) struct Store<'a> {
    width: usize,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// One padded row per candidate.
    Kept(Vec<f64>),
    /// Too many to keep: the points themselves.
    Computed(PointsRef<'a>),
}

impl<'a> Store<'a> {
    /// Keeps the features if they fit into `memory` bytes; then the residual $s_1^2$ of each candidate comes with them.
    pub fn new(features: &FeatureMap, points: PointsRef<'a>, memory: usize) -> Result<(Self, Option<Vec<f64>>)> {
        let mut store = Self::empty(features);
        if points.len().saturating_mul(store.width * size_of::<f64>()) > memory {
            store.kind = Kind::Computed(points);
            return Ok((store, None));
        }
        let residual = store.push(features, points)?;
        Ok((store, Some(residual)))
    }

    /// No candidate yet; those that come are kept.
    pub fn empty(features: &FeatureMap) -> Self {
        Self { width: padded(features.len()), kind: Kind::Kept(Vec::new()) }
    }

    /// Adds candidates at the end; their residuals.
    pub fn push(&mut self, features: &FeatureMap, points: PointsRef<'_>) -> Result<Vec<f64>> {
        let Kind::Kept(rows) = &mut self.kind else { return features.residual(points) };
        let (m, width) = (features.len(), self.width);
        let first = rows.len();
        if points.len() > BLOCK_ROWS {
            rows.reserve_exact(points.len() * width);
        }
        rows.resize(first + points.len() * width, 0.0);
        let mut residual = Vec::with_capacity(points.len());
        features.for_each_block(points, |start, block, psi| {
            residual.extend(features.residual_of(block, psi, start)?);
            for (row, psi) in rows[first + start * width..].chunks_exact_mut(width).zip(psi.chunks_exact(m)) {
                row[..m].copy_from_slice(psi);
            }
            Ok(())
        })?;
        Ok(residual)
    }

    /// Entries of a padded row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The points, when features are not kept.
    pub fn computed(&self) -> Option<PointsRef<'a>> {
        match self.kind {
            Kind::Kept(_) => None,
            Kind::Computed(points) => Some(points),
        }
    }

    /// Calls `f` with the padded features of these candidates. A candidate has the same bits in every call.
    pub fn with_rows<T>(&self, features: &FeatureMap, candidates: &[usize], f: impl FnOnce(&[&[f64]]) -> T) -> Result<T> {
        match &self.kind {
            Kind::Kept(rows) => {
                let views: Vec<&[f64]> = candidates.iter().map(|&i| &rows[i * self.width..(i + 1) * self.width]).collect();
                Ok(f(&views))
            }
            Kind::Computed(points) => {
                let m = features.len();
                let mut rows = vec![0.0; candidates.len() * self.width];
                for (row, &i) in rows.chunks_exact_mut(self.width).zip(candidates) {
                    // One row at a time: a blocked solve would round by its neighbours.
                    features.prepared().rows_into(points.range(i, i + 1), &mut row[..m]);
                    features.lower().solve_rows(&mut row[..m])?;
                }
                let views: Vec<&[f64]> = rows.chunks_exact(self.width).collect();
                Ok(f(&views))
            }
        }
    }

    /// Puts the features of one candidate in the place of another's.
    pub fn replace(&mut self, features: &FeatureMap, slot: usize, point: PointsRef<'_>) -> Result<f64> {
        let psi = features.features(point)?;
        let residual = features.residual_of(point, psi.as_slice(), slot)?[0];
        if let Kind::Kept(rows) = &mut self.kind {
            rows[slot * self.width..slot * self.width + features.len()].copy_from_slice(psi.as_slice());
        }
        Ok(residual)
    }
}
