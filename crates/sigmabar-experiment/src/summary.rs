//! Rows in a few numbers: means with their errors, paired differences, rates.

use crate::evaluation::Evaluation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The mean; NaN of nothing.
    pub mean: f64,
    /// $s/\sqrt n$ with the sample standard deviation $s$; NaN for fewer than two values.
    pub standard_error: f64,
    /// How many values.
    pub count: usize,
}

impl Mean {
    /// Of these values. Cost O(n).
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        // s² = Σ(v − mean)²/(n − 1)
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let standard_error = if values.len() < 2 { f64::NAN } else { (variance / n).sqrt() };
        Self { mean, standard_error, count: values.len() }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Measure {
    /// How much worse than the best the recommended point is.
    SimpleRegret,
    /// The sum of how much worse than the best all evaluations were.
    CumulativeRegret,
}

impl Measure {
    fn of(self, row: &Evaluation) -> Option<f64> {
        match self {
            Self::SimpleRegret => row.simple_regret,
            Self::CumulativeRegret => Some(row.cumulative_regret),
        }
    }
}

/// One strategy on one problem: the ends of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The function.
    pub problem: String,
    /// The strategy.
    pub strategy: String,
    /// Evaluations of the longest run.
    pub evaluations: usize,
    /// Batches of the longest run.
    pub batches: usize,
    /// Simple regret at the end.
    pub simple_regret: Mean,
    /// Cumulative regret at the end.
    pub cumulative_regret: Mean,
    /// The certified gap at the end, over the runs that have one.
    pub certified_gap: Mean,
    /// Seconds of the strategy itself.
    pub seconds: Mean,
    /// Runs in which a recommendation was ever worse than its certified gap: at most a $\delta$ share.
    pub exceeded_gaps: usize,
}

/// One summary for each pair of problem and strategy, in the order of their first rows. Cost O(n log n).
#[must_use]
pub fn summaries(rows: &[Evaluation]) -> Vec<Summary> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        // Rows come run by run: the last pairs are the likely ones.
        if !pairs.iter().rev().any(|pair| *pair == (&row.problem, &row.strategy)) {
            pairs.push((&row.problem, &row.strategy));
        }
    }
    pairs.into_iter().map(|(problem, strategy)| summary(rows, problem, strategy)).collect()
}

fn summary(rows: &[Evaluation], problem: &str, strategy: &str) -> Summary {
    let runs = runs(rows, problem, strategy);
    let ends: Vec<&Evaluation> = runs.values().filter_map(|run| run.last().copied()).collect();
    let finals = |measure| Mean::of(&runs.values().filter_map(|run| last(run, measure)).collect::<Vec<f64>>());
    let exceeded = |row: &&Evaluation| matches!((row.simple_regret, row.certified_gap), (Some(regret), Some(gap)) if regret > gap);
    Summary {
        problem: problem.to_owned(),
        strategy: strategy.to_owned(),
        evaluations: ends.iter().map(|row| row.evaluation).max().unwrap_or(0),
        batches: ends.iter().map(|row| row.batch + 1).max().unwrap_or(0),
        simple_regret: finals(Measure::SimpleRegret),
        cumulative_regret: finals(Measure::CumulativeRegret),
        certified_gap: Mean::of(&ends.iter().filter_map(|row| row.certified_gap).collect::<Vec<f64>>()),
        seconds: Mean::of(&ends.iter().map(|row| row.seconds).collect::<Vec<f64>>()),
        exceeded_gaps: runs.values().filter(|run| run.iter().any(exceeded)).count(),
    }
}

/// The mean over common seeds of a measure at the end, of the first strategy minus the second; `None` without a common seed. Pairing removes what the seeds have in
/// common: the function, the noise. Cost O(n log n).
#[must_use]
pub fn paired_difference(rows: &[Evaluation], problem: &str, first: &str, second: &str, measure: Measure) -> Option<Mean> {
    let (first, second) = (runs(rows, problem, first), runs(rows, problem, second));
    let difference = |(seed, run): (&u64, &Vec<&Evaluation>)| Some(last(run, measure)? - last(second.get(seed)?, measure)?);
    let differences: Vec<f64> = first.iter().filter_map(difference).collect();
    (!differences.is_empty()).then(|| Mean::of(&differences))
}

/// The mean of a measure after each number of evaluations at which any run knows it. Cost O(n log n).
#[must_use]
pub fn mean_curve(rows: &[Evaluation], problem: &str, strategy: &str, measure: Measure) -> Vec<(usize, f64)> {
    let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.problem == problem && row.strategy == strategy) {
        if let Some(value) = measure.of(row) {
            values.entry(row.evaluation).or_default().push(value);
        }
    }
    values.into_iter().map(|(evaluation, values)| (evaluation, Mean::of(&values).mean)).collect()
}

/// The least-squares slope of $\ln R$ over $\ln N$ in the last decade of $N$ ($N\ge N_{\max}/10$); `None` with fewer than two different $N$ there, or a
/// regret that is not positive, whose logarithm does not exist. Cost O(n).
#[must_use]
pub fn log_log_slope(curve: &[(usize, f64)]) -> Option<f64> {
    let largest = curve.iter().map(|&(n, _)| n).max()?;
    let decade: Vec<(f64, f64)> = curve
        .iter()
        .filter(|&&(n, _)| n > 0 && n.saturating_mul(10) >= largest)
        .map(|&(n, regret)| ((n as f64).ln(), regret.ln()))
        .collect();
    let count = decade.len() as f64;
    let (x, y) = (decade.iter().map(|p| p.0).sum::<f64>() / count, decade.iter().map(|p| p.1).sum::<f64>() / count);
    // slope = Σ(x − x̄)(y − ȳ) / Σ(x − x̄)²
    let spread: f64 = decade.iter().map(|p| (p.0 - x).powi(2)).sum();
    let slope = decade.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread;
    (slope.is_finite() && decade.iter().any(|p| p.0 != decade[0].0)).then_some(slope)
}

/// The rows of each seed, in their order.
fn runs<'a>(rows: &'a [Evaluation], problem: &str, strategy: &str) -> BTreeMap<u64, Vec<&'a Evaluation>> {
    let mut runs: BTreeMap<u64, Vec<&Evaluation>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.problem == problem && row.strategy == strategy) {
        runs.entry(row.seed).or_default().push(row);
    }
    runs
}

/// The last known value of a measure.
fn last(run: &[&Evaluation], measure: Measure) -> Option<f64> {
    run.iter().rev().find_map(|row| measure.of(row))
}
