//! What a claim rests on, in words.

use crate::plot::number;
use sigmabar::strategy::{Assumed, Failures, Quantity};
use sigmabar::{Certificate, Kernel, Origin, Problem, Sourced};

/// The kernel in a few words; `names` are those of its columns.
pub(super) fn kernel_words(kernel: &Kernel, names: &[String]) -> String {
    let part = |kernel: &Kernel| kernel_words(kernel, names);
    let family = match kernel {
        Kernel::Sum(parts) => return parts.iter().map(part).collect::<Vec<_>>().join(" + "),
        Kernel::Product(parts) => return parts.iter().map(part).collect::<Vec<_>>().join(" × "),
        Kernel::Columns { columns, kernel } => {
            let seen: Vec<String> = columns.iter().map(|&c| names.get(c).cloned().unwrap_or_else(|| format!("column {}", c + 1))).collect();
            let mut named = seen.clone();
            named.dedup();
            return format!("{} of {}", kernel_words(kernel, &seen), named.join(", "));
        }
        Kernel::SquaredExponential(_) => "squared exponential".to_owned(),
        Kernel::Matern(matern) => format!("Matérn with ν = {}", number(matern.nu())),
        Kernel::RationalQuadratic(_) => "rational quadratic".to_owned(),
        Kernel::Periodic(_) => "periodic".to_owned(),
        Kernel::Linear(_) => "linear".to_owned(),
        Kernel::Hamming(_) => "Hamming".to_owned(),
        _ => "of another kind".to_owned(),
    };
    let is_length = |p: &&sigmabar::kernel::Parameter| p.name.starts_with("lengthscale");
    let parameters = kernel.parameters();
    let lengths: Vec<String> = parameters.iter().filter(is_length).map(|p| number(p.value)).collect();
    let others: Vec<String> = parameters.iter().filter(|p| !is_length(p)).map(|p| format!("{} {}", p.name, number(p.value))).collect();
    format!("{family} (length-scale {}; {})", lengths.join(", "), others.join(", "))
}

/// Where a kernel came from, as the end of "length-scales …".
pub(super) fn source_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Declared => "were declared before the data",
        Origin::LearntElsewhere => "were learnt from earlier measurements",
        Origin::LearntHere => "were learnt from these measurements",
        _ => "come from elsewhere",
    }
}

/// What was declared, as sentences.
pub(super) fn declared(problem: &Problem, certificate: Option<&Certificate>, names: &[String]) -> Vec<String> {
    let mut list = Vec::new();
    match problem.kernel() {
        Some(Sourced { value: kernel, .. }) => list.push(format!("Kernel: {}.", kernel_words(kernel, names))),
        None => list.push("Kernel: not given; learnt from the measurements where the strategy needs one.".to_owned()),
    }
    match problem.norm_bound() {
        Some(bound) => {
            list.push(format!("Norm bound: the norm of the function minus its prior mean is at most {} under that kernel.", number(bound)))
        }
        None => list.push("Norm bound: not given.".to_owned()),
    }
    // Where replicates bound the level, that is what the claim rests on, not the guess that planned them.
    match (certificate.and_then(|c| c.premises.level), problem.noise()) {
        (Some(bound), _) => list.push(format!(
            "Noise: independent, mean zero, normal, of one unknown level; at most {} by replicates with {} degrees of freedom, in units of {}.",
            number(bound.level),
            bound.freedom,
            number(problem.prior().unit())
        )),
        (None, Some(noise)) if problem.unknown_level().is_some() => list.push(format!(
            "Noise: independent, mean zero, normal, of one unknown level; {} was guessed to plan with, in units of {}, and nothing rests on it.",
            number(noise.std_dev_bound()),
            number(problem.prior().unit())
        )),
        (None, Some(noise)) => list.push(format!("Noise: independent, mean zero; {noise}, in units of {}.", number(problem.prior().unit()))),
        (None, None) => list.push("Noise: not given; estimated where the strategy needs it.".to_owned()),
    }
    let source = source_words(problem.prior().origin());
    list.push(format!("Prior mean {} and unit {} {source}.", number(problem.prior().mean()), number(problem.prior().unit())));
    list.push(format!("All claims of the run together may be wrong with probability at most {} (delta).", number(problem.delta())));
    list.push(match problem.failures() {
        Failures::Unrelated => "A lost measurement says nothing about its value (declared).".to_owned(),
        Failures::Informative => {
            "A lost measurement says something about its value (declared): after one, claims are estimates.".to_owned()
        }
        _ => "What a lost measurement says about its value was not declared: after one, claims are estimates.".to_owned(),
    });
    list
}

/// What the automatic strategy went by after its last batch, as sentences: given or estimated, and with which safety.
pub(super) fn assumed(assumed: &Assumed, names: &[String]) -> Vec<String> {
    let words = |quantity: Quantity| match quantity {
        Quantity::Given(value) => format!("{}, as given", number(value)),
        Quantity::Estimated { value, safety } => {
            format!("{}, estimated from these measurements with a safety factor of {}", number(value), number(safety))
        }
        other => number(other.value()),
    };
    let agreed = if assumed.least_norm.is_some() {
        "The last batch contradicts what was assumed before it."
    } else {
        "The last batch agrees with what was assumed before it."
    };
    vec![
        format!("Kernel: {}; its parameters {}.", kernel_words(&assumed.kernel.value, names), source_words(assumed.kernel.origin)),
        format!("Norm bound: {}.", words(assumed.norm_bound)),
        format!("Noise level: {}.", words(assumed.noise)),
        "These are on the model's scale: values centred and scaled by what was measured.".to_owned(),
        agreed.to_owned(),
    ]
}
