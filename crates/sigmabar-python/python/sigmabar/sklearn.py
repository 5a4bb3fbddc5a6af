"""The regressor for scikit-learn.

>>> import numpy as np
>>> from sklearn.model_selection import cross_val_score
>>> from sigmabar.sklearn import SparseKernelRegressor
>>> rng = np.random.default_rng(0)
>>> X = rng.random((300, 2))
>>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(300)
>>> bool(cross_val_score(SparseKernelRegressor(random_state=0), X, y, cv=3).mean() > 0.9)
True
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _core
from ._arrays import Floats
from ._categories import Categories, place_of
from ._checks import count, labels_of, number, refuse_lost, refuse_masked, refuse_reordered
from ._columns import columns_of
from ._core import Error
from ._evidence import fit_hyperparameters
from ._inducing import select_inducing
from ._interval import Interval, interval_from
from ._kernels import Hamming, Kernel, Matern, SquaredExponential
from ._known import Bracket
from ._learnt import kept as kept_number
from ._names import Calibration, Collected, Coverage, Of
from ._noise import Gaussian
from ._posterior import SparsePosterior

__all__ = ["SparseKernelRegressor"]


def __dir__() -> list[str]:
    return __all__


_MOST_INDUCING = 4000
_NORM_SAFETY = 2.0
_MOST_CALIBRATING = 1000
# With more rows than this, those that calibrate would change the mean too little for another pass over all.
_MOST_TO_REFIT = 10_000
# With more rows than this, few more would change a kernel that a sample of them taught.
_MOST_TO_LEARN_ON = 1500


def _shuffled(X: Floats, y: Floats, seed: int) -> Any:
    """Rows in an order by what stands in them and the seed, not by where they stand: a table may be sorted by its responses."""
    return np.argsort(_core.row_fractions(X, np.asarray(y, float), seed), kind="stable")


class _Calibrated:
    """Models with what they got wrong on rows that they have not learnt from; pickled without the rows."""

    def __init__(self, core: _core.Conformal) -> None:
        self.core = core

    def __reduce__(self) -> Any:
        return (_calibrated_again, (self.core.folds(),))


def _calibrated_again(folds: list[tuple[bytes, str]]) -> _Calibrated:
    return _Calibrated(_core.Conformal.from_folds(folds))


class SparseKernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Sparse kernel regression with intervals.

    Parameters
    ----------
    kernel : sigmabar.Kernel, default None
        What is assumed about the function, for responses scaled to mean 0 and standard deviation 1. ``None`` is whichever of Matérn 3/2, Matérn 5/2 and squared
        exponential has the most evidence, with a length-scale for each column, and with a sum over single columns where the evidence asks for one; columns of
        categories get a Hamming kernel.
    n_inducing : int or "auto", default "auto"
        At most how many inducing points; "auto" takes as many as the evidence asks for and some ten seconds of two cores allow, and ``advice_`` says where more
        would help.
    noise : float or "auto", default "auto"
        The standard deviation of the noise, in the units of the responses; "auto" learns it.
    learn : bool, default True
        Whether the kernel's parameters are learnt by evidence. With ``False`` the kernel is used as it is, and the noise must be given.
    norm_bound : float, default None
        A bound on the norm of the scaled function, for intervals. With ``None`` an interval for a new response is calibrated (see ``calibration``), one for the
        function at a point is the model's own, widened where rows it has not learnt from ask for it, and one for many points at once takes an estimated bound (twice the
        norm of the mean).
    confidence : float, default 0.95
        The probability that an interval holds.
    collected : {"fixed", "adaptive", "exchangeable"} or None, default None
        With "fixed" you declare that neither a row nor their number was chosen by looking at a response, with "exchangeable" that rows were drawn alike and so
        will be those asked about; with ``None`` nobody said.
    calibration : {"auto", "split", "cross"} or None, default "auto"
        How intervals for new responses are calibrated where there is no ``norm_bound``. "split" learns without a tenth of the rows (about 100 to 1000, at most a
        quarter), reads off them how far the model is wrong, and then fits all rows with what was learnt: the level is exact. "cross" learns six times, five of them
        without a fifth: dearer, for few rows, which then prove less than ``confidence`` (at 0.95 some 0.8 with 20 to 79 rows, by the certificate), while about as many
        intervals hold. "auto" is "split" from 80 rows on, where a quarter of them is enough for the confidence, and else "cross", for up to 1000 rows. With ``None``, and where rows
        are too few for either (fewer than 20 at 0.95), the model's own intervals are all there is, and of few rows they promise too much.
        With a ``sample_weight`` other than 0 and 1 all rows are kept too: a new response is a single measurement, which is not drawn like rows that are means.
    group : int or str, default None
        A column each value of which is calibrated by itself.
    categorical : list of int or str, default None
        Columns of categories besides those that hold texts or truths. Tables may be those of pandas, Polars or Arrow; their dates are days since 1970.
    random_state : int, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    posterior_ : sigmabar.SparsePosterior
        The model: everything it can say is there.
    kernel_, noise_ : the kernel, for scaled responses, and the noise, in the units of the responses.
    evidence_ : sigmabar.Bracket or None
        The log evidence per row, from both sides; ``None`` where nothing was learnt.
    advice_ : str or None
        What more inducing points would bring, and cost, where their number was cut.
    certificate_ : sigmabar.Certificate
        What the last intervals rest on.
    outputs_ : list of SparseKernelRegressor
        One model for each column of a ``y`` with several; the attributes above are then theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from sigmabar.sklearn import SparseKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 1))
    >>> y = 5 + np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    >>> model = SparseKernelRegressor(random_state=0).fit(X, y)
    >>> mean, lower, upper = model.predict([[0.5]], return_interval=True)
    >>> bool(lower[0] < 5 + np.sin(3) < upper[0]), 0.08 < model.noise_ < 0.12
    (True, True)
    >>> model.interval([[0.5]]).label, model.interval([[0.5]], of="response").label
    ('estimated', 'conformal')
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_inducing: int | str = "auto",
        noise: float | str = "auto",
        learn: bool = True,
        norm_bound: float | None = None,
        confidence: float = 0.95,
        collected: Collected | None = None,
        calibration: Calibration | None = "auto",
        group: int | str | None = None,
        categorical: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_inducing = n_inducing
        self.noise = noise
        self.learn = learn
        self.norm_bound = norm_bound
        self.confidence = confidence
        self.collected = collected
        self.calibration = calibration
        self.group = group
        self.categorical = categorical
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseKernelRegressor:
        """Learns from the rows of ``X`` and their responses. A row of weight w counts as the mean of w replicates: its noise variance is that of the others divided by w."""
        for former in ("outputs_", "posterior_", "_categories", "_group"):
            self.__dict__.pop(former, None)
        table = columns_of(X)
        if table is not None:
            self._categories = Categories(table, () if self.categorical is None else self.categorical)
            if self.group is not None:
                self._group = place_of(table, self.group)
        refuse_masked(sample_weight, "sample_weight")
        refuse_reordered("X", labels_of(X), sample_weight, "sample_weight")
        X, y = self._validated(X, y, y_numeric=True, multi_output=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if y.ndim == 2 and y.shape[1] > 1:
            self.outputs_ = [clone(self)._fit_one(X, column, weights, self._hidden()) for column in np.ascontiguousarray(y.T)]
            return self
        return self._fit_one(X, y.reshape(-1), weights, self._hidden())

    def _validated(self, X: Any, *y: Any, reset: bool = True, **options: Any) -> Any:
        """Dense numbers, as scikit-learn checks them: names of categories as the numbers they were counted by, dates as days."""
        for what, given in zip("Xy", (X, *y)):
            refuse_masked(given, what)
            refuse_reordered("X", labels_of(X), given, what)
        table, options = columns_of(X), {"dtype": np.float64, "order": "C", **options}
        try:
            if table is not None and table.names is not None:
                # Names and number of columns, before the table is taken apart.
                validate_data(self, X, skip_check_array=True, reset=reset)
                X = self._encoded(X)
                found = (check_X_y if y else check_array)(X, *y, estimator=self, **options)
            else:
                X = self._encoded(X)
                found = validate_data(self, X, *y, reset=reset, **options)
        except OverflowError:
            raise Error("X and y must be numbers that fit a float, at most about 1.8e308: one of them is larger; take its logarithm or another unit") from None
        for what, given, numbers in zip("Xy", (X, *y), found if y else (found,)):
            array = np.asarray(given)
            refuse_lost(given, array, numbers.reshape(array.shape), what)
        return found

    def _encoded(self, X: Any) -> Any:
        """A table as numbers; an array in which nothing is a category as it is, and one of another width for others to refuse."""
        table, categories = columns_of(X), getattr(self, "_categories", None)
        if table is None or table.names is None and (categories is None or not categories.values or categories.width != len(table)):
            return X
        return (categories or Categories(table)).encode(table)

    def _hidden(self) -> tuple[Categories | None, int | None, Any, int]:
        """What the models of single outputs share."""
        group: Any = self._group if hasattr(self, "_group") else self.group
        return getattr(self, "_categories", None), group, getattr(self, "feature_names_in_", None), self.n_features_in_

    def _fit_one(self, X: Floats, y: Floats, weights: Any, hidden: tuple[Any, Any, Any, int]) -> SparseKernelRegressor:
        categories, group, names, self.n_features_in_ = hidden
        if categories is not None:
            self._categories = categories
        if names is not None:
            self.feature_names_in_ = names
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        if weights is not None:
            # What counts for nothing neither teaches nor calibrates.
            used = weights > 0
            if not used.any():
                raise Error("sample_weight is 0 for every row: some must count")
            X, y = X[used], y[used]
            # Where all are measured once, that is all they say.
            weights = None if (weights[used] == 1).all() else weights[used]
        count_held, parts = self._way(len(X), is_weighted=weights is not None)
        held = np.sort(_shuffled(X, y, seed)[:count_held])
        kept = np.setdiff1d(np.arange(len(X)), held)
        self.posterior_ = self._learnt(X[kept], y[kept], None if weights is None else weights[kept], seed)
        self._calibrated = None
        column = None if group is None else count(group, "group")
        if len(held):
            calibrated = _core.Conformal.of([self.posterior_._core], [X[held]], [np.asarray(y[held], float)], column)
            self._calibrated = _Calibrated(calibrated)
            if len(X) <= _MOST_TO_REFIT:
                self.posterior_ = self._learnt(X, y, weights, seed, self.posterior_)
        elif parts:
            self._calibrated = self._crossed(X, y, seed, parts, column)
        self._describe()
        return self

    def _learnt(self, X: Floats, y: Floats, weights: Any, seed: int, some: SparsePosterior | None = None) -> SparsePosterior:
        """What the rows teach: from nothing, or on from what some of them did."""
        tau = self._tau(y, weights)
        self.evidence_, self.advice_ = None, None
        if not self.learn:
            if tau is None:
                raise Error("noise must be given where nothing is learnt: set noise=…, or learn=True")
            kernel = self.kernel if self.kernel is not None else Matern(lengthscale=[1.0] * X.shape[1])
            theta = 0.1 if self.n_inducing == "auto" else None
            points = select_inducing(kernel, X, tau, method="rpcholesky", size=min(self._most_inducing(), 500) if theta else self._most_inducing(), theta=theta, seed=seed)
            return SparsePosterior(kernel, tau, X, y, inducing=points, mean=None, collected=self.collected, weights=weights)
        begin: dict[str, Any] = {"kernel": self._kernels(X) if self.kernel is None else self.kernel, "tau": tau or 0.1, "additive": self.kernel is None}
        if some is not None:
            begin = {"kernel": some.kernel, "tau": tau or some.tau, "starts": 0}
            if len(X) > _MOST_TO_LEARN_ON:
                begin |= {"exact_steps": 0, "rounds": 0}
        learnt = fit_hyperparameters(
            **begin,
            X=X,
            y=y,
            mean=None,
            tau_limits=None if tau is None else (tau, tau),
            max_inducing=self._most_inducing(),
            collected=self.collected,
            weights=weights,
            seed=seed,
        )
        bracket = Bracket(learnt.elbo / len(y), learnt.evidence_upper_bound / len(y))
        self.evidence_ = bracket
        if learnt.capped:
            many = len(learnt.posterior.inducing)
            self.advice_ = (
                f"the evidence is known to within {bracket.upper - bracket.lower:.3g} per row only: n_inducing={2 * many} instead of {many} would tell more and "
                "take about four times as long"
            )
        return learnt.posterior

    def _kernels(self, X: Floats) -> list[Kernel]:
        """Starts for learning: the spread of each column times the root of their number, and Hamming for categories."""
        categories: Categories | None = getattr(self, "_categories", None)
        names = sorted(categories.values) if categories is not None else []
        numbers = [j for j in range(X.shape[1]) if j not in names]
        if not numbers:
            return [Hamming([1.0] * len(names))]
        spread = X[:, numbers].std(axis=0) * np.sqrt(X.shape[1])
        lengths = [float(s) if s > 1e-12 * abs(float(c)) else 1.0 for s, c in zip(spread, X[:, numbers].mean(axis=0))]
        smooth: list[Kernel] = [Matern(nu=1.5, lengthscale=lengths), Matern(nu=2.5, lengthscale=lengths), SquaredExponential(lengths)]
        if not names:
            return smooth
        hamming = Hamming([1.0] * len(names)).columns(names)
        return [kernel.columns(numbers) * hamming for kernel in smooth]

    def _way(self, rows: int, *, is_weighted: bool) -> tuple[int, int]:
        """How many rows are kept from the model to calibrate it, or in how many parts all learn and calibrate: the same as in the command. Rows with weights calibrate nothing: a new
        response is one measurement, and no row like theirs."""
        if self.calibration not in (None, "auto", "split", "cross"):
            raise Error(f'calibration={self.calibration!r} is not known: choose "auto", "split", "cross" or None')
        if self.calibration is None or self.norm_bound is not None or is_weighted:
            return 0, 0
        return _core.calibration_way(rows, self._delta(), self.calibration, _MOST_CALIBRATING)

    def _crossed(self, X: Floats, y: Floats, seed: int, parts: int, column: int | None) -> _Calibrated:
        """A model without each part of the rows, everything learnt anew. Parts are of one size: what is left over is in none, and only learns."""
        place = np.argsort(_shuffled(X, y, seed))
        fold = np.where(place < len(X) // parts * parts, place % parts, parts)
        bare = clone(self).set_params(calibration=None)
        models, X_out, y_out = [], [], []
        for part in range(parts):
            kept = fold != part
            bare._fit_one(X[kept], y[kept], None, (*self._hidden()[:1], None, None, self.n_features_in_))
            models.append(bare.posterior_._core)
            X_out.append(X[~kept])
            y_out.append(y[~kept])
        return _Calibrated(_core.Conformal.of(models, X_out, [np.asarray(y, float) for y in y_out], column))

    def _delta(self) -> float:
        if not 0 < number(self.confidence, "confidence") < 1:
            raise Error(f"confidence must be between 0 and 1, not {self.confidence!r}")
        # As people write it: 1 - 0.95 is 0.050000000000000044.
        return max(round(1.0 - float(self.confidence), 15), 1e-15)

    def partial_fit(self, X: Any, y: Any, *, collected: Collected | None = None) -> SparseKernelRegressor:
        """Takes in more rows; kernel, noise and inducing points stay those of the first fit. Unless ``collected`` declares it again, nobody vouches for how rows
        were chosen from here on. The calibration was that of the rows before and is dropped."""
        models = getattr(self, "outputs_", [self])
        if not hasattr(models[0], "posterior_"):
            return self.fit(X, y)
        X, y = self._validated(X, y, y_numeric=True, multi_output=True, reset=False)
        outputs = np.ascontiguousarray(y.reshape(len(y), -1).T)
        if len(outputs) != len(models):
            raise Error(f"y must have one column for each output that was fitted, {len(models)}, not {len(outputs)}")
        # Of several outputs all learn or none.
        posteriors = [copy(model.posterior_) if len(models) > 1 else model.posterior_ for model in models]
        for posterior, output in zip(posteriors, outputs):
            posterior.update(X, output, collected=collected)
        for model, posterior in zip(models, posteriors):
            model.posterior_, model._calibrated = posterior, None
        return self

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, return_interval: bool = False, *, of: Of = "function"
    ) -> Any:
        """The mean; with ``return_std`` also the standard deviation **of the function**, with ``return_cov`` its covariance. With ``of="response"`` deviation and
        interval are those of a new, noisy response.

        With ``return_interval`` three arrays: the mean that the interval is about, which always lies within, and the lower and upper end (see :meth:`interval`).
        With a ``norm_bound`` far above the kernel's scale that mean is another one than ``predict(X)``, which the prior holds back and which may then lie outside."""
        check_is_fitted(self)
        if return_std + return_cov + return_interval > 1:
            raise Error("ask for one of return_std, return_cov and return_interval at a time")
        if of not in ("function", "response"):
            raise Error(f'of="{of}" is not known: choose "function" or "response"')
        X = self._validated(X, reset=False)
        if hasattr(self, "outputs_"):
            if return_cov:
                raise Error("the covariance of several outputs is theirs: ask outputs_[j].predict(X, return_cov=True)")
            answers = [model._answer(X, return_std, False, return_interval, of) for model in self.outputs_]
            if not isinstance(answers[0], tuple):
                return np.column_stack(answers)
            return tuple(np.column_stack(part) for part in zip(*answers))
        return self._answer(X, return_std, return_cov, return_interval, of)

    def _answer(self, X: Floats, return_std: bool, return_cov: bool, return_interval: bool, of: Of) -> Any:
        if return_std:
            mean, deviation = self.posterior_.predict(X)
            return mean, np.hypot(deviation, self.noise_) if of == "response" else deviation
        if return_interval:
            interval = self._interval(X, of, "point")
            return interval.mean, interval.lower, interval.upper
        mean = self.posterior_.mean(X)
        if return_cov:
            noise = self.noise_**2 * np.eye(len(X)) if of == "response" else 0.0
            return mean, self.posterior_.covariance(X) + noise
        return mean

    def interval(self, X: Any, *, of: Of = "function", coverage: Coverage = "point") -> Interval:
        """Intervals that hold with probability ``confidence``, for the ``"function"`` or for a new ``"response"``, with the ``mean`` that each is about and their
        certificate. Plot and report that mean beside the interval, not ``predict(X)``: see :class:`sigmabar.Interval`.

        Without ``norm_bound``, those for a new response are calibrated on rows that the model has not learnt from, some that are kept from it or all of them in parts
        (``calibration``): a theorem for exchangeable rows, labelled "conformal", with the level that so many rows prove in the certificate. Those for the function are the
        model's estimates: widened by what the same rows show where they calibrate in parts, and else by what leaving out rows one at a time shows, with how often they held then.
        A ``confidence`` that was raised since the fit may need more rows than calibrate: then both are the model's, widened to all that these rows show.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if hasattr(self, "outputs_"):
            raise Error("each output has its own intervals: ask outputs_[j].interval(X)")
        return self._interval(X, of, coverage)

    def _interval(self, X: Floats, of: Of, coverage: Coverage) -> Interval:
        posterior, delta = self.posterior_, self._delta()
        ask = {"function": posterior.interval, "response": posterior.prediction_interval}.get(of)
        if ask is None:
            raise Error(f'of="{of}" is not known: choose "function" or "response"')
        is_estimated = self.norm_bound is None
        calibrated = self._calibrated.core if coverage == "point" and is_estimated and self._calibrated else None
        if calibrated is not None and of == "response":
            interval = interval_from(calibrated.response(posterior._core, X, delta))
        elif calibrated is not None and calibrated.models > 1:
            # What leaving rows out shows of few rows knows nothing of a kernel that was learnt on all of them.
            interval = interval_from(calibrated.function(posterior._core, X, delta))
        else:
            bound = max(_NORM_SAFETY * posterior.norm, 1e-12) if is_estimated and coverage != "point" else self.norm_bound
            noise = None if bound is None else Gaussian(posterior.tau)
            interval = ask(X, bound, noise, delta, coverage=coverage, norm_estimated=is_estimated)
        self.certificate_ = interval.certificate
        return interval

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Floats:
        """Draws of the function at the rows of ``X``, one column for each draw."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if hasattr(self, "outputs_"):
            raise Error("each output has its own draws: ask outputs_[j].sample_y(X)")
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return self.posterior_.sample(X, n_samples, seed).T

    def _tau(self, y: Floats, weights: Any) -> float | None:
        """The given noise in units of the responses' standard deviation."""
        if isinstance(self.noise, str) and self.noise == "auto":
            return None
        # Noise of an earlier fit remembers which rows it was learnt on.
        noise = kept_number(self.noise, 'noise, where it is not "auto",')
        if not 0 < noise < np.inf:
            raise Error(f"noise must be positive and finite, not {noise:g}")
        deviation = float(np.sqrt(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)))
        return noise / (deviation if deviation > 0 else 1.0)

    def _most_inducing(self) -> int:
        if isinstance(self.n_inducing, str) and self.n_inducing == "auto":
            return _MOST_INDUCING
        return count(self.n_inducing, 'n_inducing, where it is not "auto",', least=1)

    def _describe(self) -> None:
        self.posterior_._names = [str(name) for name in getattr(self, "feature_names_in_", ())] or None
        self.kernel_ = self.posterior_.kernel
        self.noise_ = self.posterior_.tau * self.posterior_.prior[1]
