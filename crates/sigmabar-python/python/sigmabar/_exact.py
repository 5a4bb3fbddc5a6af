"""The exact posterior."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arrays import Floats, names_of, paired, rows_named
from ._checks import count, flag, number, seed_of, text_or_none
from ._interval import Interval, check_claim, claim_from, interval_from
from ._kernels import Kernel, kernel_core
from ._learnt import LearntNumber, sourced, sourced_or_none
from ._names import Collected, Coverage, Side, Width
from ._noise import Noise


class ExactPosterior:
    """The Gaussian-process posterior itself, at n³ cost: for some thousand points, and to compare with.

    ``tau`` is the ridge: the standard deviation of the noise that the model assumes. ``collected`` says how the points came about: ``"fixed"`` (you
    declare that none was chosen by looking at a response, nor how many there are), ``"exchangeable"`` (rows were drawn alike) or ``"adaptive"``; ``"designed"``
    is your word too, and says the same as ``"fixed"``. Where nobody said, intervals are those that hold however the points were chosen, which are wider. Rows that are
    equal in every number count as one measurement written down twice, and nothing is certified, unless ``distinct_rows`` declares that they are measurements of their
    own, as a coarse instrument makes them. ``mean`` and ``unit`` are declared before the data; ``mean=None`` learns
    them, and intervals are then estimates. The model is of ``(y - mean) / unit``: the kernel's
    variance, ``tau``, norm bounds and noise are all in units of ``unit``, while means, standard deviations and intervals come in the units of ``y``.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 20)
    >>> p = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x))
    >>> p.predict([0.5])[0].round(2)
    array([0.14])

    In grams instead of kilograms, with nothing else changed:

    >>> g = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, 1000 * np.sin(6 * x), unit=1000.0)
    >>> claim = {"norm_bound": 3.0, "noise": sb.Gaussian(0.1)}
    >>> bool(np.allclose(g.interval([0.5], **claim).upper, 1000 * p.interval([0.5], **claim).upper))
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        tau: float,
        X: Any,
        y: Any,
        *,
        collected: Collected | None = None,
        distinct_rows: bool = False,
        mean: float | None = 0.0,
        unit: float = 1.0,
    ) -> None:
        self.kernel = kernel
        self.tau = tau
        self._names = names_of(X)
        # Copies, which no later change of the arrays reaches: the model is written down as what it was made of.
        points, values = (array.copy() for array in paired(X, y))
        how = (text_or_none(collected, "collected"), flag(distinct_rows, "distinct_rows"))
        self._made_of = (points, values, how, mean, unit)
        self._core = _core.ExactPosterior.fit(
            kernel_core(kernel),
            sourced(tau, "tau"),
            points,
            values,
            how,
            sourced_or_none(mean, "mean"),
            sourced(unit, "unit"),
        )

    def _rows(self, x: Any) -> Floats:
        return rows_named(x, self._names)

    def __reduce__(self) -> Any:
        return (_fitted_again, (self.kernel, self.tau, *self._made_of, self._names))

    def __len__(self) -> int:
        return len(self._made_of[1])

    def __repr__(self) -> str:
        return f"<ExactPosterior of {len(self)} observations, {self.kernel!r}, tau={self.tau:g}>"

    def mean(self, x: Any) -> Floats:
        """The mean at each point."""
        return self._core.mean(self._rows(x))

    def std(self, x: Any) -> Floats:
        """The standard deviation at each point."""
        return self._core.std(self._rows(x))

    def predict(self, x: Any) -> tuple[Floats, Floats]:
        """Mean and standard deviation."""
        queries = self._rows(x)
        return self._core.mean(queries), self._core.std(queries)

    def covariance(self, x: Any) -> Floats:
        """The covariance of the values at the points."""
        return self._core.covariance(self._rows(x))

    def weights(self, x: Any) -> Floats:
        """One row for each point: the mean is these weights times the responses."""
        return self._core.weights(self._rows(x))

    def sample(self, x: Any, size: int = 1, seed: int = 0) -> Floats:
        """``size`` draws of the function at the points, one per row."""
        return self._core.sample(self._rows(x), count(size, "size"), seed_of(seed))

    def interval(
        self,
        x: Any,
        norm_bound: float,
        noise: Noise,
        delta: float = 0.05,
        *,
        side: Side = "both",
        method: Width = "tight",
        coverage: Coverage = "point",
        domain: tuple[Any, Any] | None = None,
        norm_estimated: bool = False,
    ) -> Interval:
        """As :meth:`SparsePosterior.interval`, with nothing missed, and plainer: mostly wider than that of a sparse posterior whose inducing points are all the points.

        It takes the one ridge ``tau`` and two one-sided quantiles at each point, a union bound over the queries of ``coverage="points"``, the norm of all the noise for
        ``"uniform"``, and the energy band of undeclared or adaptive points at the ridge ``tau`` alone. The sparse one also tries other ridges, uses that the bias has one
        sign, simulates normal noise, and cuts ``"uniform"`` bands out of an ellipsoid (algorithm notes 14). ``"continuous"`` belongs to the sparse one.
        """
        claim = claim_from(norm_bound, noise, delta, side, method, coverage, domain, norm_estimated=norm_estimated)
        return interval_from(self._core.interval(self._rows(x), claim))

    def prediction_interval(
        self,
        x: Any,
        norm_bound: float | None = None,
        noise: Noise | None = None,
        delta: float = 0.05,
        *,
        new_noise: Noise | None = None,
        side: Side = "both",
        method: Width = "tight",
        coverage: Coverage = "point",
        domain: tuple[Any, Any] | None = None,
        norm_estimated: bool = False,
    ) -> Interval:
        """As :meth:`SparsePosterior.prediction_interval`, with nothing missed. Without ``norm_bound`` and ``noise``, every row is left out in turn: for exchangeable
        rows the interval holds with probability ``1 - 2 * delta`` at least, the certificate says with which, and the label is "conformal" unless kernel, ``tau`` or mean were learnt from these rows.

        >>> import numpy as np, sigmabar as sb
        >>> x = np.random.default_rng(0).random(50)
        >>> y = np.sin(6 * x) + 0.1 * np.random.default_rng(1).standard_normal(50)
        >>> iv = sb.ExactPosterior(sb.SquaredExponential(0.3), 0.1, x, y).prediction_interval([0.5])
        >>> iv.label, round(iv.certificate.delta, 4)
        ('conformal', 0.0588)
        """
        check_claim(norm_bound, noise, coverage, side, new_noise)
        if norm_bound is None:
            return interval_from(self._core.left_out_interval(self._rows(x), number(delta, "delta")))
        claim = claim_from(
            norm_bound, noise, delta, side, method, coverage, domain, norm_estimated=norm_estimated, new_noise=new_noise
        )
        return interval_from(self._core.prediction_interval(self._rows(x), claim))

    @property
    def log_evidence(self) -> float:
        """The logarithm of the responses' density under the model."""
        return self._core.log_evidence()

    @property
    def information_gain(self) -> float:
        """``log det(I + K / tau**2) / 2``."""
        return self._core.information_gain()

    @property
    def effective_dimension(self) -> float:
        """``tr K (K + tau**2 I)^-1``."""
        return self._core.effective_dimension()

    @property
    def norm(self) -> float:
        """The norm of the mean, in the model's scale. Learnt from the responses: as a norm bound it makes an estimate."""
        return LearntNumber(self._core.norm(), "learnt-here", _core.seen_hashes(*self._made_of[:2]))


def _fitted_again(
    kernel: Kernel, tau: float, X: Floats, y: Floats, how: tuple[Collected | None, bool], mean: float | None, unit: float, names: list[str] | None = None
) -> ExactPosterior:
    posterior = ExactPosterior(kernel, tau, X, y, collected=how[0], distinct_rows=how[1], mean=mean, unit=unit)
    posterior._names = names
    return posterior
