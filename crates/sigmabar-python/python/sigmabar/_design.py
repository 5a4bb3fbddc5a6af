"""Where to measure, to learn the function everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import Floats, floats, rows
from ._checks import count as whole
from ._certificate import Certificate
from ._checks import count_or_none, number, number_or_none, text_or_none
from ._inducing import inducing_points
from ._interval import claim_from
from ._kernels import Kernel, kernel_core
from ._learnt import sourced
from ._names import Collected
from ._noise import Noise, as_noise


class UniformError(NamedTuple):
    """How far the function can be from the middle of its interval, at all candidates at once, and what that rests on.

    >>> import numpy as np, sigmabar as sb
    >>> d = sb.max_variance_design(sb.Matern(nu=2.5, lengthscale=0.4), 0.1, np.linspace(0, 1, 50), 20)
    >>> print(d.uniform_error(norm_bound=2.0, noise=sb.Gaussian(0.1)).certificate.premises["points"].statement)
    points were designed without seeing a response
    """

    bound: float
    certificate: Certificate

    @property
    def label(self) -> str:
        """``"certified"`` or ``"estimated"``."""
        return self.certificate.label


class ErrorCurve(NamedTuple):
    """The uniform error under each norm bound, and the certificate of what is claimed at the declared one.

    >>> import numpy as np, sigmabar as sb
    >>> d = sb.max_variance_design(sb.SquaredExponential(0.3), 0.1, np.linspace(0, 1, 50), 20)
    >>> d.error_map(norm_bound=1.0, noise=0.1, factors=[0.7])[0.7].errors.shape
    (20,)
    """

    norm_bounds: Floats
    errors: Floats
    certificate: Certificate


class Design:
    """Points to measure, and what measuring them guarantees before any response is seen.

    >>> import numpy as np, sigmabar as sb
    >>> d = sb.max_variance_design(sb.SquaredExponential(0.3), 0.1, np.linspace(0, 1, 200), 20)
    >>> y = np.sin(6 * d.points[:, 0])
    >>> p = sb.SparsePosterior(sb.SquaredExponential(0.3), 0.1, d.points, y, inducing=d.inducing, collected="designed")
    >>> bool(p.std(np.linspace(0, 1, 200)).max() <= d.max_std * (1 + 1e-9))
    True
    """

    def __init__(self, core: _core.Design) -> None:
        self._core = core

    @property
    def indices(self) -> NDArray[np.int64]:
        """Which candidates, in the order chosen; repeats are replicates. For a box they number the distinct points."""
        return self._core.indices()

    @property
    def points(self) -> Floats:
        """The points, in the order chosen."""
        return self._core.points()

    @property
    def inducing(self) -> Floats:
        """The inducing points that the design was made with: fit with these."""
        return self._core.inducing()

    @property
    def max_std(self) -> float:
        """The largest standard deviation left over the domain."""
        return self._core.max_std()

    @property
    def bound(self) -> float:
        """The a-priori bound on it."""
        return self._core.bound()

    def uniform_error(self, norm_bound: float, noise: Noise | float, delta: float = 0.05, *, wanted: float | None = None) -> UniformError:
        """A bound on how far the function is from the middle of its interval at all candidates at once, with probability at least ``1 - delta``.

        Never above ``norm_bound`` times the prior's largest standard deviation, which is known without measuring. ``certificate.range`` says up to which norm and up to which
        noise twice as much stands, or the error that is ``wanted``, where it is reached.

        >>> import numpy as np, sigmabar as sb
        >>> d = sb.max_variance_design(sb.SquaredExponential(0.3), 0.1, np.linspace(0, 1, 200), 200)
        >>> r = d.uniform_error(norm_bound=1.0, noise=0.1, wanted=0.2).certificate.range
        >>> r.norm_breakdown > 1.0, bool(np.isclose(d.uniform_error(r.norm_breakdown, 0.1).bound, 0.2))
        (True, True)
        >>> r.noise_breakdown > 0.1, bool(np.isclose(d.uniform_error(1.0, r.noise_breakdown).bound, 0.2))
        (True, True)
        """
        claim = claim_from(norm_bound, as_noise(noise), delta)
        bound, certificate = self._core.uniform_error(claim, number_or_none(wanted, "wanted"))
        return UniformError(bound, Certificate(certificate))

    def error_curve(self, norm_bound: float, noise: Noise | float, delta: float = 0.05) -> tuple[Floats, Floats]:
        """Norm bounds around ``norm_bound``, and the uniform error under each: it holds for every function of norm up to that.

        >>> import numpy as np, sigmabar as sb
        >>> d = sb.max_variance_design(sb.SquaredExponential(0.3), 0.1, np.linspace(0, 1, 200), 200)
        >>> norms, errors = d.error_curve(norm_bound=1.0, noise=0.1)
        >>> bool(np.all(np.diff(errors) > 0)), bool(np.isclose(errors[norms == 1.0][0], d.uniform_error(1.0, 0.1).bound))
        (True, True)
        """
        norms, errors, _ = self.error_map(norm_bound, noise, (1.0,), delta)[1.0]
        return norms, errors

    def error_map(
        self, norm_bound: float, noise: Noise | float, factors: Sequence[float] = (0.5, 0.7, 1.0, 1.4, 2.0), delta: float = 0.05
    ) -> dict[float, ErrorCurve]:
        """The curve with all length-scales of the kernel multiplied by each factor: if the function is of that kernel, a fit with it, ``tau`` and :attr:`inducing` is no farther
        off. Each factor is a claim of its own.

        >>> import numpy as np, sigmabar as sb
        >>> d = sb.max_variance_design(sb.SquaredExponential(0.3), 0.1, np.linspace(0, 1, 200), 40)
        >>> rows = d.error_map(norm_bound=1.0, noise=0.1, factors=[0.5, 1.0])
        >>> bool(np.all(rows[0.5].errors >= rows[1.0].errors)), rows[0.5].certificate.label
        (True, 'certified')
        """
        asked = [number(factor, "factor") for factor in factors]
        found = self._core.error_map(claim_from(norm_bound, as_noise(noise), delta), asked)
        curves = ((np.array(curve), Certificate(certificate)) for curve, certificate in found)
        return {factor: ErrorCurve(curve[:, 0], curve[:, 1], certificate) for factor, (curve, certificate) in zip(asked, curves)}

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"<Design of {len(self)} points, largest std left {self.max_std:.4g} (bound {self.bound:.4g})>"


def max_variance_design(
    kernel: Kernel,
    tau: float,
    candidates: Any,
    count: int,
    *,
    inducing: Any = None,
    max_inducing: int | None = None,
    share: float | None = None,
    measured: Any = None,
    collected: Collected | None = None,
    running: Any = None,
    slack: float = 0.01,
) -> Design:
    """Chooses ``count`` points one after the other where the standard deviation is largest: exactly the brute-force choice, found lazily.

    ``candidates`` is an array of points, or a box ``(low, high)``, where every choice is within ``1 + slack`` of the largest. ``inducing`` fixes the inducing
    points; without it they grow as needed, up to ``max_inducing``, aiming at ``share`` of ``tau**2``. Points already ``measured`` and points still
    ``running`` count as known; unless ``collected="fixed"`` declares that the former were not chosen by looking at responses, bounds are estimates.

    >>> import numpy as np, sigmabar as sb
    >>> grid = np.stack(np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30)), -1).reshape(-1, 2)
    >>> d = sb.max_variance_design(sb.Matern(nu=2.5, lengthscale=0.4), 0.1, grid, 40)
    >>> len(d), d.max_std <= d.bound, bool((grid[d.indices] == d.points).all())
    (40, True, True)
    >>> error = d.uniform_error(norm_bound=2.0, noise=sb.Gaussian(0.1))
    >>> error.bound < 2.0, error.label
    (True, 'certified')
    """
    options = {
        "inducing": None if inducing is None else inducing_points(inducing)[0],
        "max_inducing": count_or_none(max_inducing, "max_inducing"),
        "share": number_or_none(share, "share"),
        "measured": None if measured is None else rows(measured, "measured points"),
        "collected": text_or_none(collected, "collected"),
        "running": None if running is None else rows(running, "running points"),
    }
    core, ridge, count = kernel_core(kernel), sourced(tau, "tau"), whole(count, "count")
    if isinstance(candidates, tuple):
        if len(candidates) != 2:
            raise _core.Error(f"a box is a tuple of two corners, (low, high), not of {len(candidates)}; candidates are an array")
        low, high = (np.array([floats(corner, "corners")]) for corner in candidates)
        return Design(_core.max_variance_design_in_box(core, ridge, low, high, count, number(slack, "slack"), options))
    return Design(_core.max_variance_design(core, ridge, rows(candidates, "candidates"), count, options))
