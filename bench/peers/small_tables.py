"""The default regressor on tables of 40 to 300 rows, drawn anew for every seed: error on a thousand new rows, in standard deviations of the response.

    python bench/peers/small_tables.py [--seeds 10]

Beside it scikit-learn's Gaussian process with a Matérn 5/2 kernel, a length-scale for each column and standardised columns, as people set it up by hand.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sigmabar.sklearn import SparseKernelRegressor

NEW = 1000
Table = tuple[np.ndarray, np.ndarray]


def friedman(make: Callable[..., Table], noise: float) -> Callable[[np.random.Generator, int], Table]:
    return lambda rng, rows: make(rows, noise=noise, random_state=int(rng.integers(1 << 30)))


def line(dim: int, noise: float) -> Callable[[np.random.Generator, int], Table]:
    def table(rng: np.random.Generator, rows: int) -> Table:
        X = rng.standard_normal((rows, dim))
        return X, X @ rng.standard_normal(dim) + noise * rng.standard_normal(rows)

    return table


def three_of_twenty(rng: np.random.Generator, rows: int) -> Table:
    X = rng.random((rows, 20))
    return X, np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(rows)


def two_of_four(rng: np.random.Generator, rows: int) -> Table:
    X = rng.random((rows, 4))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.standard_normal(rows)


def waves(rng: np.random.Generator, rows: int) -> Table:
    """A draw from a Gaussian process whose columns matter more and less."""
    frequency = rng.standard_normal((5, 300)) / np.array([0.3, 0.5, 0.8, 1.5, 5.0])[:, None]
    X = rng.random((rows, 5))
    y = np.cos(X @ frequency + 2 * np.pi * rng.random(300)) @ rng.standard_normal(300) / 12
    return X, y + 0.1 * rng.standard_normal(rows)


def noise_alone(rng: np.random.Generator, rows: int) -> Table:
    return rng.random((rows, 5)), rng.standard_normal(rows)


TABLES = {
    "Friedman 1": (friedman(make_friedman1, 1.0), 300),
    "Friedman 1, few rows": (friedman(make_friedman1, 1.0), 80),
    "Friedman 2": (friedman(make_friedman2, 50.0), 200),
    "Friedman 3": (friedman(make_friedman3, 0.1), 200),
    "a straight line, 6 columns": (line(6, 0.5), 100),
    "a straight line, 20 columns": (line(20, 1.0), 150),
    "3 of 20 columns matter": (three_of_twenty, 250),
    "2 of 4 columns matter": (two_of_four, 40),
    "Gaussian process, 5 columns": (waves, 200),
    "noise alone": (noise_alone, 150),
}


def by_hand(dim: int) -> GaussianProcessRegressor:
    kernel = ConstantKernel() * Matern(np.ones(dim), (1e-2, 1e3), nu=2.5) + WhiteKernel(0.1, (1e-8, 10))
    return make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    for name, (draw, rows) in TABLES.items():
        errors = []
        for seed in range(seeds):
            X, y = draw(np.random.default_rng(seed), rows + NEW)
            models = (SparseKernelRegressor(random_state=seed), by_hand(X.shape[1]))
            wrong = [y[rows:] - model.fit(X[:rows], y[:rows]).predict(X[rows:]) for model in models]
            errors.append([float(np.sqrt(np.mean(e**2)) / np.std(y[rows:])) for e in wrong])
        ours, theirs = np.mean(errors, axis=0)
        print(f"{name} ({rows} rows): {ours:.4f}, scikit-learn {theirs:.4f}", flush=True)


if __name__ == "__main__":
    main()
