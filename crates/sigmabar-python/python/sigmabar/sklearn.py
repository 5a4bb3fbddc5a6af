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

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import Floats
from ._checks import count, number
from ._core import Error
from ._evidence import fit_hyperparameters
from ._inducing import select_inducing
from ._interval import Interval
from ._kernels import Kernel, Matern
from ._noise import Gaussian
from ._posterior import SparsePosterior

__all__ = ["SparseKernelRegressor"]

_MOST_INDUCING = 500
_NORM_SAFETY = 2.0


class SparseKernelRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Sparse kernel regression with intervals.

    Parameters
    ----------
    kernel : sigmabar.Kernel, default None
        What is assumed about the function, for responses scaled to mean 0 and standard deviation 1. ``None`` is a Matérn 5/2 kernel with a length-scale for
        each column.
    n_inducing : int or "auto", default "auto"
        At most how many inducing points; "auto" takes as many as are needed, up to 500.
    noise : float or "auto", default "auto"
        The standard deviation of the noise, in the units of the responses; "auto" learns it.
    learn : bool, default True
        Whether the kernel's parameters are learnt by evidence. With ``False`` the kernel is used as it is, and the noise must be given.
    norm_bound : float, default None
        A bound on the norm of the scaled function, for intervals. With ``None`` an interval at a point is the model's own normal one, and one for many points
        at once takes an estimated bound (twice the norm of the mean).
    confidence : float, default 0.95
        The probability that an interval holds.
    collected : {"fixed", "adaptive"} or None, default None
        With "fixed" you declare that no row was chosen by looking at a response; with ``None`` nobody said, and intervals hold however rows were chosen.
    random_state : int, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    posterior_ : sigmabar.SparsePosterior
        The model: everything it can say is there.
    kernel_, noise_ : the kernel, for scaled responses, and the noise, in the units of the responses.
    certificate_ : sigmabar.Certificate
        What the last intervals rest on.

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
    >>> model.interval([[0.5]]).certificate.label
    'estimated'
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
        collected: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_inducing = n_inducing
        self.noise = noise
        self.learn = learn
        self.norm_bound = norm_bound
        self.confidence = confidence
        self.collected = collected
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SparseKernelRegressor:
        """Learns from the rows of ``X`` and their responses."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kernel = self.kernel if self.kernel is not None else Matern(2.5, [1.0] * X.shape[1])
        tau = self._tau(y)
        if self.learn:
            limits = None if tau is None else (tau, tau)
            learnt = fit_hyperparameters(
                kernel,
                X,
                y,
                mean=None,
                tau=tau or 0.1,
                tau_limits=limits,
                max_inducing=self._most_inducing(),
                collected=self.collected,
                seed=seed,
            )
            self.posterior_ = learnt.posterior
        else:
            if tau is None:
                raise Error("noise must be given where nothing is learnt: set noise=…, or learn=True")
            theta = 0.1 if self.n_inducing == "auto" else None
            points = select_inducing(kernel, X, tau, method="rpcholesky", size=self._most_inducing(), theta=theta, seed=seed)
            self.posterior_ = SparsePosterior(kernel, tau, X, y, inducing=points, mean=None, collected=self.collected)
        self._describe()
        return self

    def partial_fit(self, X: Any, y: Any, *, collected: str | None = None) -> SparseKernelRegressor:
        """Takes in more rows; kernel, noise and inducing points stay those of the first fit. Unless ``collected`` declares it again, nobody vouches for how rows
        were chosen from here on."""
        if not hasattr(self, "posterior_"):
            return self.fit(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True, reset=False)
        self.posterior_.update(X, y, collected=collected)
        return self

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, return_interval: bool = False
    ) -> Any:
        """The mean; with ``return_std`` also the standard deviation of the function, with ``return_cov`` its covariance, with ``return_interval`` lower and
        upper end of its interval (see :meth:`interval`)."""
        check_is_fitted(self)
        if return_std + return_cov + return_interval > 1:
            raise Error("ask for one of return_std, return_cov and return_interval at a time")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if return_std:
            return self.posterior_.predict(X)
        mean = self.posterior_.mean(X)
        if return_cov:
            return mean, self.posterior_.covariance(X)
        if return_interval:
            interval = self.interval(X)
            return mean, interval.lower, interval.upper
        return mean

    def interval(self, X: Any, *, of: str = "function", coverage: str = "point") -> Interval:
        """Intervals that hold with probability ``confidence``, for the ``"function"`` or for a new ``"response"``, with their certificate.

        They are estimates: the scale, and unless ``learn=False`` the kernel, were learnt from the same responses.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        posterior = self.posterior_
        if not 0 < number(self.confidence, "confidence") < 1:
            raise Error(f"confidence must be between 0 and 1, not {self.confidence!r}")
        ask = {"function": posterior.interval, "response": posterior.prediction_interval}.get(of)
        if ask is None:
            raise Error(f'of="{of}" is not known: choose "function" or "response"')
        is_estimated = self.norm_bound is None
        bound = max(_NORM_SAFETY * posterior.norm, 1e-12) if is_estimated and coverage != "point" else self.norm_bound
        noise = None if bound is None else Gaussian(posterior.tau)
        interval = ask(X, bound, noise, 1.0 - self.confidence, coverage=coverage, norm_estimated=is_estimated)
        self.certificate_ = interval.certificate
        return interval

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Floats:
        """Draws of the function at the rows of ``X``, one column for each draw."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return self.posterior_.sample(X, n_samples, seed).T

    def _tau(self, y: Floats) -> float | None:
        """The given noise in units of the responses' standard deviation."""
        if isinstance(self.noise, str) and self.noise == "auto":
            return None
        noise = number(self.noise, 'noise, where it is not "auto",')
        if not 0 < noise < np.inf:
            raise Error(f"noise must be positive and finite, not {noise:g}")
        deviation = float(np.std(y))
        return noise / (deviation if deviation > 0 else 1.0)

    def _most_inducing(self) -> int:
        if isinstance(self.n_inducing, str) and self.n_inducing == "auto":
            return _MOST_INDUCING
        return count(self.n_inducing, 'n_inducing, where it is not "auto",', least=1)

    def _describe(self) -> None:
        self.kernel_ = self.posterior_.kernel
        self.noise_ = self.posterior_.tau * self.posterior_.prior[1]
