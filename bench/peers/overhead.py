"""What Python adds: fit and predict at n = 100 000 through the package, against the Rust bench of the same work.

    python bench/peers/overhead.py

Run by a Python that has the release wheel. The Rust bench is run first, then the same sizes here; the ratios are wanted at most 1.05.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import numpy as np
import sigmabar as sb

ROOT = Path(__file__).parents[2]
ROWS, INDUCING, QUERIES, DIM = 100_000, 1000, 100_000, 8


def rust() -> tuple[float, float]:
    done = subprocess.run(
        ["cargo", "bench", "-q", "-p", "sigmabar", "--bench", "regression"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    fit = re.search(r"^fit: ([\d.]+) s", done.stdout, re.MULTILINE)
    predict = re.search(r"^predict mean and variance at \d+: ([\d.]+) s", done.stdout, re.MULTILINE)
    assert fit and predict, done.stdout
    return float(fit[1]), float(predict[1])


def python() -> tuple[float, float]:
    rng = np.random.default_rng(1)
    X, Z, Q = rng.random((ROWS, DIM)), rng.random((INDUCING, DIM)), rng.random((QUERIES, DIM))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
    kernel = sb.SquaredExponential(0.5)
    fits, predictions = [], []
    for _ in range(3):
        start = time.perf_counter()
        posterior = sb.SparsePosterior(kernel, 0.1, X, y, inducing=Z)
        middle = time.perf_counter()
        posterior.predict(Q)
        fits.append(middle - start)
        predictions.append(time.perf_counter() - middle)
    return min(fits), min(predictions)


for name, theirs, ours in zip(("fit", "predict"), rust(), python()):
    print(f"{name}: Rust {theirs:.3f} s, Python {ours:.3f} s, ratio {ours / theirs:.3f} [wanted at most 1.05]")
