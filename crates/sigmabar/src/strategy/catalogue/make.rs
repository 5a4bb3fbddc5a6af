//! From checked options to the policy, one function for each strategy.

use super::given::Given;
use super::problem::{PolicyProblem, Wrong};
use crate::strategy::auto::Auto;
use crate::strategy::baselines::{
    AdaBkb, BatchRule, Bbkb, BbkbWidth, Bkb, BkbWidth, Bpe, BpeWidth, DecoupledThompson, EkUcb, ExpectedImprovement, GpThreds, GpUcb,
    LargestVariance, MetaIndex, MiniMeta, ProbabilityOfImprovement, Random, Rips, SampleScale, Sobol, SupKernelUcb, SupWidth,
    ThompsonSampling, UcbWidth,
};
use crate::strategy::policy::Policy;
use crate::strategy::sbpe::{Rules, Sbpe};

pub(super) type Made = Result<Policy, Wrong>;

pub(super) fn auto(given: &Given<'_>) -> Made {
    Ok(Policy::Auto(given.equal_batches()?.map_or(Ok(Auto::default()), Auto::new)?))
}

pub(super) fn sbpe(given: &Given<'_>) -> Made {
    let rules = if given.word("rules") == Some("paper") { Rules::Paper } else { Rules::Certified };
    let mut sbpe = Sbpe::new(rules).with_schedule(given.schedule()?);
    if let Some(count) = given.count("max_inducing") {
        sbpe = sbpe.with_max_inducing(count)?;
    }
    if let Some(count) = given.count("candidates") {
        sbpe = sbpe.with_candidates(count)?;
    }
    if let Some(count) = given.count("max_cells") {
        sbpe = sbpe.with_max_cells(count)?;
    }
    if let Some(share) = given.number("share") {
        sbpe = sbpe.with_share(share)?;
    }
    if let Some(evaluations) = given.count("pilot") {
        sbpe = sbpe.with_pilot(evaluations)?;
    }
    if let Some(factor) = given.number("plan_factor") {
        sbpe = sbpe.with_plan_factor(factor)?;
    }
    Ok(Policy::Sbpe(Box::new(if given.flag("simulated_quantiles") { sbpe.with_simulated_quantiles() } else { sbpe })))
}

pub(super) fn bpe(given: &Given<'_>) -> Made {
    let width = given.width(&[("theory", BpeWidth::Theory), ("log-batch", BpeWidth::LogBatch)], BpeWidth::Constant);
    let bpe = Bpe::new(given.bpe_schedule()?, width).with_sequential(given.sequential()?);
    Ok(Policy::Bpe(if given.flag("keep_data") { bpe.keeping_data() } else { bpe }))
}

fn ucb_width(given: &Given<'_>) -> UcbWidth {
    given.width(&[("log-det", UcbWidth::LogDet), ("srinivas", UcbWidth::Srinivas), ("log-time", UcbWidth::LogTime)], UcbWidth::Constant)
}

pub(super) fn gp_ucb(given: &Given<'_>) -> Made {
    Ok(Policy::GpUcb(GpUcb::new(ucb_width(given)).with_sequential(given.sequential()?)))
}

pub(super) fn ei(given: &Given<'_>) -> Made {
    let ei = ExpectedImprovement::default().with_sequential(given.sequential()?);
    Ok(Policy::ExpectedImprovement(given.number("margin").map_or(ei.clone(), |margin| ei.with_margin(margin))))
}

pub(super) fn pi(given: &Given<'_>) -> Made {
    let pi = ProbabilityOfImprovement::default().with_sequential(given.sequential()?);
    Ok(Policy::ProbabilityOfImprovement(given.number("margin").map_or(pi.clone(), |margin| pi.with_margin(margin))))
}

fn sample_scale(given: &Given<'_>) -> SampleScale {
    given.width(&[("posterior", SampleScale::default()), ("theory", SampleScale::Theory)], SampleScale::Constant)
}

pub(super) fn gp_ts(given: &Given<'_>) -> Made {
    Ok(Policy::ThompsonSampling(ThompsonSampling::new(sample_scale(given)).with_sequential(given.sequential()?)))
}

pub(super) fn s_gp_ts(given: &Given<'_>) -> Made {
    let sizes = (given.count("features").unwrap_or(1024), given.count("max_inducing").unwrap_or(128));
    let draws = DecoupledThompson::new(sizes.0, sizes.1)?.with_scale(sample_scale(given));
    Ok(Policy::DecoupledThompson(draws.with_sequential(given.sequential()?)))
}

fn bkb_width(given: &Given<'_>) -> BkbWidth {
    let paper = BkbWidth::Paper { epsilon: given.number("epsilon").unwrap_or(0.5) };
    given.width(&[("code", BkbWidth::Code), ("paper", paper)], BkbWidth::Constant)
}

pub(super) fn bkb(given: &Given<'_>) -> Made {
    let bkb = Bkb::new(bkb_width(given)).with_sequential(given.sequential()?);
    Ok(Policy::Bkb(given.number("oversampling").map_or(bkb.clone(), |q| bkb.with_oversampling(q))))
}

pub(super) fn bbkb(given: &Given<'_>) -> Made {
    let rule = if given.word("rule") == Some("local") { BatchRule::Local } else { BatchRule::Global };
    let width = given.width(&[("code", BbkbWidth::Code), ("paper", BbkbWidth::Paper)], BbkbWidth::Constant);
    let bbkb = Bbkb::new(rule, given.number("growth").unwrap_or(2.0))?.with_width(width).with_sequential(given.sequential()?);
    Ok(Policy::Bbkb(given.number("oversampling").map_or(bbkb.clone(), |q| bbkb.with_oversampling(q))))
}

pub(super) fn ada_bkb(given: &Given<'_>) -> Made {
    let (depth, cells) = (given.count("max_depth").unwrap_or(20), given.count("max_cells").unwrap_or(4096));
    let ada = AdaBkb::new(bkb_width(given)).with_limits(u32::try_from(depth).unwrap_or(u32::MAX), cells);
    Ok(Policy::AdaBkb(given.number("oversampling").map_or(ada.clone(), |q| ada.with_oversampling(q))))
}

pub(super) fn mini_meta(given: &Given<'_>) -> Made {
    let index = match given.word("width") {
        Some("expected-improvement") => MetaIndex::ExpectedImprovement,
        _ => MetaIndex::Ucb(ucb_width(given)),
    };
    Ok(Policy::MiniMeta(MiniMeta::new(index, given.number("growth").unwrap_or(1.1))?.with_sequential(given.sequential()?)))
}

pub(super) fn rips(given: &Given<'_>) -> Made {
    Ok(Policy::Rips(Rips::default().with_effort(given.number("effort").unwrap_or(1.0)).with_sequential(given.sequential()?)))
}

pub(super) fn sup_kernel_ucb(given: &Given<'_>) -> Made {
    let width = given.width(&[("unit", SupWidth::Unit), ("interval", SupWidth::Interval)], SupWidth::Constant);
    Ok(Policy::SupKernelUcb(SupKernelUcb::new(width).with_sequential(given.sequential()?)))
}

pub(super) fn gp_threds(given: &Given<'_>) -> Made {
    let remedy = "say between which values the best one lies: interval = [0.0, 1.0]";
    let (low, high) = given.pair("interval").ok_or(Wrong::at("interval", PolicyProblem::Missing { remedy }))?;
    let mut threds = GpThreds::new(low, high)?;
    if let Some((c1, c2)) = given.pair("slack") {
        threds = threds.with_slack(c1, c2);
    }
    if let Some(cap) = given.count("cap") {
        threds = threds.with_cap(cap);
    }
    Ok(Policy::GpThreds(given.count("grid").map_or(threds.clone(), |per_side| threds.with_grid(per_side))))
}

pub(super) fn ek_ucb(given: &Given<'_>) -> Made {
    let remedy = "give the actions to choose among for each context, one row each";
    let actions = given.points("actions")?.ok_or(Wrong::at("actions", PolicyProblem::Missing { remedy }))?;
    let mut policy = EkUcb::new(actions);
    if let Some(factor) = given.number("width") {
        policy = policy.with_factor(factor);
    }
    Ok(Policy::EkUcb(given.number("oversampling").map_or(policy.clone(), |q| policy.with_oversampling(q))))
}

pub(super) fn max_variance(given: &Given<'_>) -> Made {
    Ok(Policy::LargestVariance(LargestVariance::default().with_sequential(given.sequential()?)))
}

pub(super) fn random(_: &Given<'_>) -> Made {
    Ok(Policy::Random(Random::default()))
}

pub(super) fn sobol(_: &Given<'_>) -> Made {
    Ok(Policy::Sobol(Sobol::default()))
}
