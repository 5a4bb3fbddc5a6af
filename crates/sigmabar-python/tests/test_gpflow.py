"""GPflow's SGPR and this posterior are one predictor. Runs where GPflow is installed (it wants numpy < 2, so an environment of its own)."""

from __future__ import annotations

import numpy as np
import pytest

gpflow = pytest.importorskip("gpflow")

import sigmabar as sb  # noqa: E402


@pytest.mark.parametrize("name", ["squared exponential", "matern 5/2"])
def test_mean_variance_and_elbo_agree(name: str) -> None:
    rng = np.random.default_rng(0)
    X, Q = rng.random((500, 3)), rng.random((100, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(500)
    Z = X[:15]
    scales, variance, tau = [0.4, 0.6, 0.9], 1.3, 0.2
    if name == "squared exponential":
        theirs, ours = gpflow.kernels.SquaredExponential(variance, scales), sb.SquaredExponential(scales, variance)
    else:
        theirs, ours = gpflow.kernels.Matern52(variance, scales), sb.Matern(nu=2.5, lengthscale=scales, variance=variance)
    # GPflow adds jitter to K_ZZ, which is no part of the formula: make it small.
    with gpflow.config.as_context(gpflow.config.Config(jitter=1e-12)):
        model = gpflow.models.SGPR((X, y[:, None]), theirs, Z, noise_variance=tau**2)
        mean, spread = (v.numpy()[:, 0] for v in model.predict_f(Q))
        elbo = float(model.elbo())
    posterior = sb.SparsePosterior(ours, tau, X, y, inducing=Z)
    print(
        f"{name}: largest relative difference of mean {np.max(np.abs(posterior.mean(Q) / mean - 1)):.1e}, "
        f"variance {np.max(np.abs(posterior.std(Q) ** 2 / spread - 1)):.1e}, ELBO {abs(posterior.elbo / elbo - 1):.1e}"
    )
    np.testing.assert_allclose(posterior.mean(Q), mean, rtol=1e-8)
    np.testing.assert_allclose(posterior.std(Q) ** 2, spread, rtol=1e-8)
    np.testing.assert_allclose(posterior.elbo, elbo, rtol=1e-8)
