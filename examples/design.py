"""Design: choose 96 of 2500 settings, to know the function everywhere; the promise is made before the first measurement.

    python examples/design.py
"""

import numpy as np

import sigmabar as sb

NOISE, NORM, DELTA = 0.1, 2.0, 0.05

rng = np.random.default_rng(2)
kernel = sb.Matern(nu=2.5, lengthscale=0.4)
side = np.linspace(0, 1, 50)
grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)

plate = sb.max_variance_design(kernel, NOISE, grid, count=96)
promised = plate.uniform_error(NORM, sb.Gaussian(NOISE), DELTA).bound
print(plate)
print(f"promised before measuring: the mean is off by at most {promised:.3f} anywhere, with probability {1 - DELTA:.0%}")

centres = rng.random((10, 2))
coefficients = rng.standard_normal(10)
coefficients *= NORM / np.sqrt(coefficients @ kernel(centres) @ coefficients)
truth = kernel(grid, centres) @ coefficients
y = truth[plate.indices] + NOISE * rng.standard_normal(96)

posterior = sb.SparsePosterior(kernel, NOISE, plate.points, y, inducing=plate.inducing, collected="designed")
at_random = rng.choice(len(grid), 96, replace=False)
print(f"measured: off by {np.abs(posterior.mean(grid) - truth).max():.3f} at worst")
print(f"largest std with 96 random settings {sb.ExactPosterior(kernel, NOISE, grid[at_random], np.zeros(96)).std(grid).max():.3f}, with these {plate.max_std:.3f}")
count = sb.theory.samples_for(kernel, NOISE, grid, std=0.05)
print(f"for a standard deviation of 0.05 everywhere {count.measurements} measurements are enough" if count else "no number is enough")
