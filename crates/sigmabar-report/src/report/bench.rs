//! The report of a comparison: strategies on problems over seeds.

use super::error::{Error, Result};
use super::fields::Fields;
use super::page::Page;
use crate::plot::{self, Cell, RegretCurve, RegretGrowth, RegretPanel, Table, number, significant};
use sigmabar_experiment::{Evaluation, Mean, summaries};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// Reads the tidy table of an experiment, as the core's `write_csv` writes it.
///
/// # Errors
/// [`Error::Column`], [`Error::Field`] naming line and column, [`Error::Csv`].
pub fn read_evaluations(input: impl Read) -> Result<Vec<Evaluation>> {
    Fields::read(input, |row| {
        Ok(Evaluation {
            problem: row.text("problem")?.to_owned(),
            strategy: row.text("strategy")?.to_owned(),
            seed: row.parse("seed", "a whole number")?,
            evaluation: row.parse("evaluation", "a whole number")?,
            batch: row.parse("batch", "a whole number")?,
            simple_regret: row.optional("simple_regret", "a number")?,
            cumulative_regret: row.parse("cumulative_regret", "a number")?,
            certified_gap: row.optional("certified_gap", "a number")?,
            seconds: row.parse("seconds", "a number")?,
            inducing: row.optional("inducing_points", "a whole number")?,
            survivors: row.optional("survivors", "a number")?,
        })
    })
}

/// Reads a growth table: columns setting, budget, regret, bound, slope_limit.
///
/// # Errors
/// [`Error::Column`], [`Error::Field`] naming line and column, [`Error::Csv`].
pub fn read_growth(input: impl Read) -> Result<Vec<RegretGrowth>> {
    Fields::read(input, |row| {
        Ok(RegretGrowth {
            setting: row.text("setting")?.to_owned(),
            budget: row.parse("budget", "a number")?,
            regret: row.parse("regret", "a number")?,
            bound: row.parse("bound", "a number")?,
            slope_limit: row.parse("slope_limit", "a number")?,
        })
    })
}

/// The page of a comparison. `slopes` gives the slope of cumulative regret on log-log axes that theory states for a problem, where it does; `command` is what made the
/// rows.
///
/// # Errors
/// [`Error::Empty`] without rows.
pub fn bench(rows: &[Evaluation], slopes: &[(String, f64)], command: &str) -> Result<Page> {
    if rows.is_empty() {
        return Err(Error::Empty { what: "the table of evaluations" });
    }
    let summary = summaries(rows);
    let mut page = Page::new("sigmabar bench");
    page.title("Strategies compared");
    let problems = plot::distinct(rows.iter().map(|row| row.problem.as_str()));
    let strategies = plot::distinct(rows.iter().map(|row| row.strategy.as_str()));
    let seeds = rows.iter().map(|row| row.seed).collect::<BTreeSet<_>>().len();
    let counts = format!("Strategies: {}. Problems: {}. Seeds: {seeds}.", strategies.len(), problems.len());
    page.paragraph(&format!("{counts} Regrets are of noise-free values; lower is better."));
    let best = |problem: &str| {
        summary.iter().filter(|s| s.problem == problem).min_by(|a, b| a.simple_regret.mean.total_cmp(&b.simple_regret.mean))
    };
    page.list(
        &problems
            .iter()
            .filter_map(|p| best(p))
            .map(|s| format!("{}: {} ends with the smallest simple regret, {}", s.problem, s.strategy, with_error(&s.simple_regret)))
            .collect::<Vec<_>>(),
    );
    let slope = |problem: &str| slopes.iter().find(|(name, _)| name == problem).map(|(_, slope)| *slope);
    for (measure, value, is_known_at_ends) in MEASURES {
        let panels: Vec<RegretPanel> = problems
            .iter()
            .map(|problem| RegretPanel {
                problem: (*problem).to_owned(),
                curves: strategies.iter().filter_map(|strategy| curve(rows, problem, strategy, value, is_known_at_ends)).collect(),
                theory_slope: slope(problem).filter(|_| measure == "cumulative regret"),
            })
            .filter(|panel| !panel.curves.is_empty())
            .collect();
        if !panels.is_empty() {
            page.picture(plot::regret(&panels, measure));
        }
    }
    page.heading("At the end of the runs");
    page.table("summary", summary_table(&summary));
    page.heading("How to run it again");
    page.verbatim(command);
    page.paragraph(&format!("sigmabar {}. The same command gives the same rows, their seconds apart.", env!("CARGO_PKG_VERSION")));
    Ok(page)
}

/// The page of regret against the budget.
///
/// # Errors
/// [`Error::Empty`] without rows.
pub fn growth(rows: &[RegretGrowth]) -> Result<Page> {
    if rows.is_empty() {
        return Err(Error::Empty { what: "the table of budgets" });
    }
    let mut page = Page::new("sigmabar: regret against the budget");
    page.title("Regret against the budget");
    let worst = rows.iter().map(|row| row.regret / row.bound).fold(0.0, f64::max);
    let verdict = if worst <= 1.0 { "stays below its computed bound at every budget" } else { "exceeds its computed bound" };
    page.paragraph(&format!("The measured regret {verdict}; it reaches at most {} of it.", number(worst)));
    page.picture(plot::growth(rows));
    Ok(page)
}

type Value = fn(&Evaluation) -> Option<f64>;
/// What is drawn, and whether a strategy with batches knows it at their ends alone.
const MEASURES: [(&str, Value, bool); 3] = [
    ("simple regret", |row| row.simple_regret, true),
    ("cumulative regret", |row| Some(row.cumulative_regret), false),
    ("certified gap", |row| row.certified_gap, true),
];
/// The most points of a curve: more are not seen on a logarithmic axis.
const MOST_POINTS: f64 = 160.0;

/// The mean and the middle 80 % of the seeds, where at least half of the seeds have a value. What is known at the ends of batches alone stays until the next.
fn curve(rows: &[Evaluation], problem: &str, strategy: &str, value: Value, is_known_at_ends: bool) -> Option<RegretCurve> {
    let mut seeds: BTreeMap<u64, BTreeMap<usize, f64>> = BTreeMap::new();
    let mut has_batches = false;
    for row in rows.iter().filter(|row| row.problem == problem && row.strategy == strategy) {
        has_batches |= row.evaluation > row.batch + 1;
        let known = seeds.entry(row.seed).or_default();
        known.extend(value(row).map(|v| (row.evaluation, v)));
    }
    let is_stepped = has_batches && is_known_at_ends;
    let at = |known: &BTreeMap<usize, f64>, n: usize| match is_stepped {
        true => known.range(..=n).next_back().map(|(_, v)| *v),
        false => known.get(&n).copied(),
    };
    let mut curve = RegretCurve { strategy: strategy.to_owned(), seeds: seeds.len(), is_stepped, ..RegretCurve::default() };
    let all: BTreeSet<usize> = seeds.values().flat_map(|known| known.keys().copied()).collect();
    let (mut last, end) = (0.0, all.last().copied());
    for evaluation in all {
        let next = evaluation as f64;
        let mut values: Vec<f64> = seeds.values().filter_map(|known| at(known, evaluation)).collect();
        // Steps of equal ratio, and the end in any case.
        if (next < last * 10f64.powf(4.0 / MOST_POINTS) && Some(evaluation) != end) || 2 * values.len() < seeds.len() {
            continue;
        }
        values.sort_by(f64::total_cmp);
        curve.evaluations.push(next);
        curve.mean.push(Mean::of(&values).mean);
        curve.lower.push(quantile(&values, 0.1));
        curve.upper.push(quantile(&values, 0.9));
        last = next;
    }
    (!curve.mean.is_empty()).then_some(curve)
}

/// Between the two values of a sorted list around the share.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + place.fract() * (above - below)
}

fn with_error(mean: &Mean) -> String {
    if mean.standard_error.is_nan() {
        number(mean.mean)
    } else {
        format!("{} ± {}", number(mean.mean), significant(mean.standard_error, 2))
    }
}

fn summary_table(summary: &[sigmabar_experiment::Summary]) -> Table {
    let mut table = Table::new([
        "problem",
        "strategy",
        "evaluations",
        "batches",
        "simple regret",
        "its std. error",
        "cumulative regret",
        "certified gap",
        "seconds",
        "runs beyond their gap",
    ]);
    let known = |v: f64| if v.is_nan() { Cell::Empty } else { Cell::Number(v) };
    for s in summary {
        table.push(vec![
            s.problem.as_str().into(),
            s.strategy.as_str().into(),
            s.evaluations.into(),
            s.batches.into(),
            known(s.simple_regret.mean),
            known(s.simple_regret.standard_error),
            known(s.cumulative_regret.mean),
            known(s.certified_gap.mean),
            known(s.seconds.mean),
            s.exceeded_gaps.into(),
        ]);
    }
    table
}
