"""BoTorch: noisy expected improvement, batch by batch."""

import os
import warnings

import botorch
import numpy as np
import task
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.set_num_threads(int(os.environ.get("PEER_THREADS", "2")))
warnings.filterwarnings("ignore")
NAME = f"BoTorch {botorch.__version__} qLogNEI"


def run(objective: task.Objective, seed: int, sizes: task.Sizes) -> None:
    torch.manual_seed(seed)
    size = sizes.evaluations // sizes.batches
    bounds = torch.tensor([[0.0] * objective.dim, [1.0] * objective.dim], dtype=torch.float64)
    X = torch.quasirandom.SobolEngine(objective.dim, scramble=True, seed=seed).draw(size).double()
    y = torch.tensor([[objective(x.numpy())] for x in X], dtype=torch.float64)
    model = fitted(X, y)
    objective.recommend(lambda: best(model, X))
    for _ in range(sizes.batches - 1):
        acquisition = qLogNoisyExpectedImprovement(model, X, prune_baseline=True)
        more, _ = optimize_acqf(acquisition, bounds, q=size, num_restarts=4, raw_samples=64, sequential=True, options={"maxiter": 50})
        X = torch.cat([X, more])
        y = torch.cat([y, torch.tensor([[objective(x.numpy())] for x in more], dtype=torch.float64)])
        model = fitted(X, y)
        objective.recommend(lambda: best(model, X))


def best(model: SingleTaskGP, X: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return X[model.posterior(X).mean.argmax()].numpy()


def fitted(X: torch.Tensor, y: torch.Tensor) -> SingleTaskGP:
    model = SingleTaskGP(X, y, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


task.main(loop=task.loop(NAME, "batches", run))
