//! One tidy row for every evaluation of every run.

use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// What is known after one evaluation of one run. Regrets are of noise-free values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The function.
    pub problem: String,
    /// The strategy.
    pub strategy: String,
    /// The seed of the run.
    pub seed: u64,
    /// How many evaluations were made, this one included.
    pub evaluation: usize,
    /// The batch it belongs to, from 0.
    pub batch: usize,
    /// How much worse than the best the recommended point is; only where a recommendation was asked for, at ends of batches.
    pub simple_regret: Option<f64>,
    /// The sum over all evaluations so far of how much worse than the best they were.
    pub cumulative_regret: f64,
    /// The optimality gap that comes with the recommendation, where it is finite and certified.
    pub certified_gap: Option<f64>,
    /// Seconds spent in asking and telling so far: not in evaluating, nor in recommending.
    pub seconds: f64,
    /// Inducing points in use after the batch, where the strategy has any; only in the last row of a batch.
    pub inducing: Option<usize>,
    /// Candidates, or the share of the domain, still possible after the batch; only in the last row of a batch.
    pub survivors: Option<f64>,
}

/// The columns, in order.
const COLUMNS: &str =
    "problem,strategy,seed,evaluation,batch,simple_regret,cumulative_regret,certified_gap,seconds,inducing_points,survivors";

/// Writes rows as comma-separated values under one line of column names. What is not known is empty; numbers read back to the same bits.
///
/// # Errors
/// What writing runs into.
pub fn write_csv(rows: &[Evaluation], mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for row in rows {
        write!(out, "{},{},{},{},{},", quoted(&row.problem), quoted(&row.strategy), row.seed, row.evaluation, row.batch)?;
        write!(out, "{},{:?},", number(row.simple_regret), row.cumulative_regret)?;
        let inducing = row.inducing.map_or_else(String::new, |count| count.to_string());
        writeln!(out, "{},{:?},{inducing},{}", number(row.certified_gap), row.seconds, number(row.survivors))?;
    }
    Ok(())
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:?}"))
}

/// A name as it is, or in quotation marks where it holds a comma, a quotation mark or an end of line.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}
