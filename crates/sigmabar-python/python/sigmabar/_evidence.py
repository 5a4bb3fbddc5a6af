"""Kernel parameters and ridge, learnt from the responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import _core
from ._arrays import beside, names_of, paired
from ._checks import count, flag, number, pair, seed_of, text, text_or_none
from ._kernels import Kernel, kernel_core
from ._learnt import LearntNumber, sourced, sourced_or_none
from ._names import Collected, LearningMethod
from ._posterior import SparsePosterior


@dataclass(frozen=True)
class Learnt:
    """What was learnt.

    ``evidence_upper_bound - elbo`` bounds how far the sparse posterior is from the exact one. The kernel remembers that it was learnt: intervals on the same
    responses are estimates. ``tau`` and the kernel's variance are in units of the posterior's ``unit``.

    >>> import numpy as np, sigmabar as sb
    >>> rng = np.random.default_rng(1)
    >>> X = rng.random((200, 1))
    >>> y = np.sin(8 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    >>> learnt = sb.fit_hyperparameters([sb.Matern(nu=2.5), sb.Linear()], X, y, starts=1)
    >>> learnt.template, learnt.kernel.source
    (0, 'learnt-here')
    >>> learnt.posterior.interval([[0.5]], 3.0, sb.Gaussian(learnt.tau)).certificate.label
    'estimated'
    """

    kernel: Kernel
    tau: float
    elbo: float
    evidence_upper_bound: float
    posterior: SparsePosterior
    template: int
    capped: bool = False

    def for_new_data(self) -> Learnt:
        """Kernel and ``tau`` for other responses than those they were learnt on: see :meth:`Kernel.for_new_data`."""
        tau = self.tau.for_new_data() if isinstance(self.tau, LearntNumber) else self.tau
        return replace(self, kernel=self.kernel.for_new_data(), tau=tau)

    @property
    def mean(self) -> float:
        """The prior mean."""
        return self.posterior.prior[0]


def fit_hyperparameters(
    kernel: Kernel | Sequence[Kernel],
    X: Any,
    y: Any,
    *,
    tau: float = 0.1,
    tau_limits: tuple[float, float] | None = None,
    max_inducing: int = 4000,
    method: LearningMethod = "rpcholesky",
    gap: float = 0.002,
    starts: int = 4,
    regularised: bool = True,
    learn_mean: bool = False,
    mean: float | None = 0.0,
    unit: float = 1.0,
    collected: Collected | None = None,
    exact_points: int = 1500,
    exact_steps: int = 25,
    rounds: int = 2,
    steps: int = 10,
    additive: bool = False,
    weights: Any = None,
    seed: int = 0,
) -> Learnt:
    """Learns the kernel's parameters and ``tau`` by evidence: exactly on up to ``exact_points`` points, then by the ELBO of more where that is close to the
    evidence, and fits everything once, with inducing points chosen by ``method`` until what they miss costs ``gap`` per observation, there are
    ``max_inducing``, or more would take longer than some ten seconds: ``capped`` says so.

    Of several kernels the one with the most evidence wins; with ``additive`` a sum over single columns is added where the evidence asks for it. A row of weight
    w has the noise variance ``tau**2 / w``. ``mean=None`` standardises the responses first. ``tau`` starts at what is given and stays within
    ``tau_limits``, in multiples of the responses' standard deviation (0.001 to 3 unless said).

    >>> import numpy as np, sigmabar as sb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 1))
    >>> y = np.sin(8 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    >>> learnt = sb.fit_hyperparameters(sb.SquaredExponential(), X, y)
    >>> 0.08 < learnt.tau < 0.12, learnt.elbo <= learnt.evidence_upper_bound
    (True, True)
    """
    is_several = isinstance(kernel, Sequence) and not isinstance(kernel, str)
    kernels: list[Any] = list(kernel) if is_several else [kernel]  # type: ignore[arg-type]
    options = {
        "tau": number(tau, "tau"),
        "tau_limits": None if tau_limits is None else tuple(number(limit, "tau_limits") for limit in pair(tau_limits, "tau_limits")),
        "max_inducing": count(max_inducing, "max_inducing"),
        "method": text(method, "method"),
        "gap": number(gap, "gap"),
        "starts": count(starts, "starts"),
        "seed": seed_of(seed),
        "regularised": flag(regularised, "regularised"),
        "learn_mean": flag(learn_mean, "learn_mean"),
        "exact_points": count(exact_points, "exact_points"),
        "exact_steps": count(exact_steps, "exact_steps"),
        "rounds": count(rounds, "rounds"),
        "steps": count(steps, "steps"),
        "additive": flag(additive, "additive"),
    }
    core, elbo, upper, template, capped = _core.fit_hyperparameters(
        [kernel_core(k) for k in kernels], *paired(X, y), text_or_none(collected, "collected"), sourced_or_none(mean, "mean"), sourced(unit, "unit"), options, beside(X, weights, "weights")
    )
    posterior = SparsePosterior._wrap(core)
    posterior._names = names_of(X)
    return Learnt(posterior.kernel, posterior.tau, elbo, upper, posterior, template, capped)
