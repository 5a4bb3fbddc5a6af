"""The default regressor on the tables of a directory: error, density, coverage and time on the first published folds.

    python bench/peers/regression.py DIRECTORY [NAME …] [--folds 1]

The directory holds ``NAME.csv.gz``, no header and the target last, and ``NAME.test_mask.csv.gz`` with one column for each fold, 1 marking its test rows. Nothing is
scaled beforehand and no argument is given: this is what a user gets who calls ``fit``. Errors are in the target's own unit; the density is of the standardised target.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

import sigmabar
from sigmabar.sklearn import SparseKernelRegressor


def table(path: Path) -> np.ndarray:
    return np.loadtxt(path, delimiter=",", ndmin=2)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run(name: str, rows: np.ndarray, test: np.ndarray, fold: int) -> None:
    X, y = rows[:, :-1], rows[:, -1]
    started, used = time.perf_counter(), cpu()
    model = SparseKernelRegressor(random_state=fold).fit(X[~test], y[~test])
    seconds, used = time.perf_counter() - started, cpu() - used
    mean, std = model.predict(X[test], return_std=True)
    error, deviation = y[test] - mean, np.hypot(std, model.noise_)
    density = 0.5 * np.mean(np.log(2 * np.pi * deviation**2) + (error / deviation) ** 2) - np.log(np.std(y[~test]))
    interval = model.interval(X[test], of="response")
    covered = np.mean((interval.lower <= y[test]) & (y[test] <= interval.upper))
    figures = {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "nlpd": float(density),
        "label": interval.label,
        "coverage": float(covered),
        "width over normal": float(np.mean(interval.width) / np.mean(2 * 1.959964 * deviation)),
        "inducing": len(model.posterior_.inducing),
        "seconds": seconds,
        "cpu seconds": used,
    }
    print(json.dumps({"task": "regression", "peer": f"sigmabar {sigmabar.__version__}", "table": name, "fold": fold, **figures}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", help="all tables unless named")
    parser.add_argument("--folds", type=int, default=1)
    arguments = parser.parse_args()
    known = sorted(p.name.removesuffix(".csv.gz") for p in arguments.directory.glob("*.csv.gz") if "test_mask" not in p.name)
    for name in arguments.names or known:
        rows = table(arguments.directory / f"{name}.csv.gz")
        masks = table(arguments.directory / f"{name}.test_mask.csv.gz")
        for fold in range(min(arguments.folds, masks.shape[1])):
            run(name, rows, masks[:, fold] == 1, fold)


if __name__ == "__main__":
    main()
