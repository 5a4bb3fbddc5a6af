//! The table of a strategy: its name and its options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A strategy with its options; which ones it takes depends on its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StrategyTable {
    /// The name.
    pub name: String,
    /// s-bpe and bpe: "recursion", "growing" or "even" batch lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleWord>,
    /// s-bpe: at most this many inducing points. s-gp-ts: inducing points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inducing: Option<usize>,
    /// How many candidates stand for a box or a space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// s-bpe, ada-bkb: at most this many cells of a box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<usize>,
    /// s-bpe: θ in the rule for the number of inducing points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// s-bpe: simulated quantiles for normal noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_quantiles: Option<bool>,
    /// Sequential strategies: evaluations planned at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_len: Option<usize>,
    /// The width: a factor, or a rule by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<Width>,
    /// bkb, ada-bkb with the paper's width: ε.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// bkb, bbkb, ada-bkb: the factor of the inclusion probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oversampling: Option<f64>,
    /// ei, pi: an improvement counts from this much on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// s-gp-ts: random Fourier features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<usize>,
    /// bbkb, mini-meta: how much a variance or deviation may be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<f64>,
    /// bbkb: "global" or "local" end of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleWord>,
    /// rips: sample sizes times this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<f64>,
    /// gp-threds: the interval in which the best value is believed to lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// bpe: use the data of all batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_data: Option<bool>,
}

/// How batch lengths are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleWord {
    /// The paper's.
    Recursion,
    /// Growing lengths.
    Growing,
    /// Equal lengths.
    Even,
}

/// When a batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleWord {
    /// By the sum of all variances.
    Global,
    /// Besides by the candidate that suffers most.
    Local,
}

/// A width: a factor, or a rule by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number or the name of a width")]
pub enum Width {
    /// The same factor always.
    Factor(f64),
    /// A rule.
    Rule(String),
}
