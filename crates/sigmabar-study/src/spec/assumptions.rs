//! What is assumed: kernel, ridge, norm bound, noise, prior, and when to stop.

use super::Fault;
use super::file::{DirectionWord, KernelTable, NoiseTable, StudyFile};
use crate::error::SpecProblem;
use crate::space::{ParameterKind, Space};
use crate::union::{NumberOrAuto, OneOrMany, PlainOr};
use sigmabar::kernel::Lengthscale;
use sigmabar::strategy::{Direction, Failures};
use sigmabar::{Kernel, Noise, Origin, Prior, Problem, Sourced};
use std::collections::BTreeMap;

const KERNELS: [&str; 5] = ["squared-exponential", "matern", "rational-quadratic", "periodic", "linear"];

/// The core's problem.
pub(super) fn problem(file: &StudyFile, space: &Space, budget: usize) -> Result<Problem, Fault> {
    let mut problem = Problem::new(space.domain().clone(), budget).map_err(Fault::core(&["budget"]))?.with_seed(file.seed.unwrap_or(0));
    if file.direction == Some(DirectionWord::Minimize) {
        problem = problem.with_direction(Direction::Minimize);
    }
    if let Some(delta) = file.delta {
        problem = problem.with_delta(delta).map_err(Fault::core(&["delta"]))?;
    }
    // Whoever has seen a pilot declares nothing before the first response any more.
    let is_learnt = file.learnt_from.is_some() || file.pilot.is_some();
    let origin = if is_learnt { Origin::LearntElsewhere } else { Origin::Declared };
    if let Some(PlainOr::Table(table)) = &file.kernel {
        problem = problem.with_kernel(Sourced::new(kernel(table, space)?, origin)).map_err(Fault::core(&["kernel"]))?;
    }
    if let Some(tau) = file.tau.and_then(NumberOrAuto::number).or(file.amended_ridge) {
        problem = problem.with_ridge(tau).map_err(Fault::core(&["tau"]))?;
    }
    if let Some(bound) = file.norm_bound.and_then(NumberOrAuto::number) {
        problem = problem.with_norm_bound(Sourced::new(bound, origin)).map_err(Fault::core(&["norm_bound"]))?;
    }
    if let Some(PlainOr::Table(NoiseTable { about: Some(about), gaussian: None, sub_gaussian: None, bounded: None, light_tailed: None })) =
        file.noise
    {
        let each = u32::try_from(file.replicates.unwrap_or(1)).unwrap_or(u32::MAX);
        problem = problem.with_unknown_level(about, each).map_err(Fault::core(&["noise", "about"]))?;
    } else if let Some(noise) = file.noise.as_ref().map_or(Ok(None), noise)? {
        problem = problem.with_noise(Sourced::new(noise, origin)).map_err(Fault::core(&["noise"]))?;
    }
    if let Some(PlainOr::Table(table @ KernelTable { at_least: Some(shortest), .. })) = &file.kernel {
        let shorter = KernelTable { lengthscale: shortest.clone(), at_least: None, ..table.clone() };
        problem = problem.with_lengthscales_at_least(kernel(&shorter, space)?).map_err(Fault::core(&["kernel", "at_least"]))?;
    }
    if file.prior_mean.is_some() || file.unit.is_some() {
        let key = if file.unit.is_some() { "unit" } else { "prior_mean" };
        let prior = Prior::declared(file.prior_mean.unwrap_or(0.0), file.unit.unwrap_or(1.0)).map_err(Fault::core(&[key]))?;
        problem = problem.with_prior(prior.with_origin(origin));
    }
    if let Some(text) = &file.stop_when {
        let (which, wanted) = stop_when(text)?;
        problem = if which == "gap" { problem.with_wanted_gap(wanted) } else { problem.with_wanted_candidate_gap(wanted) }
            .map_err(Fault::core(&["stop_when"]))?;
    }
    // The older key says no more than that failures are informative, or nothing.
    let informative = file.informative_failures.map(|yes| if yes { Failures::Informative } else { Failures::Unrelated });
    let failures = file.failures.or(informative);
    Ok(problem.with_failures(failures.unwrap_or_default()))
}

/// Reads "gap < 0.01" or "candidate_gap < 0.01".
fn stop_when(text: &str) -> Result<(&str, f64), Fault> {
    let (which, number) = text.split_once('<').unwrap_or((text, ""));
    let number = number.strip_prefix('=').unwrap_or(number).trim().parse::<f64>().ok();
    number.filter(|_| matches!(which.trim(), "gap" | "candidate_gap")).map(|number| (which.trim(), number)).ok_or_else(|| {
        let requirement = "the words \"gap < 0.01\" or \"candidate_gap < 0.01\" with a number of yours";
        Fault::new(&["stop_when"], SpecProblem::Requirement { found: format!("\"{text}\""), requirement })
    })
}

fn noise(given: &PlainOr<NumberOrAuto, NoiseTable>) -> Result<Option<Noise>, Fault> {
    let core = Fault::core(&["noise"]);
    match given {
        PlainOr::Plain(level) => level.number().map(Noise::sub_gaussian).transpose().map_err(core),
        PlainOr::Table(table) => {
            let kinds = [
                table.gaussian.map(Noise::gaussian),
                table.sub_gaussian.map(Noise::sub_gaussian),
                table.bounded.map(Noise::bounded),
                table.light_tailed.map(|tails| Noise::light_tailed(tails.xi0, tails.h0)),
            ];
            let mut given = kinds.into_iter().chain([table.about.map(Noise::gaussian)]).flatten();
            match (given.next(), given.next()) {
                (Some(noise), None) => noise.map(Some).map_err(core),
                (first, _) => {
                    let found = if first.is_some() { "several kinds" } else { "none" };
                    let requirement = "exactly one of gaussian, about, sub_gaussian, bounded and light_tailed";
                    Err(Fault::new(&["noise"], SpecProblem::Requirement { found: found.into(), requirement }))
                }
            }
        }
    }
}

/// The kernel on the strategy's columns: as named on numbers, Hamming on choices.
fn kernel(table: &KernelTable, space: &Space) -> Result<Kernel, Fault> {
    let core = Fault::core(&["kernel"]);
    let table = &spelt_out(table)?;
    let lengths = lengthscales(table, space)?;
    let is_list = space.candidates().is_some();
    let is_choice = |i: usize| !is_list && space.parameters()[i].is_choice();
    let (choices, numbers): (Vec<usize>, Vec<usize>) = (0..space.parameters().len()).partition(|&i| is_choice(i));
    let columns = |of: &[usize]| -> (Vec<usize>, Vec<f64>) {
        of.iter().flat_map(|&i| space.columns_of(i).map(move |column| (i, column))).map(|(i, column)| (column, lengths[i])).unzip()
    };
    let variance = table.variance.unwrap_or(1.0);
    if numbers.is_empty() {
        return Kernel::hamming(columns(&choices).1, variance).map_err(core);
    }
    let (places, scales) = columns(&numbers);
    let scales =
        if scales.windows(2).all(|pair| pair[0] == pair[1]) { Lengthscale::Shared(scales[0]) } else { Lengthscale::PerColumn(scales) };
    let smooth = match table.name.as_str() {
        "squared-exponential" => Kernel::squared_exponential(scales, variance),
        "matern" => Kernel::matern(table.nu.unwrap_or(2.5), scales, variance),
        "rational-quadratic" => Kernel::rational_quadratic(table.alpha.unwrap_or(1.0), scales, variance),
        "periodic" => {
            let missing = SpecProblem::Missing { what: "period", remedy: "give the period in shares of the range: period = 0.5" };
            Kernel::periodic(table.period.ok_or_else(|| Fault::new(&["kernel"], missing))?, scales, variance)
        }
        "linear" => Kernel::linear(table.offset.unwrap_or(1.0), scales, variance),
        other => return Err(Fault::new(&["kernel", "name"], SpecProblem::unknown("kernel", other, &KERNELS))),
    };
    check_options(table)?;
    let smooth = smooth.map_err(&core)?;
    if choices.is_empty() {
        return Ok(smooth);
    }
    let (kinds, kind_scales) = columns(&choices);
    let hamming = Kernel::hamming(kind_scales, 1.0).and_then(|kernel| kernel.columns(kinds)).map_err(&core)?;
    Ok(smooth.columns(places).map_err(core)? * hamming)
}

/// Matérn-5/2 with a length-scale for each parameter, as a study file that says so has it.
pub(super) fn matern(space: &Space, lengths: &[(String, f64)], variance: f64) -> Result<Kernel, Fault> {
    let table = KernelTable {
        name: "matern".to_owned(),
        lengthscale: PlainOr::Table(lengths.iter().cloned().collect()),
        at_least: None,
        variance: Some(variance),
        nu: Some(2.5),
        alpha: None,
        period: None,
        offset: None,
        natural: None,
    };
    kernel(&table, space)
}

/// The table with the kernel's full name: `se`, `rbf`, `rq`, `matern-1.5` and `rq-2` are spelt as on the command line.
fn spelt_out(table: &KernelTable) -> Result<KernelTable, Fault> {
    let mut table = table.clone();
    table.name = table.name.to_lowercase().replace([' ', '_'], "-").replace('é', "e");
    let (name, shape) = match table.name.rsplit_once('-').and_then(|(name, shape)| Some((name.to_owned(), shape.parse::<f64>().ok()?))) {
        Some((name, shape)) => (name, Some(shape)),
        None => (table.name.clone(), None),
    };
    let (full, own) = match name.as_str() {
        "se" | "rbf" if shape.is_none() => ("squared-exponential", None),
        "matern" => ("matern", Some(&mut table.nu)),
        "rq" | "rational-quadratic" => ("rational-quadratic", Some(&mut table.alpha)),
        _ => return Ok(table),
    };
    if let (Some(shape), Some(own)) = (shape, own)
        && own.replace(shape).is_some_and(|said| said != shape)
    {
        let found = format!("\"{}\" beside another number", table.name);
        return Err(Fault::new(
            &["kernel", "name"],
            SpecProblem::Requirement { found, requirement: "the number once, in the name or by its key" },
        ));
    }
    full.clone_into(&mut table.name);
    Ok(table)
}

/// Options that belong to another kernel are mistakes, not decoration.
fn check_options(table: &KernelTable) -> Result<(), Fault> {
    let owners = [
        ("nu", table.nu, "matern"),
        ("alpha", table.alpha, "rational-quadratic"),
        ("period", table.period, "periodic"),
        ("offset", table.offset, "linear"),
    ];
    match owners.iter().find(|(_, value, owner)| value.is_some() && *owner != table.name) {
        Some((key, _, owner)) => {
            let requirement =
                "an option of this kernel (nu belongs to matern, alpha to rational-quadratic, period to periodic, offset to linear)";
            Err(Fault::new(&["kernel", key], SpecProblem::Requirement { found: format!("{key}, which belongs to {owner}"), requirement }))
        }
        None => Ok(()),
    }
}

/// One length-scale for each parameter, in shares of its range.
fn lengthscales(table: &KernelTable, space: &Space) -> Result<Vec<f64>, Fault> {
    let parameters = space.parameters();
    let at = |problem| Fault::new(&["kernel", "lengthscale"], problem);
    let lengths = match &table.lengthscale {
        PlainOr::Plain(OneOrMany::One(length)) => vec![*length; parameters.len()],
        PlainOr::Plain(OneOrMany::Many(lengths)) if lengths.len() == parameters.len() => lengths.clone(),
        PlainOr::Plain(OneOrMany::Many(lengths)) => {
            return Err(at(SpecProblem::Requirement {
                found: format!("{} numbers", lengths.len()),
                requirement: "one for all parameters or one for each",
            }));
        }
        PlainOr::Table(named) => by_name(named, space).map_err(at)?,
    };
    if table.natural != Some(true) {
        return Ok(lengths);
    }
    let share = |(parameter, length): (&crate::Parameter, f64)| match parameter.kind {
        ParameterKind::Float { low, high, log: false } | ParameterKind::Column { low, high } if high > low => Ok(length / (high - low)),
        ParameterKind::Int { low, high, step, log: false } if high > low => {
            let top = (high.abs_diff(low) / step.max(1) * step) as f64;
            Ok(length / top.max(1.0))
        }
        ParameterKind::Categorical { .. } | ParameterKind::Column { .. } | ParameterKind::Int { log: false, .. } => Ok(length),
        _ => Err(Fault::new(
            &["kernel", "natural"],
            SpecProblem::Requirement {
                found: format!("the parameter \"{}\"", parameter.name),
                requirement: "a linear scale: give length-scales of logarithmic and ordinal parameters in shares of the range",
            },
        )),
    };
    parameters.iter().zip(lengths).map(share).collect()
}

fn by_name(named: &BTreeMap<String, f64>, space: &Space) -> Result<Vec<f64>, SpecProblem> {
    let names: Vec<&str> = space.parameters().iter().map(|p| p.name.as_str()).collect();
    if let Some(stranger) = named.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(SpecProblem::unknown("parameter", stranger, &names));
    }
    let missing = SpecProblem::Missing { what: "a length-scale", remedy: "name every parameter in the table, or give one number for all" };
    names.iter().map(|&name| named.get(name).copied()).collect::<Option<_>>().ok_or(missing)
}
