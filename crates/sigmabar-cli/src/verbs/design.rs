//! `sigmabar design SPACE --count n`: where to measure to know the function everywhere.

use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::Console;
use crate::data::{Categories, Frame, Options, Reader, Selection, Wanted};
use crate::failure::{Ending, Failure};
use crate::kernels::{Family, described};
use crate::memory;
use crate::output::{self, Over};
use crate::quantity::{above_zero, positive, short};
use crate::sheet::Sheet;
use serde_json::{Value, json};
use sigmabar::certificate::Certificate;
use sigmabar::design::{Design, DictionarySize, MaxVariance};
use sigmabar::{Claim, Kernel, Noise, Origin, Points, Prior, Sourced};
use sigmabar_study::StudySpec;
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A study file (.toml, .json) or a table of candidates
    space: PathBuf,
    /// How many settings to choose
    #[arg(long, short = 'n', value_name = "N", value_parser = positive)]
    count: usize,
    /// Kernel of a table of candidates (a study has its own): se, matern-NU or rq-ALPHA
    #[arg(long)]
    kernel: Option<Family>,
    /// Its length-scale, or one for each column; a third of each column's range unless given
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    lengthscale: Option<Vec<f64>>,
    /// Its variance
    #[arg(long)]
    variance: Option<f64>,
    /// Ridge; the study's, else a tenth of the root of the variance
    #[arg(long)]
    tau: Option<f64>,
    /// Bound on the function's norm, for what the plan guarantees
    #[arg(long, value_name = "C")]
    norm_bound: Option<f64>,
    /// Noise of a measurement, for what the plan guarantees: a level (sub-Gaussian), gaussian:SD, bounded:A or light-tailed:XI0:H0
    #[arg(long, value_parser = crate::kernels::noise)]
    noise: Option<Noise>,
    /// Error that is wanted, in the unit of the results: where the plan reaches it, up to which norm and noise it does is said
    #[arg(long, value_name = "E", allow_hyphen_values = true, value_parser = above_zero)]
    error: Option<f64>,
    /// Miss probability of the guarantee
    #[arg(long)]
    delta: Option<f64>,
    /// Candidates that stand for a continuous space
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    candidates: usize,
    /// Write CSV to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "out")]
    force: bool,
}

/// Candidates with what is assumed about the function.
struct Ground {
    names: Vec<String>,
    /// As the kernel sees them.
    points: Points,
    kernel: Sourced<Kernel>,
    ridge: f64,
    norm_bound: Option<Sourced<f64>>,
    noise: Option<Sourced<Noise>>,
    delta: f64,
    /// Its unit is what the model's 1 is of the response.
    prior: Prior,
    spec: Option<StudySpec>,
    is_whole: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    if let Some(path) = &arguments.out {
        output::check_writable(path, &[&arguments.space], Over::by(arguments.force))?;
    }
    let ground = if crate::which_study::is_spec(&arguments.space) {
        Ground::of_study(arguments, global.seed)?
    } else {
        Ground::of_table(arguments, console)?
    };
    let spinner = console.progress("choosing", None);
    let design = MaxVariance::growing(ground.kernel.clone(), ground.ridge, DictionarySize::at_most(1000))?
        .choose(ground.points.view(), arguments.count)?;
    spinner.finish_and_clear();
    let (sheet, certificate) = (ground.sheet(&design), ground.certificate(&design, arguments.error)?);
    match &arguments.out {
        None if console.format(Format::Csv) == Format::Json => {
            let (rows, std) = (sheet.objects().collect::<Value>(), ground.unit() * design.max_std());
            let (label, error) = (certificate.as_ref().map(Certificate::label), certificate.as_ref().and_then(|c| ground.error(c)));
            let document = json!({ "rows": rows, "std": std, "error": error, "label": label, "certificate": certificate });
            console.answer(format_args!("{document:#}"))?;
        }
        None => console.sheet(&sheet, Format::Csv)?,
        Some(path) => {
            output::write_table(path, &[&arguments.space], Over::by(arguments.force), &sheet)?;
            console.say(format_args!("wrote {} settings to {}", sheet.rows.len(), path.display()));
        }
    }
    ground.say_guarantee(&design, (certificate.as_ref(), arguments.error), console);
    console.next("measure them, add a column of results, then: sigmabar fit FILE --target COLUMN");
    Ok(Ending::Done)
}

impl Ground {
    fn of_study(arguments: &Arguments, seed: Option<u64>) -> Outcome<Self> {
        if arguments.kernel.is_some() {
            return Err(Failure::usage(
                "--kernel does not go with a study",
                "declare the kernel in the study file, or give a table of candidates",
            ));
        }
        let spec = StudySpec::read(&arguments.space)?;
        let problem = spec.problem();
        let domain = problem.domain();
        let candidates = domain.candidates(arguments.candidates, seed.unwrap_or(problem.seed()))?;
        let is_whole = domain.size().is_some_and(|size| size == candidates.len() as u128);
        let points = candidates.range(0, candidates.len())?;
        let declared = problem.kernel().cloned().filter(|_| arguments.lengthscale.is_none());
        let kernel = match declared {
            Some(kernel) => kernel,
            None => {
                let lengths = lengths(arguments, &points);
                // A family that nobody named is a guess, however well its length-scale is known.
                Sourced::new(domain.default_kernel(lengths.value, arguments.variance.unwrap_or(1.0))?, Origin::Estimated)
            }
        };
        let names = spec.space().names().collect();
        if arguments.norm_bound.is_some() && problem.lengthscales().is_some() {
            let remedy = "declare it as norm_bound there: it grows with the length-scales that are possible";
            return Err(Failure::usage("--norm-bound does not go with a study whose length-scales are \"at least\"", remedy));
        }
        // The norm of the study is one under its kernel, and says nothing under another.
        let norm_bound = arguments.norm_bound.map(Sourced::from);
        let norm_bound = norm_bound.or(problem.sourced_norm_bound().filter(|_| arguments.lengthscale.is_none()));
        // A level that nobody knows was guessed to plan with: nothing is said of it.
        let known = problem.sourced_noise().filter(|_| problem.unknown_level().is_none());
        let noise = arguments.noise.clone().map(Sourced::from).or_else(|| known.cloned());
        let delta = arguments.delta.unwrap_or(problem.delta());
        let ridge =
            arguments.tau.or(problem.ridge()).unwrap_or_else(|| usual_ridge(noise.as_ref(), &kernel.value, &points, arguments.count));
        let prior = problem.prior();
        Ok(Self { names, points, kernel, ridge, norm_bound, noise, delta, prior, is_whole, spec: Some(spec) })
    }

    fn of_table(arguments: &Arguments, console: &Console) -> Outcome<Self> {
        let selection = Selection {
            wanted: Wanted::AllBut(Vec::new()),
            categories: Categories::Collected(Vec::new()),
            memory: memory::available(),
            options: Options::None,
            drop_missing: false,
        };
        let frame = Frame::read(Reader::open(&arguments.space)?, &selection)?;
        console.say_decimal_commas(&frame.file, frame.has_decimal_commas);
        console.warn_cut(&frame.cut);
        let points = Points::new(frame.values, frame.columns.len())?;
        let lengths = lengths(arguments, &points);
        let family = arguments.kernel.unwrap_or(Family::Matern(2.5));
        let kernel = family.kernel(&lengths.value, arguments.variance.unwrap_or(1.0), &frame.columns)?;
        // A family that nobody named is a guess, however well its length-scale is known.
        let kernel = Sourced::new(kernel, if arguments.kernel.is_some() { lengths.origin } else { Origin::Estimated });
        let names = frame.columns.into_iter().map(|column| column.name).collect();
        let (noise, delta) = (arguments.noise.clone().map(Sourced::from), arguments.delta.unwrap_or(0.05));
        let ridge = arguments.tau.unwrap_or_else(|| usual_ridge(noise.as_ref(), &kernel.value, &points, arguments.count));
        let (norm_bound, prior) = (arguments.norm_bound.map(Sourced::from), Prior::ZERO);
        Ok(Self { names, points, kernel, ridge, norm_bound, noise, delta, prior, is_whole: true, spec: None })
    }

    fn unit(&self) -> f64 {
        self.prior.unit()
    }

    fn sheet(&self, design: &Design) -> Sheet {
        let mut sheet = Sheet::new(self.names.clone());
        for point in design.points().rows() {
            sheet.rows.push(match &self.spec {
                Some(spec) => spec.space().values(point).iter().map(|value| json!(value)).collect(),
                None => point.iter().map(|value| Value::from(*value)).collect(),
            });
        }
        sheet
    }

    /// What the plan guarantees; none without a norm bound and noise.
    fn certificate(&self, design: &Design, wanted: Option<f64>) -> Outcome<Option<Certificate>> {
        let (Some(bound), Some(noise)) = (self.norm_bound, &self.noise) else { return Ok(None) };
        let claim = Claim::new(self.delta)?.norm_bound(bound)?.noise(noise.clone());
        let mut certificate = match wanted {
            Some(wanted) => design.uniform_error_wanted(&claim, wanted / self.unit())?.certificate,
            None => design.uniform_error(&claim)?.certificate,
        };
        // Designs know no unit, and a claim no length-scales that are "at least": norms are said as they were declared.
        certificate.premises.prior = Sourced::new(self.prior, self.prior.origin());
        let lengthscales = self.spec.as_ref().and_then(|spec| spec.problem().lengthscales());
        certificate.premises.lengthscales = lengthscales.map(|lengthscales| Sourced::new(lengthscales.clone(), self.kernel.origin));
        Ok(Some(certificate))
    }

    /// The bound on the error, in the unit of the results.
    fn error(&self, certificate: &Certificate) -> Option<f64> {
        certificate.range.and_then(|range| range.in_unit(self.unit()).claimed)
    }

    fn say_guarantee(&self, design: &Design, (certificate, wanted): (Option<&Certificate>, Option<f64>), console: &Console) {
        let (count, all) = (design.indices().len(), self.points.len());
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        console.say(format_args!("kernel: {}; ridge {}", described(&self.kernel.value, &names), short(self.ridge)));
        console.say(format_args!(
            "after {count} measurements the standard deviation is at most {} at all {all} candidates",
            short(self.unit() * design.max_std())
        ));
        console.detail(format_args!("before any was chosen, {} could be promised", short(self.unit() * design.variance_bound().sqrt())));
        match certificate {
            Some(certificate) => self.say_error(certificate, wanted, console),
            None if wanted.is_some() => {
                console.warn("nothing is said about the error that is wanted: that takes --norm-bound C and --noise R")
            }
            None => console.say("with --norm-bound C and --noise R this becomes a bound on the error"),
        }
        if !self.is_whole {
            console.say(format_args!("the candidates stand for a continuous space: the bounds are about these {all} points"));
        }
    }

    fn say_error(&self, certificate: &Certificate, wanted: Option<f64>, console: &Console) {
        let (Some(range), Some(bound), Some(noise)) = (certificate.range, self.norm_bound, &self.noise) else { return };
        // As the range says them: the norm as it was declared, the noise in the scale of the results.
        let bound = certificate.premises.lengthscales.as_ref().map_or(bound.value, |lengthscales| lengthscales.value.norm_bound);
        let noise = noise.value.in_unit(self.unit().recip()).unwrap_or_else(|_| noise.value.clone());
        console.say(format_args!(
            "{}: the middle of its interval is within {} of the function at all candidates at once, with probability {} (norm at most {bound}, {noise})",
            certificate.label_in_words(),
            self.error(certificate).map_or_else(String::new, short),
            1.0 - self.delta
        ));
        if let Some(wanted) = wanted.filter(|_| range.wanted.is_none()) {
            console.warn(format_args!("the error that is wanted, {wanted}, is not reached: choose more settings (--count)"));
        }
        let mut in_unit = certificate.clone();
        in_unit.range = Some(range.in_unit(self.unit()));
        in_unit.stands().iter().for_each(|stands| console.say(stands));
        for weak in certificate.weak_premises() {
            console.say(format_args!("why it is not certified: {weak}"));
        }
    }
}

/// The ridge that serves the noise, else a tenth of the largest deviation of the prior.
fn usual_ridge(noise: Option<&Sourced<Noise>>, kernel: &Kernel, points: &Points, count: usize) -> f64 {
    let largest = kernel.max_diagonal(points.view());
    noise.map_or_else(|| 0.1 * largest.sqrt(), |noise| noise.value.usual_ridge(largest, count))
}

/// The length-scales as declared, or a guess.
fn lengths(arguments: &Arguments, points: &Points) -> Sourced<Vec<f64>> {
    match &arguments.lengthscale {
        Some(lengths) => lengths.into(),
        None => Sourced::new(thirds(points), Origin::Estimated),
    }
}

/// A third of the range of each column, 1 where it does not vary.
fn thirds(points: &Points) -> Vec<f64> {
    (0..points.dim())
        .map(|column| {
            let (low, high) =
                points.view().rows().fold((f64::MAX, f64::MIN), |(low, high), row| (low.min(row[column]), high.max(row[column])));
            if high > low { (high - low) / 3.0 } else { 1.0 }
        })
        .collect()
}
