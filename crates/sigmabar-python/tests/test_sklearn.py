"""The regressor under scikit-learn's own checks, and in its company."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sigmabar as sb
from sigmabar.sklearn import SparseKernelRegressor


ESTIMATORS = [SparseKernelRegressor(random_state=0), SparseKernelRegressor(sb.SquaredExponential(5.0), noise=0.1, learn=False, n_inducing=300)]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks(estimator, check) -> None:  # type: ignore[no-untyped-def]
    check(estimator)


def data(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, 3 + np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def test_it_is_scikit_learns_gaussian_process_with_all_points_inducing() -> None:
    X, y = data()
    ours = SparseKernelRegressor(sb.SquaredExponential(0.3), noise=0.1, learn=False, n_inducing=200).fit(X, y)
    unit = y.std()
    theirs = GaussianProcessRegressor(RBF(0.3), alpha=(0.1 / unit) ** 2, optimizer=None, normalize_y=True).fit(X, y)
    queries = np.random.default_rng(1).random((50, 2))
    for mine, other in zip(ours.predict(queries, return_std=True), theirs.predict(queries, return_std=True)):
        np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_pipelines_and_searches_work() -> None:
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), SparseKernelRegressor(random_state=0))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.95
    search = GridSearchCV(SparseKernelRegressor(random_state=0), {"n_inducing": [5, 60]}, cv=3).fit(X, y)
    assert search.best_params_["n_inducing"] == 60


def test_partial_fit_is_a_fit_on_everything_with_the_same_model() -> None:
    X, y = data(300)
    first = SparseKernelRegressor(random_state=0).partial_fit(X[:100], y[:100])
    kernel, unit, mean = first.kernel_, first.posterior_.prior[1], first.posterior_.prior[0]
    first.partial_fit(X[100:], y[100:])
    at_once = sb.SparsePosterior(kernel, first.posterior_.tau, X, y, inducing=first.posterior_.inducing, mean=mean, unit=unit)
    queries = np.random.default_rng(1).random((30, 2))
    np.testing.assert_allclose(first.predict(queries), at_once.mean(queries), rtol=1e-8)


def test_intervals_cover_and_say_that_they_are_estimates() -> None:
    X, y = data(400)
    model = SparseKernelRegressor(random_state=0).fit(X, y)
    queries = np.random.default_rng(2).random((500, 2))
    truth = 3 + np.sin(6 * queries[:, 0]) + queries[:, 1]
    mean, lower, upper = model.predict(queries, return_interval=True)
    assert np.mean((lower <= truth) & (truth <= upper)) >= 0.95
    assert model.interval(queries).label == model.certificate_.label == "estimated"
    new = truth + 0.1 * np.random.default_rng(3).standard_normal(500)
    response = model.interval(queries, of="response")
    assert np.mean((response.lower <= new) & (new <= response.upper)) >= 0.93


def test_covariance_and_samples_agree_with_std() -> None:
    X, y = data()
    model = SparseKernelRegressor(random_state=0).fit(X, y)
    mean, std = model.predict(X[:5], return_std=True)
    _, covariance = model.predict(X[:5], return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), std, rtol=1e-8)
    draws = model.sample_y(X[:5], 4000, random_state=1)
    assert draws.shape == (5, 4000)
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_inducing": 0}, "n_inducing.* must be at least 1"),
        ({"n_inducing": "many"}, "n_inducing.* must be a whole number, not 'many'"),
        ({"noise": -1.0}, "noise must be positive and finite, not -1"),
        ({"noise": "loud"}, "noise.* must be a number, not 'loud'"),
        ({"confidence": 2.0}, "confidence must be between 0 and 1"),
        ({"kernel": "rbf"}, "kernel must be a kernel of sigmabar.*not 'rbf'"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, object], words: str) -> None:
    X = np.random.default_rng(0).random((30, 1))
    with pytest.raises(sb.Error, match=words):
        SparseKernelRegressor(**wrong).fit(X, X[:, 0]).interval(X)


def test_a_pickled_model_predicts_the_same() -> None:
    X, y = data()
    model = SparseKernelRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_what_is_missing_is_named() -> None:
    X, y = data(20)
    with pytest.raises(ValueError, match="noise must be given"):
        SparseKernelRegressor(learn=False).fit(X, y)
    with pytest.raises(ValueError, match="n_inducing"):
        SparseKernelRegressor(n_inducing="many").fit(X, y)
