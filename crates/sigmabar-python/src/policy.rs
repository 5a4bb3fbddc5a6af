//! Strategies by their names, with their options.

use crate::arrays::Rows;
use crate::error::{raise, unknown};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sigmabar::{
    AdaBkb, Auto, BatchRule, Bbkb, Bkb, BkbWidth, Bpe, BpeSchedule, BpeWidth, DecoupledThompson, EkUcb, ExpectedImprovement, GpThreds,
    GpUcb, LargestVariance, MetaIndex, MiniMeta, Policy, ProbabilityOfImprovement, Random, Rips, Rules, SampleScale, Sbpe, Schedule,
    Sequential, Sobol, SupKernelUcb, SupWidth, ThompsonSampling, UcbWidth,
};

const NAMES: [&str; 18] = [
    "s-bpe",
    "bpe",
    "gp-ucb",
    "ei",
    "pi",
    "gp-ts",
    "s-gp-ts",
    "bkb",
    "bbkb",
    "mini-meta",
    "ada-bkb",
    "gp-threds",
    "rips",
    "supkernelucb",
    "ek-ucb",
    "max-variance",
    "random",
    "sobol",
];

const UNCOUNTED: &str = "even_batches=True needs the number of batches: give it as batches";

/// Batch lengths: a number of batches, or the lengths themselves.
#[derive(FromPyObject)]
enum Batches {
    Count(usize),
    Lengths(Vec<usize>),
}

/// The options of one strategy, each taken once: what is left over was not known.
struct Options<'py> {
    of: String,
    left: Bound<'py, PyDict>,
    taken: Vec<&'static str>,
}

impl<'py> Options<'py> {
    fn take<T>(&mut self, name: &'static str) -> PyResult<Option<T>>
    where
        T: FromPyObjectOwned<'py>,
    {
        self.taken.push(name);
        let Some(value) = self.left.get_item(name)?.filter(|value| !value.is_none()) else {
            let _ = self.left.del_item(name);
            return Ok(None);
        };
        self.left.del_item(name)?;
        value.extract().map(Some).map_err(|error| {
            let error: PyErr = T::Error::into(error);
            raise(format!("option {name} of strategy \"{}\": {error}", self.of))
        })
    }

    fn finish(self) -> PyResult<()> {
        match self.left.keys().get_item(0) {
            Err(_) => Ok(()),
            Ok(_) if self.taken.is_empty() => Err(raise(format!("strategy \"{}\" takes no options", self.of))),
            Ok(first) => Err(unknown(&format!("option of strategy \"{}\"", self.of), &first.to_string(), &self.taken)),
        }
    }

    fn sequential(&mut self) -> PyResult<Sequential> {
        let mut how = Sequential::default();
        if let Some(length) = self.take("batch_size")? {
            how = how.with_batch_len(length);
        }
        if let Some(candidates) = self.take("candidates")? {
            how = how.with_box_candidates(candidates);
        }
        Ok(how)
    }
}

/// The policy of that name in that mode.
pub fn policy(name: &str, mode: &str, options: &Bound<'_, PyDict>) -> PyResult<Policy> {
    let rules = match mode {
        "certified" | "auto" => Rules::Certified,
        "paper" => Rules::Paper,
        other => return Err(unknown("mode", other, &["certified", "paper", "auto"])),
    };
    if mode != "certified" && name != "s-bpe" {
        return Err(raise(format!("mode \"{mode}\" belongs to strategy \"s-bpe\"; \"{name}\" has one mode, \"certified\" by name only")));
    }
    let mut options = Options { of: name.to_owned(), left: options.copy()?, taken: Vec::new() };
    let chosen = match name {
        "s-bpe" if mode == "auto" => auto(&mut options)?,
        "s-bpe" => sbpe(rules, &mut options)?,
        "bpe" => bpe(&mut options)?,
        "gp-threds" => threds(&mut options)?,
        "ek-ucb" => ek_ucb(&mut options)?,
        "ada-bkb" => ada_bkb(&mut options)?,
        "bbkb" => bbkb(&mut options)?,
        "random" => Policy::Random(Random::default()),
        "sobol" => Policy::Sobol(Sobol::default()),
        _ => sequential(name, &mut options)?,
    };
    options.finish()?;
    Ok(chosen)
}

fn auto(options: &mut Options<'_>) -> PyResult<Policy> {
    match options.take::<Batches>("batches")? {
        None => Ok(Policy::Auto(Auto::default())),
        Some(Batches::Count(count)) => Auto::new(count).map(Policy::Auto).map_err(raise),
        Some(Batches::Lengths(_)) => Err(raise("mode \"auto\" makes equal batches: give their number")),
    }
}

fn sbpe(rules: Rules, options: &mut Options<'_>) -> PyResult<Policy> {
    let mut sbpe = Sbpe::new(rules);
    let even = options.take::<bool>("even_batches")?.unwrap_or(false);
    sbpe = match options.take::<Batches>("batches")? {
        None | Some(Batches::Lengths(_)) if even => return Err(raise(UNCOUNTED)),
        None => sbpe,
        Some(Batches::Count(count)) if even => sbpe.with_schedule(Schedule::Even(count)),
        Some(Batches::Count(count)) => sbpe.with_schedule(Schedule::Growing(count)),
        Some(Batches::Lengths(lengths)) => sbpe.with_schedule(Schedule::Lengths(lengths)),
    };
    if let Some(size) = options.take("max_inducing")? {
        sbpe = sbpe.with_max_inducing(size).map_err(raise)?;
    }
    if let Some(candidates) = options.take("candidates")? {
        sbpe = sbpe.with_candidates(candidates).map_err(raise)?;
    }
    if let Some(cells) = options.take("max_cells")? {
        sbpe = sbpe.with_max_cells(cells).map_err(raise)?;
    }
    if let Some(share) = options.take("share")? {
        sbpe = sbpe.with_share(share).map_err(raise)?;
    }
    if options.take::<bool>("simulated_quantiles")?.unwrap_or(false) {
        sbpe = sbpe.with_simulated_quantiles();
    }
    Ok(Policy::Sbpe(Box::new(sbpe)))
}

fn bpe(options: &mut Options<'_>) -> PyResult<Policy> {
    let even = options.take::<bool>("even_batches")?.unwrap_or(false);
    let schedule = match options.take::<usize>("batches")? {
        None if even => return Err(raise(UNCOUNTED)),
        None => BpeSchedule::Recursion,
        Some(count) if even => BpeSchedule::Even(count),
        Some(count) => BpeSchedule::Growing(count),
    };
    let width = options.take("width")?.map_or(BpeWidth::Theory, BpeWidth::Constant);
    let mut how = Sequential::default();
    if let Some(candidates) = options.take("candidates")? {
        how = how.with_box_candidates(candidates);
    }
    let bpe = Bpe::new(schedule, width).with_sequential(how);
    Ok(Policy::Bpe(if options.take::<bool>("keep_data")?.unwrap_or(false) { bpe.keeping_data() } else { bpe }))
}

fn threds(options: &mut Options<'_>) -> PyResult<Policy> {
    let Some((low, high)) = options.take::<(f64, f64)>("interval")? else {
        return Err(raise("strategy \"gp-threds\" needs interval=(low, high): where the maximum of the function lies"));
    };
    let mut threds = GpThreds::new(low, high).map_err(raise)?;
    if let Some((c1, c2)) = options.take("slack")? {
        threds = threds.with_slack(c1, c2);
    }
    if let Some(cap) = options.take("cap")? {
        threds = threds.with_cap(cap);
    }
    if let Some(per_side) = options.take("grid")? {
        threds = threds.with_grid(per_side);
    }
    Ok(Policy::GpThreds(threds))
}

fn ek_ucb(options: &mut Options<'_>) -> PyResult<Policy> {
    let Some(actions) = options.take::<Rows>("actions")? else {
        return Err(raise("strategy \"ek-ucb\" needs actions=array: the actions to choose among for each context"));
    };
    let mut policy = EkUcb::new(actions.to_points().map_err(raise)?);
    if let Some(width) = options.take("width")? {
        policy = policy.with_factor(width);
    }
    if let Some(oversampling) = options.take("oversampling")? {
        policy = policy.with_oversampling(oversampling);
    }
    Ok(Policy::EkUcb(policy))
}

fn ada_bkb(options: &mut Options<'_>) -> PyResult<Policy> {
    let mut policy = AdaBkb::new(options.take("width")?.map_or(BkbWidth::default(), BkbWidth::Constant));
    if let Some(oversampling) = options.take("oversampling")? {
        policy = policy.with_oversampling(oversampling);
    }
    if let Some((level, cells)) = options.take("limits")? {
        policy = policy.with_limits(level, cells);
    }
    Ok(Policy::AdaBkb(policy))
}

/// Those that look at every value before the next choice.
fn sequential(name: &str, options: &mut Options<'_>) -> PyResult<Policy> {
    let how = options.sequential()?;
    Ok(match name {
        "gp-ucb" => {
            let width = options.take("width")?.map_or(UcbWidth::default(), UcbWidth::Constant);
            Policy::GpUcb(GpUcb::new(width).with_sequential(how))
        }
        "ei" => {
            let margin = options.take("margin")?.unwrap_or(0.0);
            Policy::ExpectedImprovement(ExpectedImprovement::default().with_margin(margin).with_sequential(how))
        }
        "pi" => {
            let policy = ProbabilityOfImprovement::default().with_sequential(how);
            Policy::ProbabilityOfImprovement(match options.take("margin")? {
                Some(margin) => policy.with_margin(margin),
                None => policy,
            })
        }
        "gp-ts" => {
            let scale = options.take("width")?.map_or(SampleScale::default(), SampleScale::Constant);
            Policy::ThompsonSampling(ThompsonSampling::new(scale).with_sequential(how))
        }
        "s-gp-ts" => {
            let sizes = (options.take("features")?, options.take("max_inducing")?);
            let policy = match sizes {
                (None, None) => DecoupledThompson::default(),
                (features, inducing) => DecoupledThompson::new(features.unwrap_or(1024), inducing.unwrap_or(128)).map_err(raise)?,
            };
            Policy::DecoupledThompson(policy.with_sequential(how))
        }
        "bkb" => {
            let width = options.take("width")?.map_or(BkbWidth::default(), BkbWidth::Constant);
            let policy = Bkb::new(width).with_sequential(how);
            Policy::Bkb(match options.take("oversampling")? {
                Some(oversampling) => policy.with_oversampling(oversampling),
                None => policy,
            })
        }
        "mini-meta" => {
            let policy = match options.take("growth")? {
                Some(growth) => MiniMeta::new(MetaIndex::default(), growth).map_err(raise)?,
                None => MiniMeta::default(),
            };
            Policy::MiniMeta(policy.with_sequential(how))
        }
        "rips" => {
            let policy = Rips::default().with_sequential(how);
            Policy::Rips(match options.take("effort")? {
                Some(effort) => policy.with_effort(effort),
                None => policy,
            })
        }
        "supkernelucb" => {
            let width = options.take("width")?.map_or(SupWidth::default(), SupWidth::Constant);
            Policy::SupKernelUcb(SupKernelUcb::new(width).with_sequential(how))
        }
        "max-variance" => Policy::LargestVariance(LargestVariance::default().with_sequential(how)),
        other => return Err(unknown("strategy", other, &NAMES)),
    })
}

fn bbkb(options: &mut Options<'_>) -> PyResult<Policy> {
    let growth = options.take("growth")?;
    let rule = match options.take::<String>("rule")?.as_deref() {
        None => None,
        Some("global") => Some(BatchRule::Global),
        Some("local") => Some(BatchRule::Local),
        Some(other) => return Err(unknown("rule", other, &["global", "local"])),
    };
    Ok(Policy::Bbkb(match (rule, growth) {
        (None, None) => Bbkb::default(),
        (rule, growth) => Bbkb::new(rule.unwrap_or_default(), growth.unwrap_or(2.0)).map_err(raise)?,
    }))
}
