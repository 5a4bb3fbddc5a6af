"""GPyTorch: SGPR by InducingPointKernel, in double precision."""

import os

import gpytorch
import numpy as np
import task
import torch

torch.set_num_threads(int(os.environ.get("PEER_THREADS", "2")))
torch.set_default_dtype(torch.float64)
NAME = f"GPyTorch {gpytorch.__version__}"


class Model(gpytorch.models.ExactGP):
    def __init__(self, X: torch.Tensor, y: torch.Tensor, Z: torch.Tensor, likelihood: gpytorch.likelihoods.Likelihood, scales: int | None) -> None:
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        base = gpytorch.kernels.RBFKernel(ard_num_dims=scales)
        base.lengthscale = task.LENGTHSCALE
        self.covar_module = gpytorch.kernels.InducingPointKernel(base, inducing_points=Z, likelihood=likelihood)
        self.covar_module.inducing_points.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def model(X: np.ndarray, y: np.ndarray, Z: np.ndarray, scales: int | None) -> Model:
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = task.TAU**2
    return Model(torch.from_numpy(X), torch.from_numpy(y), torch.from_numpy(Z), likelihood, scales)


def sparse(sizes: task.Sizes) -> None:
    X, y, Z, Q, truth = task.regression(sizes.rows, sizes.inducing, sizes.queries)
    queries = torch.from_numpy(Q)

    def fit() -> Model:
        found = model(X, y, Z, None).eval()
        # The caches of the training data are made by the first prediction.
        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            found(queries[:2]).variance
        return found

    seconds, sgpr = task.timed(fit)

    def predict() -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            blocks = [sgpr(block) for block in queries.split(2000)]
            return torch.cat([b.mean for b in blocks]).numpy(), torch.cat([b.variance for b in blocks]).sqrt().numpy()

    predict_seconds, (mean, std) = task.timed(predict)
    task.report("fit", NAME, seconds=seconds)
    task.report("predict", NAME, seconds=predict_seconds, rmse=float(np.sqrt(np.mean((mean - truth) ** 2))), mean_std=float(std.mean()))


def gradient(sizes: task.Sizes) -> None:
    X, y, Z, _, _ = task.regression(sizes.gradient_rows, sizes.gradient_inducing, 1)
    sgpr = model(X, y, Z, task.DIM).train()
    likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(sgpr.likelihood, sgpr)

    def step() -> float:
        sgpr.zero_grad()
        loss = -likelihood(sgpr(*sgpr.train_inputs), sgpr.train_targets)
        loss.backward()
        return float(loss.detach())

    step()
    seconds, loss = task.timed(step, 3)
    task.report("gradient", NAME, seconds=seconds, elbo=-loss * len(X))


task.main(sparse=sparse, gradient=gradient)
