//! A finite list of candidates, with names and costs if they have any.

use crate::error::{Error, Result, same_length};
use crate::points::{Collected, Locations, Points, PointsRef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A finite list of distinct candidates. The kernel sees them as they are.
///
/// Repeated rows are refused, because nobody can say which of two labels or costs is meant; [`ListDomain::distinct`] merges them where
/// there is neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredList")]
pub struct ListDomain {
    points: Arc<Points>,
    labels: Option<Vec<String>>,
    costs: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct StoredList {
    points: Points,
    labels: Option<Vec<String>>,
    costs: Option<Vec<f64>>,
}

impl TryFrom<StoredList> for ListDomain {
    type Error = Error;
    fn try_from(stored: StoredList) -> Result<Self> {
        let mut list = Self::new(stored.points)?;
        if let Some(labels) = stored.labels {
            list = list.with_labels(labels)?;
        }
        stored.costs.map_or(Ok(list.clone()), |costs| list.with_costs(costs))
    }
}

impl ListDomain {
    /// The candidates, all different. Cost O(nd + n log n).
    ///
    /// # Errors
    /// [`Error::DuplicateRow`] naming the first row that repeats an earlier one (−0 equals 0).
    pub fn new(points: Points) -> Result<Self> {
        // The measured-point type already knows how to find equal rows; nothing is claimed about how these were collected.
        let merged = Locations::new(points, Collected::DeclaredFixed);
        let mut first_row = vec![usize::MAX; merged.distinct()];
        for row in 0..merged.len() {
            let distinct = merged.distinct_of(row);
            if first_row[distinct] != usize::MAX {
                return Err(Error::DuplicateRow { what: "the list of candidates", first: first_row[distinct], row });
            }
            first_row[distinct] = row;
        }
        Ok(Self { points: Arc::new(merged.points().to_points()), labels: None, costs: None })
    }

    /// The different ones among these rows in order of first appearance, and the candidate that each row became. Cost O(nd + n log n).
    #[must_use]
    pub fn distinct(points: Points) -> (Self, Vec<usize>) {
        let merged = Locations::new(points, Collected::DeclaredFixed);
        let candidate = (0..merged.len()).map(|row| merged.distinct_of(row)).collect();
        (Self { points: Arc::new(merged.points().to_points()), labels: None, costs: None }, candidate)
    }

    /// The same candidates with a label each.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one label for each candidate.
    pub fn with_labels(mut self, labels: Vec<String>) -> Result<Self> {
        same_length("the labels", self.len(), labels.len())?;
        self.labels = Some(labels);
        Ok(self)
    }

    /// The same candidates with the cost of measuring each once.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one cost for each candidate; [`Error::Row`] for one that is not finite and positive.
    pub fn with_costs(mut self, costs: Vec<f64>) -> Result<Self> {
        same_length("the costs", self.len(), costs.len())?;
        if let Some(row) = costs.iter().position(|cost| !(cost.is_finite() && *cost > 0.0)) {
            return Err(Error::Row { what: "the costs", row, value: costs[row], requirement: "finite and positive" });
        }
        self.costs = Some(costs);
        Ok(self)
    }

    /// The candidates.
    #[must_use]
    pub fn points(&self) -> PointsRef<'_> {
        self.points.view()
    }

    pub(super) fn shared_points(&self) -> Arc<Points> {
        Arc::clone(&self.points)
    }

    /// Number of candidates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The labels, if there are any.
    #[must_use]
    pub fn labels(&self) -> Option<&[String]> {
        self.labels.as_deref()
    }

    /// The costs, if there are any.
    #[must_use]
    pub fn costs(&self) -> Option<&[f64]> {
        self.costs.as_deref()
    }

    /// Where a point is in the list. Cost O(nd).
    #[must_use]
    pub fn position(&self, point: &[f64]) -> Option<usize> {
        self.points().rows().position(|row| row == point)
    }
}
