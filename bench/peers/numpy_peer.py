"""A plain NumPy/SciPy script, as one would write it in an afternoon."""

import numpy as np
import scipy
import task
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

NAME = f"NumPy {np.__version__}, SciPy {scipy.__version__}"
BLOCK = 8192


def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * cdist(X, Z, "sqeuclidean") / task.LENGTHSCALE**2)


class Posterior:
    def __init__(self, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> None:
        self.Z = Z
        self.lower = cholesky(kernel(Z, Z) + 1e-10 * np.eye(len(Z)), lower=True)
        gram, h = np.eye(len(Z)), np.zeros(len(Z))
        for i in range(0, len(X), BLOCK):
            psi = self.features(X[i : i + BLOCK])
            gram += psi @ psi.T / task.TAU**2
            h += psi @ y[i : i + BLOCK]
        self.factor = cholesky(gram, lower=True)
        self.beta = cho_solve((self.factor, True), h) / task.TAU**2

    def features(self, X: np.ndarray) -> np.ndarray:
        return solve_triangular(self.lower, kernel(self.Z, X), lower=True, overwrite_b=True, check_finite=False)

    def predict(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = np.empty(len(Q)), np.empty(len(Q))
        for i in range(0, len(Q), BLOCK):
            psi = self.features(Q[i : i + BLOCK])
            inner = solve_triangular(self.factor, psi, lower=True, check_finite=False)
            mean[i : i + BLOCK] = psi.T @ self.beta
            variance[i : i + BLOCK] = 1 - (psi**2).sum(0) + (inner**2).sum(0)
        return mean, np.sqrt(np.maximum(variance, 0))


def sparse(sizes: task.Sizes) -> None:
    X, y, Z, Q, truth = task.regression(sizes.rows, sizes.inducing, sizes.queries)
    fit, posterior = task.timed(lambda: Posterior(X, y, Z))
    predict, (mean, std) = task.timed(lambda: posterior.predict(Q))
    task.report("fit", NAME, seconds=fit)
    task.report("predict", NAME, seconds=predict, rmse=float(np.sqrt(np.mean((mean - truth) ** 2))), mean_std=float(std.mean()))


def matern52(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    r = np.sqrt(5) * cdist(X, Z) / task.DESIGN_LENGTHSCALE
    return (1 + r + r**2 / 3) * np.exp(-r)


def choose(grid: np.ndarray, count: int) -> float:
    """The exact Gaussian process, one rank-one step after the other."""
    variance, rows = np.ones(len(grid)), np.empty((count, len(grid)))
    for j in range(count):
        i = int(np.argmax(variance))
        row = matern52(grid[i : i + 1], grid)[0] - rows[:j, i] @ rows[:j]
        rows[j] = row / np.sqrt(variance[i] + task.TAU**2)
        variance = variance - rows[j] ** 2
    return float(np.sqrt(variance.max()))


def design(sizes: task.Sizes) -> None:
    grid = task.candidates(sizes.candidates)
    seconds, max_std = task.timed(lambda: choose(grid, sizes.chosen))
    task.report("design", NAME, seconds=seconds, max_std=max_std)


task.main(sparse=sparse, design=design)
