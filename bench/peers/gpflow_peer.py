"""GPflow: SGPR with its compiled posterior."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import gpflow
import numpy as np
import task
import tensorflow as tf

threads = int(os.environ.get("PEER_THREADS", "2"))
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.threading.set_inter_op_parallelism_threads(1)
NAME = f"GPflow {gpflow.__version__}"


def model(X: np.ndarray, y: np.ndarray, Z: np.ndarray, scales: object) -> gpflow.models.SGPR:
    kernel = gpflow.kernels.SquaredExponential(lengthscales=scales)
    found = gpflow.models.SGPR((X, y[:, None]), kernel, Z, noise_variance=task.TAU**2)
    gpflow.set_trainable(found.inducing_variable, False)
    return found


def sparse(sizes: task.Sizes) -> None:
    X, y, Z, Q, truth = task.regression(sizes.rows, sizes.inducing, sizes.queries)
    sgpr = model(X, y, Z, task.LENGTHSCALE)
    fit, posterior = task.timed(sgpr.posterior)
    compiled = tf.function(posterior.predict_f)

    def predict() -> tuple[np.ndarray, np.ndarray]:
        mean, variance = compiled(Q)
        return mean.numpy()[:, 0], np.sqrt(variance.numpy()[:, 0])

    predict()
    seconds, (mean, std) = task.timed(predict)
    task.report("fit", NAME, seconds=fit, elbo=float(sgpr.elbo()))
    task.report("predict", NAME, seconds=seconds, rmse=float(np.sqrt(np.mean((mean - truth) ** 2))), mean_std=float(std.mean()))


def gradient(sizes: task.Sizes) -> None:
    X, y, Z, _, _ = task.regression(sizes.gradient_rows, sizes.gradient_inducing, 1)
    sgpr = model(X, y, Z, [task.LENGTHSCALE] * task.DIM)

    @tf.function
    def step() -> tuple[tf.Tensor, object]:
        with tf.GradientTape() as tape:
            loss = sgpr.training_loss()
        return loss, tape.gradient(loss, sgpr.trainable_variables)

    step()
    seconds, (loss, _) = task.timed(step, 3)
    task.report("gradient", NAME, seconds=seconds, elbo=-float(loss))


task.main(sparse=sparse, gradient=gradient)
