//! The study file as it is written: every key with its type, nothing checked yet.

use super::parameters::Parameters;
use super::strategy::StrategySchema;
use crate::objective::ObjectiveTable;
use crate::space::CandidateTable;
use crate::union::{Auto, NumberOrAuto, OneOrMany, PlainOr, many};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sigmabar::catalogue::PolicySpec;
use sigmabar::strategy::Failures;
use std::collections::BTreeMap;

/// A study file: what is searched, what is assumed, how it is searched and how settings are evaluated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "sigmabar study file")]
pub struct StudyFile {
    /// What the study is about, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is measured, with its unit, for axes and tables: "yield / %".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Whether large or small values are wanted; "maximize" unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<DirectionWord>,
    /// How many evaluations may be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
    /// How many batches, or the length of each; a pilot comes before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<OneOrMany<usize>>,
    /// So many evaluations first, out of the budget and before the batches: a pilot, spread over the space. Kernel, norm bound, noise, prior mean and unit may be written
    /// into the file after it (`sigmabar premises` suggests them), and nothing of it is in a claim. For S-BPE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot: Option<usize>,
    /// How many plates, one batch each; together with `plate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plates: Option<usize>,
    /// Wells of a plate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plate: Option<usize>,
    /// Wells of every plate that hold controls: they are laid out among the others, and their results are kept beside the plate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controls: Option<usize>,
    /// Wells in which every setting is measured; their mean counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates: Option<usize>,
    /// Wells that stay empty, such as ["A1", "H12"].
    #[serde(default, deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub blocked: Vec<String>,
    /// How batches were cut anew when the budget was made larger; written by `amend` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub amended_batches: Option<OneOrMany<usize>>,
    /// The ridge of the batches before that; written by `amend` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub amended_ridge: Option<f64>,
    /// Whether settings may come back as they were used in truth (a weight of 4.87 where 4.85 was asked for): they enter as the points measured. Declare it
    /// only if the deviations have nothing to do with the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_values: Option<bool>,
    /// The total miss probability of everything that is claimed; 0.05 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// The seed of everything random; 0 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Linear constraints such as "a + b + c == 1" or "x < y".
    #[serde(default, deserialize_with = "many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub constraints: Vec<String>,
    /// The ridge τ, always a standard deviation; the noise level unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tau: Option<NumberOrAuto>,
    /// A bound on the norm of the function minus its prior mean, in the prior's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm_bound: Option<NumberOrAuto>,
    /// The constant prior mean, declared before the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_mean: Option<f64>,
    /// The unit of the values, declared before the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<f64>,
    /// From which earlier data kernel, norm bound, noise, prior mean and unit were learnt, a pilot for one: written by `sigmabar premises --from`. Those data are left
    /// out of every claim of this study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learnt_from: Option<String>,
    /// The step in which results are compared, and fingerprints of those that `learnt_from` names, 16 hexadecimal digits each: a result that is told again is noticed by
    /// them, and the certificate says so. Written by `sigmabar premises --from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learnt_rows: Option<String>,
    /// Whether results that equal one from which premises were learnt, in setting and but for rounding in value, were measured anew, as happens where few digits are written down.
    /// Without it their certificate is an estimate; so is every certificate where `learnt_from` stands without `learnt_rows`, unless this declares that none of those results is told again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_rows: Option<bool>,
    /// When to stop early: "gap < 0.01", or "candidate_gap < 0.01" for the gap among the candidates that stand for the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_when: Option<String>,
    /// What failing or being late says about the value: "unrelated" (a dropped plate), or "informative" (a time-out, a duration). Without it claims are
    /// estimates once a measurement is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub failures: Option<Failures>,
    /// The older spelling of `failures = "informative"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub informative_failures: Option<bool>,
    /// Of earlier versions: "certified" and "paper" are `strategy = { name = "s-bpe", rules = … }` today, "auto" is `strategy = "auto"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("deprecated" = true))]
    pub mode: Option<Mode>,
    /// The file of candidates, beside the study file, or the candidates themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<PlainOr<String, CandidateTable>>,
    /// The noise of an evaluation in the prior's unit: a sub-Gaussian level, a table, or "auto".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<PlainOr<NumberOrAuto, NoiseTable>>,
    /// The kernel: "auto" or a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PlainOr<Auto, KernelTable>>,
    /// The strategy: its name, or a table with its options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<StrategySchema>")]
    pub strategy: Option<PolicySpec>,
    /// How settings are evaluated by `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveTable>,
    /// The parameters, one table each.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
}

/// Whether large or small values are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DirectionWord {
    /// Large values.
    Maximize,
    /// Small values.
    Minimize,
}

/// By which rules a study of an earlier version goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// S-BPE, certified.
    Certified,
    /// S-BPE as in the paper.
    Paper,
    /// Everything that is not given is estimated.
    Auto,
}

/// A kernel with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelTable {
    /// "squared-exponential" (or "se", "rbf"), "matern" (or with its nu, "matern-1.5"), "rational-quadratic" (or "rq", "rq-2"), "periodic" or "linear".
    pub name: String,
    /// In shares of a parameter's range: one for all, a list, or a table by parameter.
    pub lengthscale: PlainOr<OneOrMany<f64>, BTreeMap<String, f64>>,
    /// The shortest length-scale that is possible, in the same unit and form: the norm bound then holds for some length-scale between this and `lengthscale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<PlainOr<OneOrMany<f64>, BTreeMap<String, f64>>>,
    /// The variance in the prior's unit squared; 1 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
    /// The smoothness of a Matérn kernel; 2.5 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// The exponent of a rational quadratic kernel; 1 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// The period of a periodic kernel, in shares of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<f64>,
    /// The offset of a linear kernel; 1 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<f64>,
    /// Length-scales are in the parameters' own units, not in shares of their ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural: Option<bool>,
}

/// The noise of an evaluation: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseTable {
    /// Normal with this standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaussian: Option<f64>,
    /// Normal of one level that nobody knows: about this, for planning only. Certified S-BPE bounds the level by replicates, which it plans itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<f64>,
    /// Sub-Gaussian of this level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_gaussian: Option<f64>,
    /// Never larger than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounded: Option<f64>,
    /// With light tails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub light_tailed: Option<LightTails>,
}

/// Light tails: the moment generating function is bounded by that of variance ξ₀ up to h₀.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LightTails {
    /// ξ₀, a variance.
    pub xi0: f64,
    /// h₀, one over a scale.
    pub h0: f64,
}
