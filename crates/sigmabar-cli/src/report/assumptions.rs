//! What a claim rests on, in words.

use crate::plot::{Relevance, number};
use sigmabar::{Kernel, Problem, Source, SourcedKernel};

/// The kernel in a few words.
pub(super) fn kernel_words(kernel: &Kernel) -> String {
    let family = |kernel: &Kernel| match kernel {
        Kernel::SquaredExponential(_) => "squared exponential".to_owned(),
        Kernel::Matern(matern) => format!("Matérn with ν = {}", number(matern.nu())),
        Kernel::RationalQuadratic(_) => "rational quadratic".to_owned(),
        Kernel::Periodic(_) => "periodic".to_owned(),
        Kernel::Linear(_) => "linear".to_owned(),
        Kernel::Hamming(_) => "Hamming (categories)".to_owned(),
        Kernel::Sum(parts) => parts.iter().map(kernel_words).collect::<Vec<_>>().join(" + "),
        Kernel::Product(parts) => parts.iter().map(kernel_words).collect::<Vec<_>>().join(" × "),
        Kernel::Columns { columns, kernel } => format!("{} on columns {columns:?}", kernel_words(kernel)),
        _ => "of another kind".to_owned(),
    };
    let nested = matches!(kernel, Kernel::Sum(_) | Kernel::Product(_) | Kernel::Columns { .. });
    let parameters: Vec<String> = kernel.parameters().iter().map(|p| format!("{} {}", p.name, number(p.value))).collect();
    if nested { format!("({})", family(kernel)) } else { format!("{}, {}", family(kernel), parameters.join(", ")) }
}

/// Where a kernel came from, as the end of "length-scales …".
pub(super) fn source_words(source: Source) -> &'static str {
    match source {
        Source::Declared => "were declared before the data",
        Source::LearntBefore => "were learnt from earlier measurements",
        Source::LearntHere => "were learnt from these measurements",
        _ => "come from elsewhere",
    }
}

/// What was declared, as sentences.
pub(super) fn declared(problem: &Problem) -> Vec<String> {
    let mut list = Vec::new();
    match problem.kernel() {
        Some(SourcedKernel { kernel, .. }) => list.push(format!("Kernel: {}.", kernel_words(kernel))),
        None => list.push("Kernel: not given; learnt from the measurements where the strategy needs one.".to_owned()),
    }
    match problem.norm_bound() {
        Some(bound) => {
            list.push(format!("Norm bound: the norm of the function minus its prior mean is at most {} under that kernel.", number(bound)))
        }
        None => list.push("Norm bound: not given.".to_owned()),
    }
    match problem.noise() {
        Some(noise) => list.push(format!("Noise: independent, mean zero; {noise}, in units of {}.", number(problem.prior().unit()))),
        None => list.push("Noise: not given; estimated where the strategy needs it.".to_owned()),
    }
    list.push(format!(
        "Prior mean {} and unit {}, declared before the data.",
        number(problem.prior().mean()),
        number(problem.prior().unit())
    ));
    list.push(format!("All claims of the run together may be wrong with probability at most {} (delta).", number(problem.delta())));
    if problem.informative_failures() {
        list.push("Whether a measurement fails says something about its value (declared): lost points weaken the label.".to_owned());
    }
    list
}

/// How a kernel sees each column: the shortest of its length-scales there. Columns that no part sees by a length-scale are left out.
pub(super) fn relevances(kernel: &Kernel, names: &[(String, std::ops::Range<usize>)], range: impl Fn(usize) -> f64) -> Vec<Relevance> {
    let shortest = |column: usize| lengths(kernel, column).into_iter().fold(f64::INFINITY, f64::min);
    let one = |(name, columns): &(String, std::ops::Range<usize>)| {
        let (column, lengthscale) = columns.clone().map(|c| (c, shortest(c))).min_by(|a, b| a.1.total_cmp(&b.1))?;
        lengthscale.is_finite().then(|| Relevance { parameter: name.clone(), lengthscale, range: range(column) })
    };
    names.iter().filter_map(one).collect()
}

fn lengths(kernel: &Kernel, column: usize) -> Vec<f64> {
    match kernel {
        Kernel::SquaredExponential(k) => vec![k.lengthscale().get(column)],
        Kernel::Matern(k) => vec![k.lengthscale().get(column)],
        Kernel::RationalQuadratic(k) => vec![k.lengthscale().get(column)],
        Kernel::Periodic(k) => vec![k.lengthscale().get(column)],
        Kernel::Linear(k) => vec![k.lengthscale().get(column)],
        Kernel::Hamming(k) => vec![k.lengthscale().get(column)],
        Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().flat_map(|part| lengths(part, column)).collect(),
        Kernel::Columns { columns, kernel } => {
            columns.iter().position(|c| *c == column).map_or_else(Vec::new, |inner| lengths(kernel, inner))
        }
        _ => Vec::new(),
    }
}
