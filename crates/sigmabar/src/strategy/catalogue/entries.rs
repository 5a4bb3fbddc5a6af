//! The list of strategies.

use super::given::Given;
use super::kind::{OptionKind, Range};
use super::make::{self, Made};
use OptionKind::{Batches, Count, Flag, Interval, Number, NumberOrWord, Pair, Rows, Word};
use Range::{AtLeastOne, Fraction, NotNegative, Positive};

/// A strategy and what may be said about it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StrategyEntry {
    /// The name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Its options.
    pub options: &'static [StrategyOption],
    /// Whether it says how far from the best setting one can still be.
    pub states_gap: bool,
    /// Whether it says so of the candidates that stand for a box or a space, too.
    pub states_candidate_gap: bool,
    /// Whether each evaluation needs a context first, which the trials of a study do not have.
    pub is_contextual: bool,
    pub(super) make: for<'a, 'b> fn(&'a Given<'b>) -> Made,
}

/// An option of a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrategyOption {
    /// The name.
    pub name: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// What holds where it is not given.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
}

impl StrategyEntry {
    /// The option of this name.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&'static StrategyOption> {
        self.options.iter().find(|option| option.name == name)
    }
}

/// Names of earlier versions, what they are called today, and what besides has changed. Files under names that only changed go on to be read.
pub(super) const RENAMED: [(&str, &str, &str); 6] = [
    ("batch_size", "batch_len", ""),
    ("cells", "max_cells", ""),
    ("even_batches", "schedule", " (\"even\")"),
    ("inducing", "max_inducing", ""),
    ("limits", "max_depth", " (and max_cells)"),
    ("mode", "rules", " (and \"auto\" is a strategy of its own)"),
];

const fn option(name: &'static str, kind: OptionKind, default: &'static str, about: &'static str) -> StrategyOption {
    StrategyOption { name, kind, default, about }
}

const BATCH_LEN: StrategyOption = option("batch_len", Count, "1", "Evaluations planned at a time.");
const BATCHES: StrategyOption =
    option("batches", Batches, "none", "Batches of one length, as another way to say batch_len: their number or lengths.");
const SCHEDULED: StrategyOption = option(
    "batches",
    Batches,
    "found by the schedule",
    "How many batches, or the length of each; without them their lengths are the paper's.",
);
const CANDIDATES: StrategyOption = option("candidates", Count, "2048", "How many Sobol points stand for a box or a space.");
const EPSILON: StrategyOption = option("epsilon", Number(Fraction), "0.5", "Accuracy ε of the sparse model, for the width \"paper\".");
const OVERSAMPLING: StrategyOption =
    option("oversampling", Number(Positive), "by the width", "Factor of the probabilities with which points join the model.");
const MARGIN: StrategyOption =
    option("margin", Number(NotNegative), "0", "An improvement counts from this much on, in units of the prior.");
const SCHEDULE: StrategyOption = option(
    "schedule",
    Word(&["recursion", "growing", "even"]),
    "\"growing\" with a number of batches, else \"recursion\"",
    "How batch lengths follow from the budget: the paper's recursion, a given number growing, or a given number of one length.",
);
const SBPE_SCHEDULE: StrategyOption = option(
    "schedule",
    Word(&["recursion", "best-certificate", "growing", "even"]),
    SCHEDULE.default,
    "How batch lengths follow from the budget: the paper's recursion (least regret on the way), the same with the last two batches joined where the last was \
     cut (smallest certified gap at the end), a given number growing, or a given number of one length.",
);
const UCB_WIDTH: StrategyOption = option(
    "width",
    NumberOrWord(NotNegative, &["log-det", "srinivas", "log-time"]),
    "\"log-det\"",
    "Factor of the standard deviation, or the rule by which it grows.",
);
const SAMPLE_WIDTH: StrategyOption = option(
    "width",
    NumberOrWord(Positive, &["posterior", "theory"]),
    "\"posterior\"",
    "How much wider than the posterior functions are drawn: a factor, 1 (\"posterior\"), or as theory wants it.",
);
const BKB_WIDTH: StrategyOption = option(
    "width",
    NumberOrWord(NotNegative, &["code", "paper"]),
    "\"code\"",
    "Factor of the standard deviation: a number, as in the authors' code, or as in their paper.",
);

const fn entry(
    name: &'static str,
    about: &'static str,
    options: &'static [StrategyOption],
    make: for<'a, 'b> fn(&'a Given<'b>) -> Made,
) -> StrategyEntry {
    StrategyEntry { name, about, options, states_gap: false, states_candidate_gap: false, is_contextual: false, make }
}

/// Every strategy.
pub const STRATEGIES: [StrategyEntry; 19] = [
    StrategyEntry {
        states_gap: true,
        ..entry(
            "auto",
            "Needs no kernel, norm bound or noise: few batches, everything that is not given refitted after each.",
            &[option("batches", Batches, "5", "How many batches, all of one length.")],
            make::auto,
        )
    },
    StrategyEntry {
        states_gap: true,
        states_candidate_gap: true,
        ..entry(
            "s-bpe",
            "Batched pure exploration with sparse models: rules out what is certainly worse, and proves how far the best may be.",
            &[
                option("rules", Word(&["certified", "paper"]), "\"certified\"", "The proved rules, or the paper's to the letter."),
                SCHEDULED,
                SBPE_SCHEDULE,
                option("max_inducing", Count, "600", "Inducing points at most: fewer cost less and widen the intervals, which stay valid."),
                option(
                    "candidates",
                    Count,
                    "cells up to 3 columns, else 16384",
                    "How many Sobol points stand for a box or a space; claims speak of the whole of it, and candidate_gap of these.",
                ),
                option("max_cells", Count, "50000", "Cells of a box at most; coarser cells are still correct ones."),
                option("share", Number(Positive), "0.1", "Share of the squared ridge that the inducing points may miss of the prior."),
                option(
                    "plan_factor",
                    Number(AtLeastOne),
                    "1.5",
                    "Plans go by this many times the declared norm bound, claims by the bound itself: the answer stands for larger norms, and costs more.",
                ),
                option(
                    "pilot",
                    Count,
                    "none",
                    "So many evaluations first, spread over the domain: kernel, norm bound and noise may be fixed after them, and none of them is in a claim.",
                ),
                option("simulated_quantiles", Flag, "false", "Simulated quantiles for normal noise on finite sets: narrower, and slower."),
            ],
            make::sbpe,
        )
    },
    entry(
        "bpe",
        "Batched pure exploration with the exact posterior.",
        &[
            SCHEDULED,
            SCHEDULE,
            option(
                "width",
                NumberOrWord(NotNegative, &["theory", "log-batch"]),
                "\"theory\"",
                "Factor of the standard deviation by which candidates are ruled out, or its rule.",
            ),
            option("keep_data", Flag, "false", "Use the data of all batches, which no theorem covers."),
            CANDIDATES,
        ],
        make::bpe,
    ),
    entry("gp-ucb", "Optimism with the exact posterior.", &[UCB_WIDTH, BATCH_LEN, BATCHES, CANDIDATES], make::gp_ucb),
    entry("ei", "Expected improvement.", &[MARGIN, BATCH_LEN, BATCHES, CANDIDATES], make::ei),
    entry("pi", "Probability of improvement.", &[MARGIN, BATCH_LEN, BATCHES, CANDIDATES], make::pi),
    entry("gp-ts", "Thompson sampling with the exact posterior.", &[SAMPLE_WIDTH, BATCH_LEN, BATCHES, CANDIDATES], make::gp_ts),
    entry(
        "s-gp-ts",
        "Thompson sampling with a sparse posterior, by decoupled draws.",
        &[
            option("features", Count, "1024", "Random Fourier features of a draw."),
            option("max_inducing", Count, "128", "Inducing points at most."),
            SAMPLE_WIDTH,
            BATCH_LEN,
            BATCHES,
            CANDIDATES,
        ],
        make::s_gp_ts,
    ),
    entry(
        "bkb",
        "Optimism with a sparse model drawn anew after every value.",
        &[BKB_WIDTH, EPSILON, OVERSAMPLING, BATCH_LEN, BATCHES, CANDIDATES],
        make::bkb,
    ),
    entry(
        "bbkb",
        "The same in batches, each as long as variances stay within a factor.",
        &[
            BKB_WIDTH,
            option(
                "rule",
                Word(&["global", "local"]),
                "\"global\"",
                "Whether a batch ends by the sum of all variances or besides by the candidate that suffers most.",
            ),
            option("growth", Number(AtLeastOne), "2", "Factor by which variances may be off within a batch."),
            OVERSAMPLING,
            CANDIDATES,
        ],
        make::bbkb,
    ),
    entry(
        "ada-bkb",
        "The same on cells of a box that refine themselves.",
        &[
            BKB_WIDTH,
            EPSILON,
            OVERSAMPLING,
            option("max_depth", Count, "20", "How often a cell may be halved."),
            option("max_cells", Count, "4096", "Cells of a box at most."),
        ],
        make::ada_bkb,
    ),
    entry(
        "mini-meta",
        "Few distinct candidates, each repeated as long as its deviation stays the same up to a factor.",
        &[
            option(
                "width",
                NumberOrWord(NotNegative, &["log-det", "srinivas", "log-time", "expected-improvement"]),
                "\"log-det\"",
                "Factor of the standard deviation, the rule by which it grows, or expected improvement instead.",
            ),
            option("growth", Number(AtLeastOne), "1.1", "Factor by which a deviation may shrink before the next choice."),
            CANDIDATES,
        ],
        make::mini_meta,
    ),
    entry(
        "rips",
        "Robust inverse-propensity scores: phases that halve what is possible.",
        &[option("effort", Number(Positive), "1", "Sample sizes times this; below 1 no theorem covers it."), CANDIDATES],
        make::rips,
    ),
    entry(
        "supkernelucb",
        "Optimism in levels, each with values that do not depend on one another.",
        &[
            option(
                "width",
                NumberOrWord(Positive, &["unit", "interval"]),
                "\"unit\"",
                "Factor of the standard deviation: a number, 1 (\"unit\"), or that of the proved interval.",
            ),
            CANDIDATES,
        ],
        make::sup_kernel_ucb,
    ),
    entry(
        "gp-threds",
        "Thresholds on the cells of a box.",
        &[
            option("interval", Interval, "needed", "Between which values the best one lies."),
            option("slack", Pair(NotNegative), "[0.2, 0.4]", "The constants c1 and c2 of its thresholds."),
            option("cap", Count, "50", "Evaluations after which a part is kept without proof."),
            option("grid", Count, "20 in two columns", "Grid points along each side of a cell."),
        ],
        make::gp_threds,
    ),
    StrategyEntry {
        is_contextual: true,
        ..entry(
            "ek-ucb",
            "Optimism for one context after the other, with a sparse model.",
            &[
                option("actions", Rows, "needed", "The actions to choose among for each context, one row each."),
                option("width", Number(NotNegative), "0.1", "Factor of the standard deviation."),
                option("oversampling", Number(Positive), "5", "Factor of the probabilities with which points join the model."),
            ],
            make::ek_ucb,
        )
    },
    entry("max-variance", "Always where the variance is largest.", &[BATCH_LEN, BATCHES, CANDIDATES], make::max_variance),
    entry("random", "Uniformly at random.", &[], make::random),
    entry("sobol", "Along a scrambled Sobol sequence.", &[], make::sobol),
];
