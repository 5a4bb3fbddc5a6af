"""scikit-learn: Nyström features and ridge regression. It has no variance to predict."""

import numpy as np
import sklearn
import task
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

NAME = f"scikit-learn {sklearn.__version__} Nystroem + Ridge"


def sparse(sizes: task.Sizes) -> None:
    X, y, _, Q, truth = task.regression(sizes.rows, sizes.inducing, sizes.queries)
    features = Nystroem(gamma=0.5 / task.LENGTHSCALE**2, n_components=sizes.inducing, random_state=0)
    model = make_pipeline(features, Ridge(alpha=task.TAU**2, fit_intercept=False))
    fit, _ = task.timed(lambda: model.fit(X, y))
    predict, mean = task.timed(lambda: model.predict(Q))
    task.report("fit", NAME, seconds=fit)
    task.report("mean only", NAME, seconds=predict, rmse=float(np.sqrt(np.mean((mean - truth) ** 2))))


task.main(sparse=sparse)
