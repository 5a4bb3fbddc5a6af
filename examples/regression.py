"""Regression: 2000 noisy measurements in, intervals that are theorems out.

    python examples/regression.py
"""

import numpy as np

import sigmabar as sb

NOISE, NORM, DELTA = 0.2, 3.0, 0.05

rng = np.random.default_rng(1)
kernel = sb.SquaredExponential(lengthscale=0.2)

# A function whose norm is known to be NORM, so that the promise can be checked.
centres = rng.random((20, 2))
coefficients = rng.standard_normal(20)
coefficients *= NORM / np.sqrt(coefficients @ kernel(centres) @ coefficients)

X = rng.random((2000, 2))
y = kernel(X, centres) @ coefficients + NOISE * rng.standard_normal(2000)

inducing = sb.select_inducing(kernel, X, tau=NOISE)
posterior = sb.SparsePosterior(kernel, NOISE, X, y, inducing=inducing, collected="fixed")
queries = rng.random((1000, 2))
truth = kernel(queries, centres) @ coefficients

interval = posterior.interval(queries, NORM, sb.Gaussian(NOISE), DELTA)
paper = posterior.interval(queries, NORM, sb.Gaussian(NOISE), DELTA, method="paper")
print(f"{len(X)} measurements, {len(inducing)} inducing points, which miss at most {inducing.residual_norm:.2g} ({inducing.residual_norm_kind})")
print(f"mean half-width {interval.width.mean() / 2:.3f}, the paper's {paper.width.mean() / 2:.3f}")
print(f"covered {np.mean((interval.lower <= truth) & (truth <= interval.upper)):.1%} of {len(queries)} queries, promised {1 - DELTA:.0%} at each")
print(interval.certificate)
