//! From sums over rows to the model they make: the same as from the rows, but for rounding.

use super::Posterior;
use crate::accumulator::{Accumulator, Node, Plan, Scalars, Squares, SummedAhead};
use crate::error::Result;
use crate::features::MoreFeatures;
use crate::information::{Absorbed, Ahead, FitFacts, GramMethod, Information, factor, of_root};
use crate::origin::{Origin, Sourced};
use crate::points::{Doubts, KeptLocations, KeptResponses, Prior, SummedLocations, SummedResponses};
use sigmabar_linalg::{LinalgError, Matrix, Operation, TallQr, norm_squared};
use std::sync::Arc;

impl Posterior {
    /// The model of all chunks of a plan, with the plan's ridge and prior (mean and deviation of the responses where it has none). It keeps no rows: what needs
    /// them says so; where the plan looks ahead, claims do too. Cost O(m³).
    ///
    /// # Errors
    /// [`crate::accumulator::SumsError`] where a chunk is missing or the sums are another plan's; a failed self-check, the sums' own included.
    pub fn from_sums(plan: &Plan, sums: &Accumulator) -> Result<Self> {
        let (mut node, centre) = (sums.total(plan)?, plan.summed().centre);
        let moments = node.moments.clone().finish()?;
        let plan = &if plan.learnt_on.iter().any(|hash| node.sketch.holds(*hash)) { plan.clone().on_own_rows() } else { plan.clone() };
        let prior = plan.prior.map_or_else(|| learnt_prior(&node, centre), Ok)?;
        let (responses, shift) = responses(&mut node, prior, plan);
        let projected = shifted(moments.row(0), moments.row(1), prior.unit(), shift);
        let locations = SummedLocations {
            rows: node.rows as usize,
            total: node.rows as f64,
            largest: node.largest,
            log_weights: 0.0,
            collected: plan.collected,
        };
        let more = plan.ahead().zip(node.ahead.take());
        let (absorbed, whitened) = absorbed(node, plan.ridge.value, (prior.unit(), shift))?;
        let information = Information::assemble(Arc::clone(plan.features()), plan.ridge, KeptLocations::Sums(locations), absorbed)?;
        let ahead = more.map_or(Ok(None), |(more, sums)| looked_ahead(more, sums, &information))?;
        let information = information.with_ahead(ahead);
        Self::assemble(Arc::new(information), KeptResponses::Sums(responses), (projected, whitened), 1.0)
    }
}

/// The same measurements through the further inducing points too; `None` where rounding leaves them no factor.
fn looked_ahead(more: &MoreFeatures, sums: SummedAhead, information: &Information) -> Result<Option<Ahead>> {
    let (m, p, own) = (information.features().len(), more.len(), information.gram());
    let products = sums.products.finish()?;
    let gram = Matrix::from_fn(m + p, m + p, |i, j| {
        let (low, high) = (i.min(j), i.max(j));
        if high < m { own[(i, j)] } else { products[(high - m, low)] }
    });
    let Ok(lower) = factor(&gram, information.ridge()) else { return Ok(None) };
    let absorbed = Absorbed {
        gram,
        lower,
        prior_trace: information.prior_trace(),
        residual_trace: sums.residual_trace,
        projected: None,
        whitened: None,
        facts: *information.facts(),
        updates: 0,
    };
    let ridge = Sourced::new(information.ridge(), information.ridge_origin());
    let larger = Information::assemble(Arc::clone(more.all()), ridge, information.kept().clone(), absorbed)?;
    Ok(Some(Ahead { information: Arc::new(larger), cross: Matrix::from_fn(p, m, |i, j| products[(i, j)]) }))
}

/// Mean and standard deviation of the responses, unit 1 where they do not vary.
fn learnt_prior(node: &Node, centre: f64) -> Result<Prior> {
    let n = node.rows as f64;
    let mean = node.scalars.responses / n;
    let variance = node.scalars.squares / n - mean * mean;
    // Below rounding nothing is left that varies.
    let varies = variance > 4.0 * f64::EPSILON * node.length * node.scalars.squares / n;
    Ok(Prior::declared(centre + mean, if varies { variance.sqrt() } else { 1.0 })?.with_origin(Origin::LearntHere))
}

/// The sums of $(y-\text{mean})/\text{unit}$ from those of $y-\text{centre}$; and $(\text{mean}-\text{centre})/\text{unit}$.
fn responses(node: &mut Node, prior: Prior, plan: &Plan) -> (SummedResponses, f64) {
    let (n, unit, centre) = (node.rows as f64, prior.unit(), plan.summed().centre);
    let shift = (prior.mean() - centre) / unit;
    let squares = node.scalars.squares / (unit * unit);
    let sum_squares = (squares - shift * (2.0 * node.scalars.responses / unit - n * shift)).max(0.0);
    let terms = (squares.sqrt() + shift.abs() * n.sqrt()).powi(2);
    let absolute = node.scalars.absolute / unit + shift.abs() * n;
    let sketch = Arc::new(std::mem::take(&mut node.sketch));
    let (copies, are_watched) = (sketch.copies(), !sketch.is_whole());
    let doubts = Doubts { copies, are_distinct: plan.distinct_rows, are_watched, lost: node.lost as usize, means: 0 };
    (SummedResponses { prior, sum_squares, terms, absolute, doubts, sketch }, shift)
}

/// `a/unit − shift·b`.
fn shifted(a: &[f64], b: &[f64], unit: f64, shift: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / unit - shift * b).collect()
}

/// $\operatorname{tr}K-\operatorname{tr}D$ is the trace of $G$, which was summed by another way.
fn check_traces(scalars: &Scalars, explained: f64, length: f64) -> Result<()> {
    let discrepancy = (scalars.prior_trace - scalars.residual_trace - explained).abs() / scalars.prior_trace.max(f64::MIN_POSITIVE);
    let allowed = 8.0 * (length + 8.0) * f64::EPSILON;
    // Written so that NaN fails.
    if discrepancy <= allowed { Ok(()) } else { Err(LinalgError::SelfCheck { operation: Operation::Gram, discrepancy, allowed }.into()) }
}

fn absorbed(node: Node, ridge: f64, (unit, shift): (f64, f64)) -> Result<(Absorbed, Option<Vec<f64>>)> {
    let m = node.moments.shape().1;
    let (gram, lower, method, whitened) = match node.squares {
        Squares::Gram(gram) => {
            let mut gram = gram.finish()?;
            check_traces(&node.scalars, gram.diagonal().iter().sum(), node.length + m as f64)?;
            gram.mirror_lower();
            let lower = factor(&gram, ridge)?;
            (gram, lower, GramMethod::WhitenFirst, None)
        }
        Squares::Factor(rows) => {
            // B is the Gram matrix of [I; Ψ/τ]; ones and responses are two columns more, which the same reflections carry.
            let mut qr = TallQr::new(m + 2);
            qr.add_rows(Matrix::from_fn(m, m + 2, |i, j| f64::from(u8::from(i == j))).as_slice())?;
            let mut scaled = rows.gram_factor();
            let explained = scaled.as_slice().chunks_exact(m + 2).map(|row| norm_squared(&row[..m])).sum();
            check_traces(&node.scalars, explained, node.length + node.reflected + m as f64)?;
            scaled.as_mut_slice().iter_mut().for_each(|v| *v /= ridge);
            qr.add_rows(scaled.as_slice())?;
            let all = qr.gram_factor();
            let column = |j: usize| (0..m).map(|i| all[(i, j)]).collect::<Vec<f64>>();
            let (gram, lower) = of_root(Matrix::from_fn(m, m, |i, j| all[(i, j)]), ridge)?;
            (gram, lower, GramMethod::Orthogonal, Some(shifted(&column(m + 1), &column(m), unit, shift)))
        }
    };
    // The last reflections stack m + (m + 2) rows more, and there is one column more than in a fit from rows.
    let reflected_rows = (node.reflected + (2 * m + 4) as f64) * (m + 2) as f64 / (m + 1) as f64;
    let facts = FitFacts { method, whitening_bound: 0.0, summation_length: node.length + 4.0, reflected_rows };
    let (prior_trace, residual_trace) = (node.scalars.prior_trace, node.scalars.residual_trace);
    Ok((Absorbed { gram, lower, prior_trace, residual_trace, projected: None, whitened: None, facts, updates: 0 }, whitened))
}
