"""Values against the printed formulas, written out with NumPy and no other shared code."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sigmabar as sb

TAU = 0.2


def distances(X: np.ndarray, Z: np.ndarray, scale: object) -> np.ndarray:
    return np.sqrt((((X[:, None, :] - Z[None, :, :]) / np.asarray(scale)) ** 2).sum(-1))


def matern52(r: np.ndarray) -> np.ndarray:
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


KERNELS = [
    (sb.SquaredExponential(0.4, 1.7), lambda X, Z: 1.7 * np.exp(-distances(X, Z, 0.4) ** 2 / 2)),
    (sb.SquaredExponential([0.4, 0.9]), lambda X, Z: np.exp(-distances(X, Z, [0.4, 0.9]) ** 2 / 2)),
    (sb.Matern(nu=2.5, lengthscale=0.5), lambda X, Z: matern52(distances(X, Z, 0.5))),
    (sb.Matern(nu=0.5, lengthscale=0.5, variance=2.0), lambda X, Z: 2 * np.exp(-distances(X, Z, 0.5))),
    (sb.RationalQuadratic(alpha=1.5, lengthscale=0.5), lambda X, Z: (1 + distances(X, Z, 0.5) ** 2 / 3) ** -1.5),
    (
        sb.Periodic(0.7, 0.8),
        lambda X, Z: np.exp(-2 * (np.sin(np.pi * (X[:, None] - Z[None]) / 0.7) ** 2).sum(-1) / 0.8**2),
    ),
    (sb.Linear(0.3, 2.0, 1.5), lambda X, Z: 1.5 * (0.3 + X @ Z.T / 4)),
    (sb.Hamming(2.0), lambda X, Z: np.exp(-(X[:, None] != Z[None]).sum(-1) / 2)),
    (
        sb.Matern(nu=2.5, lengthscale=0.5) + 2 * sb.Linear(1.0) * sb.SquaredExponential(1.0).columns([1]),
        lambda X, Z: matern52(distances(X, Z, 0.5)) + 2 * (1 + X @ Z.T) * np.exp(-distances(X[:, 1:], Z[:, 1:], 1.0) ** 2 / 2),
    ),
]


@pytest.mark.parametrize(("kernel", "formula"), KERNELS, ids=[repr(k)[:40] for k, _ in KERNELS])
def test_kernels_are_their_formulas(kernel: sb.Kernel, formula) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    X, Z = rng.random((12, 2)), rng.random((7, 2))
    X[3] = Z[2]
    np.testing.assert_allclose(kernel(X, Z), formula(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), np.diag(formula(X, X)), rtol=1e-12)
    squares = np.diag(formula(X, X))[:, None] + np.diag(formula(Z, Z)) - 2 * formula(X, Z)
    np.testing.assert_allclose(kernel.metric(X, Z), np.sqrt(np.maximum(squares, 0)), rtol=1e-7, atol=1e-7)


@pytest.fixture(scope="module")
def problem() -> tuple[sb.Kernel, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    X[10:15] = X[:5]  # repeated points become counts
    return sb.Matern(nu=2.5, lengthscale=0.5, variance=1.3), X, np.sin(6 * X[:, 0]) + 0.2 * rng.standard_normal(60), rng.random((12, 2)), rng.random((20, 2))


def test_the_sparse_posterior_is_its_formula(problem) -> None:  # type: ignore[no-untyped-def]
    k, X, y, Z, Q = problem
    p = sb.SparsePosterior(k, TAU, X, y, inducing=Z)
    kzz, kzx, kzq = k(Z), k(Z, X), k(Z, Q)
    middle = kzz + kzx @ kzx.T / TAU**2
    mean = kzq.T @ np.linalg.solve(middle, kzx @ y) / TAU**2
    covariance = k(Q) - kzq.T @ np.linalg.solve(kzz, kzq) + kzq.T @ np.linalg.solve(middle, kzq)
    np.testing.assert_allclose(p.mean(Q), mean, rtol=1e-8)
    np.testing.assert_allclose(p.covariance(Q), covariance, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(p.std(Q) ** 2, np.diag(covariance), rtol=1e-7)
    for ours, theirs in zip(p.predict(Q), (p.mean(Q), p.std(Q))):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    weights = np.linalg.solve(middle, kzq).T @ kzx / TAU**2
    np.testing.assert_allclose(p.weights(Q), weights, rtol=1e-6, atol=1e-10)
    q = p.variational
    np.testing.assert_allclose(q.mean, kzz @ np.linalg.solve(middle, kzx @ y) / TAU**2, rtol=1e-8)
    np.testing.assert_allclose(q.covariance, kzz @ np.linalg.solve(middle, kzz), rtol=1e-6, atol=1e-10)


def test_the_three_parts_of_the_variance(problem) -> None:  # type: ignore[no-untyped-def]
    k, X, y, Z, Q = problem
    p = sb.SparsePosterior(k, TAU, X, y, inducing=Z)
    kzz, kzx, kzq = k(Z), k(Z, X), k(Z, Q)
    V = np.linalg.solve(kzz + kzx @ kzx.T / TAU**2, kzq).T @ kzx / TAU**2
    parts = p.variance_parts(Q)
    np.testing.assert_allclose(parts.projection, k.diag(Q) - (kzq * np.linalg.solve(kzz, kzq)).sum(0), rtol=1e-6)
    np.testing.assert_allclose(parts.noise, TAU**2 * (V**2).sum(1), rtol=1e-7)
    np.testing.assert_allclose(sum(parts), p.std(Q) ** 2, rtol=1e-12)


def test_evidence_gain_and_dimension(problem) -> None:  # type: ignore[no-untyped-def]
    k, X, y, Z, _ = problem
    p, exact = sb.SparsePosterior(k, TAU, X, y, inducing=Z), sb.ExactPosterior(k, TAU, X, y)
    K, kzx = k(X), k(Z, X)
    kappa = kzx.T @ np.linalg.solve(k(Z), kzx)

    def log_density(C: np.ndarray) -> float:
        return float(-0.5 * (len(y) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + y @ np.linalg.solve(C, y)))

    noise = TAU**2 * np.eye(60)
    np.testing.assert_allclose(p.elbo, log_density(kappa + noise) - np.trace(K - kappa) / (2 * TAU**2), rtol=1e-8)
    np.testing.assert_allclose(exact.log_evidence, log_density(K + noise), rtol=1e-10)
    gain = 0.5 * np.linalg.slogdet(np.eye(60) + K / TAU**2)[1]
    dimension = np.trace(K @ np.linalg.inv(K + noise))
    np.testing.assert_allclose(exact.information_gain, gain, rtol=1e-10)
    np.testing.assert_allclose(exact.effective_dimension, dimension, rtol=1e-8)
    assert p.log_evidence.lower <= exact.log_evidence <= p.log_evidence.upper
    assert p.information_gain.lower <= gain <= p.information_gain.upper
    assert p.effective_dimension.lower <= dimension <= p.effective_dimension.upper
    largest = np.linalg.eigvalsh(K - kappa)[-1]
    for kind in ("trace", "lookahead", "dense", "randomised", "best"):
        assert p.residual_norm(kind).value >= largest * (1 - 1e-9), kind
    np.testing.assert_allclose(p.residual_norm("dense").value, largest, rtol=1e-6)


def test_the_exact_posterior_is_its_formula(problem) -> None:  # type: ignore[no-untyped-def]
    k, X, y, _, Q = problem
    p = sb.ExactPosterior(k, TAU, X, y, mean=0.5)
    solved = np.linalg.solve(k(X) + TAU**2 * np.eye(60), k(X, Q))
    np.testing.assert_allclose(p.mean(Q), 0.5 + solved.T @ (y - 0.5), rtol=1e-9)
    np.testing.assert_allclose(p.covariance(Q), k(Q) - k(Q, X) @ solved, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("method", ["paper", "drop-in"])
def test_the_paper_and_drop_in_widths(problem, method: str) -> None:  # type: ignore[no-untyped-def]
    k, X, y, Z, Q = problem
    p = sb.SparsePosterior(k, TAU, X, y, inducing=Z, collected="fixed")
    norm, level, delta = 2.0, 0.3, 0.1
    interval = p.interval(Q, norm, sb.SubGaussian(level), delta, method=method)
    ratio = interval.certificate.details["bounds"]["residual_norm"]["value"] / TAU**2
    tail = level / TAU * np.sqrt(2 * np.log(2 / (0.95 * delta)))  # each side spends half of what the check of the premises leaves
    bias = norm * (2 + np.sqrt(ratio)) if method == "paper" else norm * np.sqrt(1 + ratio)
    half, most = (bias + tail) * p.std(Q), norm * np.sqrt(k.diag(Q))  # and no end says less than the norm bound alone
    np.testing.assert_allclose(interval.upper, np.minimum(p.mean(Q) + half, most), rtol=1e-6)
    np.testing.assert_allclose(interval.lower, np.maximum(p.mean(Q) - half, -most), rtol=1e-6)
    tight = p.interval(Q, norm, sb.SubGaussian(level), delta)
    assert np.all(tight.width <= interval.width * (1 + 1e-9))


def test_updates_equal_one_fit(problem) -> None:  # type: ignore[no-untyped-def]
    k, X, y, Z, Q = problem
    p = sb.SparsePosterior(k, TAU, X[:30], y[:30], inducing=Z)
    p.update(X[30:], y[30:])
    whole = sb.SparsePosterior(k, TAU, X, y, inducing=Z)
    np.testing.assert_allclose(p.mean(Q), whole.mean(Q), rtol=1e-9)
    np.testing.assert_allclose(p.std(Q), whole.std(Q), rtol=1e-9)


def test_the_gradient_of_the_elbo_is_its_slope(problem) -> None:  # type: ignore[no-untyped-def]
    k, X, y, Z, _ = problem

    def elbo(lengthscale: float, variance: float, tau: float) -> float:
        return sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=lengthscale, variance=variance), tau, X, y, inducing=Z).elbo

    value, slopes, ridge, _ = sb.SparsePosterior(k, TAU, X, y, inducing=Z).elbo_gradient()
    step = 1e-5
    numeric = [
        (elbo(0.5 * np.exp(step), 1.3, TAU) - elbo(0.5 * np.exp(-step), 1.3, TAU)) / (2 * step),
        (elbo(0.5, 1.3 * np.exp(step), TAU) - elbo(0.5, 1.3 * np.exp(-step), TAU)) / (2 * step),
        (elbo(0.5, 1.3, TAU * np.exp(step)) - elbo(0.5, 1.3, TAU * np.exp(-step))) / (2 * step),
    ]
    assert list(k.parameters) == ["lengthscale", "variance"]
    np.testing.assert_allclose([*slopes, ridge], numeric, rtol=1e-5)
    np.testing.assert_allclose(value, elbo(0.5, 1.3, TAU))


def test_designs_are_the_brute_force_choice() -> None:
    k, grid = sb.Matern(nu=2.5, lengthscale=0.4), np.random.default_rng(2).random((80, 2))
    Z = grid[::4]
    design = sb.max_variance_design(k, 0.1, grid, 25, inducing=Z)
    chosen: list[int] = []
    for _ in range(25):
        X = grid[chosen]
        kzx, kzq = k(Z, X) if chosen else np.zeros((len(Z), 0)), k(Z, grid)
        middle = k(Z) + kzx @ kzx.T / 0.1**2
        variance = k.diag(grid) - (kzq * np.linalg.solve(k(Z), kzq)).sum(0) + (kzq * np.linalg.solve(middle, kzq)).sum(0)
        chosen.append(int(np.argmax(variance.round(9))))
    X = grid[design.indices]
    assert sorted(design.indices.tolist())[:1] == sorted(chosen)[:1]
    p = sb.SparsePosterior(k, 0.1, X, np.zeros(25), inducing=Z)
    q = sb.SparsePosterior(k, 0.1, grid[chosen], np.zeros(25), inducing=Z)
    np.testing.assert_allclose(p.std(grid).max(), q.std(grid).max(), rtol=1e-6)
    np.testing.assert_allclose(design.max_std, p.std(grid).max(), rtol=1e-6)


def test_intervals_cover_adversarial_functions_of_known_norm() -> None:
    """200 functions of norm exactly 2, each with fresh noise: a point is missed by at most delta of them, within chance."""
    rng = np.random.default_rng(3)
    k, X, delta = sb.SquaredExponential(0.3), np.linspace(0, 1, 30), 0.1
    Z = np.linspace(0, 1, 8)
    missed = 0
    for _ in range(200):
        centres = rng.random(4)
        coefficients = rng.standard_normal(4)
        coefficients *= 2.0 / np.sqrt(coefficients @ k(centres) @ coefficients)
        y = k(X, centres) @ coefficients + 0.2 * rng.standard_normal(30)
        query = rng.random(1)
        interval = sb.SparsePosterior(k, 0.2, X, y, inducing=Z, collected="fixed").interval(query, 2.0, sb.Gaussian(0.2), delta)
        truth = k(query, centres) @ coefficients
        missed += not (interval.lower <= truth <= interval.upper)[0]
        assert interval.certificate.label == "certified"
    assert missed <= 200 * delta


def test_exact_posteriors_predict_new_responses_as_sparse_ones_with_every_point() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((40, 2))
    y = 5 + 3 * np.sin(4 * X[:, 0])
    kernel, queries = sb.Matern(nu=2.5, lengthscale=0.5), rng.random((7, 2))
    exact = sb.ExactPosterior(kernel, 0.2, X, y, mean=5.0, unit=3.0, collected="fixed")
    sparse = sb.SparsePosterior(kernel, 0.2, X, y, inducing=X, mean=5.0, unit=3.0, collected="fixed")
    for noise, new in ((sb.Gaussian(0.2), None), (sb.SubGaussian(0.2), sb.Bounded(0.5)), (sb.Gaussian(0.2), sb.LightTailed(0.1, 2.0))):
        ours, theirs = (p.prediction_interval(queries, 2.0, noise, 0.05, new_noise=new, method="drop-in") for p in (exact, sparse))
        np.testing.assert_allclose(ours.lower, theirs.lower, rtol=1e-5)
        np.testing.assert_allclose(ours.upper, theirs.upper, rtol=1e-5)
        assert ours.certificate.label == theirs.certificate.label == "certified"
        assert (ours.width > exact.interval(queries, 2.0, noise, method="drop-in").width).all()


def test_a_pickled_exact_posterior_is_the_same() -> None:
    X = np.random.default_rng(4).random((20, 2))
    y = X.sum(axis=1)
    exact = sb.ExactPosterior(sb.SquaredExponential(0.5), 0.1, X, y, collected="adaptive", mean=None)
    again = pickle.loads(pickle.dumps(exact))
    np.testing.assert_array_equal(again.mean(X), exact.mean(X))
    claims = [p.interval(X, 1.0, sb.Gaussian(0.1)).certificate for p in (again, exact)]
    assert claims[0] == claims[1] and len(again) == 20
    X[:] = 0.0
    np.testing.assert_array_equal(exact.std(again._made_of[0]), again.std(again._made_of[0]))
