//! The strategy: by its name or by what is known, with its options from the core's catalogue.

use super::Fault;
use super::file::{Mode, StudyFile};
use super::schedule::{Batches, Plan};
use crate::error::SpecProblem;
use sigmabar::catalogue::{PolicyError, PolicySpec, StrategyEntry};
use sigmabar::{Policy, Problem};

/// The core's policy.
pub(super) fn policy(file: &StudyFile, problem: &Problem, plan: &Plan) -> Result<Policy, Fault> {
    let mut spec = file
        .strategy
        .clone()
        .unwrap_or_else(|| PolicySpec::new(if problem.has_premises() || file.pilot.is_some() { "s-bpe" } else { "auto" }));
    let entry = spec.entry().map_err(fault)?;
    check_use(file, problem, &spec, entry)?;
    if let (Some(batches), Some(_)) = (&plan.batches, entry.option("batches")) {
        spec = match batches {
            Batches::Count(count) => spec.with("batches", *count),
            Batches::Lengths(lengths) => spec.with("batches", lengths.as_slice()),
        };
    }
    if let Some(evaluations) = file.pilot {
        spec = spec.with("pilot", evaluations);
    }
    spec.policy(plan.budget).map_err(fault)
}

/// Files of earlier versions say `mode`: what it means is said by the strategy today.
pub(super) fn adopt_mode(file: &mut StudyFile) -> Result<(), Fault> {
    let Some(mode) = file.mode.take() else { return Ok(()) };
    let name = if mode == Mode::Auto { "auto" } else { "s-bpe" };
    let spec = file.strategy.take().unwrap_or_else(|| PolicySpec::new(name));
    if spec.name() != name {
        let remedy = "modes certified and paper are for s-bpe, mode auto is for auto: leave mode out";
        return Err(Fault::new(&["mode"], SpecProblem::Conflict { other: "strategy", remedy }));
    }
    file.strategy = Some(if mode == Mode::Paper { spec.with("rules", "paper") } else { spec });
    Ok(())
}

/// What is said must have an effect: keys that the strategy would pass over are refused.
fn check_use(file: &StudyFile, problem: &Problem, spec: &PolicySpec, entry: &StrategyEntry) -> Result<(), Fault> {
    let conflict = |key: &str, other, remedy| Err(Fault::new(&[key], SpecProblem::Conflict { other, remedy }));
    if entry.is_contextual {
        let remedy = "it answers one context after the other, and the trials of a study have no context: take gp-ucb or bkb here, or ek-ucb in Python or Rust";
        return conflict("strategy", "a study", remedy);
    }
    if file.stop_when.is_some() && !entry.states_gap {
        return conflict("stop_when", "this strategy", "only auto and s-bpe say how far from the best setting one can still be");
    }
    if problem.wanted_candidate_gap().is_some() && !entry.states_candidate_gap {
        let remedy = "it has no candidates that stand for the space: only s-bpe knows a candidate_gap, and \"gap < …\" is for auto too";
        return conflict("stop_when", "this strategy", remedy);
    }
    if file.batches.is_some() && entry.option("batches").is_none() {
        return conflict("batches", "this strategy", "it cuts its batches by a rule of its own: leave them out");
    }
    if file.pilot.is_some() && entry.option("pilot").is_none() {
        return conflict(
            "pilot",
            "this strategy",
            "only s-bpe leaves its pilot out of what it claims: leave the pilot or the strategy out",
        );
    }
    for key in ["batches", "pilot"] {
        if spec.get(key).is_some() {
            let problem = SpecProblem::Misplaced { found: key.into(), remedy: "say it at the top of the file" };
            return Err(Fault::new(&["strategy", key], problem));
        }
    }
    Ok(())
}

fn fault(error: PolicyError) -> Fault {
    let path = match error.option.as_deref() {
        Some(key @ ("batches" | "pilot")) => vec![key.to_owned()],
        option => vec!["strategy".to_owned(), option.unwrap_or("name").to_owned()],
    };
    Fault { path, problem: SpecProblem::Strategy(Box::new(error)) }
}
