"""Optuna: tree-structured Parzen estimators and its Gaussian process, one trial after the other."""

import sys
import warnings

import numpy as np
import optuna
import task

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore")


def loop_with(make, name: str):  # type: ignore[no-untyped-def]
    def run(objective: task.Objective, seed: int, sizes: task.Sizes) -> None:
        study = optuna.create_study(direction="maximize", sampler=make(seed))
        study.optimize(
            lambda t: objective(np.array([t.suggest_float(f"x{i}", 0, 1) for i in range(objective.dim)])), n_trials=sizes.evaluations
        )

    return task.loop(f"Optuna {optuna.__version__} {name}", "one at a time", run)


def tpe(seed: int) -> optuna.samplers.BaseSampler:
    return optuna.samplers.TPESampler(seed=seed)


def gp(seed: int) -> optuna.samplers.BaseSampler:
    return optuna.samplers.GPSampler(seed=seed)


if __name__ == "__main__":
    task.main(**{"loop": loop_with(tpe, "TPE"), "loop-gp": loop_with(gp, "GP")})
    sys.exit(0)
