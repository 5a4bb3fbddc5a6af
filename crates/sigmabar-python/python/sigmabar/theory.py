"""The theorems as numbers: what can be promised before measuring, and how much to measure for a promise.

Every bound comes as corrected (proved) and as the paper prints it (for comparison).

>>> import numpy as np, sigmabar as sb
>>> grid = np.linspace(0, 1, 200)
>>> k = sb.SquaredExponential(0.2)
>>> gain = sb.theory.gain_bounds(k, 0.1, grid, 500)
>>> gain.lower <= gain.upper
True
>>> bound = sb.theory.regression_bound(evaluations=500, max_gain=gain.upper, domain_size=200, norm_bound=2.0, noise=sb.Gaussian(0.1), tau=0.1)
>>> 0 < bound.corrected < bound.paper
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _core
from ._arrays import rows
from ._checks import count, count_or_none, number
from ._kernels import Kernel, kernel_core
from ._noise import Noise, noise_or_level

__all__ = [
    "Bound",
    "GainBounds",
    "SampleCount",
    "batch_sizes",
    "effective_dimension",
    "gain_bounds",
    "information_gain",
    "regression_bound",
    "regret_bound",
    "samples_for",
]


def __dir__() -> list[str]:
    return __all__


class GainBounds(NamedTuple):
    """The largest information gain that so many measurements can have: a lower bound, the best upper bound, and all upper bounds by their kinds.

    >>> import numpy as np, sigmabar as sb
    >>> gain = sb.theory.gain_bounds(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, np.linspace(0, 1, 100), 50)
    >>> gain.upper == min(gain.kinds.values())
    True
    """

    lower: float
    upper: float
    kinds: dict[str, float]


class Bound(NamedTuple):
    """A bound as proved, as the paper prints it, and where it stands.

    >>> import sigmabar as sb
    >>> bound = sb.theory.regret_bound(budget=1000, max_gain=20.0, domain_size=400, norm_bound=2.0, noise=0.2, tau=0.2)
    >>> bound.corrected <= bound.paper, isinstance(bound.statement, str)
    (True, True)
    """

    corrected: float
    paper: float
    statement: str


class SampleCount(NamedTuple):
    """So many measurements are enough, and the bound at that number.

    >>> import numpy as np, sigmabar as sb
    >>> enough = sb.theory.samples_for(sb.SquaredExponential(0.2), 0.1, np.linspace(0, 1, 100), std=0.05)
    >>> enough.measurements > 0, enough.bound <= 0.05
    (True, True)
    """

    measurements: int
    bound: float


def gain_bounds(kernel: Kernel, tau: float, candidates: Any, evaluations: int) -> GainBounds:
    """Bounds on the largest information gain of ``evaluations`` measurements among the candidates.

    >>> import numpy as np, sigmabar as sb
    >>> grid = np.linspace(0, 1, 200)
    >>> gain = sb.theory.gain_bounds(sb.SquaredExponential(0.2), 0.1, grid, 500)
    >>> reached = sb.theory.information_gain(sb.SquaredExponential(0.2), 0.1, np.resize(grid, 500))
    >>> reached <= gain.upper and gain.lower <= gain.upper
    True
    """
    lower, kinds = _core.gain_bounds(kernel_core(kernel), number(tau, "tau"), rows(candidates), count(evaluations, "evaluations"))
    return GainBounds(lower, min(value for _, value in kinds), dict(kinds))


def effective_dimension(kernel: Kernel, tau: float, X: Any) -> float:
    """``tr K (K + tau**2 I)^-1`` of points, exactly.

    >>> import sigmabar as sb
    >>> round(sb.theory.effective_dimension(sb.SquaredExponential(0.1), 1.0, [0.0, 10.0]), 9)
    1.0
    """
    return _core.data_gain(kernel_core(kernel), number(tau, "tau"), rows(X))[0]


def information_gain(kernel: Kernel, tau: float, X: Any) -> float:
    """``log det(I + K / tau**2) / 2`` of points, exactly.

    >>> import sigmabar as sb
    >>> round(sb.theory.information_gain(sb.SquaredExponential(0.1), 1.0, [0.0, 10.0]), 6)
    0.693147
    """
    return _core.data_gain(kernel_core(kernel), number(tau, "tau"), rows(X))[1]


def regression_bound(
    *,
    evaluations: int,
    max_gain: float,
    domain_size: int,
    norm_bound: float,
    noise: Noise | float,
    tau: float,
    delta: float = 0.05,
    residual_ratio: float = 0.0,
    max_variance: float = 1.0,
) -> Bound:
    """The largest error over a finite domain after a max-variance design, with probability ``1 - delta``: how far the function is from the middle of its interval.

    ``residual_ratio`` bounds ``lambda / tau**2``: 0 for the exact model, 1 for the paper's sampling of inducing points.

    >>> import sigmabar as sb
    >>> known = {"max_gain": 15.0, "domain_size": 200, "norm_bound": 2.0, "noise": sb.Gaussian(0.1), "tau": 0.1}
    >>> few, many = (sb.theory.regression_bound(evaluations=n, **known) for n in (100, 10_000))
    >>> many.corrected < few.corrected < few.paper
    True
    >>> tails = sb.theory.regression_bound(evaluations=10_000, **{**known, "noise": sb.LightTailed(xi0=0.01, h0=1.0)})
    >>> many.corrected < tails.corrected <= 2.0  # never above what is known without measuring
    True
    """
    setting = _setting(norm_bound, noise, tau, delta, residual_ratio, max_variance)
    return Bound(*_core.regression_bound(setting, count(evaluations, "evaluations"), number(max_gain, "max_gain"), count(domain_size, "domain_size")))


def regret_bound(
    *,
    budget: int,
    max_gain: float,
    domain_size: int,
    norm_bound: float,
    noise: Noise | float,
    tau: float,
    delta: float = 0.05,
    residual_ratio: float = 0.0,
    max_variance: float = 1.0,
    batches: Sequence[int] | None = None,
) -> Bound:
    """The cumulative regret of batched elimination on a finite domain, with probability ``1 - delta``.

    The run that it is about measures, in batches of :func:`batch_sizes`, where the deviation is largest, and rules out what lies outside ``mean ± beta * std`` of its own batch, with
    ``beta = norm_bound * sqrt(1 + residual_ratio) + noise / tau * sqrt(2 * log(4 * len(batches) * domain_size / delta))`` (normal noise: its own quantile). With ``residual_ratio=0`` and noise
    given as a level that is the strategy ``"bpe"``. It is not a bound on ``"s-bpe"``: its certified rules share ``delta`` otherwise and judge with ``plan_factor`` (1.5) times the norm bound, and
    ``rules="paper"`` has ``3 * norm_bound``. Algorithm notes 6.5 say what holds for them.

    ``max_gain``, of all ``budget`` measurements, stands for the gain of every batch: true, and larger than need be. ``sigmabar theory`` bounds the gain of each batch by itself: with
    ``--kernel se --lengthscale 0.3 --norm-bound 2 --noise gaussian:0.05 --budget 600`` it has 1437.7, where its gain of 600, at most 113.68, makes 1680.3 here. ``batches`` may be left out; given, it must
    be the lengths of ``batch_sizes(budget)``, of which the last may be missing, since nothing is ruled out after it: others are refused.

    >>> import sigmabar as sb
    >>> bound = sb.theory.regret_bound(budget=1000, max_gain=20.0, domain_size=400, norm_bound=2.0, noise=0.2, tau=0.2)
    >>> bound.corrected <= 2 * 2.0 * 1000
    True
    """
    setting = _setting(norm_bound, noise, tau, delta, residual_ratio, max_variance)
    lengths = batch_sizes(budget) if batches is None else [count(b, "batches") for b in batches]
    return Bound(*_core.regret_bound(setting, count(budget, "budget"), number(max_gain, "max_gain"), lengths, count(domain_size, "domain_size")))


def samples_for(
    kernel: Kernel,
    tau: float,
    candidates: Any,
    *,
    std: float | None = None,
    error: float | None = None,
    norm_bound: float | None = None,
    noise: Noise | float | None = None,
    delta: float = 0.05,
    limit: int = 10_000_000,
) -> SampleCount | None:
    """How many measurements of a max-variance design are enough for every standard deviation to be at most ``std``, or, with a norm bound and the noise, for
    every error to be at most ``error`` with probability ``1 - delta``; ``None`` where ``limit`` is not enough.

    >>> import numpy as np, sigmabar as sb
    >>> grid = np.linspace(0, 1, 100)
    >>> few, many = (sb.theory.samples_for(sb.SquaredExponential(0.2), 0.1, grid, std=s).measurements for s in (0.1, 0.02))
    >>> few < many
    True
    """
    if (std is None) == (error is None):
        raise _core.Error("say what is wanted: std, or error with norm_bound and noise")
    points = rows(candidates)
    if std is not None:
        found = _core.samples_for_std(kernel_core(kernel), number(tau, "tau"), points, number(std, "std"), count(limit, "limit"))
    elif norm_bound is None or noise is None:
        raise _core.Error("how many measurements an error takes depends on norm_bound and noise: give both")
    else:
        setting = _setting(norm_bound, noise, tau, delta, 0.0, float(kernel.diag(points).max()))
        found = _core.samples_for_error(setting, kernel_core(kernel), points, number(error, "error"), count(limit, "limit"))
    return None if found is None else SampleCount(*found)


def batch_sizes(budget: int, batches: int | None = None, *, even: bool = False, gain_exponent: float = 0.0) -> list[int]:
    """The lengths of S-BPE's batches: by the paper's recursion, for a number of batches, or equal ones.

    >>> import sigmabar as sb
    >>> sb.theory.batch_sizes(1000)
    [32, 179, 424, 365]
    >>> sb.theory.batch_sizes(200, 5, even=True)
    [40, 40, 40, 40, 40]
    """
    return _core.batch_sizes(count(budget, "budget"), count_or_none(batches, "batches"), even, number(gain_exponent, "gain_exponent"))


def _setting(
    norm_bound: float, noise: Noise | float, tau: float, delta: float, residual_ratio: float, max_variance: float
) -> dict[str, Any]:
    return {
        "norm_bound": number(norm_bound, "norm_bound"),
        "noise": noise_or_level(noise),
        "tau": number(tau, "tau"),
        "delta": number(delta, "delta"),
        "residual_ratio": number(residual_ratio, "residual_ratio"),
        "max_variance": number(max_variance, "max_variance"),
    }
