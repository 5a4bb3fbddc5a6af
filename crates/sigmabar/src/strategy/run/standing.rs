//! A run's claim as a function of its premises.

use crate::certificate::{Certificate, Range};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a run claims under other premises than those it was planned with, from the same data (algorithm notes 13). Each row of curve and map is a statement about its own
/// premise: if the function satisfies it, the row is false with probability $\delta$ at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Standing {
    /// The norm bound that was claimed, in the model's scale.
    pub norm_bound: f64,
    /// The noise level that was claimed.
    pub noise_level: Option<f64>,
    /// Whether gaps speak of the candidates that stand for the domain instead of the domain.
    pub among_candidates: bool,
    /// gap(C), ascending in C.
    pub curve: Vec<Standpoint>,
    /// gap(R) at the claimed norm bound, ascending in R; empty where there is no noise.
    #[serde(default)]
    pub noise_curve: Vec<Noisepoint>,
    /// $c_0$, $C^\dagger$ and $R^\dagger$.
    pub range: Range,
    /// What all this rests on: elimination by batches, or for any other run the band that holds whatever chose the points.
    pub certificate: Certificate,
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Standpoint {
    /// $C$.
    pub norm_bound: f64,
    /// How far the recommended setting can be from the best, in the data's scale: the largest of this and every smaller $C$. None where the data contradict $C$.
    pub gap: Option<f64>,
}

/// One point of the curve along the noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Noisepoint {
    /// $R$, in the model's scale.
    pub noise_level: f64,
    /// How far the recommended setting can be from the best, in the data's scale: the largest of this and every smaller $R$. None where the data contradict so little noise.
    pub gap: Option<f64>,
}

/// Evaluations of a batch that repeat others because the level of the noise is unknown (algorithm notes 13.3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repeats {
    /// The batch, from 0: the first that counts, or a later one as long as those before it know the level badly.
    pub batch: usize,
    /// So many.
    pub count: usize,
    /// Of so many in the batch.
    pub of: usize,
    /// By so many times their scatter they bound the level.
    pub factor: f64,
}

/// One row of the map: the curve under another length-scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PremiseRow {
    /// By which all length-scales are multiplied.
    pub factor: f64,
    /// $c_0$ under this kernel.
    pub least_norm: f64,
    /// gap(C) under this kernel.
    pub curve: Vec<Standpoint>,
}

impl Standing {
    /// The row of the map for the declared length-scales.
    #[must_use]
    pub fn row(&self) -> PremiseRow {
        PremiseRow { factor: 1.0, least_norm: self.range.least_norm, curve: self.curve.clone() }
    }

    /// The claim at a norm bound: that of the next larger value of the curve. None where the data contradict that, or the curve ends before.
    #[must_use]
    pub fn gap_at(&self, norm_bound: f64) -> Option<f64> {
        self.curve.iter().find(|point| point.norm_bound >= norm_bound)?.gap
    }

    /// The largest norm bound of the curve up to which the recommended setting is within `gap` of the best.
    #[must_use]
    pub fn breakdown(&self, gap: f64) -> Option<f64> {
        let stands = self.curve.iter().take_while(|point| point.gap.is_none_or(|g| g <= gap));
        stands.filter(|point| point.gap.is_some()).last().map(|point| point.norm_bound)
    }

    /// The norm bound as it was declared, and how many times as large norms are under the kernel of curve and map: for pictures that count norms as the sentence does.
    #[must_use]
    pub fn declared(&self) -> (f64, f64) {
        let growth = self.certificate.premises.norm_growth();
        (self.norm_bound / growth, growth)
    }

    /// About a setting at a kernel distance from the recommended one, of which a unit of norm makes `slack` in the data's scale.
    #[must_use]
    pub fn moved(mut self, slack: f64) -> Self {
        self.curve = moved(self.curve, slack);
        for point in &mut self.noise_curve {
            point.gap = point.gap.map(|gap| gap + self.norm_bound * slack);
        }
        self.range = self.range.moved(self.norm_bound, slack);
        self
    }
}

impl PremiseRow {
    /// As [`Standing::moved`], by the distance under the kernel of this row.
    #[must_use]
    pub fn moved(self, slack: f64) -> Self {
        Self { curve: moved(self.curve, slack), ..self }
    }
}

fn moved(curve: Vec<Standpoint>, slack: f64) -> Vec<Standpoint> {
    curve.into_iter().map(|point| Standpoint { gap: point.gap.map(|gap| gap + point.norm_bound * slack), ..point }).collect()
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, count, of, factor } = self;
        write!(
            f,
            "{count} of the {of} evaluations of batch {} are repeats: the noise level is not declared, and this many repeats bound it at {factor:.2} times their scatter",
            batch + 1
        )
    }
}
