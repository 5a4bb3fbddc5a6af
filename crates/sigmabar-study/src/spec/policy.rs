//! The strategy: by its name, its mode or what is known, with its options.

use super::file::{Mode, StudyFile};
use super::schedule::{Batches, Plan};
use super::strategy::{RuleWord, ScheduleWord, StrategyTable, Width};
use super::union::PlainOr;
use super::{Fault, SpecProblem};
use sigmabar::{
    AdaBkb, Auto, BatchRule, Bbkb, BbkbWidth, Bkb, BkbWidth, Bpe, BpeSchedule, BpeWidth, DecoupledThompson, ExpectedImprovement, GpThreds,
    GpUcb, LargestVariance, MetaIndex, MiniMeta, Policy, ProbabilityOfImprovement, Problem, Random, Rips, Rules, SampleScale, Sbpe,
    Schedule, Sequential, Sobol, SupKernelUcb, SupWidth, ThompsonSampling, UcbWidth,
};

/// Every strategy with the options it takes.
const STRATEGIES: [(&str, &[&str]); 18] = [
    ("auto", &[]),
    ("s-bpe", &["schedule", "inducing", "candidates", "cells", "share", "simulated_quantiles"]),
    ("bpe", &["schedule", "width", "keep_data", "candidates"]),
    ("gp-ucb", &["width", "batch_len", "candidates"]),
    ("ei", &["margin", "batch_len", "candidates"]),
    ("pi", &["margin", "batch_len", "candidates"]),
    ("gp-ts", &["width", "batch_len", "candidates"]),
    ("s-gp-ts", &["features", "inducing", "width", "batch_len", "candidates"]),
    ("bkb", &["width", "epsilon", "oversampling", "batch_len", "candidates"]),
    ("bbkb", &["width", "rule", "growth", "oversampling", "candidates"]),
    ("ada-bkb", &["width", "epsilon", "oversampling", "cells"]),
    ("mini-meta", &["width", "growth", "candidates"]),
    ("rips", &["effort", "candidates"]),
    ("supkernelucb", &["width", "candidates"]),
    ("gp-threds", &["interval"]),
    ("max-variance", &["batch_len", "candidates"]),
    ("random", &[]),
    ("sobol", &[]),
];

/// The names of all strategies that a study file may choose.
pub fn strategy_names() -> impl Iterator<Item = &'static str> {
    STRATEGIES.iter().map(|(name, _)| *name)
}

/// The strategy of this name as it is without options; `None` if there is no such one, or if it cannot do without (`gp-threds`).
#[must_use]
pub fn policy_named(name: &str) -> Option<Policy> {
    let table = StrategyTable { name: name.to_owned(), ..StrategyTable::default() };
    check_options(&table).ok()?;
    Maker { table: &table, plan: &Plan { budget: 1, batches: None }, rules: Rules::Certified }.make().ok()
}

/// The core's policy.
pub(super) fn policy(file: &StudyFile, problem: &Problem, plan: &Plan) -> Result<Policy, Fault> {
    let is_known = problem.kernel().is_some() && problem.norm_bound().is_some() && problem.noise().is_some();
    let default = match file.mode {
        Some(Mode::Certified | Mode::Paper) => "s-bpe",
        Some(Mode::Auto) => "auto",
        None if is_known => "s-bpe",
        None => "auto",
    };
    let table = match &file.strategy {
        None => StrategyTable { name: default.into(), ..StrategyTable::default() },
        Some(PlainOr::Plain(name)) => StrategyTable { name: name.clone(), ..StrategyTable::default() },
        Some(PlainOr::Table(table)) => table.clone(),
    };
    let mode_fits = match file.mode {
        Some(Mode::Certified | Mode::Paper) => table.name == "s-bpe",
        Some(Mode::Auto) => table.name == "auto",
        None => true,
    };
    if !mode_fits {
        let remedy = "modes certified and paper are for s-bpe, mode auto is for auto: leave out one of the two";
        return Err(Fault::new(&["mode"], SpecProblem::Conflict { other: "strategy", remedy }));
    }
    check_options(&table)?;
    check_use(file, &table.name)?;
    Maker { table: &table, plan, rules: if file.mode == Some(Mode::Paper) { Rules::Paper } else { Rules::Certified } }.make()
}

fn check_options(table: &StrategyTable) -> Result<(), Fault> {
    if table.name == "ek-ucb" {
        let remedy = "it answers one context after the other, and the trials of a study have no context: take gp-ucb or bkb here, or ek-ucb in Python or Rust";
        return Err(Fault::new(&["strategy"], SpecProblem::Conflict { other: "a study", remedy }));
    }
    let Some((_, options)) = STRATEGIES.iter().find(|(name, _)| *name == table.name) else {
        let names: Vec<&str> = strategy_names().collect();
        return Err(Fault::new(&["strategy", "name"], SpecProblem::unknown("strategy", &table.name, &names)));
    };
    // What is written in the table is what is serialised: options left out are skipped.
    let written = serde_json::to_value(table).unwrap_or_default();
    let stranger = written.as_object().and_then(|map| map.keys().find(|key| *key != "name" && !options.contains(&key.as_str())).cloned());
    stranger.map_or(Ok(()), |key| Err(Fault::new(&["strategy", &key], SpecProblem::unknown("option of this strategy", &key, options))))
}

/// What is said must have an effect: keys that the strategy would pass over are refused.
fn check_use(file: &StudyFile, name: &str) -> Result<(), Fault> {
    if file.stop_when.is_some() && !matches!(name, "auto" | "s-bpe") {
        let remedy = "only auto and s-bpe say how far from the best setting one can still be";
        return Err(Fault::new(&["stop_when"], SpecProblem::Conflict { other: "this strategy", remedy }));
    }
    let has_own_batches = matches!(name, "random" | "sobol" | "bbkb" | "mini-meta" | "rips" | "supkernelucb" | "ada-bkb" | "gp-threds");
    if file.batches.is_some() && has_own_batches {
        let remedy = "it cuts its batches by a rule of its own: leave them out";
        return Err(Fault::new(&["batches"], SpecProblem::Conflict { other: "this strategy", remedy }));
    }
    Ok(())
}

struct Maker<'a> {
    table: &'a StrategyTable,
    plan: &'a Plan,
    rules: Rules,
}

impl Maker<'_> {
    fn make(&self) -> Result<Policy, Fault> {
        let table = self.table;
        let core = Fault::core(&["strategy"]);
        Ok(match table.name.as_str() {
            "auto" => Policy::Auto(match &self.plan.batches {
                None => Auto::default(),
                Some(batches) => Auto::new(self.equal(batches)?).map_err(core)?,
            }),
            "s-bpe" => Policy::Sbpe(Box::new(self.sbpe()?)),
            "bpe" => {
                let bpe = Bpe::new(self.bpe_schedule()?, self.bpe_width()?).with_sequential(self.sequential()?);
                Policy::Bpe(if table.keep_data == Some(true) { bpe.keeping_data() } else { bpe })
            }
            "gp-ucb" => Policy::GpUcb(GpUcb::new(self.ucb_width()?).with_sequential(self.sequential()?)),
            "ei" => Policy::ExpectedImprovement(
                ExpectedImprovement::default().with_margin(table.margin.unwrap_or(0.0)).with_sequential(self.sequential()?),
            ),
            "pi" => Policy::ProbabilityOfImprovement(
                ProbabilityOfImprovement::default().with_margin(table.margin.unwrap_or(0.0)).with_sequential(self.sequential()?),
            ),
            "gp-ts" => Policy::ThompsonSampling(ThompsonSampling::new(self.sample_scale()?).with_sequential(self.sequential()?)),
            "s-gp-ts" => {
                let draws = DecoupledThompson::new(table.features.unwrap_or(1024), table.inducing.unwrap_or(128)).map_err(core)?;
                Policy::DecoupledThompson(draws.with_scale(self.sample_scale()?).with_sequential(self.sequential()?))
            }
            "bkb" => {
                let bkb = Bkb::new(self.bkb_width()?).with_sequential(self.sequential()?);
                Policy::Bkb(table.oversampling.map_or(bkb.clone(), |q| bkb.with_oversampling(q)))
            }
            "bbkb" => Policy::Bbkb(self.bbkb()?),
            "ada-bkb" => {
                let mut ada = AdaBkb::new(self.bkb_width()?);
                if let Some(q) = table.oversampling {
                    ada = ada.with_oversampling(q);
                }
                Policy::AdaBkb(table.cells.map_or(ada.clone(), |cells| ada.with_limits(20, cells)))
            }
            "mini-meta" => {
                let index = match &table.width {
                    Some(Width::Rule(rule)) if rule == "expected-improvement" => MetaIndex::ExpectedImprovement,
                    _ => MetaIndex::Ucb(self.ucb_width()?),
                };
                Policy::MiniMeta(MiniMeta::new(index, table.growth.unwrap_or(1.1)).map_err(core)?.with_sequential(self.sequential()?))
            }
            "rips" => Policy::Rips(Rips::default().with_effort(table.effort.unwrap_or(1.0)).with_sequential(self.sequential()?)),
            "supkernelucb" => Policy::SupKernelUcb(SupKernelUcb::new(self.sup_width()?).with_sequential(self.sequential()?)),
            "gp-threds" => {
                let missing =
                    SpecProblem::Missing { what: "interval", remedy: "say between which values the best one lies: interval = [0.0, 1.0]" };
                let [low, high] = table.interval.ok_or_else(|| Fault::new(&["strategy"], missing))?;
                Policy::GpThreds(GpThreds::new(low, high).map_err(Fault::core(&["strategy", "interval"]))?)
            }
            "max-variance" => Policy::LargestVariance(LargestVariance::default().with_sequential(self.sequential()?)),
            "sobol" => Policy::Sobol(Sobol::default()),
            _ => Policy::Random(Random::default()),
        })
    }

    fn sbpe(&self) -> Result<Sbpe, Fault> {
        let table = self.table;
        let at = |key: &'static str| Fault::core(&["strategy", key]);
        let mut sbpe = Sbpe::new(self.rules).with_schedule(match (&self.plan.batches, table.schedule) {
            (Some(Batches::Lengths(lengths)), None) => Schedule::Lengths(lengths.clone()),
            (Some(Batches::Count(count)), None | Some(ScheduleWord::Growing)) => Schedule::Growing(*count),
            (Some(Batches::Count(count)), Some(ScheduleWord::Even)) => Schedule::Even(*count),
            (None, None | Some(ScheduleWord::Recursion)) => Schedule::Recursion,
            (batches, _) => return Err(self.schedule_conflict(batches.is_some())),
        });
        if let Some(count) = table.inducing {
            sbpe = sbpe.with_max_inducing(count).map_err(at("inducing"))?;
        }
        if let Some(count) = table.candidates {
            sbpe = sbpe.with_candidates(count).map_err(at("candidates"))?;
        }
        if let Some(count) = table.cells {
            sbpe = sbpe.with_max_cells(count).map_err(at("cells"))?;
        }
        if let Some(share) = table.share {
            sbpe = sbpe.with_share(share).map_err(at("share"))?;
        }
        Ok(if table.simulated_quantiles == Some(true) { sbpe.with_simulated_quantiles() } else { sbpe })
    }

    fn bpe_schedule(&self) -> Result<BpeSchedule, Fault> {
        Ok(match (&self.plan.batches, self.table.schedule) {
            (Some(Batches::Count(count)), None | Some(ScheduleWord::Growing)) => BpeSchedule::Growing(*count),
            (Some(batches), Some(ScheduleWord::Even)) => BpeSchedule::Even(self.equal(batches)?),
            (Some(batches @ Batches::Lengths(_)), None) => BpeSchedule::Even(self.equal(batches)?),
            (None, None | Some(ScheduleWord::Recursion)) => BpeSchedule::Recursion,
            (batches, _) => return Err(self.schedule_conflict(batches.is_some())),
        })
    }

    fn schedule_conflict(&self, has_batches: bool) -> Fault {
        let remedy = if has_batches {
            "\"recursion\" finds the number of batches itself, and given lengths need no schedule"
        } else {
            "say how many: batches = 5"
        };
        Fault::new(&["strategy", "schedule"], SpecProblem::Conflict { other: "batches", remedy })
    }

    /// The number of batches of one length.
    fn equal(&self, batches: &Batches) -> Result<usize, Fault> {
        batches.equal_count().ok_or_else(|| {
            let requirement = "batches of one length for this strategy (s-bpe takes any lengths)";
            Fault::new(&["batches"], SpecProblem::Requirement { found: "batches of different lengths".into(), requirement })
        })
    }

    fn sequential(&self) -> Result<Sequential, Fault> {
        let mut how = Sequential::default();
        let from_batches =
            self.plan.batches.as_ref().map(|batches| self.equal(batches)).transpose()?.map(|count| self.plan.budget.div_ceil(count));
        if let Some(length) = self.table.batch_len.or(from_batches) {
            how = how.with_batch_len(length);
        }
        Ok(self.table.candidates.map_or(how, |count| how.with_box_candidates(count)))
    }

    fn ucb_width(&self) -> Result<UcbWidth, Fault> {
        self.width(&[("log-det", UcbWidth::LogDet), ("srinivas", UcbWidth::Srinivas), ("log-time", UcbWidth::LogTime)], UcbWidth::Constant)
    }

    fn bpe_width(&self) -> Result<BpeWidth, Fault> {
        self.width(&[("theory", BpeWidth::Theory), ("log-batch", BpeWidth::LogBatch)], BpeWidth::Constant)
    }

    fn sup_width(&self) -> Result<SupWidth, Fault> {
        self.width(&[("unit", SupWidth::Unit), ("interval", SupWidth::Interval)], SupWidth::Constant)
    }

    fn sample_scale(&self) -> Result<SampleScale, Fault> {
        self.width(&[("posterior", SampleScale::Constant(1.0)), ("theory", SampleScale::Theory)], SampleScale::Constant)
    }

    fn bkb_width(&self) -> Result<BkbWidth, Fault> {
        let paper = BkbWidth::Paper { epsilon: self.table.epsilon.unwrap_or(0.5) };
        self.width(&[("code", BkbWidth::Code), ("paper", paper)], BkbWidth::Constant)
    }

    fn bbkb(&self) -> Result<Bbkb, Fault> {
        let rule = if self.table.rule == Some(RuleWord::Local) { BatchRule::Local } else { BatchRule::Global };
        let width = self.width(&[("code", BbkbWidth::Code), ("paper", BbkbWidth::Paper)], BbkbWidth::Constant)?;
        let bbkb = Bbkb::new(rule, self.table.growth.unwrap_or(2.0)).map_err(Fault::core(&["strategy", "growth"]))?;
        let bbkb = bbkb.with_width(width).with_sequential(self.sequential()?);
        Ok(self.table.oversampling.map_or(bbkb.clone(), |q| bbkb.with_oversampling(q)))
    }

    /// The first rule unless said otherwise.
    fn width<T: Copy>(&self, rules: &[(&str, T)], constant: impl Fn(f64) -> T) -> Result<T, Fault> {
        match &self.table.width {
            None => Ok(rules[0].1),
            Some(Width::Factor(factor)) => Ok(constant(*factor)),
            Some(Width::Rule(name)) => {
                let names: Vec<&str> = rules.iter().map(|(name, _)| *name).collect();
                let found = rules.iter().find(|(known, _)| known == name);
                found.map(|(_, rule)| *rule).ok_or_else(|| Fault::new(&["strategy", "width"], SpecProblem::unknown("width", name, &names)))
            }
        }
    }
}
