"""scikit-optimize: a Gaussian process, batches by the constant liar."""

import warnings

import skopt
import task

warnings.filterwarnings("ignore")
NAME = f"scikit-optimize {skopt.__version__}"


def run(objective: task.Objective, seed: int, sizes: task.Sizes) -> None:
    size = sizes.evaluations // sizes.batches
    optimizer = skopt.Optimizer([(0.0, 1.0)] * objective.dim, base_estimator="GP", random_state=seed, n_initial_points=size)
    for _ in range(sizes.batches):
        points = optimizer.ask(size, strategy="cl_min")
        optimizer.tell(points, [-objective(x) for x in points])


task.main(loop=task.loop(NAME, "batches", run))
