"""Inducing points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import Floats, rows, rows_named
from ._checks import count, count_or_none, number, number_or_none, seed_of, text
from ._kernels import Kernel, kernel_core, learnt_parameters
from ._learnt import LearntPoints, source_of
from ._names import InducingMethod


@dataclass(frozen=True)
class Inducing:
    """Inducing points as a rule chose them.

    ``residual_norm`` bounds what they miss at the data, the largest eigenvalue of ``k - kappa`` there, and ``residual_norm_kind`` says how it was obtained;
    both are ``None`` for rules that do not compute one on the way (see :meth:`SparsePosterior.residual_norm`). ``source`` is ``"chosen"``: no response was looked at;
    with a kernel or ``tau`` that was learnt it is what they are.

    >>> import numpy as np, sigmabar as sb
    >>> ind = sb.select_inducing(sb.Matern(nu=2.5, lengthscale=0.5), np.linspace(0, 1, 100), 0.1, method="uniform", size=7)
    >>> len(ind), ind.points.shape, ind.residual_norm is None
    (7, (7, 1), True)
    """

    points: Floats
    indices: NDArray[np.int64] | None
    residual_norm: float | None
    residual_norm_kind: str | None
    source: str = "chosen"
    _seen: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.points)


def select_inducing(
    kernel: Kernel,
    X: Any,
    tau: float,
    *,
    method: InducingMethod = "greedy",
    size: int | None = None,
    theta: float | None = 0.1,
    delta: float = 0.01,
    oversampling: float = 5.0,
    steps: int = 10_000,
    subsample: int | None = None,
    seed: int = 0,
) -> Inducing:
    """Chooses inducing points among the rows of ``X``, without looking at a response.

    ``method`` is one of ``"uniform"``, ``"kmeans"``, ``"greedy"``, ``"rpcholesky"``, ``"rls"``, ``"recursive-rls"``, ``"recursive-rls-theory"``, ``"bless"``,
    ``"density-rls"``, ``"posterior-variance"``, ``"kdpp"``, ``"kdpp-mcmc"``. ``"greedy"`` and ``"rpcholesky"`` stop when what is missed is certified to be at
    most ``theta * tau**2``, or at ``size`` points, whichever comes first (``theta=None``: at ``size``); ``"recursive-rls-theory"`` takes ``delta``, ``"bless"``
    and ``"posterior-variance"`` take ``oversampling``, ``"kdpp-mcmc"`` takes ``steps``, and the others need ``size``. ``subsample`` chooses among that many
    rows of ``X`` and certifies on all of them.

    >>> import numpy as np, sigmabar as sb
    >>> X = np.linspace(0, 1, 500)
    >>> ind = sb.select_inducing(sb.SquaredExponential(0.2), X, tau=0.1)
    >>> len(ind) < 20, ind.residual_norm <= 0.1 * 0.1**2, np.array_equal(X[ind.indices, None], ind.points)
    (True, True, True)
    """
    options = {
        "method": text(method, "method"),
        "size": count_or_none(size, "size"),
        "theta": number_or_none(theta, "theta"),
        "delta": number(delta, "delta"),
        "oversampling": number(oversampling, "oversampling"),
        "steps": count(steps, "steps"),
        "subsample": count_or_none(subsample, "subsample"),
    }
    points, indices, norm = _core.select_inducing(kernel_core(kernel), rows(X), number(tau, "tau"), options, seed_of(seed))
    value, kind = norm if norm is not None else (None, None)
    source, seen = source_of([tau, *learnt_parameters(kernel)])
    return Inducing(points, indices, value, kind, "chosen" if source == "declared" else source, tuple(seen))


def inducing_points(inducing: Any, names: list[str] | None = None) -> tuple[Floats, str, list[int]]:
    """The points of an array, a table with these columns, or the result of :func:`select_inducing`, where they came from, and the rows that what chose them was learnt on."""
    if isinstance(inducing, Inducing):
        return np.asarray(inducing.points), inducing.source, list(inducing._seen)
    if isinstance(inducing, LearntPoints):
        return rows(inducing, "inducing points"), inducing.source, list(inducing._seen)
    return rows_named(inducing, names, "inducing points"), "declared", []
