"""sigmabar."""

import numpy as np
import sigmabar as sb
import task

NAME = f"sigmabar {sb.__version__}"


def sparse(sizes: task.Sizes) -> None:
    X, y, Z, Q, truth = task.regression(sizes.rows, sizes.inducing, sizes.queries)
    kernel = sb.SquaredExponential(task.LENGTHSCALE)
    fit, posterior = task.timed(lambda: sb.SparsePosterior(kernel, task.TAU, X, y, inducing=Z))
    predict, (mean, std) = task.timed(lambda: posterior.predict(Q))
    mean_only, _ = task.timed(lambda: posterior.mean(Q))
    task.report("fit", NAME, seconds=fit, elbo=posterior.elbo)
    task.report("predict", NAME, seconds=predict, rmse=float(np.sqrt(np.mean((mean - truth) ** 2))), mean_std=float(std.mean()))
    task.report("mean only", NAME, seconds=mean_only, rmse=float(np.sqrt(np.mean((mean - truth) ** 2))))


def gradient(sizes: task.Sizes) -> None:
    X, y, Z, _, _ = task.regression(sizes.gradient_rows, sizes.gradient_inducing, 1)
    kernel = sb.SquaredExponential([task.LENGTHSCALE] * task.DIM)
    seconds, found = task.timed(lambda: sb.SparsePosterior(kernel, task.TAU, X, y, inducing=Z).elbo_gradient(), 3)
    task.report("gradient", NAME, seconds=seconds, elbo=found[0])


def design(sizes: task.Sizes) -> None:
    grid = task.candidates(sizes.candidates)
    kernel = sb.Matern(nu=2.5, lengthscale=task.DESIGN_LENGTHSCALE)
    seconds, chosen = task.timed(lambda: sb.max_variance_design(kernel, task.TAU, grid, sizes.chosen))
    task.report("design", NAME, seconds=seconds, max_std=chosen.max_std)


def run(objective: task.Objective, seed: int, sizes: task.Sizes) -> None:
    box = (np.zeros(objective.dim), np.ones(objective.dim))
    strategy = sb.Strategy("auto", domain=box, budget=sizes.evaluations, batches=sizes.batches, seed=seed)
    while (asked := strategy.ask()) is not None:
        strategy.tell(asked.ids, [objective(x) for x in asked.points])
        objective.recommend(lambda: strategy.recommend().point)


task.main(sparse=sparse, gradient=gradient, design=design, loop=task.loop(f"{NAME} S-BPE auto", "batches", run))
