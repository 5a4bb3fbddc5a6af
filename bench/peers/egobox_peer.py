"""egobox: efficient global optimisation in Rust, batches by its own q-EI."""

import egobox as egx
import numpy as np
import task
from importlib.metadata import version

NAME = f"egobox {version('egobox')}"


def run(objective: task.Objective, seed: int, sizes: task.Sizes) -> None:
    def negative(X: np.ndarray) -> np.ndarray:
        return np.array([[-objective(x)] for x in np.atleast_2d(X)])

    size = sizes.evaluations // sizes.batches
    box = [[0.0, 1.0]] * objective.dim
    gpx = egx.Egor(box, n_doe=size, qei_config=egx.QEiConfig(batch=size), seed=seed)
    gpx.minimize(negative, max_iters=sizes.batches - 1)


task.main(loop=task.loop(NAME, "batches", run))
