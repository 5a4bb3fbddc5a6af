//! Choosing inducing points.

use crate::arrays::{Rows, from_indices, from_points};
use crate::error::{raise, unknown};
use crate::kernel::PyKernel;
use crate::origin::origin_of;
use crate::work;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use sigmabar::inducing::{InducingRule, Stop};
use sigmabar::points::Locations;
use sigmabar::points::Seen;
use sigmabar::residual::{ResidualNorm, ResidualNormKind};
use sigmabar::{Collected, Origin, Points, Sourced};

/// The names of the rules, as the library's users know them.
const METHODS: [&str; 12] = [
    "uniform",
    "kmeans",
    "greedy",
    "rpcholesky",
    "rls",
    "recursive-rls",
    "recursive-rls-theory",
    "bless",
    "density-rls",
    "posterior-variance",
    "kdpp",
    "kdpp-mcmc",
];

/// Points, their rows, the bound on what they miss and how it was obtained.
type Chosen<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<i64>>>, Option<(f64, &'static str)>);

/// What a rule may be told.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RuleOptions {
    method: String,
    size: Option<usize>,
    theta: Option<f64>,
    delta: f64,
    oversampling: f64,
    steps: usize,
    subsample: Option<usize>,
}

impl RuleOptions {
    fn rule(&self, rows: usize) -> PyResult<InducingRule> {
        let (has_size, has_subsample) = match self.method.as_str() {
            "recursive-rls-theory" | "bless" | "posterior-variance" => (false, false),
            "greedy" | "rpcholesky" => (true, true),
            _ => (true, false),
        };
        if self.size.is_some() && !has_size {
            return Err(raise(format!("method \"{}\" finds the number of inducing points itself: leave size out", self.method)));
        }
        if self.subsample.is_some() && !has_subsample {
            return Err(raise(format!("method \"{}\" takes no subsample: only greedy and rpcholesky do", self.method)));
        }
        let sized = || self.size.ok_or_else(|| raise(format!("method \"{}\" needs a size: the number of inducing points", self.method)));
        Ok(match self.method.as_str() {
            "uniform" => InducingRule::Uniform { size: sized()? },
            "kmeans" => InducingRule::KMeans { size: sized()? },
            "greedy" => InducingRule::Greedy(self.stop(rows)),
            "rpcholesky" => InducingRule::RandomlyPivoted(self.stop(rows)),
            "rls" => InducingRule::ExactLeverage { size: sized()? },
            "recursive-rls" => InducingRule::RecursiveLeverage { size: sized()? },
            "recursive-rls-theory" => InducingRule::RecursiveLeverageTheory { delta: self.delta },
            "bless" => InducingRule::Bless { oversampling: self.oversampling },
            "density-rls" => InducingRule::DensityLeverage { size: sized()? },
            "posterior-variance" => InducingRule::PosteriorVariance { oversampling: self.oversampling },
            "kdpp" => InducingRule::DeterminantalExact { size: sized()? },
            "kdpp-mcmc" => InducingRule::DeterminantalChain { size: sized()?, steps: self.steps },
            other => return Err(unknown("method", other, &METHODS)),
        })
    }

    /// Until what is missed is certified small, or at a size.
    fn stop(&self, rows: usize) -> Stop {
        let size = self.size.unwrap_or(rows);
        let stop = match self.theta {
            Some(theta) => Stop::at_residual(theta, size),
            None => Stop::at_size(size),
        };
        match self.subsample {
            Some(points) => stop.with_subsample(points),
            None => stop,
        }
    }
}

/// How a bound on the residual norm was obtained, in one word.
pub fn kind_name(kind: ResidualNormKind) -> &'static str {
    match kind {
        ResidualNormKind::Trace => "trace",
        ResidualNormKind::LookAhead { .. } => "lookahead",
        ResidualNormKind::Dense => "dense",
        _ => "randomised",
    }
}

/// Chooses inducing points for the rows of `x`.
#[pyfunction]
pub fn select_inducing<'py>(
    py: Python<'py>,
    kernel: &PyKernel,
    x: Rows,
    tau: f64,
    options: RuleOptions,
    seed: u64,
) -> PyResult<Chosen<'py>> {
    let rule = options.rule(x.count())?;
    let kernel = kernel.inner.value.clone();
    let (chosen, rows) = work::run(py, move || -> sigmabar::Result<_> {
        let locations = Locations::new(x.to_points()?, Collected::DeclaredFixed);
        let chosen = rule.select(&kernel, tau, &locations, seed)?;
        let rows = chosen.indices().map(|indices| first_rows(&locations, indices));
        Ok((chosen, rows))
    })?;
    let norm = chosen.residual_norm().map(|ResidualNorm { value, kind, .. }| (value, kind_name(kind)));
    Ok((from_points(py, chosen.points())?, rows.map(|rows| from_indices(py, &rows)), norm))
}

/// The first row of each distinct location.
fn first_rows(locations: &Locations, distinct: &[usize]) -> Vec<usize> {
    let mut first = vec![usize::MAX; locations.distinct()];
    for row in (0..locations.len()).rev() {
        first[locations.distinct_of(row)] = row;
    }
    distinct.iter().map(|&i| first[i]).collect()
}

/// Inducing points, the word for where they came from, and the rows that what chose them was learnt on.
pub type InducingParts = (Rows, String, Vec<u64>);

/// Inducing points for a claim about these rows: "chosen" by a rule, which looks at no response, handed over, or chosen by something learnt.
pub fn inducing_on((points, source, seen): InducingParts, rows: &Seen) -> PyResult<Sourced<Points>> {
    let origin = if source == "chosen" { Origin::Guaranteed } else { Seen::from(seen).origin_on(origin_of(&source)?, rows) };
    Ok(Sourced::new(points.to_points().map_err(raise)?, origin))
}
