"""Posteriors: what is known about the function after measuring."""

from __future__ import annotations

import json
import warnings
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats, beside, names_of, paired, rows_named, vector
from ._certificate import Certificate, warned
from ._checks import count, flag, number, saved, seed_of, text, text_or_none
from ._core import Error
from ._exact import _fitted_again as _fitted_again  # pickles of earlier versions look for it here
from ._inducing import inducing_points
from ._interval import Interval, check_claim, claim_from, interval_from
from ._kernels import Kernel, kernel_core
from ._known import Bracket, Breakdown, IntervalCurve, ResidualNorm, VarianceParts, Variational
from ._learnt import LearntNumber, marked, marked_points, sourced, sourced_or_none
from ._names import Collected, Coverage, NormKind, Side, Width
from ._noise import Noise


class SparsePosterior:
    """The sparse posterior: Nyström ridge regression and the sparse Gaussian process with its best variational law are one predictor, and this is it.

    ``inducing`` is an array or the result of :func:`select_inducing`; the other arguments are those of :class:`ExactPosterior`. A row of weight w has the noise
    variance ``tau**2 / w``. Cost n m² for m inducing points.

    >>> import numpy as np, sigmabar as sb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(2000)
    >>> k = sb.SquaredExponential(0.3)
    >>> p = sb.SparsePosterior(k, 0.1, X, y, inducing=sb.select_inducing(k, X, 0.1))
    >>> mean, std = p.predict([[0.5, 0.5]])
    >>> bool(abs(mean[0] - np.sin(3) - 0.5) < 0.05)
    True
    >>> parts = p.variance_parts([[0.5, 0.5]])
    >>> bool(np.isclose(sum(parts), std**2)[0])
    True
    """

    _facts: Mapping[str, Any] = {}
    _names: list[str] | None = None
    _calibrated: tuple[Mapping[str, Any], _core.Conformal | None] | None = None

    def __init__(
        self,
        kernel: Kernel,
        tau: float,
        X: Any,
        y: Any,
        *,
        inducing: Any,
        collected: Collected | None = None,
        distinct_rows: bool = False,
        mean: float | None = 0.0,
        unit: float = 1.0,
        weights: Any = None,
    ) -> None:
        self._names = names_of(X)
        self._core = _core.Posterior.fit(
            kernel_core(kernel),
            sourced(tau, "tau"),
            *paired(X, y),
            inducing_points(inducing, self._names),
            (text_or_none(collected, "collected"), flag(distinct_rows, "distinct_rows")),
            sourced_or_none(mean, "mean"),
            sourced(unit, "unit"),
            beside(X, weights, "weights"),
        )

    @classmethod
    def _wrap(cls, core: _core.Posterior) -> SparsePosterior:
        posterior = cls.__new__(cls)
        posterior._core = core
        return posterior

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return Kernel._wrap(self._core.kernel())

    @property
    def tau(self) -> float:
        """The ridge; a :class:`LearntNumber` if it was learnt."""
        value, source = self._core.tau()
        return marked(value, source, self._learnt_on(source))

    @property
    def inducing(self) -> Floats:
        """The inducing points in use: those given, without those that others already explain. Where what chose them was learnt they are marked: a model made with them says so."""
        source = self._core.inducing_source()
        return marked_points(self._core.inducing(), source, self._learnt_on(source))

    @property
    def prior(self) -> tuple[float, float, bool]:
        """Prior mean, unit, and whether they were learnt. Kernel variance, ``tau``, norm bounds and noise are in units of the unit."""
        mean, unit, source = self._core.prior()
        seen = self._learnt_on(source)
        return marked(mean, source, seen), marked(unit, source, seen), source != "declared"

    def _rows(self, x: Any) -> Floats:
        return rows_named(x, self._names)

    def _learnt_on(self, source: str) -> list[int]:
        """The rows that something of this source was learnt on."""
        rows, learnt_on = self._core.seen()
        return [*rows, *learnt_on] if source == "learnt-here" else learnt_on

    def _certificate(self, text: str) -> Certificate:
        """A certificate about these rows."""
        return Certificate(text, tuple(self._learnt_on("learnt-here")))

    def __len__(self) -> int:
        return self._core.observations()

    def __repr__(self) -> str:
        return f"<SparsePosterior of {len(self)} observations with {len(self.inducing)} inducing points, {self.kernel!r}, tau={self.tau:g}>"

    def mean(self, x: Any) -> Floats:
        """The mean at each point: by far the cheapest question."""
        return self._core.mean(self._rows(x))

    def std(self, x: Any) -> Floats:
        """The standard deviation at each point."""
        return self._core.std(self._rows(x))

    def predict(self, x: Any) -> tuple[Floats, Floats]:
        """Mean and standard deviation."""
        return self._core.predict(self._rows(x))

    def covariance(self, x: Any) -> Floats:
        """The covariance of the values at the points."""
        return self._core.covariance(self._rows(x))

    def variance_parts(self, x: Any) -> VarianceParts:
        """Where the variance comes from."""
        return VarianceParts(*self._core.variance_parts(self._rows(x)))

    def weights(self, x: Any) -> Floats:
        """One row for each point, one column for each observation: the mean is these weights times the responses (less their prior mean)."""
        return self._core.weights(self._rows(x))

    def sample(self, x: Any, size: int = 1, seed: int = 0) -> Floats:
        """``size`` draws of the function at the points, one per row."""
        return self._core.sample(self._rows(x), count(size, "size"), seed_of(seed))

    def update(self, x: Any, y: Any, *, collected: Collected | None = None) -> None:
        """Takes in more observations, a block at a time; all or, on an error, none. Rows where there are no inducing points are told of by a warning. Unless ``collected`` declares it again, nobody vouches for the points from here on.

        >>> import sigmabar as sb
        >>> p = sb.SparsePosterior(sb.Matern(lengthscale=0.5), 0.1, [0.0], [1.0], inducing=[0.0, 1.0])
        >>> p.update([1.0, 1.0], [2.0, 2.2])
        >>> len(p)
        3
        """
        unexplained = self._core.update(self._rows(x), paired(x, y if hasattr(y, "__len__") else [y])[1], text_or_none(collected, "collected"))
        # How the model did before says nothing about this one; whoever makes errors of warnings gets one here.
        self._facts = {key: fact for key, fact in self._facts.items() if key not in ("scores", "held_out", "calibration", "parts")}
        if unexplained:
            warnings.warn(
                f"{unexplained} of the new rows lie where the inducing points explain less than half of the function's variance: the model learns little there; "
                "fit again with inducing points among them",
                stacklevel=2,
            )

    @property
    def variational(self) -> Variational:
        """Mean and covariance of the values at the inducing points."""
        return Variational(*self._core.variational())

    def residual_norm(
        self, kind: NormKind = "best", *, pivots: int = 64, steps: int = 30, failure: float = 1e-3, seed: int = 0
    ) -> ResidualNorm:
        """A certified bound on what the inducing points miss at the data: ``kind`` is ``"trace"``, ``"lookahead"`` (with ``pivots``), ``"dense"``,
        ``"randomised"`` (with ``steps``, ``failure`` and ``seed``) or ``"best"``, which chooses.

        >>> import numpy as np, sigmabar as sb
        >>> x = np.linspace(0, 1, 100)
        >>> p = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, x, np.cos(x), inducing=x[::20])
        >>> p.residual_norm("dense").value <= p.residual_norm("trace").value
        True
        """
        return ResidualNorm(*self._core.residual_norm(text(kind, "kind"), count(pivots, "pivots"), count(steps, "steps"), number(failure, "failure"), seed_of(seed)))

    @property
    def effective_dimension(self) -> Bracket:
        """The effective dimension of the exact model, from both sides."""
        return Bracket(*self._core.effective_dimension())

    @property
    def information_gain(self) -> Bracket:
        """The information gain of the exact model, from both sides."""
        return Bracket(*self._core.information_gain())

    @property
    def elbo(self) -> float:
        """The evidence lower bound."""
        return self._core.elbo()

    def elbo_gradient(self) -> tuple[float, Floats, float, float]:
        """The ELBO with its derivatives by the logarithms of the kernel's parameters (in the order of :attr:`Kernel.parameters`) and of ``tau``, and by the
        prior mean."""
        return self._core.elbo_gradient()

    @property
    def log_evidence(self) -> Bracket:
        """The log evidence of the exact model: the ELBO below, a certified bound above, both rounded outwards."""
        return Bracket(*self._core.log_evidence())

    @property
    def norm(self) -> float:
        """The norm of the mean, in the model's scale. Learnt from the responses: as a norm bound it makes an estimate."""
        return LearntNumber(self._core.norm(), "learnt-here", self._learnt_on("learnt-here"))

    def interval(
        self,
        x: Any,
        norm_bound: float | None = None,
        noise: Noise | None = None,
        delta: float = 0.05,
        *,
        side: Side = "both",
        method: Width = "tight",
        coverage: Coverage = "point",
        domain: tuple[Any, Any] | None = None,
        norm_estimated: bool = False,
    ) -> Interval:
        """``lower <= f(x) <= upper`` with probability at least ``1 - delta`` in total, if the norm of ``f`` (less the prior mean) is at most ``norm_bound`` and
        the noise is as said, both in units of ``unit`` (1 unless the posterior was made with another).

        ``side`` is ``"both"``, ``"lower"`` or ``"upper"``; ``method`` ``"tight"`` (the narrowest that is valid), ``"paper"``, ``"drop-in"`` or ``"energy"``;
        ``coverage`` ``"point"`` (each query by itself), ``"points"`` (all queries at once), ``"uniform"`` (every point there is) or ``"continuous"`` (every
        point of ``domain=(low, high)``). A norm bound that was ``norm_estimated`` makes the interval an estimate.

        A twentieth of ``delta`` pays for a check of the premises against the data: a contradiction is a :class:`ContradictionWarning`, and nothing is certified
        then. Ends that do not meet ``±norm_bound * sqrt(k(x, x))``, between which every function of that norm lies, are a contradiction too, and are paid for by the
        rest: where the premises are true, the interval has missed. So true premises are contradicted more often than ``delta / 20`` says (up to .04 was seen at ``delta = 0.1``), while
        false and contradicted together stay within ``delta``: for ``coverage="point"`` at each query, and ends at any query contradict the premises of all.

        Without ``norm_bound`` and ``noise`` the interval is the model's own normal one, an estimate. What a claim needs is prepared once for as long as
        the same is asked.

        >>> import numpy as np, sigmabar as sb
        >>> x = np.linspace(0, 1, 50)
        >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::5], collected="fixed")
        >>> iv = p.interval([0.25], norm_bound=3.0, noise=sb.Gaussian(0.1))
        >>> bool(iv.lower[0] <= np.sin(1.5) <= iv.upper[0]), iv.certificate.label
        (True, 'certified')
        >>> print(str(iv.certificate).splitlines()[0])
        certified: lower ≤ f ≤ upper at each point asked for by itself, wrong with probability at most 0.05
        >>> p.interval([0.25]).label
        'estimated'
        """
        check_claim(norm_bound, noise, coverage, side)
        conformal = self._conformal() if norm_bound is None else None
        if conformal is not None:
            return interval_from(conformal.function(self._core, self._rows(x), number(delta, "delta")))
        claim = claim_from(norm_bound, noise, delta, side, method, coverage, domain, norm_estimated=norm_estimated)
        return interval_from(self._core.interval(self._rows(x), claim))

    def breakdown(self, x: Any, threshold: float, norm_bound: float, noise: Noise, delta: float = 0.05) -> Breakdown:
        """For each point the largest norm bound, and the largest noise level at ``norm_bound``, under which its interval still lies on the same side of ``threshold``: "above 80"
        then stands for every function of norm up to this, at all points at once. NaN where the interval does not exclude the threshold, and where the data contradict the premises;
        looked for up to 8 times what was said. Noise levels that differ from row to row are no one level, and have none.

        >>> import numpy as np, sigmabar as sb
        >>> x = np.linspace(0, 1, 200)
        >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::10], collected="fixed")
        >>> found = p.breakdown([0.25, 0.52], 0.0, norm_bound=3.0, noise=sb.Gaussian(0.1))
        >>> (above, unclear), (level, _) = found.norms, found.levels
        >>> bool(above >= 3.0), bool(np.isnan(unclear)), bool(level >= 0.1)
        (True, True, True)
        """
        claim = claim_from(norm_bound, noise, delta)
        norms, levels, certificate = self._core.breakdown(self._rows(x), claim, number(threshold, "threshold"))

        def ends(found: list[float | None]) -> Floats:
            return np.array([np.nan if end is None else end for end in found])

        return Breakdown(ends(norms), ends(levels), warned(self._certificate(certificate)))

    def interval_curve(self, x: Any, norm_bound: float, noise: Noise, delta: float = 0.05) -> IntervalCurve:
        """The interval at each point as a function of the norm bound, around ``norm_bound``: it holds for every function of norm up to that, all norms at once.

        >>> import numpy as np, sigmabar as sb
        >>> x = np.linspace(0, 1, 200)
        >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::10], collected="fixed")
        >>> c = p.interval_curve([0.25, 0.5], norm_bound=3.0, noise=sb.Gaussian(0.1))
        >>> c.lower.shape, bool(np.all(np.diff(c.width[np.isfinite(c.width[:, 0])], axis=0) >= 0))
        ((20, 2), True)
        """
        return self.interval_map(x, norm_bound, noise, (1.0,), delta)[1.0]

    def interval_map(
        self, x: Any, norm_bound: float, noise: Noise, factors: Sequence[float] = (0.5, 0.7, 1.0, 1.4, 2.0), delta: float = 0.05
    ) -> dict[float, IntervalCurve]:
        """The curve with all length-scales of the kernel multiplied by each factor: if the function is of that kernel, its intervals are these. Each factor is a claim of
        its own.

        >>> import numpy as np, sigmabar as sb
        >>> x = np.linspace(0, 1, 200)
        >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::10], collected="fixed")
        >>> curves = p.interval_map([0.25], norm_bound=3.0, noise=sb.Gaussian(0.1), factors=[0.5, 1.0])
        >>> bool(np.nanmin(curves[0.5].width - curves[1.0].width) > 0)
        True
        """
        points, claim = self._rows(x), claim_from(norm_bound, noise, delta)
        return {factor: self._curve(points, claim, number(factor, "factor")) for factor in factors}

    def _curve(self, points: Floats, claim: _core.Claim, factor: float) -> IntervalCurve:
        found, slopes, certificate = self._core.interval_curve(points, claim, factor)
        ends = np.array([[(np.nan, np.nan)] * len(points) if ends is None else ends for _, ends in found])
        per = np.full((len(points), 2), np.nan) if slopes is None else np.array(slopes)
        norms, said = np.array([norm for norm, _ in found]), warned(self._certificate(certificate))
        return IntervalCurve(norms, ends[:, :, 0], ends[:, :, 1], said, per[:, 0], per[:, 1])

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
        """The same for a *new noisy response* at each point instead of the function; ``new_noise`` (in units of ``unit`` too) where it differs from the data's.

        >>> import numpy as np, sigmabar as sb
        >>> x = np.linspace(0, 1, 50)
        >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::5])
        >>> about_f, about_y = (m([0.5], 3.0, sb.Gaussian(0.1)) for m in (p.interval, p.prediction_interval))
        >>> bool(about_y.width[0] > about_f.width[0])
        True
        """
        check_claim(norm_bound, noise, coverage, side, new_noise)
        conformal = self._conformal() if norm_bound is None else None
        if conformal is not None:
            return interval_from(conformal.response(self._core, self._rows(x), number(delta, "delta")))
        claim = claim_from(
            norm_bound, noise, delta, side, method, coverage, domain, norm_estimated=norm_estimated, new_noise=new_noise
        )
        return interval_from(self._core.prediction_interval(self._rows(x), claim))

    def _conformal(self) -> _core.Conformal | None:
        """What calibrates intervals without premises: rows kept from the model, or all of them in parts, as ``sigmabar fit`` wrote it. Read once for as long as the facts are the same."""
        if self._calibrated is None or self._calibrated[0] is not self._facts:
            calibration, parts = self._facts.get("calibration"), self._facts.get("parts")
            found = None
            if calibration is not None:
                found = _core.Conformal.saved(self._core, json.dumps(calibration))
            elif parts:
                found = _core.Conformal.from_folds([(b64decode(part["posterior"]), json.dumps(part["calibration"])) for part in parts])
            self._calibrated = self._facts, found
        return self._calibrated[1]

    def least_norm(self, noise: Noise, delta: float = 0.05) -> float:
        """The smallest norm bound that the data do not contradict, in units of ``unit`` as the noise is: a claim with less is refuted by them."""
        least = self._core.norm_check(claim_from(None, noise, delta, "both", "tight", "point", None))[0]
        return LearntNumber(least, "learnt-here", self._learnt_on("learnt-here"))

    @property
    def facts(self) -> dict[str, Any]:
        """What was written beside the model when it was saved: its columns and target, and for one of ``sigmabar fit`` how it did on unseen rows. Not the models of the parts by which
        few rows calibrate, which are long."""
        return {key: fact for key, fact in self._facts.items() if key != "parts"}

    def save(
        self,
        *,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        norm_bound: float | None = None,
        noise: Noise | None = None,
    ) -> bytes:
        """The model as bytes: written to a file, ``sigmabar predict`` reads it, as :meth:`load` reads what ``sigmabar fit`` wrote.

        The command finds the columns of a table by name: ``c0``, ``c1``, … unless ``columns`` names them. With ``norm_bound`` and ``noise``, declared as for
        :meth:`interval`, its intervals are theorems.

        >>> import sigmabar as sb
        >>> p = sb.SparsePosterior(sb.Matern(lengthscale=0.5), 0.1, [0.0, 0.5], [1.0, 2.0], inducing=[0.0, 1.0])
        >>> again = sb.SparsePosterior.load(p.save(columns=["angle"], target="drag"))
        >>> again.facts["target"], bool(again.mean([0.2]) == p.mean([0.2]))
        ('drag', True)
        """
        facts = dict(self._facts)
        if columns is not None:
            names = [text(name, "columns") for name in columns]
            if len(names) != self._core.columns():
                raise Error(f"{len(names)} columns are named, and the model has {self._core.columns()}")
            facts["features"] = [{"name": name, "categories": None} for name in names]
        if target is not None:
            facts["target"] = text(target, "target")
        if noise is not None and noise.source != "declared" or isinstance(norm_bound, LearntNumber):
            raise Error("a model file holds what is declared, and this norm bound or noise was learnt: leave it out, or declare a plain number")
        if norm_bound is not None:
            facts["norm_bound"] = number(norm_bound, "norm_bound")
        if noise is not None:
            facts["noise"] = json.loads(noise._core.to_json())
        return self._core.to_bytes(json.dumps(facts) if facts else "")

    @classmethod
    def load(cls, data: bytes) -> SparsePosterior:
        """A saved model.

        >>> import sigmabar as sb
        >>> p = sb.SparsePosterior(sb.Matern(lengthscale=0.5), 0.1, [0.0, 0.5], [1.0, 2.0], inducing=[0.0, 1.0])
        >>> bool(sb.SparsePosterior.load(p.save()).mean([0.2]) == p.mean([0.2]))
        True
        """
        return cls._restored(saved(data, "data"), ([], []))

    @classmethod
    def _restored(cls, data: bytes, seen: tuple[list[int], list[int]], names: list[str] | None = None) -> SparsePosterior:
        core, remark = _core.Posterior.from_bytes(data, seen)
        posterior = cls._wrap(core)
        return posterior._with_facts(json.loads(remark) if remark else {}, names)

    def _with_facts(self, facts: dict[str, Any], names: list[str] | None = None) -> SparsePosterior:
        """With what was written beside it, the names of its columns among it."""
        self._facts, self._names = facts, names or [feature["name"] for feature in facts.get("features") or []] or None
        return self

    def __reduce__(self) -> Any:
        return (SparsePosterior._restored, (self.save(), self._core.seen(), self._names))
