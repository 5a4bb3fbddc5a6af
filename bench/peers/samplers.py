"""The Optuna samplers against Optuna's own TPE: the best value after 80 trials, as a distance from the largest there is.

python bench/peers/samplers.py [--seeds 5] [--trials 80]
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import optuna
import sigmabar.optuna
import task

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore")


def sphere(x: np.ndarray) -> float:
    return -float(((10 * x - 6.3) ** 2).sum())


# A function to maximise, its dimension and its maximum.
PROBLEMS: dict[str, tuple[Callable[[np.ndarray], float], int, float]] = {"sphere10": (sphere, 10, 0.0), **task.PROBLEMS}
SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "EI": lambda seed: sigmabar.optuna.EISampler(seed=seed),
    "GP-UCB": lambda seed: sigmabar.optuna.GPUCBSampler(seed=seed),
}


def best(problem: str, sampler: str, seed: int, trials: int) -> float:
    function, dim, most = PROBLEMS[problem]
    study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler](seed))
    study.optimize(lambda t: function(np.array([t.suggest_float(f"x{i}", 0, 1) for i in range(dim)])), n_trials=trials)
    return most - float(study.best_value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=80)
    arguments = parser.parse_args()
    for problem in PROBLEMS:
        for sampler in SAMPLERS:
            losses = [best(problem, sampler, seed, arguments.trials) for seed in range(arguments.seeds)]
            median, worst = np.median(losses), max(losses)
            print(f"{problem:10} {sampler:6} mean {np.mean(losses):.4f}  median {median:.4f}  worst {worst:.4f}", flush=True)
