"""Optimisation: the best of 2500 settings in few parallel batches, with a certificate after each.

    python examples/optimisation.py
"""

import numpy as np

import sigmabar as sb

NOISE, NORM = 0.1, 2.0

rng = np.random.default_rng(3)
kernel = sb.Matern(nu=2.5, lengthscale=0.4)
side = np.linspace(0, 1, 50)
grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
centres = rng.random((6, 2))
coefficients = rng.standard_normal(6)
coefficients *= NORM / np.sqrt(coefficients @ kernel(centres) @ coefficients)
truth = kernel(grid, centres) @ coefficients

run = sb.Strategy("s-bpe", domain=grid, kernel=kernel, tau=NOISE, norm_bound=NORM, noise=sb.Gaussian(NOISE), budget=2000, seed=1)
while (asked := run.ask()) is not None:
    run.tell(asked.ids, truth[asked.indices] + NOISE * rng.standard_normal(len(asked)))
    batch = run.batches[-1]
    print(f"batch of {batch.planned}: {batch.survivors:.0f} of {len(grid)} settings still possible, gap {batch.gap:.3f} ({batch.label})")

advice = run.recommend()
assert advice is not None
print(f"recommended {advice.point}: between {advice.lower:.3f} and {advice.upper:.3f}, at most {advice.gap:.3f} from the best ({advice.label})")
print(f"in truth {truth[advice.index]:.3f}, the best is {truth.max():.3f}")
