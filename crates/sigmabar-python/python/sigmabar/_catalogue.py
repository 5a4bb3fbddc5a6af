"""Strategies and their options, made from the catalogue in crates/sigmabar/src/strategy/catalogue by its tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

StrategyName = Literal["auto", "s-bpe", "bpe", "gp-ucb", "ei", "pi", "gp-ts", "s-gp-ts", "bkb", "bbkb", "ada-bkb", "mini-meta", "rips", "supkernelucb", "gp-threds", "ek-ucb", "max-variance", "random", "sobol"]


class StrategyOptions(TypedDict, total=False):
    """Options of all strategies; which of them one takes stands in ``HELP``."""

    actions: Any | None
    batch_len: int | None
    batches: int | Sequence[int] | None
    candidates: int | None
    cap: int | None
    effort: float | None
    epsilon: float | None
    features: int | None
    grid: int | None
    growth: float | None
    interval: Sequence[float] | None
    keep_data: bool | None
    margin: float | None
    max_cells: int | None
    max_depth: int | None
    max_inducing: int | None
    oversampling: float | None
    pilot: int | None
    plan_factor: float | None
    rule: Literal["global", "local"] | None
    rules: Literal["certified", "paper"] | None
    schedule: Literal["recursion", "best-certificate", "growing", "even"] | None
    share: float | None
    simulated_quantiles: bool | None
    slack: Sequence[float] | None
    width: float | Literal["theory", "log-batch", "log-det", "srinivas", "log-time", "posterior", "code", "paper", "expected-improvement", "unit", "interval"] | None


HELP = """
    Strategies, each with its options and their defaults:

    ``"auto"``: Needs no kernel, norm bound or noise: few batches, everything that is not given refitted after each.
        ``batches`` (how many batches, or a list with the length of each; default 5): How many batches, all of one length.

    ``"s-bpe"``: Batched pure exploration with sparse models: rules out what is certainly worse, and proves how far the best may be.
        ``rules`` (one of "certified", "paper"; default "certified"): The proved rules, or the paper's to the letter.
        ``batches`` (how many batches, or a list with the length of each; default found by the schedule): How many batches, or the length of each; without them their lengths are the paper's.
        ``schedule`` (one of "recursion", "best-certificate", "growing", "even"; default "growing" with a number of batches, else "recursion"): How batch lengths follow from the budget: the paper's recursion (least regret on the way), the same with the last two batches joined where the last was cut (smallest certified gap at the end), a given number growing, or a given number of one length.
        ``max_inducing`` (a whole number of at least 1; default 600): Inducing points at most: fewer cost less and widen the intervals, which stay valid.
        ``candidates`` (a whole number of at least 1; default cells up to 3 columns, else 16384): How many Sobol points stand for a box or a space; claims speak of the whole of it, and candidate_gap of these.
        ``max_cells`` (a whole number of at least 1; default 50000): Cells of a box at most; coarser cells are still correct ones.
        ``share`` (a number above 0; default 0.1): Share of the squared ridge that the inducing points may miss of the prior.
        ``plan_factor`` (a number of at least 1; default 1.5): Plans go by this many times the declared norm bound, claims by the bound itself: the answer stands for larger norms, and costs more.
        ``pilot`` (a whole number of at least 1; default none): So many evaluations first, spread over the domain: kernel, norm bound and noise may be fixed after them, and none of them is in a claim.
        ``simulated_quantiles`` (true or false; default false): Simulated quantiles for normal noise on finite sets: narrower, and slower.

    ``"bpe"``: Batched pure exploration with the exact posterior.
        ``batches`` (how many batches, or a list with the length of each; default found by the schedule): How many batches, or the length of each; without them their lengths are the paper's.
        ``schedule`` (one of "recursion", "growing", "even"; default "growing" with a number of batches, else "recursion"): How batch lengths follow from the budget: the paper's recursion, a given number growing, or a given number of one length.
        ``width`` (a number of at least 0, or one of "theory", "log-batch"; default "theory"): Factor of the standard deviation by which candidates are ruled out, or its rule.
        ``keep_data`` (true or false; default false): Use the data of all batches, which no theorem covers.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"gp-ucb"``: Optimism with the exact posterior.
        ``width`` (a number of at least 0, or one of "log-det", "srinivas", "log-time"; default "log-det"): Factor of the standard deviation, or the rule by which it grows.
        ``batch_len`` (a whole number of at least 1; default 1): Evaluations planned at a time.
        ``batches`` (how many batches, or a list with the length of each; default none): Batches of one length, as another way to say batch_len: their number or lengths.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"ei"``: Expected improvement.
        ``margin`` (a number of at least 0; default 0): An improvement counts from this much on, in units of the prior.
        ``batch_len`` (a whole number of at least 1; default 1): Evaluations planned at a time.
        ``batches`` (how many batches, or a list with the length of each; default none): Batches of one length, as another way to say batch_len: their number or lengths.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"pi"``: Probability of improvement.
        ``margin`` (a number of at least 0; default 0): An improvement counts from this much on, in units of the prior.
        ``batch_len`` (a whole number of at least 1; default 1): Evaluations planned at a time.
        ``batches`` (how many batches, or a list with the length of each; default none): Batches of one length, as another way to say batch_len: their number or lengths.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"gp-ts"``: Thompson sampling with the exact posterior.
        ``width`` (a number above 0, or one of "posterior", "theory"; default "posterior"): How much wider than the posterior functions are drawn: a factor, 1 ("posterior"), or as theory wants it.
        ``batch_len`` (a whole number of at least 1; default 1): Evaluations planned at a time.
        ``batches`` (how many batches, or a list with the length of each; default none): Batches of one length, as another way to say batch_len: their number or lengths.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"s-gp-ts"``: Thompson sampling with a sparse posterior, by decoupled draws.
        ``features`` (a whole number of at least 1; default 1024): Random Fourier features of a draw.
        ``max_inducing`` (a whole number of at least 1; default 128): Inducing points at most.
        ``width`` (a number above 0, or one of "posterior", "theory"; default "posterior"): How much wider than the posterior functions are drawn: a factor, 1 ("posterior"), or as theory wants it.
        ``batch_len`` (a whole number of at least 1; default 1): Evaluations planned at a time.
        ``batches`` (how many batches, or a list with the length of each; default none): Batches of one length, as another way to say batch_len: their number or lengths.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"bkb"``: Optimism with a sparse model drawn anew after every value.
        ``width`` (a number of at least 0, or one of "code", "paper"; default "code"): Factor of the standard deviation: a number, as in the authors' code, or as in their paper.
        ``epsilon`` (a number strictly between 0 and 1; default 0.5): Accuracy ε of the sparse model, for the width "paper".
        ``oversampling`` (a number above 0; default by the width): Factor of the probabilities with which points join the model.
        ``batch_len`` (a whole number of at least 1; default 1): Evaluations planned at a time.
        ``batches`` (how many batches, or a list with the length of each; default none): Batches of one length, as another way to say batch_len: their number or lengths.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"bbkb"``: The same in batches, each as long as variances stay within a factor.
        ``width`` (a number of at least 0, or one of "code", "paper"; default "code"): Factor of the standard deviation: a number, as in the authors' code, or as in their paper.
        ``rule`` (one of "global", "local"; default "global"): Whether a batch ends by the sum of all variances or besides by the candidate that suffers most.
        ``growth`` (a number of at least 1; default 2): Factor by which variances may be off within a batch.
        ``oversampling`` (a number above 0; default by the width): Factor of the probabilities with which points join the model.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"ada-bkb"``: The same on cells of a box that refine themselves.
        ``width`` (a number of at least 0, or one of "code", "paper"; default "code"): Factor of the standard deviation: a number, as in the authors' code, or as in their paper.
        ``epsilon`` (a number strictly between 0 and 1; default 0.5): Accuracy ε of the sparse model, for the width "paper".
        ``oversampling`` (a number above 0; default by the width): Factor of the probabilities with which points join the model.
        ``max_depth`` (a whole number of at least 1; default 20): How often a cell may be halved.
        ``max_cells`` (a whole number of at least 1; default 4096): Cells of a box at most.

    ``"mini-meta"``: Few distinct candidates, each repeated as long as its deviation stays the same up to a factor.
        ``width`` (a number of at least 0, or one of "log-det", "srinivas", "log-time", "expected-improvement"; default "log-det"): Factor of the standard deviation, the rule by which it grows, or expected improvement instead.
        ``growth`` (a number of at least 1; default 1.1): Factor by which a deviation may shrink before the next choice.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"rips"``: Robust inverse-propensity scores: phases that halve what is possible.
        ``effort`` (a number above 0; default 1): Sample sizes times this; below 1 no theorem covers it.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"supkernelucb"``: Optimism in levels, each with values that do not depend on one another.
        ``width`` (a number above 0, or one of "unit", "interval"; default "unit"): Factor of the standard deviation: a number, 1 ("unit"), or that of the proved interval.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"gp-threds"``: Thresholds on the cells of a box.
        ``interval`` (two numbers, the first less than the second; default needed): Between which values the best one lies.
        ``slack`` (two numbers of at least 0; default [0.2, 0.4]): The constants c1 and c2 of its thresholds.
        ``cap`` (a whole number of at least 1; default 50): Evaluations after which a part is kept without proof.
        ``grid`` (a whole number of at least 1; default 20 in two columns): Grid points along each side of a cell.

    ``"ek-ucb"``: Optimism for one context after the other, with a sparse model.
        ``actions`` (rows of numbers; default needed): The actions to choose among for each context, one row each.
        ``width`` (a number of at least 0; default 0.1): Factor of the standard deviation.
        ``oversampling`` (a number above 0; default 5): Factor of the probabilities with which points join the model.

    ``"max-variance"``: Always where the variance is largest.
        ``batch_len`` (a whole number of at least 1; default 1): Evaluations planned at a time.
        ``batches`` (how many batches, or a list with the length of each; default none): Batches of one length, as another way to say batch_len: their number or lengths.
        ``candidates`` (a whole number of at least 1; default 2048): How many Sobol points stand for a box or a space.

    ``"random"``: Uniformly at random.

    ``"sobol"``: Along a scrambled Sobol sequence.
    """
